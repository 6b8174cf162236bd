// SPDX-License-Identifier: Apache-2.0

// Waiting in collectives of which only the kernel's name is known (NCCL beside PyTorch, launches of
// a merged job): the k-th launch of a name on each device is the same exchange, the shortest of
// them is what it takes, and what another takes longer it waits: NCCL's kernels spin until all
// ranks are there (docs/reference/findings.md, `arrival_skew`).
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_FINDINGS_NAMED_WAITS_H_
#define XLATRACE_ANALYSIS_FINDINGS_NAMED_WAITS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/findings/context.h"

namespace xlatrace::analysis::findings {

// Sums over the basis, not per step.
struct NamedCollective {
  std::string name;
  int64_t ns = 0, exposed_ns = 0;
  int64_t count = 0;                       // Launches on all devices.
  bool paired = false;                     // Its launches have counterparts on the other devices.
  int64_t exposed_wait_ns = 0;             // Of the paired: waiting that nothing hides.
  std::map<model::Id, int64_t> wait_ns;    // Of the paired, by device, hidden or not.
  std::map<model::Id, int64_t> last;       // Exchanges in which it was the shortest: came last.
  std::map<model::Id, int64_t> caused_ns;  // Waiting of the others in those.
  int64_t exchanges = 0;
  int64_t longest_wait_ns = 0;  // In one of them.
};

// By time, longest first. Launches are paired where two devices or more ran the name equally often
// and nine of ten pairs overlap in time: others are different exchanges, or of different clocks.
std::vector<NamedCollective> NamedCollectivesOf(const Context& context);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_NAMED_WAITS_H_
