// SPDX-License-Identifier: Apache-2.0

// Computes the time of a pipeline step, and the time with equal work in all stages. The difference
// is the bubble of a longer stage.
//
// Schedule: one forward, one backward (PipeDream-Flush; Narayanan and others 2021). Stage s of P
// begins with P - s forwards, then alternates. Transfers between stages take no time.
// Thread-safety: pure functions.

#ifndef XLATRACE_FLEET_PIPELINE_H_
#define XLATRACE_FLEET_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xlatrace::fleet {

// Times of one micro-batch.
struct StageTimes {
  double forward_ns = 0;
  double backward_ns = 0;
};

double PipelineTime(const std::vector<StageTimes>& stages, int64_t micro_batches);

// The job: parallel pipelines of equal depth, which synchronise at the end of the step.
struct PipelineJob {
  std::vector<std::vector<StageTimes>> pipelines;
  int64_t micro_batches = 0;
  double step_ns = 0;  // Measured, with all other work of a step.
};

struct PipelineAnswer {
  double balanced_step_ns = 0;     // With the same work distributed evenly over all ranks.
  double slowdown = 1;             // step_ns / balanced_step_ns.
  size_t pipeline = 0, stage = 0;  // The stage with the most work.
  double against_peers = 1;        // Its time divided by the median of this stage in all pipelines.
  double against_stages = 1;       // The stage's median / the median of all other stages.
  std::vector<double> idle_share;  // Bubble of each stage, as a share of the pipeline's time.
};

// All pipelines need the same number of stages and at least one micro-batch; otherwise slowdown is
// 1.
PipelineAnswer Balance(const PipelineJob& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_PIPELINE_H_
