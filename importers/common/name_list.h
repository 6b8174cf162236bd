// SPDX-License-Identifier: Apache-2.0

// A list of names, such as "NVIDIA L40S, NVIDIA L4" for the GPUs of a run, without duplicates.

#ifndef XLATRACE_IMPORTERS_COMMON_NAME_LIST_H_
#define XLATRACE_IMPORTERS_COMMON_NAME_LIST_H_

#include <string>
#include <string_view>

namespace xlatrace::importers {

// Adds `name` to `list` unless it is empty or already an element. Elements are compared as a whole:
// L4 is another name than L40S.
inline void AddName(std::string_view name, std::string& list) {
  constexpr std::string_view kBetween = ", ";
  if (name.empty()) return;
  std::string_view rest = list;
  while (!rest.empty()) {
    const size_t end = rest.find(kBetween);
    if (rest.substr(0, end) == name) return;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + kBetween.size());
  }
  if (!list.empty()) list += kBetween;
  list += name;
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_NAME_LIST_H_
