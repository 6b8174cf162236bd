// SPDX-License-Identifier: Apache-2.0

// A run put together by hand: devices, lanes, instructions with phases, activities.

#ifndef XLATRACE_TESTS_ANALYSIS_RUN_BUILDER_H_
#define XLATRACE_TESTS_ANALYSIS_RUN_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

class RunBuilder {
 public:
  RunBuilder() { run.processes.emplace_back(); }

  model::Id AddDevice(model::Id process_id = 1) {
    while (static_cast<model::Id>(run.processes.size()) < process_id) run.processes.emplace_back();
    model::Device device;
    device.process_id = process_id;
    run.devices.push_back(device);
    return static_cast<model::Id>(run.devices.size());
  }

  model::Id AddLane(model::Id device_id) {
    model::Lane lane;
    lane.device_id = device_id;
    lane.stream_id = static_cast<int64_t>(run.lanes.size());
    run.lanes.push_back(lane);
    return static_cast<model::Id>(run.lanes.size());
  }

  model::Id AddModule(model::ModuleRole role = model::ModuleRole::kMain) {
    run.modules.push_back({1, "jit_f", std::nullopt, model::ModuleSource::kProto, ""});
    model::ModuleFacts facts;
    facts.role = role;
    attribution.modules.push_back(facts);
    return static_cast<model::Id>(run.modules.size());
  }

  model::Id AddInstruction(model::Id module_id, model::Phase phase,
                           model::OpKind op_kind = model::OpKind::kOther, std::string layer = "") {
    model::InstructionRow row;
    row.module_id = module_id;
    row.name = "i";
    row.name += std::to_string(attribution.instructions.size());
    row.op_name = row.name;
    row.phase = phase;
    row.op_kind = op_kind;
    row.layer = std::move(layer);
    attribution.instructions.push_back(row);
    return static_cast<model::Id>(attribution.instructions.size());
  }

  void AddShare(model::Id instruction_id, model::Phase phase, int64_t share_ppm) {
    model::ShareRow share;
    share.instruction_id = instruction_id;
    share.phase = phase;
    share.share_ppm = share_ppm;
    share.op_name = "s";
    share.op_name += std::to_string(attribution.shares.size());
    attribution.shares.push_back(share);
  }

  model::Id AddExecution(model::Id module_id, model::Id device_id, int64_t start, int64_t end,
                         bool complete = true) {
    attribution.executions.push_back({module_id, device_id, start, end, 0, complete});
    return static_cast<model::Id>(attribution.executions.size());
  }

  struct Where {
    model::Id instruction = 0;  // 0: none, for `reason`.
    model::Id execution = 0;
    model::ActivityKind kind = model::ActivityKind::kKernel;
    std::string symbol = "kernel";
    model::Reason reason = model::Reason::kUnknown;
    int64_t self_ns = -1;
    model::CopyKind copy = model::CopyKind::kUnknown;
    model::Origin origin = model::Origin::kOther;
  };

  // Returns the index.
  size_t AddActivity(model::Id lane, int64_t start, int64_t end, const Where& where) {
    model::LaunchConfig config;
    config.kind = where.kind;
    config.symbol = where.symbol;
    config.copy_kind = where.copy;
    size_t config_id = 0;
    while (config_id < run.configs.size() && !(run.configs[config_id] == config)) ++config_id;
    if (config_id == run.configs.size()) run.configs.push_back(config);
    model::Label label;
    label.instruction_id = where.instruction;
    label.reason = where.reason;
    label.origin = where.origin;
    if (where.instruction > 0) {
      label.module_id =
          attribution.instructions[static_cast<size_t>(where.instruction) - 1].module_id;
      label.confidence = model::Confidence::kExact;
    }
    attribution.labels.push_back(label);
    model::ActivityColumns& columns = run.activities;
    columns.lane.push_back(static_cast<uint32_t>(lane));
    columns.config.push_back(static_cast<uint32_t>(config_id + 1));
    columns.hint.push_back(0);
    columns.run_key.push_back(0);
    columns.start_ns.push_back(start);
    columns.duration_ns.push_back(end - start);
    columns.self_ns.push_back(where.self_ns >= 0 ? where.self_ns : end - start);
    columns.bytes.push_back(-1);
    attribution.label_of.push_back(static_cast<uint32_t>(attribution.labels.size()));
    attribution.execution_of.push_back(static_cast<uint32_t>(where.execution));
    return columns.size() - 1;
  }

  model::RunTables run;
  model::AttributionTables attribution;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_TESTS_ANALYSIS_RUN_BUILDER_H_
