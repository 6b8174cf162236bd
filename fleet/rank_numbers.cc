// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_numbers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fleet/step_numbers.h"

namespace xlatrace::fleet {
namespace {

void NumberByOrder(Job& job) {
  std::vector<std::tuple<std::string, size_t, int64_t>> processes;
  for (const Rank& rank : job.ranks) {
    processes.emplace_back(rank.times.host, rank.source, rank.times.process_id);
  }
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  for (Rank& rank : job.ranks) {
    const auto at =
        std::lower_bound(processes.begin(), processes.end(),
                         std::tuple(rank.times.host, rank.source, rank.times.process_id));
    rank.number = at - processes.begin();
  }
}

void ReportPrograms(Job& job) {
  std::map<std::string, std::vector<std::string>> programs;
  for (const Rank& rank : job.ranks) programs[rank.times.program].push_back(rank.name);
  if (programs.size() < 2) return;
  const auto most = std::max_element(
      programs.begin(), programs.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [program, names] : programs) {
    if (program == most->first) continue;
    job.AddNote(
        "other_program", model::Severity::kInfo, names.front(),
        fmt::format("{} of {} ranks run other main modules than most: they are compared with "
                    "each other only",
                    names.size(), job.ranks.size()));
  }
}

}  // namespace

void NumberRanks(Job& job) {
  std::map<int64_t, std::set<std::pair<size_t, int64_t>>> processes_of;
  bool all = true;
  for (const Rank& rank : job.ranks) {
    all = all && rank.times.rank.has_value();
    processes_of[rank.times.rank.value_or(0)].emplace(rank.source, rank.times.process_id);
  }
  bool twice = false;
  for (const auto& [number, processes] : processes_of) twice = twice || processes.size() > 1;
  if (all && !twice) {
    for (Rank& rank : job.ranks) rank.number = *rank.times.rank;
  } else {
    if (all && processes_of.size() > 1) {
      job.AddNote(
          "rank_number_twice", model::Severity::kNotice, "merge",
          "processes of the job have the same rank: ranks are numbered by host and order here");
    }
    NumberByOrder(job);
  }
  std::stable_sort(job.ranks.begin(), job.ranks.end(), [](const Rank& a, const Rank& b) {
    return std::tie(a.number, a.times.ordinal) < std::tie(b.number, b.times.ordinal);
  });
  std::map<int64_t, int> devices;
  for (const Rank& rank : job.ranks) ++devices[rank.number];
  for (Rank& rank : job.ranks) {
    rank.name = fmt::format("rank {}", rank.number);
    if (devices[rank.number] > 1) rank.name += fmt::format(" device {}", rank.times.ordinal);
    if (!rank.times.host.empty()) rank.name += " on " + rank.times.host;
  }
  const int64_t last = job.ranks.back().number;
  std::string missing;
  for (int64_t number = 0; number < last && missing.size() < 200; ++number) {
    if (!devices.contains(number))
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", number);
  }
  if (!missing.empty()) {
    job.AddNote(
        "rank_missing", model::Severity::kNotice, "merge",
        fmt::format("no recording of rank {}: what the others wait for may be in there", missing));
  }
  ReportPrograms(job);
}

void NumberSteps(Job& job) {
  const auto lengths = [](const Rank& rank) {
    std::map<int64_t, int64_t> of_rank;
    for (const auto& [number, step] : rank.times.steps) of_rank.emplace(number, step.step_ns);
    return of_rank;
  };
  const auto most = std::max_element(
      job.ranks.begin(), job.ranks.end(),
      [](const Rank& a, const Rank& b) { return a.times.steps.size() < b.times.steps.size(); });
  const std::map<int64_t, int64_t> most_steps = lengths(*most);
  for (Rank& rank : job.ranks) {
    rank.step_shift = &rank == &*most ? 0 : StepShift(most_steps, lengths(rank));
    if (rank.step_shift == 0) continue;
    std::map<int64_t, RankStepTimes> shifted;
    for (const auto& [number, step] : rank.times.steps) {
      shifted.emplace(number + rank.step_shift, step);
    }
    rank.times.steps = std::move(shifted);
    job.AddNote(
        "steps_renumbered", model::Severity::kNotice, rank.name,
        fmt::format("its recording counts steps otherwise: its step 0 is step {} of the job",
                    rank.step_shift));
  }
}

}  // namespace xlatrace::fleet
