// SPDX-License-Identifier: Apache-2.0
#include "tools/what_if_output.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_format.h"
#include "base/shell_word.h"
#include "model/words.h"
#include "report/text_table.h"

namespace xlatrace::tools {
namespace {

namespace replay = analysis::replay;
using Json = nlohmann::ordered_json;

struct PathRow {
  std::string what;
  model::PathKind kind = model::PathKind::kGap;
  int64_t ns = 0;
  int64_t parts = 0;
};

struct NewPath {
  int64_t length_ns = 0;
  std::vector<PathRow> rows;                 // By time.
  std::map<model::PathKind, int64_t> kinds;  // Sum to the length.
};

std::string NameOf(const LoadedRun& loaded, const replay::Graph& graph,
                   const replay::PathPart& part) {
  if (part.kind == model::PathKind::kHost) return "host";
  if (part.kind == model::PathKind::kGap) return "gaps between launches";
  const uint32_t activity = graph.nodes[part.node].what;
  const uint32_t label = loaded.attribution.label_of[activity];
  const auto id = static_cast<size_t>(loaded.attribution.labels[label - 1].instruction_id);
  if (id != 0) return loaded.attribution.instructions[id - 1].name;
  return loaded.run.ConfigOf(activity).name;
}

NewPath PathOf(const LoadedRun& loaded, const replay::Graph& graph, const WhatIfAnswer& answer) {
  const replay::Times& times = answer.prediction.times;
  const replay::Span& span = replay::TypicalSpan(answer.prediction.applied.spans, times);
  NewPath path;
  path.length_ns = replay::LengthOf(span, times);
  std::map<std::pair<std::string, model::PathKind>, PathRow> rows;
  for (const replay::PathPart& part :
       replay::CriticalPath(graph, times, span, answer.prediction.applied.setting)) {
    const std::string name = NameOf(loaded, graph, part);
    PathRow& row = rows[{name, part.kind}];
    row.what = name;
    row.kind = part.kind;
    row.ns += part.end_ns - part.start_ns;
    ++row.parts;
    path.kinds[part.kind] += part.end_ns - part.start_ns;
  }
  for (auto& [key, row] : rows) path.rows.push_back(std::move(row));
  std::sort(path.rows.begin(), path.rows.end(), [](const PathRow& a, const PathRow& b) {
    return std::pair(-a.ns, a.what) < std::pair(-b.ns, b.what);
  });
  return path;
}

// The largest part of the new critical path.
std::string Bottleneck(const NewPath& path) {
  if (path.rows.empty()) return "nothing";
  const PathRow& row = path.rows.front();
  return fmt::format("{}, {}% of the new step", row.what,
                     Percent(static_cast<double>(row.ns), static_cast<double>(path.length_ns)));
}

std::string ErrorWords(const WhatIfAnswer& answer) {
  if (!answer.error) return "not known";
  return Percent(static_cast<double>(answer.error->milli_pct) / 1000, 100) + "%";
}

std::string Difference(int64_t from, int64_t to) {
  const double change =
      from == 0 ? 0.0 : 100.0 * static_cast<double>(to - from) / static_cast<double>(from);
  const std::string sign = to < from ? "-" : "+";
  return fmt::format("{}{} ({:+.1f}%)", sign,
                     Duration(static_cast<double>(to < from ? from - to : to - from)), change);
}

}  // namespace

std::string WhatIfText(const LoadedRun& loaded, const replay::Input&, const replay::Graph& graph,
                       const WhatIfAnswer& answer, const WhatIfStyle& style) {
  const replay::Prediction& prediction = answer.prediction;
  const auto ns = [](int64_t value) { return Duration(static_cast<double>(value)); };
  const char* unit = graph.whole_run ? "whole run" : "step";
  std::string text;
  const auto line = [&](const std::string& words) {
    for (const std::string& part : report::Wrap(report::Safe(words, style.ascii), style.width)) {
      text += part + "\n";
    }
  };
  for (const std::string& sentence : answer.change->sentences) line("what if: " + sentence);
  if (answer.withheld) {
    line(
        fmt::format("no prediction: replay gives the recorded steps back within {} only, above "
                    "{}% it predicts nothing",
                    ErrorWords(answer), replay::kMaxErrorMilliPct / 1000));
    line(fmt::format("{} as recorded: {}", unit, ns(prediction.recorded_ns)));
    for (const std::string& assumption : graph.assumptions) line("assumed: " + assumption);
    return text;
  }
  line(fmt::format("{}: {} -> {}, {}", unit, ns(prediction.recorded_ns),
                   ns(prediction.predicted_ns),
                   Difference(prediction.recorded_ns, prediction.predicted_ns)));
  line(fmt::format("range: {} to {}; replay gives the recording back within {}",
                   ns(prediction.low_ns), ns(prediction.high_ns), ErrorWords(answer)));
  for (const std::string& note : prediction.applied.notes) line("not done: " + note);
  const NewPath path = PathOf(loaded, graph, answer);
  line("next: " + Bottleneck(path));
  text += "\n";
  report::TextTable table({{.heading = "new critical path", .flexible = true},
                           {.heading = "kind"},
                           {.heading = "time", .right = true},
                           {.heading = "%", .right = true},
                           {.heading = "parts", .right = true}});
  for (size_t i = 0; i < path.rows.size() && i < static_cast<size_t>(style.rows); ++i) {
    const PathRow& row = path.rows[i];
    table.Add({row.what, std::string(model::Text(row.kind)), ns(row.ns),
               Percent(static_cast<double>(row.ns), static_cast<double>(path.length_ns)),
               Thousands(row.parts)});
  }
  for (const std::string& row : table.Lines(style.width, style.ascii)) text += row + "\n";
  if (!graph.assumptions.empty()) text += "\n";
  for (const std::string& assumption : graph.assumptions) line("assumed: " + assumption);
  return text;
}

std::string WhatIfJson(const LoadedRun& loaded, const replay::Input&, const replay::Graph& graph,
                       const WhatIfAnswer& answer, const WhatIfStyle& style) {
  const replay::Prediction& prediction = answer.prediction;
  Json json{{"schema_version", 1}, {"run", answer.path}};
  json["changes"] = answer.change->sentences;
  if (const auto& memory = answer.change->memory) {
    json["memory"] = {{"now_bytes", memory->now_bytes},
                      {"at_most_bytes", memory->at_most_bytes},
                      {"from", memory->from_assignment ? "buffer_assignment" : "live_ranges"}};
  }
  json["whole_run"] = graph.whole_run;
  json["steps"] = answer.error ? static_cast<int64_t>(answer.error->steps) : 0;
  json["recorded_step_ns"] = prediction.recorded_ns;
  json["replay_error_pct"] =
      answer.error ? Json(static_cast<double>(answer.error->milli_pct) / 1000) : Json(nullptr);
  json["largest_replay_error_pct"] =
      answer.error ? Json(static_cast<double>(answer.error->largest_milli_pct) / 1000)
                   : Json(nullptr);
  json["withheld"] = answer.withheld
                         ? Json(fmt::format("replay error {} is above {}%", ErrorWords(answer),
                                            replay::kMaxErrorMilliPct / 1000))
                         : Json(nullptr);
  json["predicted_step_ns"] = answer.withheld ? Json(nullptr) : Json(prediction.predicted_ns);
  json["low_step_ns"] = answer.withheld ? Json(nullptr) : Json(prediction.low_ns);
  json["high_step_ns"] = answer.withheld ? Json(nullptr) : Json(prediction.high_ns);
  json["difference_ns"] =
      answer.withheld ? Json(nullptr) : Json(prediction.predicted_ns - prediction.recorded_ns);
  json["notes"] = prediction.applied.notes;
  json["assumptions"] = graph.assumptions;
  const NewPath path = PathOf(loaded, graph, answer);
  json["next_bottleneck"] = path.rows.empty() ? Json(nullptr) : Json(path.rows.front().what);
  Json kinds = Json::object();
  for (const auto& [kind, time] : path.kinds) kinds[std::string(model::Text(kind))] = time;
  Json rows = Json::array();
  for (size_t i = 0; i < path.rows.size() && i < static_cast<size_t>(style.rows); ++i) {
    const PathRow& row = path.rows[i];
    rows.push_back({{"what", row.what},
                    {"kind", model::Text(row.kind)},
                    {"ns", row.ns},
                    {"parts", row.parts}});
  }
  json["critical_path"] = {
      {"length_ns", path.length_ns}, {"by_kind", std::move(kinds)}, {"rows", std::move(rows)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::tools
