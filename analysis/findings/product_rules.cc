// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kMinSlowProductShare = 0.01;
// Share of the achievable rate from which a product has no finding.
constexpr double kGoodProductRateShare = 0.6;

int64_t WorkOf(const Op& op) { return op.row->flops.value_or(op.facts->flops.value_or(0)); }

// Operations per second of the op, where known.
double RateOf(const Op& op) {
  return op.ns > 0
             ? static_cast<double>(WorkOf(op)) * op.calls / (static_cast<double>(op.ns) * 1e-9)
             : 0;
}

// Time that the op would take at a rate; its present time if the rate is unknown.
int64_t TimeAt(const Op& op, const std::optional<double>& rate) {
  if (!rate || *rate <= 0) return op.ns;
  return std::min(op.ns,
                  static_cast<int64_t>(static_cast<double>(WorkOf(op)) * op.calls * 1e9 / *rate));
}

bool HasProducts(const Context& context) {
  return std::any_of(context.ops.begin(), context.ops.end(),
                     [](const Op& op) { return op.facts->dot.has_value(); });
}

void Upcast(const Context& context, Report& report) {
  if (!context.on_gpu) return;  // XLA:CPU converts 16-bit products to f32.
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->dot && !op.facts->dot->upcast_from.empty() &&
        op.row->phase != model::Phase::kOptimizer && op.row->phase != model::Phase::kLoss) {
      ops.push_back(&op);
    }
  }
  bool found = false;
  for (const Site& site : SitesOf(context, ops)) {
    int64_t saves = 0;
    for (const Op* op : site.ops) {
      saves += context.limits.half ? op->ns - TimeAt(*op, context.limits.half) : op->ns / 2;
    }
    if (context.ShareOfStep(saves) < kMinSlowProductShare) continue;
    found = true;
    const DotFacts& dot = *site.largest().facts->dot;
    Finding finding = FindingAbout(context, "f32_upcast", site);
    finding.values["type"] = dot.upcast_from;
    finding.saves_high_ns = saves;
    finding.saves_low_ns = saves / 3;
    finding.basis = context.limits.half ? Basis::kRoofline : Basis::kMeasured;
    finding.sure = context.Allowed(Sure::kHigh);
    finding.sentence = {fmt::format("A product of {} operands runs in f32", dot.upcast_from),
                        fmt::format("{}, at most half its speed", context.WorkShare(site.ns)),
                        InBrackets(site.source)};
    finding.evidence.AddReal("its rate", RateOf(site.largest()) / 1e12, "TFLOP/s",
                             site.largest().handle);
    if (context.limits.half) {
      finding.evidence.AddReal("rate that this device reaches in 16 bits",
                               *context.limits.half / 1e12, "TFLOP/s");
    }
    report.Add(std::move(finding));
  }
  if (!found && HasProducts(context))
    report.Fine("f32_upcast",
                {"f32 conversions", "no product has operands converted to f32 for it"});
}

void Highest(const Context& context, Report& report) {
  if (!context.limits.tf32) return;
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->dot && op.facts->dot->precision == "highest" &&
        op.facts->dot->lhs_type == "f32") {
      ops.push_back(&op);
    }
  }
  for (const Site& site : SitesOf(context, ops)) {
    int64_t saves = 0;
    for (const Op* op : site.ops) saves += op->ns - TimeAt(*op, context.limits.tf32);
    if (context.ShareOfStep(saves) < kMinSlowProductShare) break;
    Finding finding = FindingAbout(context, "f32_highest", site);
    finding.saves_high_ns = saves;
    finding.saves_low_ns = saves / 2;
    finding.basis = Basis::kRoofline;
    finding.sure = context.Allowed(Sure::kHigh);
    finding.evidence.AddReal("its rate", RateOf(site.largest()) / 1e12, "TFLOP/s",
                             site.largest().handle);
    report.Add(std::move(finding));
  }
}

// The best rate among products of the same type whose sizes are even.
double BestRate(const Context& context, std::string_view type) {
  double best = 0;
  for (const Op& op : context.ops) {
    if (!op.facts->dot || op.facts->dot->lhs_type != type || op.facts->dot->odd_dimension != 0 ||
        op.facts->dot->padded_from != 0 || context.ShareOfStep(op.ns) < 0.003) {
      continue;
    }
    best = std::max(best, RateOf(op));
  }
  return best;
}

// Kernels that do nothing but pad and slice for such a product: same op_name's line.
void OddSizes(const Context& context, Report& report) {
  if (!context.on_gpu) return;
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->dot && (op.facts->dot->odd_dimension != 0 || op.facts->dot->padded_from != 0)) {
      ops.push_back(&op);
    }
  }
  bool found = false;
  for (const Site& site : SitesOf(context, ops)) {
    const Op& largest = site.largest();
    const DotFacts& dot = *largest.facts->dot;
    const int64_t odd = dot.odd_dimension != 0 ? dot.odd_dimension : dot.padded_from;
    double best = BestRate(context, dot.lhs_type);
    const bool own = best > 0;
    if (!own) best = context.limits.half.value_or(0) * kGoodProductRateShare;
    int64_t saves = 0;
    bool slow = false;
    for (const Op* op : site.ops) {
      if (best <= 0) continue;
      const int64_t lost = op->ns - TimeAt(*op, best);
      saves += lost;
      slow = slow || 4 * lost > op->ns;
    }
    Site whole = site;
    for (const Op& op : context.ops) {
      if (op.facts->movement != Movement::kPad || context.SourceOf(op) != site.source) continue;
      whole.ops.push_back(&op);
      whole.ns += op.ns;
      saves += op.ns;
      slow = true;
    }
    if (!slow || context.ShareOfStep(saves) < kMinSlowProductShare) continue;
    found = true;
    const int64_t next = (odd + 127) / 128 * 128;
    Finding finding = FindingAbout(context, "gemm_bad_dims", whole);
    finding.values["size"] = std::to_string(odd);
    finding.values["padded"] = std::to_string(next);
    finding.saves_high_ns = saves;
    finding.saves_low_ns = saves / 2;
    finding.basis = Basis::kRoofline;
    finding.sure = context.Allowed(own ? Sure::kHigh : Sure::kMedium);
    finding.sentence = {fmt::format("A product with a dimension of {} is {} and runs at {}", odd,
                                    context.WorkShare(whole.ns), FlopRate(RateOf(largest))),
                        "", InBrackets(whole.source)};
    finding.evidence.Add("dimension", odd, "count", largest.handle)
        .Add("next multiple of 128", next, "count")
        .AddReal("its rate", RateOf(largest) / 1e12, "TFLOP/s", largest.handle)
        .AddReal(own ? "best rate of an even product in this run" : "rate that this device reaches",
                 best / 1e12, "TFLOP/s");
    report.Add(std::move(finding));
  }
  if (!found && HasProducts(context))
    report.Fine("gemm_bad_dims", {"sizes of products", "none is slow because of missing padding"});
}

// Without a known rate of products, part of the step is not examined, maybe most of it. Reports
// that.
void Unjudged(const Context& context, Report& report) {
  std::vector<const Op*> products;
  int64_t ns = 0;
  for (const Op& op : context.ops) {
    if (op.hidden || !op.facts->dot) continue;
    products.push_back(&op);
    ns += op.ns;
  }
  if (4 * ns < context.device_ns || products.empty()) return;
  const std::string place = PlaceOf(context, products);
  report.Withhold(
      "products",
      fmt::format(
          "matrix products, {}, {} of device time{}: how fast this {} could be is not known",
          context.words.PerStep(Time(ns)),
          Percent(static_cast<double>(ns) / static_cast<double>(context.device_ns)),
          place.empty() ? "" : fmt::format(", most at {}", ShortSource(place)),
          context.on_cpu ? "CPU" : "device"));
}

void Rates(const Context& context, Report& report) {
  if (!context.limits.half) {
    Unjudged(context, report);
    return;
  }
  int64_t ns = 0;
  double work = 0;
  for (const Op& op : context.ops) {
    if (!op.facts->dot || WorkOf(op) == 0) continue;
    const bool short_type = op.facts->dot->lhs_type == "bf16" || op.facts->dot->lhs_type == "f16";
    if (!short_type) continue;
    ns += op.ns;
    work += static_cast<double>(WorkOf(op)) * op.calls;
  }
  if (context.ShareOfStep(ns) < 0.05) return;
  const double rate = work / (static_cast<double>(ns) * 1e-9);
  const double share = rate / *context.limits.half;
  // Achievable rates are measurements of others and may be exceeded; data-sheet rates may not.
  if (share > 1.3 && rate > 1.05 * context.limits.half_peak.value_or(0)) {
    report.Withhold("products", "rate of 16-bit products: the count of operations does not fit");
    return;
  }
  Evidence evidence;
  evidence.Add(context.words.PerStep("16-bit products"), ns, "ns")
      .AddReal("their rate", rate / 1e12, "TFLOP/s");
  if (share < 0.7) return;
  const std::string percent =
      PeakPercent(100 * rate / context.limits.half_peak.value_or(*context.limits.half));
  report.Fine("products",
              {"matrix products", fmt::format("{} in 16 bits, {}% of the device's peak, {}",
                                              FlopRate(rate), percent, context.WorkShare(ns))},
              evidence);
}

}  // namespace

void CheckProducts(const Context& context, Report& report) {
  Upcast(context, report);
  Highest(context, report);
  OddSizes(context, report);
  Rates(context, report);
}

}  // namespace xlatrace::analysis::findings
