// SPDX-License-Identifier: Apache-2.0

// Who computes with an input of the program.

#ifndef XLATRACE_ANALYSIS_PARAMETER_USERS_H_
#define XLATRACE_ANALYSIS_PARAMETER_USERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/module_graph.h"

namespace xlatrace::analysis {

bool IsEntryParameter(const ModuleGraph& graph, uint32_t node);

// "f32[]": one number, no tensor.
bool IsScalarShape(std::string_view shape);

// The first instructions that do more with `node` than to move it: casts, copies, the gather of a
// sharded parameter and the slice that a loop over layers takes are passed through. At most some
// thousand are looked at; ascending.
std::vector<uint32_t> ComputingUsers(const ModuleGraph& graph, uint32_t node);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_PARAMETER_USERS_H_
