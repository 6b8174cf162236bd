// SPDX-License-Identifier: Apache-2.0
#include "report/compare/gate_output.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_format.h"
#include "base/terminal.h"
#include "compare/statistics.h"
#include "report/safe_text.h"
#include "report/shown_words.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

using compare::Check;
using compare::GateResult;
using compare::Outcome;
using Json = nlohmann::ordered_json;

constexpr size_t kMaxPassedLines = 6;
constexpr size_t kMaxHistoryRunCount = 40;

std::string Xml(std::string_view text) {
  std::string out;
  AppendMarkupText(out, Printable(text));
  return out;
}

std::string_view Mark(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "ok";
    case Outcome::kRegression:
      return "WORSE";
    case Outcome::kNotComparable:
      return "refused";
    case Outcome::kNotEstablished:
      return "open";
  }
  return "";
}

}  // namespace

std::string GateText(const GateResult& result, bool ascii, int width) {
  // Further lines are indented to the first word of their check.
  constexpr int kCheckIndentWidth = 10;
  std::string text;
  for (const std::string& line : Wrap(Safe(result.sentence, ascii), width)) text += line + "\n";
  size_t passed = 0;
  for (const Check& check : result.checks) {
    if (check.outcome == Outcome::kPass && ++passed > kMaxPassedLines) continue;
    std::string_view mark = Mark(check.outcome);
    for (const std::string& line :
         Wrap(fmt::format("{}: {}", Safe(check.name, ascii), Safe(check.text, ascii)),
              width - kCheckIndentWidth)) {
      text += fmt::format("  {:<{}}{}\n", mark, kCheckIndentWidth - 2, line);
      mark = {};
    }
  }
  if (passed > kMaxPassedLines)
    text += fmt::format("  ok      {} more\n", passed - kMaxPassedLines);
  return text;
}

std::string GateMarkdown(const GateResult& result) {
  const auto cell = [](std::string_view value) {
    std::string safe;
    for (const char c : Printable(value)) {
      if (c == '|' || c == '<' || c == '`' || c == '[' || c == '*' || c == '_') safe += '\\';
      safe += c;
    }
    return safe;
  };
  std::string text =
      fmt::format("**{}**\n\n| check | result | |\n|---|---|---|\n", cell(result.sentence));
  size_t passed = 0;
  for (const Check& check : result.checks) {
    if (check.outcome == Outcome::kPass && ++passed > kMaxPassedLines) continue;
    text +=
        fmt::format("| {} | {} | {} |\n", cell(check.name), Mark(check.outcome), cell(check.text));
  }
  if (passed > kMaxPassedLines)
    text += fmt::format("| {} more | ok | |\n", passed - kMaxPassedLines);
  return text;
}

std::string GateJson(const GateResult& result) {
  Json json;
  json["schema_version"] = 1;
  json["outcome"] = Text(result.outcome);
  json["sentence"] = result.sentence;
  json["checks"] = Json::array();
  for (const Check& check : result.checks) {
    json["checks"].push_back({{"name", check.name},
                              {"outcome", Text(check.outcome)},
                              {"base", check.base},
                              {"new", check.now},
                              {"is_time", check.is_time},
                              {"text", check.text}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string GateJunit(const GateResult& result, bool strict) {
  size_t failures = 0;
  size_t skipped = 0;
  std::string cases;
  for (const Check& check : result.checks) {
    cases += fmt::format("  <testcase classname=\"xlatrace.gate\" name=\"{}\">\n", Xml(check.name));
    const bool open = check.outcome == Outcome::kNotEstablished;
    if (check.outcome == Outcome::kRegression || check.outcome == Outcome::kNotComparable ||
        (open && strict)) {
      ++failures;
      cases += fmt::format("    <failure message=\"{}\"/>\n", Xml(check.text));
    } else if (open) {
      ++skipped;
      cases += fmt::format("    <skipped message=\"not established: {}\"/>\n", Xml(check.text));
    }
    cases += "  </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"xlatrace gate\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n"
      "{}  <system-out>{}</system-out>\n</testsuite>\n",
      result.checks.size(), failures, skipped, cases, Xml(result.sentence));
}

std::string HistoryText(const std::vector<compare::RunRecord>& records, bool ascii) {
  if (records.empty()) return "The baseline holds no run.\n";
  std::vector<double> times;
  // If a run has no steps, the facts that all runs have.
  const bool per_call = !std::all_of(records.begin(), records.end(), [](const auto& record) {
    return record.steady;
  }) && std::all_of(records.begin(), records.end(), [](const auto& record) {
    return record.call_ns > 0;
  });
  for (const compare::RunRecord& record : records) {
    times.push_back(per_call ? static_cast<double>(record.call_ns) : record.StepMean());
  }
  std::string text =
      fmt::format("{} runs of {}, {}:\n{}\n", records.size(), Safe(records.back().devices, ascii),
                  per_call ? "device time per call of the main program" : "step times",
                  compare::Sparkline(times, ascii));
  if (const auto change = compare::FindChangePoint(times)) {
    const compare::RunRecord& at = records[change->first];
    text += fmt::format("The level changed at run {}{}: {} before, {} from there on.\n",
                        change->first + 1,
                        at.label.empty() ? "" : fmt::format(" ({})", Safe(at.label, ascii)),
                        Duration(change->before), Duration(change->after));
  }
  TextTable table({{.heading = "run", .right = true},
                   {.heading = "date"},
                   {.heading = "label", .at_most = 24},
                   {.heading = per_call ? "call" : "step", .right = true},
                   {.heading = "change", .right = true},
                   {.heading = "accepted because", .flexible = true}});
  const size_t first =
      records.size() > kMaxHistoryRunCount ? records.size() - kMaxHistoryRunCount : 0;
  for (size_t i = first; i < records.size(); ++i) {
    const compare::RunRecord& record = records[i];
    table.Add({fmt::format("{}", i + 1),
               DateOf(fmt::format("{}000000000",
                                  std::clamp<int64_t>(record.unix_seconds, 0, 9'000'000'000))),
               record.label, Duration(times[i]),
               i == 0 || times[i - 1] == 0
                   ? std::string()
                   : fmt::format("{:+.1f}%", 100 * (times[i] / times[i - 1] - 1)),
               record.accepted});
  }
  for (const std::string& line : table.Lines(100, ascii)) text += line + "\n";
  return text;
}

}  // namespace xlatrace::report
