// SPDX-License-Identifier: Apache-2.0
#include "report/answer/answer_json.h"

#include <cmath>
#include <optional>
#include <string>

namespace xlatrace::report {
namespace {

using Json = nlohmann::ordered_json;

Json TextOrNone(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json PartJson(const TimePart& part) {
  Json json{{"kind", part.kind},
            {"name", TextOrNone(part.name)},
            {"divided_by", TextOrNone(part.divided_by)},
            {"op_kind", TextOrNone(part.op_kind)},
            {"phase", TextOrNone(part.phase)},
            {"layer_group", TextOrNone(part.layer_group)},
            {"source_file", TextOrNone(part.source_file)},
            {"source_line", part.source_line ? Json(*part.source_line) : Json()},
            {"handle", TextOrNone(part.handle)},
            {"ns", part.ns},
            {"node_ids", Json::array()}};
  for (const int64_t id : part.node_ids) json["node_ids"].push_back(id);
  return json;
}

Json LimitJson(const std::optional<LimitFigure>& limit) {
  if (!limit) return {};
  Json json{{"bound_by", TextOrNone(limit->bound_by)},
            {"limit_pct", std::round(1000 * limit->of_limit) / 10}};
  if (limit->copies) {
    json["bytes_per_s"] = std::llround(limit->bytes_per_s);
    const bool known = limit->limit_bytes_per_s > 0;
    json["link_bytes_per_s"] = known ? Json(std::llround(limit->limit_bytes_per_s)) : Json();
    if (!known) json["limit_pct"] = nullptr;
  }
  return json;
}

Json DescentJson(const Descent& descent, const std::optional<LimitFigure>& limit) {
  Json json{{"whole_ns", descent.path[0].ns},
            {"ns", descent.path.back().ns},
            {"path", Json::array()},
            {"beside", descent.beside ? PartJson(*descent.beside) : Json()},
            {"largest_inside", descent.largest_inside ? PartJson(*descent.largest_inside) : Json()},
            {"limit", LimitJson(limit)}};
  for (const TimePart& part : descent.path) json["path"].push_back(PartJson(part));
  return json;
}

}  // namespace

Json AnswerJson(const Answer& answer) {
  Json json{{"run", nullptr}, {"step", nullptr}};
  if (answer.run) json["run"] = DescentJson(answer.run->descent, answer.run->limit);
  if (answer.step) {
    json["step"] = DescentJson(answer.step->descent, answer.step->limit);
    json["step"]["p25_ns"] = answer.step->low_ns;
    json["step"]["p75_ns"] = answer.step->high_ns;
    json["step"]["contention_ns"] = answer.step->contention_ns;
  }
  json["late"] = nullptr;
  if (const auto& late = answer.late) {
    json["late"] = {{"name", late->name},
                    {"rank", late->rank ? Json(*late->rank) : Json()},
                    {"process_id", late->process_id},
                    {"device_id", late->device_id},
                    {"ranks", late->ranks},
                    {"work", late->work},
                    {"cost_ns", late->cost_ns},
                    {"excess_ns", late->excess_ns},
                    {"step_ns", late->step_ns}};
  }
  return json;
}

}  // namespace xlatrace::report
