// SPDX-License-Identifier: Apache-2.0

// One row of x_packed_activity: a launch, its API call and the gap before it, in some 40 bytes.
// This header is the only definition of its columns and their encoding, for writer, table, views
// and scans.
//
// Thread-safety: constants and pure functions.

#ifndef XLATRACE_STORE_PACKED_ROW_H_
#define XLATRACE_STORE_PACKED_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xlatrace::store {

inline constexpr char kPackedActivity[] = "x_packed_activity";

// In the order of the table. The rowid is the activity's id, from 1 without holes.
enum class PackedColumn : uint8_t {
  kKind,      // Id in x_kind.
  kSlot,      // Id in x_slot.
  kStart,     // ns; without known times the position in the order.
  kDuration,  // ns; NULL: not known.
  kCorrelation,
  // Id in x_call_kind, if this row contains a call (the call then has the id of this row).
  kCallKind,
  // If this row contains the call: time in ns from the call's start to this start. Otherwise: this
  // id minus the call's id.
  kCallReference,
  kCallDuration,  // Duration of the call in ns.
  kGap,           // PackGap of the gap that ends at this start.
  kNested,        // Time of nested activities in ns; 0 without a duration: the start is known.
};
inline constexpr std::array<std::string_view, 10> kPackedColumns = {
    "kind_id",   "slot_id",        "start_ns",         "duration_ns", "correlation_id",
    "call_kind", "call_reference", "call_duration_ns", "gap",         "nested_ns"};

constexpr size_t IndexOf(PackedColumn column) { return static_cast<size_t>(column); }
constexpr std::string_view NameOf(PackedColumn column) { return kPackedColumns[IndexOf(column)]; }

// "CREATE TABLE x_packed_activity(...);"
std::string PackedTableSql();

// A gap is encoded as the distance to the previous activity, in rows, and its cause
// (model::GapCause). If it does not fit into 31 bits, it has a row in x_other_gap.
inline constexpr int kGapCauseBits = 4;
struct PackedGap {
  int64_t distance = 0;  // Id of this activity minus that of the previous one.
  int64_t cause = 0;
};
constexpr std::optional<int32_t> PackGap(PackedGap gap) {
  constexpr int64_t kMaxOffset = int64_t{1} << (30 - kGapCauseBits);
  if (gap.distance <= -kMaxOffset || gap.distance >= kMaxOffset || gap.cause < 0 ||
      gap.cause >> kGapCauseBits != 0) {
    return std::nullopt;
  }
  return static_cast<int32_t>(gap.distance * (1 << kGapCauseBits) + gap.cause);
}
constexpr PackedGap UnpackGap(int64_t packed) {
  return {packed >> kGapCauseBits, packed & ((1 << kGapCauseBits) - 1)};
}

// The same for a row `r`, for the private views.
inline constexpr std::string_view kPackedStartSql =
    "CASE WHEN r.duration_ns IS NULL AND r.nested_ns IS NULL THEN NULL ELSE r.start_ns END";
inline constexpr std::string_view kPackedSelfSql = "r.duration_ns - coalesce(r.nested_ns, 0)";
inline constexpr std::string_view kPackedCallIdSql =
    "CASE WHEN r.call_kind IS NULL THEN r.rowid - r.call_reference ELSE r.rowid END";
// For rows with a call_kind.
inline constexpr std::string_view kPackedCallStartSql = "r.start_ns - r.call_reference";
// For rows with a gap.
std::string PackedGapCauseSql();
std::string PackedGapPreviousSql();

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_PACKED_ROW_H_
