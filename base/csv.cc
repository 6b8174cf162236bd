#include "base/csv.h"

#include "base/terminal.h"

namespace xlatrace {

std::string CsvText(std::string_view text) {
  std::string cell;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos) {
    cell += '\'';
  }
  for (const char c : Printable(text)) cell.append(c == '"' ? 2 : 1, c);
  if (cell.find_first_of(",\"'") == std::string::npos) return cell;
  return "\"" + cell + "\"";
}

}  // namespace xlatrace
