// SPDX-License-Identifier: Apache-2.0

// Device time of a run without steps, by what it is.

#include "report/device_parts.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

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
    text += std::string(part.words) + " " + std::to_string(part.ns) + ";";
  }
  return text;
}

TEST(DeviceParts, CopiesWithoutAPhaseAreCopiesAndNotUnknown) {
  RunView view = View(70, 30);
  EXPECT_EQ(Text(view), "forward 70;no phase 30;");
  view.coverage.reasons = {{"not_xla", 6, 1}, {"transfer", 20, 2}};
  view.unphased_collectives_ns = 3;
  view.unphased_copies_ns = 1;
  EXPECT_EQ(Text(view), "forward 70;no phase 6;collectives, no phase 3;copies, no phase 21;");
  EXPECT_EQ(DeviceParts(view).back().part, model::StepPart::kExposedCopy);
}

TEST(DeviceParts, PartsNeverExceedWhatHasNoPhase) {
  RunView view = View(70, 5);
  view.coverage.reasons = {{"transfer", 20, 2}};
  view.unphased_collectives_ns = 3;
  EXPECT_EQ(Text(view), "forward 70;collectives, no phase 3;copies, no phase 2;");
}

// Nsight's recordings of PyTorch: "unknown 100%" would say nothing.
TEST(DeviceParts, WithoutHloKernelsAreToldByTheirNames) {
  RunView view = View(0, 100);
  view.modules.clear();
  view.coverage.reasons = {{"not_xla", 90, 4}, {"transfer", 10, 2}};
  view.kernels = {{"flash_fwd_kernel", 50, 1},
                  {"Memcpy HtoD", 10, 2},
                  {"ncclDevKernel_SendRecv", 20, 1},
                  {"my_kernel", 15, 1},
                  {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n", 5, 1}};
  EXPECT_EQ(DevicePartsName(view), "kernels");
  EXPECT_EQ(Text(view),
            "fused attention 50;collectives 20;other kernels 15;matrix products 5;copies 10;");
  EXPECT_EQ(DeviceParts(view)[1].part, model::StepPart::kExposedCollective);
  // Modules that nothing could be led back to (their HLO cannot be read) tell no phase either.
  const std::string named = Text(view);
  view.modules.emplace_back();
  EXPECT_EQ(Text(view), named);
  // A filtered view holds times of less than the names have.
  view.filter = "steps 3";
  EXPECT_EQ(DevicePartsName(view), "phase");
}

}  // namespace
}  // namespace xlatrace::report
