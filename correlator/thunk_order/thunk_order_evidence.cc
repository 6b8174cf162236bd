#include "correlator/thunk_order/thunk_order_evidence.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "correlator/graph_row_shares.h"
#include "correlator/loss_parts.h"
#include "correlator/origin.h"
#include "correlator/shares.h"
#include "correlator/thunk_order/execution_solver.h"
#include "correlator/thunk_order/known_stretches.h"
#include "correlator/thunk_order/launch_sequence.h"
#include "correlator/thunk_order/window_assignment.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using model::Evidence;
using model::Id;
using model::Label;

constexpr uint32_t kNone = AlignedItem::kNone;

// Launches that no source groups are solved this many at a time, more where an execution is longer.
// Patterns must follow each other for so many launches before one of them is taken for granted: a
// program that begins as a known one does is seldom longer than that up to where it differs.
constexpr size_t kPatternsAhead = 2048;
constexpr size_t kFirstStretch = 8192;
constexpr size_t kLongestStretch = 1'000'000;

struct Instance {
  uint32_t device;
  size_t begin;  // In the device's sequence.
  uint32_t stretch;
};

class ThunkOrder {
 public:
  ThunkOrder(const model::RunTables& run, const ModuleTable& modules, const ModuleJoin& join,
             std::span<const JudgedCase> judged, std::span<const uint32_t> case_of,
             LabelTable* labels, model::AttributionTables* tables)
      : run_(run),
        modules_(modules),
        join_(join),
        judged_(judged),
        case_of_(case_of),
        labels_(*labels),
        tables_(*tables),
        parts_(run) {}

  ThunkOrderResult Run() {
    if (!HasWork()) return {};
    LaunchCases read(run_, modules_, join_, judged_, case_of_, tables_.labels);
    read_ = &read;
    programs_ = read.programs();
    cases_ = read.cases();
    ExecutionSolver solver(programs_, read.cases());
    solver_ = &solver;
    sequences_ = LaunchSequences(run_);
    for (uint32_t d = 0; d < sequences_.size(); ++d) SolveDevice(d);
    std::sort(instances_.begin(), instances_.end(), [](const Instance& a, const Instance& b) {
      return std::pair(a.device, a.begin) < std::pair(b.device, b.begin);
    });
    JudgeContested();
    CountGraphRows();
    for (KnownStretch& stretch : known_.all()) MakeLabels(&stretch);
    ThunkOrderResult result = Apply();
    ExplainGraphRows(&result);
    ExplainLibraryKernels();
    return result;
  }

 private:
  const Label& LabelOf(const JudgedCase& judged) const { return tables_.labels[judged.label - 1]; }

  bool HasWork() const {
    bool any_program = false;
    for (Id id = 1; id <= static_cast<Id>(modules_.size()); ++id) {
      any_program |= modules_.entry(id).program.size() > 0;
    }
    if (!any_program) return false;
    return std::any_of(judged_.begin(), judged_.end(), [&](const JudgedCase& judged) {
      return LabelOf(judged).confidence != Confidence::kExact;
    });
  }

  // Launches that the source says are one execution.
  struct Group {
    size_t begin = 0;  // In the sequence, and how many from there.
    size_t size = 0;
    size_t first = 0;  // Before it was gathered.
    size_t last = 0;
    bool may_lack_start = false;
    bool may_lack_end = false;
    bool lacks = false;  // Records of it are lost.
  };
  std::vector<Group> GatherGroups(std::vector<uint32_t>* sequence) const;
  void SolveDevice(uint32_t device);
  // `from` and `to`: what is around it; there something may be missing where these are cuts.
  struct Edges {
    size_t from = 0;
    size_t to = 0;
    bool lacks = false;  // Something is missing inside.
  };
  size_t SolveUngrouped(uint32_t device, std::span<const uint32_t> cases, size_t begin, size_t end,
                        const Edges& edges);
  void DoubtOrder(std::vector<Outcome>* outcomes) const;
  void JudgeContested();
  void CountGraphRows();
  void MakeLabels(KnownStretch* stretch);
  uint32_t LabelFor(const JudgedCase& judged, const Outcome& outcome);
  uint32_t SharedLabelFor(const Outcome& outcome);
  ThunkOrderResult Apply();
  void ExplainGraphRows(ThunkOrderResult* result);
  void ExplainLibraryKernels();
  size_t ModulesThatMayLaunch(const JudgedCase& judged, const LaunchCase& launch) const;

  const model::RunTables& run_;
  const ModuleTable& modules_;
  const ModuleJoin& join_;
  std::span<const JudgedCase> judged_;
  std::span<const uint32_t> case_of_;
  LabelTable& labels_;
  model::AttributionTables& tables_;
  const LossParts parts_;

  LaunchCases* read_ = nullptr;  // While Run runs, as all below.
  std::span<const ThunkProgram* const> programs_;
  std::span<const LaunchCase> cases_;
  ExecutionSolver* solver_ = nullptr;
  std::vector<std::vector<uint32_t>> sequences_;
  KnownStretches known_;
  // Where the last pattern of the device ended, and how far patterns are known to go on from there.
  size_t known_to_ = SIZE_MAX;
  size_t followed_ = 0;
  std::vector<Instance> instances_;
  GraphRowShares graph_rows_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> shared_labels_;
};

// Executions that the source tells, on several threads, may lie in each other's way: each becomes
// one stretch, where its first launch was. What has no execution stays.
std::vector<ThunkOrder::Group> ThunkOrder::GatherGroups(std::vector<uint32_t>* sequence) const {
  const auto key_of = [&](uint32_t activity) { return run_.activities.run_key[activity]; };
  std::unordered_map<uint32_t, size_t> number;  // By key.
  std::vector<Group> groups;
  bool scattered = false;
  for (size_t k = 0; k < sequence->size(); ++k) {
    const uint32_t key = key_of((*sequence)[k]);
    if (key == 0) continue;
    const auto [it, fresh] = number.try_emplace(key, groups.size());
    if (fresh) groups.push_back({.first = k, .last = k});
    Group& group = groups[it->second];
    if (parts_.any()) {
      const uint32_t activity = (*sequence)[k];
      const uint32_t part = parts_.PartOf(activity);
      const auto other = [&](size_t at) { return parts_.PartOf((*sequence)[at]) != part; };
      group.lacks |= parts_.Lacks(activity) || (!fresh && other(group.last));
      if (fresh && k > 0) group.may_lack_start |= other(k - 1);
      group.may_lack_end = k + 1 < sequence->size() && other(k + 1);
    }
    scattered |= k > group.last + 1;
    group.last = k;
    ++group.size;
  }
  if (scattered) {
    std::vector<std::pair<size_t, uint32_t>> order;  // (place, activity)
    for (size_t k = 0; k < sequence->size(); ++k) {
      const uint32_t key = key_of((*sequence)[k]);
      order.emplace_back(key == 0 ? k : groups[number.at(key)].first, (*sequence)[k]);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t k = 0; k < order.size(); ++k) (*sequence)[k] = order[k].second;
  }
  // The recording may cut off what had begun before anything ended, and what ends after everything
  // had begun.
  size_t first_end = SIZE_MAX;
  size_t last_begin = 0;
  for (const Group& group : groups) {
    first_end = std::min(first_end, group.last);
    last_begin = std::max(last_begin, group.first);
  }
  for (Group& group : groups) {
    group.may_lack_start |= group.first <= first_end;
    group.may_lack_end |= group.last >= last_begin;
  }
  return groups;
}

void ThunkOrder::SolveDevice(uint32_t device) {
  known_to_ = SIZE_MAX;
  std::vector<uint32_t>& sequence = sequences_[device];
  std::vector<Group> groups = GatherGroups(&sequence);
  std::vector<uint32_t> cases(sequence.size());
  for (size_t k = 0; k < sequence.size(); ++k) cases[k] = case_of_[sequence[k]];
  const auto group_of = [&](size_t k) { return run_.activities.run_key[sequence[k]]; };
  const auto part_of = [&](size_t k) { return parts_.any() ? parts_.PartOf(sequence[k]) : 0; };
  size_t next = 0;  // Group.
  Edges edges{0, sequence.size()};
  for (size_t begin = 0; begin < sequence.size();) {
    size_t end = begin + 1;
    while (end < sequence.size() && group_of(end) == group_of(begin) &&
           (group_of(begin) != 0 || part_of(end) == part_of(begin))) {
      ++end;
    }
    if (parts_.any()) {
      if (begin > 0 && part_of(begin) != part_of(begin - 1)) edges.from = begin;
      const bool cut = end < sequence.size() && part_of(end) != part_of(end - 1);
      edges.to = cut ? end : sequence.size();
      edges.lacks = std::any_of(sequence.begin() + static_cast<ptrdiff_t>(begin),
                                sequence.begin() + static_cast<ptrdiff_t>(end),
                                [&](uint32_t i) { return parts_.Lacks(i); });
    }
    if (group_of(begin) == 0) {
      while (begin < end) begin = SolveUngrouped(device, cases, begin, end, edges);
    } else {
      groups[next++].begin = begin;
    }
    begin = end;
  }
  // What may be cut off comes after the others, of which one may be the same.
  std::stable_partition(groups.begin(), groups.end(), [](const Group& group) {
    return !group.may_lack_start && !group.may_lack_end;
  });
  for (const Group& group : groups) {
    const auto part = std::span<const uint32_t>(cases).subspan(group.begin, group.size);
    const bool all_fixed =
        std::all_of(part.begin(), part.end(), [&](uint32_t c) { return cases_[c].fixed; });
    if (all_fixed) continue;
    // What may be cut off can be less than what looks the same and is whole.
    const uint32_t how = (group.may_lack_start ? 1u : 0u) | (group.may_lack_end ? 2u : 0u) |
                         (group.lacks ? 4u : 0u);
    uint32_t known = known_.Find(part, nullptr, how);
    if (known == kNone) {
      std::vector<Outcome> outcomes = solver_->Solve(part, true,
                                                     {.clean_start = !group.may_lack_start,
                                                      .clean_end = !group.may_lack_end,
                                                      .may_be_cut_off = true});
      if (group.lacks) DoubtOrder(&outcomes);
      known = known_.Remember(part, std::move(outcomes), how);
    }
    ++known_[known].occurrences;
    instances_.push_back({device, group.begin, known});
  }
}

// The order of launches proves nothing where some of them are missing among them.
void ThunkOrder::DoubtOrder(std::vector<Outcome>* outcomes) const {
  for (Outcome& outcome : *outcomes) {
    outcome.confidence = std::min(outcome.confidence, Confidence::kInferred);
  }
}

// Solves from `begin` on, and returns where to go on.
size_t ThunkOrder::SolveUngrouped(uint32_t device, std::span<const uint32_t> cases, size_t begin,
                                  size_t end, const Edges& edges) {
  if (begin != known_to_) followed_ = 0;
  // A part that was cut off may begin like a whole execution and be the rest of another.
  const bool pattern = !edges.lacks && (begin != edges.from || begin == 0);
  if (const uint32_t known =
          pattern ? known_.FindPrefix(cases.subspan(begin, end - begin), kPatternsAhead, &followed_)
                  : KnownStretches::kNone;
      known != kNone) {
    ++known_[known].occurrences;
    instances_.push_back({device, begin, known});
    return known_to_ = begin + known_[known].cases.size();
  }
  followed_ = 0;
  for (size_t length = kFirstStretch;; length *= 8) {
    const size_t stop = std::min(end, begin + length);
    const bool last = stop == end || length >= kLongestStretch;
    const auto part = cases.subspan(begin, stop - begin);
    const bool any = std::any_of(part.begin(), part.end(), [&](uint32_t c) {
      return !cases_[c].fixed && (!cases_[c].candidates.empty() || cases_[c].module != kNone);
    });
    const bool all_fixed =
        std::all_of(part.begin(), part.end(), [&](uint32_t c) { return cases_[c].fixed; });
    if (all_fixed || (!any && last)) return stop;
    std::vector<Outcome> outcomes = solver_->Solve(
        part, false, {.may_be_cut_off = begin == edges.from || stop == edges.to});
    if (edges.lacks) DoubtOrder(&outcomes);
    // Each execution is a stretch of its own; the last one may go on behind the end.
    uint32_t executions = 0;
    for (const Outcome& outcome : outcomes) executions = std::max(executions, outcome.execution);
    if (executions < 2 && !last) continue;
    std::vector<size_t> first(executions + size_t{1}, SIZE_MAX);
    std::vector<size_t> past(executions + size_t{1}, 0);
    for (size_t k = 0; k < outcomes.size(); ++k) {
      const uint32_t e = outcomes[k].execution;
      if (first[e] == SIZE_MAX) first[e] = k;
      past[e] = k + 1;
    }
    size_t at = 0;
    size_t finished = part.size();
    const auto emit = [&](size_t from, size_t to, bool executes) {
      if (from >= to) return;
      const auto piece = part.subspan(from, to - from);
      std::vector<Outcome> piece_outcomes(outcomes.begin() + static_cast<ptrdiff_t>(from),
                                          outcomes.begin() + static_cast<ptrdiff_t>(to));
      const bool found_any = std::any_of(piece_outcomes.begin(), piece_outcomes.end(),
                                         [](const Outcome& o) { return o.program != kNone; });
      if (!found_any) return;
      for (Outcome& outcome : piece_outcomes) outcome.execution = outcome.execution != 0 ? 1 : 0;
      uint32_t stretch = known_.Find(piece, &piece_outcomes);
      if (stretch == kNone) stretch = known_.Remember(piece, std::move(piece_outcomes));
      known_[stretch].executes = executes;
      // Only whole executions in the middle are patterns for others.
      const bool whole = executes && from > 0 && to < part.size();
      if (whole) known_.MakePattern(stretch);
      ++known_[stretch].occurrences;
      instances_.push_back({device, begin + from, stretch});
    };
    for (uint32_t e = 1; e <= executions; ++e) {
      if (first[e] == SIZE_MAX) continue;
      if (!last && e == executions) {
        finished = std::max(at, first[e]);
        break;
      }
      const size_t from = std::max(at, first[e]);
      if (from >= past[e]) continue;
      emit(at, from, false);
      emit(from, past[e], true);
      at = past[e];
    }
    if (last) {
      emit(at, part.size(), false);
      return stop;
    }
    emit(at, finished, false);
    return begin + finished;
  }
}

// A library call launches the same kernels every time: where several calls shared a window, what
// one of them got must be what it got in most executions; else a lost record shifted the others.
void ThunkOrder::JudgeContested() {
  struct Launches {
    uint64_t hash = 0;
    std::vector<Outcome*> outcomes;
  };
  const auto for_each_call = [&](KnownStretch& stretch, auto&& visit) {
    Launches call;
    uint64_t open = UINT64_MAX;
    for (size_t k = 0; k <= stretch.outcomes.size(); ++k) {
      Outcome* outcome = k < stretch.outcomes.size() ? &stretch.outcomes[k] : nullptr;
      const bool counts =
          outcome != nullptr && outcome->program != kNone && outcome->contested != 0;
      const uint64_t key = counts ? uint64_t{outcome->program} << 32 | outcome->token : UINT64_MAX;
      if (open != UINT64_MAX && key != open) {
        visit(open, call);
        call = Launches();
      }
      open = key;
      if (!counts) continue;
      call.hash = (call.hash ^ judged_[stretch.cases[k]].config) * 0x9E3779B97F4A7C15u + 1;
      call.outcomes.push_back(outcome);
    }
  };
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, int64_t>> counts;
  for (KnownStretch& stretch : known_.all()) {
    for_each_call(stretch, [&](uint64_t call, const Launches& launches) {
      counts[call][launches.hash] += stretch.occurrences;
    });
  }
  for (KnownStretch& stretch : known_.all()) {
    std::set<uint32_t> odd;  // Windows.
    for_each_call(stretch, [&](uint64_t call, const Launches& launches) {
      const auto& by_hash = counts[call];
      const int64_t mine = by_hash.at(launches.hash);
      for (const auto& [hash, count] : by_hash) {
        if (hash != launches.hash && count >= mine)
          odd.insert(launches.outcomes.front()->contested);
      }
    });
    if (odd.empty()) continue;
    for (Outcome& outcome : stretch.outcomes) {
      if (odd.contains(outcome.contested) && outcome.confidence == Confidence::kExact) {
        outcome.confidence = Confidence::kInferred;
      }
    }
  }
}

void ThunkOrder::CountGraphRows() {
  const auto is_graph = [](const LaunchCase& launch) { return launch.kind == LaunchKind::kGraph; };
  if (std::none_of(cases_.begin(), cases_.end(), is_graph)) return;
  for (const Instance& instance : instances_) {
    const KnownStretch& stretch = known_[instance.stretch];
    const uint32_t* activity = &sequences_[instance.device][instance.begin];
    for (size_t k = 0; k < stretch.cases.size(); ++k) {
      const Outcome& outcome = stretch.outcomes[k];
      if (outcome.program == kNone || !is_graph(cases_[stretch.cases[k]])) continue;
      graph_rows_.Add(*programs_[outcome.program], outcome.token, outcome.last_token,
                      run_.activities.duration_ns[activity[k]]);
    }
  }
  graph_rows_.Settle();
}

void ThunkOrder::MakeLabels(KnownStretch* stretch) {
  stretch->labels.assign(stretch->cases.size(), 0);
  for (size_t k = 0; k < stretch->cases.size(); ++k) {
    const Outcome& outcome = stretch->outcomes[k];
    if (outcome.program == kNone) continue;
    const JudgedCase& judged = judged_[stretch->cases[k]];
    const LaunchCase& launch = cases_[stretch->cases[k]];
    if (launch.fixed) continue;
    stretch->labels[k] =
        launch.kind == LaunchKind::kGraph ? SharedLabelFor(outcome) : LabelFor(judged, outcome);
  }
}

uint32_t ThunkOrder::LabelFor(const JudgedCase& judged, const Outcome& outcome) {
  const ModuleEntry& entry = modules_.entry(static_cast<Id>(outcome.program) + 1);
  const ThunkToken& token = programs_[outcome.program]->tokens()[outcome.token];
  const Label old = LabelOf(judged);
  Label label;
  label.module_id = static_cast<Id>(outcome.program) + 1;
  label.instruction_id = static_cast<Id>(entry.first_row) + token.instruction + 1;
  label.evidence = Evidence::kThunkOrder;
  label.confidence = outcome.confidence;
  if (!entry.whole_schedule || entry.another_run) {
    label.confidence = std::min(label.confidence, Confidence::kInferred);
  }
  label.origin =
      OriginInModule(run_.configs[judged.config - 1], &modules_.row(label.instruction_id));
  // What a symbol alone says needs no order to say it.
  if (old.instruction_id == label.instruction_id && old.confidence == label.confidence) return 0;
  if (old.instruction_id != 0 && old.instruction_id != label.instruction_id) {
    label.losers = model::Text(old.evidence);
    label.losers += ": ";
    if (old.module_id != label.module_id) {
      label.losers += modules_.entry(old.module_id).name;
      label.losers += '/';
    }
    label.losers += modules_.row(old.instruction_id).name;
  }
  return labels_.Intern(std::move(label));
}

// A graph-level row: its time over the instructions it covers, by what they should cost.
uint32_t ThunkOrder::SharedLabelFor(const Outcome& outcome) {
  uint32_t& label_id = shared_labels_[{outcome.program, outcome.token, outcome.last_token}];
  if (label_id != 0) return label_id;
  const ModuleEntry& entry = modules_.entry(static_cast<Id>(outcome.program) + 1);
  const ThunkProgram& program = *programs_[outcome.program];
  std::vector<Id> instructions;
  std::vector<double> weights;
  for (const auto& [token, weight] :
       graph_rows_.Divide(program, outcome.token, outcome.last_token)) {
    instructions.push_back(static_cast<Id>(entry.first_row) + program.tokens()[token].instruction +
                           1);
    weights.push_back(weight);
  }
  if (instructions.empty()) return 0;
  const std::vector<int64_t> parts = LargestRemainder(weights);
  size_t largest = 0;
  for (size_t k = 1; k < parts.size(); ++k) {
    if (parts[k] > parts[largest]) largest = k;
  }
  Label label;
  label.module_id = static_cast<Id>(outcome.program) + 1;
  label.instruction_id = instructions[largest];
  label.evidence = Evidence::kThunkOrder;
  label.confidence = Confidence::kInferred;
  label.origin = model::Origin::kXla;
  // Not interned: a label with shares is no other's.
  tables_.labels.push_back(label);
  label_id = static_cast<uint32_t>(tables_.labels.size());
  for (size_t k = 0; k < parts.size(); ++k) {
    if (parts[k] > 0) tables_.label_shares.push_back({label_id, instructions[k], parts[k]});
  }
  return label_id;
}

ThunkOrderResult ThunkOrder::Apply() {
  ThunkOrderResult result;
  result.execution.assign(run_.activities.size(), 0);
  for (const Instance& instance : instances_) {
    const KnownStretch& stretch = known_[instance.stretch];
    const uint32_t* activity = &sequences_[instance.device][instance.begin];
    bool alone = stretch.executes;  // Nothing but order says what these are.
    for (size_t k = 0; k < stretch.cases.size(); ++k) {
      if (stretch.labels[k] != 0) tables_.label_of[activity[k]] = stretch.labels[k];
      const LaunchCase& launch = cases_[stretch.cases[k]];
      alone &= !launch.fixed;
    }
    if (!alone) continue;
    ++result.executions;
    const Id module_id = [&] {
      for (size_t k = 0; k < stretch.cases.size(); ++k) {
        if (stretch.labels[k] != 0) return tables_.labels[stretch.labels[k] - 1].module_id;
      }
      return Id{0};
    }();
    if (module_id == 0) continue;
    for (size_t k = 0; k < stretch.cases.size(); ++k) {
      if (stretch.labels[k] != 0) result.execution[activity[k]] = result.executions;
    }
  }
  return result;
}

// Graph-level rows with nothing around them that tells the module: the one module whose launches
// are not seen otherwise, where it is heavy enough to be the only one that comes into question.
void ThunkOrder::ExplainGraphRows(ThunkOrderResult* result) {
  constexpr size_t kSmallestGraph = 5;  // --xla_gpu_graph_min_graph_size
  constexpr double kShareOfTheOne = 0.9;
  for (uint32_t d = 0; d < sequences_.size(); ++d) {
    std::vector<uint32_t> rows;
    std::vector<bool> seen(programs_.size(), false);
    for (const uint32_t i : sequences_[d]) {
      const Label& label = tables_.labels[tables_.label_of[i] - 1];
      if (label.instruction_id != 0 && cases_[case_of_[i]].kind != LaunchKind::kGraph) {
        seen[static_cast<size_t>(label.module_id) - 1] = true;
      } else if (label.instruction_id == 0 && label.module_id == 0 &&
                 cases_[case_of_[i]].kind == LaunchKind::kGraph) {
        rows.push_back(i);
      }
    }
    if (rows.empty()) continue;
    double total = 0;
    double most = 0;
    uint32_t heaviest = kNone;
    std::set<uint32_t> candidates;
    for (const auto& [symbol, owners] : read_->OwnersOf(run_.DeviceOf(rows.front()).process_id)) {
      candidates.insert(owners.begin(), owners.end());
    }
    for (const uint32_t p : candidates) {
      if (seen[p] || programs_[p]->size() < kSmallestGraph) continue;
      double weight = 0;
      for (const ThunkToken& token : programs_[p]->tokens()) weight += token.cost_ns;
      total += weight;
      if (heaviest == kNone || weight > most) {
        most = weight;
        heaviest = p;
      }
    }
    if (heaviest == kNone || most < kShareOfTheOne * total) continue;
    Outcome outcome;
    outcome.program = heaviest;
    outcome.last_token = static_cast<uint32_t>(programs_[heaviest]->size()) - 1;
    const uint32_t label = SharedLabelFor(outcome);
    if (label == 0) continue;
    if (result->execution.empty()) result->execution.assign(run_.activities.size(), 0);
    for (const uint32_t i : rows) {
      tables_.label_of[i] = label;
      result->execution[i] = ++result->executions;
    }
  }
}

size_t ThunkOrder::ModulesThatMayLaunch(const JudgedCase& judged, const LaunchCase& launch) const {
  const auto join = join_.ModulesOf(judged.process_id);
  return static_cast<size_t>(std::count_if(join.begin(), join.end(), [&](Id id) {
    const auto tokens = modules_.entry(id).program.tokens();
    return std::any_of(tokens.begin(), tokens.end(), [&](const ThunkToken& token) {
      return token.kind != ThunkKind::kKernel &&
             MayLaunch(token, {launch.kind, launch.collective, launch.library});
    });
  }));
}

// Where a source marks nothing, a library's kernel that no order told is not outside of XLA for
// that: among kernels of a module that the run does not hold it is that module's as well, else any
// module that calls such a library may have launched it.
void ThunkOrder::ExplainLibraryKernels() {
  std::set<Id> marked;  // Processes.
  for (size_t i = 0; i < run_.activities.size(); ++i) {
    if (run_.activities.hint[i] != 0) marked.insert(run_.DeviceOf(i).process_id);
  }
  std::vector<bool> library(judged_.size());
  std::vector<bool> contested(judged_.size());
  for (size_t c = 0; c < judged_.size(); ++c) {
    const LaunchKind kind = cases_[c].kind;
    library[c] = (kind == LaunchKind::kGemm || kind == LaunchKind::kGemmPart ||
                  kind == LaunchKind::kConvolution || kind == LaunchKind::kLibrary ||
                  kind == LaunchKind::kCollective) &&
                 LabelOf(judged_[c]).reason == model::Reason::kNotXla &&
                 !marked.contains(judged_[c].process_id);
    contested[c] = library[c] && ModulesThatMayLaunch(judged_[c], cases_[c]) > 1;
  }
  const auto reason_of = [&](uint32_t activity) {
    return tables_.labels[tables_.label_of[activity] - 1].reason;
  };
  std::map<std::pair<uint32_t, bool>, uint32_t> known;  // (case, among) -> label
  for (const std::vector<uint32_t>& sequence : sequences_) {
    // Whether the nearest of XLA's own kernels on either side is one without a module.
    std::vector<bool> among(sequence.size());
    bool open = false;
    const auto look = [&](size_t k) {
      if (cases_[case_of_[sequence[k]]].kind == LaunchKind::kXlaKernel) {
        open = reason_of(sequence[k]) == model::Reason::kNoModule;
      }
      if (open) among[k] = true;
    };
    for (size_t k = 0; k < sequence.size(); ++k) look(k);
    open = false;
    for (size_t k = sequence.size(); k-- > 0;) look(k);
    for (size_t k = 0; k < sequence.size(); ++k) {
      const uint32_t c = case_of_[sequence[k]];
      if (!library[c] || tables_.label_of[sequence[k]] != judged_[c].label) continue;
      if (!among[k] && !contested[c]) continue;
      uint32_t& explained = known[{c, among[k]}];
      if (explained == 0) {
        Label label = LabelOf(judged_[c]);
        label.reason = among[k] ? model::Reason::kNoModule : model::Reason::kAmbiguousModule;
        explained = labels_.Intern(std::move(label));
      }
      tables_.label_of[sequence[k]] = explained;
    }
  }
}

}  // namespace

ThunkOrderResult ApplyThunkOrder(const model::RunTables& run, const ModuleTable& modules,
                                 const ModuleJoin& join, std::span<const JudgedCase> cases,
                                 std::span<const uint32_t> case_of, LabelTable* labels,
                                 model::AttributionTables* tables) {
  return ThunkOrder(run, modules, join, cases, case_of, labels, tables).Run();
}

}  // namespace xlatrace::correlator
