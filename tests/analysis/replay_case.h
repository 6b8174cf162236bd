// SPDX-License-Identifier: Apache-2.0

// A run for replay, made by hand: devices with streams, launches with host calls, one module.

#ifndef XLATRACE_TESTS_ANALYSIS_REPLAY_CASE_H_
#define XLATRACE_TESTS_ANALYSIS_REPLAY_CASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/replay/critical_path.h"
#include "analysis/replay/graph.h"
#include "analysis/replay/replay.h"
#include "analysis/replay/what_if.h"

namespace xlatrace::analysis::replay {

class ReplayCase {
 public:
  explicit ReplayCase(int devices = 1, int streams = 2) {
    run_.processes.emplace_back();
    run_.modules.push_back({1, "jit_step", std::nullopt, model::ModuleSource::kProto, ""});
    for (int d = 1; d <= devices; ++d) {
      run_.devices.emplace_back().process_id = 1;
      for (int s = 0; s < streams; ++s) {
        run_.lanes.emplace_back();
        run_.lanes.back().device_id = d;
        run_.lanes.back().stream_id = s;
      }
    }
    streams_ = streams;
    run_.configs.emplace_back().symbol = "k";
  }

  // Number of the instruction. `operands` as HLO has them.
  uint32_t Op(const std::string& name, const std::string& operands = "",
              model::OpKind kind = model::OpKind::kOther) {
    model::InstructionRow& row = attribution_.instructions.emplace_back();
    row.module_id = 1;
    row.name = name;
    row.operands = operands;
    row.op_kind = kind;
    const auto id = static_cast<uint32_t>(attribution_.instructions.size());
    attribution_.labels.emplace_back().instruction_id = id;
    return id;
  }

  struct Where {
    int device = 1;
    int stream = 0;
    std::optional<int64_t> called_ns = {};  // Start of the call; it takes `call_ns`.
    int64_t call_ns = 2'000;
    int64_t self_ns = -1;
    int64_t graph_node = 0;
    int64_t thread = 1;
  };

  // Index of the activity.
  size_t Run(uint32_t op, int64_t start_ns, int64_t duration_ns) {
    return Run(op, start_ns, duration_ns, Where());
  }
  size_t Run(uint32_t op, int64_t start_ns, int64_t duration_ns, const Where& where) {
    model::ActivityColumns& a = run_.activities;
    a.lane.push_back(static_cast<uint32_t>((where.device - 1) * streams_ + where.stream + 1));
    a.config.push_back(1);
    a.hint.push_back(0);
    a.run_key.push_back(0);
    a.start_ns.push_back(start_ns);
    a.duration_ns.push_back(duration_ns);
    a.self_ns.push_back(where.self_ns < 0 ? duration_ns : where.self_ns);
    a.bytes.push_back(-1);
    a.graph_node.push_back(where.graph_node);
    attribution_.label_of.push_back(op);
    attribution_.execution_of.push_back(0);
    step_of_.emplace_back();
    calls_.emplace_back();
    if (where.called_ns) {
      // Nodes of one graph launch have one call.
      model::Id id = static_cast<model::Id>(calls_.size());
      for (size_t i = 0; i + 1 < calls_.size(); ++i) {
        if (calls_[i] && calls_[i]->start_ns == *where.called_ns) id = calls_[i]->call_id;
      }
      calls_.back() =
          model::HostCall{id, *where.called_ns, *where.called_ns + where.call_ns, where.thread};
    }
    return a.size() - 1;
  }

  // A steady step of a device; what starts in it belongs to it, and is one execution.
  // A step that ends where the next one starts is typical.
  void Step(int64_t number, int64_t start_ns, int64_t end_ns, int device = 1) {
    for (model::StepRow& before : steps_) {
      before.typical |= before.device_id == device && before.end_ns == start_ns;
    }
    steps_.push_back({number, 1, device, start_ns, end_ns, 0, 0, true});
    attribution_.executions.push_back({1, device, start_ns, end_ns, 0, true});
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      const int64_t start = run_.activities.start_ns[i];
      if (run_.LaneOf(i).device_id != device || start < start_ns || start >= end_ns) continue;
      step_of_[i] = static_cast<int32_t>(number);
      attribution_.execution_of[i] = static_cast<uint32_t>(attribution_.executions.size());
    }
  }

  void Gap(size_t before, size_t after, model::GapCause cause) {
    gaps_.push_back({1, run_.activities.end_ns(before), run_.activities.start_ns[after], cause,
                     static_cast<model::Id>(before + 1), static_cast<model::Id>(after + 1)});
  }

  model::RunTables& run() { return run_; }

  const Graph& Build() {
    call_of_ = [this](size_t i) { return calls_[i]; };
    input_.emplace(Input{run_, attribution_, steps_, step_of_, gaps_, call_of_, waits_});
    graph_ = BuildGraph(*input_, ClassifyActivities(run_, attribution_));
    return graph_;
  }
  const Input& input() const { return *input_; }
  Prediction What(const Change& change) const {
    return Predict(graph_, *input_, change, MeasureError(graph_, *input_));
  }

  std::vector<model::HostEvent> waits_;

 private:
  int streams_ = 1;
  model::RunTables run_;
  model::AttributionTables attribution_;
  std::vector<model::StepRow> steps_;
  std::vector<std::optional<int32_t>> step_of_;
  std::vector<model::GapRow> gaps_;
  std::vector<std::optional<model::HostCall>> calls_;
  HostCallOf call_of_;
  std::optional<Input> input_;
  Graph graph_;
};

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_TESTS_ANALYSIS_REPLAY_CASE_H_
