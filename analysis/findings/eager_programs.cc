// SPDX-License-Identifier: Apache-2.0

// A device that is busy with copies from and to the host, and functions that run op by op.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/idle.h"
#include "analysis/findings/rules.h"
#include "base/number_format.h"
#include "base/text.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;
using model::OpKind;

constexpr double kMinCopyShare = 0.5;
constexpr double kMinEagerShare = 0.5;  // Share of device time.
constexpr int64_t kMinEagerPrograms = 3;

// When each device ran its first kernel, by device id - 1.
std::vector<int64_t> FirstKernels(const Context& context) {
  std::vector<int64_t> first(context.run.devices.size(), INT64_MAX);
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (context.run.ConfigOf(i).kind != model::ActivityKind::kKernel) continue;
    int64_t& of = first[static_cast<size_t>(context.run.LaneOf(i).device_id) - 1];
    of = std::min(of, context.run.activities.start_ns[i]);
  }
  return first;
}

struct CopySums {
  int64_t to_device_ns = 0, to_host_ns = 0;
  int64_t before_kernels_ns = 0;  // Copies to the device before its first kernel, which place the
                                  // weights once.
  int64_t pageable_ns = 0;        // To or from pageable host memory.
  int64_t bytes = 0;
  int64_t device_ns = 0, kernels_ns = 0;

  int64_t ns() const { return to_device_ns + to_host_ns; }
};

CopySums SumCopies(const Context& context) {
  const std::vector<int64_t> first_kernel = FirstKernels(context);
  CopySums sums;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const int64_t ns = context.run.activities.self_ns[i];
    sums.device_ns += ns;
    const model::LaunchConfig& config = context.run.ConfigOf(i);
    if (config.kind == model::ActivityKind::kKernel) sums.kernels_ns += ns;
    if (config.kind != model::ActivityKind::kMemcpy) continue;
    const bool to_device = config.copy_kind == model::CopyKind::kHostToDevice;
    if (!to_device && config.copy_kind != model::CopyKind::kDeviceToHost) continue;
    (to_device ? sums.to_device_ns : sums.to_host_ns) += ns;
    sums.bytes += std::max<int64_t>(context.run.activities.bytes[i], 0);
    if (Has(config.name, "ageable")) sums.pageable_ns += ns;
    const auto device = static_cast<size_t>(context.run.LaneOf(i).device_id) - 1;
    if (to_device && context.run.activities.start_ns[i] < first_kernel[device]) {
      sums.before_kernels_ns += ns;
    }
  }
  return sums;
}

// "from the host", "to the host", "to and from the host".
std::string_view Directions(const CopySums& sums) {
  if (10 * sums.to_host_ns < sums.ns()) return "from the host";
  return 10 * sums.to_device_ns < sums.ns() ? "to the host" : "to and from the host";
}

void CopyBound(const Context& context, Report& report) {
  const CopySums sums = SumCopies(context);
  const int64_t copies = sums.ns();
  const int64_t exposed = context.Part(model::StepPart::kExposedCopy);
  if (sums.device_ns == 0 ||
      static_cast<double>(copies) < kMinCopyShare * static_cast<double>(sums.device_ns) ||
      context.ShareOfStep(exposed) < kMinCopyShare) {
    return;
  }
  if (sums.kernels_ns > 0 && 2 * sums.before_kernels_ns > copies) {
    report.Fine("copy_bound",
                {"copies from the host",
                 fmt::format("{} of {} lie before the first kernel: data that is placed once",
                             Time(sums.before_kernels_ns), Time(copies))});
    return;
  }
  const std::string share =
      Percent(static_cast<double>(copies) / static_cast<double>(sums.device_ns));
  const double rate =
      static_cast<double>(sums.bytes) / static_cast<double>(std::max<int64_t>(copies, 1));
  const std::string_view direction = Directions(sums);
  Finding finding;
  finding.id = "copy_bound";
  finding.sure = Sure::kHigh;
  finding.values["direction"] = std::string(direction);
  finding.sentence = {fmt::format("Copies {} take {} of device time", direction, share),
                      fmt::format("{} at {}, and nothing computes meanwhile",
                                  Bytes(static_cast<double>(sums.bytes)), ByteRate(1e9 * rate))};
  const bool pageable = 2 * sums.pageable_ns > copies;
  finding.variant = sums.to_device_ns >= sums.to_host_ns ? pageable ? "pageable" : ""
                    : pageable                           ? "pageable_results"
                                                         : "results";
  finding.saves_high_ns = std::min(context.PerStep(copies), exposed);
  finding.saves_low_ns = std::min(*finding.saves_high_ns, context.PerStep(sums.kernels_ns));
  finding.claims["copies from the host"] = *finding.saves_high_ns;
  finding.evidence
      .Add(context.words.PerStep("copies to the device,"), context.PerStep(sums.to_device_ns), "ns")
      .Add(context.words.PerStep("copies to the host,"), context.PerStep(sums.to_host_ns), "ns")
      .Add(context.words.PerStep("copies of all kinds with nothing beside them,"), exposed, "ns")
      .Add(context.words.PerStep("kernels, the most that prefetching can hide,"),
           context.PerStep(sums.kernels_ns), "ns")
      .Add(context.words.PerStep("bytes copied,"), context.PerStep(sums.bytes), "bytes");
  if (copies > 0) finding.evidence.AddReal("rate", rate, "GB/s");
  report.Add(std::move(finding));
}

// Programs of one operation each, which jnp makes from a function without jit.
void EagerPrograms(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  struct Use {
    int64_t ns = 0;
    int64_t ops = 0;
    int64_t bytes = 0;  // Bytes of its largest op.
    bool plain = true;  // Elementwise work and reductions only.
    const Op* largest = nullptr;
  };
  std::map<Id, Use> uses;
  for (const Op& op : context.ops) {
    Use& use = uses[op.row->module_id];
    use.ns += op.ns;
    ++use.ops;
    use.bytes = std::max(use.bytes, op.row->bytes.value_or(op.facts->bytes.value_or(0)));
    if (use.largest == nullptr) use.largest = &op;
    switch (op.row->op_kind) {
      case OpKind::kElementwiseFusion:
      case OpKind::kReduction:
      case OpKind::kTranspose:
      case OpKind::kCopy:
      case OpKind::kMemset:
        break;
      default:
        use.plain = false;
    }
  }
  std::map<Id, int64_t> executions;
  for (const model::Execution& execution : context.attribution.executions) {
    ++executions[execution.module_id];
  }
  std::set<Id> programs;
  int64_t ns = 0, calls = 0, most_calls = 0, bytes = 0;
  const Op* largest = nullptr;
  for (const auto& [module_id, use] : uses) {
    if (!use.plain || use.ops > 4) continue;
    programs.insert(module_id);
    ns += use.ns;
    calls += executions[module_id];
    most_calls = std::max(most_calls, executions[module_id]);
    bytes = std::max(bytes, use.bytes);
    if (largest == nullptr || use.largest->ns > largest->ns) largest = use.largest;
  }
  if (static_cast<int64_t>(programs.size()) < kMinEagerPrograms || largest == nullptr ||
      static_cast<double>(ns) < kMinEagerShare * static_cast<double>(context.device_ns)) {
    return;
  }
  Finding finding;
  int64_t idle = 0;
  for (const Gap& gap : gaps) {
    if (gap.within_execution || gap.next == nullptr || !programs.contains(gap.next->row->module_id))
      continue;
    idle += gap.ns;
    Claim(context, gap, finding.gaps);
  }
  // One program would read its operands and write its results once.
  const auto rate = context.MemoryRate();
  const int64_t floor = rate ? static_cast<int64_t>(static_cast<double>(bytes) *
                                                    static_cast<double>(most_calls) * 1e9 / *rate)
                             : 0;
  finding.id = "eager_programs";
  finding.values["count"] = std::to_string(programs.size());
  finding.sentence = {
      .what = fmt::format("Op by op: {} calls of {} separately compiled programs", calls,
                          programs.size()),
      .why = "each its own pass over memory",
      .place = fmt::format(" ({} of device time)", Percent(static_cast<double>(ns) /
                                                           static_cast<double>(context.device_ns))),
      .reason = "Each its own pass over memory",
      .joint = ", "};
  // Upper limit: input and output remain, and so does one intermediate result.
  finding.saves_high_ns = std::max<int64_t>(ns - 2 * floor, 0);
  finding.saves_low_ns = std::max<int64_t>(ns - 4 * floor, 0);
  // Time between calls is saved only if the calls are repeated.
  if (most_calls >= kMinRepeatedCalls) {
    *finding.saves_high_ns += context.PerStep(idle);
  } else {
    finding.gaps.clear();
  }
  finding.basis = Basis::kRoofline;
  finding.sure = Sure::kMedium;
  finding.where_op = largest->row->name;
  finding.where_source = context.SourceOf(*largest);
  finding.evidence.Add(context.words.PerStep("their device time,"), ns, "ns")
      .Add(context.words.PerStep("idle in front of them,"), context.PerStep(idle), "ns")
      .Add("bytes that the largest reads and writes", bytes, "bytes", largest->handle);
  if (const auto of = largest->BytesPerSecond()) {
    finding.evidence.AddReal("its rate", *of / 1e9, "GB/s", largest->handle);
  }
  if (floor > 0) finding.evidence.Add("one pass for each of the calls", floor, "ns");
  for (const Op& op : context.ops) {
    if (programs.contains(op.row->module_id)) finding.claims[op.handle] = op.ns;
  }
  report.Add(std::move(finding));
}

}  // namespace

void CheckWholeRun(const Context& context, Report& report) {
  // For a step with ops, CheckCopies covers the copies.
  if (context.whole_run || context.ops.empty()) CopyBound(context, report);
  if (context.whole_run) EagerPrograms(context, GapsOf(context), report);
}

}  // namespace xlatrace::analysis::findings
