// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Id;

constexpr double kMinUnattributedShare = 0.05;
constexpr double kMinGraphShare = 0.02;
constexpr double kMinAutotuneShare = 0.01;

enum class Remedy : uint8_t { kNone, kMoreHlo, kRanges };

// kRanges: the HLO is there, but several of its instructions explain a launch. Only the ranges that
// XLA opens around launches identify one of them.
Remedy RemedyOf(model::Reason reason) {
  switch (reason) {
    case model::Reason::kNotXla:
    case model::Reason::kEager:
    case model::Reason::kTransfer:
    case model::Reason::kAutotuning:
      return Remedy::kNone;
    case model::Reason::kAmbiguousSymbol:
    case model::Reason::kAmbiguousModule:
      return Remedy::kRanges;
    default:
      return Remedy::kMoreHlo;
  }
}

void AddUnattributed(const Context& context, int64_t ns, int64_t all, Remedy remedy,
                     Report* report) {
  const double share = static_cast<double>(ns) / static_cast<double>(all);
  if (share < kMinUnattributedShare) return;
  const std::string_view where = context.steady_steps > 0 ? "steady steps" : "whole run";
  Finding finding;
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  std::string evidence;
  if (remedy == Remedy::kMoreHlo) {
    finding.id = "unattributed";
    evidence = "device time without an instruction that HLO could give";
  } else {
    finding.id = "ambiguous";
    evidence = "device time that several instructions of the held HLO explain";
  }
  finding.evidence.Add(fmt::format("{}, {}", evidence, where), ns, "ns")
      .Add(fmt::format("device time, {}", where), all, "ns");
  report->Add(std::move(finding));
}

void Unattributed(const Context& context, Report& report) {
  int64_t without_remedy = 0;
  int64_t lacks_hlo = 0;
  int64_t lacks_ranges = 0;
  int64_t all = 0;
  const bool steady = context.steady_steps > 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    if (steady && !context.InBasis(i)) continue;
    const int64_t ns = context.run.activities.self_ns[i];
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    all += ns;
    if (label.instruction_id != 0) continue;
    const Remedy remedy = RemedyOf(label.reason);
    (remedy == Remedy::kMoreHlo  ? lacks_hlo
     : remedy == Remedy::kRanges ? lacks_ranges
                                 : without_remedy) += ns;
  }
  if (all == 0) return;
  AddUnattributed(context, lacks_hlo, all, Remedy::kMoreHlo, &report);
  AddUnattributed(context, lacks_ranges, all, Remedy::kRanges, &report);
  if (without_remedy == all && context.run.modules.empty()) {
    report.Withhold("unattributed", "HLO: no kernel of this run is XLA's");
  }
}

// For modules that are known from annotations alone: the missing data, and how to record it.
void WithoutHlo(const Context& context, Report& report) {
  int64_t without = 0;
  int64_t all = 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    const int64_t ns = context.run.activities.self_ns[i];
    all += ns;
    const Id module = context.attribution.labels[context.attribution.label_of[i] - 1].module_id;
    if (module > 0 && static_cast<size_t>(module) <= context.run.modules.size() &&
        context.run.modules[static_cast<size_t>(module) - 1].source ==
            model::ModuleSource::kAnnotation) {
      without += ns;
    }
  }
  if (without == 0 || all == 0) return;
  report.Withhold(
      "hlo", fmt::format(
                 "bytes, FLOPs, shapes and operands of {} of device time: its modules are known by "
                 "annotations alone; run once more with XLA_FLAGS=--xla_dump_to=DIR, then "
                 "xlatrace attach run.db --modules DIR",
                 Percent(static_cast<double>(without) / static_cast<double>(all))));
}

void Graphs(const Context& context, Report& report) {
  if (context.graph_share < kMinGraphShare) return;
  Finding finding;
  finding.id = "graphs_not_expanded";
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  finding.evidence.AddReal("device time in graphs without nodes", 100 * context.graph_share, "%");
  report.Add(std::move(finding));
}

// Start of the second main execution. Earlier compilation and trials belong to the start.
int64_t EndOfStart(const Context& context) {
  std::vector<int64_t> starts;
  for (const model::Execution& execution : context.attribution.executions) {
    if (context.attribution.modules[static_cast<size_t>(execution.module_id) - 1].role ==
            model::ModuleRole::kMain &&
        execution.device_id == context.attribution.executions[0].device_id) {
      starts.push_back(execution.start_ns);
    }
  }
  std::sort(starts.begin(), starts.end());
  return starts.size() < 2 ? INT64_MAX : starts[1];
}

void Autotuning(const Context& context, Report& report) {
  const int64_t from = EndOfStart(context);
  int64_t ns = 0;
  int64_t kernels = 0;
  int64_t all = 0;
  for (size_t i = 0; i < context.run.activities.size(); ++i) {
    all += context.run.activities.self_ns[i];
    const model::Label& label = context.attribution.labels[context.attribution.label_of[i] - 1];
    if (label.origin != model::Origin::kAutotune || context.run.activities.start_ns[i] < from) {
      continue;
    }
    ns += context.run.activities.self_ns[i];
    ++kernels;
  }
  if (all == 0 || static_cast<double>(ns) < kMinAutotuneShare * static_cast<double>(all)) return;
  Finding finding;
  finding.id = "autotune_in_trace";
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  finding.evidence.Add("autotuning after the second step began", ns, "ns")
      .Add("its kernels", kernels, "count");
  report.Add(std::move(finding));
}

// A CPU records its ops itself, in the thread that runs them.
void RecordingCost(const Context& context, Report& report) {
  if (context.recorded_ops == 0) return;
  const auto ops = static_cast<int64_t>(context.recorded_ops + 0.5);
  const auto mean =
      static_cast<int64_t>(static_cast<double>(context.device_ns) / context.recorded_ops);
  Finding finding;
  finding.id = "recording_cost";
  finding.about_data = true;
  finding.sure = Sure::kHigh;
  finding.sentence = {
      "Recording is a large part of these times",
      fmt::format("{}, {} on average", context.words.PerStep(Thousands(ops) + " ops"), Time(mean))};
  finding.evidence.Add(context.words.PerStep("ops recorded,"), ops, "count")
      .Add("their mean time", mean, "ns");
  report.Add(std::move(finding));
}

// Products of which a CPU's profile shows the hand-over to other threads only.
void HiddenWork(const Context& context, Report& report) {
  const auto count =
      std::count_if(context.ops.begin(), context.ops.end(), [](const Op& op) { return op.hidden; });
  if (count == 0) return;
  report.Withhold(
      "hidden_work",
      fmt::format(
          "time of {} product{}: no CPU is as fast as recorded; threads that the profile does not "
          "show do the work, so its time is in `idle` or under what waits for it",
          count, count == 1 ? "" : "s"));
}

// TensorFlow records the same line of its own source for every op.
void SourceLines(const Context& context, Report& report) {
  int64_t ns = 0;
  int64_t all = 0;
  for (const Op& op : context.ops) {
    all += op.ns;
    if (!op.row->source_file.empty() && context.SourceOf(op).empty()) ns += op.ns;
  }
  if (all == 0 || 2 * ns < all) return;
  report.Withhold("source_lines",
                  fmt::format("source lines: for {} of the time the HLO holds only a frame of the "
                              "framework; use layers and op names instead",
                              Percent(static_cast<double>(ns) / static_cast<double>(all))));
}

}  // namespace

void CheckData(const Context& context, Report& report) {
  Unattributed(context, report);
  WithoutHlo(context, report);
  Graphs(context, report);
  Autotuning(context, report);
  RecordingCost(context, report);
  HiddenWork(context, report);
  SourceLines(context, report);
}

}  // namespace xlatrace::analysis::findings
