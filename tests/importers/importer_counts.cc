// SPDX-License-Identifier: Apache-2.0

// importer_counts FILE: imports FILE and prints, as JSON, the figures that independent_counts.py
// computes on its own. With --time: bytes and CPU seconds instead, into a sink that drops
// everything.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/compress.h"
#include "importers/importer.h"
#include "tests/importers/memory_sink.h"

namespace {

using nlohmann::json;
using namespace xlatrace;             // NOLINT: a tool of one file.
using namespace xlatrace::importers;  // NOLINT

class NullSink final : public model::EventSink {
 public:
  void SetStart(int64_t) override {}
  std::optional<int64_t> start_unix_ns() const override { return std::nullopt; }
  void SetRunInfo(std::string_view, std::string_view) override {}
  model::Id AddProcess(const model::Process&) override { return 1; }
  model::Id AddDevice(const model::Device&) override { return 1; }
  model::Id AddLane(const model::Lane&) override { return 1; }
  model::Id AddLaunchConfig(const model::LaunchConfig&) override { return 1; }
  model::Id AddHint(const model::Hint&) override { return 1; }
  model::Id AddModule(const model::ModuleBlob&) override { return 1; }
  model::Id AddApiCall(const model::ApiCall&) override { return 1; }
  model::Id AddActivity(const model::Activity&) override { return ++activities; }
  model::Id AddRange(const model::Range&) override { return 1; }
  void AddStepMark(const model::StepMark&) override {}
  void AddCompile(const model::Compile&) override {}
  void AddRunStat(const model::RunStat&) override {}
  model::Id activities = 0;
};

int Fail(const Error& error) {
  std::printf("%s\n", json{{"error", error.message}, {"hint", error.hint}}
                          .dump(-1, ' ', false, json::error_handler_t::replace)
                          .c_str());
  return 1;
}

int64_t Union(std::vector<std::pair<int64_t, int64_t>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  int64_t sum = 0;
  int64_t until = INT64_MIN;
  for (const auto& [start, end] : intervals) {
    if (end > until) sum += end - std::max(start, until);
    until = std::max(until, end);
  }
  return sum;
}

int Time(const std::string& path) {
  const std::clock_t start = std::clock();  // CPU time: machines are shared.
  NullSink sink;
  if (const Status status = Import(path, sink); !status) return Fail(status.error());
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const auto bytes = ReadFileInflated(path);
  std::printf("%10zu bytes %9lld activities %8.4f s %8.1f MB/s\n", bytes ? bytes->size() : 0,
              static_cast<long long>(sink.activities), took,
              static_cast<double>(bytes ? bytes->size() : 0) / 1e6 / took);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--time") return Time(argv[2]);
  if (argc != 2) return 2;
  MemorySink sink;
  if (const Status status = Import(argv[1], sink); !status) return Fail(status.error());

  json out;
  std::map<std::string, int64_t> kinds;
  std::map<std::string, std::pair<int64_t, int64_t>> ops;
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> intervals;
  std::map<std::string, int64_t> totals;
  std::map<std::string, std::pair<int64_t, int64_t>> symbols;
  std::map<std::string, int64_t> runs;
  std::map<std::string, std::map<int64_t, int64_t>> run_keys;
  int64_t bytes = 0;
  int64_t with_call = 0;
  for (const model::Activity& a : sink.activities) {
    const model::LaunchConfig& config = sink.Config(a);
    const model::Hint hint = sink.HintOf(a);
    const model::Device& device = sink.DeviceOf(a);
    ++kinds[std::string(model::Text(config.kind))];
    const auto& pid = sink.processes[static_cast<size_t>(device.process_id - 1)].pid;
    const std::string device_key = std::string(model::Text(device.kind)) + ":" +
                                   (pid ? std::to_string(*pid) : "-") + ":" +
                                   std::to_string(device.ordinal);
    intervals[device_key].emplace_back(a.start_ns, a.end_ns);
    totals[device_key] += MemorySink::SelfNs(a);
    const std::string program = hint.program_id ? std::to_string(*hint.program_id) : "";
    auto& op = ops[hint.module_name + "|" + program + "|" + hint.instruction];
    ++op.first;
    op.second += MemorySink::SelfNs(a);
    auto& symbol = symbols[config.symbol];
    ++symbol.first;
    symbol.second += MemorySink::SelfNs(a);
    if (a.bytes > 0) bytes += a.bytes;
    if (a.api_call_id != 0) ++with_call;
    if (a.run_key != 0) ++run_keys[device_key][a.run_key];
  }
  out["kinds"] = kinds;
  out["self_ns"] = totals;
  for (auto& [device, list] : intervals) out["busy_ns"][device] = Union(list);
  for (const auto& [device, keys] : run_keys) out["runs"][device] = keys.size();
  for (const auto& [name, value] : ops) out["ops"][name] = {value.first, value.second};
  for (const auto& [name, value] : symbols) out["symbols"][name] = {value.first, value.second};
  out["bytes"] = bytes;
  out["with_api_call"] = with_call;
  out["api_calls"] = sink.calls.size();
  out["devices"] = sink.devices.size();
  out["processes"] = sink.processes.size();
  out["steps"] = json::array();
  for (const model::StepMark& step : sink.steps) {
    out["steps"].push_back({step.number, step.start_ns, step.end_ns});
  }
  out["modules"] = json::array();
  for (const auto& module : sink.modules) {
    out["modules"].push_back(
        {module.name, module.program_id ? json(*module.program_id) : json(), module.bytes.size()});
  }
  const auto is_python = [](const auto& range) { return range.domain == model::kPythonDomain; };
  const auto python = std::count_if(sink.ranges.begin(), sink.ranges.end(), is_python);
  out["python_calls"] = python;
  out["ranges"] = std::ssize(sink.ranges) - python;
  for (const auto& range : sink.ranges) {
    if (is_python(range)) continue;
    auto& count = out["range_domains"][range.domain];
    count = count.is_null() ? 1 : count.get<int64_t>() + 1;
  }
  out["compiles"] = json::array();
  for (const auto& row : sink.compiles) {
    out["compiles"].push_back({row.name, row.module_id, row.start_ns, row.end_ns});
  }
  out["start_unix_ns"] = sink.start_unix_ns() ? json(*sink.start_unix_ns()) : json();
  out["info"] = sink.info;
  int64_t lost = 0;
  for (const auto& [name, stat] : sink.stats) {
    out["stats"][name] = stat.value;
    if (stat.severity == model::Severity::kDataLoss) lost += stat.value;
  }
  out["lost"] = lost;
  out["self_of_all_ns"] = 0;
  for (const auto& [device, ns] : totals)
    out["self_of_all_ns"] = out["self_of_all_ns"].get<int64_t>() + ns;
  std::printf("%s\n", out.dump(1, ' ', false, json::error_handler_t::replace).c_str());
  return 0;
}
