// SPDX-License-Identifier: Apache-2.0

// Labels of what order found: one per launch case and answer, and for graph-level rows one whose
// time is shared by the instructions that the row covers.
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

  // What graph-level rows took, from which LabelOf learns how to share: all of them first.
  void CountGraphRow(const Outcome& outcome, int64_t duration_ns);
  void SettleGraphRows() { graph_rows_.Settle(); }

  // Number of the label (tables.labels, from 1); 0: what is known already says as much.
  uint32_t LabelOf(const JudgedCase& judged, const LaunchCase& launch, const Outcome& outcome);
  // A graph-level row: its time over the instructions it covers, by what they should cost.
  uint32_t SharedLabelOf(const Outcome& outcome);
  // Whether a source names another instruction, of a module that it does not tell for sure.
  bool IsToldOtherwise(const JudgedCase& judged, const Outcome& outcome) const;
  // The doubt that decides, with what is known of the module itself.
  Doubt DoubtOf(const Outcome& outcome) const;

 private:
  uint32_t OwnLabelOf(const JudgedCase& judged, const Outcome& outcome);

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
