// SPDX-License-Identifier: Apache-2.0

// The summary in its four forms.

#include "report/summary/summary.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "report/breakdown.h"
#include "report/op_fold.h"
#include "report/summary/summary_slices.h"
#include "sample_run.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Names that try everything: escape sequences, markup, bidirectional overrides, NUL, bytes that are
// no UTF-8, wide characters, a megabyte.
const std::vector<std::string>& HostileNames() {
  static const std::vector<std::string> names = {
      "\x1b]0;owned\x07\x1b[31mred",
      "</script><script>alert(1)</script>",
      "=HYPERLINK(\"http://x\")",
      "a\nb\tc|d`e",
      "\u202Egnp.exe",
      std::string("nul\0byte", 8),
      "broken\xff\xfe\x80utf8",
      "\u4e2d\u6587\u540d\u5b57\u5f88\u957f\u5f88\u957f\u5f88\u957f\u5f88\u957f\u7684\u540d\u5b57",
      std::string(1'000'000, 'x') + ".9",
      "+1",
      "-1",
      "@SUM(A1)",
      "'quoted'",
      "\"double\""};
  return names;
}

SampleRun HostileRun() {
  SampleRun run;
  int64_t ns = 1'000'000;
  for (const std::string& name : HostileNames()) {
    run.ops.push_back({.instruction = name,
                       .layer = "net/" + name,
                       .op_name = "jit(f)/" + name,
                       .source_file = "/dir/" + name,
                       .source_line = 3,
                       .ns = ns});
    ns += 10'000;
  }
  run.command = "python3 " + HostileNames()[0] + " " + HostileNames()[8];
  run.device_name = HostileNames()[4] + HostileNames()[7];
  run.module_name = HostileNames()[1];
  run.stats = {
      {HostileNames()[0], model::Severity::kNotice, HostileNames()[1], 1, HostileNames()[4]}};
  return run;
}

constexpr By kAllBy[] = {By::kOp,     By::kPhase, By::kLayer,  By::kKernel,
                         By::kSource, By::kScope, By::kOpKind, By::kOrigin,
                         By::kModule, By::kStep,  By::kDevice, By::kRank};

TEST(SummaryTextTest, TextFitsTheWidthAndHasAtMost45Lines) {
  SampleRun findings = TransformerRun();
  for (int i = 0; i < 9; ++i) {
    model::FindingRow finding;
    finding.id = "rule";
    finding.title = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu " +
                    std::to_string(i);
    finding.saves_high_ns_per_step = 1'000'000 * (9 - i);
    finding.confidence = "medium";
    finding.where_source = "/some/where/attention.py:287";
    findings.findings.push_back(finding);
    findings.stats.push_back(
        {"lost_" + std::to_string(i), model::Severity::kDataLoss, "x", 7,
         "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu "});
  }
  SampleRun empty;
  empty.steps = 0;
  SampleRun no_module = TransformerRun();
  no_module.module = false;
  SampleRun one_step = TransformerRun();
  one_step.steps = 1;
  for (const SampleRun& run :
       {TransformerRun(), HostileRun(), findings, empty, no_module, one_step}) {
    const RunView view = ViewOf(run);
    for (const int width : {60, 80, 100, 120, 160, 300}) {
      for (const By by : kAllBy) {
        for (const bool ascii : {false, true}) {
          const std::string text = SummaryText(view, {.by = by, .width = width, .ascii = ascii});
          const std::vector<std::string> lines = Lines(text);
          EXPECT_LE(lines.size(), 45u);
          for (const std::string& line : lines) {
            EXPECT_LE(DisplayWidth(line), width) << line;
            EXPECT_EQ(line, Printable(line));
            if (ascii) {
              EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) {
                return c >= 0x20 && c < 0x7F;
              })) << line;
            }
          }
        }
      }
    }
  }
}

TEST(SummaryTextTest, TextHasTheFiguresOfTheStepAndItsParts) {
  RunView view = ViewOf(TransformerRun());
  view.path = "run.db";
  const std::string text = SummaryText(view, {});
  EXPECT_THAT(text, HasSubstr("train.py  2 x NVIDIA H100 80GB HBM3  jit_train_step"));
  EXPECT_THAT(text, HasSubstr("step 26.3 ms (10 steps)  busy 97.6%"));
  // 26,273 us per step, of which 14,584 are backward: 8 x (464 + 301 + 3 x 141) + 5,080.
  EXPECT_THAT(text, HasSubstr("backward                14.6  55.5"));
  EXPECT_THAT(text, HasSubstr("custom-call.75.0 x8         3.71"));
  // All device time: 25.6 ms.
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_GOLDEN_TEXT(WithoutVersion(text));
}

TEST(SummaryTextTest, LettersOfPhasesAreExplained) {
  const std::string text = SummaryText(ViewOf(TransformerRun()), {});
  EXPECT_THAT(text, HasSubstr("\nP:  F forward"));
  EXPECT_THAT(text, HasSubstr("B backward"));
  EXPECT_THAT(text, HasSubstr("O optimizer"));
}

TEST(SummaryTextTest, TitleOfAFindingIsWholeInANarrowTerminal) {
  SampleRun run = TransformerRun();
  model::FindingRow finding;
  finding.id = "rule";
  finding.title = "Alpha beta gamma delta: epsilon zeta eta theta iota 21.0 ms kappa mu, nu xi";
  finding.saves_high_ns_per_step = 1'000'000;
  finding.confidence = "medium";
  finding.where_source = "attention.py:287";
  run.findings.push_back(finding);
  for (const int width : {80, 100}) {
    std::string joined;
    for (const std::string& line : Lines(SummaryText(ViewOf(run), {.width = width}))) {
      const size_t saves = line.find(" 1.00 ms medium");
      joined += line.substr(0, saves) + " ";
    }
    std::string words;  // With single blanks.
    for (const char c : joined) {
      if (c != ' ' || !words.ends_with(' ')) words += c;
    }
    EXPECT_THAT(words, HasSubstr("1 " + finding.title)) << width;
  }
}

// A saving without a known lower bound is shown as "at most", beside one with a lower bound.
TEST(SummaryTextTest, UpperBoundIsDistinguishedFromAnEstimate) {
  SampleRun run = TransformerRun();
  for (const int64_t low : {int64_t{800'000}, int64_t{0}}) {
    model::FindingRow finding;
    finding.id = low > 0 ? "sure" : "unsure";
    finding.title = finding.id + " thing";
    finding.saves_low_ns_per_step = low;
    finding.saves_high_ns_per_step = 1'000'000;
    finding.basis = "replay";
    finding.confidence = "medium";
    run.findings.push_back(finding);
  }
  const std::string text = SummaryText(ViewOf(run), {});
  EXPECT_THAT(text, testing::ContainsRegex("1 sure thing +1\\.00 ms"));
  EXPECT_THAT(text, testing::ContainsRegex("2 unsure thing +<=1\\.00 ms"));
}

// The only line that has `part`.
std::string LineWith(const std::string& text, const std::string& part) {
  std::vector<std::string> found;
  for (const std::string& line : Lines(text)) {
    if (line.find(part) != std::string::npos) found.push_back(line);
  }
  EXPECT_EQ(found.size(), 1u) << part << " in\n" << text;
  return found.empty() ? "" : found[0];
}

TEST(SummaryTextTest, LongestGapIsThatOfAllCauses) {
  RunView view = ViewOf(TransformerRun());
  view.basis.steady = false;
  view.gaps = {{.cause = "host", .ns = 900'000'000, .count = 2, .longest_ns = 600'000'000},
               {.cause = "unknown", .ns = 3'000'000, .count = 3, .longest_ns = 1'000'000}};
  view.gap_count = 5;
  const std::string line = LineWith(SummaryText(view, {}), "600 ms");
  EXPECT_THAT(line, HasSubstr(" 5 gaps"));
  EXPECT_GOLDEN_TEXT(line);
}

// If the cause is not known but the host is not it, the summary reports that.
TEST(SummaryTextTest, UnknownIdleTimeIsMarkedIfLaunchesWereInTime) {
  RunView view = ViewOf(TransformerRun());
  view.basis.steady = false;
  view.gaps = {{.cause = "unknown",
                .ns = 400'000'000,
                .count = 4,
                .longest_ns = 200'000'000,
                .launched_ns = 320'000'000}};
  view.gap_count = 4;
  const SummaryOptions wide{.width = 120};
  EXPECT_GOLDEN_TEXT(LineWith(SummaryText(view, wide), "4 gaps"));
  view.gaps[0].launched_ns = 200'000'000;
  EXPECT_GOLDEN_TEXT(LineWith(SummaryText(view, wide), "4 gaps"));
}

TEST(SummaryTextTest, CutListsReportTheNumberOfOmittedEntries) {
  RunView view = ViewOf(TransformerRun());
  view.ruled_out.clear();
  for (int i = 0; i < 40; ++i) {
    view.ruled_out.push_back(
        {.verdict = "fine", .what = fmt::format("thing {}", i), .figure = "alpha"});
  }
  const std::string text = SummaryText(view, {.width = 80});
  const size_t begin = text.find("no problem  ");
  const size_t end = text.find(" more\n", begin);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string list = text.substr(begin, end - begin);
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 1);
  size_t shown = 0;
  for (size_t at = list.find("thing"); at != std::string::npos; at = list.find("thing", at + 1)) {
    ++shown;
  }
  EXPECT_EQ(shown + std::stoul(list.substr(list.rfind(' ') + 1)), 40u);
}

TEST(SummaryTextTest, ColourIsUsedOnlyOnRequest) {
  const RunView view = ViewOf(TransformerRun());
  const std::string plain = SummaryText(view, {});
  std::string colored = SummaryText(view, {.color = true});
  EXPECT_THAT(colored, HasSubstr("\x1b[1m"));
  std::string stripped;
  for (size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\x1b')
      i = colored.find('m', i);
    else
      stripped += colored[i];
  }
  EXPECT_EQ(stripped, plain);
}

// The row of the op whose instruction is `name`, in words.
std::vector<std::string> RowOf(const std::string& text, const std::string& name) {
  for (const std::string& line : Lines(text)) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    if (row.size() > 1 && row[1] == name) return row;
  }
  return {};
}

SampleRun TwoOps() {
  SampleRun run;
  run.ops = {{.instruction = "fusion.1", .ns = 3'000'000},
             {.instruction = "fusion.2", .ns = 200'000}};
  return run;  // 3 steady steps.
}

TEST(SummaryTextTest, CallsArePerStepAndRareCallsAreMarked) {
  RunView view = ViewOf(TwoOps());
  ASSERT_EQ(view.ops.size(), 2u);
  view.ops[0].calls = 12;  // In 3 steps.
  view.ops[1].calls = 1;
  const std::string text = SummaryText(view, {});
  EXPECT_THAT(RowOf(text, "fusion.1"), testing::Contains("4"));
  EXPECT_THAT(RowOf(text, "fusion.2"), testing::Contains("<1"));
}

TEST(SummaryTextTest, PeakShareOfAFoldedOpIsWeightedByTime) {
  // 30 % of the roof for 3 ms of each of 3 steps, 70 % for 1 ms: 40 % of it all.
  SampleRun run = TwoOps();
  run.ops[1].ns = 1'000'000;
  for (SampleOp& op : run.ops) {
    op.layer = op.instruction == "fusion.1" ? "net/layer_1" : "net/layer_2";
    op.op_name = "jit(f)/" + op.layer + "/mul";
  }
  RunView view = ViewOf(run);
  ASSERT_EQ(view.ops.size(), 2u);
  view.ops[0].peak_pct = 30;
  view.ops[1].peak_pct = 70;
  ASSERT_EQ(FoldOps(view).size(), 1u);
  EXPECT_THAT(RowOf(SummaryText(view, {}), "fusion.1"), testing::Contains("40"));
}

TEST(SummaryTextTest, EqualNamesInTwoModulesAreDistinguished) {
  RunView view = ViewOf(TwoOps());
  ASSERT_EQ(view.ops.size(), 2u);
  view.ops[1].instruction = view.ops[0].instruction;
  view.ops[1].module_id = view.ops[0].module_id + 1;
  view.ops[1].module = "jit_eval";
  view.ops[1].fingerprint = "beef";
  const std::string text = SummaryText(view, {.width = 140});
  EXPECT_THAT(text, HasSubstr("jit_train_step/fusion.1"));
  EXPECT_THAT(text, HasSubstr("jit_eval/fusion.1"));
  // Two programs of one name: the number, too.
  view.ops[1].module = view.ops[0].module;
  view.ops[0].program_id = 16;
  view.ops[1].program_id = 17;
  const std::string same = SummaryText(view, {.width = 140});
  EXPECT_THAT(same, HasSubstr("#16/fusion.1"));
  EXPECT_THAT(same, HasSubstr("#17/fusion.1"));
}

TEST(SummaryTextTest, OthersCloseTheTable) {
  const std::string text = SummaryText(ViewOf(TransformerRun()), {.rows = 2});
  // 59 attributed instructions; the two rows hold one and eight of them.
  EXPECT_THAT(text, HasSubstr("[51 others]"));
}

TEST(SummaryJsonTest, NumbersEqualTheViewAndSumUp) {
  const RunView view = ViewOf(TransformerRun());
  const json parsed = json::parse(SummaryJson(view, {}));
  EXPECT_EQ(parsed["schema_version"], 1);
  EXPECT_EQ(parsed["basis"], "steady_steps");
  EXPECT_EQ(parsed["steps"]["step_devices"], 20);
  int64_t parts = 0;
  for (const json& part : parsed["steps"]["parts"]) parts += part["wall_ns"].get<int64_t>();
  EXPECT_EQ(parts, parsed["steps"]["wall_ns"]);
  EXPECT_EQ(parts, view.steps.wall_ns);
  int64_t rows = 0;
  for (const json& row : parsed["table"]["rows"]) rows += row["ns"].get<int64_t>();
  EXPECT_EQ(rows, parsed["attribution"]["device_ns"]);
  EXPECT_EQ(parsed["table"]["rows"][0]["instruction"], "input_scatter_fusion");
  EXPECT_EQ(parsed["table"]["rows"][0]["ns_per_step"], 5'080'000);
  int64_t phases = 0;
  for (const json& phase : parsed["phases"]) phases += phase["ns"].get<int64_t>();
  EXPECT_EQ(phases, parsed["attribution"]["device_ns"]);
}

TEST(SummaryJsonTest, SavingPerRunHasALowerAndAnUpperBound) {
  RunView view = ViewOf(TransformerRun());
  FindingFigure finding;
  finding.of_run = true;
  finding.saves_low_ns = 1'000;
  finding.saves_high_ns = 10'000;
  view.findings = {finding};
  const json parsed = json::parse(SummaryJson(view, {}))["findings"][0];
  EXPECT_EQ(parsed["saves_low_ns_per_run"], 1'000);
  EXPECT_EQ(parsed["saves_high_ns_per_run"], 10'000);
  EXPECT_TRUE(parsed["saves_low_ns_per_step"].is_null());
}

TEST(SummaryJsonTest, EveryBreakdownSumsToDeviceTimeWithOthers) {
  const RunView view = ViewOf(TransformerRun());
  // Slices are loaded on demand (below), steps are wall time.
  for (const By by :
       {By::kOp, By::kPhase, By::kLayer, By::kKernel, By::kSource, By::kOpKind, By::kModule}) {
    const json parsed = json::parse(SummaryJson(view, {.by = by, .rows = 3}));
    int64_t sum = parsed["table"]["others"]["ns"].get<int64_t>();
    EXPECT_LE(parsed["table"]["rows"].size(), 3u);
    for (const json& row : parsed["table"]["rows"]) sum += row["ns"].get<int64_t>();
    EXPECT_EQ(sum, view.coverage.device_ns) << parsed["table"]["by"];
  }
}

TEST(SummaryJsonTest, HostileNamesStayValidJson) {
  const json parsed = json::parse(SummaryJson(ViewOf(HostileRun()), {}), nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  EXPECT_EQ(parsed["table"]["rows"].size(), HostileNames().size());
}

TEST(SummaryCsvTest, AllRowsHaveAllColumns) {
  const RunView view = ViewOf(TransformerRun());
  const std::vector<std::string> lines = Lines(SummaryCsv(view, {.by = By::kPhase}));
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "phase,ns,ns_per_step,pct\r");
  // 20 step-devices of 14,584 us.
  EXPECT_EQ(lines[1].substr(0, lines[1].rfind(',')), "backward,291680000,14584000");
}

TEST(SummaryCsvTest, CellsAreEscapedAgainstFormulas) {
  // A reader of RFC 4180 of a dozen lines, so that quoting is judged from outside.
  const std::string csv = SummaryCsv(ViewOf(HostileRun()), {});
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (c == '"') {
      if (quoted && i + 1 < csv.size() && csv[i + 1] == '"') {
        rows.back().back() += csv[++i];
      } else {
        quoted = !quoted;
      }
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.emplace_back(1);
    } else if (quoted || c != '\r') {
      rows.back().back() += c;
    }
  }
  rows.pop_back();  // After the last line.
  EXPECT_EQ(rows.size(), HostileNames().size() + 1);
  bool saw_formula = false;
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size());
    for (const std::string& cell : row) {
      if (cell.empty()) continue;
      EXPECT_EQ(std::string("=+-@").find(cell[0]), std::string::npos) << cell;
      saw_formula = saw_formula || cell == "'=HYPERLINK(\"http://x\")";
    }
  }
  EXPECT_TRUE(saw_formula);
}

TEST(SummaryMarkdownTest, TablesKeepTheirShapeWithHostileNames) {
  const std::string text = SummaryMarkdown(ViewOf(HostileRun()), {});
  size_t columns = 0;
  for (const std::string& line : Lines(text)) {
    if (line.empty() || line[0] != '|') {
      columns = 0;
      continue;
    }
    size_t bars = 0;
    for (size_t i = 0; i < line.size(); ++i)
      bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (columns == 0) columns = bars;
    EXPECT_EQ(bars, columns) << line;
  }
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LT(text.size(), 20'000u);
}

TEST(SummaryMarkdownTest, RangeOfStepsIsItsQuartiles) {
  RunView view = ViewOf(TransformerRun());
  view.steps.p25_ns = 1'250'000;
  view.steps.typical_ns = 2'500'000;
  view.steps.p75_ns = 4'750'000;
  EXPECT_GOLDEN_TEXT(LineWith(SummaryMarkdown(view, {}), "2.50 ms"));  // From 1.25 to 4.75 ms.
}

TEST(ByTest, WordsOfGroupingsAreParsed) {
  EXPECT_EQ(ByFromText("layer"), By::kLayer);
  EXPECT_EQ(ByFromText("source"), By::kSource);
  for (const std::string_view word : ByTexts()) EXPECT_EQ(Text(*ByFromText(word)), word);
  EXPECT_EQ(ByFromText("colour"), std::nullopt);
}

// Everything of a sample run through the database, with a filter and slices.
struct Asked {
  explicit Asked(const SampleRun& run, By by, const SummaryFilter& filter = {}) {
    const std::string path = folder.File("run.db");
    EXPECT_TRUE(WriteSampleRun(run, path).has_value());
    auto db = store::RunDb::Open(path);
    EXPECT_TRUE(db.has_value());
    view = *LoadRunView(*db);
    table = view;
    EXPECT_TRUE(ApplyFilter(*db, filter, table).has_value());
    EXPECT_TRUE(LoadSlices(*db, by, table).has_value());
  }
  TemporaryFolder folder;
  RunView view, table;
};

int64_t Sum(const std::vector<NamedFigure>& figures) {
  int64_t sum = 0;
  for (const NamedFigure& figure : figures) sum += figure.ns;
  return sum;
}

TEST(SummarySlices, EveryGroupingSumsToDeviceTime) {
  for (const By by : {By::kOrigin, By::kDevice, By::kRank, By::kScope}) {
    const Asked asked(TransformerRun(), by);
    ASSERT_FALSE(asked.table.slices.empty()) << Text(by);
    // Scopes are rounded one by one.
    EXPECT_NEAR(static_cast<double>(Sum(asked.table.slices)),
                static_cast<double>(asked.view.coverage.device_ns),
                static_cast<double>(asked.table.slices.size()))
        << Text(by);
  }
  EXPECT_EQ(Asked(TransformerRun(), By::kDevice).table.slices.size(), 2u);
}

TEST(SummarySlices, FilterByPhaseKeepsItsShareOfEveryOp) {
  const Asked asked(TransformerRun(), By::kOp, {.phase = "back", .scope = {}});
  const auto backward = static_cast<size_t>(model::Phase::kBackward);
  EXPECT_NEAR(static_cast<double>(asked.table.coverage.device_ns),
              static_cast<double>(asked.view.phases[backward]),
              static_cast<double>(asked.table.ops.size()));
  for (const OpFigure& op : asked.table.ops) EXPECT_EQ(op.phase, model::Phase::kBackward);
  RunView view = asked.view;
  view.path = "run.db";
  EXPECT_GOLDEN_TEXT(WithoutVersion(SummaryText(view, {.table = &asked.table})));
}

TEST(SummarySlices, ScopeMatchesWithAndWithoutAStar) {
  EXPECT_TRUE(MatchesScope("decoder/layer_3/mlp", "layer_*/mlp") == false);
  EXPECT_TRUE(MatchesScope("decoder/layer_3/mlp", "*layer_*/mlp"));
  EXPECT_TRUE(MatchesScope("decoder/layer_3/mlp", "layer_3"));
  EXPECT_TRUE(MatchesScope("decoder/layer_3/mlp", "*"));
  EXPECT_FALSE(MatchesScope("decoder", "encoder*"));
}

TEST(SummarySlices, UnknownPhaseIsAnError) {
  TemporaryFolder folder;
  const std::string path = folder.File("run.db");
  ASSERT_TRUE(WriteSampleRun(TransformerRun(), path).has_value());
  auto db = store::RunDb::Open(path);
  ASSERT_TRUE(db.has_value());
  RunView view = *LoadRunView(*db);
  EXPECT_FALSE(ApplyFilter(*db, {.phase = "sideways", .scope = {}}, view).has_value());
}

TEST(SummaryJsonTest, FiveRowsTakeAtMostFourKilobytes) {
  SampleRun run = TransformerRun();
  for (int i = 0; i < 9; ++i) {
    model::FindingRow finding;
    finding.id = "a_rule_of_some_length";
    finding.title = "Alpha beta gamma: delta epsilon, zeta eta-theta, iota 49.3 ms kappa lamb";
    finding.saves_high_ns_per_step = 1'000'000 * (9 - i);
    finding.confidence = "medium";
    finding.where_source = "/opt/some/where/in/a/model/attention.py:287";
    run.findings.push_back(finding);
  }
  const std::string text = SummaryJson(ViewOf(run), {.rows = 5});
  EXPECT_LE(text.size(), 4096u);
  const json brief = json::parse(text);
  EXPECT_EQ(brief["schema_version"], 1);
  EXPECT_EQ(brief["findings"].size(), 4u);
  EXPECT_EQ(brief["table"]["rows"].size(), 5u);
  int64_t sum = brief["table"]["others"]["ns"];
  for (const json& row : brief["table"]["rows"]) sum += row["ns"].get<int64_t>();
  EXPECT_EQ(sum, brief["table"]["device_ns"]);
}

}  // namespace
}  // namespace xlatrace::report
