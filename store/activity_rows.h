// SPDX-License-Identifier: Apache-2.0

// The rows that a run has once per launch. They are kept as columns until all their data is known,
// and then written as one packed row each. Activity, attribution, API call and gap together take
// about 40 bytes, compared with 90 bytes in four rows.
//
// Repeated data is a number in a dictionary. The dictionaries are x_kind (lane, configuration,
// hint, label, graph node, bytes), x_slot (execution and step), and x_call_kind (process, thread
// and name of a call). The row of an activity contains the API call that launched it, relative to
// its start, and the gap before it. Data in another form (calls that launched nothing, odd gaps)
// has separate tables. An activity without known times has no duration. Its start is a position in
// the order; if nested_ns is 0 instead of NULL, the start is known. The private views x_activity,
// x_api_call and x_gap (views.cc) join the parts.
//
// Memory: 24 bytes per activity beyond model::ActivityColumns, 36 per API call. Thread-safety: one
// thread.

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
  // Call it before the activity is added to `columns` of the tables that Settle gets.
  void AddActivity(const model::Activity& activity);
  // `name_id`: id in x_string. The returned id is valid for Activity::api_call_id only.
  model::Id AddCall(const model::ApiCall& call, model::Id name_id);
  // Number in x_call_kind.
  uint32_t CallKindOf(const model::ApiCall& call, model::Id name_id);
  // The call that started an activity (by index); nullopt if it is not known.
  std::optional<model::HostCall> CallOf(size_t activity) const;

  // Computes the content of each row. `attribution` and `analysis` may be null: not attributed.
  void Settle(const model::RunTables& run, const model::AttributionTables* attribution,
              const model::AnalysisTables* analysis);
  bool settled() const { return settled_; }

  // After Settle: writes dictionaries and odd calls with SQL, inside the caller's transaction. Then
  // the packed rows themselves, and gaps that do not fit into them.
  Status WriteDictionaries(Database& database) const;
  void WriteRows(const model::RunTables& run, TableBuilder& rows) const;
  void WriteOtherGaps(TableBuilder& rows) const;

 private:
  struct Call {
    int64_t start_ns;
    int64_t duration_ns;
    int64_t correlation;
    uint32_t kind;   // Index into call_kinds_, from 1.
    uint32_t owner;  // Id of the activity whose row contains the call; 0: none.
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
    uint32_t run_key = 0;  // Number of an execution in the source, for a new attribution.
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
  std::unordered_map<uint32_t, int64_t> wide_correlations_;  // By activity: correlation numbers
                                                             // above 32 bits.
  std::vector<int64_t> graph_ids_;                           // Empty, or one per activity.
  std::vector<Call> calls_;
  std::vector<CallKind> call_kinds_;
  std::unordered_map<CallKind, uint32_t, KindHash> call_kind_index_;
  CallKind last_call_kind_{};
  uint32_t last_call_kind_id_ = 0;

  std::vector<Kind> kinds_;
  std::vector<uint32_t> kind_of_;  // Kind of each activity. Kinds are numbered from 1.
  std::vector<Slot> slots_;
  std::vector<uint32_t> slot_of_;  // Slot of each activity. Slots are numbered from 1.
  std::vector<int32_t> gap_of_;    // Empty, or per activity: kNoGapCode or PackGap.
  std::vector<model::GapRow> other_gaps_;
  std::vector<uint32_t> other_calls_;   // Calls that no activity's row contains.
  std::vector<uint32_t> other_number_;  // By call: position in other_calls_ + 1.
  static constexpr int32_t kNoGapCode = INT32_MIN;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_ACTIVITY_ROWS_H_
