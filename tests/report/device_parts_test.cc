// SPDX-License-Identifier: Apache-2.0

// Device time of a run without steps, by what it is.

#include "report/device_parts.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using model::StepPart;
using testing::_;
using testing::ElementsAre;
using testing::Pair;

RunView View(int64_t forward, int64_t unknown) {
  RunView view;
  view.modules.emplace_back();
  view.phases[static_cast<size_t>(model::Phase::kForward)] = forward;
  view.phases[static_cast<size_t>(model::Phase::kUnknown)] = unknown;
  view.coverage.device_ns = forward + unknown;
  return view;
}

std::string Text(const RunView& view) {
  std::string text;
  for (const DevicePart& part : DeviceParts(view)) {
    text += std::string(part.words) + " " + std::to_string(part.ns) + "\n";
  }
  return text;
}

std::vector<std::pair<StepPart, int64_t>> Parts(const RunView& view) {
  std::vector<std::pair<StepPart, int64_t>> parts;
  for (const DevicePart& part : DeviceParts(view)) parts.emplace_back(part.part, part.ns);
  return parts;
}

TEST(DeviceParts, CopiesWithoutAPhaseAreCopiesAndNotUnknown) {
  RunView view = View(70, 30);
  EXPECT_THAT(Parts(view), ElementsAre(Pair(StepPart::kForward, 70), Pair(StepPart::kUnknown, 30)));
  view.coverage.reasons = {{"not_xla", 6, 1}, {"transfer", 20, 2}};
  view.unphased_collectives_ns = 3;
  view.unphased_copies_ns = 1;
  EXPECT_THAT(Parts(view),
              ElementsAre(Pair(StepPart::kForward, 70), Pair(StepPart::kUnknown, 6),
                          Pair(StepPart::kExposedCollective, 3), Pair(StepPart::kExposedCopy, 21)));
  EXPECT_GOLDEN_TEXT(Text(view));
}

TEST(DeviceParts, PartsWithoutPhaseAreLimitedByTimeWithoutPhase) {
  RunView view = View(70, 5);
  view.coverage.reasons = {{"transfer", 20, 2}};
  view.unphased_collectives_ns = 3;
  EXPECT_THAT(Parts(view),
              ElementsAre(Pair(StepPart::kForward, 70), Pair(StepPart::kExposedCollective, 3),
                          Pair(StepPart::kExposedCopy, 2)));
}

// Recordings of PyTorch by Nsight: "unknown 100 %" would not be useful.
TEST(DeviceParts, WithoutHloKernelsAreClassifiedByTheirNames) {
  RunView view = View(0, 100);
  view.modules.clear();
  view.coverage.reasons = {{"not_xla", 90, 4}, {"transfer", 10, 2}};
  view.kernels = {{"flash_fwd_kernel", 50, 1},
                  {"Memcpy HtoD", 10, 2},
                  {"ncclDevKernel_SendRecv", 20, 1},
                  {"my_kernel", 15, 1},
                  {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n", 5, 1}};
  EXPECT_EQ(DevicePartsName(view), "kernels");
  EXPECT_THAT(Parts(view),
              ElementsAre(Pair(_, 50), Pair(_, 20), Pair(_, 15), Pair(_, 5), Pair(_, 10)));
  EXPECT_GOLDEN_TEXT(Text(view));
  EXPECT_EQ(DeviceParts(view)[1].part, model::StepPart::kExposedCollective);
  // Modules without attributed activities (their HLO cannot be read) have no phases either.
  const std::string named = Text(view);
  view.modules.emplace_back();
  EXPECT_EQ(Text(view), named);
  // A filtered view has less time than the kernels by name.
  view.filter = "steps 3";
  EXPECT_EQ(DevicePartsName(view), "phase");
}

}  // namespace
}  // namespace xlatrace::report
