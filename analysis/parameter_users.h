// SPDX-License-Identifier: Apache-2.0

// The instructions that compute with an input of the program.

#ifndef XLATRACE_ANALYSIS_PARAMETER_USERS_H_
#define XLATRACE_ANALYSIS_PARAMETER_USERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/module_graph.h"

namespace xlatrace::analysis {

bool IsEntryParameter(const ModuleGraph& graph, uint32_t node);

// "f32[]": a single number.
bool IsScalarShape(std::string_view shape);

// The first instructions that compute with `node` instead of moving it. Skipped are casts, copies,
// the gather of a sharded parameter, and the slice of a loop over layers. Examines at most a few
// thousand instructions; ascending.
std::vector<uint32_t> ComputingUsers(const ModuleGraph& graph, uint32_t node);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_PARAMETER_USERS_H_
