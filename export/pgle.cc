// SPDX-License-Identifier: Apache-2.0
#include "export/pgle.h"

#include <algorithm>
#include <map>
#include <memory>
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
#include "hlo/text/text_reader.h"
#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

struct Mean {
  int64_t ns = 0;
  int64_t count = 0;
};

// By instruction, device and kernel.
using Means = std::map<std::tuple<int64_t, int64_t, std::string_view>, Mean>;

Result<Means> SumKernels(const RunRows& run) {
  std::set<std::pair<int64_t, int64_t>> steady;  // Device and step.
  for (const StepFacts& step : run.steps()) {
    if (step.steady) steady.insert({step.device_id, step.step});
  }
  Means means, all;
  XLATRACE_TRY(run.ForEachLaunch([&](const store::ScannedLaunch& launch) -> Status {
    const model::Label& label = run.LabelOf(launch.label_id);
    if (!launch.timed || label.instruction_id == 0 || label.module_id == 0) return {};
    const int64_t device = At(run.lanes(), launch.lane_id).device_id;
    const ConfigFacts& config = At(run.configs(), launch.config_id);
    const std::string_view kernel =
        config.name.empty() ? std::string_view(config.kind) : config.name;
    const bool is_steady = launch.step && steady.contains({device, *launch.step});
    for (Means* const into : {&all, is_steady ? &means : nullptr}) {
      if (into == nullptr) continue;
      Mean& mean = (*into)[{label.instruction_id, device, kernel}];
      mean.ns += launch.duration_ns;
      ++mean.count;
    }
    return {};
  }));
  // What no steady step ran (other modules) has its mean over the run.
  std::set<int64_t> known;
  for (const auto& [key, mean] : means) known.insert(std::get<0>(key));
  for (const auto& [key, mean] : all) {
    if (!known.contains(std::get<0>(key))) means.emplace(key, mean);
  }
  return means;
}

// Names at scheduling time, by name; of an instruction that was not scheduled: empty.
using NameMap = std::unordered_map<std::string, std::string>;

Result<NameMap> SchedulingNames(std::string bytes) {
  NameMap names;
  XLATRACE_ASSIGN(const model::HloModule module,
                  hlo::ReadAny(std::make_shared<const std::string>(std::move(bytes))));
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
  XLATRACE_ASSIGN(const Means means, SumKernels(run));
  // By instruction and device: one occurrence.
  std::map<std::pair<int64_t, int64_t>, double> occurrence_us;
  for (const auto& [key, mean] : means) {
    const auto& [instruction, device, kernel] = key;
    occurrence_us[{instruction, device}] +=
        static_cast<double>(mean.ns) / static_cast<double>(mean.count) / 1000.0;
  }
  std::map<std::string, std::map<std::string, double>> files;
  NameMap scheduling_names;
  std::set<std::string> nameless;  // Files of modules without a fingerprint.
  int64_t module_id = 0;
  std::string file;
  for (const auto& [key, us] : occurrence_us) {  // Instructions of a module are neighbours.
    const model::InstructionRow& instruction = At(run.attribution().instructions, key.first);
    if (instruction.module_id != module_id) {
      module_id = instruction.module_id;
      scheduling_names.clear();
      file.clear();
      auto stored = db.ReadModule(module_id);
      if (stored && !stored->bytes.empty()) {
        file = FingerprintBeforeScheduling(stored->bytes);
        auto names = SchedulingNames(std::move(stored->bytes));
        if (names) scheduling_names = std::move(*names);
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
