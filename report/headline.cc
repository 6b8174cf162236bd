// SPDX-License-Identifier: Apache-2.0
#include "report/headline.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace xlatrace::report {
namespace {

constexpr size_t kLongestHeadline = 89;  // Of a first line, with its full stop.

size_t Characters(const Sentence& sentence) {
  size_t count = 0;
  for (const Piece& piece : sentence) {
    count += static_cast<size_t>(std::count_if(piece.text.begin(), piece.text.end(),
                                               [](char c) { return (c & 0xC0) != 0x80; }));
  }
  return count;
}

}  // namespace

Headline HeadlineOf(const RunView& view, const Verdict& verdict) {
  if (verdict.reason.empty() || Characters(verdict.headline) > kLongestHeadline) {
    return {verdict.sentence, verdict.lede};
  }
  Headline lines = {verdict.headline, verdict.reason};
  if (view.findings.empty() && !verdict.lede.empty()) {
    lines.second.push_back({" "});
    lines.second.insert(lines.second.end(), verdict.lede.begin(), verdict.lede.end());
  }
  return lines;
}

}  // namespace xlatrace::report
