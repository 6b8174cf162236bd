// SPDX-License-Identifier: Apache-2.0
#include "compare/regions.h"

#include <algorithm>
#include <string_view>

namespace xlatrace::compare {
namespace {

using model::kNoIndex;

constexpr size_t kMaxRegionDepth = 100;  // Damaged modules have cycles of calls.

// Caller of each computation; kNoIndex: none or several.
std::vector<uint32_t> CallersOf(const model::HloModule& module) {
  constexpr uint32_t kSeveralCallersIndex = kNoIndex - 1;
  std::vector<uint32_t> callers(module.computations.size(), kNoIndex);
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    for (const uint32_t called : module.CalledComputations(module.instructions[i])) {
      callers[called] = callers[called] == kNoIndex ? i : kSeveralCallersIndex;
    }
  }
  std::replace(callers.begin(), callers.end(), kSeveralCallersIndex, kNoIndex);
  return callers;
}

}  // namespace

bool IsRegion(const FlatGraph& graph, uint32_t unit) {
  const std::string_view opcode = graph.module().instructions[unit].opcode;
  return opcode == "while" || opcode == "conditional" || opcode == "call";
}

Regions::Regions(const FlatGraph& graph) : graph_(graph), callers_(CallersOf(graph.module())) {}

const std::vector<uint32_t>& Regions::From(uint32_t region) {
  const auto [at, is_new] = known_.try_emplace(region);
  std::vector<uint32_t>& regions = at->second;
  if (!is_new) return regions;
  while (region != kNoIndex && regions.size() < kMaxRegionDepth) {
    if (IsRegion(graph_, region)) regions.push_back(region);
    const uint32_t computation = graph_.module().instructions[region].computation;
    region = computation < callers_.size() ? callers_[computation] : kNoIndex;
  }
  return regions;
}

}  // namespace xlatrace::compare
