// SPDX-License-Identifier: Apache-2.0

// Which ranks exchange with each other in a collective whose groups are parts of the job, as in a
// mesh of data, tensor and sharded parallelism.
//
// The recordings say how large the groups are, not who is in them: ids in HLO are places in a
// device assignment that no recording holds. But ranks leave a collective together. So the layouts
// that a mesh can have (members at a fixed stride) are tried, and the one counts in which ends of
// the same run of the instruction stay together from step to step, up to a line between two clocks;
// where no layout does so clearly better than all others, nothing is known.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_FLEET_GROUPS_H_
#define XLATRACE_FLEET_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace xlatrace::fleet {

// Ends of one instruction on one member: by step and number in the step.
using EndsOfMember = std::map<std::pair<int64_t, int64_t>, int64_t>;

inline constexpr size_t kFewestEnds = 8;   // In common, to tell a layout.
inline constexpr double kClearly = 4;      // The best layout's residual against the next one's.
inline constexpr size_t kMostPairs = 128;  // Of members, looked at per layout.

// Which group member m is in, 0 to members / group_size - 1. `ends[m]`: all members, in the order
// of their ranks.
std::optional<std::vector<size_t>> FindGroups(const std::vector<EndsOfMember>& ends,
                                              size_t group_size);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_GROUPS_H_
