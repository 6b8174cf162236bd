// SPDX-License-Identifier: Apache-2.0

// Makes names from a run safe to show. Characters that are invisible or reverse the text become
// their code ("[U+202E]"), bytes that are not UTF-8 become U+FFFD, newline and tab become a blank.
//
// Only AppendMarkupText escapes; elsewhere '<' stays '<'. The app inserts the page's data as text,
// never as markup (docs/development/page-data.md).
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_SAFE_TEXT_H_
#define XLATRACE_REPORT_SAFE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace xlatrace::report {

// `at`, moved back by at most three bytes to the beginning of its character.
size_t CharacterStart(std::string_view text, size_t at);

enum class Lines { kBlank, kKeep };  // Handling of newline and tab.

void AppendSafeText(std::string& out, std::string_view text, Lines lines = Lines::kBlank);

// The same, also escaped for HTML and XML, in text and in quoted attributes.
void AppendMarkupText(std::string& out, std::string_view text);

// Makes text safe. If the text has more than `longest` bytes, its middle is removed, between
// characters, and the text states its length: "head… [1,000,000 bytes in all] …tail".
std::string SafeName(std::string_view text, size_t longest);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SAFE_TEXT_H_
