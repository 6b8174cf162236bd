// SPDX-License-Identifier: Apache-2.0

// What the program knows of the terminal, and text made safe for it.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_TERMINAL_H_
#define XLATRACE_BASE_TERMINAL_H_

#include <string>
#include <string_view>

namespace xlatrace {

struct Terminal {
  bool is_terminal = false;  // stdout is a terminal.
  bool color = false;        // Escape sequences are welcome (terminal, no NO_COLOR, TERM != dumb).
  bool utf8 = false;         // Block characters can be shown.
  int width = 100;           // COLUMNS, the terminal's width, or 100 in a pipe.
};

// Of standard output.
Terminal DetectTerminal();

// Replaces control characters, escape sequences, bidirectional overrides and invalid UTF-8, so that
// no name from a recording can steer the terminal. Newlines and tabs become blanks.
std::string Printable(std::string_view text);

// Columns that `text` takes (UTF-8, no escape sequences; wide characters count 2).
int DisplayWidth(std::string_view text);

// Cut or padded to exactly `width` columns. A cut name keeps its last 8 characters, since the
// number at the end tells instructions apart: "loop_dynamic_upda..fusion.7".
std::string FitLeft(std::string_view text, int width);   // Left-aligned.
std::string FitRight(std::string_view text, int width);  // Right-aligned.

}  // namespace xlatrace

#endif  // XLATRACE_BASE_TERMINAL_H_
