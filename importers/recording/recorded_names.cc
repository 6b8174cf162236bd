// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/recorded_names.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "importers/common/annotation.h"
#include "importers/common/copies.h"
#include "importers/common/name_list.h"
#include "importers/common/op_annotation.h"
#include "importers/common/text_fields.h"
#include "importers/recording/hlo_rebuild.h"

namespace xlatrace::importers {
namespace {

using model::ActivityKind;
using model::Evidence;
using model::Severity;
using recording::RowKind;

constexpr int64_t kNeverSeenNs = std::numeric_limits<int64_t>::max();

std::optional<int64_t> Positive(uint64_t value) {
  if (value == 0 || value > static_cast<uint64_t>(kNeverSeenNs)) return std::nullopt;
  return static_cast<int64_t>(value);
}

ActivityKind KindOf(RowKind kind) {
  switch (kind) {
    case RowKind::kKernel:
      return ActivityKind::kKernel;
    case RowKind::kMemcpy:
    case RowKind::kMemcpyPeer:
      return ActivityKind::kMemcpy;
    case RowKind::kMemset:
      return ActivityKind::kMemset;
    case RowKind::kGraph:
      break;
  }
  return ActivityKind::kGraph;
}

}  // namespace

void RecordedNames::AddProcess(std::optional<int64_t> recorded_from_ns) {
  model::Process process;
  process.recorded_from_ns = recorded_from_ns;
  process.host = std::string(process_.Fact("host"));
  process.pid = process_.IntFact("pid");
  process.rank = process_.IntFact("rank");
  process.local_rank = process_.IntFact("local_rank");
  process.command = std::string(process_.Fact("command"));
  process.clock_offset_ns = 0;  // Times are from the clock of its host.
  const std::string_view program = process_.Fact("executable");
  process.name = std::string(program.substr(program.rfind('/') + 1));
  process_id_ = sink_.AddProcess(process);
  for (const auto& [thread, name] : process_.thread_names) {
    if (name.empty()) continue;
    sink_.AddThread({.process_id = process_id_, .thread_id = thread, .name = name});
  }
}

void RecordedNames::AddDevices() {
  for (const auto& [id, row] : process_.devices) {
    model::Device device;
    device.process_id = process_id_;
    device.ordinal = row.device;
    device.name = row.name_text;
    device.uuid = row.uuid_text;
    if (row.compute_major != 0) {
      device.compute_capability = fmt::format("{}.{}", row.compute_major, row.compute_minor);
    }
    device.sm_count = Positive(row.sm_count);
    if (row.core_clock_khz < kLatestRecordedNs / 1000) {
      device.clock_hz = Positive(row.core_clock_khz * 1000);
    }
    if (row.memory_bandwidth_kb_per_s < kLatestRecordedNs / 1000) {
      device.memory_bandwidth_bytes_per_s = Positive(row.memory_bandwidth_kb_per_s * 1000);
    }
    device.memory_bytes = Positive(row.memory_bytes);
    device.warp_size = Positive(row.warp_size);
    device.max_threads_per_sm = Positive(uint64_t{row.max_warps_per_sm} * row.warp_size);
    device.max_blocks_per_sm = Positive(row.max_blocks_per_sm);
    device.registers_per_sm = Positive(row.registers_per_sm);
    device.shared_memory_per_sm_bytes = Positive(row.shared_memory_per_sm_bytes);
    device.shared_memory_per_block_optin_bytes = Positive(row.shared_memory_per_block_optin_bytes);
    device.shared_memory_per_block_bytes = Positive(row.shared_memory_per_block_bytes);
    device.shared_memory_reserved_per_block_bytes =
        Positive(row.shared_memory_reserved_per_block_bytes);
    device.max_threads_per_block = Positive(row.max_threads_per_block);
    device.registers_per_block = Positive(row.registers_per_block);
    device.l2_bytes = Positive(row.l2_bytes);
    AddName(device.name, gpu_names_);
    devices_[id] = sink_.AddDevice(device);
  }
}

model::Id RecordedNames::DeviceOf(uint32_t id) {
  model::Id& device = devices_[id];
  if (device == 0) {
    device = sink_.AddDevice({.process_id = process_id_, .ordinal = id});
    counters_.Add("device_not_described", Severity::kNotice, 1,
                  "activities name a device that the recording does not describe");
  }
  return device;
}

// "cuLaunchKernelEx", as the process recorded it.
const std::string& RecordedNames::FunctionName(const recording::ApiCallRow& row) {
  std::string& name = functions_[{row.domain, row.function}];
  if (!name.empty()) return name;
  const bool driver = row.domain == recording::ApiDomain::kDriver;
  const std::string_view domain = driver ? "driver" : "runtime";
  name = process_.Fact(fmt::format("api.{}.{}", domain, row.function));
  if (name.empty()) name = fmt::format("{} function {}", domain, row.function);
  return name;
}

void RecordedNames::SeeThunk(uint32_t thunk, uint64_t time_ns) {
  if (time_ns == 0 || time_ns > kLatestRecordedNs) return;
  const auto time = static_cast<int64_t>(time_ns);
  const auto [it, fresh] = first_seen_.try_emplace(thunk, time);
  if (!fresh) it->second = std::min(it->second, time);
}

uint32_t RecordedNames::ModuleTitleOf(uint32_t thunk) const {
  const uint32_t index = process_.modules.ModuleOf(thunk);
  return index == RegisteredModules::kNoIndex ? 0 : process_.modules.modules()[index].title;
}

// The modules of which something ran.
void RecordedNames::AddModules() {
  const std::vector<RegisteredModule>& modules = process_.modules.modules();
  registered_ids_.assign(modules.size(), 0);
  std::vector<bool> ran(modules.size(), false);
  const auto mark = [&](uint32_t title) {
    const uint32_t index = process_.modules.ModuleOf(title);
    if (index != RegisteredModules::kNoIndex) ran[index] = true;
  };
  process_.nodes.ForEachThunk([&](uint32_t thunk, uint64_t time_ns) { SeeThunk(thunk, time_ns); });
  for (const auto& [thunk, time] : first_seen_) mark(thunk);
  for (const uint32_t title : process_.runs) mark(title);
  const InstructionOrder order = [&](const RegisteredInstruction& instruction) {
    const auto it = first_seen_.find(instruction.title);
    return it == first_seen_.end() ? kNeverSeenNs : it->second;
  };
  for (size_t i = 0; i < modules.size(); ++i) {
    const RegisteredModule& module = modules[i];
    if (!ran[i] || module.instructions.empty()) {
      counters_.Add(ran[i] ? "module_without_instructions" : "module_not_run", Severity::kInfo);
      continue;
    }
    const RebuiltModule rebuilt = RebuildHlo(module, order);
    if (rebuilt.missing > 0) {
      counters_.Add("computation_not_told", Severity::kNotice, rebuilt.missing,
                    "computations whose text XLA did not register are left empty");
    }
    if (rebuilt.undefined > 0) {
      counters_.Add("instruction_not_told", Severity::kNotice, rebuilt.undefined,
                    "operands that XLA did not register are stored as empty instructions");
    }
    if (rebuilt.completed > 0) {
      counters_.Add("computation_text_cut", Severity::kInfo, rebuilt.completed);
    }
    const model::Id id = sink_.AddModule({.process_id = process_id_,
                                          .name = module.name,
                                          .program_id = module.program_id,
                                          .source = model::ModuleSource::kNvtx,
                                          .format = model::ModuleBlob::Format::kHloText,
                                          .bytes = rebuilt.text});
    module_ids_[{std::string(module.name), module.program_id}] = id;  // The latest one counts.
    registered_ids_[i] = id;
  }
}

model::Id RecordedNames::ModuleNamed(std::string_view name,
                                     std::optional<int64_t> program_id) const {
  const auto module = module_ids_.find({std::string(name), program_id});
  return module == module_ids_.end() ? 0 : module->second;
}

model::Id RecordedNames::HintOf(uint32_t thunk, uint32_t title, model::Evidence evidence) {
  // A title is registered per executable, so it is more specific than names of ranges.
  if (const uint32_t own = ModuleTitleOf(thunk); own != 0) {
    const uint32_t around = process_.modules.ModuleOf(title);
    const bool other =
        around != RegisteredModules::kNoIndex && around != process_.modules.ModuleOf(own);
    if (other && evidence == Evidence::kRange) ++thunks_in_other_run_;
    title = own;
  }
  if (thunk == 0 && title == 0) return OutsideOps();
  const HintKey key = {thunk, title, evidence};
  if (key == last_hint_key_) return last_hint_;
  model::Id& id = hints_[key];
  if (id == 0) id = MakeHint(thunk, title, evidence);
  last_hint_key_ = key;
  return last_hint_ = id;
}

void RecordedNames::AddCollectiveOps() {
  if (process_.Fact("tensorflow_ops") != "on") return;
  for (const std::string& text : process_.strings.texts()) {
    const OpAnnotation op = ParseOpAnnotation(text);
    if (!IsCollectiveType(op.type)) continue;
    sink_.AddHint({.evidence = Evidence::kOpRange,
                   .op_name = std::string(op.name),
                   .op_type = std::string(op.type)});
  }
}

// Ops of graphs were annotated, and none was under way.
model::Id RecordedNames::OutsideOps() {
  if (process_.Fact("tensorflow_ops") != "on") return 0;
  if (outside_ops_ == 0) outside_ops_ = sink_.AddHint({.evidence = Evidence::kOpRange});
  return outside_ops_;
}

model::Id RecordedNames::MakeHint(uint32_t thunk, uint32_t title, model::Evidence evidence) {
  const Annotation module = ParseAnnotation(process_.strings.Text(title));
  const Annotation op = ParseAnnotation(process_.strings.Text(thunk));
  if (title == 0) {
    const OpAnnotation framework = ParseOpAnnotation(process_.strings.Text(thunk));
    if (!framework.name.empty()) {
      return sink_.AddHint({.evidence = Evidence::kOpRange,
                            .op_name = std::string(framework.name),
                            .op_type = std::string(framework.type)});
    }
  }
  model::Hint hint;
  hint.evidence = evidence;
  // An executable from a cache keeps the id of its compilation. So two modules may share name and
  // id, but not the handles of their strings.
  const uint32_t index = process_.modules.ModuleOf(title);
  if (index != RegisteredModules::kNoIndex) hint.module_id = registered_ids_[index];
  // Thunks before 2022 name their module themselves.
  hint.module_name = std::string(module.Get("hlo_module"));
  if (hint.module_name.empty()) hint.module_name = std::string(op.Get("hlo_module"));
  hint.program_id = ParseInt(module.Get("program_id"));
  hint.instruction = std::string(op.Get("hlo_op"));
  if (const std::string_view name = op.Get("name"); !name.empty()) {
    const std::string_view prefix = module.Get("prefix");
    hint.op_name = prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
  }
  // With annotation level 1 (XLA since August 2026), these fields are explicit.
  if (const std::string_view name = op.Get("op_name"); !name.empty()) {
    hint.op_name = std::string(name);
  }
  hint.source_file = std::string(op.Get("source_file"));
  hint.source_line = ParseInt(op.Get("source_line"));
  return sink_.AddHint(hint);
}

model::Id RecordedNames::ConfigOf(uint32_t number, const recording::ConfigRow& row) {
  if (configs_.size() <= number) configs_.resize(number + 1, 0);
  model::Id& id = configs_[number];
  if (id != 0) return id;
  model::LaunchConfig config;
  config.kind = KindOf(row.kind);
  if (row.kind == RowKind::kKernel) {
    config.symbol = row.name.empty() ? "(unnamed)" : std::string(row.name);
    config.name = ShortKernelName(config.symbol);
    config.registers_per_thread = Positive(row.registers_per_thread);
    for (int i = 0; i < 3; ++i) {
      config.grid[i] = row.grid[i];
      config.block[i] = row.block[i];
      config.cluster[i] = Positive(row.cluster[i]);  // 0: no cluster.
    }
    config.shared_memory_static_bytes = row.shared_memory_static_bytes;
    config.shared_memory_dynamic_bytes = row.shared_memory_dynamic_bytes;
    config.local_memory_per_thread_bytes = row.local_memory_per_thread_bytes;
  } else {
    if (row.kind == RowKind::kMemcpy) config.copy_kind = CopyKindOf(row.copy_kind);
    if (row.kind == RowKind::kMemcpyPeer) config.copy_kind = model::CopyKind::kPeerToPeer;
    config.symbol = row.kind == RowKind::kMemset  ? "Memset"
                    : row.kind == RowKind::kGraph ? "CudaGraph"
                                                  : CopyName(config.copy_kind);
    config.name = config.symbol;
  }
  return id = sink_.AddLaunchConfig(config);
}

model::Id RecordedNames::LaneOf(uint32_t number, const recording::LaneRow& row) {
  if (lanes_.size() <= number) lanes_.resize(number + 1, 0);
  model::Id& id = lanes_[number];
  if (id != 0) return id;
  model::Lane lane;
  lane.device_id = DeviceOf(row.device);
  lane.stream_id = row.stream;
  lane.context_id = row.context;
  const auto null_stream = process_.null_streams.find(row.context);
  const bool is_default =
      null_stream != process_.null_streams.end() && null_stream->second == row.stream;
  lane.name = fmt::format("Stream #{}{}", row.stream, is_default ? " (default)" : "");
  const auto name = process_.stream_names.find({row.context, row.stream});
  if (name != process_.stream_names.end() && !name->second.empty()) {
    lane.name += ": " + name->second;
  }
  const auto priority = process_.priorities.find({row.context, row.stream});
  if (priority != process_.priorities.end()) lane.priority = priority->second;
  return id = sink_.AddLane(lane);
}

}  // namespace xlatrace::importers
