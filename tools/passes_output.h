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
#include "hlo/instruction_history.h"
#include "hlo/module_diff.h"
#include "hlo/pass_changes.h"
#include "hlo/pass_timeline.h"

namespace xlatrace::tools {

struct PassesView {
  struct Comparison {
    size_t from = 0;
    size_t to = 0;
    model::HloModule before;
    model::HloModule after;
    hlo::ModuleDiff diff;
  };
  std::string path;
  std::string module_name;
  int64_t program_id = -1;
  std::vector<hlo::PassStep> steps;
  // One of the three.
  std::vector<hlo::StepCounts> counts;
  std::optional<Comparison> comparison;
  std::optional<hlo::InstructionHistory> history;
  std::string instruction;
};

std::string PassesText(const PassesView& view, bool all, const Terminal& terminal);
std::string PassesJson(const PassesView& view);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PASSES_OUTPUT_H_
