// SPDX-License-Identifier: Apache-2.0
#include "sample_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "store/run_saver.h"

namespace xlatrace::report {
namespace {

using model::Id;
using model::Phase;

constexpr int64_t kWholePpm = 1'000'000;

bool IsSteady(const SampleRun& run, int64_t step) { return step > 0 && step + 1 < run.steps; }

class SampleWriter {
 public:
  SampleWriter(const SampleRun& run, const std::string& beside) : run_(run), builder_(beside) {}

  Status Write(store::RunSaver& saver) {
    builder_.SetStart(1'790'000'000'000'000'000);
    for (const auto& [key, value] : run_.info) builder_.SetRunInfo(key, value);
    const Id process = builder_.AddProcess({.host = "node1", .pid = 42, .command = run_.command});
    if (run_.module) {
      module_ =
          builder_.AddModule({.process_id = process,
                              .name = run_.module_name,
                              .program_id = 16,
                              .format = run_.hlo.empty() ? model::ModuleBlob::Format::kHloProto
                                                         : model::ModuleBlob::Format::kHloText,
                              .bytes = run_.hlo.empty() ? "HLO" : run_.hlo});
      attribution_.modules.push_back({.fingerprint = "f00d",
                                      .role = model::ModuleRole::kMain,
                                      .role_reason = "most device time",
                                      .framework_function = "train_step",
                                      .instruction_count = 100});
    }
    AddOps();
    for (int64_t d = 0; d < run_.devices; ++d) {
      const Id device = builder_.AddDevice({.process_id = process,
                                            .kind = run_.device_kind,
                                            .ordinal = d,
                                            .name = run_.device_name});
      lane_ = builder_.AddLane({.device_id = device, .stream_id = 13, .name = "Stream"});
      int64_t now = 1'000;
      for (int64_t step = 0; step < run_.steps; ++step) now = AddStep(process, device, step, now);
    }
    FinishOpTimes();
    for (const model::RunStat& stat : run_.stats) builder_.AddRunStat(stat);
    analysis_.findings = run_.findings;
    builder_.AddResults(attribution_);
    builder_.AddResults(analysis_);
    builder_.AddResults(run_.time_tree.empty() ? TimeTree() : run_.time_tree);
    return saver.Save(builder_, &attribution_, &analysis_);
  }

 private:
  bool Attributed(const SampleOp& op) const { return run_.module && !op.instruction.empty(); }

  void AddOps() {
    for (const SampleOp& op : run_.ops) {
      model::LaunchConfig config;
      config.kind = op.instruction.empty()                        ? model::ActivityKind::kMemcpy
                    : run_.device_kind == model::DeviceKind::kGpu ? model::ActivityKind::kKernel
                                                                  : model::ActivityKind::kOp;
      config.name = config.symbol = op.instruction.empty() ? "memcpy" : op.instruction;
      for (int64_t grid = 1; grid <= op.grids; ++grid) {
        if (op.grids > 1) config.grid[0] = grid;
        const Id id = builder_.AddLaunchConfig(config);
        if (grid == 1) configs_.push_back(id);  // The others follow it.
      }
      if (op.second_kernel_ns > 0) {
        config.name = config.symbol = op.instruction + "_second";
        second_configs_[configs_.size() - 1] = builder_.AddLaunchConfig(config);
      }
      model::Label label;
      if (Attributed(op)) {
        model::InstructionRow row;
        row.module_id = module_;
        row.name = op.instruction;
        row.op_kind = op.kind;
        row.phase = op.phase;
        row.layer = op.layer;
        row.layer_group = Folded(op.layer);
        row.op_name = op.op_name;
        row.source_file = op.source_file;
        if (op.source_line > 0) row.source_line = op.source_line;
        row.mixed = op.other_ppm > 0;
        if (op.bytes > 0) {
          row.bytes = op.bytes;
          row.flops = 0;
        }
        attribution_.instructions.push_back(row);
        const auto id = static_cast<Id>(attribution_.instructions.size());
        for (const bool other : {false, true}) {
          if (op.other_ppm == 0) break;
          attribution_.shares.push_back(
              {.instruction_id = id,
               .share_ppm = other ? op.other_ppm : kWholePpm - op.other_ppm,
               .op_name = op.op_name,
               .source_file = op.source_file,
               .source_line = row.source_line,
               .phase = other ? op.other_phase : op.phase,
               .layer = other && !op.other_layer.empty() ? op.other_layer : op.layer,
               .layer_group =
                   other && !op.other_layer.empty() ? Folded(op.other_layer) : row.layer_group});
        }
        label = {.module_id = module_,
                 .instruction_id = id,
                 .evidence = op.confidence == model::Confidence::kExact ? model::Evidence::kRange
                                                                        : model::Evidence::kSymbol,
                 .confidence = op.confidence,
                 .origin = model::Origin::kXla};
      } else {
        label.reason = op.instruction.empty() ? model::Reason::kTransfer : model::Reason::kNoModule;
      }
      attribution_.labels.push_back(label);
    }
    AddGraphs();
  }

  void AddGraphs() {
    for (const SampleGraph& graph : run_.graphs) {
      model::LaunchConfig config;
      config.kind = model::ActivityKind::kGraph;
      config.name = "CudaGraph";
      graph_config_ = builder_.AddLaunchConfig(config);
      attribution_.labels.push_back({.module_id = module_,
                                     .instruction_id = static_cast<Id>(graph.parts.front().op + 1),
                                     .evidence = model::Evidence::kRange,
                                     .confidence = model::Confidence::kInferred,
                                     .origin = model::Origin::kXla});
      for (const SampleGraph::Part& part : graph.parts) {
        attribution_.label_shares.push_back(
            {static_cast<Id>(attribution_.labels.size()), static_cast<Id>(part.op + 1), part.ppm});
      }
    }
  }

  // An activity of `label`, the number of an op or behind these of a graph.
  Id AddActivity(size_t label, Id config, Id call, int64_t step, uint32_t execution, int64_t start,
                 int64_t ns) {
    attribution_.label_of.push_back(static_cast<uint32_t>(label));
    attribution_.execution_of.push_back(execution);
    analysis_.step_of.push_back(static_cast<int32_t>(step));
    return builder_.AddActivity({.lane_id = lane_,
                                 .config_id = config,
                                 .api_call_id = call,
                                 .start_ns = start,
                                 .end_ns = start + ns});
  }

  int64_t AddStep(Id process, Id device, int64_t step, int64_t start) {
    std::map<Phase, int64_t> phases;
    std::map<Phase, int64_t> estimated;
    int64_t now = start;
    const auto execution =
        static_cast<uint32_t>(run_.executions ? attribution_.executions.size() + 1 : 0);
    for (size_t i = 0; i < run_.ops.size(); ++i) {
      const SampleOp& op = run_.ops[i];
      for (int64_t call = 0; call < op.calls; ++call) {
        const Id activity = AddActivity(i + 1, configs_[i] + call % op.grids,
                                        AddCall(process, op, now), step, execution, now, op.ns);
        if (op.exchanged_bytes > 0) {
          analysis_.collectives.push_back({.activity_id = activity,
                                           .op = op.instruction,
                                           .bytes = op.exchanged_bytes,
                                           .exposed_ns = op.exposed_ns});
        }
        now += op.ns;
        if (op.second_kernel_ns == 0) continue;
        AddActivity(i + 1, second_configs_.at(i), 0, step, execution, now, op.second_kernel_ns);
        now += op.second_kernel_ns;
      }
      const int64_t ns = (op.ns + op.second_kernel_ns) * op.calls;
      const int64_t other = ns * op.other_ppm / kWholePpm;
      phases[Attributed(op) ? op.phase : Phase::kUnknown] += ns - other;
      if (other > 0) {
        phases[op.other_phase] += other;
        estimated[op.phase] += ns - other;
        estimated[op.other_phase] += other;
      }
    }
    for (size_t g = 0; g < run_.graphs.size(); ++g) {
      const SampleGraph& graph = run_.graphs[g];
      if (graph.on_device >= 0 && graph.on_device != static_cast<int64_t>(device) - 1) continue;
      AddActivity(run_.ops.size() + g + 1, graph_config_, 0, step, execution, now, graph.Ns());
      now += graph.Ns();
      for (const SampleGraph::Part& part : graph.parts) {
        phases[run_.ops[part.op].phase] += part.ns;
        estimated[run_.ops[part.op].phase] += part.ns;
      }
    }
    const int64_t busy = now - start;
    if (run_.executions) attribution_.executions.push_back({module_, device, start, now, 0, true});
    if (run_.idle_ns > 0) {
      analysis_.gaps.push_back({.device_id = device,
                                .start_ns = now,
                                .end_ns = now + run_.idle_ns,
                                .cause = model::GapCause::kHost});
    }
    const int64_t end = now + run_.idle_ns;
    analysis_.steps.push_back(
        {step, process, device, start, end, busy, busy, IsSteady(run_, step)});
    analysis_.steps.back().typical = IsSteady(run_, step);
    for (const auto& [phase, ns] : phases) {
      analysis_.phase_times.push_back({device, step, phase, ns, estimated[phase]});
      analysis_.step_parts.push_back({device, step, PartOf(phase), ns});
    }
    analysis_.step_parts.push_back({device, step, model::StepPart::kIdle, run_.idle_ns});
    return end;
  }

  // A call for one launch that starts at `start`; 0: none.
  Id AddCall(Id process, const SampleOp& op, int64_t start) {
    if (op.called_ahead_ns == 0) return 0;
    const int64_t called = start - op.called_ahead_ns;
    return builder_.AddApiCall({.process_id = process,
                                .thread_id = 42,
                                .name = "cudaLaunchKernel",
                                .start_ns = called,
                                .end_ns = called + op.call_ns});
  }

  static model::StepPart PartOf(Phase phase) {
    using model::StepPart;
    switch (phase) {
      case Phase::kForward:
        return StepPart::kForward;
      case Phase::kLoss:
        return StepPart::kLoss;
      case Phase::kBackward:
        return StepPart::kBackward;
      case Phase::kRecompute:
        return StepPart::kRecompute;
      case Phase::kOptimizer:
        return StepPart::kOptimizer;
      case Phase::kOther:
        return StepPart::kOther;
      case Phase::kUnknown:
        break;
    }
    return StepPart::kUnknown;
  }

  void FinishOpTimes() {
    int64_t steady_steps = 0;
    for (int64_t step = 0; step < run_.steps; ++step) steady_steps += IsSteady(run_, step);
    model::OpTimeRow none;
    Id instruction = 0;
    for (const SampleOp& op : run_.ops) {
      const int64_t calls = op.calls * run_.devices;
      const int64_t call_ns = op.ns + op.second_kernel_ns;
      const auto [graph_runs, graph_ns] =
          InGraphs(static_cast<size_t>(&op - run_.ops.data()));  // For one step of all devices.
      AddScopeTimes(op, calls * run_.steps * call_ns + graph_ns * run_.steps);
      if (!Attributed(op)) {
        none.occurrences += calls * run_.steps;
        none.self_ns += calls * run_.steps * op.ns;
        none.steady_ns += calls * steady_steps * op.ns;
        continue;
      }
      model::OpTimeRow row;
      row.module_id = module_;
      row.instruction_id = ++instruction;
      row.occurrences = (calls + graph_runs) * run_.steps;
      if (row.occurrences == 0) continue;
      row.total_ns = row.self_ns = (calls * call_ns + graph_ns) * run_.steps;
      row.steady_ns = (calls * call_ns + graph_ns) * steady_steps;
      row.min_ns = row.max_ns = op.ns;
      row.confidence = op.confidence;
      row.estimated = op.other_ppm > 0 || graph_runs > 0;
      if (op.bytes > 0) {
        row.bytes = op.bytes * row.occurrences;
        row.flops = 0;
      }
      analysis_.op_times.push_back(row);
    }
    none.total_ns = none.self_ns;
    none.confidence = model::Confidence::kNone;
    if (none.occurrences > 0) analysis_.op_times.push_back(none);
    std::stable_sort(analysis_.op_times.begin(), analysis_.op_times.end(),
                     [](const auto& a, const auto& b) { return a.self_ns > b.self_ns; });
  }

  // Startup is the first step; all other steps are equal. Without steady steps no step is typical.
  std::vector<model::TimeTreeRow> TimeTree() const {
    using model::TreeKind;
    std::vector<model::TimeTreeRow> rows;
    const bool typical = run_.steps > 2;
    const int64_t steps = std::max<int64_t>(run_.steps - 1, 1);
    const auto add = [&](Id parent, TreeKind kind, std::string name, int64_t ns, bool in_step) {
      model::TimeTreeRow row{.parent_id = parent, .kind = kind, .name = std::move(name)};
      row.ns = in_step ? ns * steps : ns;
      if (in_step && typical) row.per_step_ns = row.p25_ns = row.p75_ns = ns;
      rows.push_back(row);
      return static_cast<Id>(rows.size());
    };
    int64_t computation = 0, copies = 0;
    for (size_t i = 0; i < run_.ops.size(); ++i) {
      (run_.ops[i].instruction.empty() ? copies : computation) += OfStep(i);
    }
    const int64_t step = computation + copies + run_.idle_ns;
    if (step == 0 || run_.steps == 0) return {};
    const int64_t before = run_.steps > 1 ? step : 0;
    const Id root = add(0, TreeKind::kRoot, "", step * steps + before, false);
    if (before > 0) add(root, TreeKind::kStartup, "", before, false);
    const Id all = add(root, TreeKind::kSteps, "", step, true);
    const Id one = add(all, TreeKind::kStep, "", step, true);
    const Id ops = add(one, TreeKind::kComputation, "", computation, true);
    Id instruction = 0;
    for (size_t i = 0; i < run_.ops.size(); ++i) {
      const SampleOp& op = run_.ops[i];
      if (op.instruction.empty()) continue;
      add(ops, TreeKind::kOp, op.instruction, OfStep(i), true);
      if (!Attributed(op)) continue;
      rows.back().instruction_id = ++instruction;
      rows.back().source_file = op.source_file;
      if (op.source_line > 0) rows.back().source_line = op.source_line;
    }
    if (copies > 0) add(one, TreeKind::kExposedCopy, "", copies, true);
    if (run_.idle_ns > 0) {
      const Id idle = add(one, TreeKind::kIdle, "", run_.idle_ns, true);
      add(idle, TreeKind::kHost, "nothing recorded", run_.idle_ns, true);
    }
    return rows;
  }

  // Time of an op in one step of one device, in graphs too.
  int64_t OfStep(size_t i) const {
    const SampleOp& op = run_.ops[i];
    return (op.ns + op.second_kernel_ns) * op.calls + InGraphs(i).second / run_.devices;
  }

  // How often it runs in graphs in a step of all devices, and for how long.
  std::pair<int64_t, int64_t> InGraphs(size_t op) const {
    int64_t runs = 0, ns = 0;
    for (const SampleGraph& graph : run_.graphs) {
      const int64_t devices = graph.on_device < 0 ? run_.devices : 1;
      for (const SampleGraph::Part& part : graph.parts) {
        if (part.op != op) continue;
        runs += devices;
        ns += devices * part.ns;
      }
    }
    return {runs, ns};
  }

  void AddScopeTimes(const SampleOp& op, int64_t ns) {
    model::ScopeTimeRow row;
    if (Attributed(op)) {
      row.op_name = op.op_name;
      row.layer = op.layer;
      row.layer_group = Folded(op.layer);
      row.phase = op.phase;
      row.source_file = op.source_file;
      if (op.source_line > 0) row.source_line = op.source_line;
    }
    const int64_t other = ns * op.other_ppm / kWholePpm;
    row.self_ns = ns - other;
    row.estimated_ns = other > 0 ? row.self_ns : 0;
    analysis_.scope_times.push_back(row);
    if (other == 0) return;
    row.phase = op.other_phase;
    if (!op.other_layer.empty()) {
      row.layer = op.other_layer;
      row.layer_group = Folded(op.other_layer);
    }
    row.self_ns = row.estimated_ns = other;
    analysis_.scope_times.push_back(row);
  }

  const SampleRun& run_;
  store::RunBuilder builder_;
  Id module_ = 0;
  Id lane_ = 0;
  std::vector<Id> configs_;
  std::map<size_t, Id> second_configs_;
  Id graph_config_ = 0;
  model::AttributionTables attribution_;
  model::AnalysisTables analysis_;
};

}  // namespace

int64_t SampleGraph::Ns() const {
  int64_t ns = 0;
  for (const Part& part : parts) ns += part.ns;
  return ns;
}

std::string Folded(const std::string& layer) {
  const size_t at = layer.find("layer_");
  if (at == std::string::npos) return layer;
  const size_t digits = at + 6;
  const size_t end = std::min(layer.find_first_not_of("0123456789", digits), layer.size());
  return end == digits ? layer : layer.substr(0, digits) + "*" + layer.substr(end);
}

SampleRun TransformerRun() {
  using model::OpKind;
  SampleRun run;
  run.devices = 2;
  run.steps = 12;
  run.idle_ns = 640'000;
  const auto add = [&run](std::string name, OpKind kind, Phase phase, std::string layer,
                          std::string tail, std::string file, int64_t line, int64_t ns,
                          int64_t calls) {
    const std::string wrapper = phase == Phase::kBackward
                                    ? "jit(train_step)/transpose(jvp(Transformer))/"
                                    : "jit(train_step)/jvp(Transformer)/";
    run.ops.push_back({std::move(name), kind, phase, layer, wrapper + layer + "/" + tail,
                       "/home/user/project/model/" + std::move(file), line, ns, calls});
  };
  add("loop_gather_fusion", OpKind::kScatterGather, Phase::kForward, "decoder/token_embedder",
      "gather", "embeddings.py", 84, 310'000, 1);
  for (int64_t layer = 0; layer < 8; ++layer) {
    const std::string n = std::to_string(layer);
    const std::string base = "decoder/layer_" + n;
    add("custom-call." + std::to_string(37 + layer) + ".0", OpKind::kGemm, Phase::kForward,
        base + "/mlp/wi_0", "dot_general", "linears.py", 110, 237'000, 1);
    add("cublas-gemm." + std::to_string(2 + layer) + ".0", OpKind::kGemm, Phase::kForward,
        base + "/mlp/wo", "dot_general", "linears.py", 131, 273'000, 1);
    add("input_transpose_fusion." + n, OpKind::kTranspose, Phase::kForward,
        base + "/self_attention/softmax", "transpose", "attentions.py", 287, 253'000, 1);
    add("input_reduce_fusion." + n, OpKind::kReduction, Phase::kRecompute,
        base + "/self_attention/softmax", "reduce_max", "attentions.py", 287, 133'000, 1);
    add("custom-call." + std::to_string(75 + layer) + ".0", OpKind::kGemm, Phase::kBackward,
        base + "/mlp/wi_0", "dot_general", "linears.py", 110, 464'000, 1);
    add("custom-call." + std::to_string(95 + layer) + ".0", OpKind::kGemm, Phase::kBackward,
        base + "/self_attention/query", "dot_general", "attentions.py", 230, 301'000, 1);
    add("loop_dynamic_update_slice_fusion." + n, OpKind::kElementwiseFusion, Phase::kBackward, base,
        "dynamic_update_slice", "axes_scan.py", 165, 141'000, 3);
  }
  add("loop_reduce_fusion.9", OpKind::kReduction, Phase::kLoss, "loss", "reduce_sum", "losses.py",
      21, 269'000, 1);
  run.ops.back().other_ppm = 250'000;
  run.ops.back().other_phase = Phase::kForward;
  add("input_scatter_fusion", OpKind::kScatterGather, Phase::kBackward, "decoder/token_embedder",
      "scatter-add", "embeddings.py", 84, 5'080'000, 1);
  add("loop_multiply_fusion.4", OpKind::kElementwiseFusion, Phase::kOptimizer, "optimizer/adamw",
      "mul", "optim.py", 58, 390'000, 8);
  run.ops.back().confidence = model::Confidence::kInferred;
  run.ops.push_back({.instruction = "", .ns = 64'000, .calls = 3});
  run.stats = {{"clock_samples", model::Severity::kNotice, "device", 0, "alpha: beta"},
               {"device_event_not_kept", model::Severity::kInfo, "train.xplane.pb", 21'493, ""}};
  return run;
}

Status WriteSampleRun(const SampleRun& run, const std::string& path) {
  XLATRACE_ASSIGN(store::RunSaver saver, store::RunSaver::Create(path));
  return SampleWriter(run, saver.beside()).Write(saver);
}

}  // namespace xlatrace::report
