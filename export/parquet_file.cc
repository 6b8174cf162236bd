#include "export/parquet_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/compress.h"
#include "export/thrift_writer.h"

namespace xlatrace::exporter {
namespace {

// Numbers of parquet.thrift.
enum Encoding { kPlain = 0, kRle = 3, kRleDictionary = 8 };
enum PageType { kDataPage = 0, kDictionaryPage = 2 };
constexpr int kOptional = 1;
constexpr int kZstd = 6;
constexpr int kUtf8 = 0;
constexpr std::string_view kMagic = "PAR1";

int TypeNumber(ParquetType type) {
  switch (type) {
    case ParquetType::kInt64:
      return 2;
    case ParquetType::kDouble:
      return 5;
    case ParquetType::kText:
      break;
  }
  return 6;
}

void AppendLittleEndian32(std::string& out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
}
void AppendLittleEndian64(std::string& out, uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> 8 * i & 0xff);
  out.append(bytes, 8);
}
void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// The RLE and bit-packing hybrid (Encodings.md).
class Hybrid {
 public:
  Hybrid(std::string& out, int width) : out_(out), width_(width) {}

  void Add(const std::vector<uint32_t>& values) {
    for (size_t i = 0; i < values.size();) {
      size_t run = 1;
      while (i + run < values.size() && values[i + run] == values[i]) ++run;
      // Packed values come by eights; only the last eight may be filled up.
      const size_t fill = std::min(run, (8 - packed_.size() % 8) % 8);
      packed_.insert(packed_.end(), fill, values[i]);
      const size_t rest = run - fill;
      if (rest >= 8) {
        FlushPacked();
        AppendVarint(out_, uint64_t{rest} << 1);
        for (int byte = 0; byte < (width_ + 7) / 8; ++byte) {
          out_ += static_cast<char>(values[i] >> 8 * byte & 0xff);
        }
      } else {
        packed_.insert(packed_.end(), rest, values[i]);
      }
      i += run;
    }
    FlushPacked();
  }

 private:
  void FlushPacked() {
    if (packed_.empty()) return;
    packed_.resize((packed_.size() + 7) / 8 * 8, 0);
    AppendVarint(out_, uint64_t{packed_.size() / 8} << 1 | 1);
    uint64_t bits = 0;
    int count = 0;
    for (const uint32_t value : packed_) {
      bits |= uint64_t{value} << count;
      for (count += width_; count >= 8; count -= 8, bits >>= 8) {
        out_ += static_cast<char>(bits & 0xff);
      }
    }
    packed_.clear();
  }

  std::string& out_;
  int width_;
  std::vector<uint32_t> packed_;
};

}  // namespace

ParquetFile::ParquetFile(AtomicFile& file, std::vector<std::pair<std::string, ParquetType>> columns)
    : file_(file) {
  for (auto& [name, type] : columns) {
    columns_.emplace_back();
    columns_.back().name = std::move(name);
    columns_.back().type = type;
  }
}

void ParquetFile::AddNull(size_t column) { columns_[column].present.push_back(0); }

void ParquetFile::AddInt(size_t column, int64_t value) {
  columns_[column].present.push_back(1);
  AppendLittleEndian64(columns_[column].values, static_cast<uint64_t>(value));
}

void ParquetFile::AddReal(size_t column, double value) {
  columns_[column].present.push_back(1);
  AppendLittleEndian64(columns_[column].values, std::bit_cast<uint64_t>(value));
}

void ParquetFile::AddText(size_t at, std::string_view value) {
  Column& column = columns_[at];
  column.present.push_back(1);
  // Neighbours are often equal.
  if (!column.indices.empty() && column.texts[column.indices.back()] == value) {
    column.indices.push_back(column.indices.back());
    return;
  }
  const auto found = column.index_of.find(value);
  if (found != column.index_of.end()) {
    column.indices.push_back(found->second);
    return;
  }
  const auto index = static_cast<uint32_t>(column.texts.size());
  column.texts.emplace_back(value);
  column.index_of.emplace(column.texts.back(), index);
  column.indices.push_back(index);
}

Status ParquetFile::EndRow() {
  ++rows_;
  return ++group_rows_ == kGroupRows ? WriteGroup() : Status();
}

Status ParquetFile::Append(std::string_view bytes) {
  if (offset_ == 0) {
    offset_ = kMagic.size();
    XLATRACE_TRY(file_.Append(kMagic));
  }
  offset_ += static_cast<int64_t>(bytes.size());
  return file_.Append(bytes);
}

Status ParquetFile::WritePage(bool is_dictionary, int64_t values, const std::string& body,
                              Chunk& chunk, int encoding) {
  const std::string compressed = ZstdCompress(body);
  std::string head;
  ThriftWriter header(head);
  header.Int32(1, is_dictionary ? kDictionaryPage : kDataPage);
  header.Int32(2, static_cast<int64_t>(body.size()));
  header.Int32(3, static_cast<int64_t>(compressed.size()));
  header.BeginStruct(is_dictionary ? 7 : 5);
  header.Int32(1, values);
  header.Int32(2, encoding);
  if (!is_dictionary) {
    header.Int32(3, kRle);
    header.Int32(4, kRle);
  }
  header.EndStruct();
  header.EndStruct();
  if (offset_ == 0) XLATRACE_TRY(Append({}));
  (is_dictionary ? chunk.dictionary_offset : chunk.data_offset) = offset_;
  XLATRACE_TRY(Append(head));
  XLATRACE_TRY(Append(compressed));
  chunk.bytes += static_cast<int64_t>(head.size() + compressed.size());
  chunk.uncompressed_bytes += static_cast<int64_t>(head.size() + body.size());
  return {};
}

Status ParquetFile::WriteChunk(Column& column, Chunk& chunk) {
  chunk.values = static_cast<int64_t>(column.present.size());
  const bool is_text = column.type == ParquetType::kText;
  if (is_text) {
    std::string dictionary;
    for (const std::string& text : column.texts) {
      AppendLittleEndian32(dictionary, static_cast<uint32_t>(text.size()));
      dictionary += text;
    }
    XLATRACE_TRY(
        WritePage(true, static_cast<int64_t>(column.texts.size()), dictionary, chunk, kPlain));
  }
  std::string levels;
  Hybrid(levels, 1).Add(column.present);
  std::string body;
  AppendLittleEndian32(body, static_cast<uint32_t>(levels.size()));
  body += levels;
  if (is_text) {
    const int width = std::max(1, static_cast<int>(std::bit_width(
                                      column.texts.empty() ? size_t{1} : column.texts.size() - 1)));
    body += static_cast<char>(width);
    Hybrid(body, width).Add(column.indices);
  } else {
    body += column.values;
  }
  XLATRACE_TRY(WritePage(false, chunk.values, body, chunk, is_text ? kRleDictionary : kPlain));
  column.present.clear();
  column.values.clear();
  column.indices.clear();
  column.index_of.clear();
  column.texts.clear();
  return {};
}

Status ParquetFile::WriteGroup() {
  Group& group = groups_.emplace_back();
  group.rows = group_rows_;
  group_rows_ = 0;
  for (Column& column : columns_) {
    XLATRACE_TRY(WriteChunk(column, group.chunks.emplace_back()));
  }
  return {};
}

Status ParquetFile::Finish(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (group_rows_ > 0) XLATRACE_TRY(WriteGroup());
  std::string footer;
  ThriftWriter meta(footer);
  meta.Int32(1, 1);
  meta.List(2, ThriftWriter::kStruct, columns_.size() + 1);
  meta.BeginElement();
  meta.Text(4, "schema");
  meta.Int32(5, static_cast<int64_t>(columns_.size()));
  meta.EndStruct();
  for (const Column& column : columns_) {
    meta.BeginElement();
    meta.Int32(1, TypeNumber(column.type));
    meta.Int32(3, kOptional);
    meta.Text(4, column.name);
    if (column.type == ParquetType::kText) {
      meta.Int32(6, kUtf8);
      meta.BeginStruct(10);  // LogicalType
      meta.BeginStruct(1);   // STRING
      meta.EndStruct();
      meta.EndStruct();
    }
    meta.EndStruct();
  }
  meta.Int64(3, rows_);
  meta.List(4, ThriftWriter::kStruct, groups_.size());
  for (const Group& group : groups_) {
    meta.BeginElement();
    meta.List(1, ThriftWriter::kStruct, columns_.size());
    int64_t bytes = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      const Chunk& chunk = group.chunks[i];
      const bool is_text = column.type == ParquetType::kText;
      meta.BeginElement();
      meta.Int64(2, is_text ? chunk.dictionary_offset : chunk.data_offset);
      meta.BeginStruct(3);
      meta.Int32(1, TypeNumber(column.type));
      meta.List(2, ThriftWriter::kInt32, is_text ? 3 : 2);
      meta.Zigzag(kPlain);
      meta.Zigzag(kRle);
      if (is_text) meta.Zigzag(kRleDictionary);
      meta.List(3, ThriftWriter::kText, 1);
      meta.Bytes(column.name);
      meta.Int32(4, kZstd);
      meta.Int64(5, chunk.values);
      meta.Int64(6, chunk.uncompressed_bytes);
      meta.Int64(7, chunk.bytes);
      meta.Int64(9, chunk.data_offset);
      if (is_text) meta.Int64(11, chunk.dictionary_offset);
      meta.EndStruct();
      meta.EndStruct();
      bytes += chunk.uncompressed_bytes;
    }
    meta.Int64(2, bytes);
    meta.Int64(3, group.rows);
    meta.EndStruct();
  }
  meta.List(5, ThriftWriter::kStruct, facts.size());
  for (const auto& [key, value] : facts) {
    meta.BeginElement();
    meta.Text(1, key);
    meta.Text(2, value);
    meta.EndStruct();
  }
  meta.Text(6, fmt::format("xlatrace version {}", XLATRACE_VERSION));
  meta.EndStruct();
  XLATRACE_TRY(Append(footer));
  std::string tail;
  AppendLittleEndian32(tail, static_cast<uint32_t>(footer.size()));
  return Append(tail += kMagic);
}

}  // namespace xlatrace::exporter
