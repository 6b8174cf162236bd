// SPDX-License-Identifier: Apache-2.0

// How `xlatrace explain` shows a file: a card, a line of a table, JSON lines.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_EXPLAIN_OUTPUT_H_
#define XLATRACE_TOOLS_EXPLAIN_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "dumps/explained_file.h"

namespace xlatrace::tools {

struct ExplainParts {
  bool instructions = false;
  bool cost = false;
};

// Without `instructions`, one object. Otherwise one object per instruction (and one for a file
// without instructions or an unreadable file). Each ends with a newline.
std::string ExplainJson(const dumps::ExplainedFile& file, const ExplainParts& parts);

std::string ExplainCard(const dumps::ExplainedFile& file, const ExplainParts& parts, int width);

struct ExplainRow {
  std::string path;
  std::string folder;
  std::string module;  // "module 3 'jit_f'"; empty if the file name has another form.
  // The part of the file name after the module; the whole name if it has no module.
  std::string name;
  std::string what;
  std::optional<int64_t> instructions;
  std::string error;
};

ExplainRow RowOf(const dumps::ExplainedFile& file);
std::string ExplainTable(const std::vector<ExplainRow>& rows, const Terminal& terminal);

// 0 if the size cannot be read.
uint64_t FileSize(const std::string& path);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_EXPLAIN_OUTPUT_H_
