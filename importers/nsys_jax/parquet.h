// SPDX-License-Identifier: Apache-2.0

// Reads the part of Apache Parquet that pandas and pyarrow use for flat tables of numbers and text,
// which nsys-jax and nsys recipes write (https://parquet.apache.org/docs/file-format/).
//
// Supported: INT32, INT64, FLOAT, DOUBLE, BOOLEAN, BYTE_ARRAY; required and optional columns;
// PLAIN, RLE and dictionary encodings; data pages v1 and v2; no compression, snappy, gzip, zstd.
// For other features the error names the feature.
//
// Limits: kMaxParquetRows rows, and about as many as the file has bytes. Pages inflate to at most
// their stated size, and pages of a column to at most 100 times the file. Thread-safety:
// re-entrant.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_PARQUET_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_PARQUET_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace xlatrace::importers {

inline constexpr int64_t kMaxParquetRows = 20'000'000;

// One column; exactly one of the vectors is filled.
struct ParquetColumn {
  static constexpr int64_t kNullNumber = INT64_MIN;
  std::vector<int64_t> numbers;         // kNullNumber: NULL. Reals are floored.
  std::vector<std::string_view> texts;  // Null data(): NULL.
  std::deque<std::string> storage;      // Owns the bytes of the views.

  bool is_text() const { return !texts.empty(); }
  std::optional<int64_t> Number(size_t row) const {
    if (row >= numbers.size() || numbers[row] == kNullNumber) return std::nullopt;
    return numbers[row];
  }
  std::string_view Text(size_t row) const {
    return row < texts.size() ? texts[row] : std::string_view();
  }
};

// A column of one row group, from the footer.
struct ParquetChunk {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t values = 0;
  int codec = 0;
};

class ParquetFile {
 public:
  // `bytes` must outlive the file.
  static Result<ParquetFile> Open(std::string_view bytes);

  int64_t rows() const { return rows_; }
  const std::vector<std::string>& columns() const { return names_; }
  // A missing column is returned as a column without values.
  Result<ParquetColumn> Read(std::string_view name) const;

 private:
  struct Column {
    int type = 0;
    bool optional = false;
    bool flat = true;
    std::vector<ParquetChunk> chunks;
  };
  Status ReadChunk(const Column& column, const ParquetChunk& chunk, ParquetColumn* out,
                   uint64_t* inflated_bytes) const;

  std::string_view bytes_;
  int64_t rows_ = 0;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_PARQUET_H_
