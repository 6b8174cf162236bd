// SPDX-License-Identifier: Apache-2.0
#include "report/sentence.h"

namespace xlatrace::report {

SentenceBuilder& SentenceBuilder::Append(const Sentence& other) {
  for (const Piece& piece : other) Add(piece.text, piece.code);
  return *this;
}

SentenceBuilder& SentenceBuilder::Add(std::string_view text, bool code) {
  if (!sentence_.empty() && sentence_.back().code == code && !code) {
    sentence_.back().text += text;
  } else if (!text.empty()) {
    sentence_.push_back({std::string(text), code});
  }
  return *this;
}

Sentence Plain(std::string_view text) { return SentenceBuilder().Text(text).Take(); }

std::string PlainText(const Sentence& sentence) {
  std::string text;
  for (const Piece& piece : sentence) text += piece.text;
  return text;
}

}  // namespace xlatrace::report
