// SPDX-License-Identifier: Apache-2.0

// The lexical level of HLO text: blanks, comments, identifiers, strings, balanced values. The
// parser requests the tokens that the grammar allows next, because the meaning of many tokens
// depends on their place ("b01f_01io->b01f", "0_1x1_2", "{mesh = #sdy.mesh<[...]>}").
//
// After the first failure every later call fails too, so parsers need to check results only at
// branches. Source: xla/hlo/parser/hlo_lexer.cc.

#ifndef XLATRACE_HLO_TEXT_TEXT_SCANNER_H_
#define XLATRACE_HLO_TEXT_TEXT_SCANNER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace::hlo {

// Character classes of the lexer.
namespace text_class {
enum : uint8_t { kStart = 1, kPart = 2, kBlank = 4, kEndsAtom = 8 };
constexpr std::array<uint8_t, 256> Make() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kStart | kPart;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kStart | kPart;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kPart;
  classes['_'] = kStart | kPart;
  classes['.'] = classes['-'] = kPart;
  for (const unsigned char c : {' ', '\t', '\n', '\r'}) classes[c] = kBlank | kEndsAtom;
  for (const unsigned char c : {',', '(', ')', '[', ']', '{', '}', '"', '\0'}) {
    classes[c] |= kEndsAtom;
  }
  return classes;
}
inline constexpr std::array<uint8_t, 256> kTable = Make();
inline bool Is(char c, uint8_t mask) { return (kTable[static_cast<unsigned char>(c)] & mask) != 0; }
}  // namespace text_class

// [a-zA-Z_], and the further characters of an identifier.
inline bool IsIdentifierStart(char c) { return text_class::Is(c, text_class::kStart); }
inline bool IsIdentifierChar(char c) { return text_class::Is(c, text_class::kPart); }

inline bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class TextScanner {
 public:
  explicit TextScanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // Skips blanks and comments. Returns the next character; '\0' at the end and after a failure.
  char Peek() {
    if (end_ - at_ > 1) {
      if (*at_ == ' ') ++at_;  // Nearly always there is one blank or none.
      if (*at_ > ' ' && *at_ != '/') return *at_;
    }
    SkipBlank();
    return at_ < end_ ? *at_ : '\0';
  }
  // The character at offset `ahead` of here, nothing skipped.
  char Look(size_t ahead = 0) const {
    return static_cast<size_t>(end_ - at_) > ahead ? at_[ahead] : '\0';
  }
  bool AtEnd() { return Peek() == '\0' && at_ == end_; }

  // Consumes the next text after blanks if it equals the argument.
  bool TryChar(char c) {
    if (Peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  // A whole identifier; after false, nothing was consumed.
  bool TryWord(std::string_view word) { return Peek() == word.front() && TryLongWord(word); }
  bool TryText(std::string_view text);  // Exactly these characters, for example "->".

  // Like Try*, but other text is a failure.
  bool Expect(char c, std::string_view where) { return TryChar(c) || ExpectedChar(c, where); }
  bool ExpectText(std::string_view text, std::string_view where);

  // [a-zA-Z_][a-zA-Z0-9_.-]*; empty (not a failure) for other text.
  std::string_view Identifier() {
    if (!IsIdentifierStart(Peek())) return {};
    const char* const start = at_;
    while (at_ < end_ && IsIdentifierChar(*at_)) ++at_;
    return Since(start);
  }
  // An identifier or %name, without '%'; other text is a failure.
  std::string_view Name(std::string_view what);
  bool Int(int64_t* value, std::string_view what) {
    // Nearly always a few digits.
    const char* at = at_;
    int64_t number = 0;
    while (at < end_ && at - at_ < 18 && *at >= '0' && *at <= '9')
      number = number * 10 + *at++ - '0';
    if (at == at_ || (at < end_ && *at >= '0' && *at <= '9')) return LongInt(value, what);
    *value = number;
    at_ = at;
    return true;
  }

  // Content of a "..." or '...' string, with its escapes; an unterminated string is a failure.
  bool String(std::string_view* raw);
  // From an opening ( [ or { to its partner, both included. Quoted strings are respected. Other
  // kinds of brackets are not counted, because a dictionary need not be balanced in them.
  bool Balanced(std::string_view* raw);
  // Any attribute value, up to the ',' or bracket that ends it.
  bool Value(std::string_view* raw);

  const char* position() const { return at_; }
  std::string_view Rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }
  void set_position(const char* at) { at_ = at; }
  std::string_view Since(const char* from) const { return {from, static_cast<size_t>(at_ - from)}; }

  // Records "line:column: message", unless an earlier call failed. Always returns false.
  bool Fail(const char* where, std::string message);
  bool FailHere(std::string message) { return Fail(at_, std::move(message)); }
  bool failed() const { return failed_; }
  const char* failed_at() const { return failed_at_; }
  Error error() const;
  // The token at `where`, truncated to fit into a sentence.
  std::string TokenAt(const char* where) const;
  // "12:7".
  std::string Location(const char* where) const;

 private:
  void SkipBlank();
  bool TryLongWord(std::string_view word);
  bool ExpectedChar(char c, std::string_view where);  // Fails.
  bool LongInt(int64_t* value, std::string_view what);

  const char* begin_;
  const char* at_;
  const char* end_;
  bool failed_ = false;
  const char* failed_at_ = nullptr;
  std::string message_;
};

// C escapes of a string's inside ("\n", "\"", "\x22", "\042") replaced.
std::string Unescape(std::string_view raw);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_SCANNER_H_
