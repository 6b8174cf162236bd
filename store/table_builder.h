// SPDX-License-Identifier: Apache-2.0

// Builds SQLite tables page by page, for tables of integers with a row per launch or range. A row
// costs some 30 ns instead of 400 for an INSERT. The format is SQLite's own and stable
// (https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1). Tests run PRAGMA integrity_check
// on the result.
//
// TableBuilder packs rows, in ascending order of rowid, into leaf pages. A leaf contains no page
// numbers, so it can be made before its position is known. PageSpool keeps leaves (beyond some
// megabytes in an unlinked file). BulkFile appends them to a closed database, adds the interior
// pages, and makes the table's root page point there.
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

inline constexpr size_t kPageBytes = 8192;  // For every database that Database::Create makes.
inline constexpr int64_t kNullNumber = std::numeric_limits<int64_t>::min();

class TableBuilder {
 public:
  // Receives each full page and its largest rowid.
  using LeafSink = std::function<void(std::string_view page, int64_t last_rowid)>;
  explicit TableBuilder(LeafSink sink);

  // At most 16 values; more abort in every build. kNullNumber is NULL; NULLs at the end take no
  // space.
  void Append(int64_t rowid, std::span<const int64_t> values);
  // Passes on the last page. No Append after it.
  void Finish();
  int64_t rows() const { return rows_; }

 private:
  void StartPage();
  void FlushPage();

  LeafSink sink_;
  std::string page_;
  size_t cells_ = 0;
  size_t content_ = kPageBytes;  // Cells grow downwards from the end of the page.
  int64_t last_rowid_ = 0;
  int64_t rows_ = 0;
};

// Leaves before their position is known.
class PageSpool {
 public:
  // `beside`: if the spool needs a file, it is created next to this path.
  explicit PageSpool(std::string beside) : beside_(std::move(beside)) {}
  ~PageSpool();
  PageSpool(const PageSpool&) = delete;
  PageSpool& operator=(const PageSpool&) = delete;

  void Add(std::string_view page, int64_t last_rowid);
  // First error of any Add.
  const Status& status() const { return status_; }
  // Passes on all pages, in order.
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

// A closed database to which tables are appended.
class BulkFile {
 public:
  static Result<BulkFile> Open(const std::string& path);
  BulkFile(BulkFile&& other) noexcept;
  BulkFile& operator=(BulkFile&&) = delete;
  ~BulkFile();

  // Add the leaves of one table, then call EndTable with the table's root page, which must be
  // empty.
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
  std::string buffer_;         // Pages to be written,
  uint32_t buffer_first_ = 0;  // from this one on.
  struct Child {
    uint32_t page;
    int64_t last_rowid;
  };
  std::vector<Child> leaves_;
  std::string only_leaf_;  // A table of one page is stored in its root.
  Status status_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_TABLE_BUILDER_H_
