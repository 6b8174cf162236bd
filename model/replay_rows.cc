// SPDX-License-Identifier: Apache-2.0
#include "model/replay_rows.h"

#include <array>
#include <cstddef>

namespace xlatrace::model {
namespace {

constexpr std::array<std::string_view, 5> kPathKindTexts = {
    "kernel", "copy", "collective", "host", "gap",
};

}  // namespace

template <>
std::span<const std::string_view> Texts<PathKind>() {
  return kPathKindTexts;
}
std::string_view Text(PathKind v) { return kPathKindTexts[static_cast<size_t>(v)]; }

}  // namespace xlatrace::model
