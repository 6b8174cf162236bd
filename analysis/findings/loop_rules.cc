// SPDX-License-Identifier: Apache-2.0

// Overhead of a loop beside its computation: its counter, the slices that it reads, the stacks that
// it writes, and copies of carried values. One execution is enough to detect it.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "base/number_format.h"
#include "base/text.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kMinLoopShare = 0.05;     // Share of the step.
constexpr double kMinLoopIterations = 10;  // Per execution of the program.
constexpr double kMaxLoopOpNs = 20'000;    // Longer ops move data: `scan_stack`, `device_copies`.
// Fewer iterations of at most 20 us take less than 20 ms.
constexpr int64_t kMinShortIterations = 1'000;
constexpr int64_t kUnrollRatio = 8;  // As in `scan(unroll=8)`.
constexpr int64_t kRampNs = 1'200;   // Between kernels of a full launch queue.

// "s32[]", "pred[]": counters, and conditions to continue.
bool IsCounter(const Op& op) {
  const std::string& shape = op.row->shape;
  return shape == "s32[]" || shape == "s64[]" || shape == "u32[]" || shape == "pred[]" ||
         shape == "(s32[], pred[])";
}

bool IsSlicing(const Op& op) {
  if (op.facts->dot || op.facts->scatter) return false;
  const std::string_view tail =
      std::string_view(op.row->op_name).substr(op.row->op_name.find_last_of('/') + 1);
  return tail == "dynamic_slice" || tail == "dynamic_update_slice" ||
         op.row->opcode == "dynamic-slice" || op.row->opcode == "dynamic-update-slice" ||
         Has(op.row->name, "dynamic-update-slice") || Has(op.row->name, "dynamic-slice") ||
         Has(op.row->name, "dynamic_update_slice") || Has(op.row->name, "dynamic_slice");
}

struct Part {
  int64_t ns = 0;
  double launches = 0;
  void Add(const Op& op) {
    ns += op.ns;
    launches += op.calls;
  }
};

// A loop of many short iterations, of which one op runs all: the fixed cost of an iteration counts
// more than its work. If eight iterations become one, an eighth of the fixed cost remains. The
// fixed cost is at most the time beyond that of moving the loop's bytes.
void ReportShortIterations(const Context& context, Report& report) {
  for (const Op& op : context.ops) {
    const auto iterations = static_cast<double>(op.facts->iterations) * op.calls;
    if (op.facts->iterations < kMinShortIterations || op.calls <= 0) continue;
    const double each_ns = static_cast<double>(op.ns) / iterations;
    if (each_ns > kMaxLoopOpNs) continue;
    double work_ns = 0;
    const std::optional<int64_t> bytes = op.row->bytes ? op.row->bytes : op.facts->bytes;
    if (bytes && context.limits.bytes && *context.limits.bytes > 0) {
      work_ns = 1e9 * static_cast<double>(*bytes) * op.calls / *context.limits.bytes;
    }
    const double fixed_ns = std::max(0.0, static_cast<double>(op.ns) - work_ns);
    const auto saves = static_cast<int64_t>(fixed_ns * (kUnrollRatio - 1) / kUnrollRatio);
    if (context.ShareOfStep(saves) < kMinLoopShare) continue;
    const Site site{context.SourceOf(op), {&op}, op.ns};
    Finding finding = FindingAbout(context, "loop_overhead", site);
    finding.variant = "short";
    finding.sentence = {fmt::format("A loop of {} iterations is {}",
                                    Thousands(op.facts->iterations), context.WorkShare(op.ns)),
                        fmt::format("an iteration takes {}", Time(static_cast<int64_t>(each_ns))),
                        InBrackets(site.source)};
    finding.saves_high_ns = saves;
    finding.saves_low_ns = 0;
    finding.change.emplace();
    finding.change->instructions[static_cast<uint32_t>(op.time->instruction_id)] =
        1 - static_cast<double>(saves) / static_cast<double>(op.ns);
    finding.basis = Basis::kCostModel;
    finding.sure = context.Allowed(Sure::kMedium);
    finding.evidence.Add("iterations of the loop", op.facts->iterations, "count", op.handle)
        .Add("time per iteration", static_cast<int64_t>(each_ns), "ns");
    if (work_ns > 0) {
      finding.evidence.Add(context.words.PerStep("time to move the loop's bytes,"),
                           static_cast<int64_t>(work_ns), "ns");
    }
    report.Add(std::move(finding));
  }
}

}  // namespace

void CheckLoops(const Context& context, Report& report) {
  // On a CPU a loop's body runs in one thread, so times of its ops do not show the time between
  // them.
  if (!context.on_gpu) ReportShortIterations(context, report);
  if (!context.on_gpu || context.graph_share > 0.02) return;
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->in_loop) ops.push_back(&op);
  }
  if (ops.empty()) return;
  Part counters, slices, copies, all;
  double iterations = 0;
  std::vector<const Op*> overhead;
  for (const Op* op : ops) {
    all.Add(*op);
    Part* part = IsCounter(*op)                           ? &counters
                 : IsSlicing(*op)                         ? &slices
                 : op->facts->movement == Movement::kCopy ? &copies
                                                          : nullptr;
    if (part == nullptr || static_cast<double>(op->ns) > kMaxLoopOpNs * op->calls) continue;
    part->Add(*op);
    overhead.push_back(op);
    iterations = std::max(iterations, op->calls);
  }
  const double launches = counters.launches + slices.launches + copies.launches;
  const int64_t ns = counters.ns + slices.ns + copies.ns;
  const auto ramp = static_cast<int64_t>(launches * kRampNs);
  if (overhead.empty() || iterations < kMinLoopIterations ||
      context.ShareOfStep(ns + ramp) < kMinLoopShare) {
    return;
  }
  const Site site = AllOf(context, overhead);
  Finding finding = FindingAbout(context, "loop_overhead", site);
  finding.sentence = {
      fmt::format("Loops spend {} on themselves", context.WorkShare(ns + ramp)),
      fmt::format("{} launches for trip counters, slices and copies, {} iterations",
                  static_cast<int64_t>(launches + 0.5), static_cast<int64_t>(iterations + 0.5)),
      InBrackets(site.source)};
  finding.saves_high_ns = ns + ramp;
  finding.saves_low_ns = (ns + ramp) / 4;
  finding.basis = Basis::kCostModel;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.evidence.Add(context.words.PerStep("trip counters and conditions,"), counters.ns, "ns")
      .Add(context.words.PerStep("slices read and written,"), slices.ns, "ns")
      .Add(context.words.PerStep("copies of values that the loop carries,"), copies.ns, "ns")
      .Add(context.words.PerStep("launches of these counters, slices and copies,"),
           static_cast<int64_t>(launches + 0.5), "count")
      .Add(context.words.PerStep("all launches in loops,"),
           static_cast<int64_t>(all.launches + 0.5), "count")
      .Add(context.words.PerStep("iterations of the largest loop,"),
           static_cast<int64_t>(iterations + 0.5), "count");
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
