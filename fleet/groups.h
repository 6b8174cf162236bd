// SPDX-License-Identifier: Apache-2.0

// Finds the groups of a collective whose groups are parts of the job, as in a mesh of data, tensor
// and sharded parallelism.
//
// Recordings have the sizes of groups, but not their members: ids in HLO are positions in a device
// assignment, which recordings do not contain. Ranks leave a collective together. All layouts of a
// mesh (members at a fixed stride) are therefore tested. In the right layout, the ends of a run of
// the instruction agree from step to step, up to a line between two clocks. If no layout is clearly
// better than all others, the groups are not known.
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

// Ends of one instruction on one member, by step and number in the step.
using EndsOfMember = std::map<std::pair<int64_t, int64_t>, int64_t>;

inline constexpr size_t kMinCommonEnds = 8;     // Common ends that a layout needs.
inline constexpr double kMinResidualRatio = 4;  // Minimum ratio of the next layout's residual to
                                                // the best one's.
inline constexpr size_t kMaxMemberPairs = 128;  // Pairs of members that are tested per layout.

// Group of each member, from 0 to members / group_size - 1. `ends[m]`: all members, in the order of
// their ranks.
std::optional<std::vector<size_t>> FindGroups(const std::vector<EndsOfMember>& ends,
                                              size_t group_size);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_GROUPS_H_
