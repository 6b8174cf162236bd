// SPDX-License-Identifier: Apache-2.0
#include "base/compress.h"

#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/gzip_inflater.h"

namespace xlatrace {
namespace {

// Maximum inflated size of `bytes` without a bomb.
uint64_t InflatedLimit(std::string_view bytes, uint64_t max_bytes) {
  return std::min<uint64_t>(
      max_bytes, std::max<uint64_t>(kInflateRatioFreeBytes, bytes.size() * kMaxInflateRatio));
}

tl::unexpected<Error> TooLarge(std::string_view name, uint64_t limit) {
  return MakeError(fmt::format("'{}' inflates to more than {} bytes", name, limit),
                   "if that is really meant, decompress it by hand first");
}

}  // namespace

std::string ZstdCompress(std::string_view bytes, int level) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  out.resize(ZSTD_isError(size) ? 0 : size);
  // Large constants of zeros compress by a factor of a thousand. A frame that readers skip makes
  // them large enough not to look like a bomb.
  const size_t least =
      bytes.size() > kInflateRatioFreeBytes ? bytes.size() / kMaxInflateRatio + 1 : 0;
  if (!out.empty() && out.size() < least) {
    const auto filling = static_cast<uint32_t>(least - out.size());
    out.append("\x50\x2A\x4D\x18", 4);
    for (int i = 0; i < 4; ++i) out += static_cast<char>(filling >> (8 * i));
    out.append(filling, '\0');
  }
  return out;
}

Result<std::string> ZstdDecompress(std::string_view bytes, uint64_t max_bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return MakeError("stored bytes are not a zstd frame");
  }
  if (size > InflatedLimit(bytes, max_bytes)) {
    return MakeError(fmt::format("{} stored bytes claim to inflate to {}, more than {} times",
                                 bytes.size(), size, kMaxInflateRatio),
                     "this was not stored by xlatrace, or is damaged: import its trace again");
  }
  std::string out(static_cast<size_t>(size), '\0');
  const size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got)) {
    return MakeError(fmt::format("stored bytes are damaged: {}", ZSTD_getErrorName(got)));
  }
  out.resize(got);
  return out;
}

std::string GzipCompress(std::string_view bytes, int level) {
  const std::unique_ptr<archive, decltype(&archive_write_free)> writer(archive_write_new(),
                                                                       archive_write_free);
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                            archive_entry_free);
  std::string out;
  const auto append = [](archive*, void* to, const void* data, size_t size) -> la_ssize_t {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
  };
  archive_write_set_format_raw(writer.get());
  archive_write_add_filter_gzip(writer.get());
  archive_write_set_filter_option(writer.get(), "gzip", "compression-level",
                                  std::to_string(level).c_str());
  archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr);
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  const bool written =
      archive_write_open(writer.get(), &out, nullptr, append, nullptr) == ARCHIVE_OK &&
      archive_write_header(writer.get(), entry.get()) == ARCHIVE_OK &&
      archive_write_data(writer.get(), bytes.data(), bytes.size()) ==
          static_cast<la_ssize_t>(bytes.size()) &&
      archive_write_close(writer.get()) == ARCHIVE_OK;
  return written ? out : std::string();
}

bool LooksCompressed(std::string_view head) {
  using namespace std::string_view_literals;
  for (const std::string_view magic : {"\x1f\x8b"sv,
                                       "\xfd"
                                       "7zXZ\0"sv,
                                       "\x28\xb5\x2f\xfd"sv, "BZh"sv}) {
    if (head.substr(0, magic.size()) == magic) return true;
  }
  return false;
}

namespace {

Result<std::string> InflateGzip(std::string_view bytes, const std::string& name,
                                uint64_t max_bytes) {
  const uint64_t limit = InflatedLimit(bytes, max_bytes);
  GzipInflater inflater([&]() -> Result<std::string_view> {
    const std::string_view piece = bytes.substr(0, size_t{1} << 24);  // zlib counts in 32 bits.
    bytes.remove_prefix(piece.size());
    return piece;
  });
  std::string out;
  std::string block(1 << 18, '\0');
  while (true) {
    const Result<size_t> got = inflater.Read(block.data(), block.size());
    if (!got) {
      return MakeError(fmt::format("decompressing '{}' after {} bytes: {}", name, out.size(),
                                   got.error().message),
                       "the file is damaged or cut off; copy it again from its source");
    }
    if (*got == 0) return out;
    if (out.size() + *got > limit) return TooLarge(name, limit);
    out.append(block.data(), *got);
  }
}

}  // namespace

Result<std::string> Inflate(std::string bytes, const std::string& name, uint64_t max_bytes) {
  if (!LooksCompressed(bytes)) return bytes;
  if (bytes.starts_with("\x1f\x8b")) {
    // Another layer may be inside; each has the limits of a file of its own size.
    XLATRACE_ASSIGN(bytes, InflateGzip(bytes, name, max_bytes));
    if (!LooksCompressed(bytes)) return bytes;
  }
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                      archive_read_free);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK ||
      archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) {
    const char* reason = archive_error_string(reader.get());
    return MakeError(fmt::format("decompressing '{}': {}", name, reason ? reason : "damaged"));
  }
  const uint64_t limit = InflatedLimit(bytes, max_bytes);
  std::string out;
  std::string block(1 << 18, '\0');
  while (true) {
    const la_ssize_t got = archive_read_data(reader.get(), block.data(), block.size());
    if (got == 0) return out;
    if (got < 0) {
      const char* reason = archive_error_string(reader.get());
      return MakeError(fmt::format("decompressing '{}' after {} bytes: {}", name, out.size(),
                                   reason ? reason : "damaged"),
                       "the file is damaged or cut off; copy it again from its source");
    }
    if (out.size() + static_cast<size_t>(got) > limit) return TooLarge(name, limit);
    out.append(block.data(), static_cast<size_t>(got));
  }
}

Result<std::string> ReadFileInflated(const std::string& path, uint64_t max_bytes) {
  XLATRACE_ASSIGN(std::string bytes, ReadFile(path, max_bytes));
  return Inflate(std::move(bytes), path, max_bytes);
}

}  // namespace xlatrace
