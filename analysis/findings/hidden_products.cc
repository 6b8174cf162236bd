// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/hidden_products.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/findings/rules.h"

namespace xlatrace::analysis::findings {
namespace {

// A hand-over between threads takes less.
constexpr int64_t kMinHiddenWaitNs = 50'000;
constexpr double kMinCpuFlopsPerS = 2e9;       // Per second, all threads; reached without vectors.
constexpr double kMinNotedHiddenShare = 0.02;  // Share of the step that gets a note,
constexpr double kMinLeadingHiddenShare = 0.25;  // and share that leads.

bool IsDoubleProduct(const Op& op) { return op.facts->dot && op.facts->dot->lhs_type == "f64"; }

}  // namespace

HiddenTime HiddenTimeOf(const Context& context, const std::vector<Gap>& gaps) {
  HiddenTime hidden;
  if (!context.on_cpu) return hidden;
  std::map<const Op*, int64_t> sums;
  for (const Gap& gap : gaps) {
    if (!gap.within_execution || gap.ns < kMinHiddenWaitNs || gap.next == nullptr) continue;
    // The order of several products is unknown: the one with the most work.
    const Op* product = nullptr;
    for (const uint32_t position : gap.next->facts->products_read) {
      const Op& op = context.ops[position - 1];
      if (product == nullptr || op.facts->flops.value_or(0) > product->facts->flops.value_or(0)) {
        product = &op;
      }
    }
    // Time that even a slow CPU does not need for this product has another cause: new memory from
    // the system, or other programs.
    if (product == nullptr ||
        static_cast<double>(product->facts->flops.value_or(0)) * 1e9 / kMinCpuFlopsPerS <
            static_cast<double>(gap.ns)) {
      continue;
    }
    sums[product] += gap.ns;
    hidden.sum_ns += gap.ns;
    Claim(context, gap, hidden.gaps);
    hidden.product_of.emplace_back(hidden.gaps.back().first, product);
  }
  for (const auto& [op, ns] : sums) hidden.of_product[op] = context.PerStep(ns);
  return hidden;
}

void NameHiddenProducts(const Context& context, std::vector<model::GapEvidenceRow>& evidence) {
  if (!context.on_cpu) return;
  std::set<uint32_t> known;
  for (const model::GapEvidenceRow& row : evidence) known.insert(row.gap);
  for (const auto& [gap, product] : HiddenTimeOf(context, GapsOf(context)).product_of) {
    if (known.contains(gap)) continue;
    evidence.push_back({gap, product->row->name + " in threads that are not recorded"});
  }
  std::stable_sort(evidence.begin(), evidence.end(),
                   [](const auto& a, const auto& b) { return a.gap < b.gap; });
}

GapClaims CheckHiddenProducts(const Context& context, const std::vector<Gap>& gaps,
                              Report& report) {
  HiddenTime hidden = HiddenTimeOf(context, gaps);
  const int64_t ns = context.PerStep(hidden.sum_ns);
  if (hidden.gaps.empty() || context.ShareOfSpan(ns) < kMinNotedHiddenShare) return {};
  std::vector<std::pair<int64_t, const Op*>> products;
  for (const auto& [op, of] : hidden.of_product) products.emplace_back(of, op);
  std::sort(products.begin(), products.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.first, a.second->handle) < std::pair(-b.first, b.second->handle);
  });
  const auto& [most_ns, largest] = products.front();
  if (context.ShareOfSpan(ns) < kMinLeadingHiddenShare) {
    report.Withhold("hidden_products",
                    fmt::format("{} before what reads the results of {}{}: their products run in "
                                "threads that are not recorded",
                                context.words.PerStep(Time(ns)), largest->row->name,
                                products.size() > 1 ? " and others" : ""));
    return std::move(hidden.gaps);
  }
  Finding finding;
  finding.id = "hidden_products";
  finding.sentence = {
      fmt::format("Products that run in threads which are not recorded are {} of the {}",
                  Percent(context.ShareOfSpan(ns)), context.words.whole),
      fmt::format("{} alone {}", largest->row->name, Time(most_ns)),
      InBrackets(context.SourceOf(*largest))};
  if (std::any_of(products.begin(), products.end(),
                  [](const auto& each) { return IsDoubleProduct(*each.second); })) {
    finding.variant = "float64";
  }
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.gaps = hidden.gaps;
  finding.where_op = largest->row->name;
  finding.where_layer = largest->row->layer_group;
  finding.where_source = context.SourceOf(*largest);
  finding.evidence.Add(context.words.PerStep("idle before what reads their results,"), ns, "ns");
  for (size_t i = 0; i < std::min<size_t>(products.size(), 3); ++i) {
    const auto& [of, op] = products[i];
    finding.evidence.Add("of it " + op->row->name, of, "ns", op->handle);
  }
  report.Add(std::move(finding));
  return std::move(hidden.gaps);
}

}  // namespace xlatrace::analysis::findings
