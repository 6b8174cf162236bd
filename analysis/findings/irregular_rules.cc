// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "base/text.h"

namespace xlatrace::analysis::findings {
namespace {

// "sort.3 and 2 others take 12.1 ms of 40.2 ms".
std::string TakesOfStep(const Context& context, const Site& site) {
  return fmt::format("{} of {}", Takes(context, site), Time(context.step_ns));
}

using model::OpKind;

constexpr double kMinIrregularShare = 0.01;
constexpr double kMinUnboundedShare = 0.1;  // For ops of unknown minimum time.
constexpr double kMinWastedShare = 0.5;
constexpr double kMinMemoryBoundShare = 0.8;  // Share of the achievable memory bandwidth.

bool IsScatterAdd(const Op& op) {
  if (op.facts->scatter) return true;
  // Backends that expand it into a loop keep the name.
  return LastPart(op.row->op_name).starts_with("scatter-add") ||
         LastPart(op.row->op_name).starts_with("scatter_add");
}

// Minimum time to add rows without collisions: the rows are read, and the table's rows are read and
// written.
int64_t ScatterFloor(const Context& context, const Op& op) {
  // The best rate of the run's own may be the scatter's.
  const auto rate = context.limits.bytes;
  if (!op.facts->scatter || !rate) return 0;
  return static_cast<int64_t>(3e9 * static_cast<double>(op.facts->scatter->update_bytes) *
                              std::max(op.calls, 1.0) / *rate);
}

void Scatters(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (IsScatterAdd(op)) ops.push_back(&op);
  }
  int64_t all = 0;
  bool found = false;
  for (const Site& site : SitesOf(context, ops)) {
    int64_t floor = 0;
    for (const Op* op : site.ops) floor += ScatterFloor(context, *op);
    const int64_t saves = site.ns - std::min(floor, site.ns);
    all += site.ns;
    if (context.ShareOfStep(saves) <
            (context.limits.bytes ? kMinIrregularShare : kMinUnboundedShare) ||
        static_cast<double>(saves) < kMinWastedShare * static_cast<double>(site.ns)) {
      continue;
    }
    found = true;
    const Op& largest = site.largest();
    const bool gradient = largest.row->phase == model::Phase::kBackward;
    Finding finding = FindingAbout(context, "scatter_add", site);
    int64_t product_ns = -1;
    if (largest.facts->scatter) {
      const ScatterFacts& scatter = *largest.facts->scatter;
      finding.evidence.Add("rows that are added", scatter.updates, "count", largest.handle)
          .Add("rows of the table", scatter.table_rows, "count", largest.handle)
          .Add("elements of a row", scatter.row_elements, "count", largest.handle);
      if (context.limits.half) {
        // Lookup and gradient as products with a one-hot matrix: two of these.
        product_ns =
            static_cast<int64_t>(2 * 2e9 * static_cast<double>(scatter.updates) *
                                 static_cast<double>(scatter.table_rows) *
                                 static_cast<double>(scatter.row_elements) / *context.limits.half);
      }
      finding.evidence.Add("time to add them once, without collisions", floor, "ns");
    }
    const bool product_wins = product_ns >= 0 && product_ns < saves / 2;
    if (product_ns >= 0) {
      finding.evidence.Add("lookup and gradient as one-hot products", product_ns, "ns");
    }
    const bool embedding = Has(largest.row->op_name, "embed") || Has(largest.row->layer, "embed");
    finding.values["embedding"] = embedding ? "embedding " : "";
    if (gradient) finding.variant = product_wins ? "one_hot" : "lookup";
    finding.sentence = {
        fmt::format("{} is {}",
                    gradient && embedding ? "The gradient of the embedding (a scatter-add)"
                    : gradient            ? "The gradient of a lookup (a scatter-add)"
                                          : "A scatter-add",
                    context.WorkShare(site.ns)),
        TakesOfStep(context, site), InBrackets(site.source)};
    // One product is the gradient. The other replaces the lookup and may take as long as it does
    // now.
    finding.saves_high_ns = product_wins ? saves - product_ns / 2 : saves;
    finding.saves_low_ns = product_wins ? saves - product_ns : context.limits.bytes ? saves / 2 : 0;
    finding.basis = floor > 0 ? Basis::kRoofline : Basis::kMeasured;
    finding.sure = context.Allowed(Sure::kHigh);
    if (context.step_count >= 2 && context.ShareOfStep(site.ns) > 0.2) finding.sure = Sure::kHigh;
    report.Add(std::move(finding));
  }
  if (!found && !ops.empty()) {
    report.Fine("scatter_add", {"scatter-adds", context.WorkShare(all)});
  }
}

void Sorts(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.row->op_kind == OpKind::kSort) ops.push_back(&op);
  }
  for (const Site& site : SitesOf(context, ops)) {
    if (context.ShareOfStep(site.ns) < 0.02) break;
    const OpFacts& facts = *site.largest().facts;
    const bool wide =
        facts.sorted_type == "s64" || facts.sorted_type == "u64" || facts.sorted_type == "f64";
    Finding finding = FindingAbout(context, "sort_slow", site);
    if (wide) finding.variant = "wide";
    finding.saves_high_ns = site.ns;
    finding.saves_low_ns = wide ? site.ns / 2 : 0;
    // With a large part of the step, the sort is the cause for any keys.
    const bool much = context.ShareOfStep(site.ns) > 0.2;
    finding.sure = context.Allowed(wide || much ? Sure::kMedium : Sure::kLow);
    finding.sentence = {fmt::format("Sorting is {}", context.WorkShare(site.ns)),
                        TakesOfStep(context, site), InBrackets(site.source)};
    if (facts.sorted_elements > 0) {
      finding.evidence.Add("elements of type " + facts.sorted_type, facts.sorted_elements, "count");
    }
    report.Add(std::move(finding));
  }
}

void RandomNumbers(const Context& context, Report& report) {
  // Shares of fusions count, so that masks inside a fusion with their user are found too.
  const auto& shares = context.attribution.shares;
  const auto is_random = [](std::string_view op_name) {
    // The last ones are functions of jax.random. On a backend without threefry (CPUs), only the
    // loop's name identifies them.
    for (const std::string_view part :
         {"threefry", "random_bits", "random_wrap", "rng_bit_generator", "jit(_uniform)",
          "jit(_normal)", "jit(_normal_real)", "jit(_truncated_normal)", "jit(_bernoulli)",
          "jit(_randint)", "jit(_gumbel)", "jit(_categorical)", "jit(_shuffle)"}) {
      if (Has(op_name, part)) return true;
    }
    return false;
  };
  int64_t all = 0;
  std::vector<const Op*> ops;
  std::map<std::string, double>
      lines;  // Where they are made: a fusion has lines of other work too.
  for (const Op& op : context.ops) {
    std::map<std::string, double> of_op;
    const auto begin = std::lower_bound(
        shares.begin(), shares.end(), op.time->instruction_id,
        [](const model::ShareRow& share, model::Id id) { return share.instruction_id < id; });
    int64_t ppm = 0;
    bool split = false;
    for (auto at = begin; at != shares.end() && at->instruction_id == op.time->instruction_id;
         ++at) {
      split = true;
      if (!is_random(at->op_name)) continue;
      ppm += at->share_ppm;
      const std::string line = context.SourceAt(op, at->stack_frame);
      if (!line.empty()) of_op[line] += static_cast<double>(at->share_ppm) * 1e-6;
    }
    if (!split && (is_random(op.row->op_name) || op.row->op_kind == OpKind::kRandom)) {
      ppm = 1'000'000;
    }
    if (ppm < 200'000) continue;
    // Masks inside a memory-bound fusion with their user. Without them it would take as long.
    const auto rate = op.BytesPerSecond();
    if (split && rate && context.limits.bytes &&
        *rate >= kMinMemoryBoundShare * *context.limits.bytes) {
      continue;
    }
    all += static_cast<int64_t>(static_cast<double>(op.ns) * static_cast<double>(ppm) / 1e6);
    ops.push_back(&op);
    for (const auto& [line, share] : of_op) lines[line] += share * static_cast<double>(op.ns);
  }
  if (ops.empty()) return;
  if (context.ShareOfStep(all) < 0.02) {
    report.Fine("random_numbers", {"random numbers", context.WorkShare(all)});
    return;
  }
  Finding finding = FindingAbout(context, "random_numbers", AllOf(context, ops));
  const auto line = std::max_element(
      lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (line != lines.end()) finding.where_source = line->first;
  if (context.on_cpu) finding.variant = "cpu";
  finding.saves_high_ns = all * 7 / 10;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.evidence.Add(context.words.PerStep("time of random numbers, by share,"), all, "ns");
  report.Add(std::move(finding));
}

// The name that a kernel of Triton or Pallas has in its source: the symbol of a launch of the op.
// Empty for other calls, and where no symbol was recorded.
std::string UserKernel(const Context& context, const Op& op) {
  const std::string& target = op.facts->target;
  if (!Has(target, "triton") && !Has(target, "mosaic") && !Has(target, "pallas")) return {};
  const model::AttributionTables& attribution = context.attribution;
  for (size_t i = 0; i < attribution.label_of.size(); ++i) {
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    if (label.instruction_id != op.time->instruction_id) continue;
    const model::LaunchConfig& config = context.run.configs[context.run.activities.config[i] - 1];
    if (config.kind == model::ActivityKind::kKernel) return config.symbol;
  }
  return {};
}

void CustomCalls(const Context& context, Report& report) {
  std::vector<const Op*> ops;
  for (const Op& op : context.ops) {
    if (op.facts->target.empty() || op.facts->host_callback || op.facts->dot) continue;
    if (op.row->op_kind != OpKind::kCustomCall && op.row->op_kind != OpKind::kOther) continue;
    ops.push_back(&op);
  }
  for (const Site& site : SitesOf(context, ops)) {
    if (context.ShareOfStep(site.ns) < 0.02) break;
    const std::string& target = site.largest().facts->target;
    const std::string kernel = UserKernel(context, site.largest());
    const bool linear_algebra = Has(target, "cusolver") || Has(target, "cublas") ||
                                Has(target, "potrf") || Has(target, "lapack") ||
                                Has(target, "triangular") || Has(target, "hipsolver");
    Finding finding = FindingAbout(context, "slow_custom_call", site);
    finding.values["target"] = kernel.empty() ? target : kernel;
    finding.variant = linear_algebra ? "linear_algebra" : kernel.empty() ? "" : "kernel";
    finding.saves_high_ns = site.ns;
    finding.saves_low_ns = 0;
    finding.sure = context.Allowed(linear_algebra ? Sure::kMedium : Sure::kLow);
    finding.evidence.AddReal(context.words.PerStep("calls"), site.largest().calls, "count",
                             site.largest().handle);
    report.Add(std::move(finding));
  }
}

}  // namespace

void CheckIrregular(const Context& context, Report& report) {
  Scatters(context, report);
  Sorts(context, report);
  RandomNumbers(context, report);
  CustomCalls(context, report);
}

}  // namespace xlatrace::analysis::findings
