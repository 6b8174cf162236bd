// SPDX-License-Identifier: Apache-2.0
#include "base/inflate_stream.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/gzip_inflater.h"

namespace xlatrace {
namespace {

constexpr size_t kFileBlock = 1 << 17;

}  // namespace

struct InflateStream::State {
  ~State() {
    if (reader != nullptr) archive_read_free(reader);
  }

  // A single gzip layer, as in nearly every compressed trace.
  Status OpenGzip();
  Status OpenArchive();
  Result<size_t> ReadSome(char* buffer, size_t size);
  uint64_t Consumed() const;

  std::string path;
  uint64_t max_bytes = 0;
  uint64_t out = 0;
  // Exactly one of the two is set.
  archive* reader = nullptr;
  std::optional<GzipInflater> gzip;
  std::string front;  // Inflated for format detection; returned first.
  std::ifstream file;
  std::string block;
};

InflateStream::InflateStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
InflateStream::InflateStream(InflateStream&&) noexcept = default;
InflateStream::~InflateStream() = default;

Status InflateStream::State::OpenGzip() {
  file.open(path, std::ios::binary);
  block.resize(kFileBlock);
  gzip.emplace([this]() -> Result<std::string_view> {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    if (file.bad()) return MakeError("it cannot be read");
    return std::string_view(block).substr(0, static_cast<size_t>(file.gcount()));
  });
  front.resize(6);
  const Result<size_t> got = gzip->Read(front.data(), front.size());
  front.resize(got.value_or(0));
  if (!got) {
    return MakeError(fmt::format("decompressing '{}': {}", path, got.error().message),
                     "the file is damaged or cut off; copy it again from its source");
  }
  if (!LooksCompressed(front)) return {};
  // gz in gz: libarchive unwraps any number of layers.
  gzip.reset();
  file.close();
  front.clear();
  return OpenArchive();
}

Status InflateStream::State::OpenArchive() {
  reader = archive_read_new();
  archive_read_support_filter_gzip(reader);
  archive_read_support_filter_xz(reader);
  archive_read_support_filter_zstd(reader);
  archive_read_support_filter_bzip2(reader);
  archive_read_support_format_raw(reader);
  archive_read_support_format_empty(reader);
  archive_entry* entry = nullptr;
  if (archive_read_open_filename(reader, path.c_str(), kFileBlock) != ARCHIVE_OK ||
      archive_read_next_header(reader, &entry) != ARCHIVE_OK) {
    const char* reason = archive_error_string(reader);
    return MakeError(fmt::format("reading '{}': {}", path, reason ? reason : "damaged"),
                     "the file is damaged or cut off; copy it again from its source");
  }
  return {};
}

Result<InflateStream> InflateStream::Open(const std::string& path, uint64_t max_bytes) {
  // Refuses other than regular files before a read could block on them.
  XLATRACE_ASSIGN(const std::string head, ReadFileHead(path, 16));
  auto state = std::make_unique<State>();
  state->path = path;
  state->max_bytes = max_bytes;
  XLATRACE_TRY(head.starts_with("\x1f\x8b") ? state->OpenGzip() : state->OpenArchive());
  return InflateStream(std::move(state));
}

Result<size_t> InflateStream::State::ReadSome(char* buffer, size_t size) {
  std::string reason = "damaged";
  if (gzip) {
    if (!front.empty()) {
      const size_t count = std::min(size, front.size());
      front.copy(buffer, count);
      front.erase(0, count);
      return count;
    }
    Result<size_t> got = gzip->Read(buffer, size);
    if (got) return *got;
    reason = got.error().message;
  } else {
    const la_ssize_t got = archive_read_data(reader, buffer, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (const char* told = archive_error_string(reader)) reason = told;
  }
  return MakeError(fmt::format("decompressing '{}' after {} bytes: {}", path, out, reason),
                   "the file is damaged or cut off; copy it again from its source");
}

uint64_t InflateStream::State::Consumed() const {
  if (gzip) return gzip->bytes_consumed();
  return static_cast<uint64_t>(std::max<int64_t>(0, archive_filter_bytes(reader, -1)));
}

Result<size_t> InflateStream::Read(char* buffer, size_t size) {
  State& s = *state_;
  XLATRACE_ASSIGN(const size_t got, s.ReadSome(buffer, size));
  s.out += got;
  if (s.out > s.max_bytes ||
      (s.out > kInflateRatioFreeBytes && s.out / kMaxInflateRatio > s.Consumed() + kFileBlock)) {
    return MakeError(
        fmt::format("'{}' inflates to more than {} times its size", s.path, kMaxInflateRatio),
        "if that is really meant, decompress it by hand first");
  }
  return got;
}

}  // namespace xlatrace
