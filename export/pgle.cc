// SPDX-License-Identifier: Apache-2.0
#include "export/pgle.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "base/shell_word.h"
#include "export/export_format.h"
#include "export/run_rows.h"
#include "export/same_program.h"
#include "hlo/backend_config.h"
#include "hlo/text/text_reader.h"
#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

// Launches of one instruction on one device.
struct Launches {
  int64_t ns = 0;
  int64_t executions = 0;  // Executions of its module.
  int64_t last_execution = 0;
  bool has_executions = true;
  std::map<std::string_view, int64_t> of_kernel;
};

// By instruction and device.
using AllLaunches = std::map<std::pair<int64_t, int64_t>, Launches>;

Result<AllLaunches> CountLaunches(const RunRows& run) {
  std::set<std::pair<int64_t, int64_t>> typical;  // Device and step.
  for (const StepFacts& step : run.steps()) {
    if (step.typical) typical.insert({step.device_id, step.step});
  }
  AllLaunches of_typical, all;
  XLATRACE_TRY(run.ForEachLaunch([&](const store::ScannedLaunch& launch) -> Status {
    const model::Label& label = run.LabelOf(launch.label_id);
    if (!launch.timed || label.instruction_id == 0 || label.module_id == 0) return {};
    const int64_t device = At(run.lanes(), launch.lane_id).device_id;
    const ConfigFacts& config = At(run.configs(), launch.config_id);
    const std::string_view kernel =
        config.name.empty() ? std::string_view(config.kind) : config.name;
    const bool is_typical = launch.step && typical.contains({device, *launch.step});
    for (AllLaunches* const into : {&all, is_typical ? &of_typical : nullptr}) {
      if (into == nullptr) continue;
      Launches& launches = (*into)[{label.instruction_id, device}];
      launches.ns += launch.duration_ns;
      ++launches.of_kernel[kernel];
      launches.has_executions = launches.has_executions && launch.execution_id != 0;
      if (launch.execution_id != launches.last_execution) ++launches.executions;
      launches.last_execution = launch.execution_id;
    }
    return {};
  }));
  // Instructions that no typical step ran (of other modules) have their cost over the run.
  std::set<int64_t> known;
  for (const auto& [key, launches] : of_typical) known.insert(key.first);
  for (auto& [key, launches] : all) {
    if (!known.contains(key.first)) of_typical.emplace(key, std::move(launches));
  }
  return of_typical;
}

// How often each instruction runs in one execution of its module; none where that depends on data.
using RunsPerExecution = std::unordered_map<std::string, std::optional<int64_t>>;

RunsPerExecution CountRuns(const model::HloModule& module) {
  std::vector<std::optional<int64_t>> runs(module.computations.size());
  std::vector<uint32_t> open;
  for (uint32_t c = 0; c < module.computations.size(); ++c) {
    if (!module.computations[c].is_entry) continue;
    runs[c] = 1;
    open.push_back(c);
  }
  std::vector<bool> seen(module.computations.size());
  while (!open.empty()) {
    const uint32_t caller = open.back();
    open.pop_back();
    if (seen[caller]) continue;  // Called twice: the first call counts.
    seen[caller] = true;
    const model::Computation& computation = module.computations[caller];
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      const model::Instruction& instruction =
          module.instructions[computation.first_instruction + k];
      std::optional<int64_t> times = runs[caller];
      if (instruction.opcode == "while") {
        const std::optional<int64_t> trips = hlo::TripCount(module, instruction);
        times = times && trips ? std::optional(*times * *trips) : std::nullopt;
      } else if (instruction.opcode == "conditional") {
        times = std::nullopt;
      }
      for (const uint32_t called : module.CalledComputations(instruction)) {
        if (called >= runs.size() || seen[called]) continue;
        runs[called] = times;
        open.push_back(called);
      }
    }
  }
  RunsPerExecution of_name;
  for (const model::Instruction& instruction : module.instructions) {
    if (instruction.computation >= runs.size()) continue;
    of_name.emplace(instruction.name, runs[instruction.computation]);
  }
  return of_name;
}

// How often the instruction ran. Without its executions, the kernel that it launches least often is
// taken to be launched once each time.
int64_t Occurrences(const Launches& launches, std::optional<int64_t> runs_per_execution) {
  int64_t least = INT64_MAX, sum = 0;
  for (const auto& [kernel, count] : launches.of_kernel) {
    least = std::min(least, count);
    sum += count;
  }
  if (!launches.has_executions || !runs_per_execution || *runs_per_execution < 1) return least;
  const int64_t occurrences = launches.executions * *runs_per_execution;
  return occurrences <= sum ? occurrences : least;
}

// Names at scheduling time, by name; of an instruction that was not scheduled: empty.
using NameMap = std::unordered_map<std::string, std::string>;

NameMap SchedulingNames(const model::HloModule& module) {
  NameMap names;
  for (const model::Instruction& instruction : module.instructions) {
    names.emplace(instruction.name, module.OtherNamesOf(instruction.metadata).scheduling);
  }
  return names;
}

// A file name of a module that has no fingerprint.
std::string FileName(std::string_view module_name, int64_t module_id) {
  std::string name;
  for (const char c : module_name.substr(0, 100)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  return fmt::format("{}.{}", name.empty() || name[0] == '.' ? "module" : name, module_id);
}

std::string QuotedText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string FingerprintBeforeScheduling(std::string_view hlo) {
  constexpr std::string_view kKey = "fingerprint_before_lhs";
  for (size_t at = hlo.find(kKey); at != std::string_view::npos; at = hlo.find(kKey, at + 1)) {
    const std::string_view rest = hlo.substr(at + kKey.size());
    // Text: ="0123"; proto: the value is the map entry's field 2.
    if (rest.starts_with("=\"")) return std::string(rest.substr(2, rest.find('"', 2) - 2));
    if (rest.size() >= 2 && rest[0] == '\x12' && rest[1] > 0) {
      const std::string_view value = rest.substr(2, static_cast<size_t>(rest[1]));
      const auto is_hex = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      };
      if (std::all_of(value.begin(), value.end(), is_hex)) return std::string(value);
    }
  }
  return {};
}

Result<ExportCount> WritePgle(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, request.progress, request.selection));
  XLATRACE_ASSIGN(const AllLaunches all_launches, CountLaunches(run));
  std::map<std::string, std::map<std::string, double>> files;
  NameMap scheduling_names;
  RunsPerExecution runs_per_execution;
  std::set<std::string> nameless;  // Files of modules without a fingerprint.
  int64_t module_id = 0;
  std::string file;
  for (const auto& [key, launches] : all_launches) {  // Instructions of a module are neighbours.
    const model::InstructionRow& instruction = At(run.attribution().instructions, key.first);
    if (instruction.module_id != module_id) {
      module_id = instruction.module_id;
      scheduling_names.clear();
      runs_per_execution.clear();
      file.clear();
      auto stored = db.ReadModule(module_id);
      if (stored && !stored->bytes.empty()) {
        file = FingerprintBeforeScheduling(stored->bytes);
        const auto module =
            hlo::ReadAny(std::make_shared<const std::string>(std::move(stored->bytes)));
        if (module) {
          scheduling_names = SchedulingNames(*module);
          runs_per_execution = CountRuns(*module);
        }
        if (file.empty()) file = FingerprintBeforeScheduling(HloProtoOf(run, module_id));
      }
      if (file.empty()) {
        file = FileName(At(run.modules(), module_id).name, module_id);
        nameless.insert(file);
      }
    }
    const auto found = scheduling_names.find(instruction.name);
    const bool scheduled = found != scheduling_names.end() && !found->second.empty();
    const std::string& name = scheduled ? found->second : instruction.name;
    const auto runs = runs_per_execution.find(instruction.name);
    const int64_t occurrences =
        Occurrences(launches, runs == runs_per_execution.end() ? std::nullopt : runs->second);
    const double us = static_cast<double>(launches.ns) / static_cast<double>(occurrences) / 1000.0;
    const auto [cost, is_new] = files[file].try_emplace(name, us);
    if (is_new) continue;
    const bool communicates = instruction.op_kind == model::OpKind::kCollective;
    cost->second = communicates ? std::max(cost->second, us) : std::min(cost->second, us);
  }
  if (files.empty()) {
    return MakeError(fmt::format("no launch of '{}' belongs to an HLO instruction, so there are no "
                                 "costs to hand on",
                                 db.path()),
                     fmt::format("xlatrace summary {}", ShellWord(db.path())));
  }
  XLATRACE_ASSIGN(OutputFolder folder, OutputFolder::Create(request.output, request.force));
  ExportCount count;
  for (const auto& [name, costs] : files) {
    std::string text, bytes;
    protozero::pbf_writer proto(bytes);
    for (const auto& [instruction, us] : costs) {
      text += fmt::format("costs {{ name: {} cost_us: {} }}\n", QuotedText(instruction), us);
      protozero::pbf_writer cost(proto, 1);
      cost.add_string(1, instruction);
      cost.add_double(2, us);
    }
    for (const auto& [suffix, content] : {std::pair(".pbtxt", &text), {".pb", &bytes}}) {
      XLATRACE_ASSIGN(AtomicFile out, folder.Open(name + suffix));
      XLATRACE_TRY(out.Append(*content));
      XLATRACE_TRY(folder.Close(std::move(out)));
    }
    count.rows += static_cast<int64_t>(costs.size());
  }
  count.files = static_cast<int64_t>(folder.file_count());
  if (!nameless.empty()) {
    count.note = fmt::format(
        "{} of {} modules without XLA's fingerprint: name the file itself, {}/{}.pbtxt, or attach"
        " a dump of the program and export again",
        nameless.size(), files.size(), request.output, *nameless.begin());
  }
  XLATRACE_TRY(folder.Commit());
  return count;
}

}  // namespace xlatrace::exporter
