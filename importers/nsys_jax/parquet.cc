// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/parquet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/parquet_format.h"
#include "importers/nsys_jax/snappy.h"
#include "importers/nsys_jax/thrift_compact.h"

namespace xlatrace::importers {
namespace {

using parquet::ColumnChunk;
using parquet::ColumnMetaData;
using parquet::DataPageHeader;
using parquet::DataPageHeaderV2;
using parquet::DictionaryPageHeader;
using parquet::FileMetaData;
using parquet::PageHeader;
using parquet::RowGroup;
using parquet::SchemaElement;

constexpr int64_t kMaxPageBytes = int64_t{1} << 30;
// Real tables inflate up to ten times, and start times alone take more than a byte per row.
constexpr uint64_t kMaxPageRatio = 100;
constexpr uint64_t kPageRatioFreeBytes = uint64_t{64} << 20;
constexpr uint64_t kRowsFree = 65536;

tl::unexpected<Error> Damaged(std::string_view what) {
  return MakeError(fmt::format("a Parquet file with {}", what),
                   "the file is damaged or cut off; copy it again from its source");
}

Result<std::string> InflatePage(std::string_view page, int codec, int64_t size) {
  if (size < 0 || size > kMaxPageBytes) return Damaged("a page of an impossible size");
  switch (codec) {
    case parquet::kUncompressed:
      return std::string(page);
    case parquet::kSnappy: {
      auto inflated = SnappyInflate(page, static_cast<size_t>(size));
      if (!inflated) return Damaged("a damaged page");
      return std::move(*inflated);
    }
    case parquet::kGzip:
    case parquet::kZstd:
      return Inflate(std::string(page), "a page", static_cast<uint64_t>(size));
    default:
      return MakeError(fmt::format("a Parquet file with compression {}, which is not read", codec),
                       "write it again with snappy, gzip or zstd");
  }
}

// Hybrid of runs and bit-packed groups. False when the bytes end before `count` values.
bool ReadHybrid(std::string_view bytes, int width, size_t count, std::vector<uint32_t>* out) {
  out->clear();
  if (width < 0 || width > 32) return false;
  size_t at = 0;
  while (out->size() < count) {
    uint64_t head = 0;
    for (int shift = 0;; shift += 7) {
      if (at >= bytes.size() || shift > 35) return false;
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      head |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    if ((head & 1) == 0) {
      const size_t size = (static_cast<size_t>(width) + 7) / 8;
      if (bytes.size() - at < size) return false;
      uint32_t value = 0;
      for (size_t i = 0; i < size; ++i) {
        value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
      }
      at += size;
      const size_t run = std::min<uint64_t>(head >> 1, count - out->size());
      if (run == 0) return false;
      out->insert(out->end(), run, value);
      continue;
    }
    const uint64_t groups = head >> 1;
    if (groups == 0 || groups > count / 8 + 1) return false;
    const size_t size = static_cast<size_t>(groups) * static_cast<size_t>(width);
    if (bytes.size() - at < size) return false;
    uint64_t buffer = 0;
    int bits = 0;
    size_t next = at;
    for (uint64_t i = 0; i < groups * 8 && out->size() < count; ++i) {
      while (bits < width) {
        buffer |= uint64_t{static_cast<unsigned char>(bytes[next++])} << bits;
        bits += 8;
      }
      out->push_back(static_cast<uint32_t>(buffer & ((uint64_t{1} << width) - 1)));
      buffer >>= width;
      bits -= width;
    }
    at += size;
  }
  return true;
}

// Values of a page or dictionary, PLAIN.
struct Values {
  std::vector<int64_t> numbers;
  std::vector<std::string_view> texts;
};

int64_t FloorOf(double value) {
  if (!(std::abs(value) < 9.2e18))
    return ParquetColumn::kNullNumber;  // NaN is how pandas writes none.
  return static_cast<int64_t>(std::floor(value));
}

bool ReadPlain(std::string_view bytes, int type, size_t count, Values* out) {
  const auto take = [&](auto value, auto convert) {
    for (size_t i = 0; i < count; ++i) {
      if (bytes.size() < sizeof(value)) return false;
      std::memcpy(&value, bytes.data(), sizeof(value));
      bytes.remove_prefix(sizeof(value));
      out->numbers.push_back(convert(value));
    }
    return true;
  };
  const auto same = [](auto value) { return static_cast<int64_t>(value); };
  switch (type) {
    case parquet::kInt32:
      return take(int32_t{}, same);
    case parquet::kInt64:
      return take(int64_t{}, same);
    case parquet::kFloat:
      return take(float{}, [](float value) { return FloorOf(value); });
    case parquet::kDouble:
      return take(double{}, FloorOf);
    case parquet::kBoolean:
      if (bytes.size() < (count + 7) / 8) return false;
      for (size_t i = 0; i < count; ++i) out->numbers.push_back(bytes[i / 8] >> (i % 8) & 1);
      return true;
    case parquet::kByteArray:
      for (size_t i = 0; i < count; ++i) {
        uint32_t size = 0;
        if (bytes.size() < sizeof(size)) return false;
        std::memcpy(&size, bytes.data(), sizeof(size));
        bytes.remove_prefix(sizeof(size));
        if (size > bytes.size()) return false;
        out->texts.push_back(bytes.substr(0, size));
        bytes.remove_prefix(size);
      }
      return true;
    default:
      return false;
  }
}

ParquetChunk ChunkOf(const ThriftValue& meta) {
  ParquetChunk chunk;
  chunk.offset = meta[ColumnMetaData::kDataPageOffset].integer;
  const int64_t dictionary = meta[ColumnMetaData::kDictionaryPageOffset].integer;
  if (dictionary > 0) chunk.offset = std::min(chunk.offset, dictionary);
  chunk.bytes = meta[ColumnMetaData::kTotalCompressedSize].integer;
  chunk.values = meta[ColumnMetaData::kNumValues].integer;
  chunk.codec = static_cast<int>(meta[ColumnMetaData::kCodec].integer);
  return chunk;
}

// Reads the pages of a column chunk, one after the other.
class ChunkReader {
 public:
  // `type`, `optional`: of the column.
  ChunkReader(int type, bool optional, const ParquetChunk& chunk, uint64_t most_bytes,
              ParquetColumn* out, uint64_t* inflated_bytes)
      : type_(type),
        optional_(optional),
        chunk_(chunk),
        most_bytes_(most_bytes),
        out_(out),
        inflated_bytes_(inflated_bytes) {}

  // `rest`: the bytes of the chunk.
  Status Read(std::string_view rest) {
    while (seen_ < chunk_.values) {
      const std::optional<ThriftValue> header = ReadThriftStruct(rest);
      if (!header) return Damaged("a damaged page header");
      const int64_t size = (*header)[PageHeader::kCompressedPageSize].integer;
      if (size < 0 || static_cast<uint64_t>(size) > rest.size()) return Damaged("a page cut off");
      const std::string_view stored = rest.substr(0, static_cast<size_t>(size));
      rest.remove_prefix(static_cast<size_t>(size));
      const int64_t type = (*header)[PageHeader::kType].integer;
      if (type == parquet::kIndexPage) continue;
      if (type == parquet::kDictionaryPage) {
        XLATRACE_TRY(ReadDictionary(*header, stored));
      } else if (type == parquet::kDataPage || type == parquet::kDataPageV2) {
        XLATRACE_TRY(ReadData(*header, stored, type == parquet::kDataPageV2));
      } else {
        return Damaged("a page of an unknown kind");
      }
    }
    return {};
  }

 private:
  // A page of values.
  struct Page {
    int64_t values = 0;  // NULLs too.
    int64_t encoding = 0;
    std::string_view levels;  // Definition levels, if they are stored apart.
    std::string_view body;    // Inflated.
  };

  // Holds an inflated page for as long as the column; `out` is its bytes there.
  Status Keep(std::string page, std::string_view* out) {
    *inflated_bytes_ += page.size();
    out_->storage.push_back(std::move(page));
    *out = out_->storage.back();
    if (*inflated_bytes_ > most_bytes_) return Damaged("pages that inflate to too much");
    return {};
  }

  Status ReadDictionary(const ThriftValue& header, std::string_view stored) {
    XLATRACE_ASSIGN(
        std::string inflated,
        InflatePage(stored, chunk_.codec, header[PageHeader::kUncompressedPageSize].integer));
    const int64_t count =
        header[PageHeader::kDictionaryPageHeader][DictionaryPageHeader::kNumValues].integer;
    if (count < 0 || count > static_cast<int64_t>(inflated.size()) * 8) {
      return Damaged("a dictionary of an impossible size");
    }
    std::string_view body;
    XLATRACE_TRY(Keep(std::move(inflated), &body));
    dictionary_ = {};
    if (!ReadPlain(body, type_, static_cast<size_t>(count), &dictionary_)) {
      return Damaged("a damaged dictionary");
    }
    return {};
  }

  Status ReadData(const ThriftValue& header, std::string_view stored, bool v2) {
    Page page;
    XLATRACE_TRY(v2 ? OpenV2(header, stored, &page) : OpenV1(header, stored, &page));
    size_t present = 0;
    XLATRACE_TRY(ReadLevels(page, &present));
    Values plain;
    bool indexed = false;
    XLATRACE_TRY(ReadValues(page, present, &plain, &indexed));
    return Append(indexed ? dictionary_ : plain, indexed);
  }

  Status Count(int64_t values) {
    if (values <= 0 || values > chunk_.values - seen_) return Damaged("a page of too many values");
    seen_ += values;
    return {};
  }

  // In pages of the first version the levels are compressed with the values, behind their size.
  Status OpenV1(const ThriftValue& header, std::string_view stored, Page* page) {
    const ThriftValue& data = header[PageHeader::kDataPageHeader];
    page->values = data[DataPageHeader::kNumValues].integer;
    page->encoding = data[DataPageHeader::kEncoding].integer;
    XLATRACE_TRY(Count(page->values));
    XLATRACE_ASSIGN(
        std::string inflated,
        InflatePage(stored, chunk_.codec, header[PageHeader::kUncompressedPageSize].integer));
    XLATRACE_TRY(Keep(std::move(inflated), &page->body));
    if (!optional_) return {};
    uint32_t level_size = 0;
    if (page->body.size() < sizeof(level_size)) return Damaged("a page without levels");
    std::memcpy(&level_size, page->body.data(), sizeof(level_size));
    page->body.remove_prefix(sizeof(level_size));
    if (level_size > page->body.size()) return Damaged("a page without levels");
    page->levels = page->body.substr(0, level_size);
    page->body.remove_prefix(level_size);
    return {};
  }

  // In pages of the second version the levels lie before the values and are never compressed.
  Status OpenV2(const ThriftValue& header, std::string_view stored, Page* page) {
    const ThriftValue& data = header[PageHeader::kDataPageHeaderV2];
    page->values = data[DataPageHeaderV2::kNumValues].integer;
    page->encoding = data[DataPageHeaderV2::kEncoding].integer;
    XLATRACE_TRY(Count(page->values));
    const int64_t repetition = data[DataPageHeaderV2::kRepetitionLevelsByteLength].integer;
    const int64_t definition = data[DataPageHeaderV2::kDefinitionLevelsByteLength].integer;
    if (repetition != 0 || definition < 0 || static_cast<uint64_t>(definition) > stored.size()) {
      return Damaged("nested values");
    }
    page->levels = stored.substr(0, static_cast<size_t>(definition));
    const bool compressed = !data.Has(DataPageHeaderV2::kIsCompressed) ||
                            data[DataPageHeaderV2::kIsCompressed].integer != 0;
    XLATRACE_ASSIGN(std::string inflated,
                    InflatePage(stored.substr(static_cast<size_t>(definition)),
                                compressed ? chunk_.codec : int{parquet::kUncompressed},
                                header[PageHeader::kUncompressedPageSize].integer - definition));
    return Keep(std::move(inflated), &page->body);
  }

  // One level per value: 0 is a NULL. `present`: the number of other values.
  Status ReadLevels(const Page& page, size_t* present) {
    const auto values = static_cast<size_t>(page.values);
    levels_.assign(values, 1);
    *present = values;
    if (!optional_) return {};
    if (!ReadHybrid(page.levels, 1, values, &levels_)) return Damaged("damaged levels");
    *present = 0;
    for (const uint32_t level : levels_) *present += level;
    return {};
  }

  // The values that are present: into `plain`, or their places in the dictionary into indices_.
  Status ReadValues(const Page& page, size_t present, Values* plain, bool* indexed) {
    const std::string_view body = page.body;
    if (page.encoding == parquet::kPlainDictionary || page.encoding == parquet::kRleDictionary) {
      *indexed = true;
      if (present == 0) return {};
      if (body.empty()) return Damaged("a page without indices");
      const int width = static_cast<unsigned char>(body[0]);
      if (!ReadHybrid(body.substr(1), width, present, &indices_)) return Damaged("damaged indices");
    } else if (page.encoding == parquet::kPlain) {
      if (!ReadPlain(body, type_, present, plain)) return Damaged("a damaged page");
    } else if (page.encoding == parquet::kRle && type_ == parquet::kBoolean && body.size() >= 4) {
      if (!ReadHybrid(body.substr(4), 1, present, &indices_)) return Damaged("damaged booleans");
      for (const uint32_t value : indices_) plain->numbers.push_back(value);
    } else {
      return MakeError(fmt::format("values in encoding {}, which is not read", page.encoding),
                       "write it again with version 1.0 pages");
    }
    return {};
  }

  // Values and NULLs in their order, behind what the column has.
  Status Append(const Values& source, bool indexed) {
    size_t next = 0;
    for (const uint32_t level : levels_) {
      size_t index = next;
      if (level != 0) {
        if (indexed) index = indices_[next];
        ++next;
      }
      if (type_ == parquet::kByteArray) {
        if (level != 0 && index >= source.texts.size()) return Damaged("an index out of range");
        out_->texts.push_back(level == 0 ? std::string_view() : source.texts[index]);
      } else {
        if (level != 0 && index >= source.numbers.size()) return Damaged("an index out of range");
        out_->numbers.push_back(level == 0 ? ParquetColumn::kNullNumber : source.numbers[index]);
      }
    }
    return {};
  }

  int type_;
  bool optional_;
  const ParquetChunk& chunk_;
  uint64_t most_bytes_;
  ParquetColumn* out_;
  uint64_t* inflated_bytes_;
  Values dictionary_;
  int64_t seen_ = 0;
  std::vector<uint32_t> levels_;
  std::vector<uint32_t> indices_;
};

}  // namespace

Result<ParquetFile> ParquetFile::Open(std::string_view bytes) {
  if (bytes.size() < 12 || !bytes.starts_with(parquet::kMagic) ||
      !bytes.ends_with(parquet::kMagic)) {
    return Damaged("no mark at its start or end");
  }
  uint32_t footer_size = 0;
  std::memcpy(&footer_size, bytes.data() + bytes.size() - 8, sizeof(footer_size));
  if (footer_size > bytes.size() - 12) return Damaged("a footer larger than the file");
  std::string_view footer = bytes.substr(bytes.size() - 8 - footer_size, footer_size);
  const std::optional<ThriftValue> meta = ReadThriftStruct(footer);
  if (!meta) return Damaged("a damaged footer");
  ParquetFile file;
  file.bytes_ = bytes;
  file.rows_ = (*meta)[FileMetaData::kNumRows].integer;
  if (file.rows_ < 0 || file.rows_ > kMaxParquetRows) {
    return MakeError(
        fmt::format("a Parquet file of {} rows; {} are read at most", file.rows_, kMaxParquetRows));
  }
  if (static_cast<uint64_t>(file.rows_) > kRowsFree + bytes.size()) {
    return Damaged(fmt::format("{} rows in {} bytes", file.rows_, bytes.size()));
  }
  const std::vector<ThriftValue>& schema = (*meta)[FileMetaData::kSchema].items;
  for (size_t i = 1; i < schema.size(); ++i) {  // The first is the root.
    const ThriftValue& element = schema[i];
    const int64_t repetition = element[SchemaElement::kRepetitionType].integer;
    Column column;
    column.type = static_cast<int>(element[SchemaElement::kType].integer);
    column.optional = repetition == parquet::kOptional;
    column.flat = repetition != parquet::kRepeated && !element.Has(SchemaElement::kNumChildren);
    file.names_.emplace_back(element[SchemaElement::kName].text);
    file.columns_.push_back(std::move(column));
  }
  int64_t rows = 0;
  for (const ThriftValue& group : (*meta)[FileMetaData::kRowGroups].items) {
    rows += group[RowGroup::kNumRows].integer;
    for (const ThriftValue& chunk : group[RowGroup::kColumns].items) {
      const ThriftValue& info = chunk[ColumnChunk::kMetaData];
      const std::vector<ThriftValue>& path = info[ColumnMetaData::kPathInSchema].items;
      if (path.size() != 1) continue;  // Nested.
      const auto name = std::find(file.names_.begin(), file.names_.end(), path[0].text);
      if (name == file.names_.end()) continue;
      file.columns_[static_cast<size_t>(name - file.names_.begin())].chunks.push_back(
          ChunkOf(info));
    }
  }
  if (rows != file.rows_) return Damaged("row groups that do not make up its rows");
  return file;
}

Result<ParquetColumn> ParquetFile::Read(std::string_view name) const {
  ParquetColumn out;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] != name) continue;
    const Column& column = columns_[i];
    if (!column.flat || column.type == parquet::kInt96 || column.type > parquet::kByteArray) {
      return MakeError(
          fmt::format("column '{}' of a Parquet file has a type that is not read", name));
    }
    uint64_t inflated_bytes = 0;
    for (const ParquetChunk& chunk : column.chunks) {
      if (auto status = ReadChunk(column, chunk, &out, &inflated_bytes); !status) {
        return Wrap(fmt::format("column '{}'", name), std::move(status).error());
      }
    }
    const size_t size = column.type == parquet::kByteArray ? out.texts.size() : out.numbers.size();
    if (size != static_cast<size_t>(rows_)) return Damaged("a column of too few values");
    return out;
  }
  return out;
}

Status ParquetFile::ReadChunk(const Column& column, const ParquetChunk& chunk, ParquetColumn* out,
                              uint64_t* inflated_bytes) const {
  if (chunk.offset < 4 || chunk.bytes < 0 || chunk.values < 0 || chunk.values > rows_ ||
      static_cast<uint64_t>(chunk.offset) > bytes_.size() ||
      static_cast<uint64_t>(chunk.bytes) > bytes_.size() - static_cast<uint64_t>(chunk.offset)) {
    return Damaged("a column outside the file");
  }
  if (std::max(out->texts.size(), out->numbers.size()) + static_cast<uint64_t>(chunk.values) >
      static_cast<uint64_t>(rows_)) {
    return Damaged("a column of too many values");
  }
  const uint64_t most_bytes = std::max(kPageRatioFreeBytes, kMaxPageRatio * bytes_.size());
  ChunkReader reader(column.type, column.optional, chunk, most_bytes, out, inflated_bytes);
  return reader.Read(
      bytes_.substr(static_cast<size_t>(chunk.offset), static_cast<size_t>(chunk.bytes)));
}

}  // namespace xlatrace::importers
