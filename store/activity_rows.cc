// SPDX-License-Identifier: Apache-2.0
#include "store/activity_rows.h"

#include <array>
#include <limits>

#include "base/hash.h"
#include "store/packed_row.h"

namespace xlatrace::store {
namespace {

using model::Id;

int64_t NullIfZero(int64_t value) { return value == 0 ? kNullNumber : value; }

}  // namespace

size_t ActivityRows::KindHash::operator()(const Kind& kind) const {
  uint64_t hash = Mix(1, uint64_t{kind.lane} << 32 | kind.config);
  hash = Mix(hash, uint64_t{kind.hint} << 32 | kind.label);
  hash = Mix(hash, static_cast<uint64_t>(kind.bytes));
  hash = Mix(hash, static_cast<uint64_t>(kind.graph_id));
  return Mix(hash, static_cast<uint64_t>(kind.graph_node_id));
}

size_t ActivityRows::KindHash::operator()(const CallKind& kind) const {
  return Mix(
      Mix(Mix(1, static_cast<uint64_t>(kind.process_id)), static_cast<uint64_t>(kind.thread_id)),
      static_cast<uint64_t>(kind.name_id));
}

void ActivityRows::AddActivity(const model::Activity& activity) {
  const auto index = static_cast<uint32_t>(call_of_.size());
  call_of_.push_back(static_cast<uint32_t>(activity.api_call_id));
  if (activity.correlation_id < 0 ||
      activity.correlation_id > std::numeric_limits<uint32_t>::max()) {
    wide_correlations_[index] = activity.correlation_id;
  }
  if (activity.graph_id != 0 || !graph_ids_.empty()) {
    graph_ids_.resize(call_of_.size(), 0);
    graph_ids_.back() = activity.graph_id;
  }
}

uint32_t ActivityRows::CallKindOf(const model::ApiCall& call, Id name_id) {
  const CallKind kind = {call.process_id, call.thread_id, name_id, call.event_class,
                         call.return_value};
  if (last_call_kind_id_ == 0 || kind != last_call_kind_) {
    const auto [it, fresh] =
        call_kind_index_.try_emplace(kind, static_cast<uint32_t>(call_kinds_.size() + 1));
    if (fresh) call_kinds_.push_back(kind);
    last_call_kind_ = kind;
    last_call_kind_id_ = it->second;
  }
  return last_call_kind_id_;
}

Id ActivityRows::AddCall(const model::ApiCall& call, Id name_id) {
  calls_.push_back({call.start_ns, call.end_ns - call.start_ns, call.correlation_id,
                    CallKindOf(call, name_id), 0});
  return static_cast<Id>(calls_.size());
}

std::optional<model::HostCall> ActivityRows::CallOf(size_t activity) const {
  if (activity >= call_of_.size() || call_of_[activity] == 0) return std::nullopt;
  const Call& call = calls_[call_of_[activity] - 1];
  return model::HostCall{static_cast<Id>(call_of_[activity]), call.start_ns,
                         call.start_ns + call.duration_ns, call_kinds_[call.kind - 1].thread_id};
}

int64_t ActivityRows::CorrelationOf(const model::RunTables& run, size_t activity) const {
  const int64_t narrow = run.activities.correlation_of(activity);
  if (narrow != 0 || wide_correlations_.empty()) return narrow;
  const auto wide = wide_correlations_.find(static_cast<uint32_t>(activity));
  return wide == wide_correlations_.end() ? 0 : wide->second;
}

Id ActivityRows::CallId(const model::RunTables& run, size_t call) const {
  const uint32_t owner = calls_[call].owner;
  if (owner != 0) return owner;
  return static_cast<Id>(run.activities.size() + other_number_[call]);
}

void ActivityRows::Settle(const model::RunTables& run, const model::AttributionTables* attribution,
                          const model::AnalysisTables* analysis) {
  SettleCalls(run);
  SettleKinds(run, attribution, analysis);
  SettleGaps(run, analysis);
  settled_ = true;
}

void ActivityRows::SettleCalls(const model::RunTables& run) {
  for (Call& call : calls_) call.owner = 0;
  for (size_t i = 0; i < call_of_.size(); ++i) {
    if (call_of_[i] == 0) continue;
    Call& call = calls_[call_of_[i] - 1];
    if (call.owner == 0 && call.correlation == CorrelationOf(run, i)) {
      call.owner = static_cast<uint32_t>(i + 1);
    }
  }
  other_calls_.clear();
  other_number_.assign(calls_.size(), 0);
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].owner != 0) continue;
    other_calls_.push_back(static_cast<uint32_t>(i));
    other_number_[i] = static_cast<uint32_t>(other_calls_.size());
  }
}

void ActivityRows::SettleKinds(const model::RunTables& run,
                               const model::AttributionTables* attribution,
                               const model::AnalysisTables* analysis) {
  const model::ActivityColumns& columns = run.activities;
  kinds_.clear();
  slots_.clear();
  kind_of_.resize(columns.size());
  slot_of_.resize(columns.size());
  std::unordered_map<Kind, uint32_t, KindHash> kind_index;
  std::unordered_map<uint64_t, uint32_t> slot_index;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool labelled = attribution != nullptr && i < attribution->label_of.size();
    int64_t node = columns.graph_node_of(i);
    if (node != 0 && run.ConfigOf(i).kind == model::ActivityKind::kGraph)
      node = 0;  // A graph-level row.
    const Kind kind = {columns.lane[i],
                       columns.config[i],
                       columns.hint[i],
                       labelled ? attribution->label_of[i] : 0,
                       columns.bytes[i],
                       i < graph_ids_.size() ? graph_ids_[i] : 0,
                       node};
    const auto [it, fresh] = kind_index.try_emplace(kind, static_cast<uint32_t>(kinds_.size() + 1));
    if (fresh) kinds_.push_back(kind);
    kind_of_[i] = it->second;

    Slot slot = {
        labelled && i < attribution->execution_of.size() ? attribution->execution_of[i] : 0,
        analysis != nullptr && i < analysis->step_of.size() ? analysis->step_of[i] : std::nullopt,
        columns.run_key[i]};
    if (i > 0 && slots_[slot_of_[i - 1] - 1] == slot) {
      slot_of_[i] = slot_of_[i - 1];
      continue;
    }
    const uint64_t step = slot.step ? uint64_t{1} << 31 ^ static_cast<uint32_t>(*slot.step) : 0;
    // Steps count from 0 or are small numbers of a framework. A step of 2^31 would collide with the
    // key of another slot.
    const uint64_t key = (uint64_t{slot.execution} << 32 | (slot.step ? step : 0)) ^
                         slot.run_key * 0x9E3779B97F4A7C15u;
    const auto [at, is_new] = slot_index.try_emplace(key, static_cast<uint32_t>(slots_.size() + 1));
    if (is_new || slots_[at->second - 1] != slot) {
      if (!is_new) at->second = static_cast<uint32_t>(slots_.size() + 1);
      slots_.push_back(slot);
    }
    slot_of_[i] = at->second;
  }
}

void ActivityRows::SettleGaps(const model::RunTables& run, const model::AnalysisTables* analysis) {
  gap_of_.clear();
  other_gaps_.clear();
  if (analysis == nullptr || analysis->gaps.empty()) return;
  const model::ActivityColumns& columns = run.activities;
  gap_of_.assign(columns.size(), kNoGapCode);
  const auto is_activity = [&](Id id) {
    return id > 0 && static_cast<size_t>(id) <= columns.size();
  };
  for (const model::GapRow& gap : analysis->gaps) {
    if (is_activity(gap.previous_activity_id) && is_activity(gap.next_activity_id)) {
      const auto previous = static_cast<size_t>(gap.previous_activity_id) - 1;
      const auto next = static_cast<size_t>(gap.next_activity_id) - 1;
      const int64_t distance = gap.next_activity_id - gap.previous_activity_id;
      const auto packed = PackGap({distance, static_cast<int64_t>(gap.cause)});
      if (columns.end_ns(previous) == gap.start_ns && columns.start_ns[next] == gap.end_ns &&
          run.LaneOf(next).device_id == gap.device_id && gap.host_range_id == 0 &&
          gap_of_[next] == kNoGapCode && packed) {
        gap_of_[next] = *packed;
        continue;
      }
    }
    other_gaps_.push_back(gap);
  }
}

Status ActivityRows::WriteDictionaries(Database& db) const {
  XLATRACE_ASSIGN(Statement row, db.Prepare("INSERT INTO x_kind VALUES(?,?,?,?,?,?,?,?)"));
  const auto nullable = [&](int column, int64_t value, int64_t null) {
    if (value == null) {
      row.BindNull(column);
    } else {
      row.BindInt64(column, value);
    }
  };
  Id id = 0;
  for (const Kind& kind : kinds_) {
    row.BindInt64(0, ++id);
    row.BindInt64(1, kind.lane);
    row.BindInt64(2, kind.config);
    nullable(3, kind.hint, 0);
    nullable(4, kind.label, 0);
    nullable(5, kind.bytes, -1);
    nullable(6, kind.graph_id, 0);
    nullable(7, kind.graph_node_id, 0);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, db.Prepare("INSERT INTO x_slot VALUES(?,?,?,?)"));
  id = 0;
  for (const Slot& slot : slots_) {
    row.BindInt64(0, ++id);
    nullable(1, slot.execution, 0);
    row.BindOptional(2, slot.step ? std::optional<int64_t>(*slot.step) : std::nullopt);
    nullable(3, slot.run_key, 0);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, db.Prepare("INSERT INTO x_call_kind VALUES(?,?,?,?,?,?)"));
  id = 0;
  for (const CallKind& kind : call_kinds_) {
    row.BindInt64(0, ++id);
    row.BindInt64(1, kind.process_id);
    row.BindInt64(2, kind.thread_id);
    row.BindInt64(3, kind.name_id);
    row.BindOptional(4, kind.event_class);
    row.BindOptional(5, kind.return_value);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, db.Prepare("INSERT INTO x_other_call VALUES(?,?,?,?,?)"));
  for (const uint32_t index : other_calls_) {
    const Call& call = calls_[index];
    row.BindInt64(0, static_cast<Id>(call_of_.size() + other_number_[index]));
    row.BindInt64(1, call.kind);
    nullable(2, call.correlation, 0);
    row.BindInt64(3, call.start_ns);
    row.BindInt64(4, call.duration_ns);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

void ActivityRows::WriteOtherGaps(TableBuilder& rows) const {
  for (const model::GapRow& gap : other_gaps_) {
    const int64_t values[] = {gap.device_id,
                              gap.start_ns,
                              gap.end_ns,
                              static_cast<int64_t>(gap.cause),
                              NullIfZero(gap.previous_activity_id),
                              NullIfZero(gap.next_activity_id),
                              NullIfZero(gap.host_range_id)};
    rows.Append(rows.rows() + 1, values);
  }
}

void ActivityRows::WriteRows(const model::RunTables& run, TableBuilder& rows) const {
  const model::ActivityColumns& columns = run.activities;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::array<int64_t, kPackedColumns.size()> values;
    values.fill(kNullNumber);
    const auto at = [&](PackedColumn column) -> int64_t& { return values[IndexOf(column)]; };
    at(PackedColumn::kKind) = kind_of_[i];
    at(PackedColumn::kSlot) = slot_of_[i];
    at(PackedColumn::kStart) = columns.start_ns[i];
    at(PackedColumn::kDuration) = columns.duration_ns[i];
    at(PackedColumn::kCorrelation) = NullIfZero(CorrelationOf(run, i));
    const auto id = static_cast<Id>(i + 1);
    if (call_of_[i] != 0) {
      const Call& call = calls_[call_of_[i] - 1];
      if (call.owner == id) {
        at(PackedColumn::kCallKind) = call.kind;
        at(PackedColumn::kCallReference) = columns.start_ns[i] - call.start_ns;
        at(PackedColumn::kCallDuration) = call.duration_ns;
      } else {
        at(PackedColumn::kCallReference) = id - CallId(run, call_of_[i] - 1);
      }
    }
    if (!gap_of_.empty() && gap_of_[i] != kNoGapCode) at(PackedColumn::kGap) = gap_of_[i];
    if (!columns.timed(i)) {
      at(PackedColumn::kDuration) = kNullNumber;
      if (columns.timing_of(i) == model::Timing::kStartOnly) at(PackedColumn::kNested) = 0;
    } else if (columns.self_ns[i] != columns.duration_ns[i]) {
      at(PackedColumn::kNested) = columns.duration_ns[i] - columns.self_ns[i];
    }
    rows.Append(id, values);
  }
}

}  // namespace xlatrace::store
