// SPDX-License-Identifier: Apache-2.0

// The sheet of one op: its description, time, roofline, launches, evidence.

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
#include "report/label_shares.h"
#include "report/launch_sums.h"
#include "report/op_fold.h"
#include "report/run_view.h"
#include "report/show/show_sheet.h"

namespace xlatrace::report {
namespace {

using store::RunDb;

constexpr size_t kMaxStepRows = 200;
constexpr size_t kMaxNamedDeviceCount = 8;

int64_t IntOf(const Json& row, std::string_view key) { return JsonInt(row, key).value_or(0); }
std::optional<int64_t> OptionalOf(const Json& row, std::string_view key) {
  return JsonInt(row, key);
}
std::string TextOf(const Json& row, std::string_view key) { return JsonText(row, key); }

// Display names of the run's devices: ranks if the processes have ranks.
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

// Devices in the mean of the op's time per step, and the times of devices that run the op. Each
// stage of a pipeline has its own ops. `ran_in`: steps with launches of the op, by device.
Status AddDevices(RunDb& db, const std::map<int64_t, std::set<int64_t>>& ran_in, Json& op) {
  XLATRACE_ASSIGN(const store::Table steps,
                  db.Select("SELECT device_id, step FROM step WHERE typical"));
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
    if (op["ran_on"].size() == kMaxNamedDeviceCount) continue;
    const auto name = names.find(device);
    op["ran_on"].push_back(name == names.end() ? fmt::format("device {}", device) : name->second);
  }
  op["steady_ns_per_step_there"] = IntOf(op, "steady_ns") / steps_there;
  return {};
}

// The row of `summary` for this op and its copies: their handles and their time. Null if the op has
// no copies.
Result<Json> AlikeOps(RunDb& db, const std::string& handle) {
  XLATRACE_ASSIGN(const RunView view, LoadRunView(db));
  const std::vector<size_t> rows = FoldRows(view);
  const auto self = std::find_if(view.ops.begin(), view.ops.end(),
                                 [&](const OpFigure& op) { return op.handle == handle; });
  if (self == view.ops.end()) return Json();
  const size_t row = rows[static_cast<size_t>(self - view.ops.begin())];
  Json handles = Json::array();
  std::set<std::string_view> instructions;
  int64_t ns = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != row) continue;
    instructions.insert(view.ops[i].instruction);
    handles.push_back(view.ops[i].handle);
    ns += view.ops[i].ns;
  }
  if (handles.size() < 2) return Json();
  const Json time = static_cast<int64_t>(view.PerStep(ns));
  return Json{{"handles", std::move(handles)},
              {"instructions", instructions.size()},
              {"steady_ns_per_step", view.basis.steady ? time : Json()},
              {"self_ns", view.basis.steady ? Json() : time}};
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

// `count`: number of all its launches, which may exceed those of the shown configurations.
Status AddOtherGpu(RunDb& db, const Json& op, const Json& launches, int64_t count,
                   const ShowOptions& options, Json* sheet) {
  if (options.gpu == nullptr) return {};
  const int64_t device_id = launches.empty() ? 1 : IntOf(launches[0], "device_id");
  XLATRACE_ASSIGN(const analysis::DeviceFacts here, FactsOfStoredDevice(db, device_id));
  const std::string type = TextOf(op, "compute_type");
  const std::string bound = TextOf(op, "bound_by");
  analysis::StoredOp stored;
  stored.flops = OptionalOf(op, "flops");
  stored.bytes = OptionalOf(op, "bytes");
  stored.time_ns = IntOf(op, "self_ns");
  stored.launches = count;
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

// The op's row of op_time, with facts about its instruction and similar ops. Null if no op has the
// handle. `name` is set to the name of the instruction.
Result<Json> OpRow(RunDb& db, const std::string& handle, std::string* name) {
  XLATRACE_ASSIGN(Json op,
                  Row(db,
                      "SELECT o.*, m.handle AS module_handle, i.op_name_method FROM op_time o"
                      " LEFT JOIN module m ON m.module_id = o.module_id LEFT JOIN instruction i"
                      " ON i.module_id = o.module_id AND i.instruction = o.instruction"
                      " WHERE o.handle = ?1",
                      {handle}));
  if (op.is_null()) return op;
  *name = TextOf(op, "op");  // The name of an instruction, without a launched op.
  if (op["instruction"].is_null()) op["instruction"] = *name;
  op.erase("op");
  XLATRACE_ASSIGN(const Json instruction,
                  Row(db,
                      "SELECT opcode, shape, fusion_kind, op_name_method, op_type, flops, bytes"
                      " FROM instruction WHERE module_id = ?1 AND instruction = ?2",
                      {IntOf(op, "module_id"), *name}));
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
  return op;
}

// The activities of one op: those whose label is its instruction or gives the op a share. All times
// of a shared activity are the op's part.
struct OpLaunches {
  std::unordered_set<int64_t> labels;                // Labels that are only this op's.
  std::unordered_map<int64_t, size_t> share_labels;  // Index of the op among the label's owners.
  LaunchSums all;                                    // Sums of all ops.
  std::vector<LaunchSum> sums;
  std::map<int64_t, LaunchSum> by_step;
  std::map<int64_t, std::set<int64_t>> ran_in;  // Steps by device.

  int64_t Count() const {
    int64_t count = 0;
    for (const LaunchSum& sum : sums) count += sum.launches;
    return count;
  }
};

Status FindLabels(RunDb& db, const LabelShares& shares, int64_t module_id, const std::string& name,
                  OpLaunches& of) {
  XLATRACE_ASSIGN(const store::Table labels, store::ScanLabels(db));
  for (size_t i = 0; i < labels.rows.size(); ++i) {
    const int64_t id = labels.Int(i, "label_id");
    const auto owners = shares.OwnersOf(id);
    if (owners.empty()) {
      if (labels.Int(i, "module_id") == module_id && labels.Text(i, "instruction") == name) {
        of.labels.insert(id);
      }
      continue;
    }
    for (size_t k = 0; k < owners.size(); ++k) {
      if (owners[k].module_id == module_id && owners[k].instruction == name) {
        of.share_labels.emplace(id, k);
      }
    }
  }
  return {};
}

// One activity; `self_ns` of its `duration_ns` are in the sum.
void AddLaunch(LaunchSum& sum, bool timed, int64_t self_ns, int64_t duration_ns) {
  ++sum.launches;
  if (!timed) return;
  ++sum.timed;
  sum.self_ns += self_ns;
  sum.total_ns += duration_ns;
  sum.min_ns = std::min(sum.min_ns, duration_ns);
  sum.max_ns = std::max(sum.max_ns, duration_ns);
}

Result<OpLaunches> LaunchesOf(RunDb& db, int64_t module_id, const std::string& name) {
  OpLaunches of;
  XLATRACE_ASSIGN(LabelShares shares, LabelShares::Load(db));
  XLATRACE_TRY(FindLabels(db, shares, module_id, name, of));
  std::map<std::tuple<int64_t, int64_t, int64_t>, LaunchSum> shared;
  XLATRACE_ASSIGN(
      of.all,
      LaunchSums::Load(db, [&](const LaunchSum& sum, const store::ScannedActivity& activity) {
        const auto share = of.share_labels.find(sum.label_id);
        const bool is_share = share != of.share_labels.end();
        if (!is_share && !of.labels.contains(sum.label_id)) return true;
        int64_t self_ns = activity.self_ns;
        if (is_share) {
          self_ns = shares.Split(sum.label_id, activity.self_ns)[share->second];
          const int64_t duration_ns =
              activity.duration_ns == activity.self_ns
                  ? self_ns
                  : shares.Split(sum.label_id, activity.duration_ns)[share->second];
          LaunchSum& part = shared[{sum.label_id, sum.config_id, sum.device_id}];
          part.label_id = sum.label_id;
          part.config_id = sum.config_id;
          part.device_id = sum.device_id;
          AddLaunch(part, activity.timed, self_ns, duration_ns);
        }
        if (!activity.step) return true;
        AddLaunch(of.by_step[*activity.step], activity.timed, self_ns, /*duration_ns=*/self_ns);
        of.ran_in[sum.device_id].insert(*activity.step);
        return true;
      }));
  for (const LaunchSum& sum : of.all.sums()) {
    if (of.labels.contains(sum.label_id)) of.sums.push_back(sum);
  }
  for (const auto& [key, part] : shared) of.sums.push_back(part);
  return of;
}

// Its time in each of the first steps in which it ran. `count`: number of all such steps.
Result<Json> StepRows(RunDb& db, const OpLaunches& of, size_t* count) {
  XLATRACE_ASSIGN(const store::Table of_run,
                  db.Select("SELECT step, count(*) AS devices, min(steady) AS steady,"
                            " min(typical) AS typical FROM step GROUP BY step ORDER BY step"));
  Json rows = Json::array();
  *count = 0;
  for (size_t i = 0; i < of_run.rows.size(); ++i) {
    const auto at = of.by_step.find(of_run.Int(i, "step"));
    if (at == of.by_step.end() || ++*count > kMaxStepRows) continue;
    const LaunchSum& sum = at->second;
    const bool timed = sum.timed > 0;
    rows.push_back(
        {{"step", at->first},
         {"launches", sum.launches},
         {"self_ns", timed ? Json(sum.self_ns) : Json()},
         {"ns_per_device", timed ? Json(sum.self_ns / of_run.Int(i, "devices")) : Json()},
         {"steady", of_run.Int(i, "steady")},
         {"typical", of_run.Int(i, "typical")}});
  }
  return rows;
}

// Its launches by configuration, with the handle of the kernel.
Json LaunchRows(const OpLaunches& of, size_t* configurations) {
  std::unordered_map<std::string, std::string> kernel_handles;
  for (const LaunchSums::Kernel& kernel : of.all.Kernels()) {
    if (!kernel.symbol.empty()) kernel_handles.emplace(kernel.symbol, kernel.handle);
  }
  Json rows = Json::array();
  const auto groups = GroupSums(of.sums, [](const LaunchSum& s) { return s.config_id; });
  *configurations = groups.size();
  for (const LaunchSum& sum : groups) {
    if (rows.size() == kMaxSheetRows) break;
    const auto handle = kernel_handles.find(of.all.ConfigText(sum, "kernel_symbol"));
    Json row{{"handle", handle == kernel_handles.end() ? Json() : Json(handle->second)}};
    row.update(of.all.LaunchJson(sum));
    row["estimated"] = of.share_labels.contains(sum.label_id);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The evidence for the op's activities, with the time per kind of evidence.
Json EvidenceRows(const OpLaunches& of) {
  const auto evidence_of = [&](const LaunchSum& sum) {
    return std::tuple(of.all.LabelText(sum, "evidence"), of.all.LabelText(sum, "confidence"),
                      of.all.LabelText(sum, "losing_evidence"));
  };
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json rows = Json::array();
  for (const LaunchSum& sum : GroupSums(of.sums, evidence_of)) {
    if (rows.size() == kMaxSheetRows) break;
    const auto [evidence, confidence, losers] = evidence_of(sum);
    rows.push_back({{"evidence", or_null(evidence)},
                    {"confidence", or_null(confidence)},
                    {"losing_evidence", or_null(losers)},
                    {"activities", sum.launches},
                    {"self_ns", sum.timed > 0 ? Json(sum.self_ns) : Json()}});
  }
  return rows;
}

}  // namespace

Result<Json> OpSheet(RunDb& db, const std::string& handle, const ShowOptions& options) {
  std::string name;
  XLATRACE_ASSIGN(Json op, OpRow(db, handle, &name));
  if (op.is_null()) {
    return MakeError("there is no op " + handle + " in '" + db.path() + "'",
                     "ops are numbered by time: xlatrace summary " + ShellWord(db.path()));
  }
  const int64_t module_id = IntOf(op, "module_id");
  XLATRACE_ASSIGN(const OpLaunches of, LaunchesOf(db, module_id, name));
  XLATRACE_TRY(AddDevices(db, of.ran_in, op));
  Json sheet{{"kind", "op"}, {"handle", handle}, {"op", op}};
  size_t ran_in_steps = 0;
  XLATRACE_ASSIGN(sheet["steps"], StepRows(db, of, &ran_in_steps));
  sheet["ran_in_steps"] = ran_in_steps;
  size_t configurations = 0;
  Json launches = LaunchRows(of, &configurations);
  XLATRACE_TRY(AddOccupancyAdvice(db, options, &launches));
  XLATRACE_ASSIGN(sheet["host"], LaunchLatency(db, [&](int64_t label_id, int64_t /*config_id*/) {
                    // The call of a graph is not the call of its nodes.
                    return of.labels.contains(label_id);
                  }));
  XLATRACE_TRY(AddOtherGpu(db, op, launches, of.Count(), options, &sheet));
  XLATRACE_ASSIGN(const Json device,
                  Row(db, "SELECT kind FROM device WHERE device_id = ?1",
                      {launches.empty() ? int64_t{1} : IntOf(launches[0], "device_id")}));
  sheet["op"]["device_kind"] = device.is_null() ? Json() : device["kind"];
  sheet["launches"] = std::move(launches);
  sheet["launch_configurations"] = configurations;
  XLATRACE_ASSIGN(sheet["shares"],
                  Rows(db,
                       "SELECT op_name, phase, layer, source_file, source_line, share"
                       " FROM instruction_share WHERE module_id = ?1 AND instruction = ?2"
                       " ORDER BY share DESC",
                       {module_id, name}, kMaxSheetRows));
  sheet["evidence"] = EvidenceRows(of);
  XLATRACE_ASSIGN(sheet["findings"], Rows(db,
                                          "SELECT handle, title FROM finding WHERE where_op = ?1 OR"
                                          " instr(evidence, '\"' || ?2 || '\"') > 0 ORDER BY rank",
                                          {name, handle}));
  XLATRACE_TRY(AddHlo(db, module_id, name, options, &sheet));
  return sheet;
}

}  // namespace xlatrace::report
