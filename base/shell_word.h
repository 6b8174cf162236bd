// SPDX-License-Identifier: Apache-2.0

// A word of a command that people are told to type.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_SHELL_WORD_H_
#define XLATRACE_BASE_SHELL_WORD_H_

#include <string>
#include <string_view>

namespace xlatrace {

// `word` as a POSIX shell reads it back as that one word: as it is where it is plain, else in
// single quotes. A file name that carries a command ("a; rm -r x") stays a file name, and one that
// begins with a dash gets "./" in front, so that it is no flag.
std::string ShellWord(std::string_view word);

// The same for a name that is no file: a dash in front stays.
std::string ShellText(std::string_view word);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_SHELL_WORD_H_
