// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/worker_delay.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace xlatrace::analysis::time_tree {

using model::Id;

WorkerDelay::WorkerDelay(const model::HostSampleTables& samples,
                         const std::map<Id, Intervals>& idle) {
  std::map<std::pair<Id, int64_t>, int64_t> delay_of;  // By process and start.
  for (const model::ThreadUse& use : samples.thread_use) {
    delay_of[{use.process_id, use.start_ns}] += use.run_delay_ns;
  }
  for (const model::MachineUse& use : samples.machine_use) {
    const auto of_process = idle.find(use.process_id);
    const auto delay = delay_of.find({use.process_id, use.start_ns});
    if (of_process == idle.end() || delay == delay_of.end()) continue;
    const int64_t idle_ns = Overlap(of_process->second, {use.start_ns, use.end_ns});
    const int64_t others_ns = std::max<int64_t>(use.busy_ns - use.process_ns, 0);
    if (idle_ns <= 0) continue;
    const auto delay_ns = static_cast<double>(std::min(delay->second, others_ns));
    seconds_[use.process_id].push_back(
        {use.start_ns, use.end_ns, std::min(1.0, delay_ns / static_cast<double>(idle_ns))});
  }
  for (auto& [process, seconds] : seconds_) {
    std::sort(seconds.begin(), seconds.end(),
              [](const Second& a, const Second& b) { return a.start_ns < b.start_ns; });
  }
}

int64_t WorkerDelay::Within(Id process_id, int64_t start_ns, int64_t end_ns) const {
  const auto of = seconds_.find(process_id);
  if (of == seconds_.end()) return 0;
  double delayed = 0;
  auto at = std::partition_point(of->second.begin(), of->second.end(),
                                 [&](const Second& second) { return second.end_ns <= start_ns; });
  for (; at != of->second.end() && at->start_ns < end_ns; ++at) {
    const int64_t both = std::min(end_ns, at->end_ns) - std::max(start_ns, at->start_ns);
    delayed += static_cast<double>(both) * at->share;
  }
  return std::clamp<int64_t>(std::llround(delayed), 0, end_ns - start_ns);
}

}  // namespace xlatrace::analysis::time_tree
