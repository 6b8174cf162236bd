// SPDX-License-Identifier: Apache-2.0

// Collectives of a run by instruction: their times on each device, step by step, and how much of
// them was waiting for the device that comes last.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_TIMES_H_
#define XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/findings/context.h"

namespace xlatrace::analysis::findings {

// Times of one collective instruction, over steady steps and devices.
struct Collective {
  const Op* op = nullptr;
  int64_t ns = 0;
  int64_t exposed_ns = 0;
  int64_t bytes = 0;  // Of one run; 0: unknown.
  // Durations and exposed parts of each device, by step and in order of time.
  std::map<model::Id, std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>>> of_device;
  // Of those, what the same run of it took on all devices, and how much of it was exposed.
  std::vector<std::map<model::Id, int64_t>> paired;
  int64_t paired_exposed_ns = 0;
  int64_t wait_ns = 0;  // Waiting for the last device to arrive.
  int64_t exposed_wait_ns = 0;
};

// One process per device has a module of its own, so that the same collective is another op in
// each: equal programs are told by their fingerprints. The op that stands for all of them.
class SameOps {
 public:
  explicit SameOps(const Context& context);
  const Op* OpOf(size_t activity) const;

 private:
  const Context& context_;
  std::map<const Op*, const Op*> same_;
};

// Of the activities that the findings are about (Context::InBasis).
std::map<const Op*, Collective> CollectivesOf(const Context& context, const SameOps& same);

// The last to arrive waits for nobody: what others take longer than the shortest of an instance is
// waiting (facts of NCCL kernels: they spin until all ranks are there).
void SplitWaiting(Collective& of);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_TIMES_H_
