// SPDX-License-Identifier: Apache-2.0
#include "tests/correlator/test_builders.h"

#include <utility>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "correlator/attribution_check.h"

namespace xlatrace::correlator {

using model::Id;

model::HloModule MakeModule(std::string name, const std::vector<Body>& bodies, int64_t program_id) {
  model::HloModule module;
  module.name = module.Own(std::move(name));
  module.program_id = program_id;
  module.is_scheduled = true;
  std::map<std::string, uint32_t> computations;
  for (const Body& body : bodies) {
    const auto at = static_cast<uint32_t>(module.computations.size());
    model::Computation computation;
    computation.name = module.Own(body.name);
    computation.first_instruction = static_cast<uint32_t>(module.instructions.size());
    computation.instruction_count = static_cast<uint32_t>(body.ops.size());
    std::map<std::string, uint32_t> local;
    int32_t parameters = 0;
    for (const Op& op : body.ops) {
      local[op.name] = static_cast<uint32_t>(module.instructions.size());
      model::Instruction instruction;
      instruction.name = module.Own(op.name);
      instruction.opcode = module.Own(op.opcode);
      instruction.shape = module.Own(op.shape);
      instruction.computation = at;
      if (op.opcode == "parameter") instruction.parameter_number = parameters++;
      instruction.metadata.op_name = module.Own(op.op_name);
      instruction.metadata.source_file = module.Own(op.source_file);
      instruction.metadata.source_line = op.source_line;
      instruction.operands = {static_cast<uint32_t>(module.operand_pool.size()),
                              static_cast<uint32_t>(op.operands.size())};
      for (const std::string& operand : op.operands) {
        module.operand_pool.push_back(local.at(operand));
      }
      instruction.called_computations = {static_cast<uint32_t>(module.called_pool.size()),
                                         static_cast<uint32_t>(op.calls.size())};
      for (const std::string& callee : op.calls) {
        const uint32_t called = computations.at(callee);
        module.called_pool.push_back(called);
        if (op.opcode == "fusion") module.computations[called].is_fusion = true;
      }
      module.instructions.push_back(instruction);
    }
    if (!body.ops.empty()) {
      computation.root = static_cast<uint32_t>(module.instructions.size()) - 1;
      module.instructions.back().is_root = true;
    }
    computations[body.name] = at;
    module.computations.push_back(computation);
  }
  module.entry = static_cast<uint32_t>(module.computations.size()) - 1;
  module.computations.back().is_entry = true;
  module.content_hash = Hash(module.name);
  return module;
}

uint32_t At(const model::HloModule& module, std::string_view name) {
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    if (module.instructions[i].name == name) return i;
  }
  ADD_FAILURE() << "no instruction " << name;
  return 0;
}

RunBuilder::RunBuilder() { AddProcess(); }

Id RunBuilder::AddProcess() {
  run_.processes.emplace_back();
  return static_cast<Id>(run_.processes.size());
}

Id RunBuilder::AddDevice(Id process_id, model::DeviceKind kind) {
  model::Device device;
  device.kind = kind;
  device.process_id = process_id;
  run_.devices.push_back(device);
  return static_cast<Id>(run_.devices.size());
}

uint32_t RunBuilder::AddLane(Id device_id, int64_t stream_id) {
  model::Lane lane;
  lane.device_id = device_id;
  lane.stream_id = stream_id;
  run_.lanes.push_back(lane);
  return static_cast<uint32_t>(run_.lanes.size());
}

Id RunBuilder::AddModule(std::string name, std::optional<int64_t> program_id,
                         std::function<LoadedModule()> make, Id process_id) {
  model::ModuleInfo info;
  info.process_id = process_id;
  info.name = std::move(name);
  info.program_id = program_id;
  run_.modules.push_back(info);
  make_.push_back([make = std::move(make)]() -> Result<LoadedModule> { return make(); });
  return static_cast<Id>(run_.modules.size());
}

Id RunBuilder::AddUnreadableModule(std::string name, std::optional<int64_t> program_id) {
  model::ModuleInfo info;
  info.process_id = 1;
  info.name = std::move(name);
  info.program_id = program_id;
  run_.modules.push_back(info);
  make_.push_back([]() -> Result<LoadedModule> { return MakeError("reading 'm.hlo.pb': bad"); });
  return static_cast<Id>(run_.modules.size());
}

void RunBuilder::SetRegistered() { run_.modules.back().source = model::ModuleSource::kNvtx; }

uint32_t RunBuilder::Kernel(std::string symbol, int64_t grid_x, int64_t block_x) {
  model::LaunchConfig config;
  config.symbol = config.name = std::move(symbol);
  config.grid[0] = grid_x;
  config.block[0] = block_x;
  for (const int d : {1, 2}) config.grid[d] = config.block[d] = 1;
  run_.configs.push_back(config);
  return static_cast<uint32_t>(run_.configs.size());
}

uint32_t RunBuilder::Config(model::ActivityKind kind, std::string name) {
  model::LaunchConfig config;
  config.kind = kind;
  config.symbol = config.name = std::move(name);
  run_.configs.push_back(config);
  return static_cast<uint32_t>(run_.configs.size());
}

uint32_t RunBuilder::CopyToDevice() { return Copy(model::CopyKind::kHostToDevice); }

uint32_t RunBuilder::Copy(model::CopyKind kind) {
  const uint32_t config =
      Config(model::ActivityKind::kMemcpy, kind == model::CopyKind::kHostToDevice   ? "MemcpyH2D"
                                           : kind == model::CopyKind::kDeviceToHost ? "MemcpyD2H"
                                                                                    : "MemcpyD2D");
  run_.configs.back().copy_kind = kind;
  return config;
}

uint32_t RunBuilder::Annotation(std::string module, std::optional<int64_t> program_id,
                                std::string instruction) {
  model::Hint hint;
  hint.evidence = model::Evidence::kAnnotation;
  hint.module_name = std::move(module);
  hint.program_id = program_id;
  hint.instruction = std::move(instruction);
  return Hint(hint);
}

uint32_t RunBuilder::Hint(model::Hint hint) {
  run_.hints.push_back(std::move(hint));
  return static_cast<uint32_t>(run_.hints.size());
}

size_t RunBuilder::Activity(uint32_t config, uint32_t hint, uint32_t run_key, uint32_t lane,
                            std::optional<int64_t> start_ns, int64_t duration_ns) {
  clock_ns_ = start_ns.value_or(clock_ns_ + 10);
  auto& columns = run_.activities;
  columns.lane.push_back(lane);
  columns.config.push_back(config);
  columns.hint.push_back(hint);
  columns.run_key.push_back(run_key);
  columns.start_ns.push_back(clock_ns_);
  columns.duration_ns.push_back(duration_ns);
  columns.self_ns.push_back(duration_ns);
  columns.bytes.push_back(-1);
  return columns.size() - 1;
}

void RunBuilder::SetTimed(bool timed) {
  auto& columns = run_.activities;
  columns.timing.resize(columns.size(), model::Timing::kKnown);
  columns.timing.back() = timed ? model::Timing::kKnown : model::Timing::kUnknown;
}

void RunBuilder::SetBytes(int64_t bytes) { run_.activities.bytes.back() = bytes; }

void RunBuilder::SetGraph(int64_t number) {
  auto& columns = run_.activities;
  columns.graph_node.resize(columns.size(), 0);
  columns.graph_node.back() = number << 32;
}

void RunBuilder::AddLoss(int64_t start_ns, int64_t end_ns) {
  run_.losses.push_back(
      {.process_id = 1, .start_ns = start_ns, .end_ns = end_ns, .cause = "dropped"});
}

ModuleLoader RunBuilder::loader() const {
  return [this](Id id) { return make_[static_cast<size_t>(id - 1)](); };
}

model::AttributionTables RunBuilder::Attribute(std::vector<Doubt>* doubts) const {
  Result<model::AttributionTables> tables = correlator::Attribute(run_, loader(), doubts);
  if (!tables) {
    ADD_FAILURE() << tables.error().message;
    return {};
  }
  for (const std::string& sentence : CheckAttribution(run_, *tables)) ADD_FAILURE() << sentence;
  return std::move(*tables);
}

const model::Label& LabelOf(const model::AttributionTables& tables, size_t activity) {
  return tables.labels[tables.label_of[activity] - 1];
}

std::map<std::string, int64_t> Shares(const model::AttributionTables& tables, size_t activity) {
  std::map<std::string, int64_t> shares;
  for (const model::LabelShareRow& share : tables.label_shares) {
    if (share.label_id != tables.label_of[activity]) continue;
    shares[tables.instructions[static_cast<size_t>(share.instruction_id) - 1].name] +=
        share.share_ppm;
  }
  return shares;
}

std::string Says(const RunBuilder& run, const model::AttributionTables& tables, size_t activity) {
  const model::Label& label = LabelOf(tables, activity);
  if (label.instruction_id == 0) return std::string(model::Text(label.reason));
  const auto module = static_cast<size_t>(label.module_id - 1);
  const size_t own = run.run().modules.size();
  return (module < own ? run.run().modules[module].name : tables.added_modules[module - own].name) +
         "/" + tables.instructions[static_cast<size_t>(label.instruction_id - 1)].name;
}

}  // namespace xlatrace::correlator
