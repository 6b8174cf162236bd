// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "base/number_format.h"
#include "base/text.h"
#include "hlo/shape.h"

namespace xlatrace::analysis::findings {
namespace {

using model::OpKind;

constexpr double kMinSlowMemoryShare = 0.01;
constexpr double kMinAttentionShare = 0.03;
constexpr double kMaxSlowRateShare = 0.4;     // Share of the achievable bandwidth.
constexpr double kMaxSlowOwnRateShare = 0.3;  // Share of the program's best rate.
constexpr double kMinDominantSlowShare = 0.03;
constexpr double kMinStreamingRateShare = 0.6;  // Share of the achievable bandwidth: memory bound.

// "[4,12,2048,2048]"; empty: no result of these ops has the shape.
std::string ScoresOf(const std::vector<const Op*>& ops, int64_t size) {
  for (const Op* op : ops) {
    for (const hlo::ArrayShape& leaf : hlo::Leaves(op->row->shape)) {
      const size_t rank = leaf.dims.size();
      if (rank < 3 || leaf.dims[rank - 1] != size || leaf.dims[rank - 2] != size) continue;
      std::string text;
      for (const int64_t dim : leaf.dims) text += (text.empty() ? "[" : ",") + std::to_string(dim);
      return text + "]";
    }
  }
  return {};
}

// Kernels that read or write the scores, per layer; 0: the layers cannot be separated.
int64_t PassesPerLayer(const std::vector<const Op*>& ops) {
  std::map<std::string, std::pair<std::set<std::string>, double>> groups;  // Layers, calls.
  double all = 0;
  for (const Op* op : ops) {
    all += op->calls;
    const size_t star = op->row->layer_group.find('*');
    if (star == std::string::npos) continue;
    const size_t end = op->row->layer_group.find('/', star);
    auto& [layers, calls] = groups[op->row->layer_group.substr(0, end)];
    // As many components of the layer as of the group's repeated part.
    const std::string prefix = op->row->layer_group.substr(0, end);
    const auto depth = std::count(prefix.begin(), prefix.end(), '/');
    size_t cut = 0;
    for (int64_t k = 0; k <= depth && cut != std::string::npos; ++k) {
      cut = op->row->layer.find('/', cut + (k > 0));
    }
    layers.insert(op->row->layer.substr(0, cut));
    calls += op->calls;
  }
  for (const auto& [group, of] : groups) {
    if (2 * of.second > all && of.first.size() > 1) {
      return std::llround(all / static_cast<double>(of.first.size()));
    }
  }
  return 0;
}

void Attention(const Context& context, Report& report) {
  if (!context.on_gpu) return;
  std::vector<const Op*> ops;
  bool fused = false;
  int64_t size = 0;
  int64_t exponentials = 0;
  for (const Op& op : context.ops) {
    if (Has(op.facts->target, "fmha") || Has(op.facts->target, "flash") ||
        Has(op.facts->target, "fused_attn") || Has(op.facts->target, "splash")) {
      fused = true;
    }
    if (op.facts->square_scores == 0 || op.row->op_kind == OpKind::kCollective) continue;
    if (op.row->op_kind != OpKind::kGemm) exponentials += op.ns;
    size = std::max(size, op.facts->square_scores);
    ops.push_back(&op);
  }
  if (ops.empty()) {
    if (fused) report.Fine("attention_unfused", {"attention", "one fused kernel"});
    return;
  }
  const Site site = AllOf(context, ops);
  const int64_t all = site.ns;
  double work = 0;
  for (const Op* op : ops) {
    if (op->facts->dot) work += static_cast<double>(op->facts->flops.value_or(0)) * op->calls;
  }
  int64_t fused_ns = all / 4;
  if (context.limits.half && work > 0) {
    // Fused kernels reach about 0.65 of the rate of plain products (cuDNN and FA3 on H100).
    fused_ns = static_cast<int64_t>(work * 1e9 / (0.65 * *context.limits.half));
  }
  const int64_t saves = all - fused_ns;
  if (context.ShareOfStep(saves) < kMinAttentionShare) {
    report.Fine("attention_unfused",
                {"attention", fmt::format("writing its scores costs at most {}",
                                          Percent(context.ShareOfStep(saves)))});
    return;
  }
  Finding finding = FindingAbout(context, "attention_unfused", site);
  const std::string scores = ScoresOf(ops, size);
  const int64_t passes = PassesPerLayer(ops);
  const std::string go = fmt::format(
      "scores of {} go through memory{}", scores.empty() ? fmt::format("{0} x {0}", size) : scores,
      passes > 1 ? fmt::format(", {} kernels per layer", passes) : "");
  finding.sentence = {fmt::format("Attention is {}", context.WorkShare(all)), go,
                      fmt::format(" ({})", ShortSource(site.source)), "S" + go.substr(1)};
  if (passes > 0)
    finding.evidence.Add("kernels that read or write the scores, per layer", passes, "count");
  finding.saves_high_ns = saves;
  finding.saves_low_ns = std::min(saves, exponentials) / 2;
  finding.basis = context.limits.half ? Basis::kRoofline : Basis::kMeasured;
  finding.sure = context.Allowed(Sure::kHigh);
  finding.evidence.Add("kernels of attention that are not matrix products", exponentials, "ns")
      .Add("sequence length", size, "count");
  report.Add(std::move(finding));
}

// Results and residuals of a scan are copied into stacks, slice by slice. Where the slice is made
// by the same kernel, its write is no extra cost.
void ScanStacks(const Context& context, const std::vector<const Op*>& ops, Report& report) {
  if (context.recorded_ops > 0) return;  // Recording cost dominates the time of a short slice.
  for (const Site& site : SitesOf(context, ops)) {
    if (context.ShareOfStep(site.ns) < 2 * kMinSlowMemoryShare) break;
    int64_t bytes = 0;
    int64_t filling = 0;
    for (const Op* op : site.ops) {
      if (op->facts->starts_stack) filling += op->ns;
      bytes += static_cast<int64_t>(static_cast<double>(op->facts->slice_bytes) * op->calls);
    }
    Finding finding = FindingAbout(context, "scan_stack", site);
    finding.saves_high_ns = site.ns;
    finding.saves_low_ns = 0;
    finding.sure = context.Allowed(Sure::kMedium);
    finding.sentence = {fmt::format("Stacking what a scan saves is {}", context.WorkShare(site.ns)),
                        Time(site.ns), InBrackets(site.source)};
    if (bytes > 0) {
      finding.evidence.Add(context.words.PerStep("bytes written into stacks,"), bytes, "bytes");
    }
    if (filling > 0) {
      finding.evidence.Add(context.words.PerStep("filling and copying empty stacks,"), filling,
                           "ns");
    }
    report.Add(std::move(finding));
  }
}

void Layouts(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  std::vector<const Op*> converts;
  std::vector<const Op*> stacks;
  int64_t by_xla_ns = 0;
  for (const Op& op : context.ops) {
    const Movement movement = op.facts->movement;
    if (movement == Movement::kTranspose || movement == Movement::kLayout) {
      // XLA:CPU inserts transposes of products' operands without a request.
      if (!context.on_cpu || Has(LastPart(op.row->op_name), "transpose")) {
        ops.push_back(&op);
      } else {
        by_xla_ns += op.ns;
      }
    } else if (movement == Movement::kConvert && op.row->phase != model::Phase::kOptimizer &&
               !context.on_cpu) {  // It computes 16-bit types in f32.
      converts.push_back(&op);
    } else if (op.facts->starts_stack) {
      stacks.push_back(&op);
    } else if (op.facts->in_loop && op.row->op_kind == OpKind::kScatterGather &&
               !op.facts->scatter && Has(op.row->op_name, "dynamic_update_slice")) {
      stacks.push_back(&op);
    }
  }
  int64_t all = 0;
  for (const Op* op : ops) all += op->ns;
  bool found = false;
  for (const Site& site : SitesOf(context, ops)) {
    if (context.ShareOfStep(site.ns) < kMinSlowMemoryShare) break;
    found = true;
    Finding finding = FindingAbout(context, "layout_copy", site);
    finding.saves_high_ns = site.ns;
    finding.saves_low_ns = 0;
    finding.sure = context.Allowed(Sure::kMedium);
    if (const auto rate = site.largest().BytesPerSecond()) {
      finding.evidence.AddReal("its rate", *rate / 1e9, "GB/s", site.largest().handle);
    }
    finding.sentence = {fmt::format("A change of layout is {}", context.WorkShare(site.ns)),
                        Takes(context, site) + " only to move data", InBrackets(site.source)};
    report.Add(std::move(finding));
  }
  if (!found) {
    report.Fine("layout_copy",
                {"kernels that only change the layout", context.WorkShare(all + by_xla_ns)});
  }
  for (const Site& site : SitesOf(context, converts)) {
    if (context.ShareOfStep(site.ns) < kMinSlowMemoryShare) break;
    Finding finding = FindingAbout(context, "convert_only", site);
    finding.saves_high_ns = site.ns;
    finding.saves_low_ns = 0;
    finding.sure = context.Allowed(Sure::kMedium);
    report.Add(std::move(finding));
  }
  ScanStacks(context, stacks, report);
}

// Fusions that neither arithmetic nor the cache bounds, as far as the HLO shows.
bool IsMemoryWork(const Op& op) {
  if (op.hidden || op.facts->starts_stack) return false;
  switch (op.row->op_kind) {
    case OpKind::kReduction:
    case OpKind::kElementwiseFusion:
    case OpKind::kTranspose:
      return !op.facts->dot && op.facts->movement == Movement::kNone;
    default:
      return false;
  }
}

// Reductions and fusions that use little of the memory's bandwidth. On a CPU, whose bandwidth is
// unknown, those far below the best of the same program.
void SlowKernels(const Context& context, Report& report) {
  const auto limit = context.MemoryRate();
  const bool own = context.MemoryRateIsOwn();
  if (!limit || (own && !context.on_cpu)) {
    report.Withhold("slow_memory_op", "memory-bound kernels: the device's bandwidth is not known");
    return;
  }
  const double slow = own ? kMaxSlowOwnRateShare : kMaxSlowRateShare;
  int64_t all = 0;
  int64_t fast = 0;
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (!IsMemoryWork(op) || op.facts->square_scores != 0) continue;
    const auto rate = op.BytesPerSecond();
    if (!rate) continue;
    // More than memory can do: the cost model counts too much, or it all stays in the cache.
    if (*rate > 1.3 * *limit && !own) continue;
    all += op.ns;
    if (*rate >= 0.7 * *limit) fast += op.ns;
    if (*rate<slow* * limit&& static_cast<double>(op.ns)> 20'000 * op.calls) {
      ops.push_back(&op);
    }
  }
  bool found = false;
  for (const Site& site : SitesOf(context, ops)) {
    int64_t saves = 0;
    for (const Op* op : site.ops) {
      saves +=
          static_cast<int64_t>(static_cast<double>(op->ns) * (1 - *op->BytesPerSecond() / *limit));
    }
    if (context.ShareOfStep(saves) < kMinDominantSlowShare) continue;
    found = true;
    const double rate = *site.largest().BytesPerSecond();
    // If there are several instructions, the advice is for the kind with most of their time.
    int64_t reductions = 0;
    for (const Op* op : site.ops) {
      if (op->row->op_kind == OpKind::kReduction) reductions += op->ns;
    }
    const bool reduction = 2 * reductions > site.ns;
    const bool transposes =
        Has(site.largest().row->name, "copy_") || site.largest().row->op_kind == OpKind::kTranspose;
    Finding finding = FindingAbout(context, "slow_memory_op", site);
    const std::string percent = PeakPercent(100 * rate / *limit);
    const std::string_view work = reduction ? "reduction" : "fusion";
    finding.values["work"] =
        site.ops.size() == 1 ? std::string(work) : fmt::format("{} {}s", site.ops.size(), work);
    finding.variant = own && transposes ? "transpose" : reduction ? "reduction" : "";
    finding.saves_high_ns = saves;
    finding.saves_low_ns = 0;
    finding.basis = own ? Basis::kMeasured : Basis::kRoofline;
    finding.sure = context.Allowed(Sure::kLow);
    finding.evidence.AddReal("its rate", rate / 1e9, "GB/s", site.largest().handle)
        .AddReal(own ? "rate of the best tenth of such ops in this run"
                     : "rate that this memory reaches",
                 *limit / 1e9, "GB/s");
    report.Add(std::move(finding));
  }
  if (!found && context.ShareOfStep(all) >= 0.05 && 10 * fast >= 8 * all) {
    Evidence evidence;
    evidence.Add(context.words.PerStep("memory-bound fusions"), all, "ns")
        .Add("of them above 70%", fast, "ns");
    report.Fine("slow_memory_op", {"occupancy", "memory-bound kernels use the bandwidth"},
                evidence);
  }
}

// Fusions that write values which only the next fusion reads, both at the memory's rate.
void Chains(const Context& context, Report& report) {
  const auto limit = context.limits.bytes;
  if (!limit) return;
  const auto streams = [&](const Op& op) {
    const auto rate = op.BytesPerSecond();
    return IsMemoryWork(op) && rate && *rate >= kMinStreamingRateShare * *limit &&
           *rate <= 1.3 * *limit;
  };
  std::vector<const Op*> ops;
  std::map<const Op*, int64_t> saves;
  for (const Op& op : context.ops) {
    if (op.facts->producer == 0 || !streams(op)) continue;
    const Op& producer = context.ops[op.facts->producer - 1];
    if (!streams(producer) || producer.row->op_kind != OpKind::kElementwiseFusion ||
        std::abs(producer.calls - op.calls) > 0.01 * op.calls) {
      continue;
    }
    // Written once and read once.
    saves[&op] =
        static_cast<int64_t>(2e9 * static_cast<double>(op.facts->passed_bytes) * op.calls / *limit);
    ops.push_back(&op);
  }
  for (const Site& site : SitesOf(context, ops)) {
    int64_t all = 0;
    double bytes = 0;
    for (const Op* op : site.ops) {
      all += saves[op];
      bytes += static_cast<double>(op->facts->passed_bytes) * op->calls;
    }
    if (context.ShareOfStep(all) < kMinSlowMemoryShare) continue;
    Finding finding = FindingAbout(context, "elementwise_chain", site);
    finding.claims.clear();
    for (const Op* op : site.ops) finding.claims["chain " + op->handle] = saves[op];
    finding.saves_high_ns = all;
    finding.saves_low_ns = 0;
    finding.basis = Basis::kRoofline;
    finding.sure = context.Allowed(Sure::kLow);
    finding.evidence
        .Add(context.words.PerStep("bytes that pass between them,"), static_cast<int64_t>(bytes),
             "bytes")
        .Add(context.words.PerStep("its producer,"),
             context.ops[site.largest().facts->producer - 1].ns, "ns",
             context.ops[site.largest().facts->producer - 1].handle);
    report.Add(std::move(finding));
  }
}

}  // namespace

void CheckMemory(const Context& context, Report& report) {
  Attention(context, report);
  Layouts(context, report);
  SlowKernels(context, report);
  Chains(context, report);
}

}  // namespace xlatrace::analysis::findings
