// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/loop.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

namespace xlatrace::analysis::time_tree {
namespace {

// Bounds of the cost: 8 passes over 200,000 works take 10 ms (2026-11-30). Loops of usual length
// stay below them.
constexpr size_t kMaxAnchorsTried = 8;
constexpr size_t kMaxAnchorWorks = 1024;
constexpr size_t kMaxWorksCompared = 200'000;

struct Total {
  int64_t device_ns = 0;
  size_t runs = 0;  // On the device that has the most.
};

std::vector<Total> TotalsOf(const std::vector<std::vector<Work>>& devices, size_t whats) {
  std::vector<Total> totals(whats);
  std::vector<size_t> runs(whats);
  for (const std::vector<Work>& works : devices) {
    std::fill(runs.begin(), runs.end(), 0);
    for (const Work& work : works) {
      totals[work.what].device_ns += work.device_ns;
      ++runs[work.what];
    }
    for (size_t w = 0; w < whats; ++w) totals[w].runs = std::max(totals[w].runs, runs[w]);
  }
  return totals;
}

// Do all of `programs` run equally often between two runs of `rarest`, in most periods of it?
bool AlternateInFixedRatio(const std::vector<Work>& works, uint32_t rarest,
                           const std::vector<uint32_t>& programs) {
  std::map<std::vector<size_t>, size_t> periods_with;  // By runs of each program.
  std::vector<size_t> runs(programs.size(), 0);
  bool open = false;
  size_t periods = 0;
  for (const Work& work : works) {
    if (work.what == rarest) {
      if (open) {
        ++periods_with[runs];
        ++periods;
      }
      open = true;
      std::fill(runs.begin(), runs.end(), 0);
    }
    const auto at = std::find(programs.begin(), programs.end(), work.what);
    if (at != programs.end()) ++runs[static_cast<size_t>(at - programs.begin())];
  }
  for (const auto& [of, count] : periods_with) {
    const bool all = std::all_of(of.begin(), of.end(), [](size_t n) { return n > 0; });
    if (all && 2 * count > periods) return true;
  }
  return false;
}

// Returns the unit that runs once per step, if `heavy` runs in the loop. Between two of its runs,
// `heavy` runs equally often, in most of its periods. A step ends with an update of the parameters,
// so units with optimizer work have priority, the one with the most device time first. Otherwise
// the rarest unit is returned, or `heavy` itself without such a unit.
uint32_t StepUnitOf(const std::vector<Work>& works, const std::vector<Total>& totals,
                    const WorkNames& names, uint32_t heavy) {
  struct Count {
    uint32_t at_last = UINT32_MAX;  // Runs of `heavy` until its last run.
    size_t periods = 0;
    std::map<uint32_t, size_t> with;  // Number of periods, by runs of `heavy`.
  };
  std::vector<Count> counts(totals.size());
  uint32_t runs = 0;
  for (const Work& work : works) {
    if (work.what == heavy) {
      ++runs;
      continue;
    }
    const Total& total = totals[work.what];
    const bool updates = names.facts[work.what].optimizer && total.runs == totals[heavy].runs;
    if (total.runs < kMinAnchorRuns || (total.runs >= totals[heavy].runs && !updates)) continue;
    Count& count = counts[work.what];
    if (count.at_last != UINT32_MAX) {
      ++count.periods;
      ++count.with[runs - count.at_last];
    }
    count.at_last = runs;
  }
  uint32_t rarest = heavy;
  std::optional<uint32_t> update;
  for (uint32_t what = 0; what < counts.size(); ++what) {
    for (const auto& [ratio, periods] : counts[what].with) {
      if (ratio == 0 || 2 * periods <= counts[what].periods) continue;
      if (totals[what].runs < totals[rarest].runs) rarest = what;
      if (!names.facts[what].optimizer) continue;
      if (!update || totals[what].device_ns > totals[*update].device_ns) update = what;
    }
  }
  return update.value_or(rarest);
}

// Hashes of all sequences of twice the length.
std::vector<uint64_t> Doubled(const std::vector<uint64_t>& hashes, size_t length) {
  std::vector<uint64_t> doubled;
  for (size_t i = 0; i + length < hashes.size(); ++i) {
    // 2^64 / golden.
    const uint64_t hash = (hashes[i] ^ (hashes[i] >> 29)) * 0x9E3779B97F4A7C15ull;
    doubled.push_back(hash ^ hashes[i + length]);
  }
  return doubled;
}

// Sequences of `length` works (`hashes`: one per position) that run equally often belong to one
// loop. Returns the first sequence of the loop with the most device time; empty if none runs often
// enough.
std::optional<Anchor> SequenceThatRecurs(const std::vector<Work>& works,
                                         const std::vector<uint64_t>& hashes, size_t length) {
  std::unordered_map<uint64_t, size_t> runs;
  for (const uint64_t hash : hashes) ++runs[hash];
  std::map<size_t, int64_t> device_ns;  // By runs.
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (runs[hashes[i]] >= kMinAnchorRuns) device_ns[runs[hashes[i]]] += works[i].device_ns;
  }
  const auto most =
      std::max_element(device_ns.begin(), device_ns.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == device_ns.end()) return std::nullopt;
  size_t at = 0;
  while (runs[hashes[at]] != most->first) ++at;
  Anchor anchor;
  for (size_t k = at; k < at + length; ++k) anchor.push_back(works[k].what);
  return anchor;
}

// How well periods describe the works.
struct Fit {
  bool alike = false;     // More than half of the periods have exactly the units of the pattern.
  bool complete = false;  // More than half of them have at least these units.
  int64_t own_ns = 0;     // Device time of the units that belong to the periods.
};

Fit FitOf(const std::vector<Work>& works, const std::vector<size_t>& periods, size_t whats) {
  const Pattern pattern = PatternOf(works, periods, whats);
  Fit fit;
  size_t usual_units = 0;
  for (const uint32_t usual : pattern.usual) usual_units += usual;
  std::vector<uint32_t> runs(whats, 0);
  std::vector<uint32_t> seen;
  size_t alike = 0;
  size_t complete = 0;
  for (size_t p = 0; p < periods.size(); ++p) {
    const bool last = p + 1 == periods.size();
    const size_t end = last ? works.size() : periods[p + 1];
    size_t own = 0;
    for (size_t i = periods[p]; i < end; ++i) {
      const uint32_t what = works[i].what;
      if (runs[what]++ == 0) seen.push_back(what);
      if (runs[what] > pattern.usual[what]) continue;
      ++own;
      fit.own_ns += works[i].device_ns;
    }
    alike += !last && own == end - periods[p] && own == usual_units ? 1 : 0;
    complete += !last && own == usual_units ? 1 : 0;
    for (const uint32_t what : seen) runs[what] = 0;
    seen.clear();
  }
  fit.alike = periods.size() > 1 && 2 * alike > periods.size() - 1;
  fit.complete = periods.size() > 1 && 2 * complete > periods.size() - 1;
  return fit;
}

}  // namespace

std::optional<uint32_t> AnchorProgram(const std::vector<std::vector<Work>>& devices,
                                      const WorkNames& names) {
  const std::vector<Total> totals = TotalsOf(devices, names.facts.size());
  int64_t program_ns = 0;
  int64_t all_ns = 0;
  for (uint32_t what = 0; what < totals.size(); ++what) {
    all_ns += totals[what].device_ns;
    if (names.facts[what].program) program_ns += totals[what].device_ns;
  }
  std::vector<uint32_t> programs, training;
  for (uint32_t what = 0; what < totals.size(); ++what) {
    if (!names.facts[what].program || totals[what].runs < kMinAnchorRuns) continue;
    programs.push_back(what);
    if (names.facts[what].optimizer) training.push_back(what);
  }
  if (programs.empty()) return std::nullopt;
  if (training.empty() && 2 * program_ns <= all_ns) return std::nullopt;
  if (training.size() > 1) {
    const uint32_t rarest =
        *std::min_element(training.begin(), training.end(),
                          [&](uint32_t a, uint32_t b) { return totals[a].runs < totals[b].runs; });
    const bool fixed = std::any_of(devices.begin(), devices.end(), [&](const auto& works) {
      return AlternateInFixedRatio(works, rarest, training);
    });
    if (fixed) return rarest;
  }
  const std::vector<uint32_t>& among = training.empty() ? programs : training;
  return *std::max_element(among.begin(), among.end(), [&](uint32_t a, uint32_t b) {
    return totals[a].device_ns < totals[b].device_ns;
  });
}

bool AnyProgramRecurs(const std::vector<std::vector<Work>>& devices, const WorkNames& names) {
  const std::vector<Total> totals = TotalsOf(devices, names.facts.size());
  for (size_t what = 0; what < totals.size(); ++what) {
    if (names.facts[what].program && totals[what].runs > 1) return true;
  }
  return false;
}

std::optional<Anchor> AnchorOp(const std::vector<std::vector<Work>>& devices,
                               const WorkNames& names) {
  const auto longest =
      std::max_element(devices.begin(), devices.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (longest == devices.end()) return std::nullopt;
  std::vector<Work> works;  // Copies do not identify a loop, because any code may copy.
  for (const Work& work : *longest) {
    if (work.copy) continue;
    if (works.size() == kMaxWorksCompared) break;
    works.push_back(work);
  }
  const size_t whats = names.facts.size();
  const std::vector<Total> totals = TotalsOf({works}, whats);
  std::vector<uint32_t> recurring;
  int64_t recurring_ns = 0;
  for (uint32_t what = 0; what < totals.size(); ++what) {
    if (totals[what].runs < kMinAnchorRuns) continue;
    recurring.push_back(what);
    recurring_ns += totals[what].device_ns;
  }
  if (recurring.empty()) return std::nullopt;
  std::stable_sort(recurring.begin(), recurring.end(), [&](uint32_t a, uint32_t b) {
    return totals[a].device_ns > totals[b].device_ns;
  });
  if (recurring.size() > kMaxAnchorsTried) recurring.resize(kMaxAnchorsTried);
  std::optional<Anchor> varies;  // Half of the time is too little if periods are not alike.
  for (const uint32_t heavy : recurring) {
    const Anchor anchor = {StepUnitOf(works, totals, names, heavy)};
    const Fit fit = FitOf(works, PeriodsAt(works, anchor), whats);
    if (fit.alike && 2 * fit.own_ns > recurring_ns) return anchor;
    if (!varies && fit.complete && 4 * fit.own_ns > 3 * recurring_ns) varies = anchor;
  }
  std::vector<uint64_t> hashes;
  for (const Work& work : works) hashes.push_back(work.what + 1);
  for (size_t length = 2; length <= kMaxAnchorWorks; length *= 2) {
    hashes = Doubled(hashes, length / 2);
    const std::optional<Anchor> anchor = SequenceThatRecurs(works, hashes, length);
    if (!anchor) break;  // Longer ones do not recur either.
    const Fit fit = FitOf(works, PeriodsAt(works, *anchor), whats);
    if (fit.alike && 2 * fit.own_ns > recurring_ns) return anchor;
  }
  return varies;
}

std::vector<size_t> PeriodsAt(const std::vector<Work>& works, const Anchor& anchor) {
  std::vector<size_t> periods;
  for (size_t i = 0; i < works.size(); ++i) {
    size_t matched = 0;
    for (size_t k = i; k < works.size() && matched < anchor.size(); ++k) {
      if (works[k].copy && matched > 0) continue;
      if (works[k].what != anchor[matched]) break;
      ++matched;
    }
    if (matched == anchor.size()) periods.push_back(i);
  }
  return periods;
}

std::vector<size_t> PeriodsAt(const std::vector<Work>& works,
                              const std::vector<model::StepMark>& marks) {
  std::vector<size_t> periods;
  periods.reserve(marks.size());
  for (const model::StepMark& mark : marks) {
    const auto at = std::partition_point(works.begin(), works.end(), [&](const Work& work) {
      return work.called_ns < mark.start_ns;
    });
    periods.push_back(static_cast<size_t>(at - works.begin()));
  }
  return periods;
}

Pattern PatternOf(const std::vector<Work>& works, const std::vector<size_t>& periods,
                  size_t whats) {
  Pattern pattern{std::vector<uint32_t>(whats, 0), std::vector<bool>(whats, false)};
  if (periods.empty()) return pattern;
  // The last period may be cut. It counts only if there is no other.
  const size_t complete = std::max<size_t>(1, periods.size() - 1);
  // The recording may cut the first one, too: then some works that every other has are not in it.
  const size_t whole = complete > 1 ? complete - 1 : complete;
  std::vector<size_t> periods_with(whats, 0);  // Among the whole ones.
  std::vector<std::vector<uint32_t>> counts(whats);
  std::vector<uint32_t> runs(whats, 0);
  std::vector<uint32_t> seen;
  for (size_t p = 0; p < complete; ++p) {
    const size_t end = p + 1 < periods.size() ? periods[p + 1] : works.size();
    for (size_t i = periods[p]; i < end; ++i) {
      if (runs[works[i].what]++ == 0) seen.push_back(works[i].what);
    }
    for (const uint32_t what : seen) {
      counts[what].push_back(runs[what]);
      periods_with[what] += p + whole >= complete ? 1 : 0;
      runs[what] = 0;
    }
    seen.clear();
  }
  for (size_t what = 0; what < whats; ++what) {
    pattern.in_every[what] = periods_with[what] == whole;
    if (2 * counts[what].size() <= complete) continue;
    // More than half of the periods have at least the value in the middle, counted from above.
    const auto middle = counts[what].begin() + static_cast<std::ptrdiff_t>(complete / 2);
    std::nth_element(counts[what].begin(), middle, counts[what].end(), std::greater<>());
    pattern.usual[what] = *middle;
  }
  return pattern;
}

}  // namespace xlatrace::analysis::time_tree
