// SPDX-License-Identifier: Apache-2.0

// Properties of the terminal, and text that is safe to print on it.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_TERMINAL_H_
#define XLATRACE_BASE_TERMINAL_H_

#include <string>
#include <string_view>

namespace xlatrace {

struct Terminal {
  bool is_terminal = false;  // stdout is a terminal.
  bool color = false;        // Escape sequences may be used (terminal, no NO_COLOR, TERM != dumb).
  bool utf8 = false;         // Block characters can be shown.
  int width = 100;           // COLUMNS, the terminal's width, or 100 in a pipe.
};

// Properties of standard output.
Terminal DetectTerminal();

// Replaces control characters, escape sequences, bidirectional overrides and invalid UTF-8, so that
// no name from a recording can control the terminal. Newlines and tabs become blanks.
std::string Printable(std::string_view text);

// Number of terminal columns of `text` (UTF-8, no escape sequences; wide characters count 2).
int DisplayWidth(std::string_view text);

// Shortened or padded to exactly `width` columns. A shortened name keeps its last 8 characters,
// because the number at the end distinguishes instructions: "loop_dynamic_upda..fusion.7".
// Left-aligned, shortened or padded as above.
std::string FitLeft(std::string_view text, int width);
std::string FitRight(std::string_view text, int width);  // Right-aligned.

}  // namespace xlatrace

#endif  // XLATRACE_BASE_TERMINAL_H_
