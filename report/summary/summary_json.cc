// SPDX-License-Identifier: Apache-2.0

// Summary as JSON: the RunView with stable keys.

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/answer/answer_json.h"
#include "report/answer/answer_text.h"
#include "report/breakdown.h"
#include "report/not_known.h"
#include "report/shown_words.h"
#include "report/summary/summary.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json CellJson(const store::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) return *number;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return nullptr;
}

Json OptionalJson(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }

Json RunJson(const RunView& view) {
  Json run{{"path", view.path},
           {"title", view.title},
           {"command", TextOrNull(view.command)},
           {"framework", TextOrNull(view.framework)},
           {"source", TextOrNull(view.source)},
           {"granularity", TextOrNull(view.granularity)},
           {"processes", view.processes},
           {"devices", Json::array()},
           {"info", Json::object()}};
  for (const DeviceFigure& device : view.devices) {
    run["devices"].push_back(
        {{"name", TextOrNull(device.name)}, {"kind", device.kind}, {"count", device.count}});
  }
  for (const auto& [key, value] : view.info) run["info"][key] = value;
  return run;
}

Json StepsJson(const RunView& view) {
  const StepsFigure& steps = view.steps;
  Json json{{"recorded", steps.all.size()}, {"steady", steps.steady_count}};
  if (!view.basis.steady) return json;
  json["how"] = steps.marked ? "marked" : "execution";
  json["step_devices"] = view.basis.step_devices;
  json["typical_ns"] = steps.typical_ns;
  json["p25_ns"] = steps.p25_ns;
  json["p75_ns"] = steps.p75_ns;
  json["min_ns"] = steps.min_ns;
  json["max_ns"] = steps.max_ns;
  for (const int percent : {10, 50, 90, 95}) {
    json[fmt::format("p{}_ns", percent)] =
        steps.steady_count >= kStepsForPercentiles ? Json(StepPercentile(steps, percent)) : Json();
  }
  json["wall_ns"] = steps.wall_ns;
  json["busy_ns"] = steps.busy_ns;
  json["busy_waiting_ns"] = WaitsOf(view).ns;
  json["parts"] = Json::array();
  if (!view.has_step_parts) return json;
  for (const model::StepPart part : kPartOrder) {
    const int64_t ns = view.step_parts[static_cast<size_t>(part)];
    json["parts"].push_back({{"part", std::string(Text(part))},
                             {"wall_ns", ns},
                             {"wall_ns_per_step", std::llround(view.PerStep(ns))}});
  }
  return json;
}

Json EndsJson(const RunView& view) {
  Json ends = Json::array();
  for (const EndFigure& end : view.losses.ends) {
    ends.push_back({{"process_id", end.process_id},
                    {"host", TextOrNull(end.host)},
                    {"pid", OptionalJson(end.pid)},
                    {"ended", TextOrNull(end.ended)},
                    {"ended_signal", OptionalJson(end.signal)},
                    {"unrecorded_from_ns", OptionalJson(end.from_ns)},
                    {"unrecorded_tail_ns", OptionalJson(end.tail_ns)},
                    {"lost_at_least", end.at_least}});
  }
  return ends;
}

Json CoverageJson(const Coverage& coverage) {
  Json json{{"device_ns", coverage.device_ns},     {"exact_ns", coverage.exact_ns},
            {"inferred_ns", coverage.inferred_ns}, {"none_ns", coverage.none_ns},
            {"activities", coverage.activities},   {"evidence", Json::array()},
            {"unattributed", Json::array()}};
  for (const EvidenceFigure& e : coverage.evidence) {
    json["evidence"].push_back({{"confidence", e.confidence},
                                {"evidence", TextOrNull(e.evidence)},
                                {"ns", e.ns},
                                {"activities", e.activities}});
  }
  for (const ReasonFigure& r : coverage.reasons) {
    json["unattributed"].push_back(
        {{"reason", r.reason}, {"ns", r.ns}, {"activities", r.activities}});
  }
  return json;
}

Json FindingsJson(const RunView& view) {
  Json json = Json::array();
  for (const FindingFigure& f : view.findings) {
    json.push_back({{"handle", f.handle},
                    {"id", f.id},
                    {"title", f.title},
                    {"sentence", TextOrNull(f.sentence)},
                    {"saves_low_ns_per_step", f.of_run ? Json() : OptionalJson(f.saves_low_ns)},
                    {"saves_high_ns_per_step", f.of_run ? Json() : OptionalJson(f.saves_high_ns)},
                    {"saves_low_ns_per_run", f.of_run ? OptionalJson(f.saves_low_ns) : Json()},
                    {"saves_high_ns_per_run", f.of_run ? OptionalJson(f.saves_high_ns) : Json()},
                    {"saves_high_ns_per_job_step", OptionalJson(f.saves_high_ns_per_job_step)},
                    {"basis", TextOrNull(f.basis)},
                    {"confidence", TextOrNull(f.confidence)},
                    {"where_op", TextOrNull(f.where_op)},
                    {"where_layer", TextOrNull(f.where_layer)},
                    {"where_source", TextOrNull(f.where_source)},
                    {"evidence", f.evidence},
                    {"action", TextOrNull(f.action)},
                    {"how_to_check", TextOrNull(f.how_to_check)}});
  }
  return json;
}

Json TableJson(const RunView& view, const SummaryOptions& options) {
  const Breakdown table =
      MakeBreakdown(options.table != nullptr ? *options.table : view, options.by);
  const size_t rows = options.rows == 0 ? table.rows.size() : options.rows;
  const size_t ns = table.columns.size() - 3;
  Json json{{"by", table.name}, {"rows", Json::array()}};
  int64_t others = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (i >= rows) {
      others += std::get<int64_t>(table.rows[i][ns]);
      continue;
    }
    Json row = Json::object();
    for (size_t k = 0; k < table.columns.size(); ++k) {
      row[table.columns[k]] = CellJson(table.rows[i][k]);
    }
    json["rows"].push_back(std::move(row));
  }
  json["others"] = {{"rows", table.rows.size() > rows ? table.rows.size() - rows : 0},
                    {"ns", others}};
  json["device_ns"] = (options.table != nullptr ? *options.table : view).coverage.device_ns;
  if (options.table != nullptr && !options.table->filter.empty()) {
    json["filter"] = options.table->filter;
  }
  return json;
}

}  // namespace

namespace {

// With a number of rows, a short result for a message (head, table, short findings). Its keys are a
// part of those of the whole result.
std::string BriefJson(const RunView& view, const SummaryOptions& options) {
  const AnswerText answer = TextOf(view);
  Json json{
      {"schema_version", kSchemaVersion},
      {"verdict",
       {{"given", answer.given},
        {"sentence", PlainText(answer.All())},
        {"op", TextOrNull(answer.op_handle)}}},
      {"run", {{"path", view.path}, {"title", view.title}, {"devices", view.device_count}}},
      {"basis", view.basis.steady ? "steady_steps" : "whole_run"},
      {"steps", Json::object()},
      {"attribution", {{"device_ns", view.coverage.device_ns}, {"none_ns", view.coverage.none_ns}}},
      {"table", TableJson(view, options)},
      {"findings", Json::array()},
      {"lost", view.lost},
      {"lost_at_least", view.losses.more_possible()}};
  json["steps"] = {{"recorded", view.steps.all.size()}, {"steady", view.steps.steady_count}};
  if (view.basis.steady) {
    json["steps"]["typical_ns"] = view.steps.typical_ns;
    for (const model::StepPart part : kPartOrder) {
      const int64_t ns = view.step_parts[static_cast<size_t>(part)];
      if (ns == 0) continue;
      json["steps"]["parts"].push_back({{"part", std::string(Text(part))},
                                        {"wall_ns_per_step", std::llround(view.PerStep(ns))}});
    }
  }
  static constexpr const char* kRowKeys[] = {"handle",      "instruction", "op_kind",     "phase",
                                             "layer_group", "source_file", "source_line", "calls",
                                             "ns",          "pct"};
  if (options.by == By::kOp) {
    for (Json& row : json["table"]["rows"]) {
      Json brief = Json::object();
      for (const char* key : kRowKeys) brief[key] = row[key];
      row = std::move(brief);
    }
  }
  constexpr size_t kMaxBriefFindings = 4;  // The document fits a message of 4 KiB.
  const size_t findings =
      std::min({static_cast<size_t>(options.rows), kMaxBriefFindings, view.findings.size()});
  for (size_t i = 0; i < findings; ++i) {
    const FindingFigure& f = view.findings[i];
    json["findings"].push_back(
        {{"handle", f.handle},
         {"id", f.id},
         {"title", f.title},
         {"saves_high_ns_per_step", f.of_run ? Json() : OptionalJson(f.saves_high_ns)},
         {"confidence", TextOrNull(f.confidence)},
         {"where_source", TextOrNull(f.where_source)}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string SummaryJson(const RunView& view, const SummaryOptions& options) {
  if (options.rows > 0 && options.rows <= 20) return BriefJson(view, options);
  const AnswerText answer = TextOf(view);
  Json json{{"schema_version", kSchemaVersion},
            {"verdict",
             {{"given", answer.given},
              {"sentence", PlainText(answer.All())},
              {"lede", PlainText(answer.reason)},
              {"op", TextOrNull(answer.op_handle)},
              {"not_known", Json::array()}}},
            {"answer", AnswerJson(view.answer)},
            {"run", RunJson(view)},
            {"basis", view.basis.steady ? "steady_steps" : "whole_run"},
            {"steps", StepsJson(view)},
            {"attribution", CoverageJson(view.coverage)},
            {"attribution_whole_run", CoverageJson(view.run_coverage)},
            {"phases", Json::array()},
            {"op_kinds", Json::array()},
            {"table", TableJson(view, options)},
            {"findings", FindingsJson(view)},
            {"all_findings_step_ns", OptionalJson(view.replay.all_findings_step_ns)},
            {"ruled_out", Json::array()},
            {"modules", Json::array()},
            {"gaps", Json::array()},
            {"launch_queues", Json::array()},
            {"lost", view.lost},
            {"lost_at_least", view.losses.more_possible()},
            {"unrecorded_tail_ns", OptionalJson(view.losses.tail_ns())},
            {"processes", EndsJson(view)},
            {"run_stats", Json::array()}};
  for (const Sentence& sentence : NotKnown(view)) {
    json["verdict"]["not_known"].push_back(PlainText(sentence));
  }
  for (const model::Phase phase : kPhaseOrder) {
    json["phases"].push_back(
        {{"phase", std::string(Text(phase))}, {"ns", view.phases[static_cast<size_t>(phase)]}});
  }
  for (const RuledOutFigure& r : view.ruled_out) {
    json["ruled_out"].push_back({{"id", r.id}, {"verdict", r.verdict}, {"text", r.text}});
  }
  for (const NamedFigure& kind : view.kinds) {
    json["op_kinds"].push_back({{"op_kind", kind.name}, {"ns", kind.ns}, {"calls", kind.calls}});
  }
  for (const ModuleFigure& m : view.modules) {
    json["modules"].push_back({{"handle", m.handle},
                               {"name", TextOrNull(m.name)},
                               {"program_id", OptionalJson(m.program_id)},
                               {"role", TextOrNull(m.role)},
                               {"role_reason", TextOrNull(m.role_reason)},
                               {"instruction_count", OptionalJson(m.instruction_count)},
                               {"executions", m.executions},
                               {"ns", m.ns},
                               {"whole_run_ns", m.run_ns}});
  }
  for (const GapFigure& gap : view.gaps) {
    json["gaps"].push_back({{"cause", gap.cause},
                            {"ns", gap.ns},
                            {"count", gap.count},
                            {"longest_ns", gap.longest_ns},
                            {"too_short_to_judge_ns", gap.short_ns},
                            {"too_short_to_judge_count", gap.short_count},
                            {"launched_in_time_ns", gap.launched_ns}});
  }
  for (const LaunchQueueFigure& queue : view.launch_queues) {
    json["launch_queues"].push_back({{"device_id", queue.device_id},
                                     {"steady", queue.steady},
                                     {"calls", queue.calls},
                                     {"calls_on_idle", queue.calls_on_idle},
                                     {"call_p50_ns", queue.call_p50_ns},
                                     {"latency_p50_ns", queue.latency_p50_ns},
                                     {"latency_p90_ns", queue.latency_p90_ns},
                                     {"queued_p50_ns", queue.queued_p50_ns},
                                     {"queued_p90_ns", queue.queued_p90_ns},
                                     {"outstanding_p50", queue.outstanding_p50},
                                     {"outstanding_p90", queue.outstanding_p90},
                                     {"outstanding_max", queue.outstanding_max}});
  }
  for (const StatFigure& stat : view.stats) {
    json["run_stats"].push_back({{"name", stat.name},
                                 {"severity", std::string(Text(stat.severity))},
                                 {"source", TextOrNull(stat.source)},
                                 {"value", stat.value},
                                 {"advice", TextOrNull(stat.advice)}});
  }
  // Names may contain bytes that are not UTF-8; such bytes become the replacement character.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::report
