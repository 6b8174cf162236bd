#include "report/device_parts.h"

#include <algorithm>

#include "report/shown_words.h"

namespace xlatrace::report {

std::vector<DevicePart> DeviceParts(const RunView& view) {
  using model::StepPart;
  int64_t unknown = view.phases[static_cast<size_t>(model::Phase::kUnknown)];
  // No phase is larger than what is left of it: a view that was filtered may know copies of others.
  int64_t copies = view.unphased_copies_ns;
  for (const ReasonFigure& reason : view.coverage.reasons) {
    if (reason.reason == "transfer") copies += reason.ns;
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
  add(StepPart::kUnknown, Text(model::Phase::kUnknown), unknown);
  add(StepPart::kExposedCollective, "collectives", collectives);
  add(StepPart::kExposedCopy, "copies", copies);
  return parts;
}

}  // namespace xlatrace::report
