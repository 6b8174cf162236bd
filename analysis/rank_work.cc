// SPDX-License-Identifier: Apache-2.0
#include "analysis/rank_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/intervals.h"
#include "analysis/late_rank.h"
#include "analysis/time_tree/waits.h"

namespace xlatrace::analysis {
namespace {

using model::Id;

// The materiality rule of all findings: a hundredth of the step.
constexpr double kMinLateShare = 0.01;

struct StepOfRank {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  double own_ns = 0, kernel_ns = 0, idle_ns = 0;
  std::optional<double> host_ns;
};

using RankSteps = std::map<int64_t, StepOfRank>;  // By step number of the rank.

class JobWork {
 public:
  JobWork(const model::RunTables& run, const RankSources& sources)
      : run_(run), sources_(sources), ranks_(run.devices.size()) {
    for (const model::StepRow& row : sources.steps) {
      if (!row.steady || row.device_id < 1) continue;
      const auto duration = static_cast<double>(row.end_ns - row.start_ns);
      ranks_[static_cast<size_t>(row.device_id) - 1][row.step] = {
          .start_ns = row.start_ns,
          .end_ns = row.end_ns,
          .own_ns = duration,
          .idle_ns = static_cast<double>(row.end_ns - row.start_ns - row.busy_ns)};
    }
    AddWaits();
    AddKernels();
    AddHost();
  }

  // Ranks with steady steps, and their work in the steps that all of them have.
  std::pair<std::vector<size_t>, std::vector<RankWork>> Work() const {
    std::vector<size_t> devices;
    for (size_t d = 0; d < ranks_.size(); ++d) {
      if (!ranks_[d].empty()) devices.push_back(d);
    }
    std::vector<RankWork> work(devices.size());
    if (devices.size() < 2) return {devices, work};
    const std::vector<int64_t> shifts = ShiftsOf(devices);
    for (const auto& [number, first] : ranks_[devices[0]]) {
      std::vector<const StepOfRank*> together;
      for (size_t k = 0; k < devices.size(); ++k) {
        const auto found = ranks_[devices[k]].find(number + shifts[k]);
        if (found != ranks_[devices[k]].end()) together.push_back(&found->second);
      }
      if (together.size() < devices.size()) continue;
      for (size_t k = 0; k < devices.size(); ++k) {
        work[k].own_ns.push_back(together[k]->own_ns);
        work[k].kernel_ns.push_back(together[k]->kernel_ns);
        // Without calls, a device that is idle waits for its host.
        work[k].host_ns.push_back(together[k]->host_ns.value_or(together[k]->idle_ns));
      }
    }
    return {devices, work};
  }

 private:
  StepOfRank* StepOf(uint32_t activity) {
    const auto& step = sources_.step_of[activity];
    const auto device = static_cast<size_t>(run_.LaneOf(activity).device_id) - 1;
    if (!step || device >= ranks_.size()) return nullptr;
    const auto found = ranks_[device].find(*step);
    return found == ranks_[device].end() ? nullptr : &found->second;
  }

  void AddWaits() {
    std::unordered_map<Id, int64_t> exposed_ns;  // By activity.
    for (const model::CollectiveRow& row : sources_.collectives) {
      if (row.exposed_ns) exposed_ns[row.activity_id] = *row.exposed_ns;
    }
    const auto waits =
        time_tree::WaitsOf(run_, sources_.classes, sources_.by_device, sources_.collectives);
    for (const auto& [activity, wait] : waits) {
      StepOfRank* step = StepOf(activity);
      if (step == nullptr) continue;
      const auto exposed = exposed_ns.find(static_cast<Id>(activity) + 1);
      const int64_t ns = exposed == exposed_ns.end() ? wait.ns : std::min(wait.ns, exposed->second);
      step->own_ns -= static_cast<double>(ns);
      CountPair(activity, wait.late);
    }
  }

  // Step numbers of an exchange on two devices: how far they are apart.
  void CountPair(uint32_t activity, uint32_t late) {
    const auto& a = sources_.step_of[activity];
    const auto& b = sources_.step_of[late];
    const auto from = static_cast<size_t>(run_.LaneOf(activity).device_id) - 1;
    const auto to = static_cast<size_t>(run_.LaneOf(late).device_id) - 1;
    if (!a || !b || from == to) return;
    ++apart_[{from, to}][*b - *a];
    ++apart_[{to, from}][*a - *b];
  }

  // By device: add this to a step number of the first device to get the same step's number there.
  std::vector<int64_t> ShiftsOf(const std::vector<size_t>& devices) const {
    std::map<size_t, int64_t> known = {{devices[0], 0}};
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& [pair, counts] : apart_) {
        if (!known.contains(pair.first) || known.contains(pair.second)) continue;
        const auto most =
            std::max_element(counts.begin(), counts.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        known[pair.second] = known[pair.first] + most->first;
        grows = true;
      }
    }
    std::vector<int64_t> shifts;
    for (const size_t device : devices) {
      shifts.push_back(known.contains(device) ? known[device] : 0);
    }
    return shifts;
  }

  void AddKernels() {
    for (uint32_t i = 0; i < run_.activities.size(); ++i) {
      if (sources_.classes[i] != ActivityClass::kCompute) continue;
      if (StepOfRank* step = StepOf(i)) {
        step->kernel_ns += static_cast<double>(run_.activities.duration_ns[i]);
      }
    }
  }

  // Between the first launch of a step and that of the next one: the time outside of API calls on
  // the thread that launches.
  void AddHost() {
    if (!sources_.call_of) return;
    std::map<std::pair<Id, int64_t>, Intervals> calls;                     // By process and thread.
    std::vector<std::map<int64_t, model::HostCall>> first(ranks_.size());  // By device and step.
    for (uint32_t i = 0; i < run_.activities.size(); ++i) {
      const auto call = sources_.call_of(i);
      if (!call) continue;
      const auto device = static_cast<size_t>(run_.LaneOf(i).device_id) - 1;
      calls[{run_.devices[device].process_id, call->thread_id}].push_back(
          {call->start_ns, call->end_ns});
      if (!sources_.step_of[i]) continue;
      const auto [at, is_new] = first[device].try_emplace(*sources_.step_of[i], *call);
      if (!is_new && call->start_ns < at->second.start_ns) at->second = *call;
    }
    AddOtherCalls(calls);
    for (auto& [thread, intervals] : calls) intervals = Normalise(std::move(intervals));
    for (size_t d = 0; d < ranks_.size(); ++d) {
      for (auto at = first[d].begin(); at != first[d].end(); ++at) {
        const auto next = std::next(at);
        const auto step = ranks_[d].find(at->first);
        if (next == first[d].end() || next->first != at->first + 1 || step == ranks_[d].end()) {
          continue;
        }
        const Interval whole{at->second.start_ns, next->second.start_ns};
        if (whole.start_ns >= whole.end_ns) continue;
        const Intervals& inside = calls.at({run_.devices[d].process_id, at->second.thread_id});
        step->second.host_ns =
            static_cast<double>(whole.end_ns - whole.start_ns - Overlap(inside, whole));
      }
    }
  }

  // Calls that start no activity: those that wait above all.
  void AddOtherCalls(std::map<std::pair<Id, int64_t>, Intervals>& calls) const {
    if (!sources_.host_events || calls.empty()) return;
    Interval all{INT64_MAX, INT64_MIN};
    for (const auto& [thread, intervals] : calls) {
      for (const Interval& one : intervals) {
        all.start_ns = std::min(all.start_ns, one.start_ns);
        all.end_ns = std::max(all.end_ns, one.end_ns);
      }
    }
    for (const model::HostEvent& event : sources_.host_events({all})) {
      if (event.range_id != 0) continue;
      const auto thread = calls.find({event.process_id, event.thread_id});
      if (thread != calls.end()) thread->second.push_back({event.start_ns, event.end_ns});
    }
  }

  const model::RunTables& run_;
  const RankSources& sources_;
  std::vector<RankSteps> ranks_;  // By device.
  std::map<std::pair<size_t, size_t>, std::map<int64_t, size_t>> apart_;
};

}  // namespace

std::optional<model::LateRankRow> FindLateRank(const model::RunTables& run,
                                               const RankSources& sources) {
  if (run.devices.size() < 2) return std::nullopt;
  const auto [devices, work] = JobWork(run, sources).Work();
  if (work.size() < 2 || work[0].own_ns.empty()) return std::nullopt;
  double step_ns = 0;  // Length of a step: the longest own time.
  for (size_t s = 0; s < work[0].own_ns.size(); ++s) {
    double longest = 0;
    for (const RankWork& rank : work) longest = std::max(longest, rank.own_ns[s]);
    step_ns += longest;
  }
  step_ns /= static_cast<double>(work[0].own_ns.size());
  const auto late = FindLateRanks(work, kMinLateShare * step_ns);
  if (!late) return std::nullopt;
  const size_t device = devices[late->ranks[0]];
  return model::LateRankRow{.process_id = run.devices[device].process_id,
                            .device_id = static_cast<Id>(device + 1),
                            .ranks = static_cast<int64_t>(late->ranks.size()),
                            .by_host = late->work == LateWork::kHost,
                            .cost_ns = static_cast<int64_t>(late->cost_ns),
                            .excess_ns = static_cast<int64_t>(late->excess_ns),
                            .step_ns = static_cast<int64_t>(step_ns)};
}

}  // namespace xlatrace::analysis
