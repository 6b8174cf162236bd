// The part of the page's data that is not tables: verdict, findings, figures of the first screen.

#include <string>

#include <nlohmann/json.hpp>

#include "report/labels.h"
#include "report/page_context.h"
#include "report/safe_text.h"
#include "report/verdict.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongest = 4096;

Json SafeOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(SafeName(text, kLongest));
}

Json OptionalJson(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }

Json SentenceJson(const Sentence& sentence) {
  Json json = Json::array();
  for (const Piece& piece : sentence) {
    json.push_back({{"text", SafeName(piece.text, kLongest)}, {"code", piece.code}});
  }
  return json;
}

Json SentencesJson(const std::vector<Sentence>& sentences) {
  Json json = Json::array();
  for (const Sentence& sentence : sentences) json.push_back(SentenceJson(sentence));
  return json;
}

Json FindingsJson(const RunView& view) {
  Json json = Json::array();
  for (const FindingFigure& f : view.findings) {
    Json evidence = Json::array();
    for (const std::string& text : f.evidence) {
      evidence.push_back({{"text", SafeName(text, kLongest)},
                          {"value", nullptr},
                          {"unit", nullptr},
                          {"handle", nullptr}});
    }
    json.push_back({{"handle", f.handle},
                    {"id", SafeOrNull(f.id)},
                    {"title", SafeOrNull(f.title)},
                    {"saves_low_ns_per_step", OptionalJson(f.saves_low_ns)},
                    {"saves_high_ns_per_step", OptionalJson(f.saves_high_ns)},
                    {"basis", SafeOrNull(f.basis)},
                    {"confidence", SafeOrNull(f.confidence)},
                    {"where_op", SafeOrNull(f.where_op)},
                    {"where_layer", SafeOrNull(f.where_layer)},
                    {"where_source", SafeOrNull(f.where_source)},
                    {"evidence", std::move(evidence)},
                    {"action", SafeOrNull(f.action)},
                    {"how_to_check", SafeOrNull(f.how_to_check)}});
  }
  return json;
}

}  // namespace

Json RunMeta(const RunView& view) {
  return {{"path", SafeOrNull(view.path)},       {"title", SafeOrNull(view.title)},
          {"command", SafeOrNull(view.command)}, {"framework", SafeOrNull(view.framework)},
          {"source", SafeOrNull(view.source)},   {"granularity", SafeOrNull(view.granularity)},
          {"date", SafeOrNull(view.date)},       {"device_text", SafeOrNull(view.DeviceText())},
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
          {"mean_ns", steps.mean_ns},
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
  const Verdict verdict = MakeVerdict(view);
  Json run = RunMeta(view);
  const ModuleFigure* main = view.MainModule();
  run["main_module"] = main == nullptr ? Json() : Json(page.modules.at(main->module_id));
  run["start_ns"] = page.start_ns;
  run["end_ns"] = page.end_ns;
  Json meta{{"tool_version", XLATRACE_VERSION},
            {"run", std::move(run)},
            {"basis", BasisMeta(view)},
            {"coverage", CoverageMeta(view.coverage)},
            {"phases", Json::array()},
            {"verdict",
             {{"given", verdict.given},
              {"sentence", SentenceJson(verdict.sentence)},
              {"lede", SentenceJson(verdict.lede)},
              {"op", SafeOrNull(verdict.op_handle)},
              {"not_known", SentencesJson(verdict.not_known)},
              {"ruled_out", Json::array()}}},
            {"findings", FindingsJson(view)},
            {"lost", view.lost},
            {"errors", view.errors},
            {"base", nullptr}};
  for (const model::Phase phase : kPhaseOrder) {
    meta["phases"].push_back(
        {{"phase", std::string(Text(phase))}, {"ns", view.phases[static_cast<size_t>(phase)]}});
  }
  meta.update(page.meta);
  return meta;
}

}  // namespace xlatrace::report
