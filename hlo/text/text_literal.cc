#include "hlo/text/text_literal.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "hlo/shape.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// What the numbers of an element type can be.
struct ElementType {
  enum Kind : uint8_t { kOther, kPred, kSigned, kUnsigned, kFloat, kComplex } kind = kOther;
  int32_t bits = 0;
  double max = std::numeric_limits<double>::infinity();  // Of floats.
  int32_t payload_bits = 0;                              // Of a NaN; 0: any.
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
  } else if (name == "f64" || name == "c128") {
    type.max = std::numeric_limits<double>::max();
    type.payload_bits = 52;
  } else if (name == "f32" || name == "c64") {
    type.max = std::numeric_limits<float>::max();
    type.payload_bits = 23;
  } else if (name == "f16") {
    type.max = 65504;
    type.payload_bits = 10;
  } else if (name == "bf16") {
    type.max = 3.3895313892515355e38;
    type.payload_bits = 7;
  }
  if (type.kind == ElementType::kOther) {
    type.kind = name[0] == 'c' ? ElementType::kComplex : ElementType::kFloat;
  }
  return type;
}

class LiteralScanner {
 public:
  LiteralScanner(TextScanner& scanner, const ArrayShape& shape)
      : scan_(scanner), dims_(shape.dims), type_(TypeOf(shape.type)) {}

  // One number that stands for all elements, or the array.
  bool Whole() {
    const char first = scan_.Peek();
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
    int64_t count = 0;
    while (scan_.TryChar(',')) {
    }
    while (!scan_.TryChar('}')) {
      if (!Array(dimension + 1)) return false;
      ++count;
      while (scan_.TryChar(',')) {
      }
    }
    if (count != dims_[dimension]) {
      return scan_.Fail(open, fmt::format("{} elements in dimension {} of a constant, {} expected",
                                          count, dimension, dims_[dimension]));
    }
    return true;
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
    const bool fits = type_.payload_bits == 0 || (payload >> type_.payload_bits) == 0;
    return fits || OutOfRange(start);
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
    // What rounds to the largest number is printed as more than it.
    return std::fabs(value) <= type_.max * (1 + 1e-9) || OutOfRange(start);
  }

  bool Integer(const char* start, const char* end, bool negative) {
    if (negative) {
      int64_t value = 0;
      const auto [stop, error] = std::from_chars(start, end, value);
      if (error == std::errc::result_out_of_range) return OutOfRange(start);
      if (error != std::errc() || stop != end) return Bad(start);
      if (type_.kind == ElementType::kPred) return true;
      if (type_.bits >= 64) return true;  // Of u64, upstream takes the bits.
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
};

// Forms whose numbers are not looked at: left out, sparse, text.
bool IsFree(std::string_view literal) {
  return literal.find("...") != std::string_view::npos ||
         literal.find(':') != std::string_view::npos || literal.substr(0, 1) == "\"";
}

// Upstream's cap on nesting is far more than any shape's.
constexpr int kMaxDepth = 64;

bool ScanOf(TextScanner& scanner, std::string_view shape, int depth) {
  if (depth > kMaxDepth) return scanner.FailHere("a constant nests too deep");
  if (IsTuple(shape)) {
    if (!scanner.Expect('(', "before a tuple constant")) return false;
    for (int64_t i = 0;; ++i) {
      const std::string_view element = TupleElement(shape, i);
      if (element.empty()) break;
      if (i > 0 && !scanner.Expect(',', "between the elements of a tuple constant")) return false;
      if (!ScanOf(scanner, element, depth + 1)) return false;
    }
    return scanner.Expect(')', "after a tuple constant");
  }
  const ArrayShape leaf = FirstLeaf(shape);
  if (BitsOf(leaf.type) == 0) {  // Tokens have no value.
    std::string_view ignored;
    return scanner.Peek() == ')' || scanner.Value(&ignored);
  }
  return LiteralScanner(scanner, leaf).Whole();
}

// 2018: the shape is repeated inside, of tuples too: "(f32[2], s32[]) ( {1, 2}, 1 )".
bool RepeatsShape(std::string_view literal) {
  const size_t letter = literal.find_first_not_of("( \t\r\n");
  if (letter == std::string_view::npos) return false;
  TextScanner rest(literal.substr(letter));
  return rest.Peek() != '(' && StartsShape(rest);
}

}  // namespace

bool ScanLiteral(TextScanner& scanner, std::string_view shape, std::string_view* inside) {
  scanner.Peek();
  const char* const start = scanner.position();
  std::string_view whole;
  if (!scanner.Balanced(&whole)) return false;
  const char* const end = scanner.position();
  *inside = Trim(whole.substr(1, whole.size() - 2));
  if (shape.empty() || IsFree(*inside)) return true;
  scanner.set_position(start + 1);
  if (RepeatsShape(*inside) && !ScanShape(scanner, &whole)) return false;
  if (!ScanOf(scanner, shape, 0)) return false;
  if (!scanner.Expect(')', "after a constant")) return false;
  scanner.set_position(end);
  return true;
}

}  // namespace xlatrace::hlo
