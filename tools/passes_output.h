// SPDX-License-Identifier: Apache-2.0

// How `xlatrace passes` shows a compilation: timeline, comparison of two dumps, life of an
// instruction.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_PASSES_OUTPUT_H_
#define XLATRACE_TOOLS_PASSES_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "dumps/instruction_history.h"
#include "dumps/module_diff.h"
#include "dumps/pass_changes.h"
#include "dumps/pass_timeline.h"

namespace xlatrace::tools {

struct PassesView {
  struct Comparison {
    size_t from = 0;
    size_t to = 0;
    model::HloModule before;
    model::HloModule after;
    dumps::ModuleDiff diff;
  };
  std::string path;
  std::string module_name;
  int64_t program_id = -1;
  std::vector<dumps::PassStep> steps;
  // Exactly one of the three is set.
  std::vector<dumps::StepCounts> counts;
  std::optional<Comparison> comparison;
  std::optional<dumps::InstructionHistory> history;
  std::string instruction;
};

std::string PassesText(const PassesView& view, bool all, const Terminal& terminal);
std::string PassesJson(const PassesView& view);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PASSES_OUTPUT_H_
