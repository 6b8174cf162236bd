// SPDX-License-Identifier: Apache-2.0

// Quotes a word of a command that the user may copy into a shell.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_SHELL_WORD_H_
#define XLATRACE_BASE_SHELL_WORD_H_

#include <string>
#include <string_view>

namespace xlatrace {

// `word` so that a POSIX shell reads it as one word: unchanged if it is plain, else in single
// quotes. A file name that contains a command ("a; rm -r x") stays a file name. A leading dash gets
// "./" in front, so that it is not a flag.
std::string ShellWord(std::string_view word);

// The same for a name that is not a file: a leading dash stays.
std::string ShellText(std::string_view word);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_SHELL_WORD_H_
