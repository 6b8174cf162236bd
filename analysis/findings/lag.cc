// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/lag.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

struct LagCause {
  const Op* op = nullptr;
  int64_t more_ns = 0;  // Per step.
};

// The op that takes most longer there than on the median device that runs it.
LagCause CauseOfLag(const Context& context, const DeviceLag& lag, const OpOfActivity& op_of) {
  std::map<const Op*, std::map<Id, int64_t>> times;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    const Op* op = context.InBasis(i) ? op_of(i) : nullptr;
    if (op == nullptr || op->row->op_kind == model::OpKind::kCollective) continue;
    times[op][context.run.LaneOf(i).device_id] += context.run.activities.self_ns[i];
  }
  LagCause cause;
  for (const auto& [op, devices] : times) {
    const auto slow = devices.find(lag.device);
    if (slow == devices.end() || devices.size() < 2) continue;
    std::vector<int64_t> of_op;
    for (const auto& [device, ns] : devices) of_op.push_back(ns);
    const auto middle = of_op.begin() + static_cast<std::ptrdiff_t>((of_op.size() - 1) / 2);
    std::nth_element(of_op.begin(), middle, of_op.end());
    const int64_t more = (slow->second - *middle) / std::max<int64_t>(context.step_count, 1);
    if (more > cause.more_ns) cause = {op, more};
  }
  return 2 * static_cast<double>(cause.more_ns) < lag.excess_ns ? LagCause() : cause;
}

}  // namespace

std::optional<DeviceLag> LagOf(const Context& context) {
  DeviceSteps steps;
  for (const model::StepRow& step : context.analysis.steps) {
    if (step.typical) steps.Add(step.device_id, step.step, step.end_ns - step.start_ns);
  }
  for (const model::StepPartRow& part : context.analysis.step_parts) {
    if (part.part != model::StepPart::kExposedCollective) continue;
    steps.AddExposed(part.device_id, part.step, part.wall_ns);
  }
  return FindDeviceLag(steps);
}

const Op* DescribeLag(const Context& context, const DeviceLag& lag, const OpOfActivity& op_of,
                      Finding& finding) {
  const LagCause cause = CauseOfLag(context, lag, op_of);
  const std::string device = DeviceWords(context, lag.device);
  finding.values["device"] = device;
  finding.variant = "device";
  finding.evidence.Add(
      context.words.PerStep(fmt::format("{} needs more by itself than the median device,", device)),
      std::llround(lag.excess_ns), "ns");
  if (cause.op != nullptr) {
    finding.variant =
        cause.op->row->op_kind == model::OpKind::kScatterGather ? "device_scatter" : "device_op";
    finding.values["op"] = cause.op->row->name;
    finding.values["more"] = Time(cause.more_ns);
    finding.evidence.Add(
        context.words.PerStep(
            fmt::format("{} takes longer there than on the median device,", cause.op->row->name)),
        cause.more_ns, "ns", cause.op->handle);
  } else {
  }
  finding.evidence.Add(fmt::format("steps of {} in which {} comes last", Thousands(lag.of), device),
                       lag.last, "count");
  return cause.op;
}

}  // namespace xlatrace::analysis::findings
