// SPDX-License-Identifier: Apache-2.0

// Waiting in collectives for which only the kernel's name is known (NCCL in PyTorch, launches of a
// merged job). The k-th launches of a name on all devices are one exchange. The shortest launch is
// the exchange itself, and the excess of another launch is waiting: NCCL's kernels spin until all
// ranks have arrived (docs/reference/findings.md, `arrival_skew`).
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
  int64_t count = 0;                     // Launches on all devices.
  bool paired = false;                   // The launches have counterparts on the other devices.
  int64_t exposed_wait_ns = 0;           // Exposed waiting of paired launches.
  std::map<model::Id, int64_t> wait_ns;  // Waiting of paired launches by device, exposed or not.
  // Number of exchanges to which the device came last (shortest time).
  std::map<model::Id, int64_t> last;
  std::map<model::Id, int64_t> caused_ns;  // Waiting time of the other devices in these exchanges.
  int64_t exchanges = 0;
  int64_t longest_wait_ns = 0;  // Longest waiting time in one exchange.
};

// By descending time. Launches are paired if at least two devices ran the name equally often and 90
// % of the pairs overlap in time. Other launches are different exchanges, or have different clocks.
std::vector<NamedCollective> NamedCollectivesOf(const Context& context);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_NAMED_WAITS_H_
