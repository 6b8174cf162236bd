// SPDX-License-Identifier: Apache-2.0
#include "compare/run_record.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "compare/op_identity.h"
#include "compare/row_builder.h"
#include "compare/time_change.h"

namespace xlatrace::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxRecordedSteps = 64;
constexpr size_t kMaxRecordedOps = 100;

// Names are stable across compilations, numbers are not.
std::string OpKey(const Op& op) {
  if (op.instruction.empty()) {
    return fmt::format("({}) {}", op.reason,
                       op.kernels.empty() ? std::string() : KernelFamily(op.kernels[0].name));
  }
  const std::string name = CanonicalOpName(op.op_name);
  return fmt::format("{} [{}]", name.empty() ? KernelFamily(op.instruction) : name, op.op_kind);
}

std::vector<int64_t> EvenlyChosen(const std::vector<int64_t>& values) {
  std::vector<int64_t> chosen;
  const size_t count = std::min(values.size(), kMaxRecordedSteps);
  for (size_t i = 0; i < count; ++i) chosen.push_back(values[i * values.size() / count]);
  return chosen;
}

// A time or a date: an integer from 0 on that fits into 64 bits.
bool IsTime(const Json& value) {
  return value.is_number_unsigned() ? value.get<uint64_t>() <= INT64_MAX
                                    : value.is_number_integer() && value.get<int64_t>() >= 0;
}

}  // namespace

double RunRecord::StepMean() const {
  double sum = 0;
  for (const int64_t step : steps) sum += static_cast<double>(step);
  return steps.empty() ? static_cast<double>(device_ns) : sum / static_cast<double>(steps.size());
}

MainCalls MainCallsOf(const Run& run) {
  MainCalls calls;
  int64_t ns = 0;
  for (const Module& module : run.modules) {
    if (module.role != "main") continue;
    ns += module.run_ns;
    calls.count += module.executions;
  }
  if (calls.count > 0) calls.each_ns = ns / calls.count;
  return calls;
}

RunRecord RecordOf(const Run& run) {
  RunRecord record;
  record.content_id = run.content_id;
  std::vector<std::string> devices;
  for (const auto& [name, count] : run.devices)
    devices.push_back(fmt::format("{} x {}", count, name));
  std::sort(devices.begin(), devices.end());
  record.devices = fmt::format("{}", fmt::join(devices, ", "));
  for (const Module& module : run.modules) {
    if (module.role != "main" || !record.program.empty()) continue;
    record.program = module.function.empty() ? module.name : module.function;
    if (!module.inputs.empty()) {
      record.inputs =
          fmt::format("{} {}", std::count(module.inputs.begin(), module.inputs.end(), '\n'),
                      HashText(Hash(module.inputs)));
    }
  }
  record.steady = run.steady;
  record.damaged = run.lost > 0 || run.partial;
  record.device_ns = run.device_ns;
  record.call_ns = MainCallsOf(run).each_ns;
  record.steps = EvenlyChosen(run.steps);
  record.calls = EvenlyChosen(run.main_calls);
  record.call_walls = EvenlyChosen(run.call_walls);
  record.usual_variation = UsualVariation(run);
  std::map<std::string, int64_t> ops;
  for (const Op& op : run.ops) {
    ops[OpKey(op)] += op.ns;
    if (op.shares.empty()) record.phases[std::string(model::Text(op.phase))] += op.ns;
    for (const OpShare& share : op.shares) {
      record.phases[std::string(model::Text(share.phase))] += share.ns;
    }
  }
  std::vector<std::pair<int64_t, std::string>> largest;
  for (const auto& [name, ns] : ops) largest.emplace_back(ns, name);
  std::sort(largest.rbegin(), largest.rend());
  for (size_t i = 0; i < std::min(largest.size(), kMaxRecordedOps); ++i) {
    record.ops.emplace(largest[i].second, largest[i].first);
  }
  const auto fact = [&](const char* name, const auto& value) {
    if (value) record.facts[name] = static_cast<double>(*value);
  };
  fact("launches", run.launches);
  fact("fusions", run.fusions);
  fact("main_ops", run.main_ops);
  fact("call_launches", run.call_launches);
  fact("call_bytes", run.call_bytes);
  fact("call_flops", run.call_flops);
  fact("bytes", run.bytes);
  fact("flops", run.flops);
  fact("compilations", run.compilations);
  fact("compile_ns", run.compile_ns);
  fact("recompilations", run.recompilations);
  fact("peak_memory_bytes", run.peak_memory_bytes);
  fact("exposed_collective_bytes", run.exposed_collective_bytes);
  fact("attributed", run.attributed);
  return record;
}

std::string RecordText(const RunRecord& record) {
  Json json;
  json["version"] = 1;
  json["label"] = record.label;
  json["unix_seconds"] = record.unix_seconds;
  json["content_id"] = record.content_id;
  json["devices"] = record.devices;
  json["program"] = record.program;
  json["inputs"] = record.inputs;
  json["steady"] = record.steady;
  json["damaged"] = record.damaged;
  json["device_ns"] = record.device_ns;
  if (record.call_ns > 0) json["call_ns"] = record.call_ns;
  json["steps"] = record.steps;
  if (!record.calls.empty()) json["calls"] = record.calls;
  if (!record.call_walls.empty()) json["call_walls"] = record.call_walls;
  if (record.usual_variation > 0) json["usual_variation"] = record.usual_variation;
  json["phases"] = record.phases;
  json["ops"] = record.ops;
  json["facts"] = record.facts;
  if (!record.accepted.empty()) json["accepted"] = record.accepted;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RunRecord> ParseRecord(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return MakeError("a line is no JSON object");
  if (json.value("version", Json()) != Json(1)) return MakeError("a line of another version");
  RunRecord record;
  bool ok = true;
  const auto text = [&](const char* key, std::string& out) {
    const auto found = json.find(key);
    if (found == json.end()) return;
    if (found->is_string())
      out = found->get<std::string>();
    else
      ok = false;
  };
  const auto number = [&](const char* key, int64_t& out) {
    const auto found = json.find(key);
    if (found != json.end() && IsTime(*found))
      out = found->get<int64_t>();
    else
      ok = false;
  };
  const auto flag = [&](const char* key, bool& out) {
    const auto found = json.find(key);
    if (found != json.end() && found->is_boolean()) out = found->get<bool>();
  };
  text("label", record.label);
  text("content_id", record.content_id);
  text("devices", record.devices);
  text("program", record.program);
  text("inputs", record.inputs);
  text("accepted", record.accepted);
  number("unix_seconds", record.unix_seconds);
  number("device_ns", record.device_ns);
  if (json.contains("call_ns")) number("call_ns", record.call_ns);
  flag("steady", record.steady);
  flag("damaged", record.damaged);
  const auto list = [&](const char* key, std::vector<int64_t>& out) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array()) return;
    for (const Json& value : *found) {
      if (IsTime(value))
        out.push_back(value.get<int64_t>());
      else
        ok = false;
    }
  };
  list("steps", record.steps);
  list("calls", record.calls);
  list("call_walls", record.call_walls);
  if (const auto found = json.find("usual_variation"); found != json.end()) {
    record.usual_variation = found->is_number() ? found->get<double>() : -1;
    // Above 1 on a busy machine.
    ok = ok && record.usual_variation >= 0 && record.usual_variation < 1e300;
  }
  const auto map = [&](const char* key, const auto& use) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_object()) return;
    for (const auto& [name, value] : found->items()) use(name, value);
  };
  const auto times = [&](std::map<std::string, int64_t>& out) {
    return [&](const std::string& name, const Json& value) {
      if (IsTime(value))
        out[name] = value.get<int64_t>();
      else
        ok = false;
    };
  };
  map("phases", times(record.phases));
  map("ops", times(record.ops));
  map("facts", [&](const std::string& name, const Json& value) {
    const double fact = value.is_number() ? value.get<double>() : -1;
    if (fact >= 0 && fact < 1e300)
      record.facts[name] = fact;
    else
      ok = false;
  });
  if (!ok) return MakeError("a line with a field of the wrong type");
  return record;
}

}  // namespace xlatrace::compare
