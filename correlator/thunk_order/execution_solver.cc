// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/execution_solver.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "correlator/thunk_order/align/trip_count.h"
#include "correlator/thunk_order/judge/module_recognition.h"
#include "correlator/thunk_order/order_limits.h"

namespace xlatrace::correlator {
namespace {

bool NeedsWindow(const LaunchCase& launch) {
  return launch.kind != LaunchKind::kAutotuning && launch.kind != LaunchKind::kFramework &&
         launch.kind != LaunchKind::kOther;
}

bool AreOfOneExecution(const Anchor* before, const Anchor* after) {
  return before != nullptr && after != nullptr && before->item.execution == after->item.execution;
}

// A copy after the last kernel of a library call may prepare the next instruction.
bool MayPrepareNext(std::span<const WindowToken> tokens, std::span<const WindowActivity> activities,
                    std::span<const WindowChoice> choices, size_t k) {
  if (activities[k].kind != LaunchKind::kDeviceCopy) return false;
  if (tokens[choices[k].token].thunk.kind != ThunkKind::kLibrary) return false;
  for (size_t later = k + 1; later < choices.size(); ++later) {
    if (choices[later].token != choices[k].token) break;
    if (activities[later].kind != LaunchKind::kDeviceCopy) return false;
  }
  return true;
}

}  // namespace

bool ExecutionSolver::IsAnchorOnly(uint32_t program, uint32_t token) const {
  const ThunkToken& thunk = programs_[program]->tokens()[token];
  return (thunk.kind == ThunkKind::kKernel && !thunk.may_copy) || thunk.kind == ThunkKind::kGraph;
}

std::vector<Outcome> ExecutionSolver::Solve(std::span<const uint32_t> launches, bool one_group,
                                            SequenceEnds ends) {
  std::vector<Outcome> outcomes(launches.size());
  FindAnchors(launches, one_group, ends);
  DoubtAmongGraphs(launches);
  CountTrips(programs_, cases_, launches, ends, blind_, &anchors_);
  if (anchors_.empty()) {
    WithoutAnchors(launches, &outcomes);
  } else {
    AroundAnchors(launches, &outcomes);
  }
  for (uint32_t i = 0; i < launches.size(); ++i) {
    if (outcomes[i].program == AlignedItem::kNoIndex) {
      TakeOnlyPossible(i, cases_[launches[i]], &outcomes[i]);
    }
  }
  return outcomes;
}

void ExecutionSolver::AroundAnchors(std::span<const uint32_t> launches,
                                    std::vector<Outcome>* outcomes) {
  executions_ = RecogniseModules(programs_, cases_, launches, anchors_);
  TakeAnchors(outcomes);
  FillWindow(launches, nullptr, &anchors_.front(), outcomes);
  for (size_t a = 1; a < anchors_.size(); ++a) {
    FillWindow(launches, &anchors_[a - 1], &anchors_[a], outcomes);
  }
  FillWindow(launches, &anchors_.back(), nullptr, outcomes);
}

void ExecutionSolver::TakeAnchors(std::vector<Outcome>* outcomes) {
  for (const Anchor& anchor : anchors_) {
    Outcome& outcome = (*outcomes)[anchor.launch];
    outcome.token = outcome.last_token = anchor.item.token;
    outcome.execution = anchor.item.execution;
    outcome.doubt = anchor.item.doubt;
    const ExecutionFacts& execution = executions_[anchor.item.execution];
    if (ConfidenceOf(outcome.doubt) == model::Confidence::kNone) continue;
    if (outcome.doubt == Doubt::kEqualModule && execution.ProvesNothing()) continue;
    if (!execution.identified) Raise(Doubt::kUnknownModule, &outcome.doubt);
    outcome.program = anchor.item.program;
    const ThunkToken& token = programs_[outcome.program]->tokens()[outcome.token];
    if (token.kind == ThunkKind::kGraph) {
      outcome.token = outcome.token + 1;
      outcome.last_token = token.last;
      Raise(Doubt::kGraphRow, &outcome.doubt);
    }
  }
}

void ExecutionSolver::FindAnchors(std::span<const uint32_t> launches, bool one_group,
                                  SequenceEnds ends) {
  anchors_.clear();
  anchors_of_.clear();
  windows_ = 0;
  std::vector<SequenceItem> items;
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < launches.size(); ++i) {
    const LaunchCase& launch = cases_[launches[i]];
    if (launch.candidates.empty()) continue;
    items.push_back({&launch.candidates, one_group ? 1u : 0u});
    places.push_back(i);
  }
  const Alignment alignment = AlignSequence(programs_, items, ends);
  for (size_t k = 0; k < items.size(); ++k) {
    if (alignment.items[k].program == AlignedItem::kNoIndex) continue;
    anchors_.push_back({places[k], alignment.items[k]});
  }
}

void ExecutionSolver::DoubtAmongGraphs(std::span<const uint32_t> launches) {
  const auto is_graph = [&](uint32_t c) { return cases_[c].kind == LaunchKind::kGraph; };
  const auto graphs = std::count_if(launches.begin(), launches.end(), is_graph);
  const auto placed = std::count_if(anchors_.begin(), anchors_.end(), [&](const Anchor& anchor) {
    return is_graph(launches[anchor.launch]);
  });
  blind_ = placed < graphs;
  if (!blind_) return;
  for (Anchor& anchor : anchors_) {
    const LaunchCase& launch = cases_[launches[anchor.launch]];
    if (!launch.IsKnown() && launch.candidates.size() > 1) {
      Raise(Doubt::kHiddenByGraph, &anchor.item.doubt);
    }
  }
}

ExecutionSolver::Unnamed ExecutionSolver::UnnamedIn(std::span<const uint32_t> launches,
                                                    uint32_t begin, uint32_t end) const {
  Unnamed unnamed;
  for (uint32_t i = begin; i < end; ++i) {
    const LaunchCase& launch = cases_[launches[i]];
    if (launch.IsKnown() || !NeedsWindow(launch)) continue;
    unnamed.activities.push_back({launch.kind, launch.collective, launch.library});
    unnamed.places.push_back(i);
  }
  return unnamed;
}

ExecutionSolver::Window ExecutionSolver::WindowBetween(const Anchor* before,
                                                       const Anchor* after) const {
  Window window;
  const auto add = [&](const Anchor& of, uint32_t from, uint32_t to) {
    const uint32_t program = of.item.program;
    for (const uint32_t token : programs_[program]->Between(from, to)) {
      const ThunkToken& thunk = programs_[program]->tokens()[token];
      // Work of a graph that left a row has no record of its own.
      const bool in_graph = thunk.graph != 0 && executions_[of.item.execution].graphs;
      window.places.push_back({program, token, of.item.execution});
      window.tokens.push_back({thunk, in_graph || IsAnchorOnly(program, token)});
      const bool call = thunk.kind != ThunkKind::kKernel && thunk.kind != ThunkKind::kCopy &&
                        thunk.kind != ThunkKind::kGraph;
      if (call && !in_graph) ++window.calls;
    }
  };
  if (AreOfOneExecution(before, after)) {
    // An annotated library call may have more launches after its anchor.
    add(*before, before->item.token, after->item.token);
    return window;
  }
  if (before != nullptr) {
    add(*before, before->item.token,
        static_cast<uint32_t>(programs_[before->item.program]->size()));
  }
  if (after != nullptr) add(*after, ThunkProgram::kStartIndex, after->item.token);
  return window;
}

// The execution of an activity at a border is certain only if both anchors are.
Doubt ExecutionSolver::DoubtOfEnds(const Anchor* before, const Anchor* after) const {
  for (const Anchor* anchor : {before, after}) {
    if (anchor == nullptr) continue;
    if (!anchor->IsSure() || !executions_[anchor->item.execution].identified) {
      return Doubt::kUnsureAnchor;
    }
  }
  return Doubt::kNone;
}

Outcome ExecutionSolver::OutcomeOf(const Window& window, const WindowChoice& choice,
                                   const WindowActivity& activity) const {
  const Window::Place& place = window.places[choice.token];
  Outcome outcome;
  outcome.program = place.program;
  outcome.token = place.token;
  outcome.last_token = window.places[choice.last_token].token;
  outcome.execution = place.execution;
  outcome.shared_window = window.calls > 1 ? windows_ : 0;
  if (choice.token != choice.last_token) Raise(Doubt::kSeveralThunks, &outcome.doubt);
  Raise(choice.doubt, &outcome.doubt);
  if (!UsesLibrary(window.tokens[choice.token].thunk, activity)) {
    Raise(Doubt::kOtherLibrary, &outcome.doubt);
  }
  return outcome;
}

// XLA runs thunks in order, so launches between two kernels with known thunks belong to the thunks
// between these. If both anchors are in one execution, these are the tokens between them.
// Otherwise, they are the end of the first execution and the beginning of the second, with an
// unknown border. The kind of each launch then gives its thunk (window_assignment). A label is
// exact if only one assignment is possible, both anchors are certain, and no launch may belong to
// another program.
void ExecutionSolver::FillWindow(std::span<const uint32_t> launches, const Anchor* before,
                                 const Anchor* after, std::vector<Outcome>* outcomes) {
  const uint32_t begin = before == nullptr ? 0 : before->launch + 1;
  const uint32_t end = after == nullptr ? static_cast<uint32_t>(launches.size()) : after->launch;
  const Unnamed unnamed = UnnamedIn(launches, begin, end);
  if (unnamed.activities.empty()) return;
  ++windows_;
  const Window window = WindowBetween(before, after);
  const std::vector<WindowChoice> choices = AssignWindow(window.tokens, unnamed.activities);
  const Doubt of_ends = DoubtOfEnds(before, after);
  for (size_t k = 0; k < choices.size(); ++k) {
    const WindowChoice& choice = choices[k];
    if (choice.token == WindowChoice::kNoTokenIndex) continue;
    const Window::Place& place = window.places[choice.token];
    const LaunchCase& launch = cases_[launches[unnamed.places[k]]];
    if (launch.module != AlignedItem::kNoIndex && launch.module != place.program) continue;
    const ExecutionFacts& execution = executions_[place.execution];
    if (execution.equal_module && execution.ProvesNothing()) continue;
    Outcome outcome = OutcomeOf(window, choice, unnamed.activities[k]);
    Raise(of_ends, &outcome.doubt);
    // At the ends of the stretch, or between two executions, a copy may belong to no program.
    if (!AreOfOneExecution(before, after) && !launch.ModuleIsRecorded()) {
      Raise(Doubt::kBetweenRuns, &outcome.doubt);
    }
    if (launch.kind == LaunchKind::kXlaKernel) Raise(Doubt::kModuleInferred, &outcome.doubt);
    if (MayPrepareNext(window.tokens, unnamed.activities, choices, k)) {
      Raise(Doubt::kMayPrepareNext, &outcome.doubt);
    }
    (*outcomes)[unnamed.places[k]] = outcome;
  }
}

void ExecutionSolver::WithoutAnchors(std::span<const uint32_t> launches,
                                     std::vector<Outcome>* outcomes) {
  // Only the source identifies the module here.
  uint32_t module = AlignedItem::kNoIndex;
  bool all_said = true;
  for (const uint32_t launch : launches) {
    const LaunchCase& known = cases_[launch];
    if (known.module == AlignedItem::kNoIndex) continue;
    if (module != AlignedItem::kNoIndex && module != known.module) return;
    module = known.module;
    all_said &= known.ModuleIsRecorded();
  }
  if (module == AlignedItem::kNoIndex) return;
  ++windows_;
  const ThunkProgram& program = *programs_[module];
  const bool graphs = std::any_of(launches.begin(), launches.end(), [&](uint32_t launch) {
    return cases_[launch].kind == LaunchKind::kGraph;
  });
  const Unnamed unnamed = UnnamedIn(launches, 0, static_cast<uint32_t>(launches.size()));
  // Collectives around graph-level rows give their position, and they repeat with every trip of a
  // loop.
  std::vector<uint32_t> tokens(program.size());
  std::iota(tokens.begin(), tokens.end(), 0u);
  if (graphs) {
    // One trip of each loop is better than no assignment.
    std::vector<uint32_t> unrolled = program.Unrolled(kMaxUnrolledLaunches);
    if (FitsWindow(unrolled.size(), unnamed.activities.size())) tokens = std::move(unrolled);
  }
  Window window;
  for (const uint32_t t : tokens) {
    const ThunkToken& thunk = program.tokens()[t];
    window.places.push_back({module, t, 1});
    window.tokens.push_back({thunk, IsAnchorOnly(module, t)});
    if (thunk.kind != ThunkKind::kKernel && thunk.kind != ThunkKind::kCopy) ++window.calls;
  }
  const std::vector<WindowChoice> choices = AssignWindow(window.tokens, unnamed.activities);
  for (size_t k = 0; k < choices.size(); ++k) {
    if (choices[k].token == WindowChoice::kNoTokenIndex) continue;
    Outcome outcome = OutcomeOf(window, choices[k], unnamed.activities[k]);
    const bool said = all_said && cases_[launches[unnamed.places[k]]].ModuleIsRecorded();
    if (!said) Raise(Doubt::kModuleInferred, &outcome.doubt);
    (*outcomes)[unnamed.places[k]] = outcome;
  }
}

uint32_t ExecutionSolver::OnlyPossible(uint32_t program, LaunchKind kind,
                                       CollectiveKind collective) const {
  const auto tokens = programs_[program]->tokens();
  uint32_t found = AlignedItem::kNoIndex;
  for (uint32_t t = 0; t < tokens.size(); ++t) {
    if (IsAnchorOnly(program, t) || !MayLaunch(tokens[t], {kind, collective, LibraryKind::kAny}))
      continue;
    if (found != AlignedItem::kNoIndex && tokens[found].instruction != tokens[t].instruction) {
      return AlignedItem::kNoIndex;
    }
    found = t;
  }
  return found;
}

bool ExecutionSolver::ComesBy(uint32_t program, uint32_t from, uint32_t to, uint32_t instruction) {
  const auto [it, fresh] = comes_by_.try_emplace({program, from, to, instruction}, false);
  if (fresh) {
    const ThunkProgram& p = *programs_[program];
    const std::vector<uint32_t> between = p.Between(from, to);
    it->second = std::any_of(between.begin(), between.end(), [&](uint32_t token) {
      return p.tokens()[token].instruction == instruction;
    });
  }
  return it->second;
}

bool ExecutionSolver::IsInOrder(uint32_t place, uint32_t program, uint32_t instruction) {
  if (anchors_of_.empty()) {
    for (const Anchor& anchor : anchors_) anchors_of_[anchor.item.program].push_back(&anchor);
  }
  const auto found = anchors_of_.find(program);
  if (found == anchors_of_.end()) return true;
  const std::vector<const Anchor*>& anchors = found->second;
  const auto behind =
      std::upper_bound(anchors.begin(), anchors.end(), place,
                       [](uint32_t p, const Anchor* anchor) { return p < anchor->launch; });
  const Anchor* after = behind == anchors.end() ? nullptr : *behind;
  const Anchor* before = behind == anchors.begin() ? nullptr : *(behind - 1);
  const ThunkProgram& p = *programs_[program];
  // The call of an anchor may have more launches beside it.
  for (const Anchor* anchor : {before, after}) {
    if (anchor != nullptr && p.tokens()[anchor->item.token].instruction == instruction) return true;
  }
  if (before != nullptr && after != nullptr && before->item.execution == after->item.execution) {
    return ComesBy(program, before->item.token, after->item.token, instruction);
  }
  const auto size = static_cast<uint32_t>(p.size());
  return (before != nullptr && ComesBy(program, before->item.token, size, instruction)) ||
         (after != nullptr &&
          ComesBy(program, ThunkProgram::kStartIndex, after->item.token, instruction));
}

// In a module with one library call, a library's kernel belongs to this call in nearly any order.
void ExecutionSolver::TakeOnlyPossible(uint32_t place, const LaunchCase& launch, Outcome* outcome) {
  if (launch.module == AlignedItem::kNoIndex || launch.IsKnown() || !launch.candidates.empty() ||
      launch.kind == LaunchKind::kGraph || !NeedsWindow(launch)) {
    return;
  }
  const auto [it, fresh] =
      only_possible_.try_emplace({launch.module, launch.kind, launch.collective}, 0);
  if (fresh) it->second = OnlyPossible(launch.module, launch.kind, launch.collective);
  if (it->second == AlignedItem::kNoIndex) return;
  outcome->program = launch.module;
  outcome->token = outcome->last_token = it->second;
  if (!launch.ModuleIsRecorded()) Raise(Doubt::kOnlyCall, &outcome->doubt);
  const ThunkToken& token = programs_[launch.module]->tokens()[outcome->token];
  if (!UsesLibrary(token, {launch.kind, launch.collective, launch.library})) {
    Raise(Doubt::kOtherLibrary, &outcome->doubt);
  }
  if (!IsInOrder(place, launch.module, token.instruction)) {
    Raise(Doubt::kOutOfOrder, &outcome->doubt);
  }
}

}  // namespace xlatrace::correlator
