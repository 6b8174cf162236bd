// SPDX-License-Identifier: Apache-2.0

// The list of modules as JSON; module_list_output.cc has the text.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "dumps/dump_file_note.h"
#include "tools/module_list_output.h"

namespace xlatrace::tools {
namespace {

using Json = nlohmann::ordered_json;

Json Number(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }
Json TextOrNull(std::string_view text) { return text.empty() ? Json() : Json(std::string(text)); }

Json Values(const std::vector<hlo::ModuleValue>& values) {
  Json out = Json::array();
  for (const hlo::ModuleValue& value : values) {
    out.push_back({{"name", value.name},
                   {"label", TextOrNull(value.label)},
                   {"shape", value.shape},
                   {"bytes", value.bytes}});
  }
  return out;
}

Json Memory(const hlo::ModuleMemory& memory) {
  Json at_peak = Json::array();
  for (const hlo::PeakBuffer& value : memory.at_peak) {
    at_peak.push_back({{"instruction", value.instruction},
                       {"shape_index", TextOrNull(value.shape_index)},
                       {"shape", TextOrNull(value.shape)},
                       {"bytes", value.size_bytes},
                       {"owner", TextOrNull(value.owner)},
                       {"phase", TextOrNull(value.phase)},
                       {"layer", TextOrNull(value.layer)},
                       {"source_file", TextOrNull(value.source_file)},
                       {"source_line", value.source_line > 0 ? Json(value.source_line) : Json()}});
  }
  Json owners = Json::array();
  for (const hlo::OwnerBytes& owner : memory.owners) {
    owners.push_back({{"owner", owner.owner}, {"bytes", owner.bytes}});
  }
  Json spaces = Json::array();
  for (const hlo::SpaceBytes& space : memory.spaces) {
    spaces.push_back({{"color", space.color},
                      {"memory_space", hlo::MemorySpaceName(memory.platform, space.color)},
                      {"bytes", space.bytes}});
  }
  return {{"total_bytes", memory.total_bytes},
          {"parameter_bytes", memory.parameter_bytes},
          {"output_bytes", memory.output_bytes},
          {"constant_bytes", memory.constant_bytes},
          {"temp_bytes", memory.temp_bytes},
          {"spaces", std::move(spaces)},
          {"owners", std::move(owners)},
          {"peak_instruction", TextOrNull(memory.at_instruction)},
          {"at_peak", std::move(at_peak)},
          {"more_at_peak", memory.more_at_peak}};
}

void AddSummary(const hlo::ModuleSummary& summary, Json& out) {
  const hlo::ModuleSource& source = summary.source;
  out["fingerprint"] = HashText(summary.content_hash);
  out["source_file"] = TextOrNull(source.file);
  out["source_function"] = TextOrNull(source.function);
  out["source_first_line"] = source.first_line > 0 ? Json(source.first_line) : Json();
  out["source_last_line"] = source.last_line > 0 ? Json(source.last_line) : Json();
  out["computations"] = summary.computations;
  out["operations"] = summary.operations;
  out["fusions"] = summary.fusions;
  out["opcodes"] = summary.opcodes;
  out["fused_opcodes"] = summary.fused_opcodes;
  out["flops"] = Number(summary.flops);
  out["bytes_accessed"] = Number(summary.bytes_accessed);
  out["unknown_costs"] = summary.unknown_costs;
  out["has_gradient"] = summary.has_gradient;
  out["peak_memory_bytes"] =
      summary.peak_memory_bytes >= 0 ? Json(summary.peak_memory_bytes) : Json();
  out["parameter_bytes"] = summary.parameter_bytes;
  out["constant_bytes"] = summary.constant_bytes;
  out["result_bytes"] = summary.result_bytes;
  out["parameters"] = Values(summary.parameters);
  for (size_t i = 0; i < summary.parameters.size(); ++i) {
    out["parameters"][i]["aliased"] = summary.parameters[i].aliased;
  }
  out["constants"] = Values(summary.constants);
  out["results"] = Values(summary.results);
}

}  // namespace

std::string ModuleListJson(const ModuleList& list, const std::vector<size_t>& which) {
  Json modules = Json::array();
  const auto reference = [&](size_t m) {
    const ListedModule& module = list.modules[m];
    return Json{{"handle", TextOrNull(module.handle)},
                {"module", module.name},
                {"program_id", Number(module.program_id)},
                {"subfolder", TextOrNull(module.subfolder)}};
  };
  const std::set<size_t> wanted(which.begin(), which.end());
  for (const size_t m : which) {
    const ListedModule& module = list.modules[m];
    Json entry = {{"handle", module.handle},
                  {"module", module.name},
                  {"program_id", Number(module.program_id)},
                  {"subfolder", TextOrNull(module.subfolder)},
                  {"loose_file", TextOrNull(module.loose_file)},
                  {"role", module.role},
                  {"why", module.why},
                  {"device_ns", Number(module.device_ns)},
                  {"executions", Number(module.executions)},
                  {"origin", TextOrNull(module.origin.how)},
                  {"function", module.origin.function},
                  {"instructions", module.summary ? Json(module.summary->instructions) : Json()},
                  {"file", module.file},
                  {"error", module.error},
                  {"has_before", module.has_before},
                  {"has_after", module.has_after},
                  {"pass_dumps", module.pass_dumps},
                  {"thunks", module.thunks},
                  {"other_half", module.other_half ? reference(*module.other_half) : Json()},
                  {"same_as", module.same_as ? reference(*module.same_as) : Json()},
                  {"warnings", module.warnings}};
    if (module.other_half) entry["other_half"]["op_names_in_common_pct"] = module.other_half_pct;
    if (module.summary) AddSummary(*module.summary, entry);
    if (module.memory) entry["memory"] = Memory(*module.memory);
    Json files = Json::array();
    for (const dumps::DumpFile& file : module.files) {
      const dumps::DumpFileNote note = dumps::NoteOf(file.name);
      files.push_back({{"file", file.path},
                       {"kind", std::string(note.kind)},
                       {"what", note.what},
                       {"bytes", file.size_bytes}});
    }
    entry["files"] = std::move(files);
    modules.push_back(std::move(entry));
  }
  Json links = Json::array();
  for (const hlo::ModuleLink& link : list.links) {
    if (!wanted.contains(link.consumer) && !wanted.contains(link.producer)) continue;
    links.push_back({{"producer", reference(link.producer)},
                     {"consumer", reference(link.consumer)},
                     {"arrays", link.arrays},
                     {"bytes", link.bytes},
                     {"parameters", link.parameters},
                     {"parameter_bytes", link.parameter_bytes},
                     {"inferred", true}});
  }
  Json recompiled = Json::array();
  for (const hlo::Recompiled& one : list.recompiled) {
    Json varying = Json::array();
    for (const hlo::Recompiled::Varying& what : one.varying) {
      varying.push_back({{"what", what.what}, {"values", what.values}});
    }
    Json compiled = Json::array();
    for (const size_t m : one.modules) compiled.push_back(reference(m));
    recompiled.push_back({{"function", one.function},
                          {"times", one.modules.size()},
                          {"programs", one.programs},
                          {"shapes", one.shapes},
                          {"varying", std::move(varying)},
                          {"modules", std::move(compiled)}});
  }
  const Json document = {{"schema_version", 1},
                         {"path", list.path},
                         {"modules", std::move(modules)},
                         {"links", std::move(links)},
                         {"recompiled", std::move(recompiled)},
                         {"other_files", list.others},
                         {"skipped", list.skipped},
                         {"missing_numbers", list.missing_numbers},
                         {"warnings", list.warnings}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::tools
