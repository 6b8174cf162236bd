// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/findings/catalogue.h"
#include "analysis/findings/report.h"
#include "base/terminal.h"
#include "tests/source_folder.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr size_t kMaxSentences = 2;
constexpr size_t kMaxSentenceWords = 20;
// A title has at least this many columns left for its place and values.
constexpr int kMinValueColumns = 8;

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Code between backquotes counts as one word. A full stop inside of code ends no sentence.
std::vector<std::string> SentencesOf(std::string_view text) {
  std::string plain;
  bool in_code = false;
  for (const char c : text) {
    if (c == '`') {
      if (!in_code) plain += "CODE";
      in_code = !in_code;
    } else if (!in_code) {
      plain += c;
    }
  }
  std::vector<std::string> sentences;
  for (size_t start = 0; start < plain.size();) {
    const size_t stop = plain.find(". ", start);
    sentences.push_back(plain.substr(start, stop == plain.npos ? stop : stop - start));
    if (stop == plain.npos) break;
    start = stop + 2;
  }
  return sentences;
}

std::string_view IdOf(const FindingTexts& texts) {
  return texts.key.substr(0, texts.key.find('/'));
}

TEST(FindingCatalogue, EveryKindHasTextsAndEveryTextHasAKind) {
  std::set<std::string_view> kinds, described;
  for (const FindingKind& kind : Kinds()) EXPECT_TRUE(kinds.insert(kind.id).second) << kind.id;
  std::set<std::string_view> keys;
  for (const FindingTexts& texts : AllTexts()) {
    EXPECT_TRUE(keys.insert(texts.key).second) << texts.key;
    described.insert(IdOf(texts));
  }
  EXPECT_EQ(kinds, described);
}

TEST(FindingCatalogue, TextsOfAVariantCompleteThoseOfItsKind) {
  const FindingTexts kind = TextsOf("recompile", "");
  const FindingTexts variant = TextsOf("recompile", "shape");
  EXPECT_EQ(variant.title, kind.title);
  EXPECT_NE(variant.action, kind.action);
  EXPECT_TRUE(variant.in_tensorflow.empty());
  EXPECT_EQ(TextsOf("recompile", "no such variant").action, kind.action);
  EXPECT_TRUE(TextsOf("no such kind", "").key.empty());
}

TEST(FindingCatalogue, TextsAreCompleteForEveryVariant) {
  for (const FindingTexts& each : AllTexts()) {
    const std::string_view id = IdOf(each);
    const FindingTexts texts =
        TextsOf(id, id == each.key ? std::string_view() : each.key.substr(id.size() + 1));
    EXPECT_FALSE(texts.title.empty()) << each.key;
    EXPECT_FALSE(texts.action.empty()) << each.key;
    EXPECT_FALSE(texts.check.empty()) << each.key;
  }
}

TEST(FindingCatalogue, TitlesAreShortAndNameTheirSubject) {
  for (const FindingTexts& texts : AllTexts()) {
    if (texts.title.empty()) continue;
    const std::string title = Fill(texts.title, {});
    EXPECT_LE(DisplayWidth(title), kMaxTitleColumns - (title == texts.title ? 0 : kMinValueColumns))
        << title;
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(title[0]))) << title;
    EXPECT_NE(title.back(), '.') << title;
    for (const std::string& word : WordsOf(title)) {
      for (const std::string_view vague : {"this", "these", "it", "here", "what"}) {
        // "this run" has its noun.
        EXPECT_TRUE(word != vague || title.ends_with("this run")) << title;
      }
    }
  }
}

TEST(FindingCatalogue, AdviceAndChecksAreShortSentences) {
  for (const FindingTexts& texts : AllTexts()) {
    for (const std::string_view text :
         {texts.action, texts.in_tensorflow, texts.in_pytorch, texts.check}) {
      if (text.empty()) continue;
      EXPECT_EQ(text.back(), '.') << texts.key;
      const std::vector<std::string> sentences = SentencesOf(text);
      EXPECT_LE(sentences.size(), kMaxSentences) << texts.key << ": " << text;
      for (const std::string& sentence : sentences) {
        EXPECT_LE(WordsOf(sentence).size(), kMaxSentenceWords) << texts.key << ": " << sentence;
      }
    }
  }
}

TEST(FindingCatalogue, TitlesWithLongValuesKeepTheEndOfThePlace) {
  const std::string name(200, 'n');
  const std::string place = "at " + std::string(100, 'p') + "/model.py:88";
  for (const FindingTexts& texts : AllTexts()) {
    Values values;
    std::string_view rest = texts.title;
    while (rest.find('{') != rest.npos) {
      rest.remove_prefix(rest.find('{') + 1);
      values[std::string(rest.substr(0, rest.find('}')))] = name;
    }
    const std::string title = FillTitle(texts.title, values, place);
    EXPECT_LE(DisplayWidth(title), kMaxTitleColumns) << texts.key << ": " << title;
    if (texts.title.find("{at}") != texts.title.npos) {
      EXPECT_THAT(title, testing::AnyOf(testing::EndsWith(".py:88"),
                                        testing::Not(testing::HasSubstr("pp"))));
    }
  }
  EXPECT_EQ(FillTitle("Sort less{at}", {}, "at model.py:88"), "Sort less at model.py:88");
  EXPECT_EQ(FillTitle("Sort less{at}", {}, ""), "Sort less");
  EXPECT_EQ(
      FillTitle("Alpha beta gamma delta epsilon zeta eta{at}", {}, "at a_very_long_name.py:88"),
      "Alpha beta gamma delta epsilon zeta eta at ..long_name.py:88");
  EXPECT_EQ(FillTitle("{name}", {{"name", std::string(70, 'n') + "\u2026"}}, ""),
            std::string(kMaxTitleColumns - 2, 'n') + "..");
}

TEST(FindingCatalogue, PlaceInTitleIsTheLineIfItIsKnown) {
  EXPECT_EQ(PlaceInTitle("/home/me/model.py:88", "h/0", "fusion.1"), "at model.py:88");
  EXPECT_EQ(PlaceInTitle("", "h/0", "fusion.1"), "in h/0");
  EXPECT_EQ(PlaceInTitle("", "", "fusion.1"), "in fusion.1");
  EXPECT_EQ(PlaceInTitle("", "", ""), "");
}

TEST(FindingCatalogue, ValuesWithBracesStayAsTheyAre) {
  EXPECT_EQ(Fill("Pass {a} once", {{"a", "{b}"}, {"b", "no"}}), "Pass {b} once");
  EXPECT_EQ(Fill("open {", {}), "open {");
}

TEST(FindingCatalogue, AFindingGetsTheAdviceOfItsFramework) {
  const auto action = [](Framework framework) {
    Report report(framework);
    Finding finding;
    finding.id = "sync_each_step";
    report.Add(finding);
    std::string text;
    report.ForEach([&](Finding& each) { text = each.action; });
    return text;
  };
  EXPECT_THAT(action(Framework::kJaxOrUnknown), testing::HasSubstr("block_until_ready"));
  EXPECT_THAT(action(Framework::kTensorFlow), testing::HasSubstr("Keras"));
  EXPECT_THAT(action(Framework::kPyTorch), testing::HasSubstr(".item()"));
}

// The table of docs/reference/findings.md is that of Kinds(). XLATRACE_UPDATE_GOLDEN=1 writes it.
TEST(FindingCatalogue, DocumentationHasTheTableOfKinds) {
  std::string table = "| id | question | condition | saves at most |\n|---|---|---|---|\n";
  for (const FindingKind& kind : Kinds()) {
    table += "| `" + std::string(kind.id) + "` | " + std::string(kind.question) + " | " +
             std::string(kind.condition) + " | " + std::string(kind.saves) + " |\n";
  }
  const std::string path = SourceFolder() + "/docs/reference/findings.md";
  std::stringstream stream;
  stream << std::ifstream(path).rdbuf();
  std::string page = stream.str();
  const size_t start = page.find("| id |");
  ASSERT_NE(start, std::string::npos);
  const size_t end = page.find("\n\n", start) + 1;
  if (const char* update = std::getenv("XLATRACE_UPDATE_GOLDEN"); update && *update == '1') {
    std::ofstream(path) << page.replace(start, end - start, table);
    return;
  }
  std::istringstream expected(table), actual(page.substr(start, end - start));
  for (std::string row, documented; std::getline(expected, row);) {
    std::getline(actual, documented);
    ASSERT_EQ(documented, row);
  }
  EXPECT_EQ(actual.peek(), EOF);
}

}  // namespace
}  // namespace xlatrace::analysis::findings
