// SPDX-License-Identifier: Apache-2.0

// The text of XLA's NVTX ranges and profiler annotations: `Thunk:#name=jit(f)/add,hlo_op=add.3#`.
//
// Grammar (tsl/profiler/utils/parse_annotation.cc): title, '#', key=value pairs separated by
// commas, '#'. Values of `name` are op_names, which may contain commas and brackets. A comma
// separates pairs only if "identifier=" follows, and only outside of balanced brackets.
//
// Ownership: views into the text. Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_COMMON_ANNOTATION_H_
#define XLATRACE_IMPORTERS_COMMON_ANNOTATION_H_

#include <string_view>
#include <utility>
#include <vector>

namespace xlatrace::importers {

struct Annotation {
  std::string_view title;  // "Thunk:", or the whole text if there is no '#'.
  std::vector<std::pair<std::string_view, std::string_view>> fields;

  // Last value of that key; empty when absent.
  std::string_view Get(std::string_view key) const;
};

Annotation ParseAnnotation(std::string_view text);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_ANNOTATION_H_
