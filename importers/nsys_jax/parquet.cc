#include "importers/nsys_jax/parquet.h"

#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "importers/nsys_jax/snappy.h"
#include "importers/nsys_jax/thrift_compact.h"

namespace xlatrace::importers {
namespace {

enum PhysicalType { kBoolean, kInt32, kInt64, kInt96, kFloat, kDouble, kByteArray };
enum Codec { kUncompressed = 0, kSnappy = 1, kGzip = 2, kZstd = 6 };
enum PageType { kDataPage = 0, kIndexPage = 1, kDictionaryPage = 2, kDataPageV2 = 3 };
enum Encoding { kPlain = 0, kPlainDictionary = 2, kRle = 3, kRleDictionary = 8 };

constexpr int64_t kMaxPageBytes = int64_t{1} << 30;
// Real tables inflate up to ten times, and start times alone take more than a byte per row.
constexpr uint64_t kMaxRatio = 100;
constexpr uint64_t kRatioFreeBytes = uint64_t{64} << 20;
constexpr uint64_t kRowsFree = 65536;

tl::unexpected<Error> Damaged(std::string_view what) {
  return MakeError(fmt::format("a Parquet file with {}", what),
                   "the file is damaged or cut off; copy it again from its source");
}

Result<std::string> InflatePage(std::string_view page, int codec, int64_t size) {
  if (size < 0 || size > kMaxPageBytes) return Damaged("a page of an impossible size");
  switch (codec) {
    case kUncompressed:
      return std::string(page);
    case kSnappy: {
      auto inflated = SnappyInflate(page, static_cast<size_t>(size));
      if (!inflated) return Damaged("a damaged page");
      return std::move(*inflated);
    }
    case kGzip:
    case kZstd:
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
  if (!(std::abs(value) < 9.2e18)) return ParquetColumn::kNull;  // NaN is how pandas writes none.
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
    case kInt32:
      return take(int32_t{}, same);
    case kInt64:
      return take(int64_t{}, same);
    case kFloat:
      return take(float{}, [](float value) { return FloorOf(value); });
    case kDouble:
      return take(double{}, FloorOf);
    case kBoolean:
      if (bytes.size() < (count + 7) / 8) return false;
      for (size_t i = 0; i < count; ++i) out->numbers.push_back(bytes[i / 8] >> (i % 8) & 1);
      return true;
    case kByteArray:
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

}  // namespace

Result<ParquetFile> ParquetFile::Open(std::string_view bytes) {
  if (bytes.size() < 12 || !bytes.starts_with("PAR1") || !bytes.ends_with("PAR1")) {
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
  file.rows_ = (*meta)[3].integer;
  if (file.rows_ < 0 || file.rows_ > kMaxParquetRows) {
    return MakeError(
        fmt::format("a Parquet file of {} rows; {} are read at most", file.rows_, kMaxParquetRows));
  }
  if (static_cast<uint64_t>(file.rows_) > kRowsFree + bytes.size()) {
    return Damaged(fmt::format("{} rows in {} bytes", file.rows_, bytes.size()));
  }
  const std::vector<ThriftValue>& schema = (*meta)[2].items;
  for (size_t i = 1; i < schema.size(); ++i) {
    Column column;
    column.type = static_cast<int>(schema[i][1].integer);
    column.optional = schema[i][3].integer == 1;
    column.flat = schema[i][3].integer != 2 && !schema[i].Has(5);
    file.names_.emplace_back(schema[i][4].text);
    file.columns_.push_back(std::move(column));
  }
  int64_t rows = 0;
  for (const ThriftValue& group : (*meta)[4].items) {
    rows += group[3].integer;
    for (const ThriftValue& chunk : group[1].items) {
      const ThriftValue& info = chunk[3];
      if (info[3].items.size() != 1) continue;  // Nested.
      for (size_t i = 0; i < file.names_.size(); ++i) {
        if (file.names_[i] != info[3].items[0].text) continue;
        Chunk out;
        out.offset = info[9].integer;
        if (info.Has(11) && info[11].integer > 0)
          out.offset = std::min(out.offset, info[11].integer);
        out.bytes = info[7].integer;
        out.values = info[5].integer;
        out.codec = static_cast<int>(info[4].integer);
        file.columns_[i].chunks.push_back(out);
        break;
      }
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
    if (!column.flat || column.type == kInt96 || column.type > kByteArray) {
      return MakeError(
          fmt::format("column '{}' of a Parquet file has a type that is not read", name));
    }
    uint64_t inflated_bytes = 0;
    for (const Chunk& chunk : column.chunks) {
      if (auto status = ReadChunk(column, chunk, &out, &inflated_bytes); !status) {
        return Wrap(fmt::format("column '{}'", name), std::move(status).error());
      }
    }
    const size_t size = column.type == kByteArray ? out.texts.size() : out.numbers.size();
    if (size != static_cast<size_t>(rows_)) return Damaged("a column of too few values");
    return out;
  }
  return out;
}

Status ParquetFile::ReadChunk(const Column& column, const Chunk& chunk, ParquetColumn* out,
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
  const uint64_t most_bytes = std::max(kRatioFreeBytes, kMaxRatio * bytes_.size());
  const auto keep = [&](std::string page) {
    *inflated_bytes += page.size();
    out->storage.push_back(std::move(page));
    return *inflated_bytes <= most_bytes;
  };
  std::string_view rest =
      bytes_.substr(static_cast<size_t>(chunk.offset), static_cast<size_t>(chunk.bytes));
  Values dictionary;
  int64_t seen = 0;
  std::vector<uint32_t> levels;
  std::vector<uint32_t> indices;
  while (seen < chunk.values) {
    const std::optional<ThriftValue> header = ReadThriftStruct(rest);
    if (!header) return Damaged("a damaged page header");
    const ThriftValue& page = *header;
    const int64_t size = page[3].integer;
    if (size < 0 || static_cast<uint64_t>(size) > rest.size()) return Damaged("a page cut off");
    const std::string_view stored = rest.substr(0, static_cast<size_t>(size));
    rest.remove_prefix(static_cast<size_t>(size));
    const int64_t type = page[1].integer;
    if (type == kIndexPage) continue;
    if (type == kDictionaryPage) {
      XLATRACE_ASSIGN(std::string inflated, InflatePage(stored, chunk.codec, page[2].integer));
      const int64_t count = page[7][1].integer;
      if (count < 0 || count > static_cast<int64_t>(inflated.size()) * 8) {
        return Damaged("a dictionary of an impossible size");
      }
      if (!keep(std::move(inflated))) return Damaged("pages that inflate to too much");
      dictionary = {};
      if (!ReadPlain(out->storage.back(), column.type, static_cast<size_t>(count), &dictionary)) {
        return Damaged("a damaged dictionary");
      }
      continue;
    }
    if (type != kDataPage && type != kDataPageV2) return Damaged("a page of an unknown kind");
    const bool v2 = type == kDataPageV2;
    const ThriftValue& data = page[v2 ? 8 : 5];
    const int64_t count = data[1].integer;
    const int64_t encoding = data[v2 ? 4 : 2].integer;
    if (count <= 0 || count > chunk.values - seen) return Damaged("a page of too many values");
    seen += count;
    std::string_view level_bytes;
    std::string_view body = stored;
    if (v2) {
      const int64_t repetition = data[6].integer;
      const int64_t definition = data[5].integer;
      if (repetition != 0 || definition < 0 || definition > size) return Damaged("nested values");
      level_bytes = stored.substr(0, static_cast<size_t>(definition));
      body = stored.substr(static_cast<size_t>(definition));
    }
    const bool compressed = !v2 || !data.Has(7) || data[7].integer != 0;
    XLATRACE_ASSIGN(std::string inflated,
                    InflatePage(body, compressed ? chunk.codec : static_cast<int>(kUncompressed),
                                page[2].integer - static_cast<int64_t>(level_bytes.size())));
    if (!keep(std::move(inflated))) return Damaged("pages that inflate to too much");
    body = out->storage.back();
    size_t present = static_cast<size_t>(count);
    levels.assign(static_cast<size_t>(count), 1);
    if (column.optional) {
      if (!v2) {
        uint32_t level_size = 0;
        if (body.size() < sizeof(level_size)) return Damaged("a page without levels");
        std::memcpy(&level_size, body.data(), sizeof(level_size));
        body.remove_prefix(sizeof(level_size));
        if (level_size > body.size()) return Damaged("a page without levels");
        level_bytes = body.substr(0, level_size);
        body.remove_prefix(level_size);
      }
      if (!ReadHybrid(level_bytes, 1, static_cast<size_t>(count), &levels)) {
        return Damaged("damaged levels");
      }
      present = 0;
      for (const uint32_t level : levels) present += level;
    }
    Values plain;
    const Values* source = &plain;
    bool indexed = false;
    if (encoding == kPlainDictionary || encoding == kRleDictionary) {
      if (body.empty() && present > 0) return Damaged("a page without indices");
      const int width = body.empty() ? 0 : static_cast<unsigned char>(body[0]);
      if (present > 0 && !ReadHybrid(body.substr(1), width, present, &indices)) {
        return Damaged("damaged indices");
      }
      source = &dictionary;
      indexed = true;
    } else if (encoding == kPlain) {
      if (!ReadPlain(body, column.type, present, &plain)) return Damaged("a damaged page");
    } else if (encoding == kRle && column.type == kBoolean && body.size() >= 4) {
      if (!ReadHybrid(body.substr(4), 1, present, &indices)) return Damaged("damaged booleans");
      for (const uint32_t value : indices) plain.numbers.push_back(value);
    } else {
      return MakeError(fmt::format("values in encoding {}, which is not read", encoding),
                       "write it again with version 1.0 pages");
    }
    size_t next = 0;
    for (const uint32_t level : levels) {
      size_t index = next;
      if (level != 0) {
        if (indexed) index = indices[next];
        ++next;
      }
      if (column.type == kByteArray) {
        if (level != 0 && index >= source->texts.size()) return Damaged("an index out of range");
        out->texts.push_back(level == 0 ? std::string_view() : source->texts[index]);
      } else {
        if (level != 0 && index >= source->numbers.size()) return Damaged("an index out of range");
        out->numbers.push_back(level == 0 ? ParquetColumn::kNull : source->numbers[index]);
      }
    }
  }
  return {};
}

}  // namespace xlatrace::importers
