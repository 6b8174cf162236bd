// The lexical level of HLO text: blanks, comments, identifiers, strings, balanced values. The
// parser asks for what the grammar allows next, because many tokens of HLO text only make sense in
// their place ("b01f_01io->b01f", "0_1x1_2", "{mesh = #sdy.mesh<[...]>}").
//
// The first failure sticks: every later call fails too, so that parsers test results only where
// they branch. Source: xla/hlo/parser/hlo_lexer.cc.

#ifndef XLATRACE_HLO_TEXT_SCANNER_H_
#define XLATRACE_HLO_TEXT_SCANNER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace::hlo {

class TextScanner {
 public:
  explicit TextScanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // Skips blanks and comments, then tells the next character; '\0' at the end and after a failure.
  char Peek() {
    if (at_<end_&& * at_> ' ' && *at_ != '/') return *at_;  // Nearly always.
    SkipBlank();
    return at_ < end_ ? *at_ : '\0';
  }
  // The character at offset `ahead` of here, nothing skipped.
  char Look(size_t ahead = 0) const {
    return static_cast<size_t>(end_ - at_) > ahead ? at_[ahead] : '\0';
  }
  bool AtEnd() { return Peek() == '\0' && at_ == end_; }

  // Consume what comes next after blanks, if it is that.
  bool TryChar(char c) {
    if (Peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  bool TryWord(std::string_view word);  // A whole identifier; false leaves all as it was.
  bool TryText(std::string_view text);  // Exactly these characters, "->" say.

  // Like Try*, but a failure when it is something else.
  bool Expect(char c, std::string_view where);
  bool ExpectText(std::string_view text, std::string_view where);

  // [a-zA-Z_][a-zA-Z0-9_.-]*; empty (not a failure) when something else comes.
  std::string_view Identifier();
  // An identifier or %name, '%' not included; a failure when something else comes.
  std::string_view Name(std::string_view what);
  bool Int(int64_t* value, std::string_view what);

  // Inside of a "..." or '...' string, escapes as they are; a failure when unterminated.
  bool String(std::string_view* raw);
  // From an opening ( [ or { to its partner, both included; quoted strings are respected, other
  // kinds of brackets are not counted (a dictionary need not be balanced in them).
  bool Balanced(std::string_view* raw);
  // Any attribute value, up to the ',' or bracket that ends it.
  bool Value(std::string_view* raw);

  const char* position() const { return at_; }
  void set_position(const char* at) { at_ = at; }
  std::string_view Since(const char* from) const { return {from, static_cast<size_t>(at_ - from)}; }

  // Records "line:column: message" unless something failed before; always false.
  bool Fail(const char* where, std::string message);
  bool FailHere(std::string message) { return Fail(at_, std::move(message)); }
  bool failed() const { return failed_; }
  const char* failed_at() const { return failed_at_; }
  Error error() const;
  // The token at `where`, cut to a length that fits into a sentence.
  std::string TokenAt(const char* where) const;
  // "12:7".
  std::string Location(const char* where) const;

 private:
  void SkipBlank();

  const char* begin_;
  const char* at_;
  const char* end_;
  bool failed_ = false;
  const char* failed_at_ = nullptr;
  std::string message_;
};

// Character classes of the lexer.
bool IsIdentifierStart(char c);
bool IsIdentifierChar(char c);

// C escapes of a string's inside ("\n", "\"", "\x22", "\042") replaced.
std::string Unescape(std::string_view raw);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_SCANNER_H_
