// SPDX-License-Identifier: Apache-2.0
#include "report/compare/compare_output.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/number_format.h"
#include "base/terminal.h"
#include "report/safe_text.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

using compare::BreakdownRow;
using compare::Change;
using compare::Row;
using Json = nlohmann::ordered_json;

constexpr size_t kMaxCompareLines = 45;

std::string Signed(int64_t ns) {
  if (ns == 0) return "0";
  return fmt::format("{}{}", ns < 0 ? "-" : "+", Duration(std::abs(static_cast<double>(ns))));
}

std::string Time(int64_t ns) { return ns == 0 ? "-" : Duration(static_cast<double>(ns)); }

std::string Calls(double base, double now) {
  const auto text = [](double calls) {
    return std::abs(calls - std::round(calls)) < 0.005
               ? Thousands(static_cast<int64_t>(std::llround(calls)))
               : Significant(calls);
  };
  if (base == 0 && now == 0) return {};
  if (std::abs(base - now) < 0.005 * std::max(base, now)) return text(now);
  return fmt::format("{} -> {}", text(base), text(now));
}

// The difference that rows are parts of; 0: none. Times of runs that cannot be compared have no
// such parts. If rows cancel each other out, a part would be many times the remaining
// difference.
int64_t WholeDifference(const compare::Comparison& comparison) {
  if (!comparison.identity.comparable()) return 0;
  int64_t moved = 0;
  for (const Row& row : comparison.rows) moved += std::abs(row.delta());
  return std::abs(comparison.delta()) * 5 >= moved ? comparison.delta() : 0;
}

std::string ShareOf(int64_t delta, int64_t whole) {
  if (whole == 0 || delta == 0) return {};
  return fmt::format("{:+.0f}%", 100.0 * static_cast<double>(delta) / static_cast<double>(whole));
}

std::string WhyOf(const ComparisonView& view, const BreakdownRow& row) {
  if (!row.row) return {};
  std::string text;
  for (const compare::Cause& cause : view.comparison.rows[*row.row].causes) {
    text += (text.empty() ? "" : "; ") + cause.text;
  }
  return text;
}

std::string Per(const ComparisonView& view) {
  return view.base.steady && view.now.steady ? "per step of one device" : "in the whole run";
}

struct CompareFact {
  std::string name;
  std::optional<double> base, now;
};

std::vector<CompareFact> FactsOf(const compare::Run& a, const compare::Run& b) {
  const auto integer = [](const std::optional<int64_t>& value) {
    return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
  };
  return {{"launches", a.launches, b.launches},
          {"host_calls", a.host_calls, b.host_calls},
          {"graph_share", a.graph_share, b.graph_share},
          {"compilations", integer(a.compilations), integer(b.compilations)},
          {"recompilations", integer(a.recompilations), integer(b.recompilations)},
          {"compile_ns", integer(a.compile_ns), integer(b.compile_ns)},
          {"peak_memory_bytes", integer(a.peak_memory_bytes), integer(b.peak_memory_bytes)},
          {"attributed", a.attributed, b.attributed}};
}

std::string FactText(const CompareFact& fact) {
  const auto text = [&](double value) {
    if (fact.name.ends_with("_bytes")) return Bytes(value);
    if (fact.name.ends_with("_ns")) return Duration(value);
    if (fact.name == "graph_share" || fact.name == "attributed") {
      return value == 0 ? std::string("0%") : Percent(value, 1) + "%";
    }
    return std::abs(value - std::round(value)) < 0.005
               ? Thousands(static_cast<int64_t>(std::llround(value)))
               : Significant(value);
  };
  return text(*fact.base) == text(*fact.now)
             ? text(*fact.now)
             : fmt::format("{} -> {}", text(*fact.base), text(*fact.now));
}

// Lines of text, each no wider than the terminal.
class WrappedLines {
 public:
  explicit WrappedLines(const CompareOptions& options) : options_(options) {}

  void Wrapped(std::string_view text) {
    for (std::string& line : Wrap(Safe(text, options_.ascii), options_.width)) {
      lines_.push_back(std::move(line));
    }
  }
  void Add(std::string line) { lines_.push_back(std::move(line)); }
  size_t size() const { return lines_.size(); }

  std::string Text() const {
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  const CompareOptions& options_;
  std::vector<std::string> lines_;
};

// The change, its place and its cause. Two lines per change, because all must fit into 45 lines.
void AddChange(const Change& change, const CompareOptions& options, WrappedLines& lines) {
  std::string text = change.text;
  if (!change.where.empty()) text += fmt::format(", {}", change.where);
  if (!change.certain) text += " (measured time)";
  if (!change.because.empty()) text += fmt::format("; possible reason: {}", change.because);
  std::vector<std::string> wrapped = Wrap(Safe(text, options.ascii), options.width - 12);
  if (wrapped.size() > 2) {
    wrapped[1] = FitLeft(wrapped[1] + " " + wrapped[2], options.width - 12);
    wrapped.resize(2);
  }
  for (size_t k = 0; k < wrapped.size(); ++k) {
    std::string line =
        fmt::format("{:>10}  {}", k == 0 ? Signed(change.delta_ns) : std::string(), wrapped[k]);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    lines.Add(std::move(line));
  }
}

void AddChanges(const ComparisonView& view, const CompareOptions& options, WrappedLines& lines) {
  if (view.changes.empty()) return;
  lines.Add(fmt::format("What changed ({})", Per(view)));
  for (size_t told = 0; told < view.changes.size(); ++told) {
    if (told == compare::kMaxShownChanges) {
      lines.Add(fmt::format("  and {} more: --format json", view.changes.size() - told));
      break;
    }
    AddChange(view.changes[told], options, lines);
  }
  lines.Add("");
}

// The time of both runs as a table, with at most `most` rows before the last ones.
TextTable BreakdownTable(const ComparisonView& view, const CompareOptions& options, size_t most) {
  const std::vector<BreakdownRow> rows =
      compare::Breakdown(view.base, view.now, view.comparison, options.by);
  const std::vector<bool> usual = compare::RowsOfUsualVariation(view.comparison, view.changes);
  const int64_t whole = WholeDifference(view.comparison);
  constexpr size_t kShare = 4;
  const auto shown = [&](auto cells) {
    if (whole == 0) cells.erase(cells.begin() + kShare);
    return cells;
  };
  using Cells = std::vector<std::string>;
  TextTable table(shown(std::vector<TextColumn>{
      {.heading = std::string(compare::ByTexts()[static_cast<size_t>(options.by)]),
       .flexible = true},
      {.heading = "base", .right = true},
      {.heading = "new", .right = true},
      {.heading = "change", .right = true},
      {.heading = "share", .right = true},
      {.heading = "calls", .right = true},
      {.heading = "why", .at_most = 36}}));
  int64_t base_left = 0, now_left = 0, base_usual = 0, now_usual = 0;
  size_t told = 0, left = 0, folded = 0;
  for (const BreakdownRow& row : rows) {
    if (row.row && usual[*row.row] && row.delta() != 0) {
      ++folded;
      base_usual += row.base_ns;
      now_usual += row.now_ns;
      continue;
    }
    if (++told > most) {
      ++left;
      base_left += row.base_ns;
      now_left += row.now_ns;
      continue;
    }
    table.Add(shown(Cells{row.name, Time(row.base_ns), Time(row.now_ns), Signed(row.delta()),
                          ShareOf(row.delta(), whole), Calls(row.base_calls, row.now_calls),
                          WhyOf(view, row)}));
  }
  if (left > 0) {
    table.Add(
        shown(Cells{fmt::format("({} more)", left), Time(base_left), Time(now_left),
                    Signed(now_left - base_left), ShareOf(now_left - base_left, whole), "", ""}));
  }
  if (folded > 0) {
    table.Add(shown(Cells{fmt::format("({} with the usual variation)", folded), Time(base_usual),
                          Time(now_usual), Signed(now_usual - base_usual),
                          ShareOf(now_usual - base_usual, whole), "", ""}));
  }
  table.Add(shown(Cells{"device time", Time(view.comparison.base_device_ns),
                        Time(view.comparison.now_device_ns), Signed(view.comparison.delta()), "",
                        "", ""}));
  return table;
}

}  // namespace

std::string FactsSentence(const compare::Run& base, const compare::Run& now) {
  std::string facts;
  for (const CompareFact& fact : FactsOf(base, now)) {
    if (!fact.base || !fact.now) continue;
    // Runs without HLO have no attributed time.
    if (fact.name == "attributed" && base.modules.empty() && now.modules.empty()) continue;
    std::string name = fact.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", name, FactText(fact));
  }
  return facts.empty() ? facts : "Facts: " + facts + ".";
}

std::string CompareText(const ComparisonView& view, const CompareOptions& options) {
  WrappedLines lines(options);
  lines.Wrapped(view.verdict.sentence);
  if (!view.verdict.noise.empty()) lines.Wrapped(view.verdict.noise);
  const compare::Identity& identity = view.comparison.identity;
  for (const std::string& text : identity.qualifications) lines.Wrapped("Mind: " + text + ".");
  if (identity.same_recording) return lines.Text();
  for (const std::string& text : identity.differences) lines.Wrapped("Differs: " + text);
  if (const std::string facts = FactsSentence(view.base, view.now); !facts.empty())
    lines.Wrapped(facts);
  lines.Add("");
  AddChanges(view, options, lines);
  const size_t left = lines.size() + 5 < kMaxCompareLines ? kMaxCompareLines - lines.size() - 5 : 3;
  const TextTable table = BreakdownTable(view, options, options.rows > 0 ? options.rows : left);
  for (std::string& line : table.Lines(options.width, options.ascii)) lines.Add(std::move(line));
  return lines.Text();
}

std::string CompareMarkdown(const ComparisonView& view, const CompareOptions& options) {
  const auto cell = [](std::string_view text) {
    std::string safe;
    for (const char c : Printable(text)) {
      if (c == '|' || c == '<' || c == '`' || c == '[' || c == '*' || c == '_') safe += '\\';
      safe += c;
    }
    return safe;
  };
  std::string text = fmt::format("**{}**\n\n", cell(view.verdict.sentence));
  if (!view.verdict.noise.empty()) text += cell(view.verdict.noise) + "\n\n";
  for (const std::string& line : view.comparison.identity.qualifications) {
    text += fmt::format("- Mind: {}\n", cell(line));
  }
  for (const std::string& line : view.comparison.identity.differences) {
    text += fmt::format("- Differs: {}\n", cell(line));
  }
  if (view.comparison.identity.same_recording) return text;
  text += "\n| change | what | certain |\n|---:|---|---|\n";
  for (size_t i = 0; i < std::min(view.changes.size(), compare::kMaxShownChanges); ++i) {
    const Change& change = view.changes[i];
    text +=
        fmt::format("| {} | {} | {} |\n", Signed(change.delta_ns),
                    cell(change.text + (change.where.empty() ? "" : ", " + change.where) +
                         (change.because.empty() ? "" : "; possible reason: " + change.because)),
                    change.certain ? "yes" : "measured");
  }
  text += fmt::format("\n| {} | base | new | change | why |\n|---|---:|---:|---:|---|\n",
                      compare::ByTexts()[static_cast<size_t>(options.by)]);
  const std::vector<BreakdownRow> rows =
      compare::Breakdown(view.base, view.now, view.comparison, options.by);
  const size_t most = options.rows > 0 ? options.rows : 20;
  const std::vector<bool> usual = compare::RowsOfUsualVariation(view.comparison, view.changes);
  size_t told = 0, folded = 0;
  int64_t base_usual = 0, now_usual = 0;
  for (const BreakdownRow& row : rows) {
    if (row.row && usual[*row.row] && row.delta() != 0) {
      ++folded;
      base_usual += row.base_ns;
      now_usual += row.now_ns;
    } else if (++told <= most) {
      text += fmt::format("| {} | {} | {} | {} | {} |\n", cell(row.name), Time(row.base_ns),
                          Time(row.now_ns), Signed(row.delta()), cell(WhyOf(view, row)));
    }
  }
  if (folded > 0) {
    text += fmt::format("| ({} with the usual variation) | {} | {} | {} | |\n", folded,
                        Time(base_usual), Time(now_usual), Signed(now_usual - base_usual));
  }
  return text;
}

std::string CompareCsv(const ComparisonView& view, const CompareOptions& options) {
  std::string text = "name,base_ns,new_ns,change_ns,base_calls,new_calls,level,why\n";
  for (const BreakdownRow& row :
       compare::Breakdown(view.base, view.now, view.comparison, options.by)) {
    const std::string level =
        row.row ? std::string(Text(view.comparison.rows[*row.row].level)) : std::string();
    text +=
        fmt::format("{},{},{},{},{:.3f},{:.3f},{},{}\n", CsvText(row.name), row.base_ns, row.now_ns,
                    row.delta(), row.base_calls, row.now_calls, level, CsvText(WhyOf(view, row)));
  }
  return text;
}

nlohmann::ordered_json CompareJsonObject(const ComparisonView& view,
                                         const CompareOptions& options) {
  const compare::Comparison& comparison = view.comparison;
  Json json;
  json["schema_version"] = 1;
  json["verdict"] = view.verdict.sentence;
  json["noise"] = view.verdict.noise;
  const compare::TimeChange& time = view.verdict.time;
  const bool known = time.word != compare::ResultWord::kUnknown;
  json["established"] = view.verdict.established();
  json["result"] = Text(time.word);
  json["same_program"] = view.verdict.same_program;
  json["iteration"] = known ? Json{{"of", time.of_calls ? "call" : "step"},
                                   {"base_ns", time.base_ns},
                                   {"new_ns", time.now_ns},
                                   {"base_count", time.base_count},
                                   {"new_count", time.now_count},
                                   {"ratio", time.ratio},
                                   {"ratio_low", 1 + time.interval.low},
                                   {"ratio_high", 1 + time.interval.high},
                                   {"usual_variation", time.usual_variation}}
                            : Json();
  json["same_recording"] = comparison.identity.same_recording;
  json["comparable"] = comparison.identity.comparable();
  json["refusals"] = comparison.identity.refusals;
  json["qualifications"] = comparison.identity.qualifications;
  json["differences"] = comparison.identity.differences;
  json["steady"] = view.base.steady && view.now.steady;
  json["base"] = {{"run", view.base.path},
                  {"step_ns", comparison.base_step_ns},
                  {"device_ns", comparison.base_device_ns}};
  json["new"] = {{"run", view.now.path},
                 {"step_ns", comparison.now_step_ns},
                 {"device_ns", comparison.now_device_ns}};
  json["facts"] = Json::object();
  for (const CompareFact& fact : FactsOf(view.base, view.now)) {
    if (!fact.base && !fact.now) continue;
    json["facts"][fact.name] = {{"base", fact.base ? Json(*fact.base) : Json()},
                                {"new", fact.now ? Json(*fact.now) : Json()}};
  }
  json["changes"] = Json::array();
  for (const Change& change : view.changes) {
    json["changes"].push_back({{"id", change.id},
                               {"text", change.text},
                               {"where", change.where},
                               {"change_ns", change.delta_ns},
                               {"wall", change.wall},
                               {"certain", change.certain},
                               {"because", change.because.empty() ? Json() : Json(change.because)},
                               {"rows", change.rows}});
  }
  json["rows"] = Json::array();
  const auto ops = [](const compare::Run& run, const std::vector<size_t>& list) {
    Json array = Json::array();
    for (const size_t i : list) {
      const compare::Op& op = run.ops[i];
      Json one = {{"handle", op.handle.empty() ? Json() : Json(op.handle)},
                  {"instruction", op.instruction.empty() ? Json() : Json(op.instruction)},
                  {"ns", op.ns}};
      if (!op.reason.empty()) one["unattributed_reason"] = op.reason;
      array.push_back(std::move(one));
    }
    return array;
  };
  const std::vector<bool> usual = compare::RowsOfUsualVariation(comparison, view.changes);
  for (size_t r = 0; r < comparison.rows.size(); ++r) {
    const Row& row = comparison.rows[r];
    Json causes = Json::array();
    for (const compare::Cause& cause : row.causes) {
      causes.push_back(
          {{"kind", Text(cause.kind)}, {"text", cause.text}, {"certain", cause.certain}});
    }
    json["rows"].push_back({{"name", compare::RowName(view.base, view.now, row)},
                            {"level", Text(row.level)},
                            {"base_ns", row.base_ns},
                            {"new_ns", row.now_ns},
                            {"change_ns", row.delta()},
                            {"base_calls", row.base_calls},
                            {"new_calls", row.now_calls},
                            {"base", ops(view.base, row.base)},
                            {"new", ops(view.now, row.now)},
                            {"usual_variation", static_cast<bool>(usual[r])},
                            {"causes", std::move(causes)}});
  }
  if (options.by != compare::By::kOp) {
    json["by"] = compare::ByTexts()[static_cast<size_t>(options.by)];
    json["groups"] = Json::array();
    for (const BreakdownRow& row :
         compare::Breakdown(view.base, view.now, comparison, options.by)) {
      json["groups"].push_back({{"name", row.name},
                                {"base_ns", row.base_ns},
                                {"new_ns", row.now_ns},
                                {"change_ns", row.delta()}});
    }
  }
  return json;
}

std::string CompareJson(const ComparisonView& view, const CompareOptions& options) {
  // Names of ops may contain bytes that are not UTF-8.
  return CompareJsonObject(view, options).dump(1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace xlatrace::report
