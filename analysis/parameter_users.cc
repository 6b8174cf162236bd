// SPDX-License-Identifier: Apache-2.0
#include "analysis/parameter_users.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

namespace xlatrace::analysis {
namespace {

constexpr size_t kMaxVisits = 1000;

bool IsMovement(std::string_view opcode) {
  static constexpr std::array<std::string_view, 20> kOpcodes = {"parameter",
                                                                "get-tuple-element",
                                                                "tuple",
                                                                "bitcast",
                                                                "copy",
                                                                "copy-start",
                                                                "copy-done",
                                                                "convert",
                                                                "reshape",
                                                                "transpose",
                                                                "dynamic-slice",
                                                                "slice",
                                                                "fusion",
                                                                "all-gather",
                                                                "all-gather-start",
                                                                "all-gather-done",
                                                                "opt-barrier",
                                                                "broadcast",
                                                                "bitcast-convert",
                                                                "while"};
  return std::find(kOpcodes.begin(), kOpcodes.end(), opcode) != kOpcodes.end();
}

}  // namespace

bool IsEntryParameter(const ModuleGraph& graph, uint32_t node) {
  const model::Instruction& self = graph.module().instructions[node];
  return self.opcode == "parameter" && self.computation == graph.module().entry;
}

bool IsScalarShape(std::string_view shape) {
  const size_t bracket = shape.find('[');
  return bracket != shape.npos && shape.front() != '(' && bracket + 1 < shape.size() &&
         shape[bracket + 1] == ']';
}

std::vector<uint32_t> ComputingUsers(const ModuleGraph& graph, uint32_t node) {
  std::set<uint32_t> users;
  std::set<uint32_t> seen = {node};
  std::vector<uint32_t> open = {node};
  for (size_t i = 0; i < open.size() && open.size() < kMaxVisits; ++i) {
    for (const uint32_t user : graph.Users(open[i])) {
      if (!IsMovement(graph.module().instructions[user].opcode)) {
        users.insert(user);
      } else if (seen.insert(user).second) {
        open.push_back(user);
      }
    }
  }
  return {users.begin(), users.end()};
}

}  // namespace xlatrace::analysis
