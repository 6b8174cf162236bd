// SPDX-License-Identifier: Apache-2.0

// Writes one Parquet file: flat tables of signed 64-bit integers, doubles and texts, all of them
// optional. Texts are dictionary-encoded, pages compressed with Zstandard, a row group every
// 122,880 rows (DuckDB's own size), so memory is that of one row group.
//
// Why not Arrow: Debian has no Arrow for C++. Its Python package would be a large dependency for a
// file that 400 lines can write. Only features of every reader are used: format version 1, data
// pages v1, PLAIN and RLE_DICTIONARY. Tests read the files with Arrow, DuckDB and Polars, which
// share no code.
//
// Format: github.com/apache/parquet-format (README.md, Encodings.md, parquet.thrift).
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_PARQUET_FILE_H_
#define XLATRACE_EXPORT_PARQUET_FILE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace xlatrace::exporter {

class ThriftWriter;

enum class ParquetType { kInt64, kDouble, kText };

class ParquetFile {
 public:
  static constexpr int64_t kGroupRows = 122'880;

  ParquetFile(AtomicFile& file, std::vector<std::pair<std::string, ParquetType>> columns);

  // One value for each column in its order, by the column's type; then EndRow.
  void AddNull(size_t column);
  void AddInt(size_t column, int64_t value);
  void AddReal(size_t column, double value);
  void AddText(size_t column, std::string_view value);
  Status EndRow();

  // `facts`: key-value metadata of the file.
  Status Finish(const std::vector<std::pair<std::string, std::string>>& facts);
  int64_t rows() const { return rows_; }

 private:
  struct Column {
    std::string name;
    ParquetType type;
    std::vector<uint32_t> present;  // Definition levels: 1 or 0.
    std::string values;             // PLAIN bytes of integers and doubles.
    std::vector<uint32_t> indices;  // Dictionary indices of texts.
    std::deque<std::string> texts;
    std::unordered_map<std::string_view, uint32_t> index_of;
  };
  // The footer's entry for a column of a row group.
  struct Chunk {
    int64_t values = 0;
    int64_t dictionary_offset = -1;
    int64_t data_offset = 0;
    int64_t bytes = 0, uncompressed_bytes = 0;
  };
  struct Group {
    int64_t rows = 0;
    std::vector<Chunk> chunks;
  };

  // Parts of the footer.
  void WriteSchema(ThriftWriter& meta) const;
  void WriteColumnChunk(const Column& column, const Chunk& chunk, ThriftWriter& meta) const;

  Status WriteGroup();
  Status WriteChunk(Column& column, Chunk& chunk);
  Status WritePage(bool is_dictionary, int64_t values, const std::string& body, Chunk& chunk,
                   int encoding);
  Status Append(std::string_view bytes);

  AtomicFile& file_;
  std::vector<Column> columns_;
  std::vector<Group> groups_;
  int64_t rows_ = 0;
  int64_t group_rows_ = 0;
  int64_t offset_ = 0;
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PARQUET_FILE_H_
