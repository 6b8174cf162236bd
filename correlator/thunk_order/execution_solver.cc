#include "correlator/thunk_order/execution_solver.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "correlator/thunk_order/window_assignment.h"

namespace xlatrace::correlator {
namespace {

constexpr size_t kLongestUnrolled = 20'000;
// Trips still count where this little is lost: one record of 32, or two of a shorter stretch, each
// among 8.
constexpr size_t kLostOf = 32;
constexpr size_t kFewestPerLost = 8;
// Of several kinds of kernels in turn more may be lost, until one cannot tell which ones were.
constexpr size_t kLostMarkersOf = 16;

using model::Confidence;

// An execution is recognised, where no source names its module, by this many different kernels that
// make up this much of what its module always launches: a helper of one `loop_add_fusion` is never
// recognised for sure, because a module that the run does not hold may look the same.
constexpr int64_t kFewestKernels = 6;
constexpr int64_t kLargestGapPct = 20;
// As many launches of kernels with fewer names are as telling as different kernels.
constexpr int64_t kFewestNamesOfMany = 2;
// So many names of kernels with a size too many are no accident.
constexpr size_t kFewestOfMissing = 2;
// An execution that the recording cuts off is recognised by more kernels.
constexpr int64_t kFewestKernelsOfPart = 12;

bool NeedsWindow(const LaunchCase& launch) {
  return launch.kind != LaunchKind::kAutotuning && launch.kind != LaunchKind::kFramework &&
         launch.kind != LaunchKind::kOther;
}

// One place of a window's token list.
struct Place {
  uint32_t program;
  uint32_t token;
  uint32_t execution;
};

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
  CountTrips(launches);
  if (anchors_.empty()) {
    WithoutAnchors(launches, &outcomes);
  } else {
    AroundAnchors(launches, &outcomes);
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    if (outcomes[i].program == AlignedItem::kNone) {
      TakeOnlyPossible(cases_[launches[i]], &outcomes[i]);
    }
  }
  return outcomes;
}

void ExecutionSolver::AroundAnchors(std::span<const uint32_t> launches,
                                    std::vector<Outcome>* outcomes) {
  JudgeExecutions(launches);
  for (const Anchor& anchor : anchors_) {
    Outcome& outcome = (*outcomes)[anchor.launch];
    outcome.program = anchor.item.program;
    outcome.token = outcome.last_token = anchor.item.token;
    outcome.execution = anchor.item.execution;
    const ExecutionFacts& execution = executions_[anchor.item.execution];
    outcome.confidence =
        anchor.item.unique && execution.identified ? Confidence::kExact : Confidence::kInferred;
    // A short execution that another module explains as well is no evidence at all.
    const bool tossed = anchor.item.tied && !anchor.item.rival;
    if (tossed) outcome.confidence = Confidence::kNone;
    if (anchor.item.even && !execution.certain &&
        execution.tokens.size() < static_cast<size_t>(kFewestKernels)) {
      outcome.confidence = Confidence::kNone;
    }
    if (outcome.confidence == Confidence::kNone) {
      outcome.program = AlignedItem::kNone;
      continue;
    }
    const ThunkToken& token = programs_[outcome.program]->tokens()[outcome.token];
    if (token.kind == ThunkKind::kGraph) {
      outcome.token = outcome.token + 1;
      outcome.last_token = token.last;
      outcome.confidence = Confidence::kInferred;
    }
  }
  FillWindow(launches, nullptr, &anchors_.front(), outcomes);
  for (size_t a = 1; a < anchors_.size(); ++a) {
    FillWindow(launches, &anchors_[a - 1], &anchors_[a], outcomes);
  }
  FillWindow(launches, &anchors_.back(), nullptr, outcomes);
}

void ExecutionSolver::FindAnchors(std::span<const uint32_t> launches, bool one_group,
                                  SequenceEnds ends) {
  anchors_.clear();
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
    if (alignment.items[k].program == AlignedItem::kNone) continue;
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
    if (!launch.fixed && launch.candidates.size() > 1) anchor.item.unique = false;
  }
}

void ExecutionSolver::CountTrips(std::span<const uint32_t> launches) {
  for (size_t a = 0; a < anchors_.size();) {
    if (anchors_[a].item.unique) {
      ++a;
      continue;
    }
    size_t past = a + 1;
    while (past < anchors_.size() && !anchors_[past].item.unique &&
           anchors_[past].item.execution == anchors_[a].item.execution) {
      ++past;
    }
    if (!CountTripsBetween(launches, a, past)) CountMarkersBetween(launches, a, past);
    a = past;
  }
}

// At the border to another execution a record may as well be that one's, where both have lost some:
// as many as are expected are there either way.
bool ExecutionSolver::MayBeOfNeighbour(std::span<const uint32_t> launches, size_t first,
                                       size_t past) const {
  const auto may_be = [&](size_t a, const AlignedItem& neighbour, bool before) {
    if (neighbour.execution == anchors_[a].item.execution) return false;
    const ThunkProgram& program = *programs_[neighbour.program];
    const auto& can_be = cases_[launches[anchors_[a].launch]].candidates;
    return std::any_of(can_be.begin(), can_be.end(), [&](const Candidate& c) {
      return c.program == neighbour.program &&
             (before ? program.Skipped(neighbour.token, c.token)
                     : program.Skipped(c.token, neighbour.token)) >= 0;
    });
  };
  return (first > 0 && may_be(first, anchors_[first - 1].item, true)) ||
         (past < anchors_.size() && may_be(past - 1, anchors_[past].item, false));
}

// Anchors [first, past), which are not unique while those on either side are.
bool ExecutionSolver::CountTripsBetween(std::span<const uint32_t> launches, size_t first,
                                        size_t past) {
  const AlignedItem& any = anchors_[first].item;
  const ThunkProgram& program = *programs_[any.program];
  const auto same_execution = [&](size_t a) {
    return a < anchors_.size() && anchors_[a].item.execution == any.execution;
  };
  const bool begins = first == 0 || !same_execution(first - 1);
  const bool ends = !same_execution(past);
  std::vector<uint32_t> kernels;
  std::vector<uint32_t> optional;
  if (!program.KernelsBetween(
          begins ? ThunkProgram::kStart : anchors_[first - 1].item.token,
          ends ? static_cast<uint32_t>(program.size()) : anchors_[past].item.token,
          kLongestUnrolled, &kernels, &optional)) {
    return false;
  }
  const size_t count = past - first;
  const bool all = kernels.size() == count;
  const size_t lost = kernels.size() - count;
  const size_t forgiven = std::min(std::max<size_t>(2, count / kLostOf), count / kFewestPerLost);
  if (!all && (kernels.size() < count || lost > forgiven)) return false;
  // Nothing that looks like the module's was left over in between.
  const uint32_t begin = begins ? anchors_[first].launch : anchors_[first - 1].launch;
  const uint32_t end = ends ? anchors_[past - 1].launch : anchors_[past].launch;
  size_t candidates = 0;
  for (uint32_t i = begin; i <= end; ++i) candidates += !cases_[launches[i]].candidates.empty();
  if (candidates != count + (begins ? 0 : 1) + (ends ? 0 : 1)) return false;
  std::vector<uint32_t> tokens;
  size_t next = 0;
  for (size_t a = first; a < past; ++a) {
    const std::vector<Candidate>& can_be = cases_[launches[anchors_[a].launch]].candidates;
    for (const Candidate& c : can_be) {
      if (c.program != any.program) continue;
      if (std::binary_search(optional.begin(), optional.end(), c.token)) return false;
    }
    const auto fits = [&](uint32_t token) {
      return std::any_of(can_be.begin(), can_be.end(), [&](const Candidate& c) {
        return c.program == any.program && c.token == token;
      });
    };
    while (next < kernels.size() && !fits(kernels[next])) ++next;
    if (next == kernels.size()) return false;
    tokens.push_back(kernels[next++]);
  }
  const bool sure = all && !blind_ && !MayBeOfNeighbour(launches, first, past);
  for (size_t a = first; a < past; ++a) {
    AlignedItem& item = anchors_[a].item;
    item.token = tokens[a - first];
    item.unique = sure && !item.rival;
    item.tied = false;
  }
  return true;
}

void ExecutionSolver::CountMarkersBetween(std::span<const uint32_t> launches, size_t first,
                                          size_t past) {
  const AlignedItem any = anchors_[first].item;
  const ThunkProgram& program = *programs_[any.program];
  const auto begins = [&] {
    return first == 0 || anchors_[first - 1].item.execution != any.execution;
  };
  const auto ends = [&] {
    return past == anchors_.size() || anchors_[past].item.execution != any.execution;
  };
  const auto before = [&] {
    return begins() ? ThunkProgram::kStart : anchors_[first - 1].item.token;
  };
  const auto behind = [&] {
    return ends() ? static_cast<uint32_t>(program.size()) : anchors_[past].item.token;
  };
  // From outside the loops on, since the trips of all of a loop are known and no others.
  while (!begins() &&
         (!anchors_[first - 1].item.unique || program.InLoopWithout(before(), behind()))) {
    --first;
  }
  while (!ends() && (!anchors_[past].item.unique || program.InLoopWithout(behind(), before()))) {
    ++past;
  }
  std::vector<uint32_t> expected;
  if (!program.MarkersBetween(before(), behind(), kLongestUnrolled, &expected)) return;
  std::set<uint32_t> markers(expected.begin(), expected.end());
  const auto tokens_of = [&](size_t a) {
    std::vector<uint32_t> tokens;
    for (const Candidate& c : cases_[launches[anchors_[a].launch]].candidates) {
      if (c.program == any.program) tokens.push_back(c.token);
    }
    return tokens;
  };
  // What an anchor can be besides is no marker, either.
  for (size_t before_pass = markers.size() + 1; before_pass != markers.size();) {
    before_pass = markers.size();
    for (size_t a = first; a < past; ++a) {
      const std::vector<uint32_t> tokens = tokens_of(a);
      const bool only = std::all_of(tokens.begin(), tokens.end(),
                                    [&](uint32_t t) { return markers.contains(t); });
      if (only) continue;
      for (const uint32_t t : tokens) markers.erase(t);
    }
  }
  std::erase_if(expected, [&](uint32_t t) { return !markers.contains(t); });
  std::vector<size_t> seen;  // Anchors that can only be markers.
  for (size_t a = first; a < past; ++a) {
    const std::vector<uint32_t> tokens = tokens_of(a);
    if (std::all_of(tokens.begin(), tokens.end(),
                    [&](uint32_t t) { return markers.contains(t); })) {
      seen.push_back(a);
    }
  }
  if (seen.empty() || seen.size() > expected.size()) return;
  const size_t lost = expected.size() - seen.size();
  if (lost > seen.size() / kFewestPerLost ||
      lost > std::max<size_t>(2, seen.size() / kLostMarkersOf))
    return;
  std::vector<uint32_t> place;  // Of each that was seen.
  size_t next = 0;
  for (const size_t a : seen) {
    const std::vector<uint32_t> tokens = tokens_of(a);
    const auto fits = [&](uint32_t t) {
      return std::find(tokens.begin(), tokens.end(), t) != tokens.end();
    };
    while (next < expected.size() && !fits(expected[next])) ++next;
    if (next == expected.size()) return;
    place.push_back(expected[next++]);
  }
  // Nothing here is sure, not even where no marker is lost: what lies between was guessed before.
  const auto take = [&](size_t a, uint32_t token) {
    AlignedItem& item = anchors_[a].item;
    if (item.unique) return;
    item.token = token;
    item.tied = false;
  };
  for (size_t k = 0; k <= seen.size(); ++k) {
    const uint32_t from = k == 0 ? before() : place[k - 1];
    const uint32_t to = k == seen.size() ? behind() : place[k];
    const std::vector<uint32_t> between = program.Between(from, to);
    const std::set<uint32_t> possible(between.begin(), between.end());
    const size_t end = k == seen.size() ? past : seen[k];
    for (size_t a = k == 0 ? first : seen[k - 1] + 1; a < end; ++a) {
      std::vector<uint32_t> tokens = tokens_of(a);
      std::erase_if(tokens, [&](uint32_t t) { return !possible.contains(t); });
      if (tokens.size() == 1) take(a, tokens.front());
    }
    if (k < seen.size()) take(seen[k], place[k]);
  }
}

void ExecutionSolver::JudgeExecutions(std::span<const uint32_t> launches) {
  executions_.assign(anchors_.back().item.execution + size_t{1}, ExecutionFacts());
  for (const Anchor& anchor : anchors_) {
    ExecutionFacts& execution = executions_[anchor.item.execution];
    const LaunchCase& launch = cases_[launches[anchor.launch]];
    execution.tokens.push_back(anchor.item.token);
    if (launch.symbol != 0) execution.symbols.insert(launch.symbol);
    if (launch.of_missing) execution.of_missing.insert(launch.symbol);
    ++execution.anchors;
    execution.first_launch = std::min(execution.first_launch, anchor.launch);
    execution.last_launch = std::max(execution.last_launch, anchor.launch);
    execution.graphs |= launch.kind == LaunchKind::kGraph;
    execution.rival |= anchor.item.even;
    execution.certain |= launch.certain || launch.fixed;
  }
  for (const Anchor& anchor : anchors_) {
    ExecutionFacts& execution = executions_[anchor.item.execution];
    if (execution.identified) continue;
    std::sort(execution.tokens.begin(), execution.tokens.end());
    execution.tokens.erase(std::unique(execution.tokens.begin(), execution.tokens.end()),
                           execution.tokens.end());
    execution.identified =
        execution.certain || Recognises(launches, anchor.item.program, execution);
  }
}

bool ExecutionSolver::Recognises(std::span<const uint32_t> launches, uint32_t program,
                                 const ExecutionFacts& execution) const {
  const auto mostly = [](int64_t part, int64_t whole) {
    return part * 100 >= whole * (100 - kLargestGapPct);
  };
  const auto names = static_cast<int64_t>(execution.symbols.size());
  const auto launched = static_cast<int64_t>(execution.tokens.size());
  const bool varied =
      names >= kFewestKernels || (names >= kFewestNamesOfMany && launched >= kFewestKernelsOfPart);
  if (!varied) return false;
  if (execution.of_missing.size() >= kFewestOfMissing) return false;
  const ThunkProgram& p = *programs_[program];
  auto seen = static_cast<int64_t>(execution.tokens.size());
  // What the module launches between the first and the last kernel that were seen must be there...
  const auto size = static_cast<uint32_t>(p.size());
  int64_t required = p.KernelsWithoutGraphs(0, size);
  int64_t span = p.KernelsWithoutGraphs(execution.tokens.front() + 1, execution.tokens.back()) + 2;
  int64_t named = seen;
  if (execution.graphs) {
    // ... a graph in one row, which has no name that could tell the module.
    seen = named = 0;
    for (const uint32_t t : execution.tokens) {
      if (p.IsRequired(t)) ++seen;
      if (p.tokens()[t].kind != ThunkKind::kGraph) ++named;
    }
    required = p.required_kernels();
    const int64_t skipped = p.Skipped(execution.tokens.front(), execution.tokens.back());
    span = skipped < 0 ? required : skipped + 2;
  }
  const bool whole = named >= kFewestKernels && mostly(seen, required);
  const bool part = named >= kFewestKernelsOfPart && mostly(seen, span);
  if (!whole && !part) return false;
  // ... and XLA's kernels between them must be the module's: a module that the run does not hold
  // has kernels of the same names among others.
  int64_t kernels = 0;
  for (uint32_t i = execution.first_launch; i <= execution.last_launch; ++i) {
    if (cases_[launches[i]].kind == LaunchKind::kXlaKernel) ++kernels;
  }
  return mostly(execution.anchors, kernels);
}

void ExecutionSolver::FillWindow(std::span<const uint32_t> launches, const Anchor* before,
                                 const Anchor* after, std::vector<Outcome>* outcomes) {
  const uint32_t begin = before == nullptr ? 0 : before->launch + 1;
  const uint32_t end = after == nullptr ? static_cast<uint32_t>(launches.size()) : after->launch;
  std::vector<WindowActivity> activities;
  std::vector<uint32_t> places;
  for (uint32_t i = begin; i < end; ++i) {
    const LaunchCase& launch = cases_[launches[i]];
    if (launch.fixed || !NeedsWindow(launch)) continue;
    activities.push_back({launch.kind, launch.collective, launch.library});
    places.push_back(i);
  }
  if (activities.empty()) return;
  ++windows_;

  std::vector<Place> tokens;
  const auto add = [&](const Anchor& of, uint32_t from, uint32_t to) {
    for (const uint32_t token : programs_[of.item.program]->Between(from, to)) {
      tokens.push_back({of.item.program, token, of.item.execution});
    }
  };
  const bool same =
      before != nullptr && after != nullptr && before->item.execution == after->item.execution;
  if (same) {
    // A library call known by annotation may have more launches behind the one that is the anchor.
    add(*before, before->item.token, after->item.token);
  } else {
    if (before != nullptr) {
      add(*before, before->item.token,
          static_cast<uint32_t>(programs_[before->item.program]->size()));
    }
    if (after != nullptr) add(*after, ThunkProgram::kStart, after->item.token);
  }
  std::vector<WindowToken> window;
  int libraries = 0;
  for (const Place& place : tokens) {
    const ThunkToken& thunk = programs_[place.program]->tokens()[place.token];
    // What a graph holds that left a row leaves no record of its own.
    const bool in_graph = thunk.graph != 0 && executions_[place.execution].graphs;
    window.push_back({thunk, in_graph || IsAnchorOnly(place.program, place.token)});
    if (thunk.kind != ThunkKind::kKernel && thunk.kind != ThunkKind::kCopy &&
        thunk.kind != ThunkKind::kGraph && !in_graph) {
      ++libraries;
    }
  }
  const std::vector<WindowChoice> choices = AssignWindow(window, activities);
  // Which end of an execution something belongs to is sure only where both are.
  const auto sure = [&](const Anchor* anchor) {
    return anchor == nullptr ||
           (anchor->item.unique && executions_[anchor->item.execution].identified);
  };
  const bool bounded = sure(before) && sure(after);
  // A copy behind the last kernel of a library's call may as well prepare what comes next.
  const auto trails = [&](size_t k) {
    if (activities[k].kind != LaunchKind::kDeviceCopy) return false;
    if (window[choices[k].token].thunk.kind != ThunkKind::kLibrary) return false;
    for (size_t later = k + 1; later < choices.size(); ++later) {
      if (choices[later].token != choices[k].token) break;
      if (activities[later].kind != LaunchKind::kDeviceCopy) return false;
    }
    return true;
  };
  for (size_t k = 0; k < choices.size(); ++k) {
    const WindowChoice& choice = choices[k];
    if (choice.token == WindowChoice::kOutside) continue;
    const Place& place = tokens[choice.token];
    const LaunchCase& launch = cases_[launches[places[k]]];
    if (launch.module != AlignedItem::kNone && launch.module != place.program) continue;
    const ExecutionFacts& execution = executions_[place.execution];
    if (execution.rival && !execution.certain &&
        execution.tokens.size() < static_cast<size_t>(kFewestKernels))
      continue;
    Outcome& outcome = (*outcomes)[places[k]];
    outcome.program = place.program;
    outcome.token = place.token;
    outcome.last_token = tokens[choice.last_token].token;
    outcome.execution = place.execution;
    outcome.contested = libraries > 1 ? windows_ : 0;
    // At the ends of the stretch, or between two executions, a copy may be nobody's.
    const bool told =
        (same || launch.certain) && launch.kind != LaunchKind::kXlaKernel && !trails(k);
    outcome.confidence = choice.unique && bounded && told && choice.token == choice.last_token
                             ? Confidence::kExact
                             : Confidence::kInferred;
  }
}

void ExecutionSolver::WithoutAnchors(std::span<const uint32_t> launches,
                                     std::vector<Outcome>* outcomes) {
  // All that is left to say which module this is is the source.
  uint32_t module = AlignedItem::kNone;
  bool certain = true;
  for (const uint32_t launch : launches) {
    const LaunchCase& known = cases_[launch];
    if (known.module == AlignedItem::kNone) continue;
    if (module != AlignedItem::kNone && module != known.module) return;
    module = known.module;
    certain &= known.certain;
  }
  if (module == AlignedItem::kNone) return;
  ++windows_;
  const ThunkProgram& program = *programs_[module];
  const bool graphs = std::any_of(launches.begin(), launches.end(), [&](uint32_t launch) {
    return cases_[launch].kind == LaunchKind::kGraph;
  });
  std::vector<WindowActivity> activities;
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < launches.size(); ++i) {
    const LaunchCase& launch = cases_[launches[i]];
    if (launch.fixed || !NeedsWindow(launch)) continue;
    activities.push_back({launch.kind, launch.collective, launch.library});
    places.push_back(i);
  }
  // Graph-level rows are placed by the collectives around them, which come again with every trip of
  // a loop.
  std::vector<uint32_t> tokens(program.size());
  std::iota(tokens.begin(), tokens.end(), 0u);
  if (graphs) {
    // One trip of each loop is better than nothing at all.
    std::vector<uint32_t> unrolled = program.Unrolled(kLongestUnrolled);
    if (FitsWindow(unrolled.size(), activities.size())) tokens = std::move(unrolled);
  }
  std::vector<WindowToken> window;
  int libraries = 0;
  for (const uint32_t t : tokens) {
    const ThunkToken& thunk = program.tokens()[t];
    window.push_back({thunk, IsAnchorOnly(module, t)});
    if (thunk.kind != ThunkKind::kKernel && thunk.kind != ThunkKind::kCopy) ++libraries;
  }
  const std::vector<WindowChoice> choices = AssignWindow(window, activities);
  for (size_t k = 0; k < choices.size(); ++k) {
    if (choices[k].token == WindowChoice::kOutside) continue;
    Outcome& outcome = (*outcomes)[places[k]];
    outcome.program = module;
    outcome.token = tokens[choices[k].token];
    outcome.last_token = tokens[choices[k].last_token];
    outcome.execution = 1;
    outcome.contested = libraries > 1 ? windows_ : 0;
    const bool told = certain && cases_[launches[places[k]]].certain;
    outcome.confidence = choices[k].unique && told && choices[k].token == choices[k].last_token
                             ? Confidence::kExact
                             : Confidence::kInferred;
  }
}

uint32_t ExecutionSolver::OnlyPossible(uint32_t program, LaunchKind kind,
                                       CollectiveKind collective) const {
  const auto tokens = programs_[program]->tokens();
  uint32_t found = AlignedItem::kNone;
  for (uint32_t t = 0; t < tokens.size(); ++t) {
    if (IsAnchorOnly(program, t) || !MayLaunch(tokens[t], {kind, collective, LibraryKind::kAny}))
      continue;
    if (found != AlignedItem::kNone && tokens[found].instruction != tokens[t].instruction) {
      return AlignedItem::kNone;
    }
    found = t;
  }
  return found;
}

// A module with one library call needs no order to tell whose a library's kernel is.
void ExecutionSolver::TakeOnlyPossible(const LaunchCase& launch, Outcome* outcome) {
  if (launch.module == AlignedItem::kNone || launch.fixed || !launch.candidates.empty() ||
      launch.kind == LaunchKind::kGraph || !NeedsWindow(launch)) {
    return;
  }
  const auto [it, fresh] =
      only_possible_.try_emplace({launch.module, launch.kind, launch.collective}, 0);
  if (fresh) it->second = OnlyPossible(launch.module, launch.kind, launch.collective);
  if (it->second == AlignedItem::kNone) return;
  outcome->program = launch.module;
  outcome->token = outcome->last_token = it->second;
  outcome->confidence = launch.certain ? Confidence::kExact : Confidence::kInferred;
}

}  // namespace xlatrace::correlator
