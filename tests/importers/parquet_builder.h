// SPDX-License-Identifier: Apache-2.0

// Writes small Parquet files for tests: one row group, data pages v1, PLAIN or dictionary encoding,
// optional columns, uncompressed or snappy (literals only).

#ifndef XLATRACE_TESTS_IMPORTERS_PARQUET_BUILDER_H_
#define XLATRACE_TESTS_IMPORTERS_PARQUET_BUILDER_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xlatrace::importers {

class ParquetBuilder {
 public:
  using Texts = std::vector<std::optional<std::string>>;
  using Numbers = std::vector<std::optional<int64_t>>;

  ParquetBuilder& Text(const std::string& name, const Texts& values, bool dictionary, bool snappy) {
    std::vector<std::string> plain;
    std::vector<bool> present;
    for (const auto& value : values) {
      present.push_back(value.has_value());
      if (!value) continue;
      plain.push_back(LittleEndian(value->size(), 4) + *value);
    }
    return Column(name, 6, plain, present, dictionary, snappy);
  }
  ParquetBuilder& Number(const std::string& name, const Numbers& values, bool dictionary,
                         bool snappy) {
    std::vector<std::string> plain;
    std::vector<bool> present;
    for (const auto& value : values) {
      present.push_back(value.has_value());
      if (value) plain.push_back(LittleEndian(static_cast<uint64_t>(*value), 8));
    }
    return Column(name, 2, plain, present, dictionary, snappy);
  }

  // From now on the footer states this number of rows, independent of the pages.
  ParquetBuilder& ClaimRows(int64_t rows) {
    rows_ = rows;
    return *this;
  }

  std::string Build() const {
    std::string footer = Int(1, 1, 0);  // version
    footer += Head(9, 1) + ListHead(names_.size() + 1, 12);
    footer += TextField(4, "schema", 0) + Int(5, static_cast<int64_t>(names_.size()), 4) + Stop();
    for (size_t i = 0; i < names_.size(); ++i) {
      footer += Int(1, types_[i], 0) + Int(3, 1, 1) + TextField(4, names_[i], 3) + Stop();
    }
    footer += IntField(6, 1, rows_);  // num_rows, field 3 after 2.
    footer += Head(9, 1) + ListHead(1, 12);
    footer += Head(9, 1) + ListHead(names_.size(), 12);
    for (size_t i = 0; i < names_.size(); ++i) {
      footer += Head(12, 3);  // meta_data is field 3.
      footer += Int(1, types_[i], 0) + Head(9, 2) + ListHead(1, 8) + TextItem(names_[i]);
      footer += Int(4, snappy_[i] ? 1 : 0, 3) + IntField(6, 1, rows_);
      footer += IntField(6, 2, chunks_[i].second) + IntField(6, 2, data_offsets_[i]);
      footer += IntField(6, 2, chunks_[i].first) + Stop() + Stop();
    }
    footer += IntField(6, 1, 0) + IntField(6, 1, rows_) + Stop() + Stop();
    return "PAR1" + body_ + footer + LittleEndian(footer.size(), 4) + "PAR1";
  }

 private:
  static std::string LittleEndian(uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  }
  static std::string Varint(uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
    return out + static_cast<char>(value);
  }
  static std::string Zigzag(int64_t value) {
    return Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  static std::string Head(int type, int delta) {
    return std::string(1, static_cast<char>(delta << 4 | type));
  }
  // i32 field `field` after field `last`.
  static std::string Int(int field, int64_t value, int last) {
    return Head(5, field - last) + Zigzag(value);
  }
  static std::string IntField(int type, int delta, int64_t value) {
    return Head(type, delta) + Zigzag(value);
  }
  static std::string TextItem(const std::string& text) { return Varint(text.size()) + text; }
  static std::string TextField(int field, const std::string& text, int last) {
    return Head(8, field - last) + TextItem(text);
  }
  static std::string ListHead(size_t size, int type) {
    if (size < 15) return std::string(1, static_cast<char>(size << 4 | static_cast<size_t>(type)));
    return std::string(1, static_cast<char>(0xF0 | type)) + Varint(size);
  }
  static std::string Stop() { return std::string(1, '\0'); }

  static std::string Compress(const std::string& bytes, bool snappy) {
    if (!snappy) return bytes;
    std::string out = Varint(bytes.size());
    for (size_t at = 0; at < bytes.size(); at += 60) {
      const std::string part = bytes.substr(at, 60);
      out += static_cast<char>((part.size() - 1) << 2);
      out += part;
    }
    return out;
  }

  // Runs of one value each: what a hybrid reader must take.
  static std::string Runs(const std::vector<uint32_t>& values, int width) {
    std::string out;
    for (const uint32_t value : values) out += Varint(2) + LittleEndian(value, (width + 7) / 8);
    return out;
  }

  void Page(int type, const std::string& content, const std::string& header, bool snappy) {
    const std::string stored = Compress(content, snappy);
    body_ += Int(1, type, 0) + Int(2, static_cast<int64_t>(content.size()), 1);
    body_ += Int(3, static_cast<int64_t>(stored.size()), 2) + header + Stop() + stored;
  }

  ParquetBuilder& Column(const std::string& name, int type, const std::vector<std::string>& plain,
                         const std::vector<bool>& present, bool dictionary, bool snappy) {
    const auto start = static_cast<int64_t>(body_.size() + 4);
    std::string values;
    if (dictionary) {
      std::vector<std::string> entries;
      std::vector<uint32_t> indices;
      for (const std::string& value : plain) {
        size_t at = 0;
        while (at < entries.size() && entries[at] != value) ++at;
        if (at == entries.size()) entries.push_back(value);
        indices.push_back(static_cast<uint32_t>(at));
      }
      std::string content;
      for (const std::string& entry : entries) content += entry;
      Page(2, content,
           Head(12, 4) + Int(1, static_cast<int64_t>(entries.size()), 0) + Int(2, 0, 1) + Stop(),
           snappy);
      values = std::string(1, '\x08') + Runs(indices, 8);
    } else {
      for (const std::string& value : plain) values += value;
    }
    const auto data = static_cast<int64_t>(body_.size() + 4);
    std::vector<uint32_t> levels;
    for (const bool there : present) levels.push_back(there ? 1 : 0);
    const std::string level_bytes = Runs(levels, 1);
    Page(0, LittleEndian(level_bytes.size(), 4) + level_bytes + values,
         Head(12, 2) + Int(1, static_cast<int64_t>(present.size()), 0) +
             Int(2, dictionary ? 8 : 0, 1) + Int(3, 3, 2) + Int(4, 3, 3) + Stop(),
         snappy);
    names_.push_back(name);
    types_.push_back(type);
    snappy_.push_back(snappy);
    chunks_.emplace_back(start, static_cast<int64_t>(body_.size() + 4) - start);
    data_offsets_.push_back(data);
    dictionary_.push_back(dictionary);
    rows_ = static_cast<int64_t>(present.size());
    return *this;
  }

  std::string body_;
  int64_t rows_ = 0;
  std::vector<std::string> names_;
  std::vector<int> types_;
  std::vector<bool> snappy_;
  std::vector<bool> dictionary_;
  std::vector<std::pair<int64_t, int64_t>> chunks_;  // Offset and size.
  std::vector<int64_t> data_offsets_;
};

// A capture's table: a module with a loop of one thunk and another thunk, on one thread.
inline std::string ProjectedTable(bool dictionary, bool snappy) {
  ParquetBuilder table;
  table.Text("Name",
             {{},
              "TSL:XlaModule:#prefix=jit(f),hlo_module=jit_f,program_id=4#",
              "TSL:Thunk:#name=,hlo_op=while.1#",
              "TSL:Thunk:#name=add,hlo_op=fusion.2#",
              "TSL:Thunk:#hlo_op=copy.3#",
              "TSL:XlaAutotunerMeasurement:#hlo_op=dot#"},
             dictionary, snappy);
  table.Number("Projected Start", {100, 1000, 1000, 1100, 2000, 5000}, dictionary, snappy);
  table.Number("Projected Duration", {900, 2000, 500, 300, 50, 40}, dictionary, snappy);
  table.Number("Orig Start", {{}, 10, 11, 12, 20, 5}, dictionary, snappy);
  table.Number("Orig Duration", {{}, 100, 5, 2, 3, 2}, dictionary, snappy);
  table.Number("PID", {7, 7, 7, 7, 7, 7}, dictionary, snappy);
  table.Number("TID", {9, 8, 8, 8, 8, 7}, dictionary, snappy);
  table.Number("NumGPUOps", {3, 3, 1, 1, 1, 1}, dictionary, snappy);
  table.Number("RangeId", {{}, 1, 2, 3, 4, 5}, dictionary, snappy);
  table.Number("ParentId", {{}, {}, 1, 2, 1, {}}, dictionary, snappy);
  return table.Build();
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_PARQUET_BUILDER_H_
