// SPDX-License-Identifier: Apache-2.0

// Text with marked names, such as names of instructions, so that each output can style them.
//
// Thread-safety: plain data; one thread per builder.

#ifndef XLATRACE_REPORT_SENTENCE_H_
#define XLATRACE_REPORT_SENTENCE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xlatrace::report {

struct Piece {
  std::string text;
  bool code = false;
};
using Sentence = std::vector<Piece>;

class SentenceBuilder {
 public:
  SentenceBuilder& Text(std::string_view text) { return Add(text, false); }
  SentenceBuilder& Code(std::string_view text) { return Add(text, true); }
  SentenceBuilder& Append(const Sentence& other);
  Sentence Take() { return std::move(sentence_); }

 private:
  SentenceBuilder& Add(std::string_view text, bool code);

  Sentence sentence_;
};

Sentence Plain(std::string_view text);

// Without the marks.
std::string PlainText(const Sentence& sentence);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SENTENCE_H_
