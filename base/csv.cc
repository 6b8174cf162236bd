// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include "base/terminal.h"

namespace xlatrace {

namespace {

// Spreadsheets with an East Asian locale interpret the full-width forms (U+FF1D, FF0B, FF0D, FF20)
// as formulas, too.
bool BeginsAFormula(std::string_view text) {
  for (const std::string_view sign : {"=", "+", "-", "@", "\t", "\r", "\xEF\xBC\x9D",
                                      "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0"}) {
    if (text.starts_with(sign)) return true;
  }
  return false;
}

}  // namespace

std::string CsvText(std::string_view text) {
  std::string cell;
  if (BeginsAFormula(text)) cell += '\'';
  for (const char c : Printable(text)) cell.append(c == '"' ? 2 : 1, c);
  if (cell.find_first_of(",\"'") == std::string::npos) return cell;
  return "\"" + cell + "\"";
}

}  // namespace xlatrace
