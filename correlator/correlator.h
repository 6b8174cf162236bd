// SPDX-License-Identifier: Apache-2.0

// The correlator attributes every activity of a run to an HLO instruction, or gives the reason why
// no instruction is known.
//
// Input: a run in memory (model/run_tables.h) with the source's hints, and a callback that loads
// the HLO of one module at a time. Output: model::AttributionTables, with instructions, their
// op_names and shares, one label per activity, executions, and facts on each module.
//
// Steps, in order (a file or a folder each):
//
//   module_table         reads modules, one InstructionRow per instruction:
//     op_name_resolution   finds an op_name for instructions that XLA itself created,
//     fusion_shares        divides a fusion over the op_names inside it.
//   *_evidence           each proposes an instruction for a kind of activity.
//   label_table          selects the strongest proposal and keeps the others as losers:
//     origin               xla, library, framework, autotune, other; reason without an instruction.
//   thunk_order/         second pass: launches in their order, compared with the modules' thunks.
//   execution_grouping   groups activities into runs of a module on a device.
//   module_roles         finds the training step among the modules.
//
// Pure: no I/O, no global state, equal input gives equal output. Thread-safety: calls with
// different arguments may run in parallel.
//
// Errors: none end a run. A module that cannot be read becomes a run stat, and its activities
// get the reason kNoModule. The Result is for inputs that break the tables' own rules (an activity
// that refers to a lane that does not exist).

#ifndef XLATRACE_CORRELATOR_CORRELATOR_H_
#define XLATRACE_CORRELATOR_CORRELATOR_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "correlator/thunk_order/doubt.h"
#include "model/derived.h"
#include "model/hlo_module.h"
#include "model/run_tables.h"
#include "model/user_code.h"

namespace xlatrace::correlator {

struct LoadedModule {
  model::HloModule hlo;
  std::vector<model::Thunk> thunks;  // Empty: there is no thunk list.
};

// A borrowed module. It is immutable, because the owner may lend it to several callers. A loader
// without a cache returns the module itself.
class LentModule {
 public:
  LentModule() = default;  // An empty module, because Result requires a default constructor.
  LentModule(
      LoadedModule module)  // NOLINT(google-explicit-constructor): loaders return a LoadedModule.
      : module_(std::make_shared<const LoadedModule>(std::move(module))) {}
  LentModule(std::shared_ptr<const LoadedModule> module)  // NOLINT(google-explicit-constructor)
      : module_(std::move(module)) {}

  const LoadedModule& operator*() const { return *module_; }
  const LoadedModule* operator->() const { return module_.get(); }

 private:
  std::shared_ptr<const LoadedModule> module_;
};

// Called once per module of the run, in order. It is called again for a module whose thunk list is
// in another copy of the program, or whose HLO represents a named module. The correlator returns a
// module before it requests the next one; more modules are in memory only if the loader keeps them.
using ModuleLoader = std::function<Result<LentModule>(model::Id module_id)>;

// `doubts`: if not null, gets the reason per activity why thunk order is not more certain
// (doubt.h). It is kNone if the label is exact or thunk order was not needed. The vector is empty
// if no activity needed thunk order. `user_code`: decides which source files belong to the user.
Result<model::AttributionTables> Attribute(const model::RunTables& run, const ModuleLoader& load,
                                           std::vector<Doubt>* doubts = nullptr,
                                           const model::UserCode& user_code = model::UserCode());

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_CORRELATOR_H_
