// SPDX-License-Identifier: Apache-2.0

// The rows of a run that exist once per launch, held as columns until everything about them is
// known and then written as one packed row each: activity, attribution, API call and gap together
// take some 40 bytes instead of four rows of 90.
//
// What repeats is a number into a dictionary: x_kind (lane, configuration, hint, label, graph node,
// bytes), x_slot (execution and step), x_call_kind (process, thread and name of a call). The API
// call that launched an activity lies in the activity's row, relative to its start; so does the gap
// before it. What does not fit that shape (calls that launched nothing, odd gaps) has tables of its
// own. An activity without known times has no duration; its start is a place in the order, or is
// known when nested_ns is 0 instead of NULL. The private views x_activity, x_api_call and x_gap
// (views.cc) put it together again.
//
// Memory: 24 bytes per activity beyond model::ActivityColumns, 36 per API call.
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_ACTIVITY_ROWS_H_
#define XLATRACE_STORE_ACTIVITY_ROWS_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "model/derived.h"
#include "model/events.h"
#include "model/host_event.h"
#include "model/run_tables.h"
#include "store/sqlite.h"
#include "store/table_builder.h"

namespace xlatrace::store {

class ActivityRows {
 public:
  // Before the activity is in `columns` of the tables given later.
  void AddActivity(const model::Activity& activity);
  // `name_id`: of x_string. The id is good for Activity::api_call_id only.
  model::Id AddCall(const model::ApiCall& call, model::Id name_id);
  // Number in x_call_kind.
  uint32_t CallKindOf(const model::ApiCall& call, model::Id name_id);
  // The call that started an activity (by index); nothing where it is not known.
  std::optional<model::HostCall> CallOf(size_t activity) const;

  // Settles what each row holds. `attribution` and `analysis` may be null: not attributed.
  void Settle(const model::RunTables& run, const model::AttributionTables* attribution,
              const model::AnalysisTables* analysis);
  bool settled() const { return settled_; }

  // After Settle: dictionaries and odd calls, by SQL, inside the caller's transaction; then the
  // packed rows themselves, and gaps that do not fit one.
  Status WriteDictionaries(Database& database) const;
  void WriteRows(const model::RunTables& run, TableBuilder& rows) const;
  void WriteOtherGaps(TableBuilder& rows) const;

 private:
  struct Call {
    int64_t start_ns;
    int64_t duration_ns;
    int64_t correlation;
    uint32_t kind;   // Into call_kinds_, from 1.
    uint32_t owner;  // Activity id whose row holds it; 0: none.
  };
  struct CallKind {
    model::Id process_id;
    int64_t thread_id;
    model::Id name_id;
    std::optional<int32_t> event_class, return_value;
    bool operator==(const CallKind&) const = default;
  };
  struct Kind {
    uint32_t lane, config, hint, label;
    int64_t bytes, graph_id, graph_node_id;
    bool operator==(const Kind&) const = default;
  };
  struct KindHash {
    size_t operator()(const Kind& kind) const;
    size_t operator()(const CallKind& kind) const;
  };
  struct Slot {
    uint32_t execution;
    std::optional<int32_t> step;
    uint32_t run_key = 0;  // The source's own number of an execution, for a new attribution.
    bool operator==(const Slot&) const = default;
  };

  void SettleCalls(const model::RunTables& run);
  void SettleKinds(const model::RunTables& run, const model::AttributionTables* attribution,
                   const model::AnalysisTables* analysis);
  void SettleGaps(const model::RunTables& run, const model::AnalysisTables* analysis);
  int64_t CorrelationOf(const model::RunTables& run, size_t activity) const;
  model::Id CallId(const model::RunTables& run, size_t call) const;

  bool settled_ = false;
  std::vector<uint32_t> call_of_;  // Per activity; index into calls_ + 1, 0: none.
  std::unordered_map<uint32_t, int64_t> wide_correlations_;  // By activity: beyond 32 bits.
  std::vector<int64_t> graph_ids_;                           // Empty, or one per activity.
  std::vector<Call> calls_;
  std::vector<CallKind> call_kinds_;
  std::unordered_map<CallKind, uint32_t, KindHash> call_kind_index_;
  CallKind last_call_kind_{};
  uint32_t last_call_kind_id_ = 0;

  std::vector<Kind> kinds_;
  std::vector<uint32_t> kind_of_;  // Per activity, from 1.
  std::vector<Slot> slots_;
  std::vector<uint32_t> slot_of_;  // Per activity, from 1.
  std::vector<int32_t> gap_of_;    // Empty, or per activity: kNoGap or PackGap.
  std::vector<model::GapRow> other_gaps_;
  std::vector<uint32_t> other_calls_;   // Those that lie in no activity's row.
  std::vector<uint32_t> other_number_;  // By call: position in other_calls_ + 1.
  static constexpr int32_t kNoGap = INT32_MIN;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_ACTIVITY_ROWS_H_
