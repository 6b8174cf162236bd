// SPDX-License-Identifier: Apache-2.0

// Words and layout that the commands for dumps share.
//
// Thread-safety: pure.

#ifndef XLATRACE_TOOLS_DUMP_TEXT_H_
#define XLATRACE_TOOLS_DUMP_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/module_summary.h"

namespace xlatrace::tools {

// "1 file", "2,345 files".
std::string Count(int64_t count, std::string_view noun);

// "train.py:105 (train_step)", "train.py:41-97"; empty when unknown. `whole_path` keeps folders.
std::string SourceText(const hlo::ModuleSource& source, bool whole_path);

// Label and text in a separate block: "  for      the program ...", wrapped to `width` and aligned
// with the column of the text.
void AppendField(std::string_view label, std::string_view text, int width, std::string& out);

// A line below a field, with its blanks, cut at `width`.
void AppendLine(std::string_view text, int width, std::string& out);

// Path without folders.
std::string_view BaseName(std::string_view path);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_DUMP_TEXT_H_
