// SPDX-License-Identifier: Apache-2.0

// The tables `provenance` and `provenance_before`: changes of the ops by compiler passes.

#include <string>
#include <vector>

#include "report/page/page_context.h"
#include "report/provenance.h"
#include "report/safe_text.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxProvenanceNoteBytes = 4096;

class ProvenanceTables {
 public:
  explicit ProvenanceTables(PageContext& page)
      : page_(page),
        events_("provenance", page.blocks.strings()),
        before_("provenance_before", page.blocks.strings()) {
    events_.Declare("op>ops event:word pass:text pipeline:text dump sentence:text before_count");
    before_.Declare(
        "event>provenance name:text opcode:text shape:text op_name:text source_file:text"
        " source_line");
  }

  // False: the page has no such op.
  bool Add(const OpProvenance& op) {
    const auto row = page_.op_rows.find(OpKey(op.module_id, op.instruction));
    if (row == page_.op_rows.end()) return false;
    for (const ProvenanceEvent& event : op.events) {
      events_.SetText(2, event.pass);
      events_.SetText(3, event.pipeline);
      if (event.dump >= 0) events_.Set(4, event.dump);
      EndEvent(row->second, event.event, EventSentence(event), event.before, event.before_count);
    }
    if (op.operands_only > 0) {
      EndEvent(row->second, "operands", OperandsSentence(op), {}, op.operands_only);
    }
    if (op.origins_count > 0) {
      EndEvent(row->second, "origins", OriginsSentence(op), op.origins, op.origins_count);
    }
    return true;
  }

  void Write() {
    page_.blocks.Write(events_);
    page_.blocks.Write(before_);
  }

 private:
  void EndEvent(int64_t op, std::string_view event, std::string_view sentence,
                const std::vector<ProvenanceNote>& before, size_t count) {
    const auto row = static_cast<int64_t>(events_.rows());
    events_.Set(0, op);
    events_.SetText(1, event);
    events_.SetText(5, sentence);
    events_.Set(6, static_cast<int64_t>(count));
    events_.EndRow();
    for (const ProvenanceNote& note : before) {
      before_.Set(0, row);
      before_.SetText(1, note.name);
      before_.SetText(2, note.opcode);
      before_.SetText(3, note.shape);
      before_.SetText(4, note.op_name);
      before_.SetText(5, note.source_file);
      if (note.source_line > 0) before_.Set(6, note.source_line);
      before_.EndRow();
    }
  }

  PageContext& page_;
  PageTable events_, before_;
};

}  // namespace

void WriteProvenanceTables(PageContext& page) {
  page.meta["provenance"] = nullptr;
  const Provenance* provenance = page.options.provenance;
  if (provenance == nullptr) return;
  ProvenanceTables tables(page);
  int64_t told = 0;
  for (const OpProvenance& op : provenance->ops) told += tables.Add(op) ? 1 : 0;
  tables.Write();
  Json notes = Json::array();
  for (const std::string& note : provenance->notes)
    notes.push_back(SafeName(note, kMaxProvenanceNoteBytes));
  page.meta["provenance"] = {{"dump", SafeName(provenance->dump, kMaxProvenanceNoteBytes)},
                             {"ops", told},
                             {"wanted", provenance->wanted},
                             {"notes", std::move(notes)}};
}

}  // namespace xlatrace::report
