// SPDX-License-Identifier: Apache-2.0
#include "store/packed_table.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace xlatrace::store {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

// First byte of a cell. An integer of N bytes (0 to 8, least significant first) has kInteger + N.
constexpr char kNull = 0;
constexpr char kReal = 1;
constexpr char kText = 2;  // Followed by the size in eight bytes.
constexpr char kInteger = 3;

void AppendBytes(uint64_t value, size_t count, std::string* to) {
  for (size_t i = 0; i < count; ++i) to->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t ReadBytes(const char* at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  }
  return value;
}

// Zigzag, so that small negative numbers are short.
uint64_t Unsigned(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t Signed(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void AppendCell(const Statement& row, int column, std::string* to) {
  switch (row.ColumnType(column)) {
    case Statement::Type::kNull:
      to->push_back(kNull);
      return;
    case Statement::Type::kInteger: {
      const uint64_t value = Unsigned(row.Int64(column));
      const size_t count = (static_cast<size_t>(std::bit_width(value)) + 7) / 8;
      to->push_back(static_cast<char>(static_cast<size_t>(kInteger) + count));
      AppendBytes(value, count, to);
      return;
    }
    case Statement::Type::kReal:
      to->push_back(kReal);
      AppendBytes(std::bit_cast<uint64_t>(row.Real(column)), 8, to);
      return;
    default: {
      const std::string_view text = row.Text(column);
      to->push_back(kText);
      AppendBytes(text.size(), 8, to);
      to->append(text);
    }
  }
}

}  // namespace

Result<PackedTable> PackedTable::Load(RunDb& db, std::string_view sql) {
  PackedTable table;
  XLATRACE_ASSIGN(Statement row, db.Prepare(sql));
  const int columns = row.ColumnCount();
  for (int i = 0; i < columns; ++i) table.columns_.emplace_back(row.ColumnName(i));
  std::string cells;
  while (true) {
    XLATRACE_ASSIGN(const bool more, row.Step());
    if (!more) return table;
    cells.clear();
    for (int i = 0; i < columns; ++i) AppendCell(row, i, &cells);
    if (table.chunks_.empty() ||
        table.chunks_.back().capacity() - table.chunks_.back().size() < cells.size()) {
      table.chunks_.emplace_back().reserve(std::max(kChunkBytes, cells.size()));
    }
    std::string& chunk = table.chunks_.back();
    table.rows_.push_back(chunk.data() + chunk.size());
    chunk += cells;
  }
}

size_t PackedTable::Column(std::string_view name) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return i;
  }
  std::abort();  // A column that our own SQL did not select.
}

PackedTable::Value PackedTable::Read(const char** at) {
  Value value;
  const char tag = *(*at)++;
  if (tag == kNull) return value;
  if (tag == kReal) {
    value.type = Statement::Type::kReal;
    value.real = std::bit_cast<double>(ReadBytes(*at, 8));
    *at += 8;
  } else if (tag == kText) {
    value.type = Statement::Type::kText;
    value.text = std::string_view(*at + 8, ReadBytes(*at, 8));
    *at += 8 + value.text.size();
  } else {
    const auto count = static_cast<size_t>(tag - kInteger);
    value.type = Statement::Type::kInteger;
    value.integer = Signed(ReadBytes(*at, count));
    *at += count;
  }
  return value;
}

PackedTable::Value PackedTable::ValueAt(size_t row, size_t column) const {
  const char* at = rows_[row];
  for (size_t i = 0; i < column; ++i) Read(&at);
  return Read(&at);
}

Cell PackedTable::CellOf(const Value& value) {
  switch (value.type) {
    case Statement::Type::kNull:
      return std::monostate();
    case Statement::Type::kInteger:
      return value.integer;
    case Statement::Type::kReal:
      return value.real;
    default:
      return std::string(value.text);
  }
}

bool PackedTable::IsNull(size_t row, std::string_view column) const {
  return ValueAt(row, Column(column)).type == Statement::Type::kNull;
}

int64_t PackedTable::Int(size_t row, std::string_view column, int64_t if_null) const {
  const Value value = ValueAt(row, Column(column));
  if (value.type == Statement::Type::kInteger) return value.integer;
  if (value.type == Statement::Type::kReal) return static_cast<int64_t>(value.real);
  return if_null;
}

double PackedTable::Real(size_t row, std::string_view column, double if_null) const {
  const Value value = ValueAt(row, Column(column));
  if (value.type == Statement::Type::kInteger) return static_cast<double>(value.integer);
  if (value.type == Statement::Type::kReal) return value.real;
  return if_null;
}

std::string_view PackedTable::Text(size_t row, std::string_view column) const {
  return ValueAt(row, Column(column)).text;
}

Cell PackedTable::At(size_t row, size_t column) const { return CellOf(ValueAt(row, column)); }

std::vector<Cell> PackedTable::Row(size_t row) const {
  std::vector<Cell> cells;
  cells.reserve(columns_.size());
  const char* at = rows_[row];
  for (size_t i = 0; i < columns_.size(); ++i) cells.push_back(CellOf(Read(&at)));
  return cells;
}

}  // namespace xlatrace::store
