// SPDX-License-Identifier: Apache-2.0

// Roles of evidence (key `role` of an entry of `finding.evidence`). Programs that read evidence
// find an entry by its role, never by its text.

#ifndef XLATRACE_ANALYSIS_FINDINGS_EVIDENCE_ROLES_H_
#define XLATRACE_ANALYSIS_FINDINGS_EVIDENCE_ROLES_H_

#include <string_view>

namespace xlatrace::analysis::findings {

inline constexpr std::string_view kRoleOpsTime = "ops_time";      // Time of the finding's ops.
inline constexpr std::string_view kRoleLargestOp = "largest_op";  // Time of the largest op.
// Memory of the program at its peak, as XLA assigned it or by live ranges, and the added memory.
inline constexpr std::string_view kRoleMemoryAssigned = "memory_assigned";
inline constexpr std::string_view kRoleMemoryByRanges = "memory_by_ranges";
inline constexpr std::string_view kRoleMemoryMore = "memory_more";

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_EVIDENCE_ROLES_H_
