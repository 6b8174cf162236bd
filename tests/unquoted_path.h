// SPDX-License-Identifier: Apache-2.0

// Commands in hints quote a path that contains blanks. Golden text has to be the same for every
// temporary folder, so tests remove these quotes before the comparison.

#ifndef XLATRACE_TESTS_UNQUOTED_PATH_H_
#define XLATRACE_TESTS_UNQUOTED_PATH_H_

#include <string>
#include <string_view>

namespace xlatrace {

// `text` with every "'PATH'" replaced by "PATH".
inline std::string WithUnquotedPath(std::string text, std::string_view path) {
  const std::string quoted = "'" + std::string(path) + "'";
  for (size_t at = 0; (at = text.find(quoted, at)) != std::string::npos; at += path.size()) {
    text.replace(at, quoted.size(), path);
  }
  return text;
}

}  // namespace xlatrace

#endif  // XLATRACE_TESTS_UNQUOTED_PATH_H_
