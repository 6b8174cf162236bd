// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/memory_facts.h"
#include "analysis/findings/rules.h"
#include "analysis/merged_recompute.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Phase;

constexpr double kMinRecomputeShare = 0.03;
constexpr double kMinOptimizerShare = 0.08;
constexpr double kMinDominantShare = 0.25;
constexpr double kMinDominantLineShare = 0.4;  // The ops of one line together.
constexpr double kMinUpdatesShare = 0.4;       // Then updates are the main cause.

// JAX marks work that it computes again. Without the mark, XLA copied forward work into a backward
// kernel, which is cheaper than to write and read it. Then no action is needed.
bool IsJax(std::string_view op_name) {
  return op_name.starts_with("jit(") || op_name.starts_with("pjit(");
}

bool IsRequestedRecompute(std::string_view op_name) {
  return !IsJax(op_name) || op_name.find("remat") != op_name.npos;
}

// Time of an op's parts that the framework computes a second time.
int64_t RecomputedTime(const Context& context, const Op& op) {
  constexpr Phase phase = Phase::kRecompute;
  const auto& shares = context.attribution.shares;
  const auto begin = std::lower_bound(
      shares.begin(), shares.end(), op.time->instruction_id,
      [](const model::ShareRow& share, model::Id id) { return share.instruction_id < id; });
  int64_t ppm = 0;
  bool split = false;
  for (auto at = begin; at != shares.end() && at->instruction_id == op.time->instruction_id; ++at) {
    split = true;
    if (at->phase == phase && IsRequestedRecompute(at->op_name)) ppm += at->share_ppm;
  }
  if (!split) return op.row->phase == phase && IsRequestedRecompute(op.row->op_name) ? op.ns : 0;
  return static_cast<int64_t>(static_cast<double>(op.ns) * static_cast<double>(ppm) / 1e6);
}

// The cost of the saving: results that backward reads must be kept from the first time on. Results
// of a loop's body must be kept for each of its iterations.
void AddMemory(const std::vector<const Op*>& ops, Evidence& evidence) {
  int64_t peak_bytes = 0;
  bool assigned = false;
  double kept = 0;
  for (const Op* op : ops) {
    if (op->module == nullptr) continue;
    if (op->module->peak_bytes > peak_bytes) {
      peak_bytes = op->module->peak_bytes;
      assigned = op->module->peak_from_assignment;
    }
    kept += static_cast<double>(op->facts->memory_bytes) * std::max(1.0, op->calls);
  }
  if (peak_bytes == 0) return;
  evidence.Add(assigned ? kMemoryAssigned : kMemoryByRanges, peak_bytes, "bytes")
      .As(assigned ? kRoleMemoryAssigned : kRoleMemoryByRanges)
      .Add(kMemoryMore, static_cast<int64_t>(kept), "bytes")
      .As(kRoleMemoryMore);
}

void Recompute(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  int64_t by_compiler = 0;
  int64_t products = 0;
  int64_t all = 0;
  int64_t hidden = 0;
  int64_t once = 0;
  bool heavy = false;  // A product is computed again.
  bool named = false;  // The program requested it; other work does not count for JAX.
  Finding finding;
  const std::vector<bool> merged = FindMergedRecompute(context.attribution.instructions);
  for (const Op& op : context.ops) {
    const bool compiler = op.row->name.find(".remat") != std::string::npos;
    const int64_t ns = compiler ? op.ns : RecomputedTime(context, op);
    if (ns == 0) continue;
    if (merged[static_cast<size_t>(op.time->instruction_id) - 1]) {
      once += ns;
      continue;
    }
    all += ns;
    if (op.hidden) ++hidden;
    if (compiler) by_compiler += ns;
    if (op.facts->dot || op.row->op_kind == model::OpKind::kGemm) products += ns;
    heavy |= op.facts->dot || op.row->op_kind == model::OpKind::kGemm ||
             op.row->op_kind == model::OpKind::kConvolution;
    named |= compiler || op.row->op_name.empty() || IsJax(op.row->op_name);
    finding.claims["recompute " + op.handle] = ns;
    if (2 * ns >= op.ns) ops.push_back(&op);
  }
  const double share = context.ShareOfStep(all);
  if (share < kMinRecomputeShare) {
    LookedAt recomputation = {"recomputation", context.WorkShare(all)};
    if (once > 0) {
      recomputation.more =
          fmt::format("{} more is named so, but XLA computes it once, for forward too",
                      Percent(context.ShareOfStep(once)));
    }
    if (all + once > 0) report.Fine("recompute", recomputation);
    return;
  }
  // TensorFlow's names do not show requests. A request without a product in it is unlikely.
  if (!named && !heavy && hidden == 0) {
    report.Fine("recompute", {"recomputation",
                              fmt::format("XLA copied {} of forward work into backward kernels, "
                                          "which is cheaper than to read it",
                                          context.words.PerStep(Time(all)))});
    return;
  }
  finding.id = "recompute";
  const bool compiler = 2 * by_compiler > all;
  if (compiler) finding.variant = "by_xla";
  // If ops run in parallel on the threads of a CPU, the sum of their times exceeds the wall time.
  const int64_t wall = context.Part(model::StepPart::kRecompute);
  finding.saves_high_ns = wall > 0 ? std::min(all, wall) : all;
  finding.saves_low_ns = std::min(products / 2, *finding.saves_high_ns);
  finding.sentence = {
      fmt::format("Recomputation is {}",
                  context.words.OfStep(Percent(context.ShareOfStep(*finding.saves_high_ns)))),
      fmt::format("{} is computed a second time",
                  context.words.PerStep(Time(*finding.saves_high_ns)))};
  finding.sure = context.Allowed(Sure::kHigh);
  finding.evidence.Add(context.words.PerStep("device time of recomputation"), all, "ns")
      .Add("recomputed matrix products", products, "ns")
      .AddReal(context.words.of_step, 100 * context.ShareOfStep(*finding.saves_high_ns), "%");
  if (*finding.saves_high_ns < all) {
    finding.evidence.Add("recomputation in parallel with other work, not part of the step",
                         all - *finding.saves_high_ns, "ns");
  }
  // With it the phase's time is whole.
  if (once > 0) {
    finding.evidence.Add("ops marked as recomputation that run only once, also for forward", once,
                         "ns");
  }
  AddMemory(ops, finding.evidence);
  if (hidden > 0) {
    finding.evidence.Add("products among it whose time the profile does not show", hidden, "count");
  }
  finding.where_source = compiler ? "" : context.CallerOf(ops);
  if (!ops.empty()) {
    finding.where_op = ops[0]->row->name;
    finding.where_layer = ops[0]->row->layer_group;
    finding.evidence.Add("largest", ops[0]->ns, "ns", ops[0]->handle);
  }
  report.Add(std::move(finding));
}

void Optimizer(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  int64_t all = 0;
  double calls = 0;
  double bytes = 0;
  bool all_known = true;
  for (const Op& op : context.ops) {
    if (op.row->phase != Phase::kOptimizer || op.row->op_kind == model::OpKind::kCollective ||
        op.facts->host_memory) {
      continue;
    }
    all += op.ns;
    calls += op.calls;
    const auto rate = op.BytesPerSecond();
    all_known = all_known && rate.has_value();
    bytes += rate.value_or(0) * static_cast<double>(op.ns) * 1e-9;
    ops.push_back(&op);
  }
  if (ops.empty()) return;
  const auto limit = context.limits.bytes;
  const auto floor = limit && all_known ? static_cast<int64_t>(bytes * 1e9 / *limit) : int64_t{0};
  if (context.ShareOfStep(all) < kMinOptimizerShare) return;
  const bool most = context.ShareOfStep(all) >= kMinUpdatesShare;
  const bool at_floor = floor > 0 && 10 * all <= 13 * floor;
  if (at_floor && !most) {
    report.Fine("optimizer", {"optimizer", fmt::format("{}, at its memory floor",
                                                       context.words.PerStep(Time(all)))});
    return;
  }
  if (floor == 0 && !most && (calls < 100 || context.on_cpu)) return;
  Finding finding = FindingAbout(context, "optimizer", AllOf(context, ops));
  if (most && (at_floor || calls < 100)) {
    // Nothing can be merged: the updated parameters are large. The cost of another optimizer is
    // unknown.
    finding.variant = "fewer";
    finding.sentence = {fmt::format("The optimizer is {}", context.WorkShare(all)), Time(all)};
    finding.sure = context.Allowed(Sure::kMedium);
    report.Add(std::move(finding));
    return;
  }
  finding.sentence = {fmt::format("The optimizer is {}", context.WorkShare(all)),
                      fmt::format("{} in {} kernels", Time(all), CountText(calls))};
  finding.saves_high_ns = all - floor;
  finding.saves_low_ns = 0;
  finding.basis = floor > 0 ? Basis::kRoofline : Basis::kMeasured;
  finding.sure = context.Allowed(floor > 0 ? Sure::kMedium : Sure::kLow);
  finding.evidence.Add(context.words.PerStep("kernels"), static_cast<int64_t>(calls), "count");
  if (floor > 0) finding.evidence.Add("time to read and write its bytes once", floor, "ns");
  report.Add(std::move(finding));
}

// Minimum time of the op at the device's rates; empty if neither rate is known.
std::optional<int64_t> FloorOf(const Context& context, const Op& op) {
  std::optional<int64_t> floor;
  const auto add = [&](std::optional<int64_t> work, const std::optional<double>& rate) {
    if (!work || !rate || *rate <= 0) return;
    const auto ns = static_cast<int64_t>(static_cast<double>(*work) * op.calls * 1e9 / *rate);
    floor = std::max(floor.value_or(0), ns);
  };
  add(op.row->bytes ? op.row->bytes : op.facts->bytes, context.limits.bytes);
  if (op.facts->dot) {
    const bool f32 = op.facts->dot->lhs_type == "f32";
    add(op.row->flops ? op.row->flops : op.facts->flops,
        f32 && context.limits.tf32 ? context.limits.tf32 : context.limits.half);
  }
  return floor;
}

// Description of an op without rule, as far as recorded: "a reduction of 2.10 GB per call, 410
// GB/s".
std::string WhatItIs(const Op& op) {
  std::string kind(model::Text(op.row->op_kind));
  std::replace(kind.begin(), kind.end(), '_', ' ');
  if (op.row->op_kind == model::OpKind::kOther || op.row->op_kind == model::OpKind::kControl) {
    kind = op.row->opcode.empty() ? "op" : op.row->opcode;
  }
  std::string text = fmt::format("{} {}", kind.find_first_of("aeiou") == 0 ? "an" : "a", kind);
  const std::optional<int64_t> flops = op.row->flops ? op.row->flops : op.facts->flops;
  const std::optional<int64_t> bytes = op.row->bytes ? op.row->bytes : op.facts->bytes;
  const double calls_per_s = op.ns > 0 ? 1e9 * op.calls / static_cast<double>(op.ns) : 0;
  if (op.facts->dot && flops && *flops > 0) {
    const auto of_call = static_cast<double>(*flops);
    text += fmt::format(" of {} per call, {}", Flop(of_call), FlopRate(of_call * calls_per_s));
  } else if (bytes && *bytes > 0) {
    const auto of_call = static_cast<double>(*bytes);
    text += fmt::format(" of {} per call, {}", Bytes(of_call), ByteRate(of_call * calls_per_s));
  }
  return text;
}

// The same for the ops of one line together, if none of them is large. Products are excluded,
// because a model consists mostly of products.
void DominantLine(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    const model::OpKind kind = op.row->op_kind;
    const bool product = op.facts->dot || kind == model::OpKind::kGemm ||
                         kind == model::OpKind::kConvolution || kind == model::OpKind::kAttention;
    if (!op.hidden && !product) ops.push_back(&op);
  }
  const std::vector<Site> sites = SitesOf(context, ops);
  const auto largest = std::find_if(sites.begin(), sites.end(),
                                    [](const Site& site) { return !site.source.empty(); });
  if (largest == sites.end()) return;
  const double share = static_cast<double>(largest->ns) / static_cast<double>(context.device_ns);
  if (share < kMinDominantLineShare) return;
  int64_t floors = 0;
  for (const Op* op : largest->ops) floors += FloorOf(context, *op).value_or(0);
  if (10 * floors >= 7 * largest->ns) return;
  Finding finding = FindingAbout(context, "dominant_op", *largest);
  finding.no_remedy = true;
  finding.variant = "line";
  finding.values["count"] = std::to_string(InstructionsOf(context, largest->ops).size());
  finding.values["description"] = WhatItIs(largest->largest());
  finding.values["handle"] = largest->largest().handle;
  finding.sure = context.Allowed(Sure::kLow);
  report.Add(std::move(finding));
}

// Names the largest op as a starting point if no other rule reports it. Claims no saving if its
// minimum time is unknown.
void Dominant(const Context& context, Report& report) {
  const auto first =
      std::find_if(context.ops.begin(), context.ops.end(), [](const Op& op) { return !op.hidden; });
  if (first == context.ops.end() || context.device_ns == 0) return;
  const Op& op = *first;
  const double share = static_cast<double>(op.ns) / static_cast<double>(context.device_ns);
  if (share < kMinDominantShare) {
    DominantLine(context, report);
    return;
  }
  const std::optional<int64_t> floor = FloorOf(context, op);
  if (floor && 10 * *floor >= 7 * op.ns) {
    report.Fine("dominant_op",
                {"largest op", fmt::format("{} is {} of device time, at the device's rate",
                                           op.row->name, Percent(share))},
                {}, op.handle);
    return;
  }
  Site site{context.SourceOf(op), {&op}, op.ns};
  Finding finding = FindingAbout(context, "dominant_op", site);
  finding.values["op"] = op.row->name;
  finding.values["description"] = WhatItIs(op);
  finding.values["handle"] = op.handle;
  if (floor) {
    finding.saves_high_ns = op.ns - std::min(op.ns, *floor);
    finding.saves_low_ns = 0;
    finding.basis = Basis::kRoofline;
    finding.evidence.Add("shortest possible time at the device's rates", *floor, "ns");
  } else {
    finding.variant = "no_remedy";
    finding.no_remedy = true;
  }
  finding.sure = context.Allowed(Sure::kLow);
  finding.evidence.Add("times it ran in the whole run", op.time->occurrences, "count", op.handle);
  report.Add(std::move(finding));
}

}  // namespace

void CheckStructure(const Context& context, Report& report) {
  Recompute(context, report);
  Optimizer(context, report);
  Dominant(context, report);
}

}  // namespace xlatrace::analysis::findings
