// SPDX-License-Identifier: Apache-2.0

// Times of the run's collectives, by instruction, device and step. Each time is split into waiting
// for the last device and the exchange itself.
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
  int64_t bytes = 0;  // Bytes of one execution; 0: unknown.
  // Durations and exposed parts of each device, by step and in order of time.
  std::map<model::Id, std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>>> of_device;
  // One element per exchange: the duration on each device, and the exposed part.
  std::vector<std::map<model::Id, int64_t>> paired;
  int64_t paired_exposed_ns = 0;
  int64_t wait_ns = 0;  // Waiting for the last device to arrive.
  int64_t exposed_wait_ns = 0;
};

// With one process per device, each process has its own module, so the same collective is a
// different op in each. Equal programs are detected by their fingerprints. OpOf returns the same op
// for all processes.
class SameOps {
 public:
  explicit SameOps(const Context& context);
  const Op* OpOf(size_t activity) const;

 private:
  const Context& context_;
  std::map<const Op*, const Op*> same_;
};

// Collectives among the activities that findings are about (Context::InBasis).
std::map<const Op*, Collective> CollectivesOf(const Context& context, const SameOps& same);

// The last device to arrive does not wait. The time beyond the shortest duration in an exchange is
// therefore waiting (kernels of NCCL spin until all ranks have arrived).
void SplitWaiting(Collective& of);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_COLLECTIVE_TIMES_H_
