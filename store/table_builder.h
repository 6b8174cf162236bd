// SPDX-License-Identifier: Apache-2.0

// Builds SQLite tables page by page, for tables of integers with a row per launch or range: a row
// costs some 30 ns instead of the 400 of an INSERT. The format is SQLite's own and stable
// (https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1); PRAGMA integrity_check runs over
// the result in tests.
//
// TableBuilder packs rows, in ascending order of rowid, into leaf pages. A leaf holds no page
// numbers, so it may be made before its place is known: PageSpool keeps leaves (beyond some
// megabytes in an unlinked file), BulkFile appends them to a closed database, puts the interior
// pages on top and makes the table's root page point there.
//
// Thread-safety: one thread each.

#ifndef XLATRACE_STORE_TABLE_BUILDER_H_
#define XLATRACE_STORE_TABLE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xlatrace::store {

inline constexpr size_t kPageBytes = 8192;  // Of every database that Database::Create makes.
inline constexpr int64_t kNullValue = std::numeric_limits<int64_t>::min();

class TableBuilder {
 public:
  // Gets each full page and the largest rowid on it.
  using LeafSink = std::function<void(std::string_view page, int64_t last_rowid)>;
  explicit TableBuilder(LeafSink sink);

  // At most 16 values, with more the program ends in every build; kNullValue is NULL, and NULLs at
  // the end take no room.
  void Append(int64_t rowid, std::span<const int64_t> values);
  // Hands over the last page. After that no Append.
  void Finish();
  int64_t rows() const { return rows_; }

 private:
  void StartPage();
  void FlushPage();

  LeafSink sink_;
  std::string page_;
  size_t cells_ = 0;
  size_t content_ = kPageBytes;  // Cells grow down from the end of the page.
  int64_t last_rowid_ = 0;
  int64_t rows_ = 0;
};

// Leaves that wait for their place.
class PageSpool {
 public:
  // `beside`: the spool's file, where one is needed, is made next to this path.
  explicit PageSpool(std::string beside) : beside_(std::move(beside)) {}
  ~PageSpool();
  PageSpool(const PageSpool&) = delete;
  PageSpool& operator=(const PageSpool&) = delete;

  void Add(std::string_view page, int64_t last_rowid);
  // First error of any Add.
  const Status& status() const { return status_; }
  // Hands all pages over, in order.
  Status Drain(const TableBuilder::LeafSink& sink);

 private:
  static constexpr size_t kMemoryBytes = size_t{16} << 20;
  Status Spill();

  std::string beside_;
  std::string pages_;
  std::vector<int64_t> last_rowids_;
  int fd_ = -1;
  uint64_t spilled_bytes_ = 0;
  Status status_;
};

// A database that no connection has open, to append tables to.
class BulkFile {
 public:
  static Result<BulkFile> Open(const std::string& path);
  BulkFile(BulkFile&& other) noexcept;
  BulkFile& operator=(BulkFile&&) = delete;
  ~BulkFile();

  // Leaves of one table, then EndTable with the table's root page, which must be empty.
  void AddLeaf(std::string_view page, int64_t last_rowid);
  Status EndTable(uint32_t root_page);
  // Writes the new size into the header and closes.
  Status Close();

 private:
  explicit BulkFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  uint32_t Append(std::string_view page);
  void Flush();
  void WriteAt(uint64_t offset, std::string_view bytes);

  int fd_;
  std::string path_;
  uint32_t next_page_ = 0;
  std::string buffer_;         // Pages that wait to be written,
  uint32_t buffer_first_ = 0;  // from this one on.
  struct Child {
    uint32_t page;
    int64_t last_rowid;
  };
  std::vector<Child> leaves_;
  std::string only_leaf_;  // A table of one page lies in its root.
  Status status_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_TABLE_BUILDER_H_
