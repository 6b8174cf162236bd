// SPDX-License-Identifier: Apache-2.0

// Results of `xlatrace mcp`: text of at most kMaxResultBytes, cut into pages. All text from a run
// is marked as untrusted data.
//
// A page has a line of our own text, the data between two marks, and a handle of the next page. The
// marks contain a random number of this process, so that no name in a trace can forge the end mark.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_MCP_ANSWER_H_
#define XLATRACE_TOOLS_MCP_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace xlatrace::tools {

struct McpAnswer {
  std::string head;  // One line of our own text.
  std::string data;  // Text that may contain names of the run; may be empty.
};

// "cannot answer, because REASON": a regular answer, not an error of the request.
McpAnswer ErrorAnswer(std::string_view reason, std::string data = {});

// Bytes of `text` as a JSON string, without its quotes.
size_t JsonTextBytes(std::string_view text);

// `text` without control characters, invisible characters, blanks at line ends and repeated empty
// lines.
std::string CleanLines(std::string_view text);

class McpPages {
 public:
  // `mark` is the random part of the marks; `max_bytes` is the limit of a page as a JSON string.
  McpPages(std::string mark, size_t max_bytes) : mark_(std::move(mark)), max_bytes_(max_bytes) {}

  // Returns the first page. Longer text is stored for later pages.
  std::string First(const McpAnswer& answer);
  // Returns the page of `handle`. Empty if the handle is unknown, or if its text is not stored any
  // more.
  std::optional<std::string> Next(std::string_view handle) const;

  std::string begin_mark() const { return "<untrusted " + mark_ + ">"; }
  std::string end_mark() const { return "</untrusted " + mark_ + ">"; }

 private:
  struct Kept {
    int64_t number;
    McpAnswer answer;
  };
  std::string Page(const McpAnswer& answer, size_t at, int64_t number) const;

  std::string mark_;
  size_t max_bytes_;
  int64_t next_number_ = 1;
  std::deque<Kept> kept_;
};

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MCP_ANSWER_H_
