// SPDX-License-Identifier: Apache-2.0

// The correlator: says for every activity of a run which HLO instruction it belongs to, or why that
// cannot be known.
//
// Gets: a run in memory (model/run_tables.h) with what its source said about each activity, and a
// callback that gives the HLO of one module at a time.
// Gives: model::AttributionTables: instructions with their op_names and shares, one label per
// activity, executions, and facts about each module.
//
// How, in order (a file or a folder each):
//
//   module_table         reads modules, one InstructionRow per instruction:
//     op_name_resolution   finds an op_name for instructions that XLA made itself,
//     fusion_shares        splits a fusion over the op_names inside it.
//   *_evidence           each proposes an instruction for a kind of activity.
//   label_table          lets the strongest win, and keeps what the losers said:
//     origin               xla, library, framework, autotune, other; why there is no instruction.
//   thunk_order/         looks a second time, at launches in their order and the modules' thunks.
//   execution_grouping   makes activities into runs of a module on a device.
//   module_roles         says which module is the training step.
//
// Pure: no I/O, no global state, the same input gives the same output. Thread-safety: calls with
// different arguments may run side by side.
//
// Errors: none that end a run. A module that cannot be read becomes a run stat, and its activities
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

namespace xlatrace::correlator {

struct LoadedModule {
  model::HloModule hlo;
  std::vector<model::Thunk> thunks;  // Empty: no thunk list is known.
};

// A module that is lent: whoever keeps it may lend it to others too, so nobody changes it. A loader
// that keeps nothing gives the module itself.
class LentModule {
 public:
  LentModule() = default;          // None; a Result is made from another one over it.
  LentModule(LoadedModule module)  // NOLINT(google-explicit-constructor): what loaders return.
      : module_(std::make_shared<const LoadedModule>(std::move(module))) {}
  LentModule(std::shared_ptr<const LoadedModule> module)  // NOLINT(google-explicit-constructor)
      : module_(std::move(module)) {}

  const LoadedModule& operator*() const { return *module_; }
  const LoadedModule* operator->() const { return module_.get(); }

 private:
  std::shared_ptr<const LoadedModule> module_;
};

// Called once per module of the run, in order, and again for a module whose thunk list another copy
// of the program has, or whose HLO stands for a module that the source names. The correlator gives
// a module back before it asks for the next one: what is in memory beyond it, the loader keeps.
using ModuleLoader = std::function<Result<LentModule>(model::Id module_id)>;

// `doubts`: where wanted, per activity why its place in the order of launches says no more of it
// than it does (doubt.h); kNone where that is exact or was not asked for, empty where it never
// was.
Result<model::AttributionTables> Attribute(const model::RunTables& run, const ModuleLoader& load,
                                           std::vector<Doubt>* doubts = nullptr);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_CORRELATOR_H_
