#include "report/compare/load_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analysis/apportion.h"
#include "base/hash.h"
#include "hlo/text/text_reader.h"
#include "report/compare/main_programs.h"
#include "report/shown_words.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using compare::KernelUse;
using compare::Op;
using compare::OpShare;
using store::RunDb;
using store::Statement;
using store::Table;

struct Sum {
  int64_t ns = 0;
  int64_t calls = 0;
};

class Loader {
 public:
  Loader(RunDb& db, const RunView& view, bool whole_run) : db_(db), view_(view) {
    run_.steady = view.basis.steady && !whole_run;
    run_.has_steps = view.basis.steady;
    run_.step_devices = run_.steady ? std::max<int64_t>(view.basis.step_devices, 1) : 1;
  }

  Result<compare::Run> Load() {
    Facts();
    XLATRACE_TRY(Scan());
    XLATRACE_TRY(Modules());
    XLATRACE_TRY(Ops());
    Scale();
    XLATRACE_TRY(Shares());
    XLATRACE_TRY(CountedFacts());
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
      run_.step_ns = view_.steps.mean_ns;
      run_.has_parts = view_.has_step_parts;
      if (run_.has_parts) {
        std::vector<int64_t> weights(view_.step_parts.begin(), view_.step_parts.end());
        std::vector<int64_t> parts(weights.size());
        analysis::Apportion(run_.step_ns, weights, parts);
        std::copy(parts.begin(), parts.end(), run_.parts.begin());
      }
      for (const GapFigure& gap : view_.gaps) {
        run_.gaps.push_back({gap.cause, gap.ns / run_.step_devices, gap.count});
      }
    }
  }

  // Device time by label and configuration, of the basis.
  Status Scan() {
    std::map<std::pair<int64_t, int64_t>, bool> steady;
    if (run_.steady) {
      XLATRACE_ASSIGN(const Table steps,
                      db_.Select("SELECT device_id, step FROM step WHERE steady"));
      for (size_t i = 0; i < steps.rows.size(); ++i) {
        steady[{steps.Int(i, "device_id"), steps.Int(i, "step")}] = true;
      }
    }
    std::unordered_map<int64_t, int64_t> device_of_lane;
    XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(db_));
    for (size_t i = 0; i < lanes.rows.size(); ++i) {
      device_of_lane.emplace(lanes.Int(i, "lane_id"), lanes.Int(i, "device_id"));
    }
    std::pair<int64_t, int64_t> last{INT64_MIN, INT64_MIN};
    bool last_is_steady = false;
    int64_t last_lane = INT64_MIN;
    int64_t device = 0;
    XLATRACE_TRY(store::ScanActivities(db_, [&](const store::ScannedActivity& activity) {
      ++activities_;
      // Stored in baselines (ContentId), so this stays as it is.
      checksum_ += static_cast<uint64_t>(activity.duration_ns) * 0x9e3779b97f4a7c15u ^
                   static_cast<uint64_t>(activity.start_ns);
      if (run_.steady) {
        if (!activity.step) return true;
        if (activity.lane_id != last_lane) {
          last_lane = activity.lane_id;
          device = device_of_lane[last_lane];
        }
        const std::pair<int64_t, int64_t> key{device, *activity.step};
        if (key != last) {
          last = key;
          last_is_steady = steady.contains(key);
        }
        if (!last_is_steady) return true;
      }
      Sum& sum = sums_[static_cast<uint64_t>(activity.label_id) << 32 |
                       static_cast<uint64_t>(activity.config_id)];
      sum.ns += activity.self_ns;
      ++sum.calls;
      if (activity.execution_id > 0) {
        const auto execution = static_cast<size_t>(activity.execution_id);
        if (execution >= execution_ns_.size()) execution_ns_.resize(execution + 1);
        execution_ns_[execution] += activity.self_ns;
      }
      return true;
    }));
    return {};
  }

  Status Modules() {
    XLATRACE_ASSIGN(const Table rows,
                    db_.Select("SELECT module_id, handle, name, fingerprint, role,"
                               " framework_function, peak_memory_bytes FROM module"));
    std::unordered_map<int64_t, const ModuleFigure*> figures;
    for (const ModuleFigure& figure : view_.modules) figures.emplace(figure.module_id, &figure);
    // Modules of one fingerprint are one: every process of a job has its own.
    std::map<std::string, size_t> known;
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      const std::string fingerprint = rows.Text(i, "fingerprint");
      const std::string name = rows.Text(i, "name");
      const auto [at, is_new] = known.try_emplace(
          fingerprint.empty() ? "name " + name : fingerprint, run_.modules.size());
      if (is_new) {
        compare::Module& module = run_.modules.emplace_back();
        module.handle = rows.Text(i, "handle");
        module.name = name;
        module.fingerprint = fingerprint;
        module.role = rows.Text(i, "role");
        module.function = rows.Text(i, "framework_function");
        if (!rows.IsNull(i, "peak_memory_bytes")) {
          module.peak_memory_bytes = rows.Int(i, "peak_memory_bytes");
        }
      }
      compare::Module& module = run_.modules[at->second];
      module_of_.emplace(rows.Int(i, "module_id"), at->second);
      const auto figure = figures.find(rows.Int(i, "module_id"));
      if (figure == figures.end()) continue;
      module.ns += run_.steady ? figure->second->ns : figure->second->run_ns;
      module.run_ns += figure->second->run_ns;
      module.executions += figure->second->executions;
      if (module.role == "main" && module.peak_memory_bytes) {
        run_.peak_memory_bytes =
            std::max(run_.peak_memory_bytes.value_or(0), *module.peak_memory_bytes);
      }
    }
    // Ops that the framework ran itself are a module's to the comparison.
    XLATRACE_ASSIGN(const Table own, db_.Select("SELECT sum(self_ns) AS ns, sum(steady_ns) AS"
                                                " steady_ns FROM op_time WHERE op IS NOT NULL AND"
                                                " module_id IS NULL"));
    if (!own.IsNull(0, "ns")) {
      module_of_.emplace(0, run_.modules.size());
      compare::Module& module = run_.modules.emplace_back();
      module.name = module.fingerprint = "ops outside of modules";
      module.run_ns = own.Int(0, "ns");
      module.ns = run_.steady ? own.Int(0, "steady_ns") : module.run_ns;
    }
    return {};
  }

  size_t OpOf(int64_t module_id, const std::string& instruction) {
    const size_t module = module_of_.at(module_id);
    const auto [at, is_new] =
        by_name_.try_emplace(fmt::format("{}\n{}", module, instruction), run_.ops.size());
    if (is_new) {
      Op& op = run_.ops.emplace_back();
      op.module = module;
      op.instruction = instruction;
    }
    return at->second;
  }

  // How often an op runs in a call of its module. A recording may begin or end within one.
  static double CallsOf(int64_t occurrences, int64_t executions) {
    if (executions <= 0) return 0;
    const double calls = static_cast<double>(occurrences) / static_cast<double>(executions);
    const double whole = std::round(calls);
    return std::abs(calls - whole) * static_cast<double>(executions) <= 2 ? whole : calls;
  }

  Status Ops() {
    XLATRACE_ASSIGN(
        const Table rows,
        db_.Select("SELECT handle, module_id, op AS instruction, category, op_kind, phase,"
                   " layer, layer_group, op_name, source_file, source_line, self_ns,"
                   " occurrences, steady_ns FROM op_time WHERE op IS NOT NULL"));
    std::unordered_map<std::string, int64_t> ran;
    const std::string_view time = run_.steady ? "steady_ns" : "self_ns";
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      if (rows.Int(i, "self_ns") > 0) {
        ran[fmt::format("{}\n{}", module_of_.at(rows.Int(i, "module_id")),
                        rows.Text(i, "instruction"))] += rows.Int(i, "occurrences");
      }
      const int64_t ns = rows.Int(i, time);
      if (ns == 0) continue;
      Op& op = run_.ops[OpOf(rows.Int(i, "module_id"), rows.Text(i, "instruction"))];
      op.ns += ns;
      if (!op.handle.empty()) continue;  // Of another process: the same instruction.
      op.handle = rows.Text(i, "handle");
      op.category = rows.Text(i, "category");
      op.op_kind = rows.Text(i, "op_kind");
      op.phase = PhaseOrUnknown(rows.Text(i, "phase"));
      op.layer = rows.Text(i, "layer");
      op.layer_group = rows.Text(i, "layer_group");
      op.op_name = rows.Text(i, "op_name");
      op.source_file = rows.Text(i, "source_file");
      if (!rows.IsNull(i, "source_line")) op.source_line = rows.Int(i, "source_line");
    }
    XLATRACE_TRY(db_.ForEach(
        "SELECT module_id, instruction, opcode, shape, flops, bytes FROM instruction",
        [&](const Statement& row) {
          const auto module = module_of_.find(row.Int64(0));
          if (module == module_of_.end()) return true;
          const std::string key = fmt::format("{}\n{}", module->second, row.Text(1));
          if (const auto found = ran.find(key); found != ran.end()) {
            OpCount& count = ops_of_module_[module->second];
            ++count.all;
            count.fusions += row.Text(2) == "fusion";
            const double calls = CallsOf(found->second, run_.modules[module->second].executions);
            count.launches += calls;
            count.bytes += calls * static_cast<double>(row.OptionalInt64(5).value_or(0));
            count.flops += calls * static_cast<double>(row.OptionalInt64(4).value_or(0));
            ran.erase(found);
          }
          const auto at = by_name_.find(key);
          if (at == by_name_.end()) return true;
          Op& op = run_.ops[at->second];
          if (!op.opcode.empty()) return true;
          op.opcode = row.Text(2);
          op.shape = row.Text(3);
          op.flops = row.OptionalInt64(4);
          op.bytes = row.OptionalInt64(5);
          return true;
        }));
    return Kernels();
  }

  // How ops were launched; and what has no instruction, as ops of their own by reason and kernel.
  Status Kernels() {
    XLATRACE_ASSIGN(const Table configs, store::ScanConfigs(db_));
    std::unordered_map<int64_t, size_t> config_row;
    for (size_t i = 0; i < configs.rows.size(); ++i) {
      config_row.emplace(configs.Int(i, "config_id"), i);
    }
    XLATRACE_ASSIGN(const Table labels, store::ScanLabels(db_));
    std::unordered_map<int64_t, size_t> label_row;
    for (size_t i = 0; i < labels.rows.size(); ++i) {
      label_row.emplace(labels.Int(i, "label_id"), i);
    }
    std::map<std::pair<std::string, std::string>, size_t> unlabelled;
    for (const auto& [key, sum] : sums_) {
      const auto config = config_row.find(static_cast<int64_t>(key & UINT32_MAX));
      KernelUse use;
      use.ns = sum.ns;
      use.calls = sum.calls;
      if (config != config_row.end()) {
        const size_t row = config->second;
        use.name = configs.Text(row, "kernel_symbol");
        // A mangled symbol says no more than the name, and nobody reads it.
        if (use.name.empty() || use.name.starts_with("_Z")) use.name = configs.Text(row, "name");
        use.grid = {configs.Int(row, "grid_x"), configs.Int(row, "grid_y"),
                    configs.Int(row, "grid_z")};
        use.block = {configs.Int(row, "block_x"), configs.Int(row, "block_y"),
                     configs.Int(row, "block_z")};
        use.registers = configs.Int(row, "registers_per_thread");
        use.shared_memory_bytes = configs.Int(row, "shared_memory_static_bytes") +
                                  configs.Int(row, "shared_memory_dynamic_bytes");
        if (!configs.IsNull(row, "theoretical_occupancy_pct")) {
          use.occupancy_pct = configs.Real(row, "theoretical_occupancy_pct");
        }
        if (configs.Text(row, "kind") == "kernel") has_kernels_ = true;
      }
      launches_ += sum.calls;
      const auto label = label_row.find(static_cast<int64_t>(key >> 32));
      if (label != label_row.end() && !labels.IsNull(label->second, "instruction")) {
        const size_t row = label->second;
        const auto module = module_of_.find(labels.Int(row, "module_id"));
        if (module == module_of_.end()) continue;
        const auto at =
            by_name_.find(fmt::format("{}\n{}", module->second, labels.Text(row, "instruction")));
        if (at == by_name_.end()) continue;
        Op& op = run_.ops[at->second];
        op.calls += sum.calls;
        const auto same =
            std::find_if(op.kernels.begin(), op.kernels.end(), [&](const auto& other) {
              return other.name == use.name && other.grid == use.grid && other.block == use.block;
            });
        if (same != op.kernels.end()) {
          same->ns += use.ns;
          same->calls += use.calls;
        } else {
          op.kernels.push_back(std::move(use));
        }
        continue;
      }
      // Work outside XLA that is led back to a framework's op has evidence and no instruction.
      const bool labelled = label != label_row.end() && !labels.IsNull(label->second, "evidence");
      const std::string reason = label == label_row.end()
                                     ? std::string("unknown")
                                     : labels.Text(label->second, "unattributed_reason");
      if (reason == model::Text(model::Reason::kAutotuning)) {
        autotuning_ns_ += sum.ns;
      } else if (!labelled) {
        unlabelled_ns_ += sum.ns;
      }
      const auto [at, is_new] = unlabelled.try_emplace({reason, use.name}, run_.ops.size());
      if (is_new) {
        Op& op = run_.ops.emplace_back();
        op.reason = reason;
        op.op_kind = "other";
        op.phase = reason == model::Text(model::Reason::kAutotuning) ? model::Phase::kOther
                                                                     : model::Phase::kUnknown;
      }
      Op& op = run_.ops[at->second];
      op.ns += use.ns;
      op.calls += use.calls;
      op.kernels.push_back(std::move(use));
    }
    for (Op& op : run_.ops) {
      std::stable_sort(op.kernels.begin(), op.kernels.end(), [](const auto& a, const auto& b) {
        return a.ns != b.ns ? a.ns > b.ns : a.name < b.name;
      });
    }
    return {};
  }

  // Whole nanoseconds per step that sum to the whole.
  void Scale() {
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
    // Autotuning happens in one run and is read from a cache in the next.
    const int64_t known = all - autotuning_ns_;
    if (known > 0) {
      run_.attributed = static_cast<double>(known - unlabelled_ns_) / static_cast<double>(known);
    }
  }

  Status Shares() {
    by_name_.clear();
    for (size_t i = 0; i < run_.ops.size(); ++i) {
      if (run_.ops[i].instruction.empty()) continue;
      by_name_.emplace(fmt::format("{}\n{}", run_.ops[i].module, run_.ops[i].instruction), i);
    }
    struct Shares {
      int64_t module_id = 0;
      std::vector<int64_t> ppm;
    };
    std::vector<Shares> shares(run_.ops.size());
    XLATRACE_TRY(db_.ForEach(
        "SELECT module_id, instruction, op_name, phase, layer, layer_group, source_file,"
        " source_line, share_ppm FROM instruction_share WHERE share_ppm < 1000000",
        [&](const Statement& row) {
          const auto module = module_of_.find(row.Int64(0));
          if (module == module_of_.end()) return true;
          const auto at = by_name_.find(fmt::format("{}\n{}", module->second, row.Text(1)));
          if (at == by_name_.end()) return true;
          Shares& of = shares[at->second];
          if (of.module_id != 0 && of.module_id != row.Int64(0)) return true;
          of.module_id = row.Int64(0);
          of.ppm.push_back(row.Int64(8));
          OpShare& share = run_.ops[at->second].shares.emplace_back();
          share.op_name = row.Text(2);
          share.phase = PhaseOrUnknown(row.Text(3));
          share.layer = row.Text(4);
          share.layer_group = row.Text(5);
          share.source_file = row.Text(6);
          share.source_line = row.OptionalInt64(7);
          return true;
        }));
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i].ppm.empty()) continue;
      std::vector<int64_t> parts(shares[i].ppm.size());
      analysis::Apportion(run_.ops[i].ns, shares[i].ppm, parts);
      for (size_t k = 0; k < parts.size(); ++k) run_.ops[i].shares[k].ns = parts[k];
    }
    return {};
  }

  Status CountedFacts() {
    if (launches_ > 0) run_.launches = run_.PerStep(launches_);
    if (!view_.launch_queues.empty()) {
      int64_t calls = 0;
      for (const LaunchQueueFigure& queue : view_.launch_queues) calls += queue.calls;
      if (run_.steady) run_.host_calls = run_.PerStep(calls);
    }
    if (has_kernels_ && activities_ > 0) {
      XLATRACE_ASSIGN(const auto graphs, store::ScanGraphLaunches(db_));
      int64_t in_graphs = 0;
      for (const store::ScannedGraphLaunch& graph : graphs) in_graphs += graph.activities;
      run_.graph_share = static_cast<double>(in_graphs) / static_cast<double>(activities_);
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
    for (const auto& [key, sum] : sums_) all_ns += sum.ns;
    XLATRACE_TRY(FindMainPrograms(db_, {module_of_, ops_of_module_, execution_ns_, all_ns}, run_));
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
    return {};
  }

  // Of when and what was recorded, not of the file: importing a trace twice gives it twice.
  std::string ContentId() const {
    if (activities_ == 0 && start_.empty()) return {};
    return HashText(Hash(
        fmt::format("{}|{}|{}|{}|{}", start_, activities_, checksum_, run_.source, run_.command)));
  }

  RunDb& db_;
  const RunView& view_;
  compare::Run run_;
  std::string start_;
  int64_t activities_ = 0, launches_ = 0;
  uint64_t checksum_ = 0;
  int64_t autotuning_ns_ = 0, unlabelled_ns_ = 0;  // Of the basis.
  bool has_kernels_ = false;
  std::vector<int64_t> execution_ns_;       // Device time of the basis, by execution_id.
  std::unordered_map<uint64_t, Sum> sums_;  // By label (high half) and configuration.
  std::unordered_map<int64_t, size_t> module_of_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<size_t, OpCount> ops_of_module_;  // That ran at all.
};

}  // namespace

Result<compare::Run> LoadCompareRun(RunDb& db, const RunView& view, const LoadRunOptions& options) {
  return Loader(db, view, options.whole_run).Load();
}

void LoadOtherModules(RunDb& db, const compare::Run& other, compare::Run& run) {
  std::set<std::string> known;
  for (const compare::Module& module : other.modules) known.insert(module.fingerprint);
  const auto ids = db.Select("SELECT module_id, handle FROM module");
  if (!ids) return;
  std::map<std::string, int64_t> id_of;
  for (size_t i = 0; i < ids->rows.size(); ++i) {
    id_of.emplace(ids->Text(i, "handle"), ids->Int(i, "module_id"));
  }
  for (compare::Module& module : run.modules) {
    if (module.ns == 0 || module.fingerprint.empty() || known.contains(module.fingerprint)) {
      continue;
    }
    const auto id = id_of.find(module.handle);
    if (id == id_of.end()) continue;
    auto stored = db.ReadModule(id->second);
    if (!stored) continue;
    auto read = hlo::ReadAny(std::make_shared<const std::string>(std::move(stored->bytes)));
    if (read) module.hlo = std::make_shared<const model::HloModule>(std::move(*read));
  }
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
