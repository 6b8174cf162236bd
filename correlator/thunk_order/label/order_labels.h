// SPDX-License-Identifier: Apache-2.0

// Labels of thunk order: one per launch case and outcome. For graph-level rows, the label divides
// the time over the covered instructions.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_LABEL_ORDER_LABELS_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_LABEL_ORDER_LABELS_H_

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "correlator/graph_row_shares.h"
#include "correlator/label_table.h"
#include "correlator/module_table.h"
#include "correlator/thunk_order/align/launch_cases.h"
#include "correlator/thunk_order/align/launch_outcome.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

class OrderLabels {
 public:
  // All must outlive the object.
  OrderLabels(const model::RunTables& run, const ModuleTable& modules,
              std::span<const ThunkProgram* const> programs, LabelTable* labels,
              model::AttributionTables* tables)
      : run_(run), modules_(modules), programs_(programs), labels_(*labels), tables_(*tables) {}

  // Call it for all graph-level rows first: LabelOf uses their times for the shares.
  void CountGraphRow(const Outcome& outcome, int64_t duration_ns);
  void SettleGraphRows() { graph_rows_.Settle(); }

  // Number of the label (tables.labels, from 1); 0: the present label is equally good.
  uint32_t LabelOf(const ClassifiedCase& judged, const LaunchCase& launch, const Outcome& outcome);
  // For a graph-level row: divides its time over the covered instructions by their estimated costs.
  uint32_t SharedLabelOf(const Outcome& outcome);
  // True if a source names another instruction, of a module that is not certain.
  bool HasOtherRecordedInstruction(const ClassifiedCase& judged, const Outcome& outcome) const;
  // The deciding doubt, including the certainty of the module.
  Doubt DoubtOf(const Outcome& outcome) const;

 private:
  uint32_t OwnLabelOf(const ClassifiedCase& judged, const Outcome& outcome);

  const model::RunTables& run_;
  const ModuleTable& modules_;
  std::span<const ThunkProgram* const> programs_;
  LabelTable& labels_;
  model::AttributionTables& tables_;
  GraphRowShares graph_rows_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> shared_labels_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_LABEL_ORDER_LABELS_H_
