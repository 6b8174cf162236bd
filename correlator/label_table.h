// SPDX-License-Identifier: Apache-2.0

// Selects the evidence for a kind of activity. The first instruction that a source proposes wins,
// strongest source first, and other proposals are kept as losers. If no source proposes an
// instruction, the label has the module and the reason of the source with the best information.
//
// Equal labels are one row of AttributionTables::labels; activities refer to it by number.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_LABEL_TABLE_H_
#define XLATRACE_CORRELATOR_LABEL_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "correlator/evidence.h"
#include "correlator/module_table.h"
#include "model/derived.h"

namespace xlatrace::correlator {

// Queries evidence sources for kinds of activities and keeps one label per distinct result.
class LabelTable {
 public:
  // `sources`: strongest first. All arguments must outlive the table.
  LabelTable(std::span<const std::unique_ptr<EvidenceSource>> sources, const ModuleTable& modules,
             std::vector<model::Label>* labels)
      : sources_(sources), modules_(modules), labels_(labels) {}

  // label_id of the winner for this kind of activity. `process_uses_xla`: see origin.h.
  uint32_t Decide(const ActivityCase& activity, bool process_uses_xla);

  // label_id of this label, which is added if it is new.
  uint32_t Intern(model::Label label);

 private:
  std::string LosersText(const Proposal* winner) const;

  std::span<const std::unique_ptr<EvidenceSource>> sources_;
  const ModuleTable& modules_;
  std::vector<model::Label>* labels_;
  std::vector<Proposal> proposals_;  // Proposals for the current case; reused.
  std::map<std::tuple<model::Id, model::Id, int, int, int, int, std::string>, uint32_t> ids_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_LABEL_TABLE_H_
