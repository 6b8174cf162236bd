// SPDX-License-Identifier: Apache-2.0

// The result of the program for a pipeline job given as text, for tests with recordings of other
// formats. Input: a line "MICRO_BATCHES STEP_NS PIPELINES STAGES", then one line "FORWARD_NS
// BACKWARD_NS" per stage of each pipeline. Prints "SLOWDOWN PIPELINE STAGE AGAINST_PEERS
// AGAINST_STAGES".

#include <iostream>

#include "fleet/pipeline.h"

int main() {
  xlatrace::fleet::PipelineJob job;
  size_t pipelines = 0;
  size_t stages = 0;
  if (!(std::cin >> job.micro_batches >> job.step_ns >> pipelines >> stages)) return 2;
  for (size_t p = 0; p < pipelines; ++p) {
    job.pipelines.emplace_back(stages);
    for (xlatrace::fleet::StageTimes& stage : job.pipelines.back()) {
      if (!(std::cin >> stage.forward_ns >> stage.backward_ns)) return 2;
    }
  }
  const xlatrace::fleet::PipelineAnswer answer = xlatrace::fleet::Balance(job);
  std::cout << answer.slowdown << ' ' << answer.pipeline << ' ' << answer.stage << ' '
            << answer.against_peers << ' ' << answer.against_stages << '\n';
  return 0;
}
