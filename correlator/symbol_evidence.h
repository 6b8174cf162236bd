// SPDX-License-Identifier: Apache-2.0

// The kernel's symbol names the instruction, directly or through the module's thunk list.
//
// In a module that is known to have run, a single user of the symbol in the thunk list is exact. If
// only the name is evidence, the result is inferred. The symbol gives no instruction if several
// share the symbol (a third of real launches run under another instruction's symbol). Without a
// known module, it is inferred if a single module of the process can own such a launch.

#ifndef XLATRACE_CORRELATOR_SYMBOL_EVIDENCE_H_
#define XLATRACE_CORRELATOR_SYMBOL_EVIDENCE_H_

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "correlator/evidence.h"
#include "correlator/module_join.h"
#include "correlator/module_table.h"

namespace xlatrace::correlator {

class SymbolEvidence : public EvidenceSource {
 public:
  // Both must outlive the source.
  SymbolEvidence(const ModuleJoin& join, const ModuleTable& modules);

  std::optional<Proposal> Propose(const ActivityCase& activity) const override;

 private:
  std::optional<Proposal> InModule(const ActivityCase& activity, model::Id module_id,
                                   bool certain) const;
  std::optional<Proposal> AcrossModules(const ActivityCase& activity) const;

  const ModuleJoin& join_;
  const ModuleTable& modules_;
  // By process (0: modules without a process): symbol -> modules that have it.
  std::map<model::Id, std::unordered_map<std::string_view, std::vector<model::Id>>> owners_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_SYMBOL_EVIDENCE_H_
