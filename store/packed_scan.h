// SPDX-License-Identifier: Apache-2.0

// One pass over the packed rows, unpacked (packed_row.h). A file may contain any values: sums that
// overflow wrap and are meaningless.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_PACKED_SCAN_H_
#define XLATRACE_STORE_PACKED_SCAN_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "base/error.h"
#include "store/full_scan.h"
#include "store/packed_row.h"
#include "store/run_db.h"

namespace xlatrace::store {

// Entry `id` of a dictionary that counts from 1; null if there is none.
template <typename Entry>
const Entry* EntryAt(const std::vector<Entry>& entries, int64_t id) {
  const bool known = id >= 1 && static_cast<uint64_t>(id) <= entries.size();
  return known ? &entries[static_cast<size_t>(id) - 1] : nullptr;
}

class PackedScan {
 public:
  // `columns`: the requested columns besides the id. Other columns read as NULL.
  static Result<PackedScan> Open(RunDb& db, std::initializer_list<PackedColumn> columns);

  // In the order of ids. False at the end, an error if the table is damaged.
  Result<bool> Next() { return rows_.Next(); }

  int64_t id() const { return rows_.Int64(0); }
  int64_t kind() const { return Value(PackedColumn::kKind); }
  int64_t slot() const { return Value(PackedColumn::kSlot); }

  bool timed() const { return Has(PackedColumn::kDuration); }
  bool placed() const { return timed() || Has(PackedColumn::kNested); }  // The start is a time.
  int64_t start_ns() const { return Value(PackedColumn::kStart); }
  int64_t duration_ns() const { return Value(PackedColumn::kDuration); }
  int64_t self_ns() const { return Minus(duration_ns(), Value(PackedColumn::kNested)); }
  std::optional<int64_t> correlation_id() const {
    return Has(PackedColumn::kCorrelation) ? std::optional(Value(PackedColumn::kCorrelation))
                                           : std::nullopt;
  }

  // This row contains the call.
  bool owns_call() const { return Has(PackedColumn::kCallKind); }
  bool has_call() const { return owns_call() || Has(PackedColumn::kCallReference); }
  int64_t call_kind() const { return Value(PackedColumn::kCallKind); }
  // Requires has_call().
  int64_t call_id() const {
    return owns_call() ? id() : Minus(id(), Value(PackedColumn::kCallReference));
  }
  // Requires owns_call().
  int64_t call_start_ns() const { return Minus(start_ns(), Value(PackedColumn::kCallReference)); }
  int64_t call_end_ns() const { return Plus(call_start_ns(), Value(PackedColumn::kCallDuration)); }

  std::optional<PackedGap> gap() const {
    return Has(PackedColumn::kGap) ? std::optional(UnpackGap(Value(PackedColumn::kGap)))
                                   : std::nullopt;
  }

  static int64_t Plus(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  static int64_t Minus(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }

 private:
  // 0 for NULL.
  int64_t Value(PackedColumn column) const {
    const int8_t at = place_[IndexOf(column)];
    return at == 0 ? 0 : rows_.Int64(at);
  }
  bool Has(PackedColumn column) const {
    const int8_t at = place_[IndexOf(column)];
    return at != 0 && !rows_.IsNull(at);
  }

  FullScan rows_;
  std::array<int8_t, kPackedColumns.size()> place_{};  // Column of the scan; 0, the column of the
                                                       // id: not requested.
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_PACKED_SCAN_H_
