// SPDX-License-Identifier: Apache-2.0

// Writes HTML in pieces; the only way by which text of a run gets into the page.
//
// Text() escapes: no byte of a name becomes markup. Characters that are invisible or reverse text
// (controls, bidirectional marks, zero width) appear as their code, "[U+202E]". Bytes that are
// not UTF-8 become U+FFFD. Names above 400 characters are cut in the middle and state their
// length.
//
// Errors: the first error of `out` is stored; later writes do nothing. Thread-safety: one thread.

#ifndef XLATRACE_REPORT_HTML_HTML_WRITER_H_
#define XLATRACE_REPORT_HTML_HTML_WRITER_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace::report {

class HtmlWriter {
 public:
  explicit HtmlWriter(const std::function<Status(std::string_view)>& out) : out_(out) {}
  HtmlWriter(const HtmlWriter&) = delete;
  HtmlWriter& operator=(const HtmlWriter&) = delete;

  // Markup of ours.
  HtmlWriter& Raw(std::string_view markup);
  // Text of the run, in element content or in a quoted attribute.
  HtmlWriter& Text(std::string_view text);
  // Text in <code>.
  HtmlWriter& Code(std::string_view text);
  // Sentences with names in backticks, for example actions of findings.
  HtmlWriter& Prose(std::string_view text);
  // Writes a name whose beginning and end stay visible if its column is narrow.
  HtmlWriter& Name(std::string_view text);

  Status Finish();

 private:
  void Flush();

  const std::function<Status(std::string_view)>& out_;
  std::string buffer_;
  Status status_;
};

// The text that HtmlWriter::Text writes.
std::string EscapeHtml(std::string_view text);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HTML_HTML_WRITER_H_
