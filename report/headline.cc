#include "report/headline.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace xlatrace::report {
namespace {

size_t Characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Where a headline of 20 to 88 characters can end: piece and byte. The first mark of these, or the
// last; none in code.
std::optional<std::pair<size_t, size_t>> CutOf(const Sentence& sentence,
                                               std::initializer_list<std::string_view> marks,
                                               bool last) {
  std::optional<std::pair<size_t, size_t>> found;
  size_t before = 0;
  for (size_t i = 0; i < sentence.size(); ++i) {
    const std::string_view text = sentence[i].text;
    for (size_t at = 0; at < text.size() && !sentence[i].code; ++at) {
      const bool is_mark = std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) {
        return text.substr(at, mark.size()) == mark;
      });
      const size_t length = before + Characters(text.substr(0, at));
      if (!is_mark || length < 20 || length > 88) continue;
      if (!last) return std::pair(i, at);
      found = std::pair(i, at);
    }
    before += Characters(text);
  }
  return found;
}

}  // namespace

Headline SplitSentence(const Sentence& sentence) {
  size_t whole = 0;
  for (const Piece& piece : sentence) whole += Characters(piece.text);
  auto cut = CutOf(sentence, {": ", ". "}, false);
  if (!cut && whole > 92) cut = CutOf(sentence, {", "}, true);
  if (!cut) return {sentence, {}};
  const auto [i, at] = *cut;
  const std::string& text = sentence[i].text;
  Sentence first(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(i));
  first.push_back({text.substr(0, at) + "."});
  Sentence second;
  if (at + 2 < text.size()) second.push_back({text.substr(at + 2)});
  second.insert(second.end(), sentence.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                sentence.end());
  // It is a sentence of its own; code and names such as input_scatter_fusion stay as they are.
  if (!second.empty() && !second[0].code) {
    std::string& words = second[0].text;
    const size_t end = words.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
    if (end > 0 && !words.empty() &&
        (end == words.npos || words.find_first_of(" ,;", end) == end)) {
      words[0] = static_cast<char>(words[0] - 'a' + 'A');
    }
  }
  return {std::move(first), std::move(second)};
}

Headline HeadlineOf(const RunView& view, const Verdict& verdict) {
  Headline lines = SplitSentence(verdict.sentence);
  if (lines.second.empty()) {
    lines.second = verdict.lede;
  } else if (view.findings.empty() && !verdict.lede.empty()) {
    lines.second.push_back({" "});
    lines.second.insert(lines.second.end(), verdict.lede.begin(), verdict.lede.end());
  }
  return lines;
}

}  // namespace xlatrace::report
