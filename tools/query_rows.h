// SPDX-License-Identifier: Apache-2.0

// Rows of a query as text, printed one by one: as an aligned table, CSV (RFC 4180) or JSON.
//
// Memory does not grow with the number of rows. The columns of a table are as wide as the first
// thousand rows require. Wider cells of later rows are not cut, but shift the cells after them.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_QUERY_ROWS_H_
#define XLATRACE_TOOLS_QUERY_ROWS_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/run_db.h"

namespace xlatrace::tools {

class QueryRows {
 public:
  virtual ~QueryRows() = default;
  // `cells`: one per column.
  virtual void Add(const std::vector<store::Cell>& cells) = 0;
  virtual void End() = 0;

  // Returns the text since the last call.
  std::string Take() { return std::exchange(out_, {}); }
  size_t pending_bytes() const { return out_.size(); }

 protected:
  std::string out_;
};

// `format`: "table", "csv" or "json".
std::unique_ptr<QueryRows> MakeQueryRows(std::string_view format, std::vector<std::string> columns);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_QUERY_ROWS_H_
