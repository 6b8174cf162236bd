// SPDX-License-Identifier: Apache-2.0
#include "report/device_parts.h"

#include <algorithm>
#include <array>

#include "analysis/kernel_class.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using model::StepPart;

// Classes of the kernels of such a run by their names, the longest first. `copies_ns`: time of
// copies within all device time; the names of copies are not used.
std::vector<DevicePart> PartsByKernelName(const RunView& view, int64_t copies_ns) {
  std::array<int64_t, analysis::kKernelClassCount> times{};
  constexpr auto kOther = static_cast<size_t>(analysis::KernelClass::kOther);
  int64_t rest = view.coverage.device_ns - copies_ns;
  for (const NamedFigure& kernel : view.kernels) {
    const auto at = static_cast<size_t>(analysis::KernelClassOf(kernel.name));
    if (at == kOther || kernel.ns > rest) continue;
    times[at] += kernel.ns;
    rest -= kernel.ns;
  }
  times[kOther] = rest;
  std::vector<DevicePart> parts;
  for (size_t i = 0; i < times.size(); ++i) {
    const auto kind = static_cast<analysis::KernelClass>(i);
    if (times[i] == 0) continue;
    parts.push_back({kind == analysis::KernelClass::kCollective ? StepPart::kExposedCollective
                                                                : StepPart::kUnknown,
                     i == kOther ? "other kernels" : Text(kind), times[i]});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const DevicePart& a, const DevicePart& b) { return a.ns > b.ns; });
  if (copies_ns > 0) parts.push_back({StepPart::kExposedCopy, "copies", copies_ns});
  return parts;
}

}  // namespace

bool IsKnownByNamesOnly(const RunView& view) {
  if (!view.ops.empty() || !view.filter.empty()) return false;
  constexpr auto kUnknown = static_cast<size_t>(model::Phase::kUnknown);
  for (size_t phase = 0; phase < view.phases.size(); ++phase) {
    if (phase != kUnknown && view.phases[phase] != 0) return false;
  }
  return true;
}

std::vector<DevicePart> DeviceParts(const RunView& view) {
  int64_t unknown = view.phases[static_cast<size_t>(model::Phase::kUnknown)];
  // Limited to the remaining time of the phase, because a filtered view may have copies of other
  // phases.
  int64_t copies = view.unphased_copies_ns;
  for (const ReasonFigure& reason : view.coverage.reasons) {
    if (reason.reason == "transfer") copies += reason.ns;
  }
  if (IsKnownByNamesOnly(view)) {
    return PartsByKernelName(view, std::min(copies, view.coverage.device_ns));
  }
  const int64_t collectives = std::clamp<int64_t>(view.unphased_collectives_ns, 0, unknown);
  copies = std::clamp<int64_t>(copies, 0, unknown - collectives);
  unknown -= collectives + copies;
  std::vector<DevicePart> parts;
  const auto add = [&](StepPart part, std::string_view words, int64_t ns) {
    if (ns > 0) parts.push_back({part, words, ns});
  };
  for (const model::Phase phase : kPhaseOrder) {
    if (phase == model::Phase::kUnknown) continue;
    add(StepPartFromText(Text(phase)).value_or(StepPart::kUnknown), Text(phase),
        view.phases[static_cast<size_t>(phase)]);
  }
  add(StepPart::kUnknown, PhaseWords(model::Phase::kUnknown), unknown);
  // Parts with a known phase are included.
  add(StepPart::kExposedCollective, "collectives, no phase", collectives);
  add(StepPart::kExposedCopy, "copies, no phase", copies);
  return parts;
}

std::string_view DevicePartsName(const RunView& view) {
  return IsKnownByNamesOnly(view) ? "kernels" : "phase";
}

}  // namespace xlatrace::report
