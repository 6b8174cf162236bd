// SPDX-License-Identifier: Apache-2.0

// The part of the page's data that is not tables: verdict, findings, figures of the first screen.

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_format.h"
#include "report/answer/answer_json.h"
#include "report/answer/answer_text.h"
#include "report/device_parts.h"
#include "report/first_screen.h"
#include "report/glyphs.h"
#include "report/not_known.h"
#include "report/page/page_context.h"
#include "report/safe_text.h"
#include "report/shown_words.h"
#include "report/trust.h"
#include "report/word_tables.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxMetaTextBytes = 4096;

Json SafeOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(SafeName(text, kMaxMetaTextBytes));
}

Json SentenceJson(const Sentence& sentence) {
  Json json = Json::array();
  for (const Piece& piece : sentence) {
    const std::string text = piece.code ? piece.text : WithGlyphs(piece.text);
    json.push_back({{"text", SafeName(text, kMaxMetaTextBytes)}, {"code", piece.code}});
  }
  return json;
}

Json SentencesJson(const std::vector<Sentence>& sentences) {
  Json json = Json::array();
  for (const Sentence& sentence : sentences) json.push_back(SentenceJson(sentence));
  return json;
}

Json ScalarOrNull(const Json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_structured()) return nullptr;
  return value->is_string() ? SafeOrNull(value->get<std::string>()) : *value;
}

// Stored evidence, [{text, value, unit, handle, handles}]; other members are left out.
Json EvidenceJson(const std::string& text) {
  Json evidence = Json::array();
  const Json stored = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!stored.is_array()) return evidence;
  for (const Json& entry : stored) {
    if (!entry.is_object() || !ScalarOrNull(entry, "text").is_string()) continue;
    Json one;
    for (const char* key : {"text", "value", "unit", "handle", "cause"})
      one[key] = ScalarOrNull(entry, key);
    one["text"] = SafeOrNull(WithGlyphs(one["text"].get<std::string>()));
    // The ops that a sum adds up: handles are ours, but the file may not be.
    if (entry.contains("handles") && entry["handles"].is_array()) {
      for (const Json& handle : entry["handles"]) {
        if (handle.is_string()) one["handles"].push_back(SafeOrNull(handle.get<std::string>()));
      }
    }
    evidence.push_back(std::move(one));
  }
  return evidence;
}

}  // namespace

Status LoadFindingsMeta(PageContext& page) {
  Json findings = Json::array();
  XLATRACE_ASSIGN(const store::Table rows, page.db.Select("SELECT * FROM finding ORDER BY rank"));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    Json finding;
    for (const char* key : {"handle", "id"}) finding[key] = SafeOrNull(rows.Text(i, key));
    for (const char* key : {"title", "action", "how_to_check"}) {
      finding[key] = SafeOrNull(WithGlyphs(rows.Text(i, key)));
    }
    for (const char* key : {"saves_low_ns_per_step", "saves_high_ns_per_step"}) {
      finding[key] = rows.IsNull(i, key) ? Json() : Json(rows.Int(i, key));
    }
    for (const char* key : {"basis", "confidence", "where_op", "where_layer", "where_source"}) {
      finding[key] = SafeOrNull(rows.Text(i, key));
    }
    for (const char* key : {"saves_low_ns_per_run", "saves_high_ns_per_run"}) {
      finding[key] = rows.IsNull(i, key) ? Json() : Json(rows.Int(i, key));
    }
    const bool known = i < page.view.findings.size();
    const auto per_job_step =
        known ? page.view.findings[i].saves_high_ns_per_job_step : std::nullopt;
    finding["saves_high_ns_per_job_step"] = per_job_step ? Json(*per_job_step) : Json();
    finding["evidence"] = EvidenceJson(rows.Text(i, "evidence"));
    finding["sentence"] =
        known ? SafeOrNull(WithGlyphs(page.view.findings[i].evidence_sentence)) : Json();
    findings.push_back(std::move(finding));
  }
  page.meta["findings"] = std::move(findings);

  Json ruled_out = Json::array();
  XLATRACE_ASSIGN(const store::Table out,
                  page.db.Select("SELECT id, verdict, text, evidence FROM ruled_out"));
  const auto shown = [&](const std::string& id) {
    return std::any_of(page.view.ruled_out.begin(), page.view.ruled_out.end(),
                       [&](const RuledOutFigure& figure) { return figure.id == id; });
  };
  for (size_t i = 0; i < out.rows.size(); ++i) {
    if (!shown(out.Text(i, "id"))) continue;
    ruled_out.push_back({{"id", SafeOrNull(out.Text(i, "id"))},
                         {"verdict", SafeOrNull(out.Text(i, "verdict"))},
                         {"text", SafeOrNull(WithGlyphs(out.Text(i, "text")))},
                         {"evidence", EvidenceJson(out.Text(i, "evidence"))}});
  }
  page.meta["ruled_out"] = std::move(ruled_out);
  return {};
}

// "4 × H100"; devices without a name are only counted: "2 GPUs".
std::string DeviceWords(const RunView& view) {
  std::string text;
  for (const DeviceFigure& device : view.devices) {
    if (!text.empty()) text += ", ";
    if (device.worked > 0 && device.worked < device.count) {
      text += fmt::format("{} of ", Thousands(device.worked));
    }
    if (device.name.empty()) {
      text += fmt::format("{} {}{}", Thousands(device.count), KindOfDevice(device.kind),
                          device.count == 1 ? "" : "s");
    } else {
      text += device.count > 1 ? fmt::format("{} \u00d7 {}", Thousands(device.count), device.name)
                               : device.name;
    }
  }
  if (const std::string rank = view.RankText(); !rank.empty()) text += ", " + rank;
  return text;
}

Json FactsMeta(const RunView& view) {
  Json facts = Json::array();
  if (view.run_coverage.activities == 0) return facts;
  for (const Fact& fact : FirstFacts(view)) {
    facts.push_back({{"id", fact.id},
                     {"label", fact.label},
                     {"value", fact.value},
                     {"note", fact.note},
                     {"ns", fact.ns ? Json(*fact.ns) : Json()}});
  }
  return facts;
}

Json RunMeta(const RunView& view) {
  return {{"path", SafeOrNull(view.path)},       {"title", SafeOrNull(view.title)},
          {"command", SafeOrNull(view.command)}, {"framework", SafeOrNull(view.framework)},
          {"source", SafeOrNull(view.source)},   {"granularity", SafeOrNull(view.granularity)},
          {"date", SafeOrNull(view.date)},       {"device_text", SafeOrNull(DeviceWords(view))},
          {"fake_gpu", view.OnFakeGpu()},        {"partial", view.IsPartial()}};
}

Json BasisMeta(const RunView& view) {
  const StepsFigure& steps = view.steps;
  return {{"steady", view.basis.steady},
          {"step_devices", view.basis.steady ? view.basis.step_devices : 1},
          {"device_ns", view.coverage.device_ns},
          {"activities", view.coverage.activities},
          {"steps_recorded", steps.all.size()},
          {"steps_steady", steps.steady_count},
          {"marked", steps.marked},
          {"typical_ns", steps.typical_ns},
          {"p25_ns", steps.p25_ns},
          {"p75_ns", steps.p75_ns},
          {"min_ns", steps.min_ns},
          {"max_ns", steps.max_ns},
          {"wall_ns", steps.wall_ns},
          {"busy_ns", steps.busy_ns}};
}

Json CoverageMeta(const Coverage& coverage) {
  Json json{{"exact_ns", coverage.exact_ns},
            {"inferred_ns", coverage.inferred_ns},
            {"none_ns", coverage.none_ns},
            {"evidence", Json::array()},
            {"reasons", Json::array()}};
  for (const EvidenceFigure& e : coverage.evidence) {
    json["evidence"].push_back({{"confidence", SafeOrNull(e.confidence)},
                                {"evidence", SafeOrNull(e.evidence)},
                                {"words", EvidenceWords(e.evidence)},
                                {"ns", e.ns},
                                {"activities", e.activities}});
  }
  for (const ReasonFigure& r : coverage.reasons) {
    json["reasons"].push_back({{"reason", SafeOrNull(r.reason)},
                               {"words", ReasonWords(r.reason)},
                               {"ns", r.ns},
                               {"activities", r.activities}});
  }
  return json;
}

Json PageMeta(const PageContext& page) {
  const RunView& view = page.view;
  const AnswerText answer = TextOf(view);
  const Sentence below = answer.BelowFirst();
  Json run = RunMeta(view);
  const ModuleFigure* main = view.MainModule();
  run["main_module"] = main == nullptr ? Json() : Json(page.modules.at(main->module_id));
  run["start_ns"] = page.start_ns;
  run["end_ns"] = page.end_ns;
  Json coverage = CoverageMeta(view.coverage);
  const Attributed attributed = AttributedWords(view);
  coverage["text"] = attributed.text;
  coverage["of"] = attributed.of;
  coverage["tone"] = attributed.tone();
  Json meta{{"tool_version", XLATRACE_VERSION},
            {"run", std::move(run)},
            {"basis", BasisMeta(view)},
            {"coverage", std::move(coverage)},
            {"phases", Json::array()},
            {"facts", FactsMeta(view)},
            {"verdict",
             {{"given", answer.given},
              {"sentence", SentenceJson(answer.All())},
              {"lede", SentenceJson(answer.reason)},
              {"headline", SentenceJson(answer.first)},
              {"reason", SentenceJson(below)},
              {"op", SafeOrNull(answer.op_handle)},
              {"not_known", SentencesJson(NotKnown(view))}}},
            {"answer", AnswerJson(view.answer)},
            {"lost", view.lost},
            {"lost_text", view.losses.Text()},
            {"may_lack", view.losses.may_lack()},
            {"ends", view.losses.EndsText()},
            {"trust", TrustText(view)},
            {"errors", view.errors},
            {"base", nullptr}};
  for (const model::Phase phase : kPhaseOrder) {
    meta["phases"].push_back(
        {{"phase", std::string(Text(phase))}, {"ns", view.phases[static_cast<size_t>(phase)]}});
  }
  meta["device_parts_by"] = DevicePartsName(view);
  meta["device_parts"] = Json::array();
  for (const DevicePart& part : DeviceParts(view)) {
    meta["device_parts"].push_back(
        {{"part", std::string(PartColor(part.part))}, {"words", part.words}, {"ns", part.ns}});
  }
  meta.update(page.meta);
  Json& fine = meta["verdict"]["ruled_out"] = Json::array();
  for (const Json& cause : meta["ruled_out"]) {
    if (cause["verdict"] != "fine") continue;
    fine.push_back(Json::array({{{"text", cause["text"]}, {"code", false}}}));
  }
  return meta;
}

}  // namespace xlatrace::report
