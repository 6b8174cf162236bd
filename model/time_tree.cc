// SPDX-License-Identifier: Apache-2.0
#include "model/time_tree.h"

#include <array>
#include <cstddef>

namespace xlatrace::model {
namespace {

constexpr std::array<std::string_view, 45> kTreeKindTexts = {
    "unknown",
    "root",
    "startup",
    "import",
    "backend_start",
    "data",
    "trace",
    "lower",
    "passes",
    "compile",
    "codegen",
    "autotune",
    "cache",
    "load",
    "first_execution",
    "steps",
    "step",
    "call",
    "between_calls",
    "between_steps",
    "computation",
    "op",
    "exposed_collective",
    "wait",
    "transfer",
    "exposed_copy",
    "idle",
    "launch",
    "dispatch",
    "dependency",
    "copy_wait",
    "sync",
    "alloc",
    "host",
    "input",
    "io",
    "lock",
    "gc",
    "sleep",
    "contention",
    "evaluation",
    "checkpoint",
    "recompilation",
    "pause",
    "shutdown",
};

}  // namespace

template <>
std::span<const std::string_view> Texts<TreeKind>() {
  return kTreeKindTexts;
}
std::string_view Text(TreeKind v) { return kTreeKindTexts[static_cast<size_t>(v)]; }

}  // namespace xlatrace::model
