// SPDX-License-Identifier: Apache-2.0

// Text as one cell of a CSV file (RFC 4180) that neither a spreadsheet nor a terminal executes.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_CSV_H_
#define XLATRACE_BASE_CSV_H_

#include <string>
#include <string_view>

namespace xlatrace {

// Quotes the text if needed. Text that a spreadsheet interprets as a formula gets a leading '. It
// begins with = + - @ (or their full-width forms), a tab or a carriage return. Control characters
// are replaced as in Printable.
std::string CsvText(std::string_view text);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_CSV_H_
