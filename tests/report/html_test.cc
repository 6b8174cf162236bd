// SPDX-License-Identifier: Apache-2.0

// The page: complete, offline, and made of nothing but our own markup.

#include "report/html/html.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/answer/answer_text.h"
#include "report/html/html_writer.h"
#include "report/model_tree.h"
#include "report/op_fold.h"
#include "sample_run.h"
#include "temporary_folder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string PageOf(const RunView& view) {
  std::string page;
  const Status written = WriteStaticHtml(view, [&page](std::string_view piece) -> Status {
    page += piece;
    return {};
  });
  EXPECT_TRUE(written);
  return page;
}
std::string Page(const SampleRun& run) { return PageOf(ViewOf(run)); }

// Returns the names of all tags. Fails if the markup is not well-formed: tags that do not match,
// attributes without quotes, a stray '<'. This parser shares no code with the writer of the page.
std::set<std::string> TagsOf(const std::string& page) {
  static const std::set<std::string> kVoid = {"meta", "br", "col", "input"};
  std::set<std::string> tags;
  std::vector<std::string> open;
  for (size_t at = page.find("<html"); at < page.size();) {
    at = page.find('<', at);
    if (at == std::string::npos) break;
    size_t end = at + 1;
    char quote = 0;
    while (end < page.size() && (quote != 0 || page[end] != '>')) {
      if (page[end] == '"') quote = quote == 0 ? '"' : 0;
      if (quote == 0 && end > at + 1 && page[end] == '<') {
        ADD_FAILURE() << "'<' inside a tag: " << page.substr(at, 80);
        return tags;
      }
      ++end;
    }
    const bool closing = page[at + 1] == '/';
    const size_t name_at = at + (closing ? 2 : 1);
    const std::string name = page.substr(name_at, page.find_first_of(" >\n", name_at) - name_at);
    tags.insert(name);
    if (closing) {
      if (open.empty() || open.back() != name) {
        ADD_FAILURE() << "</" << name << "> closes " << (open.empty() ? "" : open.back());
        return tags;
      }
      open.pop_back();
    } else if (!kVoid.contains(name)) {
      open.push_back(name);
    }
    at = end + 1;
    if (!closing && name == "style") at = page.find("</style>", at);
  }
  EXPECT_TRUE(open.empty());
  return tags;
}

const std::set<std::string>& OurTags() {
  static const std::set<std::string> tags = {
      "details",  "summary", "a",      "aside", "b",       "body",   "br",         "code",  "col",
      "colgroup", "dd",      "div",    "dl",    "dt",      "figure", "figcaption", "h1",    "h2",
      "h3",       "head",    "header", "html",  "i",       "input",  "label",      "li",    "main",
      "meta",     "nav",     "ol",     "p",     "section", "small",  "span",       "style", "table",
      "tbody",    "td",      "tfoot",  "th",    "thead",   "title",  "tr",         "ul"};
  return tags;
}

// The text that a reader sees: a line per block of the page.
std::string ShownText(const std::string& page) {
  static const std::set<std::string> kInline = {"a", "b", "code", "i", "small", "span", "td", "th"};
  std::string text;
  for (size_t at = page.find("<body"); at < page.size();) {
    if (page[at] != '<') {
      text += page[at++] == '\n' ? ' ' : page[at - 1];
      continue;
    }
    const size_t end = page.find('>', at);
    const size_t name_at = at + (page[at + 1] == '/' ? 2 : 1);
    const std::string name = page.substr(name_at, page.find_first_of(" >\n", name_at) - name_at);
    text += kInline.contains(name) ? ' ' : '\n';
    at = end == std::string::npos ? page.size() : end + 1;
  }
  std::istringstream lines(text);
  std::string shown;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    if (!joined.empty()) shown += joined + "\n";
  }
  return WithoutVersion(shown);
}

TEST(HtmlTest, QuotedCodeInAnActionIsMarked) {
  SampleRun run = TransformerRun();
  model::FindingRow finding;
  finding.id = "scatter_add";
  finding.title = "Alpha";
  finding.confidence = "high";
  finding.saves_high_ns_per_step = 1'000'000'000'000;
  finding.action = "delta `jax.nn.one_hot(a < b)`, epsilon ` zeta.";
  run.findings = {finding};
  EXPECT_THAT(Page(run), HasSubstr("delta <code>jax.nn.one_hot(a &lt; b)</code>, epsilon ` zeta."));
}

TEST(HtmlTest, SavingOfTheRunHasNoShareOfAStep) {
  SampleRun run = TransformerRun();
  model::FindingRow finding;
  finding.id = "slow_compile";
  finding.title = "Alpha";
  finding.confidence = "high";
  finding.saves_high_ns_per_run = 3'000'000'000;
  run.findings = {finding};
  const std::string page = Page(run);
  EXPECT_THAT(page, HasSubstr(" 3.00 s<small>of the run</small></div>"));
  EXPECT_THAT(page, Not(HasSubstr("of step</small>")));
}

TEST(HtmlTest, PageBeginsWithTheMarkerThatAllowsReplacing) {
  const std::string page = Page(TransformerRun());
  EXPECT_TRUE(page.starts_with("<!doctype html>\n<!-- xlatrace report 1 -->\n"));
  EXPECT_TRUE(IsOurReport(page.substr(0, 100)));
  EXPECT_FALSE(IsOurReport("<!doctype html>\n<html>"));
  EXPECT_FALSE(IsOurReport(""));
  EXPECT_FALSE(IsOurReport("text <!doctype html>\n<!-- xlatrace report 1 -->"));
}

TEST(HtmlTest, PageHasNoExternalReferenceAndNoScript) {
  const std::string page = Page(TransformerRun());
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'"));
  for (const char* word : {"http:", "https:", "<script", "<link", "<img", "<iframe", "src=", "url(",
                           "@import", "javascript:", "onclick"}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

TEST(HtmlTest, IsWellFormedAndEveryLinkHasItsTarget) {
  const std::string page = Page(TransformerRun());
  for (const std::string& tag : TagsOf(page)) EXPECT_TRUE(OurTags().contains(tag)) << tag;
  for (size_t at = page.find("href=\"#"); at != std::string::npos;
       at = page.find("href=\"#", at + 1)) {
    const std::string target = page.substr(at + 7, page.find('"', at + 7) - at - 7);
    EXPECT_THAT(page, HasSubstr("id=\"" + target + "\""));
  }
}

TEST(HtmlTest, PageHasTheFiguresOfTheRun) {
  const std::string page = Page(TransformerRun());
  EXPECT_THAT(page, HasSubstr("55.5%"));  // Backward: 14.6 of 26.3 ms.
  EXPECT_THAT(page, HasSubstr("99.3%"));  // Attributed.
  EXPECT_GOLDEN_TEXT(ShownText(page));
  EXPECT_THAT(page, HasSubstr("<b>backward 14.6 ms</b>"));
  EXPECT_THAT(page, HasSubstr("embeddings.py:84"));
  EXPECT_THAT(page, HasSubstr("\u00d78</span>"));
  EXPECT_THAT(page, HasSubstr("clock_samples"));
}

// Modules without a row of their own are summed: time per step and in the whole run.
TEST(HtmlTest, OtherModulesHaveTheirTimeOfTheRun) {
  RunView view = ViewOf(TransformerRun());
  ModuleFigure module;
  module.ns = 20'000'000;  // 1 ms of a step: 10 steps on 2 devices.
  module.run_ns = 33'000'000;
  view.modules.assign(35, module);
  EXPECT_THAT(PageOf(view), HasSubstr("</td><td class=\"num\">10.0</td>"
                                      "<td class=\"num\">330</td>"));
}

TEST(HtmlTest, NamesNeverBecomeMarkup) {
  const std::vector<std::string> names = {"</script><script>alert(1)</script>",
                                          "\"><img src=x onerror=alert(1)>",
                                          "' onload='x",
                                          "<!--",
                                          "]]>",
                                          "&lt;b&gt;",
                                          "</title><b>",
                                          "</style>",
                                          "a\nb",
                                          std::string("nul\0byte", 8),
                                          "\u202Egnp.exe",
                                          "broken\xff\xfe",
                                          std::string(1'000'000, 'y') + "tail.9"};
  SampleRun run;
  for (const std::string& name : names) {
    run.ops.push_back({.instruction = name,
                       .layer = name + "/" + name,
                       .op_name = name + "/" + name,
                       .source_file = "/d/" + name,
                       .source_line = 3,
                       .ns = 1'000'000});
    run.stats.push_back({name, model::Severity::kDataLoss, name, 1, name});
    model::FindingRow finding;
    finding.id = "rule";
    finding.title = finding.action = finding.where_source = finding.confidence = name;
    finding.evidence_json = R"([{"text":"</p><script>"},{"text":7},3])";
    run.findings.push_back(finding);
  }
  run.command = names[0] + " " + names[1];
  run.device_name = names[2];
  run.module_name = names[6];
  run.info.emplace_back(names[1], names[0]);
  const std::string page = Page(run);
  for (const std::string& tag : TagsOf(page)) EXPECT_TRUE(OurTags().contains(tag)) << tag;
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, HasSubstr("[U+202E]gnp.exe"));
  EXPECT_THAT(page, HasSubstr("nul[U+0000]byte"));
  EXPECT_EQ(page.find('\0'), std::string::npos);
  EXPECT_THAT(page, HasSubstr("[1,000,006 bytes "));
  EXPECT_LT(page.size(), 500'000u);
}

// The headline of a run in its page.
std::string HeadlineText(const SampleRun& run) {
  const RunView view = ViewOf(run);
  return "<h1>" + PlainText(TextOf(view).first) + "</h1>";
}

TEST(HtmlTest, RunsWithoutSteadyStepsModulesOrActivityHaveAPage) {
  SampleRun one = TransformerRun();
  one.steps = 1;
  const std::string page_of_one = Page(one);
  EXPECT_GOLDEN_TEXT(ShownText(page_of_one.substr(0, page_of_one.find("id=\"model\""))));
  SampleRun none = TransformerRun();
  none.module = false;
  EXPECT_THAT(Page(none), HasSubstr(HeadlineText(none)));
  SampleRun empty;
  empty.steps = 0;
  empty.module = false;
  const std::string page = Page(empty);
  EXPECT_THAT(page, HasSubstr(HeadlineText(empty)));
  EXPECT_GOLDEN_TEXT(ShownText(page));
  for (const SampleRun& run : {one, none, empty}) TagsOf(Page(run));
}

TEST(HtmlTest, RecordingOfTheFakeGpuHasABanner) {
  const std::string of_banner = "<div class=\"banner\"><p class=\"note bad\">";
  SampleRun run = TransformerRun();
  EXPECT_THAT(Page(run), Not(HasSubstr(of_banner)));
  run.device_name = "xlatrace fake GPU";
  EXPECT_THAT(Page(run), HasSubstr(of_banner));
}

TEST(HtmlTest, StopsAtTheFirstWriteThatFails) {
  int calls = 0;
  const Status written =
      WriteStaticHtml(ViewOf(TransformerRun()), [&calls](std::string_view) -> Status {
        ++calls;
        return MakeError("disk full");
      });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "disk full");
  EXPECT_EQ(calls, 1);
}

TEST(EscapeHtmlTest, CutsLongTextBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\u00e9";
  const std::string escaped = EscapeHtml(text);
  EXPECT_THAT(escaped, HasSubstr("[2,000 bytes "));
  EXPECT_THAT(escaped, Not(HasSubstr("\uFFFD")));
  EXPECT_EQ(EscapeHtml("\xc3"), "\uFFFD");
  EXPECT_EQ(EscapeHtml(""), "");
}

TEST(OpFoldTest, CopiesOfOneInstructionFoldIntoOneRow) {
  const RunView view = ViewOf(TransformerRun());
  const std::vector<FoldedOp> folded = FoldOps(view);
  int64_t ns = 0;
  int64_t copies = 0;
  for (const FoldedOp& fold : folded) {
    ns += fold.ns;
    copies += fold.copies;
  }
  EXPECT_EQ(copies, static_cast<int64_t>(view.ops.size()));
  EXPECT_EQ(ns, view.coverage.device_ns - view.coverage.none_ns);
  ASSERT_EQ(folded.size(), 11u);
  EXPECT_EQ(folded[1].copies, 8);
  EXPECT_EQ(folded[1].op->instruction, "custom-call.75.0");
  EXPECT_EQ(InstructionStem("custom-call.75.0"), "custom-call");
  EXPECT_EQ(InstructionStem("fusion"), "fusion");
  EXPECT_EQ(InstructionStem("12"), "12");
  EXPECT_EQ(InstructionStem(".5"), ".5");
}

TEST(OpFoldTest, OpsWithoutAnOpNameAreNotFolded) {
  SampleRun run;
  run.ops = {{.instruction = "fusion.1", .ns = 10}, {.instruction = "fusion.2", .ns = 20}};
  EXPECT_EQ(FoldOps(ViewOf(run)).size(), 2u);
}

TEST(OpFoldTest, CopiesToTheHostAndFromItAreTwoRows) {
  RunView view;
  for (const bool to_host : {false, true, false}) {
    OpFigure op;
    op.instruction = "copy-done." + std::to_string(view.ops.size());
    op.op_kind = "copy";
    op.op_name = "jit(f)/add";
    op.ns = 10;
    op.to_host = to_host;
    view.ops.push_back(op);
  }
  const std::vector<FoldedOp> folded = FoldOps(view);
  ASSERT_EQ(folded.size(), 2u);
  EXPECT_EQ(folded[0].copies, 2);
  EXPECT_EQ(folded[1].op->instruction, "copy-done.1");
}

// Two processes run three alike instructions; one of these takes next to nothing in both.
TEST(OpFoldTest, CopyBelowATenthOfTheLargestIsNotFolded) {
  RunView view;
  const auto add = [&](const char* instruction, int64_t ns) {
    OpFigure op;
    op.instruction = instruction;
    op.fingerprint = "f";
    op.op_kind = "copy";
    op.op_name = "jit(f)/add";
    op.ns = ns;
    view.ops.push_back(op);
  };
  add("copy-done.1", 1000);
  add("copy-done.2", 100);
  add("copy-done.3", 99);
  // The other process was quick: still the same instruction.
  add("copy-done.1", 50);
  add("copy-done.3", 9);
  const std::vector<FoldedOp> folded = FoldOps(view);
  ASSERT_EQ(folded.size(), 2u);
  EXPECT_EQ(folded[0].ns, 1150);
  EXPECT_EQ(folded[0].copies, 2);
  EXPECT_EQ(folded[0].ops, 3);
  EXPECT_EQ(folded[1].ns, 108);
  EXPECT_EQ(folded[1].copies, 1);
  EXPECT_EQ(FoldRows(view), (std::vector<size_t>{0, 0, 1, 0, 1}));
}

int64_t SumOfChildren(const ModelNode& node) {
  int64_t sum = 0;
  for (const ModelNode& child : node.children) {
    sum += child.ns;
    if (!child.children.empty()) {
      EXPECT_EQ(SumOfChildren(child), child.ns) << child.path;
    }
  }
  return sum;
}

TEST(ModelTreeTest, EveryLevelSumsToItsParent) {
  const RunView view = ViewOf(TransformerRun());
  const ModelNode tree = BuildModelTree(view, ModelTreeLimits());
  EXPECT_EQ(tree.ns, view.coverage.device_ns);
  EXPECT_EQ(SumOfChildren(tree), tree.ns);
  EXPECT_EQ(tree.children[0].name, "decoder");
  const ModelNode pruned = BuildModelTree(view, {.depth = 2, .children = 2, .least_share = 0.3});
  EXPECT_EQ(SumOfChildren(pruned), tree.ns);
}

TEST(ModelTreeTest, TimeOfAComponentItselfIsARow) {
  SampleRun run;
  run.ops = {{.instruction = "a", .layer = "net", .ns = 10},
             {.instruction = "b", .layer = "net/mlp", .ns = 20},
             {.instruction = "c", .layer = "net/mlp/deep/deeper", .ns = 40}};
  const ModelNode tree = BuildModelTree(ViewOf(run), ModelTreeLimits());
  ASSERT_EQ(tree.children.size(), 1u);
  const ModelNode& net = tree.children[0];
  EXPECT_EQ(net.ns, 3 * 70);
  ASSERT_EQ(net.children.size(), 2u);
  EXPECT_EQ(net.children[0].name, "mlp");
  EXPECT_EQ(net.children[1].name, "itself");
  EXPECT_EQ(net.children[1].ns, 3 * 10);
  // A component that leads to a single other one shares its row.
  EXPECT_EQ(net.children[0].children[0].name, "deep/deeper");
}

}  // namespace
}  // namespace xlatrace::report
