// A TableReader whose rows are decoded by a thread of its own, some thousand rows ahead: finding
// and decoding the values of a row takes about as long as what an importer then does with them, so
// that a pass over millions of rows takes little more than half the time on two cores. Order and
// values are the reader's.
//
// Holds three batches of at most kBatchRows rows, or less where texts are long; in any case three
// of the longest rows. Thread-safety: one thread calls.

#ifndef XLATRACE_STORE_READ_AHEAD_H_
#define XLATRACE_STORE_READ_AHEAD_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "store/sqlite.h"
#include "store/table_reader.h"

namespace xlatrace::store {

class ReadAhead {
 public:
  // Goes on with the row after the reader's current one. `columns`: of the reader.
  ReadAhead(TableReader reader, size_t columns);
  // The thread stops at its next batch.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // As TableReader's: the next row, false at the end, an error where the table is damaged.
  Result<bool> Next();

  // Of the current row; texts are valid until Next. Conversions are SQLite's.
  Statement::Type ColumnType(int column) const { return value(column).type; }
  bool IsNull(int column) const { return value(column).type == Statement::Type::kNull; }
  int64_t Int64(int column) const {
    const Value& v = value(column);
    return v.type == Statement::Type::kInteger ? v.number : OtherInt64(v);
  }
  std::optional<int64_t> OptionalInt64(int column) const {
    const Value& v = value(column);
    if (v.type == Statement::Type::kInteger) return v.number;
    return v.type == Statement::Type::kNull ? std::nullopt : std::optional<int64_t>(OtherInt64(v));
  }
  double Real(int column) const;
  std::string_view Text(int column) const;

 private:
  static constexpr size_t kBatchRows =
      1024;  // With 7 columns 115 KB: three stay in a core's cache.
  static constexpr size_t kBatchTextBytes = size_t{256} << 10;

  struct Value {
    int64_t number = 0;  // An integer, the bits of a real, or where in the batch's texts it begins.
    uint32_t size = 0;   // Of a text or blob.
    Statement::Type type = Statement::Type::kNull;
  };
  struct Batch {
    std::vector<Value> values;  // Row by row.
    std::string texts;
    size_t rows = 0;
    bool last = false;
    std::optional<Error> error;  // After the rows.
  };

  const Value& value(int column) const { return row_[static_cast<size_t>(column)]; }
  std::string_view BytesOf(const Value& v) const;
  int64_t OtherInt64(const Value& v) const;
  // On the thread.
  void Run();
  void Fill(Batch& batch);

  TableReader reader_;  // The thread's.
  const size_t columns_;

  // Batch n lies at n % 3: the caller has `taken_ - 1`, the thread fills `filled_`.
  std::array<Batch, 3> batches_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t filled_ = 0;  // Of the three: under the mutex.
  uint64_t taken_ = 0;
  bool stop_ = false;

  const Batch* batch_ = nullptr;  // The caller's.
  size_t next_row_ = 0;
  const Value* row_ = nullptr;
  bool ended_ = false;
  mutable std::vector<std::string> converted_;  // Texts of numbers, by column.
  std::thread thread_;                          // Last: starts when all else is there.
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_READ_AHEAD_H_
