// SPDX-License-Identifier: Apache-2.0
#include "report/page/page_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/hash.h"
#include "report/safe_text.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxExactInteger = int64_t{1} << 53;  // Larger integers are not exact as doubles.

std::string_view TypeText(int type) {
  constexpr std::string_view kTexts[] = {"int", "real", "word", "text", "ref", "blob"};
  return kTexts[type];
}

// Byte planes, least significant first. Bytes of one significance are adjacent and compress well.
void AppendPlanes(std::string& block, const std::vector<uint64_t>& values, int width) {
  for (int plane = 0; plane < width; ++plane) {
    const size_t at = block.size();
    block.resize(at + values.size());
    char* to = block.data() + at;
    for (const uint64_t value : values) *to++ = static_cast<char>(value >> (8 * plane));
  }
}

struct Range {
  int64_t min = 0;
  int64_t max = 0;
  bool exact = true;  // All of it within 2^53.
};

Range RangeOf(const std::vector<int64_t>& values, const std::vector<uint8_t>& nulls) {
  Range range;
  bool first = true;
  for (size_t i = 0; i < values.size(); ++i) {
    if (nulls[i] != 0) continue;
    range.min = first ? values[i] : std::min(range.min, values[i]);
    range.max = first ? values[i] : std::max(range.max, values[i]);
    first = false;
  }
  range.exact = range.min >= -kMaxExactInteger && range.max <= kMaxExactInteger &&
                range.max - range.min <= kMaxExactInteger;
  return range;
}

}  // namespace

int64_t PageStrings::Row(std::string_view text) {
  // Long texts are cut, so two that differ may read the same; they stay two rows.
  std::string key =
      text.size() <= kMaxStringBytes ? std::string(text) : HashText(Hash(text)) + "\n";
  const auto [found, added] = rows_.emplace(std::move(key), static_cast<int64_t>(texts_.size()));
  if (added) texts_.push_back(SafeName(text, kMaxStringBytes));
  return found->second;
}

size_t PageTable::Add(std::string name, Type type) {
  Column column;
  column.name = std::move(name);
  column.type = type;
  columns_.push_back(std::move(column));
  return columns_.size() - 1;
}

PageTable& PageTable::Declare(std::string_view columns) {
  while (!columns.empty()) {
    const size_t end = std::min(columns.find_first_of(" \n"), columns.size());
    const std::string_view word = columns.substr(0, end);
    columns.remove_prefix(std::min(end + 1, columns.size()));
    if (word.empty()) continue;
    const size_t mark = word.find_first_of(":>");
    std::string name(word.substr(0, mark));
    const std::string_view kind = mark == word.npos ? "" : word.substr(mark + 1);
    if (mark != word.npos && word[mark] == '>') {
      AddRef(std::move(name), std::string(kind));
    } else if (kind == "delta") {
      AddDelta(std::move(name));
    } else {
      Add(std::move(name), kind == "text"   ? Type::kText
                           : kind == "word" ? Type::kWord
                           : kind == "real" ? Type::kReal
                                            : Type::kInt);
    }
  }
  return *this;
}

size_t PageTable::AddDelta(std::string name) {
  const size_t column = Add(std::move(name), Type::kInt);
  columns_[column].delta = true;
  return column;
}

size_t PageTable::AddRef(std::string name, std::string table) {
  const size_t column = Add(std::move(name), Type::kRef);
  columns_[column].other = std::move(table);
  return column;
}

size_t PageTable::AddBlob(std::string name, std::string lengths) {
  Add(lengths, Type::kInt);
  const size_t column = Add(std::move(name), Type::kBlob);
  columns_[column].other = std::move(lengths);
  return column;
}

void PageTable::FillTo(Column& column, size_t rows) const {
  column.values.resize(rows, 0);
  column.nulls.resize(rows, 1);
}

void PageTable::Append(Column& column, int64_t value) {
  FillTo(column, rows_);
  column.values.push_back(value);
  column.nulls.push_back(0);
}

void PageTable::Set(size_t column, int64_t value) { Append(columns_[column], value); }

void PageTable::Set(size_t column, const std::optional<int64_t>& value) {
  if (value) Append(columns_[column], *value);
}

void PageTable::SetReal(size_t column, double value) {
  if (std::isfinite(value)) Append(columns_[column], std::bit_cast<int64_t>(value));
}

void PageTable::SetText(size_t column, std::string_view text) {
  if (text.empty()) return;
  Column& c = columns_[column];
  if (c.type == Type::kText) return Append(c, strings_->Row(text));
  const auto [found, added] =
      c.word_rows.emplace(std::string(text), static_cast<int64_t>(c.words.size()));
  if (added) c.words.push_back(SafeName(text, PageStrings::kMaxStringBytes));
  Append(c, found->second);
}

void PageTable::SetBlob(size_t column, std::string_view text) {
  columns_[column].blob.append(text);
  Append(columns_[column - 1], static_cast<int64_t>(text.size()));
}

Json PageTable::Encode(std::string& block) const {
  Json columns = Json::array();
  for (const Column& column : columns_) columns.push_back(EncodeColumn(column, block));
  return columns;
}

Json PageTable::EncodeColumn(Column column, std::string& block) const {
  Json json{{"name", column.name},
            {"type", TypeText(static_cast<int>(column.type))},
            {"at", block.size()}};
  if (column.type == Type::kBlob) {
    json["bytes"] = column.blob.size();
    json["lengths"] = column.other;
    block += column.blob;
    return json;
  }
  FillTo(column, rows_);
  std::vector<int64_t>& values = column.values;
  const std::vector<uint8_t>& nulls = column.nulls;
  if (column.type == Type::kWord) json["words"] = column.words;
  if (column.type == Type::kRef) json["table"] = column.other;
  if (std::find(nulls.begin(), nulls.end(), 1) != nulls.end()) {
    json["nulls"] = true;
    const size_t at = block.size();
    block.resize(at + (rows_ + 7) / 8);
    for (size_t i = 0; i < rows_; ++i) {
      if (nulls[i] != 0) block[at + i / 8] = static_cast<char>(block[at + i / 8] | 1 << (i % 8));
    }
  }
  std::vector<uint64_t> encoded(rows_);
  if (column.type == Type::kReal || !RangeOf(values, nulls).exact) {
    for (size_t i = 0; i < rows_; ++i) {
      encoded[i] = column.type == Type::kReal
                       ? static_cast<uint64_t>(values[i])
                       : std::bit_cast<uint64_t>(static_cast<double>(values[i]));
    }
    json["type"] = "real";
    AppendPlanes(block, encoded, 8);
    return json;
  }
  if (column.delta) {
    int64_t before = 0;
    std::vector<int64_t> differences(rows_, 0);
    for (size_t i = 0; i < rows_; ++i) {
      if (nulls[i] != 0) continue;
      differences[i] = values[i] - before;
      before = values[i];
    }
    column.delta = RangeOf(differences, nulls).exact;
    if (column.delta) values = std::move(differences);
  }
  const Range range = RangeOf(values, nulls);
  uint64_t step = 0;
  uint64_t largest = 0;
  for (size_t i = 0; i < rows_; ++i) {
    if (nulls[i] != 0) continue;
    encoded[i] = static_cast<uint64_t>(values[i] - range.min);
    if (step != 1) step = std::gcd(step, encoded[i]);
  }
  if (step == 0) step = 1;
  for (uint64_t& value : encoded) {
    value /= step;
    largest = std::max(largest, value);
  }
  const int width = (static_cast<int>(std::bit_width(largest)) + 7) / 8;
  json["min"] = range.min;
  json["step"] = step;
  json["width"] = width;
  if (column.delta) json["delta"] = true;
  AppendPlanes(block, encoded, width);
  return json;
}

}  // namespace xlatrace::report
