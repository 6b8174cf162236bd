// SPDX-License-Identifier: Apache-2.0

// Text as one cell of a CSV file (RFC 4180) that neither a spreadsheet nor a terminal would obey.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_CSV_H_
#define XLATRACE_BASE_CSV_H_

#include <string>
#include <string_view>

namespace xlatrace {

// Quoted where needed. What begins with = + - @ (or their full-width forms), a tab or a carriage
// return, which a spreadsheet takes for a formula, gets a leading '. Control characters are
// replaced as Printable does.
std::string CsvText(std::string_view text);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_CSV_H_
