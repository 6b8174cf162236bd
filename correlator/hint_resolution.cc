// SPDX-License-Identifier: Apache-2.0
#include "correlator/hint_resolution.h"

#include <vector>

namespace xlatrace::correlator {

using model::Confidence;
using model::Id;
using model::Reason;

std::string_view InstructionInHint(std::string_view hlo_op) {
  if (!hlo_op.empty() && hlo_op.front() == '%') hlo_op.remove_prefix(1);
  return hlo_op.substr(0, hlo_op.find(' '));
}

std::optional<Proposal> ResolveHint(const ActivityCase& activity, const ModuleJoin& join,
                                    const ModuleTable& modules) {
  const model::Hint& hint = *activity.hint;
  const bool names_module =
      hint.module_id != 0 || !hint.module_name.empty() || hint.program_id.has_value();
  const std::string_view instruction = InstructionInHint(hint.instruction);
  if (!names_module && instruction.empty()) return std::nullopt;

  ModuleMatch match;
  if (names_module) {
    match = join.Find(activity.process_id, hint);
  } else if (activity.run_module_id != 0) {
    match = {{activity.run_module_id}, activity.run_module_certain};
  } else {
    match.modules = join.ModulesOf(activity.process_id);
  }

  Proposal proposal;
  proposal.evidence = hint.evidence;
  std::erase_if(match.modules, [&](Id id) { return !modules.entry(id).readable; });
  if (match.modules.empty()) {
    // XLA omits the program id for executables without an HLO module: candidates of the autotuner
    // (gpu_executable.cc, XlaModule annotation; since February 2023).
    const bool candidate = names_module && !hint.program_id && join.ids_related() &&
                           activity.config->kind == model::ActivityKind::kKernel;
    proposal.reason = candidate ? Reason::kAutotuning : Reason::kNoModule;
    return proposal;
  }
  if (match.modules.size() == 1) proposal.module_id = match.modules.front();
  if (instruction.empty()) {
    proposal.reason = proposal.module_id != 0 ? Reason::kNoAnnotation : Reason::kAmbiguousModule;
    return proposal;
  }

  int holders = 0;
  for (const Id id : match.modules) {
    const Id found = modules.FindInstruction(id, instruction);
    if (found == 0) continue;
    if (++holders == 1) {
      proposal.module_id = id;
      proposal.instruction_id = found;
    }
  }
  if (holders == 1) {
    proposal.confidence = match.certain ? Confidence::kExact : Confidence::kInferred;
    return proposal;
  }
  proposal.instruction_id = 0;
  if (holders > 1) proposal.module_id = 0;
  proposal.reason = holders > 1               ? Reason::kAmbiguousModule
                    : proposal.module_id == 0 ? Reason::kNoModule
                                              : Reason::kInstructionMissing;
  return proposal;
}

}  // namespace xlatrace::correlator
