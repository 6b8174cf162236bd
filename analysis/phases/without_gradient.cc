// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/without_gradient.h"

#include <string>

namespace xlatrace::analysis::phases {
namespace {

using model::ModuleRole;
using model::Phase;

Phase PhaseOfUnmarked(const Draft& draft) {
  const ModuleRole role = draft.role();
  bool update = false;
  bool products = false;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    const std::string& function = draft.Name(node).function;
    update |=
        IsUpdateFunction(function) || (role == ModuleRole::kMain && function.ends_with("_update"));
    products |= IsMatrixWork(draft.At(node).opcode);
  }
  if (update && (role == ModuleRole::kHelper || (role == ModuleRole::kMain && !products))) {
    return Phase::kOptimizer;
  }
  // TensorFlow's auto-clustering cuts a step into modules; each may be all forward.
  const bool cluster = draft.module().name.starts_with("cluster_");
  if (role != ModuleRole::kMain && !(cluster && role == ModuleRole::kHelper)) return Phase::kOther;
  return MayHideGradients(draft) ? Phase::kUnknown : Phase::kForward;
}

}  // namespace

bool MayHideGradients(const Draft& draft) {
  if (!draft.style().has_jit_main) return false;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (draft.Name(node).leaf == "add_any" || draft.Facts(node).source.optimizer) return true;
    const std::string& function = draft.Name(node).function;
    if (function.find("train") != function.npos || function.find("grad") != function.npos) {
      return true;
    }
  }
  return false;
}

void DecideModuleWithoutGradient(Draft& draft) {
  const Phase rest = PhaseOfUnmarked(draft);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    const bool weak = draft.Facts(node).verdict.certainty == Certainty::kWeak;
    const bool helper_forward =
        weak && rest == Phase::kOther && draft.PhaseOf(node) == Phase::kForward;
    if (draft.IsUnmarked(node) || helper_forward) draft.Decide(node, rest);
  }
}

}  // namespace xlatrace::analysis::phases
