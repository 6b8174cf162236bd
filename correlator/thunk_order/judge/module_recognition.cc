// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/judge/module_recognition.h"

#include <algorithm>

namespace xlatrace::correlator {
namespace {

// Tests whether the observed kernels identify the program's module. A module outside of the run may
// have kernels with equal names, so three conditions must hold. There are many names. Nearly all
// required launches between the first and the last observed kernel exist. Hardly any other XLA
// kernel is between them.
bool Recognises(const ThunkProgram& p, const std::vector<LaunchCase>& cases,
                std::span<const uint32_t> launches, const ExecutionFacts& execution) {
  const auto mostly = [](int64_t part, int64_t whole) {
    return part * 100 >= whole * (100 - kMaxGapPct);
  };
  const auto names = static_cast<int64_t>(execution.symbols.size());
  const auto launched = static_cast<int64_t>(execution.tokens.size());
  const bool varied = names >= kMinKernelCount ||
                      (names >= kMinNamesOfManyCount && launched >= kMinKernelsOfPartCount);
  if (!varied) return false;
  if (execution.of_missing.size() >= kMinMissingNameCount) return false;
  auto seen = static_cast<int64_t>(execution.tokens.size());
  const auto size = static_cast<uint32_t>(p.size());
  int64_t required = p.KernelsWithoutGraphs(0, size);
  int64_t span = p.KernelsWithoutGraphs(execution.tokens.front() + 1, execution.tokens.back()) + 2;
  int64_t named = seen;
  if (execution.graphs) {
    // A graph-level row represents its kernels and has no name that could identify the module.
    seen = named = 0;
    for (const uint32_t t : execution.tokens) {
      if (p.IsRequired(t)) ++seen;
      if (p.tokens()[t].kind != ThunkKind::kGraph) ++named;
    }
    required = p.required_kernels();
    const int64_t skipped = p.Skipped(execution.tokens.front(), execution.tokens.back());
    span = skipped < 0 ? required : skipped + 2;
  }
  const bool whole = named >= kMinKernelCount && mostly(seen, required);
  const bool part = named >= kMinKernelsOfPartCount && mostly(seen, span);
  if (!whole && !part) return false;
  int64_t kernels = 0;
  for (uint32_t i = execution.first_launch; i <= execution.last_launch; ++i) {
    if (cases[launches[i]].kind == LaunchKind::kXlaKernel) ++kernels;
  }
  return mostly(execution.kernels, kernels);
}

}  // namespace

std::vector<ExecutionFacts> RecogniseModules(std::span<const ThunkProgram* const> programs,
                                             const std::vector<LaunchCase>& cases,
                                             std::span<const uint32_t> launches,
                                             const std::vector<Anchor>& anchors) {
  std::vector<ExecutionFacts> executions(anchors.back().item.execution + size_t{1});
  for (const Anchor& anchor : anchors) {
    ExecutionFacts& execution = executions[anchor.item.execution];
    const LaunchCase& launch = cases[launches[anchor.launch]];
    execution.tokens.push_back(anchor.item.token);
    if (launch.symbol != 0) execution.symbols.insert(launch.symbol);
    if (launch.of_missing) execution.of_missing.insert(launch.symbol);
    if (launch.kind != LaunchKind::kGraph) ++execution.kernels;
    execution.first_launch = std::min(execution.first_launch, anchor.launch);
    execution.last_launch = std::max(execution.last_launch, anchor.launch);
    execution.graphs |= launch.kind == LaunchKind::kGraph;
    execution.equal_module |= anchor.item.doubt == Doubt::kEqualModule;
    execution.said |= launch.ModuleIsRecorded();
  }
  for (const Anchor& anchor : anchors) {
    ExecutionFacts& execution = executions[anchor.item.execution];
    if (execution.identified) continue;
    std::sort(execution.tokens.begin(), execution.tokens.end());
    execution.tokens.erase(std::unique(execution.tokens.begin(), execution.tokens.end()),
                           execution.tokens.end());
    execution.identified =
        execution.said || Recognises(*programs[anchor.item.program], cases, launches, execution);
  }
  return executions;
}

}  // namespace xlatrace::correlator
