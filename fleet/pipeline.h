// SPDX-License-Identifier: Apache-2.0

// How long a pipeline of stages takes for a step, and what it would take if its stages had the same
// to do: the bubble that a longer stage makes.
//
// Schedule: one forward, one backward (PipeDream-Flush; Narayanan and others 2021): stage s of P
// begins with P - s forwards, then goes on in turn. Transfers between stages take no time of their
// own.
// Thread-safety: pure functions.

#ifndef XLATRACE_FLEET_PIPELINE_H_
#define XLATRACE_FLEET_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xlatrace::fleet {

// Of one micro-batch.
struct StageTimes {
  double forward_ns = 0;
  double backward_ns = 0;
};

double PipelineTime(const std::vector<StageTimes>& stages, int64_t micro_batches);

// The job: pipelines beside each other (all of the same depth), which meet at the end of the step.
struct PipelineJob {
  std::vector<std::vector<StageTimes>> pipelines;
  int64_t micro_batches = 0;
  double step_ns = 0;  // As measured: with whatever else is in a step.
};

struct PipelineAnswer {
  double balanced_step_ns = 0;     // Were the same work spread evenly over all ranks.
  double slowdown = 1;             // step_ns / balanced_step_ns.
  size_t pipeline = 0, stage = 0;  // With most to do.
  double against_peers = 1;        // Its time / the median of the same stage of all pipelines.
  double against_stages = 1;       // The stage's median / the median of all other stages.
  std::vector<double> idle_share;  // Of each stage: its bubble as part of the pipeline's time.
};

// All pipelines need the same number of stages and at least one micro-batch; else the answer says
// slowdown 1.
PipelineAnswer Balance(const PipelineJob& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_PIPELINE_H_
