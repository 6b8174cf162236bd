// SPDX-License-Identifier: Apache-2.0
#include "store/table_builder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/file.h"

namespace xlatrace::store {
namespace {

constexpr size_t kLeafPageHeaderBytes = 8;
constexpr size_t kInteriorPageHeaderBytes = 12;
constexpr char kLeafTable = 0x0D;
constexpr char kInteriorTable = 0x05;
constexpr size_t kMaxValues = 16;

void PutBigEndian(char* out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<char>(value >> (8 * (bytes - 1 - i)));
  }
}

uint32_t GetBigEndian32(const char* in) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(in[i]);
  return value;
}

// SQLite's varint: 7 bits per byte, most significant first, the ninth byte whole.
size_t PutVarint(char* out, uint64_t value) {
  if (value < 0x80) {
    out[0] = static_cast<char>(value);
    return 1;
  }
  if (value >> 56 != 0) {
    out[8] = static_cast<char>(value);
    value >>= 8;
    for (int i = 7; i >= 0; --i) {
      out[i] = static_cast<char>((value & 0x7F) | 0x80);
      value >>= 7;
    }
    return 9;
  }
  char reversed[8];
  size_t size = 0;
  while (value != 0) {
    reversed[size++] = static_cast<char>((value & 0x7F) | 0x80);
    value >>= 7;
  }
  reversed[0] = static_cast<char>(reversed[0] & 0x7F);
  for (size_t i = 0; i < size; ++i) out[i] = reversed[size - 1 - i];
  return size;
}

struct Serial {
  char type;
  uint8_t bytes;
};

// Serial type of an integer (section 2.1): the shortest that holds it.
Serial SerialOf(int64_t value) {
  if (value == kNullNumber) return {0, 0};
  if (value == 0) return {8, 0};
  if (value == 1) return {9, 0};
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  if (magnitude < uint64_t{1} << 7) return {1, 1};
  if (magnitude < uint64_t{1} << 15) return {2, 2};
  if (magnitude < uint64_t{1} << 23) return {3, 3};
  if (magnitude < uint64_t{1} << 31) return {4, 4};
  if (magnitude < uint64_t{1} << 47) return {5, 6};
  return {6, 8};
}

Error WriteError(const std::string& path) {
  return Error{fmt::format("cannot write '{}': {}", path, std::strerror(errno)),
               "give a place with more free space: -o FILE", ErrorCode::kFailed};
}

bool WriteFully(int fd, uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

// The page that contains SQLite's lock byte is never used (section 1.3).
constexpr uint32_t kPendingBytePage = 0x40000000 / kPageBytes + 1;

}  // namespace

// ---- TableBuilder ----------------------------------------------------------------------------

TableBuilder::TableBuilder(LeafSink sink) : sink_(std::move(sink)), page_(kPageBytes, '\0') {
  StartPage();
}

void TableBuilder::StartPage() {
  cells_ = 0;
  content_ = kPageBytes;
}

void TableBuilder::Append(int64_t rowid, std::span<const int64_t> values) {
  if (values.size() > kMaxValues) std::abort();  // Our table has too many columns.
  size_t count = values.size();
  while (count > 0 && values[count - 1] == kNullNumber) --count;
  // Payload: header size, serial types, values. All sizes fit one byte.
  char cell[2 + 9 + 1 + kMaxValues + 8 * kMaxValues];
  char* const payload = cell + 11;
  payload[0] = static_cast<char>(1 + count);
  char* out = payload + 1 + count;
  for (size_t i = 0; i < count; ++i) {
    const Serial serial = SerialOf(values[i]);
    payload[1 + i] = serial.type;
    PutBigEndian(out, static_cast<uint64_t>(values[i]), serial.bytes);
    out += serial.bytes;
  }
  const auto payload_size = static_cast<size_t>(out - payload);
  char head[2 + 9];
  size_t head_size = PutVarint(head, payload_size);
  head_size += PutVarint(head + head_size, static_cast<uint64_t>(rowid));
  char* const start = payload - head_size;
  std::memcpy(start, head, head_size);
  const size_t size = head_size + payload_size;
  if (kLeafPageHeaderBytes + 2 * (cells_ + 1) + size > content_) FlushPage();
  content_ -= size;
  std::memcpy(page_.data() + content_, start, size);
  PutBigEndian(page_.data() + kLeafPageHeaderBytes + 2 * cells_, content_, 2);
  ++cells_;
  last_rowid_ = rowid;
  ++rows_;
}

void TableBuilder::FlushPage() {
  if (cells_ == 0) return;
  char* const page = page_.data();
  page[0] = kLeafTable;
  PutBigEndian(page + 1, 0, 2);  // No free block.
  PutBigEndian(page + 3, cells_, 2);
  PutBigEndian(page + 5, content_, 2);
  page[7] = 0;
  const size_t pointers_end = kLeafPageHeaderBytes + 2 * cells_;
  std::memset(page + pointers_end, 0, content_ - pointers_end);
  sink_(page_, last_rowid_);
  StartPage();
}

void TableBuilder::Finish() { FlushPage(); }

// ---- PageSpool -------------------------------------------------------------------------------

PageSpool::~PageSpool() {
  if (fd_ >= 0) close(fd_);
}

void PageSpool::Add(std::string_view page, int64_t last_rowid) {
  if (!status_) return;
  pages_.append(page);
  last_rowids_.push_back(last_rowid);
  if (pages_.size() >= kMemoryBytes) status_ = Spill();
}

Status PageSpool::Spill() {
  if (fd_ < 0) {
    std::string name = beside_ + ".rows.XXXXXX";
    fd_ = mkstemp(name.data());
    if (fd_ < 0) return tl::unexpected<Error>(WriteError(name));
    unlink(name.c_str());
  }
  if (!WriteFully(fd_, spilled_bytes_, pages_)) return tl::unexpected<Error>(WriteError(beside_));
  spilled_bytes_ += pages_.size();
  pages_.clear();
  return {};
}

Status PageSpool::Drain(const TableBuilder::LeafSink& sink) {
  XLATRACE_TRY(status_);
  size_t next = 0;
  std::string page(kPageBytes, '\0');
  for (uint64_t at = 0; at < spilled_bytes_; at += kPageBytes) {
    size_t got = 0;
    while (got < kPageBytes) {
      const ssize_t n =
          pread(fd_, page.data() + got, kPageBytes - got, static_cast<off_t>(at + got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return MakeError(fmt::format("reading back rows of '{}' failed", beside_));
      got += static_cast<size_t>(n);
    }
    sink(page, last_rowids_[next++]);
  }
  for (size_t at = 0; at < pages_.size(); at += kPageBytes) {
    sink(std::string_view(pages_).substr(at, kPageBytes), last_rowids_[next++]);
  }
  pages_ = {};
  return {};
}

// ---- BulkFile --------------------------------------------------------------------------------

Result<BulkFile> BulkFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return tl::unexpected<Error>(WriteError(path));
  BulkFile file(fd, path);
  char header[100];
  const off_t size = lseek(fd, 0, SEEK_END);
  if (pread(fd, header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      GetBigEndian32(header + 16) >> 16 != kPageBytes ||
      static_cast<uint64_t>(size) != uint64_t{GetBigEndian32(header + 28)} * kPageBytes) {
    return MakeError(fmt::format("'{}' is not the database that was just written", path));
  }
  file.next_page_ = file.buffer_first_ = GetBigEndian32(header + 28) + 1;
  return file;
}

BulkFile::BulkFile(BulkFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      next_page_(other.next_page_),
      buffer_(std::move(other.buffer_)),
      buffer_first_(other.buffer_first_),
      leaves_(std::move(other.leaves_)),
      only_leaf_(std::move(other.only_leaf_)),
      status_(std::move(other.status_)) {}

BulkFile::~BulkFile() {
  if (fd_ >= 0) close(fd_);
}

void BulkFile::WriteAt(uint64_t offset, std::string_view bytes) {
  if (status_ && !WriteFully(fd_, offset, bytes))
    status_ = tl::unexpected<Error>(WriteError(path_));
}

void BulkFile::Flush() {
  if (!buffer_.empty()) WriteAt(uint64_t{buffer_first_ - 1} * kPageBytes, buffer_);
  buffer_.clear();
  buffer_first_ = next_page_;
}

uint32_t BulkFile::Append(std::string_view page) {
  if (next_page_ == kPendingBytePage) {
    buffer_.append(kPageBytes, '\0');
    ++next_page_;
  }
  buffer_.append(page);
  const uint32_t number = next_page_++;
  if (buffer_.size() >= (size_t{1} << 20)) Flush();
  return number;
}

void BulkFile::AddLeaf(std::string_view page, int64_t last_rowid) {
  if (leaves_.empty() && only_leaf_.empty()) {
    only_leaf_ = page;
    leaves_.push_back({0, last_rowid});
    return;
  }
  if (!only_leaf_.empty()) {
    leaves_[0].page = Append(only_leaf_);
    only_leaf_.clear();
  }
  leaves_.push_back({Append(page), last_rowid});
}

Status BulkFile::EndTable(uint32_t root_page) {
  if (!only_leaf_.empty()) {
    WriteAt(uint64_t{root_page - 1} * kPageBytes, only_leaf_);
    only_leaf_.clear();
    leaves_.clear();
    return status_;
  }
  std::vector<Child> level = std::move(leaves_);
  leaves_.clear();
  if (level.empty()) return status_;  // No rows: the empty root stays.
  std::string page;
  while (true) {
    // Every interior page gets as many children as fit; the remaining child goes up one level.
    std::vector<Child> parents;
    size_t at = 0;
    while (at < level.size()) {
      page.assign(kPageBytes, '\0');
      size_t cells = 0;
      size_t content = kPageBytes;
      size_t previous_content = content;
      size_t last = at;  // The child of the right-most pointer.
      for (size_t i = at; i + 1 < level.size(); ++i) {
        char cell[4 + 9];
        PutBigEndian(cell, level[i].page, 4);
        const size_t size = 4 + PutVarint(cell + 4, static_cast<uint64_t>(level[i].last_rowid));
        if (kInteriorPageHeaderBytes + 2 * (cells + 1) + size > content) break;
        previous_content = content;
        content -= size;
        std::memcpy(page.data() + content, cell, size);
        PutBigEndian(page.data() + kInteriorPageHeaderBytes + 2 * cells, content, 2);
        ++cells;
        last = i + 1;
      }
      if (level.size() - (last + 1) == 1 && cells >= 2) {
        // A page of one child would have no key, so the last page of the level gets two.
        --last;
        --cells;
        std::memset(page.data() + content, 0, previous_content - content);
        std::memset(page.data() + kInteriorPageHeaderBytes + 2 * cells, 0, 2);
        content = previous_content;
      }
      page[0] = kInteriorTable;
      PutBigEndian(page.data() + 3, cells, 2);
      PutBigEndian(page.data() + 5, content, 2);
      PutBigEndian(page.data() + 8, level[last].page, 4);
      if (at == 0 && last + 1 == level.size()) {
        WriteAt(uint64_t{root_page - 1} * kPageBytes, page);
        return status_;
      }
      parents.push_back({Append(page), level[last].last_rowid});
      at = last + 1;
    }
    level = std::move(parents);
  }
}

Status BulkFile::Close() {
  Flush();
  char size[4];
  PutBigEndian(size, next_page_ - 1, 4);
  WriteAt(28, std::string_view(size, 4));
  const int fd = std::exchange(fd_, -1);
  if (close(fd) != 0 && status_) status_ = tl::unexpected<Error>(WriteError(path_));
  return status_;
}

}  // namespace xlatrace::store
