// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <nlohmann/json.hpp>

#include "hlo/module_summary.h"
#include "tools/passes_output.h"

namespace xlatrace::tools {
namespace {

using Json = nlohmann::ordered_json;

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json Step(const PassesView& view, size_t step) {
  const dumps::PassStep& at = view.steps[step];
  return {{"dump", at.number >= 0 ? Json(at.number) : Json()},
          {"pipeline", TextOrNull(at.pipeline)},
          {"pass", at.pass},
          {"next_pass", TextOrNull(at.next_pass)}};
}

Json Node(const PassesView& view, const dumps::PassNode& node) {
  Json dumps = Json::array();
  for (const size_t step : node.steps) {
    const int32_t number = view.steps[step].number;
    dumps.push_back(number >= 0 ? Json(number) : Json());
  }
  Json out = {{"name", node.name},
              {"is_pipeline", node.is_group},
              {"rounds", node.rounds},
              {"dumps", std::move(dumps)}};
  if (node.is_group) {
    Json children = Json::array();
    for (const dumps::PassNode& child : node.children) children.push_back(Node(view, child));
    out["children"] = std::move(children);
  }
  return out;
}

Json TimelineJson(const PassesView& view) {
  Json steps = Json::array();
  for (size_t i = 0; i < view.steps.size(); ++i) {
    const dumps::StepCounts& counts = view.counts[i];
    Json step = Step(view, i);
    step["file"] = view.steps[i].file;
    if (!counts.error.empty()) {
      step["error"] = counts.error;
    } else {
      step["instructions"] = counts.instructions;
      step["operations"] = counts.operations;
      step["opcodes"] = counts.opcodes;
      const bool first = i == 0 || !view.counts[i - 1].error.empty();
      step["changed"] = first ? Json() : Json(counts.text_hash != view.counts[i - 1].text_hash);
      step["attributes_only"] = first
                                    ? Json()
                                    : Json(counts.text_hash != view.counts[i - 1].text_hash &&
                                           counts.content_hash == view.counts[i - 1].content_hash);
      Json delta = Json::object();
      if (!first) {
        for (const auto& [opcode, count] : counts.opcodes) {
          const auto before = view.counts[i - 1].opcodes.find(opcode);
          const int64_t change =
              count - (before == view.counts[i - 1].opcodes.end() ? 0 : before->second);
          if (change != 0) delta[opcode] = change;
        }
        for (const auto& [opcode, count] : view.counts[i - 1].opcodes) {
          if (!counts.opcodes.contains(opcode)) delta[opcode] = -count;
        }
      }
      step["delta"] = std::move(delta);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string_view WordOf(dumps::Fate fate) {
  switch (fate) {
    case dumps::Fate::kKept:
      return "kept";
    case dumps::Fate::kChanged:
      return "changed";
    case dumps::Fate::kRenamed:
      return "renamed";
    case dumps::Fate::kFused:
      return "fused";
    case dumps::Fate::kReplaced:
      return "replaced";
    case dumps::Fate::kRemoved:
      return "removed";
  }
  return "";
}

std::string_view WordOf(dumps::Birth birth) {
  switch (birth) {
    case dumps::Birth::kKept:
      return "kept";
    case dumps::Birth::kChanged:
      return "changed";
    case dumps::Birth::kRenamed:
      return "renamed";
    case dumps::Birth::kCopied:
      return "copied";
    case dumps::Birth::kMade:
      return "made";
    case dumps::Birth::kReplaces:
      return "replaces";
    case dumps::Birth::kAdded:
      return "added";
  }
  return "";
}

template <typename Change>
Json Entry(const model::HloModule& module, const std::vector<uint32_t>& containers, uint32_t i,
           const Change& change, const model::HloModule& other) {
  const model::Instruction& instruction = module.instructions[i];
  Json others = Json::array();
  for (const uint32_t o : change.others) {
    others.push_back(std::string(other.instructions[o].name));
  }
  Json entry = {
      {"instruction", std::string(instruction.name)},
      {"opcode", std::string(instruction.opcode)},
      {"shape", std::string(instruction.shape)},
      {"inside",
       containers[i] == i ? Json() : Json(std::string(module.instructions[containers[i]].name))},
      {"what", std::string(WordOf(change.kind))},
      {"others", std::move(others)}};
  return entry;
}

Json ComparisonJson(const PassesView& view) {
  const PassesView::Comparison& comparison = *view.comparison;
  Json before = Json::array();
  Json after = Json::array();
  for (uint32_t b = 0; b < comparison.before.instructions.size(); ++b) {
    const auto& fate = comparison.diff.fates[b];
    if (fate.kind == dumps::Fate::kKept) continue;
    Json entry =
        Entry(comparison.before, comparison.diff.container_before, b, fate, comparison.after);
    if (fate.kind == dumps::Fate::kChanged) {
      entry["change"] =
          dumps::ChangeText(comparison.before, comparison.before.instructions[b], comparison.after,
                            comparison.after.instructions[fate.others[0]]);
    }
    before.push_back(std::move(entry));
  }
  for (uint32_t a = 0; a < comparison.after.instructions.size(); ++a) {
    const auto& birth = comparison.diff.births[a];
    if (birth.kind == dumps::Birth::kKept || birth.kind == dumps::Birth::kChanged) continue;
    after.push_back(
        Entry(comparison.after, comparison.diff.container_after, a, birth, comparison.before));
  }
  return {{"from", Step(view, comparison.from)},
          {"to", Step(view, comparison.to)},
          {"complete", comparison.diff.complete},
          {"before", std::move(before)},
          {"after", std::move(after)}};
}

std::string_view WordOf(dumps::HistoryEvent::Kind kind) {
  using Kind = dumps::HistoryEvent::Kind;
  switch (kind) {
    case Kind::kFirst:
      return "first";
    case Kind::kMade:
      return "made";
    case Kind::kAdded:
      return "added";
    case Kind::kReplaces:
      return "replaces";
    case Kind::kCopied:
      return "copied";
    case Kind::kChanged:
      return "changed";
    case Kind::kRenamed:
      return "renamed";
    case Kind::kFused:
      return "fused";
    case Kind::kReplaced:
      return "replaced";
    case Kind::kRemoved:
      return "removed";
    case Kind::kLast:
      return "last";
  }
  return "";
}

Json NoteJson(const dumps::InstructionNote& note) {
  return {{"instruction", note.name},
          {"opcode", note.opcode},
          {"shape", note.shape},
          {"op_name", TextOrNull(note.op_name)},
          {"source_file", TextOrNull(note.source_file)},
          {"source_line", note.source_line > 0 ? Json(note.source_line) : Json()},
          {"inside", TextOrNull(note.inside)}};
}

Json HistoryJson(const PassesView& view) {
  Json events = Json::array();
  for (const dumps::HistoryEvent& event : view.history->events) {
    Json others = Json::array();
    for (const dumps::InstructionNote& other : event.others) others.push_back(NoteJson(other));
    events.push_back({{"what", std::string(WordOf(event.kind))},
                      {"at", Step(view, event.step)},
                      {"instruction", NoteJson(event.instruction)},
                      {"others", std::move(others)},
                      {"change", TextOrNull(event.text)}});
  }
  Json origins = Json::array();
  for (const dumps::InstructionNote& origin : view.history->origins)
    origins.push_back(NoteJson(origin));
  return {{"instruction", view.instruction},
          {"events", std::move(events)},
          {"origins", std::move(origins)},
          {"origins_at", Step(view, view.history->origins_step)},
          {"warnings", view.history->warnings}};
}

}  // namespace

std::string PassesJson(const PassesView& view) {
  Json document = {{"schema_version", 1},
                   {"path", view.path},
                   {"module", view.module_name},
                   {"program_id", view.program_id >= 0 ? Json(view.program_id) : Json()}};
  if (view.history) {
    document["history"] = HistoryJson(view);
  } else if (view.comparison) {
    document["comparison"] = ComparisonJson(view);
  } else {
    document["steps"] = TimelineJson(view);
    Json timeline = Json::array();
    for (const dumps::PassNode& node : dumps::FoldPasses(view.steps)) {
      timeline.push_back(Node(view, node));
    }
    document["timeline"] = std::move(timeline);
  }
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::tools
