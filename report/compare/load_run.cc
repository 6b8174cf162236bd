// SPDX-License-Identifier: Apache-2.0
#include "report/compare/load_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/apportion.h"
#include "base/hash.h"
#include "report/compare/activity_sums.h"
#include "report/compare/compare_modules.h"
#include "report/compare/compare_ops.h"
#include "report/compare/main_programs.h"
#include "report/compile/compile_summary.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using compare::Op;
using store::RunDb;
using store::Table;

class Loader {
 public:
  Loader(RunDb& db, const RunView& view, bool whole_run) : db_(db), view_(view) {
    run_.steady = view.basis.steady && !whole_run;
    run_.has_steps = view.basis.steady;
    run_.step_devices = run_.steady ? std::max<int64_t>(view.basis.step_devices, 1) : 1;
  }

  Result<compare::Run> Load() {
    Facts();
    XLATRACE_ASSIGN(LabelShares shares, LabelShares::Load(db_));
    XLATRACE_ASSIGN(sums_, SumActivities(db_, run_.steady, shares));
    XLATRACE_ASSIGN(module_of_, LoadCompareModules(db_, view_, run_));
    CompareOps ops(db_, module_of_, shares, sums_, run_);
    XLATRACE_TRY(ops.Load());
    Scale(ops.counts());
    XLATRACE_TRY(ops.LoadShares());
    XLATRACE_TRY(CountedFacts(ops.counts()));
    XLATRACE_ASSIGN(const Table clock, db_.Select("SELECT max(clock_hz) AS hz FROM device"));
    if (!clock.rows.empty() && !clock.IsNull(0, "hz")) run_.clock_hz = clock.Int(0, "hz");
    XLATRACE_ASSIGN(
        const Table span,
        db_.Select("SELECT CAST(avg(end_ns - start_ns) AS INTEGER) AS ns FROM busy_time"));
    if (!span.rows.empty() && !span.IsNull(0, "ns")) run_.span_ns = span.Int(0, "ns");
    run_.content_id = ContentId();
    return std::move(run_);
  }

 private:
  void Facts() {
    run_.path = view_.path;
    run_.title = view_.title;
    run_.command = view_.command;
    run_.framework = view_.framework;
    run_.granularity = view_.granularity;
    run_.source = view_.source;
    run_.device_count = view_.device_count;
    run_.processes = view_.processes;
    run_.lost = view_.lost;
    run_.partial = view_.IsPartial();
    run_.fake = view_.OnFakeGpu();
    for (const DeviceFigure& device : view_.devices) {
      run_.devices.emplace_back(device.name.empty() ? device.kind : device.name, device.count);
      run_.cpu = run_.cpu || device.kind == "cpu";
    }
    for (const auto& [key, value] : view_.info) {
      if (key.ends_with("_version") && key != "tool_version")
        run_.versions.emplace_back(key, value);
      if (key == "driver" || key == "cuda") run_.versions.emplace_back(key, value);
      if (key == "xla_flags") {
        run_.flags_known = true;
        run_.xla_flags = value == "none" ? std::string() : value;
      }
      if (key == "start_unix_ns") start_ = value;
    }
    if (run_.steady) {
      for (const StepFigure& step : view_.steps.all) {
        if (step.steady) run_.steps.push_back(step.wall_ns);
      }
      run_.step_ns = view_.steps.typical_ns;
      Amid();
      run_.has_parts = view_.has_step_parts;
      if (run_.has_parts) {
        std::vector<int64_t> weights(view_.step_parts.begin(), view_.step_parts.end());
        std::vector<int64_t> parts(weights.size());
        analysis::Apportion(run_.step_ns, weights, parts);
        std::copy(parts.begin(), parts.end(), run_.parts.begin());
      }
    }
    for (const GapFigure& gap : view_.gaps) {
      run_.gaps.push_back({gap.cause, gap.ns / run_.step_devices, gap.count});
    }
  }

  void Amid() {
    const auto& all = view_.steps.all;
    const auto steady = [](const StepFigure& step) { return step.steady; };
    const auto first = std::find_if(all.begin(), all.end(), steady);
    const auto last = std::find_if(all.rbegin(), all.rend(), steady).base();
    if (first >= last) return;
    int64_t sum = 0;
    for (auto step = first; step != last; ++step) {
      sum += step->wall_ns;
      run_.unsteady_amid += step->steady ? 0 : 1;
    }
    run_.amid_ns = sum / (last - first);
  }

  // Whole nanoseconds per step that sum to the whole.
  void Scale(const OpCounts& counts) {
    std::stable_sort(run_.ops.begin(), run_.ops.end(), [](const Op& a, const Op& b) {
      if (a.ns != b.ns) return a.ns > b.ns;
      return std::pair(a.module, a.instruction) < std::pair(b.module, b.instruction);
    });
    if (run_.ops.empty()) return;
    std::vector<int64_t> weights, parts(run_.ops.size());
    int64_t all = 0;
    for (const Op& op : run_.ops) {
      weights.push_back(std::max<int64_t>(op.ns, 0));
      all += weights.back();
    }
    run_.device_ns = (all + run_.step_devices / 2) / run_.step_devices;
    analysis::Apportion(run_.device_ns, weights, parts);
    for (size_t i = 0; i < parts.size(); ++i) run_.ops[i].ns = parts[i];
    // Autotuning happens in one run; the next run reads its results from a cache.
    const int64_t known = all - counts.autotuning_ns;
    if (known > 0) {
      run_.attributed =
          static_cast<double>(known - counts.unlabelled_ns) / static_cast<double>(known);
    }
  }

  // 64 stretches of 800 calls give nearly the same median as millions of calls. A run with fewer
  // calls is read as a whole.
  Status LaunchCall() {
    static constexpr int64_t kStretchCount = 64, kCallsOfStretchCount = 800;
    XLATRACE_ASSIGN(const int64_t last, store::LastCallId(db_));
    std::map<std::string, std::vector<int64_t>> durations;
    const int64_t apart = std::max(kCallsOfStretchCount, last / kStretchCount);
    for (int64_t first = 1; first <= last; first += apart) {
      XLATRACE_TRY(db_.ForEach(
          fmt::format("SELECT name, end_ns - start_ns FROM api_call WHERE api_call_id >= {} AND"
                      " api_call_id < {} AND name LIKE '%LaunchKernel%'",
                      first, first + kCallsOfStretchCount),
          [&](const store::Statement& row) {
            if (!row.IsNull(1)) durations[std::string(row.Text(0))].push_back(row.Int64(1));
            return true;
          }));
    }
    const auto most = std::max_element(
        durations.begin(), durations.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (most == durations.end()) return {};
    std::vector<int64_t>& of_most = most->second;
    const auto middle = of_most.begin() + static_cast<std::ptrdiff_t>(of_most.size() / 2);
    std::nth_element(of_most.begin(), middle, of_most.end());
    run_.launch_call = most->first;
    run_.launch_call_ns = *middle;
    return {};
  }

  Status CountedFacts(const OpCounts& counts) {
    XLATRACE_TRY(LaunchCall());
    if (counts.launches > 0) run_.launches = run_.PerStep(counts.launches);
    if (!view_.launch_queues.empty()) {
      int64_t calls = 0;
      // A device without a steady launch has the queue of the whole run.
      for (const LaunchQueueFigure& queue : view_.launch_queues) {
        if (queue.steady) calls += queue.calls;
      }
      if (run_.steady) run_.host_calls = run_.PerStep(calls);
    }
    if (counts.has_kernels && sums_.activities > 0) {
      XLATRACE_ASSIGN(const auto graphs, store::ScanGraphLaunches(db_));
      int64_t in_graphs = 0;
      for (const store::ScannedGraphLaunch& graph : graphs) in_graphs += graph.activities;
      run_.graph_share = static_cast<double>(in_graphs) / static_cast<double>(sums_.activities);
    }
    double bytes = 0;
    double flops = 0;
    for (const Op& op : run_.ops) {
      const double calls = run_.PerStep(op.calls);
      if (op.bytes) bytes += static_cast<double>(*op.bytes) * calls;
      if (op.flops) flops += static_cast<double>(*op.flops) * calls;
    }
    if (bytes > 0) run_.bytes = bytes;
    if (flops > 0) run_.flops = flops;
    int64_t all_ns = 0;
    for (const auto& [key, sum] : sums_.by_label_and_config) all_ns += sum.ns;
    XLATRACE_TRY(
        FindMainPrograms(db_, {module_of_, counts.of_module, sums_.execution_ns, all_ns}, run_));
    // Programs compiled for the main function: more than one is a recompilation.
    int64_t versions = 0;
    std::string function;
    for (const compare::Module& module : run_.modules) {
      if (module.role == "main" && function.empty()) function = module.function;
    }
    for (const compare::Module& module : run_.modules) {
      versions += !function.empty() && module.function == function && module.run_ns > 0;
    }
    if (versions > 0) run_.compilations = versions;
    XLATRACE_ASSIGN(const std::optional<CompileTotals> totals, LoadCompileTotals(db_));
    if (totals) run_.compile_ns = totals->ns;
    if (totals && totals->is_explained) run_.recompilations = totals->recompilations;
    return {};
  }

  // A hash of start time and activities, not of the file: two imports of a trace are equal.
  std::string ContentId() const {
    if (sums_.activities == 0 && start_.empty()) return {};
    return HashText(Hash(fmt::format("{}|{}|{}|{}|{}", start_, sums_.activities, sums_.checksum,
                                     run_.source, run_.command)));
  }

  RunDb& db_;
  const RunView& view_;
  compare::Run run_;
  std::string start_;
  ActivitySums sums_;
  ModuleIndex module_of_;
};

}  // namespace

Result<compare::Run> LoadCompareRun(RunDb& db, const RunView& view, const LoadRunOptions& options) {
  return Loader(db, view, options.whole_run).Load();
}

Result<RunPair> LoadRunPair(RunDb& base_db, const RunView& base_view, RunDb& now_db,
                            const RunView& now_view) {
  LoadRunOptions options;
  options.whole_run = !base_view.basis.steady || !now_view.basis.steady;
  RunPair pair;
  XLATRACE_ASSIGN(pair.base, LoadCompareRun(base_db, base_view, options));
  XLATRACE_ASSIGN(pair.now, LoadCompareRun(now_db, now_view, options));
  LoadOtherModules(base_db, pair.now, pair.base);
  LoadOtherModules(now_db, pair.base, pair.now);
  return pair;
}

}  // namespace xlatrace::report
