#include "base/inflate_stream.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"

namespace xlatrace {
namespace {

// As in compress.cc: real files inflate 10 to 60 times, a bomb a thousand times and more.
constexpr uint64_t kMaxRatio = 400;
constexpr uint64_t kRatioFreeBytes = uint64_t{64} << 20;
constexpr size_t kFileBlock = 1 << 17;

}  // namespace

struct InflateStream::State {
  ~State() { archive_read_free(reader); }
  archive* reader = archive_read_new();
  std::string path;
  uint64_t max_bytes = 0;
  uint64_t out = 0;
};

InflateStream::InflateStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
InflateStream::InflateStream(InflateStream&&) noexcept = default;
InflateStream::~InflateStream() = default;

Result<InflateStream> InflateStream::Open(const std::string& path, uint64_t max_bytes) {
  // Refuses what is not a regular file before anything would wait on it.
  XLATRACE_ASSIGN(const std::string head, ReadFileHead(path, 16));
  auto state = std::make_unique<State>();
  state->path = path;
  state->max_bytes = max_bytes;
  archive* reader = state->reader;
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
  return InflateStream(std::move(state));
}

Result<size_t> InflateStream::Read(char* buffer, size_t size) {
  State& s = *state_;
  const la_ssize_t got = archive_read_data(s.reader, buffer, size);
  if (got < 0) {
    const char* reason = archive_error_string(s.reader);
    return MakeError(fmt::format("decompressing '{}' after {} bytes: {}", s.path, s.out,
                                 reason ? reason : "damaged"),
                     "the file is damaged or cut off; copy it again from its source");
  }
  s.out += static_cast<uint64_t>(got);
  const auto consumed =
      static_cast<uint64_t>(std::max<int64_t>(0, archive_filter_bytes(s.reader, -1)));
  if (s.out > s.max_bytes ||
      (s.out > kRatioFreeBytes && s.out / kMaxRatio > consumed + kFileBlock)) {
    return MakeError(fmt::format("'{}' inflates to more than {} times its size", s.path, kMaxRatio),
                     "if that is really meant, decompress it by hand first");
  }
  return static_cast<size_t>(got);
}

}  // namespace xlatrace
