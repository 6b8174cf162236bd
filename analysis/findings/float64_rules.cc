// SPDX-License-Identifier: Apache-2.0

// Computation in twice the width that most models need.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/hidden_products.h"
#include "analysis/findings/rules.h"
#include "analysis/layer.h"
#include "base/text.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kMinFloat64Share = 0.1;  // Share of the step.

bool IsDouble(const Op& op) {
  return (op.facts->dot && op.facts->dot->lhs_type == "f64") || Has(op.row->shape, "f64[") ||
         Has(op.row->shape, "c128[");
}

// Saving of float32. In general half of the bytes. Products take the time of the device's f32
// units. On a CPU most of a product is saved, because XLA uses other code for float32 (YNNPACK, not
// Eigen).
int64_t SavingOf(const Context& context, const Op& op, int64_t ns) {
  if (op.facts->dot && context.limits.f32 && op.facts->flops) {
    const auto at_f32 = static_cast<int64_t>(static_cast<double>(*op.facts->flops) * op.calls *
                                             1e9 / *context.limits.f32);
    return ns - std::min(ns, at_f32);
  }
  return op.facts->dot && context.on_cpu ? ns * 4 / 5 : ns / 2;
}

// With at least this many ops, the finding names the layer that contains ops with 80 % of the time,
// if such a layer exists. The largest of hundreds of ops does not represent the others.
constexpr size_t kMinOpsForLayer = 12;

std::string LayerOfMost(const Site& site) {
  if (site.ops.size() < kMinOpsForLayer) return {};
  std::vector<const Op*> ops = site.ops;
  std::stable_sort(ops.begin(), ops.end(), [](const Op* a, const Op* b) { return a->ns > b->ns; });
  std::string layer = ops.front()->row->layer_group;
  int64_t told = 0;
  for (const Op* op : ops) {
    if (5 * told >= 4 * site.ns) break;
    told += op->ns;
    layer = CommonLayer(layer, op->row->layer_group);
  }
  return layer;
}

}  // namespace

void CheckFloat64(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (IsDouble(op)) ops.push_back(&op);
  }
  if (ops.empty()) return;
  const HiddenTime hidden = context.on_cpu ? HiddenTimeOf(context, GapsOf(context)) : HiddenTime();
  const auto hidden_of = [&](const Op* op) {
    const auto found = hidden.of_product.find(op);
    return found == hidden.of_product.end() ? int64_t{0} : found->second;
  };
  int64_t products_ns = 0;
  int64_t hidden_ns = 0;
  int64_t saves = 0;
  Site site = AllOf(context, ops);
  for (const Op* op : ops) {
    const int64_t ns = op->ns + hidden_of(op);
    hidden_ns += hidden_of(op);
    if (op->facts->dot) products_ns += ns;
    saves += SavingOf(context, *op, ns);
  }
  // If ops run in parallel on the threads of a CPU, the sum of their times exceeds the wall time.
  const int64_t other_idle_ns =
      std::max<int64_t>(0, context.Part(model::StepPart::kIdle) - hidden_ns);
  const int64_t ns =
      std::min(site.ns + hidden_ns, context.step_ns - (context.whole_run ? 0 : other_idle_ns));
  saves = std::min(saves, ns);
  if (context.ShareOfStep(ns) < kMinFloat64Share) return;
  const Op& largest = **std::max_element(ops.begin(), ops.end(), [&](const Op* a, const Op* b) {
    return a->ns + hidden_of(a) < b->ns + hidden_of(b);
  });
  Finding finding = FindingAbout(context, "float64", site);
  finding.where_op = largest.row->name;
  const std::string layer = LayerOfMost(site);
  if (!layer.empty()) finding.where_layer = layer;
  // Where it begins: the first of them in the order of the program.
  const Op& first = **std::min_element(ops.begin(), ops.end(), [&](const Op* a, const Op* b) {
    return std::pair(context.SourceOf(*a).empty(), a->time->instruction_id) <
           std::pair(context.SourceOf(*b).empty(), b->time->instruction_id);
  });
  finding.where_source = context.SourceOf(first);
  // Ops that run side by side are counted as often in the device time.
  const std::string share = context.WorkShare(hidden_ns > 0 ? ns : site.ns);
  const std::string instructions = fmt::format("{} {}", ops.size(), ops.size() == 1 ? "op" : "ops");
  finding.sentence = {
      fmt::format("Computing in float64 is {}", share),
      hidden_ns > 0 ? fmt::format("{} of {}, {} idle before their products are read", Time(site.ns),
                                  instructions, Time(hidden_ns))
      : layer.empty() ? fmt::format("{}, the largest is {}", instructions, largest.row->name)
                      : fmt::format("{}, most of it in {}", instructions, layer),
      InBrackets(finding.where_source)};
  finding.saves_high_ns = saves;
  finding.saves_low_ns = saves / 4;
  finding.basis = Basis::kCostModel;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.claims["float64"] = saves;
  finding.evidence.Add(context.words.PerStep("float64 ops,"), site.ns, "ns");
  if (hidden_ns > 0) {
    finding.evidence.Add(context.words.PerStep("idle before what reads their products,"), hidden_ns,
                         "ns");
  }
  if (products_ns > 0) {
    finding.evidence.Add(context.words.PerStep("of it products,"), products_ns, "ns");
  }
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
