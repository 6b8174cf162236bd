// SPDX-License-Identifier: Apache-2.0

// Names from a run made fit to be shown: what would be invisible or turn the text around becomes
// its code ("[U+202E]"), bytes that are no UTF-8 become U+FFFD, newline and tab a blank.
//
// AppendMarkupText alone escapes, elsewhere '<' stays '<': the page's data is set by
// the app as text and never as markup (docs/development/page-data.md).
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_SAFE_TEXT_H_
#define XLATRACE_REPORT_SAFE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace xlatrace::report {

// `at` moved back to the beginning of the character it is in, by three bytes at most.
size_t CharacterStart(std::string_view text, size_t at);

enum class Lines { kBlank, kKeep };  // What becomes of newline and tab.

void AppendSafeText(std::string& out, std::string_view text, Lines lines = Lines::kBlank);

// The same, escaped for HTML and XML, in text and in quoted attributes.
void AppendMarkupText(std::string& out, std::string_view text);

// Text of at most `longest` bytes is only made safe; longer text loses its middle, between
// characters, and says how long it was: "head… [1,000,000 bytes in all] …tail".
std::string SafeName(std::string_view text, size_t longest);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SAFE_TEXT_H_
