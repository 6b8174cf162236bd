// The sheet of one op: what it is, its time, roofline, launches, neighbours, insides, evidence.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/device_facts.h"
#include "analysis/occupancy.h"
#include "analysis/other_gpu.h"
#include "base/shell_word.h"
#include "hlo/instruction_text.h"
#include "hlo/text/text_printer.h"
#include "report/launch_sums.h"
#include "report/op_fold.h"
#include "report/run_view.h"
#include "report/show/show_sheet.h"

namespace xlatrace::report {
namespace {

using store::RunDb;

constexpr size_t kMostSteps = 200;
constexpr size_t kMostNeighbours = 40;
constexpr size_t kMostDevicesNamed = 8;

int64_t IntOf(const Json& row, std::string_view key) { return JsonInt(row, key).value_or(0); }
std::optional<int64_t> OptionalOf(const Json& row, std::string_view key) {
  return JsonInt(row, key);
}
std::string TextOf(const Json& row, std::string_view key) { return JsonText(row, key); }

// What people call a device of the run: by its rank where the processes have one.
Result<std::map<int64_t, std::string>> DeviceNames(RunDb& db) {
  XLATRACE_ASSIGN(
      const store::Table devices,
      db.Select("SELECT d.device_id, d.ordinal, p.rank, (SELECT count(*) FROM device o WHERE"
                " o.process_id = d.process_id) AS beside FROM device d JOIN process p"
                " USING (process_id)"));
  std::map<int64_t, std::string> names;
  for (size_t i = 0; i < devices.rows.size(); ++i) {
    const std::string device = fmt::format("device {}", devices.Int(i, "ordinal"));
    const bool alone = devices.Int(i, "beside") == 1;
    names[devices.Int(i, "device_id")] =
        devices.IsNull(i, "rank")
            ? device
            : fmt::format("rank {}{}", devices.Int(i, "rank"), alone ? "" : " " + device);
  }
  return names;
}

// Over which devices its time per step is the mean, and what those take that run it: of a pipeline
// each stage has ops of its own. `ran_in`: steps with launches of it, by device.
Status AddDevices(RunDb& db, const std::map<int64_t, std::set<int64_t>>& ran_in, Json& op) {
  XLATRACE_ASSIGN(const store::Table steps,
                  db.Select("SELECT device_id, step FROM step WHERE steady"));
  std::map<int64_t, int64_t> steady_of;
  std::set<int64_t> ran_on;
  for (size_t i = 0; i < steps.rows.size(); ++i) {
    const int64_t device = steps.Int(i, "device_id");
    ++steady_of[device];
    const auto at = ran_in.find(device);
    if (at != ran_in.end() && at->second.contains(steps.Int(i, "step"))) ran_on.insert(device);
  }
  if (steady_of.empty()) return {};
  op["steady_devices"] = steady_of.size();
  op["ran_on_devices"] = ran_on.size();
  if (ran_on.empty() || ran_on.size() == steady_of.size()) return {};
  XLATRACE_ASSIGN(const auto names, DeviceNames(db));
  int64_t steps_there = 0;
  op["ran_on"] = Json::array();
  for (const int64_t device : ran_on) {
    steps_there += steady_of[device];
    if (op["ran_on"].size() == kMostDevicesNamed) continue;
    const auto name = names.find(device);
    op["ran_on"].push_back(name == names.end() ? fmt::format("device {}", device) : name->second);
  }
  op["steady_ns_per_step_there"] = IntOf(op, "steady_ns") / steps_there;
  return {};
}

// The row of `summary` that stands for this op and its copies: their handles and their time. Null
// where the op stands for itself.
Result<Json> AlikeOps(RunDb& db, const std::string& handle) {
  XLATRACE_ASSIGN(const RunView view, LoadRunView(db));
  const std::vector<size_t> rows = FoldRows(view);
  const auto self = std::find_if(view.ops.begin(), view.ops.end(),
                                 [&](const OpFigure& op) { return op.handle == handle; });
  if (self == view.ops.end()) return Json();
  const size_t row = rows[static_cast<size_t>(self - view.ops.begin())];
  Json handles = Json::array();
  int64_t ns = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != row) continue;
    handles.push_back(view.ops[i].handle);
    ns += view.ops[i].ns;
  }
  if (handles.size() < 2) return Json();
  return Json{{"handles", std::move(handles)},
              {view.basis.steady ? "steady_ns_per_step" : "self_ns",
               static_cast<int64_t>(view.PerStep(ns))}};
}

// Instructions that only name or pass on what another one made.
bool PassesOn(std::string_view opcode) {
  return opcode == "bitcast" || opcode == "get-tuple-element" || opcode == "tuple" ||
         opcode == "opt-barrier" || opcode.ends_with("-done");
}

// An instruction that made or reads a value, and those between that have no time.
struct Neighbour {
  uint32_t index = 0;
  std::vector<uint32_t> through;
};

class Neighbours {
 public:
  Neighbours(const model::HloModule& module,
             const std::unordered_map<std::string, const Json*>& ops)
      : module_(module), ops_(ops) {}

  Neighbour MakerOf(uint32_t index) const {
    Neighbour maker{index, {}};
    while (IsPassive(maker.index) && maker.through.size() < kMostPassed) {
      const model::Instruction& i = At(maker.index);
      const auto operands = module_.Operands(i);
      // A tuple is made of several; which of them is meant is known right behind it alone.
      const bool barrier = i.opcode == "get-tuple-element" && !operands.empty() &&
                           At(operands[0]).opcode == "opt-barrier";
      if (operands.empty() || (i.opcode == "tuple" && operands.size() > 1) || barrier) break;
      maker.through.push_back(maker.index);
      maker.index = operands[0];
      // An element of a tuple made just before.
      if (i.opcode == "get-tuple-element" && At(maker.index).opcode == "tuple") {
        const auto elements = module_.Operands(At(maker.index));
        if (i.tuple_index >= 0 && static_cast<size_t>(i.tuple_index) < elements.size()) {
          maker.through.push_back(maker.index);
          maker.index = elements[static_cast<size_t>(i.tuple_index)];
        }
      }
    }
    return maker;
  }

  // Who reads the value, through what passes it on; a reader that is no end stands for itself.
  std::vector<Neighbour> ReadersOf(uint32_t index) {
    if (users_.empty()) FindUsers();
    std::vector<Neighbour> readers;
    Follow({index, {}}, readers);
    return readers;
  }

 private:
  static constexpr size_t kMostPassed = 8;

  const model::Instruction& At(uint32_t index) const { return module_.instructions[index]; }
  bool IsPassive(uint32_t index) const {
    return PassesOn(At(index).opcode) && !ops_.contains(std::string(At(index).name));
  }

  void FindUsers() {
    users_.resize(module_.instructions.size());
    for (uint32_t i = 0; i < module_.instructions.size(); ++i) {
      for (const uint32_t operand : module_.Operands(At(i))) {
        if (users_[operand].empty() || users_[operand].back() != i) users_[operand].push_back(i);
      }
    }
  }

  void Follow(const Neighbour& from, std::vector<Neighbour>& readers) const {
    for (const uint32_t user : users_[from.index]) {
      if (readers.size() >= kMostNeighbours) return;
      Neighbour reader{user, from.through};
      // What a tuple's elements feed is not told apart here, so a tuple is an end.
      const bool ends = !IsPassive(user) || At(user).opcode == "tuple" || users_[user].empty() ||
                        reader.through.size() >= kMostPassed;
      if (ends) {
        readers.push_back(std::move(reader));
        continue;
      }
      reader.through.push_back(user);
      Follow(reader, readers);
    }
  }

  const model::HloModule& module_;
  const std::unordered_map<std::string, const Json*>& ops_;
  std::vector<std::vector<uint32_t>> users_;
};

// Instructions of the same module by name, with their handle and time where they ran by themselves.
Status AddNeighbours(RunDb& db, const model::HloModule& module, uint32_t index, int64_t module_id,
                     Json* sheet) {
  XLATRACE_ASSIGN(const Json ops,
                  Rows(db, "SELECT instruction, handle, self_ns FROM op_time WHERE module_id = ?1",
                       {module_id}));
  std::unordered_map<std::string, const Json*> by_name;
  for (const Json& op : ops) by_name[TextOf(op, "instruction")] = &op;
  // `value`: the array as this op reads it or its reader takes it.
  const auto row_of = [&](const Neighbour& neighbour, std::string_view value) {
    const model::Instruction& other = module.instructions[neighbour.index];
    Json row{{"instruction", other.name}, {"opcode", other.opcode}, {"shape", value}};
    auto found = by_name.find(std::string(other.name));
    // A wrapper around one instruction (async-start): the time is under that one's name.
    for (const uint32_t callee : module.CalledComputations(other)) {
      if (found != by_name.end() || other.opcode == "while") break;
      const uint32_t root = module.computations[callee].root;
      if (root == model::kNoIndex) continue;
      found = by_name.find(std::string(module.instructions[root].name));
    }
    row["handle"] = found == by_name.end() ? Json() : (*found->second)["handle"];
    row["self_ns"] = found == by_name.end() ? Json() : (*found->second)["self_ns"];
    row["through"] = Json::array();
    for (const uint32_t passed : neighbour.through) {
      row["through"].push_back(module.instructions[passed].name);
    }
    return row;
  };
  Neighbours neighbours(module, by_name);
  Json operands = Json::array();
  for (const uint32_t operand : module.Operands(module.instructions[index])) {
    if (operands.size() >= kMostNeighbours) break;
    operands.push_back(row_of(neighbours.MakerOf(operand), module.instructions[operand].shape));
  }
  Json users = Json::array();
  for (const Neighbour& reader : neighbours.ReadersOf(index)) {
    users.push_back(row_of(reader, module.instructions[reader.index].shape));
  }
  (*sheet)["operands"] = std::move(operands);
  (*sheet)["users"] = std::move(users);
  return {};
}

// The instruction as XLA prints it, and the bodies it calls, without metadata.
Json HloLines(const model::HloModule& module, uint32_t index, bool whole) {
  constexpr size_t kMostLines = 40;
  const model::Instruction& instruction = module.instructions[index];
  Json lines = Json::array();
  lines.push_back(hlo::PrintInstruction(module, instruction));
  size_t left_out = 0;
  for (const uint32_t callee : module.CalledComputations(instruction)) {
    if (instruction.opcode != "fusion" && !instruction.opcode.starts_with("async")) break;
    const model::Computation& body = module.computations[callee];
    lines.push_back(std::string(body.name) + " {");
    for (const model::Instruction& inner : module.InstructionsOf(body)) {
      if (!whole && lines.size() > kMostLines) {
        ++left_out;
        continue;
      }
      lines.push_back("  " + hlo::ShortText(module, inner));
    }
    lines.push_back("}");
  }
  if (left_out > 0) {
    lines.push_back("... " + std::to_string(left_out) + " more lines: --hlo");
  }
  return lines;
}

Status AddHlo(RunDb& db, int64_t module_id, const std::string& name, const ShowOptions& options,
              Json* sheet) {
  const auto module = LoadHlo(db, module_id);
  if (!module) return {};  // A run without HLO still has the rest.
  const auto by_name = model::IndexByName(*module);
  const auto found = by_name.find(name);
  if (found == by_name.end()) return {};
  (*sheet)["hlo"] = HloLines(*module, found->second, options.whole_hlo || options.json);
  return AddNeighbours(db, *module, found->second, module_id, sheet);
}

Json StepsJson(const std::vector<analysis::OccupancyStep>& steps) {
  Json json = Json::array();
  for (const analysis::OccupancyStep& step : steps) {
    json.push_back({{"at_most", step.limit},
                    {"theoretical_occupancy_pct", static_cast<double>(step.milli_pct) / 1000}});
  }
  return json;
}

Json OccupancyOn(const analysis::Gpu& gpu, const analysis::KernelShape& shape) {
  Json json{{"gpu", gpu.name}};
  const auto limits = analysis::FindGpuLimits(gpu.compute_capability);
  const auto occupancy =
      limits ? analysis::ComputeOccupancy(shape, *limits) : std::optional<analysis::Occupancy>();
  if (!limits) {
    json["note"] = "occupancy is known for NVIDIA GPUs only";
  } else if (!occupancy) {
    json["note"] = "this kernel would not fit on that GPU as it is";
  } else {
    json["theoretical_occupancy_pct"] = static_cast<double>(occupancy->milli_pct) / 1000;
    json["occupancy_limiter"] = occupancy->Limiter();
    json["blocks_per_sm"] = occupancy->blocks_per_sm;
    if (const auto waves = analysis::WavesMilli(shape, *occupancy, gpu.sm_count)) {
      json["waves"] = static_cast<double>(*waves) / 1000;
    }
  }
  return json;
}

Status AddOtherGpu(RunDb& db, const Json& op, const Json& launches, const ShowOptions& options,
                   Json* sheet) {
  if (options.gpu == nullptr) return {};
  const int64_t device_id = launches.empty() ? 1 : IntOf(launches[0], "device_id");
  XLATRACE_ASSIGN(const analysis::DeviceFacts here, FactsOfStoredDevice(db, device_id));
  const std::string type = TextOf(op, "compute_type");
  const std::string bound = TextOf(op, "bound_by");
  analysis::StoredOp stored;
  stored.flops = OptionalOf(op, "flops");
  stored.bytes = OptionalOf(op, "bytes");
  stored.time_ns = IntOf(op, "self_ns");
  for (const Json& launch : launches) stored.launches += IntOf(launch, "launches");
  stored.compute_type = type;
  stored.bound_by = bound;
  const analysis::OtherGpuEstimate estimate =
      analysis::EstimateOn(stored, here, analysis::FactsOf(*options.gpu));
  Json json{{"gpu", options.gpu->name}, {"is_this_run", !here.peaks.has_value()}};
  json["bound_by"] = Text(estimate.there.bound);
  json["compute_type"] = estimate.there.peak.type;
  if (!here.peaks) {
    if (estimate.there.compute) json["compute_utilisation_pct"] = *estimate.there.compute * 100;
    if (estimate.there.memory) json["memory_utilisation_pct"] = *estimate.there.memory * 100;
    if (estimate.there.wasted_ns) json["wasted_ns"] = *estimate.there.wasted_ns;
  }
  json["estimated_ns"] = estimate.time_ns ? Json(*estimate.time_ns) : Json();
  (*sheet)["other_gpu"] = std::move(json);
  return {};
}

}  // namespace

Result<analysis::DeviceFacts> FactsOfStoredDevice(RunDb& db, int64_t device_id) {
  XLATRACE_ASSIGN(const Json row,
                  Row(db, "SELECT * FROM device WHERE device_id = ?1", {device_id}));
  model::Device device;
  if (row.is_null()) return analysis::FactsOf(device);
  if (TextOf(row, "kind") != "gpu") device.kind = model::DeviceKind::kCpu;
  device.name = TextOf(row, "name");
  device.compute_capability = TextOf(row, "compute_capability");
  device.sm_count = OptionalOf(row, "sm_count");
  device.clock_hz = OptionalOf(row, "clock_hz");
  device.memory_bytes = OptionalOf(row, "memory_bytes");
  device.memory_bandwidth_bytes_per_s = OptionalOf(row, "memory_bandwidth_bytes_per_s");
  device.max_threads_per_sm = OptionalOf(row, "max_threads_per_sm");
  device.max_blocks_per_sm = OptionalOf(row, "max_blocks_per_sm");
  device.registers_per_sm = OptionalOf(row, "registers_per_sm");
  device.registers_per_block = OptionalOf(row, "registers_per_block");
  device.shared_memory_per_sm_bytes = OptionalOf(row, "shared_memory_per_sm_bytes");
  device.shared_memory_per_block_optin_bytes =
      OptionalOf(row, "shared_memory_per_block_optin_bytes");
  device.shared_memory_reserved_per_block_bytes =
      OptionalOf(row, "shared_memory_reserved_per_block_bytes");
  device.l2_bytes = OptionalOf(row, "l2_bytes");
  return analysis::FactsOf(device);
}

std::optional<analysis::KernelShape> KernelShapeOf(const Json& row) {
  model::LaunchConfig config;
  constexpr const char* kAxes[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = OptionalOf(row, std::string("grid_") + kAxes[i]);
    config.block[i] = OptionalOf(row, std::string("block_") + kAxes[i]);
    config.cluster[i] = OptionalOf(row, std::string("cluster_") + kAxes[i]);
  }
  config.registers_per_thread = OptionalOf(row, "registers_per_thread");
  config.shared_memory_static_bytes = OptionalOf(row, "shared_memory_static_bytes");
  config.shared_memory_dynamic_bytes = OptionalOf(row, "shared_memory_dynamic_bytes");
  return analysis::ShapeOf(config);
}

Status AddOccupancyAdvice(RunDb& db, const ShowOptions& options, Json* rows) {
  for (Json& row : *rows) {
    const auto shape = KernelShapeOf(row);
    if (!shape) continue;
    XLATRACE_ASSIGN(const analysis::DeviceFacts facts,
                    FactsOfStoredDevice(db, IntOf(row, "device_id")));
    if (facts.limits) {
      if (const auto waves = row.find("waves"); waves != row.end() && waves->is_number()) {
        const auto milli = static_cast<int64_t>(waves->get<double>() * 1000 + 0.5);
        row["tail_loss_pct"] = static_cast<double>(analysis::TailLossMilli(milli)) / 10;
      }
      row["register_steps"] = StepsJson(analysis::RegisterSteps(*shape, *facts.limits));
      row["shared_memory_steps"] = StepsJson(analysis::SharedMemorySteps(*shape, *facts.limits));
    }
    if (options.gpu != nullptr) row["other_gpu"] = OccupancyOn(*options.gpu, *shape);
  }
  return {};
}

namespace {

// Who runs an instruction that is inside a computation: the instructions that call it.
void AddCallers(const model::HloModule& module, const model::Instruction& instruction,
                Json* sheet) {
  const model::Computation& computation = module.computations[instruction.computation];
  (*sheet)["computation"] = std::string(computation.name);
  if (computation.is_entry) return;
  Json callers = Json::array();
  for (const model::Instruction& other : module.instructions) {
    const auto called = module.CalledComputations(other);
    if (std::find(called.begin(), called.end(), instruction.computation) == called.end()) continue;
    if (callers.size() < kMostNeighbours) callers.push_back(std::string(other.name));
  }
  (*sheet)["called_by"] = std::move(callers);
}

}  // namespace

Result<Json> InstructionSheet(RunDb& db, const std::string& name, const ShowOptions& options) {
  XLATRACE_ASSIGN(const Json row,
                  Row(db,
                      "SELECT i.*, m.handle AS module_handle, m.name AS module FROM instruction i"
                      " JOIN module m ON m.module_id = i.module_id WHERE i.instruction = ?1"
                      " ORDER BY CAST(substr(m.handle, 2) AS INT)",
                      {name}));
  if (row.is_null()) return Json();
  Json sheet{{"kind", "instruction"}, {"instruction", row}};
  const auto module = LoadHlo(db, IntOf(row, "module_id"));
  if (!module) return sheet;
  const auto found = model::IndexByName(*module);
  const auto index = found.find(name);
  if (index == found.end()) return sheet;
  AddCallers(*module, module->instructions[index->second], &sheet);
  Json ops = Json::array();
  for (const Json& caller : sheet.value("called_by", Json::array())) {
    XLATRACE_ASSIGN(const Json op, Row(db,
                                       "SELECT handle, instruction, self_ns FROM op_time"
                                       " WHERE module_id = ?1 AND instruction = ?2",
                                       {IntOf(row, "module_id"), caller.get<std::string>()}));
    if (!op.is_null()) ops.push_back(op);
  }
  sheet["ops"] = std::move(ops);
  XLATRACE_TRY(AddHlo(db, IntOf(row, "module_id"), name, options, &sheet));
  return sheet;
}

Result<Json> OpSheet(RunDb& db, const std::string& handle, const ShowOptions& options) {
  XLATRACE_ASSIGN(Json op, Row(db,
                               "SELECT o.*, m.handle AS module_handle FROM op_time o"
                               " LEFT JOIN module m ON m.module_id = o.module_id"
                               " WHERE o.handle = ?1",
                               {handle}));
  if (op.is_null()) {
    return MakeError("there is no op " + handle + " in '" + db.path() + "'",
                     "ops are numbered by time: xlatrace summary " + ShellWord(db.path()));
  }
  Json sheet{{"kind", "op"}, {"handle", handle}};
  const int64_t module_id = IntOf(op, "module_id");
  const std::string name = TextOf(op, "op");  // Of an instruction its own.
  if (op["instruction"].is_null()) op["instruction"] = name;
  op.erase("op");
  XLATRACE_ASSIGN(const Json instruction,
                  Row(db,
                      "SELECT opcode, shape, fusion_kind, op_name_method, op_type, flops, bytes"
                      " FROM instruction WHERE module_id = ?1 AND instruction = ?2",
                      {module_id, name}));
  if (instruction.is_object()) {
    for (const auto& [key, value] : instruction.items()) {
      op[key == "flops" || key == "bytes" ? key + "_per_run" : key] = value;
    }
  }
  XLATRACE_ASSIGN(const int64_t steady, SteadySteps(db));
  op["steady_steps"] = steady;
  op["steady_ns_per_step"] = steady > 0 ? Json(IntOf(op, "steady_ns") / steady) : Json();
  XLATRACE_ASSIGN(const store::Table all_ops,
                  db.Select("SELECT sum(steady_ns) AS ns FROM op_time"));
  op["steady_device_ns"] = steady > 0 ? Json(all_ops.Int(0, "ns")) : Json();
  XLATRACE_ASSIGN(op["alike"], AlikeOps(db, TextOf(op, "handle")));

  // Of the activities of this op: those whose label names its instruction.
  XLATRACE_ASSIGN(const store::Table labels, store::ScanLabels(db));
  std::unordered_set<int64_t> of_op;
  for (size_t i = 0; i < labels.rows.size(); ++i) {
    if (labels.Int(i, "module_id") == module_id && labels.Text(i, "instruction") == name) {
      of_op.insert(labels.Int(i, "label_id"));
    }
  }
  XLATRACE_ASSIGN(const store::Table lanes, store::ScanLanes(db));
  std::unordered_map<int64_t, int64_t> device_of;
  for (size_t i = 0; i < lanes.rows.size(); ++i) {
    device_of[lanes.Int(i, "lane_id")] = lanes.Int(i, "device_id");
  }
  std::map<int64_t, LaunchSum> steps;
  std::map<int64_t, std::set<int64_t>> ran_in;  // Steps by device.
  XLATRACE_ASSIGN(
      const LaunchSums sums,
      LaunchSums::Load(db, [&](const LaunchSum& sum, const store::ScannedActivity& activity) {
        if (activity.step && of_op.contains(sum.label_id)) {
          LaunchSum& step = steps[*activity.step];
          ++step.launches;
          step.timed += activity.timed ? 1 : 0;
          step.self_ns += activity.self_ns;
          const auto device = device_of.find(activity.lane_id);
          if (device != device_of.end()) ran_in[device->second].insert(*activity.step);
        }
        return true;
      }));
  XLATRACE_TRY(AddDevices(db, ran_in, op));
  sheet["op"] = op;
  XLATRACE_ASSIGN(const store::Table of_run,
                  db.Select("SELECT step, count(*) AS devices, min(steady) AS steady FROM step"
                            " GROUP BY step ORDER BY step"));
  sheet["steps"] = Json::array();
  for (size_t i = 0; i < of_run.rows.size() && sheet["steps"].size() < kMostSteps; ++i) {
    const auto at = steps.find(of_run.Int(i, "step"));
    if (at == steps.end()) continue;
    const LaunchSum& sum = at->second;
    const bool timed = sum.timed > 0;
    sheet["steps"].push_back(
        {{"step", at->first},
         {"launches", sum.launches},
         {"self_ns", timed ? Json(sum.self_ns) : Json()},
         {"ns_per_device", timed ? Json(sum.self_ns / of_run.Int(i, "devices")) : Json()},
         {"steady", of_run.Int(i, "steady")}});
  }
  std::vector<LaunchSum> mine;
  for (const LaunchSum& sum : sums.sums()) {
    if (of_op.contains(sum.label_id)) mine.push_back(sum);
  }
  std::unordered_map<std::string, std::string> kernel_handles;
  for (const LaunchSums::Kernel& kernel : sums.Kernels()) {
    if (!kernel.symbol.empty()) kernel_handles.emplace(kernel.symbol, kernel.handle);
  }
  Json launches = Json::array();
  for (const LaunchSum& sum : GroupSums(mine, [](const LaunchSum& s) { return s.config_id; })) {
    if (launches.size() == kMostNeighbours) break;
    const auto handle_of = kernel_handles.find(sums.ConfigText(sum, "kernel_symbol"));
    Json row{{"handle", handle_of == kernel_handles.end() ? Json() : Json(handle_of->second)}};
    row.update(sums.LaunchJson(sum));
    launches.push_back(std::move(row));
  }
  XLATRACE_TRY(AddOccupancyAdvice(db, options, &launches));
  XLATRACE_ASSIGN(sheet["host"], LaunchLatency(db, [&](int64_t label_id, int64_t /*config_id*/) {
                    return of_op.contains(label_id);
                  }));
  XLATRACE_TRY(AddOtherGpu(db, op, launches, options, &sheet));
  XLATRACE_ASSIGN(const Json device,
                  Row(db, "SELECT kind FROM device WHERE device_id = ?1",
                      {launches.empty() ? int64_t{1} : IntOf(launches[0], "device_id")}));
  sheet["op"]["device_kind"] = device.is_null() ? Json() : device["kind"];
  sheet["launches"] = std::move(launches);
  XLATRACE_ASSIGN(sheet["shares"],
                  Rows(db,
                       "SELECT op_name, phase, layer, source_file, source_line, share"
                       " FROM instruction_share WHERE module_id = ?1 AND instruction = ?2"
                       " ORDER BY share DESC",
                       {module_id, name}, kMostNeighbours));
  sheet["evidence"] = Json::array();
  const auto evidence_of = [&](const LaunchSum& sum) {
    return std::tuple(sums.LabelText(sum, "evidence"), sums.LabelText(sum, "confidence"),
                      sums.LabelText(sum, "losing_evidence"));
  };
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  for (const LaunchSum& sum : GroupSums(mine, evidence_of)) {
    if (sheet["evidence"].size() == kMostNeighbours) break;
    const auto [evidence, confidence, losers] = evidence_of(sum);
    sheet["evidence"].push_back({{"evidence", or_null(evidence)},
                                 {"confidence", or_null(confidence)},
                                 {"losing_evidence", or_null(losers)},
                                 {"activities", sum.launches},
                                 {"self_ns", sum.timed > 0 ? Json(sum.self_ns) : Json()}});
  }
  XLATRACE_ASSIGN(sheet["findings"], Rows(db,
                                          "SELECT handle, title FROM finding WHERE where_op = ?1 OR"
                                          " instr(evidence, '\"' || ?2 || '\"') > 0 ORDER BY rank",
                                          {name, handle}));
  XLATRACE_TRY(AddHlo(db, module_id, name, options, &sheet));
  return sheet;
}

}  // namespace xlatrace::report
