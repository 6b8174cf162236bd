// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_shape.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"

namespace xlatrace::hlo {
namespace {

// Upstream's cap on nesting is 8192; real shapes have a handful of levels and every consumer of a
// shape recurses too.
constexpr int kMaxShapeDepth = 64;

// A layout starts at '{' only when an integer, ':' or '}' follows; otherwise the brace belongs to a
// computation ("-> f32[] {").
bool StartsLayout(TextScanner& scanner) {
  if (scanner.Peek() != '{') return false;
  const char* const open = scanner.position();
  scanner.set_position(open + 1);
  const char next = scanner.Peek();
  if (!scanner.failed()) scanner.set_position(open);
  return IsDigit(next) || next == ':' || next == '}';
}

bool ScanDimensions(TextScanner& scanner, int* rank) {
  if (!scanner.Expect('[', "after an element type")) return false;
  if (scanner.TryChar(']')) return true;
  do {
    ++*rank;
    if (scanner.TryChar('?')) continue;  // Unbounded dynamic.
    scanner.TryText("<=");               // Bounded dynamic.
    int64_t size = 0;
    const char* const where = scanner.position();
    if (!scanner.Int(&size, "a dimension")) return false;
    if (size < 0) return scanner.Fail(where, fmt::format("a dimension of {}", size));
  } while (scanner.TryChar(','));
  return scanner.Expect(']', "after dimensions");
}

bool ScanShapeAt(TextScanner& scanner, int depth, bool of_literal = false);

// Items of a layout, in the order in which XLA prints and reads them. Items of newer XLA may have
// any place and contain numbers and words.
constexpr std::string_view kLayoutItems[] = {"D", "T", "L", "#", "*", "E", "S", "SC", "P", "M"};

bool ScanIntList(TextScanner& scanner, std::string_view what, char end) {
  if (scanner.TryChar(end)) return true;
  int64_t number = 0;
  do {
    if (!scanner.Int(&number, what)) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect(end, "in a layout");
}

// D(D,C+,S~,H): sparse, 2022 to 2025.
bool ScanDimLevelTypes(TextScanner& scanner) {
  if (scanner.TryChar(')')) return true;
  do {
    scanner.Peek();
    const char* const where = scanner.position();
    const std::string_view type = scanner.Identifier();
    if (type != "D" && type != "C" && type != "S" && type != "H") {
      return scanner.Fail(where, fmt::format("expected a dimension level type (D, C, S or H), "
                                             "found {}",
                                             scanner.TokenAt(where)));
    }
    scanner.TryChar('+');
    scanner.TryChar('~');
  } while (scanner.TryChar(','));
  return scanner.Expect(')', "after dimension level types");
}

// One pair of parentheses of an item.
bool ScanItemGroup(TextScanner& scanner, int depth, std::string_view item) {
  if (!scanner.Expect('(', "in a layout")) return false;
  int64_t number = 0;
  if (item == "D") return ScanDimLevelTypes(scanner);
  if (item == "P") {
    return ScanShapeAt(scanner, depth + 1) && scanner.Expect(')', "after a physical shape");
  }
  if (item == "S" || item == "E" || item == "L" || item == "M") {
    return scanner.Int(&number, "a number in a layout") && scanner.Expect(')', "in a layout");
  }
  if (item == "SC") {
    return scanner.Int(&number, "a dimension in a layout") &&
           scanner.Expect(':', "in a split of a layout") &&
           ScanIntList(scanner, "a place of a split", ')');
  }
  if (item == "#" || item == "*") {
    scanner.Peek();
    const char* const where = scanner.position();
    if (!IsElementType(scanner.Identifier())) {
      return scanner.Fail(where, fmt::format("expected a type, found {}", scanner.TokenAt(where)));
    }
    return scanner.Expect(')', "after a type in a layout");
  }
  if (item == "T") {
    if (scanner.TryChar(')')) return true;
    do {
      if (!scanner.TryChar('*') && !scanner.Int(&number, "a dimension of a tile")) return false;
    } while (scanner.TryChar(','));
    return scanner.Expect(')', "after a tile");
  }
  while (true) {
    const char c = scanner.Peek();
    const bool part = IsIdentifierChar(c) ||
                      (c != '\0' && std::string_view(",*:+~?<=").find(c) != std::string_view::npos);
    if (!part) return scanner.Expect(')', "in a layout");
    scanner.set_position(scanner.position() + 1);
  }
}

// From behind the ':' to the '}'.
bool ScanLayoutItems(TextScanner& scanner, int depth) {
  size_t next = 0;  // Index into kLayoutItems.
  while (scanner.Peek() != '}') {
    const char* const where = scanner.position();
    std::string_view item = scanner.Identifier();
    if (item.empty() && (scanner.TryChar('#') || scanner.TryChar('*'))) item = scanner.Since(where);
    if (item.empty()) {
      return scanner.FailHere(
          fmt::format("expected an item of a layout, found {}", scanner.TokenAt(where)));
    }
    const size_t place = static_cast<size_t>(
        std::find(std::begin(kLayoutItems), std::end(kLayoutItems), item) - kLayoutItems);
    if (place < std::size(kLayoutItems)) {
      if (place < next) {
        return scanner.Fail(where,
                            fmt::format("'{}' is duplicate or out of order in a layout", item));
      }
      next = place + 1;
    }
    const bool has_groups = item == "T" || item == "SC" || place == std::size(kLayoutItems);
    do {
      if (!ScanItemGroup(scanner, depth, item)) return false;
    } while (has_groups && scanner.Peek() == '(');
  }
  return true;
}

// {1,0:T(8,128)(2,1)S(1)}: minor-to-major list, then items. `rank`: rank of the array; -1 if the
// list has another meaning (sparse).
bool ScanLayout(TextScanner& scanner, int rank, int depth) {
  scanner.Peek();
  const char* const start = scanner.position();
  if (!scanner.Expect('{', "before a layout")) return false;
  if (scanner.Peek() != ':' && !(rank <= 0 && scanner.Peek() == '}')) {
    int listed = 0;
    uint64_t seen = 0;  // Which of the first 64 dimensions; no array has more.
    do {
      const char* const where = (scanner.Peek(), scanner.position());
      int64_t dimension = 0;
      if (!scanner.Int(&dimension, "a dimension of a layout")) return false;
      ++listed;
      // XLA checks this for elements of tuples only.
      if (depth == 0 || rank < 0) continue;
      const uint64_t bit = dimension >= 0 && dimension < 64 ? uint64_t{1} << dimension : 0;
      if (dimension < 0 || dimension >= rank || (seen & bit) != 0) {
        return scanner.Fail(where, fmt::format("a layout that lists dimension {} of {}{}",
                                               dimension, rank, (seen & bit) ? " twice" : ""));
      }
      seen |= bit;
    } while (scanner.TryChar(','));
    if (rank >= 0 && listed != rank) {
      return scanner.Fail(start,
                          fmt::format("a layout of {} dimensions for a shape of {}", listed, rank));
    }
  }
  if (scanner.TryChar(':') && !ScanLayoutItems(scanner, depth)) return false;
  return scanner.Expect('}', "after a layout");
}

// Called before a literal. Returns true if the first braces are a layout, so that the literal
// follows them.
bool StartsLayoutOfLiteral(TextScanner& scanner) {
  if (scanner.Peek() != '{') return false;
  const char* const open = scanner.position();
  std::string_view braces;
  const bool is_layout = scanner.Balanced(&braces) && (braces[1] == ':' || scanner.Peek() == '{');
  if (!scanner.failed()) scanner.set_position(open);
  return is_layout;
}

bool ScanArrayRest(TextScanner& scanner, int depth, bool of_literal) {
  int rank = 0;
  if (!ScanDimensions(scanner, &rank)) return false;
  const char* const end = scanner.position();
  if (scanner.TryWord("sparse")) {
    rank = -1;
    if (scanner.Peek() != '{') return scanner.FailHere("expected a layout");
  } else if (scanner.TryWord("dense")) {
    if (scanner.Peek() != '{') return scanner.FailHere("expected a layout");
  } else if (of_literal ? !StartsLayoutOfLiteral(scanner) : !StartsLayout(scanner)) {
    // The shape ends here, not behind the blanks that were looked over.
    if (!scanner.failed()) scanner.set_position(end);
    return !scanner.failed();
  }
  return ScanLayout(scanner, rank, depth);
}

bool ScanShapeAt(TextScanner& scanner, int depth, bool of_literal) {
  if (depth > kMaxShapeDepth) return scanner.FailHere("shape nests too deep");
  if (scanner.TryChar('(')) {
    if (scanner.TryChar(')')) return true;
    do {
      if (!ScanShapeAt(scanner, depth + 1)) return false;
    } while (scanner.TryChar(','));
    return scanner.Expect(')', "after the elements of a tuple shape");
  }
  scanner.Peek();
  const char* const start = scanner.position();
  const std::string_view type = scanner.Identifier();
  if (type == "b" && scanner.Look() == '(') {  // Buffer: in-place and asynchronous operands.
    scanner.TryChar('(');
    return ScanShapeAt(scanner, depth + 1) && scanner.Expect(')', "after a buffer shape");
  }
  if (!IsElementType(type)) {
    if (scanner.failed()) return false;
    return scanner.Fail(start, fmt::format("expected a shape, found {}", scanner.TokenAt(start)));
  }
  return ScanArrayRest(scanner, depth, of_literal);
}

}  // namespace

bool IsElementType(std::string_view word) {
  if (word == "pred" || word == "token" || word == "opaque") return true;
  if (word == "tuple" || word.size() < 2) return false;
  // Number formats: one or two letters, digits, and for small floats the rest of their name. New
  // ones are invented every year and read alike.
  size_t at = word.substr(0, 2) == "bf" ? 2 : 1;
  const char first = word[0];
  if (at == 1 && first != 'f' && first != 's' && first != 'u' && first != 'c') return false;
  if (at >= word.size() || !IsDigit(word[at])) return false;
  int bits = 0;
  while (at < word.size() && IsDigit(word[at]) && bits < 1000) bits = bits * 10 + word[at++] - '0';
  if (at == word.size()) {
    const bool power_of_two = bits > 0 && (bits & (bits - 1)) == 0 && bits <= 128;
    const int least = first == 's' || first == 'u' ? 1 : first == 'c' ? 64 : 16;
    return power_of_two && bits >= least;
  }
  if (word[at] != 'e' || first != 'f' || bits > 16) return false;
  for (; at < word.size(); ++at) {
    if (!IsDigit(word[at]) && !(word[at] >= 'a' && word[at] <= 'z')) return false;
  }
  return true;
}

bool StartsShape(TextScanner& scanner) {
  const char c = scanner.Peek();
  if (c == '(') return true;
  const char* const start = scanner.position();
  const std::string_view word = scanner.Identifier();
  const bool is_buffer = scanner.Look() == '(' && word == "b";
  const bool is_array = !word.empty() && scanner.Peek() == '[' && IsElementType(word);
  if (!scanner.failed()) scanner.set_position(start);
  return is_array || is_buffer;
}

bool ScanShape(TextScanner& scanner, std::string_view* raw) {
  scanner.Peek();
  const char* const start = scanner.position();
  if (!ScanShapeAt(scanner, 0)) return false;
  *raw = scanner.Since(start);
  return true;
}

bool ScanShapeOfLiteral(TextScanner& scanner, std::string_view* raw) {
  scanner.Peek();
  const char* const start = scanner.position();
  if (!ScanShapeAt(scanner, 0, /*of_literal=*/true)) return false;
  *raw = scanner.Since(start);
  return true;
}

size_t ShapeExtent(std::string_view text) {
  size_t at = 0;
  // Skips to the partner of the bracket at `at`; shapes contain no quotes.
  const auto skip_bracket = [&](char open, char close) {
    int depth = 0;
    for (; at < text.size(); ++at) {
      if (text[at] == open) ++depth;
      if (text[at] == close && --depth == 0) {
        ++at;
        return true;
      }
    }
    return false;
  };
  if (text.substr(0, 1) == "(") return skip_bracket('(', ')') ? at : 0;
  while (at < text.size() && IsIdentifierChar(text[at])) ++at;
  if (at >= text.size() || text[at] != '[' || !skip_bracket('[', ']')) return 0;
  // "sparse{10}" and "dense{1,0}" of 2018 belong to the shape.
  if (at < text.size() && IsIdentifierStart(text[at])) return 0;
  if (at + 1 >= text.size() || text[at] != '{') return at;
  const char next = text[at + 1];
  if (IsDigit(next) || next == ':' || next == '}') return skip_bracket('{', '}') ? at : 0;
  return next == ' ' || next == '\n' ? 0 : at;
}

bool IsCanonicalShape(std::string_view raw) {
  int braces = 0;
  for (size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (c == '{') {
      // A scalar has no layout unless it has items; text of 2018 prints "{}".
      if (i > 0 && raw[i - 1] != ']') return false;
      if (i + 1 < raw.size() && raw[i + 1] == '}') return false;
      ++braces;
    } else if (c == '}') {
      --braces;
    } else if (c == ',' && braces == 0) {
      // Between dimensions no blank, between elements of a tuple one.
      if (i == 0) return false;
      const char before = raw[i - 1];
      const bool in_dimensions = IsDigit(before) || before == '?';
      const bool blank = i + 1 < raw.size() && raw[i + 1] == ' ';
      if (in_dimensions == blank) return false;
      if (blank) {
        ++i;
        if (i + 1 < raw.size() && (raw[i + 1] == ' ' || raw[i + 1] == '/')) return false;
      }
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '/') {
      return false;
    }
  }
  return true;
}

std::string CanonicalShape(std::string_view raw) {
  std::string out;
  int nested = 0;  // Depth of [ and {, where commas have no blank.
  for (size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    if (c == '/' && raw.substr(i, 2) == "/*") {
      const size_t close = raw.find("*/", i + 2);
      if (close == std::string_view::npos) break;
      i = close + 1;
      continue;
    }
    if (c == '/' && raw.substr(i, 2) == "//") {
      const size_t newline = raw.find('\n', i);
      if (newline == std::string_view::npos) break;
      i = newline;
      continue;
    }
    const std::string_view rest = raw.substr(i);
    if (!out.empty() && out.back() == ']') {
      if (rest.substr(0, 5) == "dense") {
        i += 4;
        continue;
      }
      if (rest.substr(0, 6) == "sparse") {
        const size_t close = raw.find('}', i);
        if (close == std::string_view::npos) break;
        i = close;
        continue;
      }
    }
    if (c == '}' && !out.empty() && out.back() == '{') {  // A layout without content.
      out.pop_back();
      --nested;
      continue;
    }
    if (c == '[' || c == '{') ++nested;
    if (c == ']' || c == '}') --nested;
    out += c;
    if (c == ',' && nested == 0) out += ' ';
  }
  return out;
}

}  // namespace xlatrace::hlo
