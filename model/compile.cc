// SPDX-License-Identifier: Apache-2.0
#include "model/compile.h"

#include <array>
#include <cstddef>

namespace xlatrace::model {
namespace {

constexpr std::array<std::string_view, 10> kCompileStageTexts = {
    "compile", "import",  "backend_start", "trace", "lower",
    "passes",  "codegen", "autotune",      "cache", "load"};

}  // namespace

template <>
std::span<const std::string_view> Texts<CompileStage>() {
  return kCompileStageTexts;
}
std::string_view Text(CompileStage v) { return kCompileStageTexts[static_cast<size_t>(v)]; }

}  // namespace xlatrace::model
