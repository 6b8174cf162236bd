// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/fill/thunk_list_join.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "correlator/thunk_order/align/sequence_alignment.h"
#include "correlator/thunk_order/fill/window_assignment.h"
#include "correlator/thunk_order/program/thunk_program.h"

namespace xlatrace::correlator {
namespace {

// The activity of a thunk without an XLA kernel, as a recording shows it.
WindowActivity ActivityOf(const model::Thunk& thunk) {
  switch (ThunkKindOf(thunk.kind)) {
    case ThunkKind::kGemm:
      return {.kind = LaunchKind::kGemm};
    case ThunkKind::kConvolution:
      return {.kind = LaunchKind::kConvolution};
    case ThunkKind::kLibrary:
      return {LaunchKind::kLibrary, CollectiveKind::kAny, LibraryOf(thunk.kind)};
    case ThunkKind::kCollective:
      return {LaunchKind::kCollective, CollectiveOfOpcode(thunk.kind), LibraryKind::kAny};
    case ThunkKind::kCopy:
    case ThunkKind::kHostCopy:
      return {.kind = LaunchKind::kDeviceCopy};
    case ThunkKind::kMemset:
      return {.kind = LaunchKind::kMemset};
    case ThunkKind::kAnything:
    case ThunkKind::kGraph:
    case ThunkKind::kKernel:
      break;
  }
  return {.kind = LaunchKind::kOtherKernel};
}

// A sequential thunk belongs to one instruction (a triangular solve: a copy, then the call). Its
// named thunks give the name to the others.
void NameWithinSequences(std::vector<model::Thunk>* thunks) {
  for (size_t t = 0; t < thunks->size(); ++t) {
    if ((*thunks)[t].kind != "kSequential") continue;
    size_t end = t + 1;
    std::string name;
    bool agree = true;
    for (; end < thunks->size() && (*thunks)[end].depth > (*thunks)[t].depth; ++end) {
      const std::string& own = (*thunks)[end].instruction;
      if (own.empty()) continue;
      agree &= name.empty() || name == own;
      name = own;
    }
    for (size_t k = t + 1; agree && k < end; ++k) {
      model::Thunk& thunk = (*thunks)[k];
      if (thunk.instruction.empty() && !IsContainerThunk(thunk.kind)) thunk.instruction = name;
    }
  }
}

}  // namespace

bool LacksNestedThunks(std::span<const model::Thunk> thunks) {
  for (size_t t = 0; t < thunks.size(); ++t) {
    const std::string& kind = thunks[t].kind;
    if (kind != "kWhile" && kind != "kConditional" && kind != "kCommandBuffer") continue;
    if (t + 1 == thunks.size() || thunks[t + 1].depth <= thunks[t].depth) return true;
  }
  return false;
}

void JoinThunkList(const model::HloModule& module, std::vector<model::Thunk>* thunks) {
  std::unordered_set<std::string_view> symbols;
  for (const model::Thunk& thunk : *thunks) {
    if (!thunk.instruction.empty()) return;
    if (!thunk.kernel.empty()) symbols.insert(thunk.kernel);
  }
  if (symbols.empty()) return;
  ThunkProgram program(module, {});
  program.TakeEachOnce();
  const ThunkProgram* const programs[] = {&program};
  std::vector<std::vector<Candidate>> candidates(thunks->size());
  std::vector<SequenceItem> items;
  std::vector<size_t> places;
  const ThunkProgram::Unobserved unobserved =
      program.NotObserved([&](std::string_view symbol) { return symbols.contains(symbol); });
  for (size_t t = 0; t < thunks->size(); ++t) {
    const model::Thunk& thunk = (*thunks)[t];
    if (thunk.kernel.empty()) continue;
    model::LaunchConfig config;
    config.symbol = thunk.kernel;
    for (const uint32_t token : program.Matches(config, unobserved)) {
      candidates[t].push_back({0, token});
    }
    if (candidates[t].empty()) continue;
    items.push_back({&candidates[t], 1});
    places.push_back(t);
  }
  const Alignment alignment = AlignSequence(programs, items, {.clean_start = true});
  const auto name = [&](uint32_t token) {
    return std::string(module.instructions[program.tokens()[token].instruction].name);
  };

  // Kernels first, then the thunks between two of them.
  uint32_t before = ThunkProgram::kStartIndex;
  size_t begin = 0;
  const auto fill = [&](size_t end, uint32_t after) {
    std::vector<WindowActivity> activities;
    std::vector<size_t> members;
    for (size_t t = begin; t < end; ++t) {
      if (!(*thunks)[t].kernel.empty() || IsContainerThunk((*thunks)[t].kind)) continue;
      activities.push_back(ActivityOf((*thunks)[t]));
      members.push_back(t);
    }
    if (members.empty()) return;
    const std::vector<uint32_t> tokens = program.Between(before, after);
    std::vector<WindowToken> window;
    for (const uint32_t token : tokens) {
      const ThunkToken& thunk = program.tokens()[token];
      window.push_back({thunk, thunk.kind == ThunkKind::kKernel && !thunk.may_copy});
    }
    const std::vector<WindowChoice> choices = AssignWindow(window, activities);
    for (size_t k = 0; k < members.size(); ++k) {
      if (choices[k].IsOnly()) (*thunks)[members[k]].instruction = name(tokens[choices[k].token]);
    }
  };
  for (size_t k = 0; k < items.size(); ++k) {
    const AlignedItem& item = alignment.items[k];
    if (item.program == AlignedItem::kNoIndex || item.doubt != Doubt::kNone) continue;
    (*thunks)[places[k]].instruction = name(item.token);
    fill(places[k], item.token);
    before = item.token;
    begin = places[k] + 1;
  }
  fill(thunks->size(), static_cast<uint32_t>(program.size()));
  NameWithinSequences(thunks);
}

}  // namespace xlatrace::correlator
