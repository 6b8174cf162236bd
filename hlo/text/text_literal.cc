// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_literal.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "hlo/shape.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Range of the numbers of an element type. XLA rounds before it checks whether a number is finite.
// So a largest number may be printed as a slightly larger one
// ("-3.40282347e+38").
struct ElementType {
  enum Kind : uint8_t { kOther, kPred, kSigned, kUnsigned, kFloat, kComplex } kind = kOther;
  int32_t bits = 0;
  // Floats: smaller numbers round to a finite one. Half a last digit above the largest number.
  double limit = std::numeric_limits<double>::infinity();
  bool takes_limit = false;  // A tie rounds down if the largest number is even.
  bool positive = false;     // An exponent alone: neither zero nor sign.
  int32_t payload_bits = 0;  // For a NaN.
};

struct FloatFormat {
  std::string_view name;
  double limit;
  int32_t payload_bits;
};
// f4e2m1fn, f6e2m3fn and f6e3m2fn have neither inf nor NaN: all rounds to a finite number.
constexpr FloatFormat kFloatFormats[] = {
    {"f32", 0x1.ffffffp127, 23}, {"c64", 0x1.ffffffp127, 23}, {"f16", 65520, 10},
    {"bf16", 0x1.ffp127, 7},     {"f8e5m2", 61440, 2},        {"f8e5m2fnuz", 61440, 0},
    {"f8e4m3", 248, 3},          {"f8e4m3fn", 464, 0},        {"f8e4m3fnuz", 248, 0},
    {"f8e4m3b11fnuz", 31, 0},    {"f8e3m4", 15.75, 4},        {"f8e8m0fnu", 0x1.8p127, 0},
};

ElementType TypeOf(std::string_view name) {
  ElementType type;
  type.bits = BitsOf(name);
  if (name == "pred") {
    type.kind = ElementType::kPred;
  } else if (name[0] == 's') {
    type.kind = ElementType::kSigned;
  } else if (name[0] == 'u') {
    type.kind = ElementType::kUnsigned;
  } else {
    type.kind = name[0] == 'c' ? ElementType::kComplex : ElementType::kFloat;
    if (name == "f64" || name == "c128") type.payload_bits = 52;
    for (const FloatFormat& format : kFloatFormats) {
      if (name != format.name) continue;
      type.limit = format.limit;
      type.payload_bits = format.payload_bits;
    }
    type.takes_limit = name == "f8e4m3fn";
    type.positive = name == "f8e8m0fnu";
  }
  return type;
}

class LiteralScanner {
 public:
  LiteralScanner(TextScanner& scanner, const ArrayShape& shape, bool counted)
      : scan_(scanner), dims_(shape.dims), type_(TypeOf(shape.type)), counted_(counted) {}

  // One number for all elements, the array, or the mark of elided elements.
  bool Whole() {
    const char first = scan_.Peek();
    if (first == '{' && dims_.empty()) {
      const char* const open = scan_.position();
      return scan_.TryChar('{') && scan_.TryText("...") ? scan_.Expect('}', "after '...'")
                                                        : Bad(open);
    }
    return first != '{' && !dims_.empty() ? Element() : Array(0);
  }

 private:
  // One array, down to its numbers. Commas separate for the eye only.
  bool Array(size_t dimension) {
    if (dimension == dims_.size()) return Element();
    if (scan_.Peek() != '{') {
      return scan_.FailHere(fmt::format("expected '{{' for dimension {} of a constant, found {}",
                                        dimension, scan_.TokenAt(scan_.position())));
    }
    const char* const open = scan_.position();
    scan_.TryChar('{');
    if (dimension == 0 && StartsSparse()) return Sparse();
    int64_t count = 0;
    while (scan_.TryChar(',')) {
    }
    while (!scan_.TryChar('}')) {
      if (dimension == 0 && scan_.Peek() == '.' && scan_.TryText("...")) {
        count = dims_.front();  // The rest of a large constant is not printed.
      } else {
        if (!Array(dimension + 1)) return false;
        ++count;
      }
      while (scan_.TryChar(',')) {
      }
    }
    if (counted_ && count != dims_[dimension]) {
      return scan_.Fail(open, fmt::format("{} elements in dimension {} of a constant, {} expected",
                                          count, dimension, dims_[dimension]));
    }
    return true;
  }

  // 2018 and 2019: "[0, 1]: 5" or, with one dimension, "3: 5".
  bool StartsSparse() {
    const char* const start = scan_.position();
    bool sparse = scan_.Peek() == '[';
    if (!sparse && dims_.size() == 1) {
      while (IsDigit(scan_.Look())) scan_.set_position(scan_.position() + 1);
      sparse = scan_.position() > start && scan_.Peek() == ':';
    }
    if (!scan_.failed()) scan_.set_position(start);
    return sparse;
  }
  bool Sparse() {
    do {
      int64_t index = 0;
      if (scan_.TryChar('[')) {
        do {
          if (!scan_.Int(&index, "an index of a sparse constant")) return false;
        } while (scan_.TryChar(','));
        if (!scan_.Expect(']', "after the indices of a sparse constant")) return false;
      } else if (!scan_.Int(&index, "an index of a sparse constant")) {
        return false;
      }
      if (!scan_.Expect(':', "in a sparse constant") || !Element()) return false;
    } while (scan_.TryChar(','));
    return scan_.Expect('}', "after a sparse constant");
  }

  bool Element() {
    if (type_.kind != ElementType::kComplex) return Number();
    return scan_.Expect('(', "before a complex number") && Number() &&
           scan_.Expect(',', "in a complex number") && Number() &&
           scan_.Expect(')', "after a complex number");
  }

  bool Number() {
    scan_.Peek();
    const char* const start = scan_.position();
    if (scan_.TryWord("true") || scan_.TryWord("false"))
      return type_.kind == ElementType::kPred || Bad(start);
    const bool negative = scan_.Look() == '-';
    size_t size = negative ? 1 : 0;
    const bool is_float = type_.kind == ElementType::kFloat || type_.kind == ElementType::kComplex;
    if (const char c = scan_.Look(size); c == 'n' || c == 'i') {
      scan_.set_position(start + size);
      if (!is_float) return Bad(start);
      if (scan_.TryWord("inf")) return true;
      return scan_.TryWord("nan") ? Payload(start) : Bad(start);
    }
    while (IsNumberPart(size)) ++size;
    const char* const end = start + size;
    scan_.set_position(end);
    // A word that begins with digits is not a number.
    if (end == start || IsIdentifierChar(scan_.Look())) return Bad(start);
    return is_float ? Float(start, end) : Integer(start, end, negative);
  }

  bool IsNumberPart(size_t at) const {
    const char c = scan_.Look(at);
    if (IsDigit(c) || c == '.' || c == 'e' || c == 'E') return true;
    if ((c != '-' && c != '+') || at == 0) return false;
    const char before = scan_.Look(at - 1);
    return before == 'e' || before == 'E';
  }

  // nan(0x7f)
  bool Payload(const char* start) {
    if (scan_.Look() != '(') return true;
    std::string_view text;
    if (!scan_.Balanced(&text)) return false;
    text = text.substr(1, text.size() - 2);
    uint64_t payload = 0;
    const bool hex = text.substr(0, 2) == "0x";
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + (hex ? 2 : 0), end, payload, 16);
    if (!hex || error != std::errc() || stop != end) return Bad(start);
    return (payload >> type_.payload_bits) == 0 || OutOfRange(start);
  }

  bool Float(const char* start, const char* end) {
    double value = 0;
    const auto [stop, error] = std::from_chars(start, end, value);
    if (error == std::errc::result_out_of_range) {
      // Too small is zero; too large is an error.
      return std::string_view(start, static_cast<size_t>(end - start)).find("e-") !=
                 std::string_view::npos ||
             OutOfRange(start);
    }
    if (error != std::errc() || stop != end) return Bad(start);
    const double size = std::fabs(value);
    if (type_.positive && value <= 0) return OutOfRange(start);
    return size < type_.limit || (type_.takes_limit && size == type_.limit) || OutOfRange(start);
  }

  bool Integer(const char* start, const char* end, bool negative) {
    if (negative) {
      int64_t value = 0;
      const auto [stop, error] = std::from_chars(start, end, value);
      if (error == std::errc::result_out_of_range) return OutOfRange(start);
      if (error != std::errc() || stop != end) return Bad(start);
      if (type_.kind == ElementType::kPred) return true;
      if (type_.bits >= 64) return true;  // For u64, upstream takes the bits.
      if (type_.kind == ElementType::kUnsigned) return value == 0 || OutOfRange(start);
      return value >= -(int64_t{1} << (type_.bits - 1)) || OutOfRange(start);
    }
    uint64_t value = 0;
    const auto [stop, error] = std::from_chars(start, end, value);
    if (error == std::errc::result_out_of_range) return OutOfRange(start);
    if (error != std::errc() || stop != end) return Bad(start);
    if (type_.kind == ElementType::kPred || type_.bits >= 64 || type_.bits == 0) return true;
    const int bits = type_.kind == ElementType::kSigned ? type_.bits - 1 : type_.bits;
    return (value >> bits) == 0 || OutOfRange(start);
  }

  bool Bad(const char* start) {
    return scan_.Fail(
        start, fmt::format("expected a number of a constant, found {}", scan_.TokenAt(start)));
  }
  bool OutOfRange(const char* start) {
    return scan_.Fail(start, fmt::format("{} is out of range for the constant's element type",
                                         scan_.TokenAt(start)));
  }

  TextScanner& scan_;
  const std::vector<int64_t>& dims_;
  const ElementType type_;
  const bool counted_;
};

// Upstream's cap on nesting is far more than any shape's.
constexpr int kMaxLiteralDepth = 64;

// At '(': is that a tuple shape, with the tuple behind it? Looks only.
bool IsShapeOfTuple(TextScanner& scanner) {
  const char* const start = scanner.position();
  std::string_view whole;
  const bool is_shape = scanner.Balanced(&whole) && scanner.Peek() == '(';
  if (!scanner.failed()) scanner.set_position(start);
  return is_shape;
}

// 2018: the shape is repeated inside, of tuples and of their elements too:
// "(f32[2], s32[]) ( f32[2] {1, 2}, 1 )".
bool SkipShape(TextScanner& scanner, bool of_tuple) {
  std::string_view ignored;
  const char c = scanner.Peek();
  if (c == '(') return !of_tuple || !IsShapeOfTuple(scanner) || ScanShape(scanner, &ignored);
  return !IsIdentifierStart(c) || !StartsShape(scanner) || ScanShapeOfLiteral(scanner, &ignored);
}

bool ScanOf(TextScanner& scanner, std::string_view shape, bool counted, int depth) {
  if (depth > kMaxLiteralDepth) return scanner.FailHere("a constant nests too deep");
  const bool is_tuple = IsTuple(shape);
  if (!SkipShape(scanner, is_tuple)) return false;
  if (is_tuple) {
    if (!scanner.Expect('(', "before a tuple constant")) return false;
    const bool left_out = scanner.TryText("{...}");
    for (int64_t i = 0; !left_out; ++i) {
      const std::string_view element = TupleElement(shape, i);
      if (element.empty()) break;
      if (i > 0 && !scanner.Expect(',', "between the elements of a tuple constant")) return false;
      if (!ScanOf(scanner, element, counted, depth + 1)) return false;
    }
    return scanner.Expect(')', "after a tuple constant");
  }
  const ArrayShape leaf = FirstLeaf(shape);
  if (BitsOf(leaf.type) == 0) {  // Tokens have no value.
    std::string_view ignored;
    const char next = scanner.Peek();
    return next == ')' || next == ',' || scanner.Value(&ignored);
  }
  return LiteralScanner(scanner, leaf, counted).Whole();
}

bool ScanTyped(TextScanner& scanner, int depth) {
  if (depth > kMaxLiteralDepth) return scanner.FailHere("a literal nests too deep");
  if (scanner.Peek() == '(' && !IsShapeOfTuple(scanner)) {
    if (!scanner.Expect('(', "before a tuple literal")) return false;
    if (scanner.TryChar(')')) return true;
    do {
      if (!ScanTyped(scanner, depth + 1)) return false;
    } while (scanner.TryChar(','));
    return scanner.Expect(')', "after a tuple literal");
  }
  std::string_view shape;
  const bool is_tuple = scanner.Peek() == '(';
  if (is_tuple ? !ScanShape(scanner, &shape) : !ScanShapeOfLiteral(scanner, &shape)) return false;
  return ScanOf(scanner, IsCanonicalShape(shape) ? std::string(shape) : CanonicalShape(shape),
                /*counted=*/false, depth);
}

}  // namespace

bool ScanTypedLiteral(TextScanner& scanner) { return ScanTyped(scanner, 0); }

bool ScanLiteral(TextScanner& scanner, std::string_view shape, std::string_view* inside) {
  scanner.Peek();
  const char* const start = scanner.position();
  std::string_view whole;
  if (!scanner.Balanced(&whole)) return false;
  const char* const end = scanner.position();
  *inside = Trim(whole.substr(1, whole.size() - 2));
  // Text of bytes, and elements that are left out without braces.
  if (shape.empty() || inside->starts_with('"') || *inside == "...") return true;
  scanner.set_position(start + 1);
  const bool counted = inside->find("...") == std::string_view::npos;
  if (!ScanOf(scanner, shape, counted, 0)) return false;
  if (!scanner.Expect(')', "after a constant")) return false;
  scanner.set_position(end);
  return true;
}

}  // namespace xlatrace::hlo
