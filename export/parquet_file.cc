// SPDX-License-Identifier: Apache-2.0
#include "export/parquet_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/parquet_format.h"
#include "export/thrift_writer.h"

namespace xlatrace::exporter {
namespace {

using parquet::ColumnChunk;
using parquet::ColumnMetaData;
using parquet::DataPageHeader;
using parquet::DictionaryPageHeader;
using parquet::FileMetaData;
using parquet::KeyValue;
using parquet::LogicalType;
using parquet::PageHeader;
using parquet::RowGroup;
using parquet::SchemaElement;

constexpr int64_t kFormatVersion = 1;

parquet::Type StoredType(ParquetType type) {
  switch (type) {
    case ParquetType::kInt64:
      return parquet::kInt64;
    case ParquetType::kDouble:
      return parquet::kDouble;
    case ParquetType::kText:
      break;
  }
  return parquet::kByteArray;
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
    offset_ = parquet::kMagic.size();
    XLATRACE_TRY(file_.Append(parquet::kMagic));
  }
  offset_ += static_cast<int64_t>(bytes.size());
  return file_.Append(bytes);
}

Status ParquetFile::WritePage(bool is_dictionary, int64_t values, const std::string& body,
                              Chunk& chunk, int encoding) {
  const std::string compressed = ZstdCompress(body);
  std::string head;
  ThriftWriter header(head);
  header.Int32(PageHeader::kType, is_dictionary ? parquet::kDictionaryPage : parquet::kDataPage);
  header.Int32(PageHeader::kUncompressedPageSize, static_cast<int64_t>(body.size()));
  header.Int32(PageHeader::kCompressedPageSize, static_cast<int64_t>(compressed.size()));
  if (is_dictionary) {
    header.BeginStruct(PageHeader::kDictionaryPageHeader);
    header.Int32(DictionaryPageHeader::kNumValues, values);
    header.Int32(DictionaryPageHeader::kEncoding, encoding);
  } else {
    header.BeginStruct(PageHeader::kDataPageHeader);
    header.Int32(DataPageHeader::kNumValues, values);
    header.Int32(DataPageHeader::kEncoding, encoding);
    header.Int32(DataPageHeader::kDefinitionLevelEncoding, parquet::kRle);
    header.Int32(DataPageHeader::kRepetitionLevelEncoding, parquet::kRle);
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
    XLATRACE_TRY(WritePage(true, static_cast<int64_t>(column.texts.size()), dictionary, chunk,
                           parquet::kPlain));
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
  XLATRACE_TRY(WritePage(false, chunk.values, body, chunk,
                         is_text ? parquet::kRleDictionary : parquet::kPlain));
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

void ParquetFile::WriteSchema(ThriftWriter& meta) const {
  meta.List(FileMetaData::kSchema, ThriftWriter::kStruct, columns_.size() + 1);
  meta.BeginElement();
  meta.Text(SchemaElement::kName, "schema");
  meta.Int32(SchemaElement::kNumChildren, static_cast<int64_t>(columns_.size()));
  meta.EndStruct();
  for (const Column& column : columns_) {
    meta.BeginElement();
    meta.Int32(SchemaElement::kType, StoredType(column.type));
    meta.Int32(SchemaElement::kRepetitionType, parquet::kOptional);
    meta.Text(SchemaElement::kName, column.name);
    if (column.type == ParquetType::kText) {
      meta.Int32(SchemaElement::kConvertedType, parquet::kUtf8);
      meta.BeginStruct(SchemaElement::kLogicalType);
      meta.BeginStruct(LogicalType::kString);
      meta.EndStruct();
      meta.EndStruct();
    }
    meta.EndStruct();
  }
}

void ParquetFile::WriteColumnChunk(const Column& column, const Chunk& chunk,
                                   ThriftWriter& meta) const {
  const bool is_text = column.type == ParquetType::kText;
  meta.BeginElement();
  meta.Int64(ColumnChunk::kFileOffset, is_text ? chunk.dictionary_offset : chunk.data_offset);
  meta.BeginStruct(ColumnChunk::kMetaData);
  meta.Int32(ColumnMetaData::kType, StoredType(column.type));
  meta.List(ColumnMetaData::kEncodings, ThriftWriter::kInt32, is_text ? 3 : 2);
  meta.Zigzag(parquet::kPlain);
  meta.Zigzag(parquet::kRle);
  if (is_text) meta.Zigzag(parquet::kRleDictionary);
  meta.List(ColumnMetaData::kPathInSchema, ThriftWriter::kText, 1);
  meta.Bytes(column.name);
  meta.Int32(ColumnMetaData::kCodec, parquet::kZstd);
  meta.Int64(ColumnMetaData::kNumValues, chunk.values);
  meta.Int64(ColumnMetaData::kTotalUncompressedSize, chunk.uncompressed_bytes);
  meta.Int64(ColumnMetaData::kTotalCompressedSize, chunk.bytes);
  meta.Int64(ColumnMetaData::kDataPageOffset, chunk.data_offset);
  if (is_text) meta.Int64(ColumnMetaData::kDictionaryPageOffset, chunk.dictionary_offset);
  meta.EndStruct();
  meta.EndStruct();
}

Status ParquetFile::Finish(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (group_rows_ > 0) XLATRACE_TRY(WriteGroup());
  std::string footer;
  ThriftWriter meta(footer);
  meta.Int32(FileMetaData::kVersion, kFormatVersion);
  WriteSchema(meta);
  meta.Int64(FileMetaData::kNumRows, rows_);
  meta.List(FileMetaData::kRowGroups, ThriftWriter::kStruct, groups_.size());
  for (const Group& group : groups_) {
    meta.BeginElement();
    meta.List(RowGroup::kColumns, ThriftWriter::kStruct, columns_.size());
    int64_t bytes = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      WriteColumnChunk(columns_[i], group.chunks[i], meta);
      bytes += group.chunks[i].uncompressed_bytes;
    }
    meta.Int64(RowGroup::kTotalByteSize, bytes);
    meta.Int64(RowGroup::kNumRows, group.rows);
    meta.EndStruct();
  }
  meta.List(FileMetaData::kKeyValueMetadata, ThriftWriter::kStruct, facts.size());
  for (const auto& [key, value] : facts) {
    meta.BeginElement();
    meta.Text(KeyValue::kKey, key);
    meta.Text(KeyValue::kValue, value);
    meta.EndStruct();
  }
  meta.Text(FileMetaData::kCreatedBy, fmt::format("xlatrace version {}", XLATRACE_VERSION));
  meta.EndStruct();
  XLATRACE_TRY(Append(footer));
  std::string tail;
  AppendLittleEndian32(tail, static_cast<uint32_t>(footer.size()));
  return Append(tail += parquet::kMagic);
}

}  // namespace xlatrace::exporter
