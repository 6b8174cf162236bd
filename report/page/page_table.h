// SPDX-License-Identifier: Apache-2.0

// A table of the page's data: columns of equal length, to be encoded
// (docs/development/page-data.md).
//
// Declare all columns first. Then set the cells of a row and call EndRow. Cells that are not set,
// or set to nullopt, are NULL. All tables share one dictionary of texts.
//
// Ownership: a table refers to its dictionary. Thread-safety: one thread.

#ifndef XLATRACE_REPORT_PAGE_PAGE_TABLE_H_
#define XLATRACE_REPORT_PAGE_PAGE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

namespace xlatrace::report {

// The table `strings`: every text once, without unsafe characters and with at most kMaxStringBytes
// bytes.
class PageStrings {
 public:
  static constexpr size_t kMaxStringBytes = 4096;

  int64_t Row(std::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  // Row by the original text, or by its hash if the text was cut.
  std::unordered_map<std::string, int64_t> rows_;
  std::vector<std::string> texts_;
};

class PageTable {
 public:
  explicit PageTable(std::string name, PageStrings* strings = nullptr)
      : name_(std::move(name)), strings_(strings) {}

  enum class Type : uint8_t { kInt, kReal, kWord, kText, kRef, kBlob };

  // Declares several columns: "step steady:flag name:text kind:word device>devices start_ns:delta
  // waves:real". No suffix: integer. '>': a row of the named table. flag: 0 or 1.
  PageTable& Declare(std::string_view columns);
  // Declares one column and returns its number, counted from 0.
  size_t AddInt(std::string name) { return Add(std::move(name), Type::kInt); }
  size_t AddDelta(std::string name);  // Integers that grow: stored as differences.
  size_t AddReal(std::string name) { return Add(std::move(name), Type::kReal); }
  size_t AddWord(std::string name) { return Add(std::move(name), Type::kWord); }
  size_t AddText(std::string name) { return Add(std::move(name), Type::kText); }
  size_t AddRef(std::string name, std::string table);
  // Declares a column of long texts, stored as two columns, `lengths` and `name`. Returns the
  // number of the texts.
  size_t AddBlob(std::string name, std::string lengths);

  // Cells of the row that is being filled.
  void Set(size_t column, int64_t value);
  void Set(size_t column, const std::optional<int64_t>& value);
  void SetReal(size_t column, double value);           // NaN and infinities: NULL.
  void SetText(size_t column, std::string_view text);  // Text and word columns; empty: NULL.
  void SetBlob(size_t column, std::string_view text);  // Stores the bytes unchanged.
  void EndRow() { ++rows_; }

  const std::string& name() const { return name_; }
  size_t column_count() const { return columns_.size(); }
  Type TypeOf(size_t column) const { return columns_[column].type; }
  size_t rows() const { return rows_; }
  bool empty() const { return rows_ == 0; }

  // Appends the encoded columns to `block` and returns the "columns" of the index.
  nlohmann::ordered_json Encode(std::string& block) const;

 private:
  struct Column {
    std::string name;
    Type type = Type::kInt;
    bool delta = false;
    std::string other;            // Ref: the table. Blob: the column of lengths.
    std::vector<int64_t> values;  // Reals as their bits.
    std::vector<uint8_t> nulls;   // One element per row; 1: the cell is NULL.
    std::vector<std::string> words;
    std::unordered_map<std::string, int64_t> word_rows;
    std::string blob;
  };

  size_t Add(std::string name, Type type);
  void Append(Column& column, int64_t value);
  void FillTo(Column& column, size_t rows) const;
  nlohmann::ordered_json EncodeColumn(Column column, std::string& block) const;

  std::string name_;
  PageStrings* strings_;
  std::vector<Column> columns_;
  size_t rows_ = 0;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_TABLE_H_
