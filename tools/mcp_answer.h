// SPDX-License-Identifier: Apache-2.0

// Answers of `xlatrace mcp`: text of at most kMaxResultBytes, cut into pages, with everything that
// comes from a run marked as untrusted data.
//
// A page is a line of our own words, the data between two marks, and a handle for the next page.
// The marks contain a random number of this process, so that no name in a trace can forge the end
// mark.
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
  std::string head;  // One line of our own words.
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

  // The first page. The text is kept for later pages if it is longer.
  std::string First(const McpAnswer& answer);
  // The page that `handle` names. Empty if the handle is not one of ours, or its text is not kept
  // any more.
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
