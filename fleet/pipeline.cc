// SPDX-License-Identifier: Apache-2.0
#include "fleet/pipeline.h"

#include <algorithm>
#include <cstddef>

#include "base/robust.h"

namespace xlatrace::fleet {
namespace {

double WorkNs(const StageTimes& stage) { return stage.forward_ns + stage.backward_ns; }

// Progress of one stage.
struct Progress {
  double free_ns = 0;
  std::vector<double> forward_end, backward_end;
};

// Runs the next work of stage `s`, if its input is ready.
bool Advance(const std::vector<StageTimes>& stages, size_t micro_batches, size_t s,
             std::vector<Progress>& all) {
  Progress& own = all[s];
  const size_t forwards = own.forward_end.size();
  const size_t backwards = own.backward_end.size();
  if (backwards == micro_batches) return false;
  const size_t ahead = stages.size() - s;
  const bool forward = forwards < micro_batches && forwards < backwards + ahead;
  double ready = own.free_ns;
  if (forward) {
    if (s > 0) {
      if (all[s - 1].forward_end.size() <= forwards) return false;
      ready = std::max(ready, all[s - 1].forward_end[forwards]);
    }
    own.free_ns = ready + stages[s].forward_ns;
    own.forward_end.push_back(own.free_ns);
    return true;
  }
  if (s + 1 < stages.size()) {
    if (all[s + 1].backward_end.size() <= backwards) return false;
    ready = std::max(ready, all[s + 1].backward_end[backwards]);
  }
  own.free_ns = ready + stages[s].backward_ns;
  own.backward_end.push_back(own.free_ns);
  return true;
}

StageTimes Mean(const std::vector<std::vector<StageTimes>>& pipelines) {
  StageTimes mean;
  double count = 0;
  for (const auto& stages : pipelines) {
    for (const StageTimes& stage : stages) {
      mean.forward_ns += stage.forward_ns;
      mean.backward_ns += stage.backward_ns;
      ++count;
    }
  }
  return {mean.forward_ns / count, mean.backward_ns / count};
}

}  // namespace

double PipelineTime(const std::vector<StageTimes>& stages, int64_t micro_batches) {
  if (stages.empty() || micro_batches <= 0) return 0;
  std::vector<Progress> all(stages.size());
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t s = 0; s < stages.size(); ++s) {
      while (Advance(stages, static_cast<size_t>(micro_batches), s, all)) moved = true;
    }
  }
  double end = 0;
  for (const Progress& stage : all) end = std::max(end, stage.free_ns);
  return end;
}

PipelineAnswer Balance(const PipelineJob& job) {
  PipelineAnswer answer;
  answer.balanced_step_ns = job.step_ns;
  if (job.pipelines.empty() || job.pipelines[0].empty() || job.micro_batches <= 0) return answer;
  const size_t depth = job.pipelines[0].size();
  double longest = 0;
  double most = -1;
  std::vector<double> stage_medians;
  for (size_t p = 0; p < job.pipelines.size(); ++p) {
    const std::vector<StageTimes>& stages = job.pipelines[p];
    if (stages.size() != depth) return answer;
    longest = std::max(longest, PipelineTime(stages, job.micro_batches));
    for (size_t s = 0; s < depth; ++s) {
      if (WorkNs(stages[s]) <= most) continue;
      most = WorkNs(stages[s]);
      answer.pipeline = p;
      answer.stage = s;
    }
  }
  for (size_t s = 0; s < depth; ++s) {
    std::vector<double> of_stage;
    for (const auto& stages : job.pipelines) of_stage.push_back(WorkNs(stages[s]));
    stage_medians.push_back(LowerMedian(std::move(of_stage)));
  }
  for (const StageTimes& stage : job.pipelines[answer.pipeline]) {
    const double busy = WorkNs(stage) * static_cast<double>(job.micro_batches);
    answer.idle_share.push_back(longest > 0 ? 1 - busy / longest : 0);
  }
  const double peers = stage_medians[answer.stage];
  if (peers > 0) answer.against_peers = most / peers;
  std::vector<double> others = stage_medians;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(answer.stage));
  const double other = LowerMedian(std::move(others));
  if (other > 0) answer.against_stages = peers / other;

  const std::vector<StageTimes> even(depth, Mean(job.pipelines));
  const double balanced = job.step_ns - (longest - PipelineTime(even, job.micro_batches));
  if (balanced <= 0 || balanced > job.step_ns) return answer;
  answer.balanced_step_ns = balanced;
  answer.slowdown = job.step_ns / balanced;
  return answer;
}

}  // namespace xlatrace::fleet
