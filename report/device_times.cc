// SPDX-License-Identifier: Apache-2.0
#include "report/device_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/apportion.h"
#include "base/hash.h"
#include "model/derived.h"
#include "report/kernel_names.h"
#include "report/op_columns.h"
#include "report/shown_words.h"
#include "report/source_figures.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using store::RunDb;
using store::Statement;
using store::Table;

struct InstructionKey {
  int64_t module_id = 0;
  std::string instruction;

  bool operator==(const InstructionKey&) const = default;
};

struct InstructionKeyHash {
  size_t operator()(const InstructionKey& key) const {
    return Mix(Hash(key.instruction), static_cast<uint64_t>(key.module_id));
  }
};

struct LaunchCount {
  int64_t basis = 0;
  int64_t run = 0;  // All.
};
using LaunchCounts = std::unordered_map<InstructionKey, LaunchCount, InstructionKeyHash>;

template <typename Figure>
void SortByTime(std::vector<Figure>& figures) {
  std::stable_sort(figures.begin(), figures.end(),
                   [](const Figure& a, const Figure& b) { return a.ns > b.ns; });
}

// ---- One pass over the activities -------------------------------------------------------------

class ActivityPass {
 public:
  ActivityPass(RunView& view, DeviceTimes& times) : view_(view), times_(times) {}

  Status Run(RunDb& db) {
    XLATRACE_ASSIGN(const Table steps, db.Select("SELECT device_id, step FROM step WHERE typical"));
    for (size_t i = 0; i < steps.rows.size(); ++i) {
      steady_[{steps.Int(i, "device_id"), steps.Int(i, "step")}] = true;
    }
    XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(db));
    for (size_t i = 0; i < lanes.rows.size(); ++i) {
      device_of_lane_.emplace(lanes.Int(i, "lane_id"), lanes.Int(i, "device_id"));
    }
    // Summed here, because GROUP BY would sort every activity on disk. Keys are the numbers of
    // label and configuration, because joining the names to every row would take most of the time.
    XLATRACE_TRY(store::ScanActivities(db, [this](const store::ScannedActivity& activity) {
      LabelSum& label = label_sums_[activity.label_id];
      Add(label.run, activity.self_ns);
      Sum& config = config_sums_[activity.config_id];
      if (!InBasis(activity)) return true;
      Add(label.basis, activity.self_ns);
      Add(config, activity.self_ns);
      return true;
    }));
    XLATRACE_TRY(AddLabels(db));
    XLATRACE_TRY(store::ScanConfigNames(db, [this](const store::ScannedNames& names) {
      const auto sum = config_sums_.find(names.config_id);
      if (sum == config_sums_.end()) return true;
      // By symbol, as handles are, because many kernels (templates) can share a short name.
      const std::string_view symbol = names.kernel_symbol;
      Kernel& kernel = kernels_[std::string(symbol.empty() ? names.name : symbol)];
      kernel.name = names.name;
      kernel.has_symbol = !symbol.empty();
      kernel.sum.ns += sum->second.ns;
      kernel.sum.activities += sum->second.activities;
      return true;
    }));
    Finish(coverage_[0], view_.run_coverage);
    Finish(coverage_[1], view_.coverage);
    // Names are those of the whole run, as on the page and in `show`.
    std::vector<NamedKernel> named;
    for (const auto& [symbol, kernel] : kernels_) {
      named.push_back({kernel.name, kernel.has_symbol ? symbol : std::string_view()});
    }
    const std::vector<std::string> names = KernelNames(named);
    size_t at = 0;
    for (const auto& [symbol, kernel] : kernels_) {
      const std::string& name = names[at++];
      if (kernel.sum.activities == 0) continue;
      NamedFigure figure;
      figure.name = name;
      figure.ns = kernel.sum.ns;
      figure.calls = kernel.sum.activities;
      view_.kernels.push_back(std::move(figure));
    }
    SortByTime(view_.kernels);
    return {};
  }

  const LaunchCounts& launches() const { return launches_; }

 private:
  struct Sum {
    int64_t ns = 0;
    int64_t activities = 0;
  };
  struct Kernel {
    std::string name;
    bool has_symbol = false;  // The key is the symbol, not the name.
    Sum sum;
  };
  using SumOf = std::map<std::string, Sum, std::less<>>;
  struct CoverageSums {
    Coverage coverage;
    SumOf exact, inferred;  // By evidence.
    SumOf reasons;
  };

  struct LabelSum {
    Sum run, basis;
  };

  bool InBasis(const store::ScannedActivity& activity) {
    if (!view_.basis.steady) return true;
    if (!activity.step) return false;
    // Activities of one device and step are mostly adjacent.
    const std::pair<int64_t, int64_t> key{device_of_lane_[activity.lane_id], *activity.step};
    if (key != last_key_) {
      last_key_ = key;
      last_is_steady_ = steady_.contains(key);
    }
    return last_is_steady_;
  }

  static void Add(Sum& sum, int64_t ns) {
    sum.ns += ns;
    ++sum.activities;
  }

  Status AddLabels(RunDb& db) {
    XLATRACE_ASSIGN(const Table labels, store::ScanLabels(db));
    for (size_t i = 0; i < labels.rows.size(); ++i) {
      const auto found = label_sums_.find(labels.Int(i, "label_id"));
      if (found == label_sums_.end()) continue;
      const LabelSum& sum = found->second;
      AddTo(coverage_[0], labels, i, sum.run);
      if (sum.basis.activities > 0) AddTo(coverage_[1], labels, i, sum.basis);
      if (!labels.IsNull(i, "module_id")) {
        DeviceTimes::Module& module = times_.modules[labels.Int(i, "module_id")];
        module.run_ns += sum.run.ns;
        module.basis_ns += sum.basis.ns;
      }
      if (!labels.IsNull(i, "instruction")) {
        LaunchCount& count = launches_[{labels.Int(i, "module_id"), labels.Text(i, "instruction")}];
        count.basis += sum.basis.activities;
        count.run += sum.run.activities;
      }
      label_sums_.erase(found);
    }
    for (const auto& [label, sum] : label_sums_) {  // For runs without attribution.
      AddNone(coverage_[0], "unknown", sum.run);
      if (sum.basis.activities > 0) AddNone(coverage_[1], "unknown", sum.basis);
    }
    return {};
  }

  static void AddNone(CoverageSums& sums, std::string_view reason, const Sum& sum) {
    sums.coverage.device_ns += sum.ns;
    sums.coverage.activities += sum.activities;
    sums.coverage.none_ns += sum.ns;
    sums.coverage.none_activities += sum.activities;
    Count(sums.reasons, reason, sum);
  }

  static void AddTo(CoverageSums& sums, const Table& labels, size_t row, const Sum& sum) {
    if (labels.IsNull(row, "instruction")) {
      return AddNone(sums, labels.Text(row, "unattributed_reason"), sum);
    }
    sums.coverage.device_ns += sum.ns;
    sums.coverage.activities += sum.activities;
    const bool exact = labels.Text(row, "confidence") == "exact";
    (exact ? sums.coverage.exact_ns : sums.coverage.inferred_ns) += sum.ns;
    Count(exact ? sums.exact : sums.inferred, labels.Text(row, "evidence"), sum);
  }

  static void Count(SumOf& sums, std::string_view word, const Sum& sum) {
    auto found = sums.find(word);
    if (found == sums.end()) found = sums.emplace(word, Sum()).first;
    found->second.ns += sum.ns;
    found->second.activities += sum.activities;
  }

  static void Finish(CoverageSums& sums, Coverage& coverage) {
    coverage = sums.coverage;
    for (const auto& [evidence, sum] : sums.exact) {
      coverage.evidence.push_back({"exact", evidence, sum.ns, sum.activities});
    }
    for (const auto& [evidence, sum] : sums.inferred) {
      coverage.evidence.push_back({"inferred", evidence, sum.ns, sum.activities});
    }
    for (const auto& [reason, sum] : sums.reasons) {
      coverage.reasons.push_back({reason, sum.ns, sum.activities});
    }
    SortByTime(coverage.evidence);
    SortByTime(coverage.reasons);
  }

  RunView& view_;
  DeviceTimes& times_;
  std::map<std::pair<int64_t, int64_t>, bool> steady_;
  std::pair<int64_t, int64_t> last_key_{INT64_MIN, INT64_MIN};
  bool last_is_steady_ = false;
  CoverageSums coverage_[2];  // [0]: the whole run; [1]: the basis (`RunView::basis`).
  std::unordered_map<std::string, Kernel> kernels_;
  LaunchCounts launches_;
  std::unordered_map<int64_t, int64_t> device_of_lane_;
  std::unordered_map<int64_t, LabelSum> label_sums_;
  std::unordered_map<int64_t, Sum> config_sums_;
};

// ---- Instructions and what their shares belong to ----------------------------------------------

Status LoadOps(RunDb& db, const LaunchCounts& launches, RunView& view) {
  XLATRACE_ASSIGN(
      const Table rows,
      db.Select(fmt::format(
          "SELECT {}, module, program_id, wasted_ns, bound_by, confidence, estimated, mixed,"
          " compute_utilisation_pct, memory_utilisation_pct, critical_pct, slack_ns, flops,"
          " compute_type FROM op_time WHERE op IS NOT NULL",
          kOpColumns)));
  XLATRACE_ASSIGN(const Table modules, db.Select("SELECT module_id, fingerprint FROM module"));
  std::unordered_map<int64_t, std::string> fingerprints;
  for (size_t i = 0; i < modules.rows.size(); ++i) {
    fingerprints.emplace(modules.Int(i, "module_id"), modules.Text(i, "fingerprint"));
  }
  std::set<std::pair<int64_t, std::string>> to_host;
  XLATRACE_TRY(
      db.ForEach("SELECT module_id, instruction FROM instruction WHERE op_kind = 'copy'"
                 " AND instr(shape, 'S(5)')",  // hlo::kHostMemorySpaceNumber.
                 [&](const Statement& row) {
                   to_host.emplace(row.Int64(0), row.Text(1));
                   return true;
                 }));
  const std::string_view time = view.basis.steady ? "steady_ns" : "self_ns";
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    OpFigure op;
    op.ns = rows.Int(i, time);
    if (op.ns == 0) continue;
    ReadOpColumns(rows, i, op);
    op.module_id = rows.Int(i, "module_id");
    op.module = rows.Text(i, "module");
    op.fingerprint = fingerprints[op.module_id];
    if (!rows.IsNull(i, "program_id")) op.program_id = rows.Int(i, "program_id");
    op.instruction = rows.Text(i, "instruction");
    op.run_self_ns = rows.Int(i, "self_ns");
    if (!rows.IsNull(i, "wasted_ns")) op.wasted_ns = rows.Int(i, "wasted_ns");
    op.bound_by = BoundWords(rows.Text(i, "bound_by"), op.op_kind);
    op.to_host = to_host.contains({op.module_id, op.instruction});
    // The device's rates do not apply to data on a link or a network.
    const bool roofed =
        op.bound_by != "link" && op.bound_by != "network" && op.bound_by != "waiting";
    for (const char* roof : {"compute_utilisation_pct", "memory_utilisation_pct"}) {
      if (!roofed || rows.IsNull(i, roof)) continue;
      op.peak_pct = std::max(op.peak_pct.value_or(0), rows.Real(i, roof));
    }
    if (!rows.IsNull(i, "flops") && rows.Int(i, "occurrences") > 0) {
      const auto flops = static_cast<double>(rows.Int(i, "flops"));
      op.flop_per_call = flops / static_cast<double>(rows.Int(i, "occurrences"));
      op.compute_type = rows.Text(i, "compute_type");
      if (!rows.IsNull(i, "compute_utilisation_pct")) {
        op.compute_pct = rows.Real(i, "compute_utilisation_pct");
      }
      const double seconds = static_cast<double>(op.run_self_ns) / 1e9;
      if (op.compute_pct > 0 && seconds > 0) {
        op.peak_flop_per_s = flops / seconds * 100 / op.compute_pct;
      }
    }
    if (!rows.IsNull(i, "critical_pct")) op.critical_pct = rows.Real(i, "critical_pct");
    if (!rows.IsNull(i, "slack_ns")) op.slack_ns = rows.Int(i, "slack_ns");
    op.confidence = rows.Text(i, "confidence");
    op.estimated = rows.Int(i, "estimated") != 0;
    op.mixed = rows.Int(i, "mixed") != 0;
    const auto found = launches.find({op.module_id, op.instruction});
    if (found != launches.end()) {
      const LaunchCount& count = found->second;
      op.calls = CallsOfLaunches(count.basis, count.run, rows.Int(i, "occurrences"));
    }
    view.ops.push_back(std::move(op));
  }
  SortByTime(view.ops);
  return {};
}

struct Share {
  int64_t ppm = 0;
  model::Phase phase = model::Phase::kUnknown;
  std::string layer_group;
  int64_t stack_id = 0;
};

Status LoadScopes(RunDb& db, RunView& view) {
  std::unordered_map<InstructionKey, size_t, InstructionKeyHash> op_of;
  for (size_t i = 0; i < view.ops.size(); ++i) {
    op_of.emplace(InstructionKey{view.ops[i].module_id, view.ops[i].instruction}, i);
  }
  std::vector<std::vector<Share>> shares(view.ops.size());
  XLATRACE_TRY(
      db.ForEach("SELECT module_id, instruction, phase, layer_group, stack_id, share_ppm"
                 " FROM instruction_share",
                 [&](const Statement& row) {
                   const auto found = op_of.find({row.Int64(0), std::string(row.Text(1))});
                   if (found == op_of.end()) return true;
                   shares[found->second].push_back({row.Int64(5), PhaseOrUnknown(row.Text(2)),
                                                    std::string(row.Text(3)), row.Int64(4)});
                   return true;
                 }));

  std::map<std::string, ScopeFigure> layers;
  XLATRACE_ASSIGN(const SourceStacks stacks, SourceStacks::Load(db));
  SourceFigures sources(stacks);
  std::map<std::string, NamedFigure> kinds;
  for (size_t i = 0; i < view.ops.size(); ++i) {
    const OpFigure& op = view.ops[i];
    NamedFigure& kind = kinds[op.op_kind];
    kind.ns += op.ns;
    kind.calls += op.calls;
    if (shares[i].empty()) {
      // An op that the framework ran itself is one part of the model.
      shares[i].push_back({model::kWholeSharePpm, op.phase, op.layer_group, op.stack_id});
    }
    std::vector<int64_t> weights, parts(shares[i].size());
    for (const Share& share : shares[i]) weights.push_back(share.ppm);
    analysis::Apportion(op.ns, weights, parts);
    for (size_t k = 0; k < parts.size(); ++k) {
      const Share& share = shares[i][k];
      if (share.phase == model::Phase::kUnknown) {
        if (op.op_kind == "copy" || op.op_kind == "memset") view.unphased_copies_ns += parts[k];
        if (op.op_kind == "collective") view.unphased_collectives_ns += parts[k];
      }
      ScopeFigure& layer = layers[share.layer_group];
      layer.ns += parts[k];
      layer.phases[static_cast<size_t>(share.phase)] += parts[k];
      if (share.ppm < model::kWholeSharePpm) layer.estimated_ns += parts[k];
      sources.Add(share.stack_id, share.phase, parts[k], share.ppm < model::kWholeSharePpm);
    }
  }
  for (auto& [name, figure] : layers) {
    figure.name = name;
    view.layers.push_back(std::move(figure));
  }
  view.sources = sources.Lines();
  view.stacks = sources.Tree();
  for (auto& [name, figure] : kinds) {
    figure.name = name;
    view.kinds.push_back(std::move(figure));
  }
  SortByTime(view.layers);
  SortByTime(view.kinds);
  return {};
}

Status LoadPhases(RunDb& db, RunView& view) {
  const std::string_view sql =
      view.basis.steady
          ? "SELECT p.phase, sum(p.self_ns) AS ns, sum(p.estimated_ns) AS estimated"
            " FROM phase_time p JOIN step s ON s.device_id = p.device_id AND s.step = p.step"
            " WHERE s.typical GROUP BY p.phase"
          : "SELECT phase, sum(self_ns) AS ns, sum(estimated_ns) AS estimated FROM phase_time"
            " GROUP BY phase";
  XLATRACE_ASSIGN(const Table rows, db.Select(sql));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    view.phases[static_cast<size_t>(PhaseOrUnknown(rows.Text(i, "phase")))] += rows.Int(i, "ns");
    view.phases_estimated_ns += rows.Int(i, "estimated");
  }
  // Time outside of all layers is the time without an instruction.
  view.none_phases = view.phases;
  for (const ScopeFigure& layer : view.layers) {
    for (size_t p = 0; p < kPhaseCount; ++p) view.none_phases[p] -= layer.phases[p];
  }
  return {};
}

}  // namespace

Result<DeviceTimes> LoadDeviceTimes(RunDb& db, RunView& view) {
  DeviceTimes times;
  ActivityPass pass(view, times);
  XLATRACE_TRY(pass.Run(db));
  XLATRACE_TRY(LoadOps(db, pass.launches(), view));
  XLATRACE_TRY(LoadScopes(db, view));
  XLATRACE_TRY(LoadPhases(db, view));
  return times;
}

}  // namespace xlatrace::report
