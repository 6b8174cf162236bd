// SPDX-License-Identifier: Apache-2.0

// Device time by phase or kind of kernel, for runs without steady steps: the bar of the first
// screen and its table in the terminal.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_DEVICE_PARTS_H_
#define XLATRACE_REPORT_DEVICE_PARTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/derived.h"
#include "report/run_view.h"

namespace xlatrace::report {

struct DevicePart {
  model::StepPart part = model::StepPart::kUnknown;  // Determines the colour and the letter.
  std::string_view words;                            // "forward", "copies".
  int64_t ns = 0;                                    // More than 0.
};

// The phases in their order, then collectives and copies without a phase. In a run without HLO no
// phase is known, so the parts are classes of kernel names (analysis/kernel_class.h). They sum to
// coverage.device_ns.
std::vector<DevicePart> DeviceParts(const RunView& view);
// Is no phase known, so that kernels are divided by kind of work?
bool IsKnownByNamesOnly(const RunView& view);
// The kind of these parts: "phase", or "kernels" for a run without HLO.
std::string_view DevicePartsName(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_DEVICE_PARTS_H_
