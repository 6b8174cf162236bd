// SPDX-License-Identifier: Apache-2.0

// The origin of an op, as JSON and as text.

#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/show/shape_words.h"
#include "report/show/show_text.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

Json NotesJson(const std::vector<ProvenanceNote>& notes) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  Json json = Json::array();
  for (const ProvenanceNote& note : notes) {
    json.push_back({{"instruction", note.name},
                    {"opcode", note.opcode},
                    {"shape", note.shape},
                    {"op_name", text(note.op_name)},
                    {"source_file", text(note.source_file)},
                    {"source_line", note.source_line > 0 ? Json(note.source_line) : Json()}});
  }
  return json;
}

Json OpProvenanceJson(const OpProvenance& op) {
  Json events = Json::array();
  for (const ProvenanceEvent& event : op.events) {
    events.push_back({{"pass", event.pass},
                      {"pipeline", event.pipeline.empty() ? Json() : Json(event.pipeline)},
                      {"dump", event.dump < 0 ? Json() : Json(event.dump)},
                      {"event", event.event},
                      {"sentence", EventSentence(event)},
                      {"name", event.name},
                      {"before_count", event.before_count},
                      {"before", NotesJson(event.before)}});
  }
  return {{"events", std::move(events)},
          {"operands_only", op.operands_only},
          {"operands_sentence", op.operands_only > 0 ? Json(OperandsSentence(op)) : Json()},
          {"origins_sentence", op.origins_count > 0 ? Json(OriginsSentence(op)) : Json()},
          {"origins_count", op.origins_count},
          {"origins", NotesJson(op.origins)}};
}

// Missing facts and their reasons.
void WriteNotes(const Json& provenance, SheetWriter& out) {
  for (const Json& note : ValueAt(provenance, "notes")) {
    if (note.is_string()) out.Paragraph(note.get<std::string>());
  }
}

}  // namespace

Status AddProvenance(const ShowOptions& options, Json& sheet) {
  const std::string kind = JsonText(sheet, "kind");
  if (kind != "op" && kind != "instruction") {
    return MakeError(fmt::format("--modules shows the origin of an instruction; this is a {}",
                                 kind == "source" ? "source line" : kind),
                     "name an op or an instruction: xlatrace show o1 run.db --modules DIR",
                     ErrorCode::kUsage);
  }
  const Json& row = sheet[kind];
  XLATRACE_ASSIGN(
      const Provenance provenance,
      options.provenance(JsonInt(row, "module_id").value_or(0), JsonText(row, "instruction")));
  Json json = Json::object();
  json["dump"] = provenance.dump;
  if (!provenance.ops.empty()) json.update(OpProvenanceJson(provenance.ops.front()));
  json["notes"] = provenance.notes;
  sheet["provenance"] = std::move(json);
  return {};
}

void WriteProvenance(const Json& provenance, SheetWriter& out) {
  if (!provenance.is_object()) return;
  out.Heading("Where it came from");
  out.Fact("dump", JsonText(provenance, "dump"));
  const Json& events = ValueAt(provenance, "events");
  for (const Json& event : events) {
    std::string line = JsonText(event, "pass");
    if (JsonHas(event, "dump")) line += fmt::format(", dump {}", JsonInt(event, "dump").value());
    line += ": " + JsonText(event, "sentence");
    // A single origin is in the sentence.
    const Json& before = ValueAt(event, "before");
    const auto count = static_cast<size_t>(JsonInt(event, "before_count").value_or(0));
    if (count > 1) {
      std::string names;
      for (const Json& note : before) {
        names += (names.empty() ? ": " : ", ") + JsonText(note, "instruction");
      }
      if (count > before.size()) names += fmt::format(" and {} more", count - before.size());
      line += names;
    }
    out.Paragraph(line);
  }
  if (JsonHas(provenance, "operands_sentence")) {
    out.Paragraph(JsonText(provenance, "operands_sentence"));
  }
  if (JsonHas(provenance, "origins_sentence")) {
    const Json& origins = ValueAt(provenance, "origins");
    out.Paragraph(JsonText(provenance, "origins_sentence"));
    if (origins.empty()) return WriteNotes(provenance, out);
    TextTable table({{"instruction", false, 36},
                     {"opcode", false, 20},
                     {"shape", false, 30},
                     {"source", false, 30},
                     {"op_name", false, 200, true, true}});
    for (const Json& note : origins) {
      table.Add({JsonText(note, "instruction"), JsonText(note, "opcode"),
                 ShortShape(JsonText(note, "shape")), SourceCell(note), JsonText(note, "op_name")});
    }
    out.Table(table);
    const auto count = static_cast<size_t>(JsonInt(provenance, "origins_count").value_or(0));
    if (count > origins.size()) out.Paragraph(fmt::format("{} more", count - origins.size()));
  }
  WriteNotes(provenance, out);
}

}  // namespace xlatrace::report
