// SPDX-License-Identifier: Apache-2.0
#include "hlo/shape.h"

#include <charconv>
#include <limits>

#include "base/text.h"

namespace xlatrace::hlo {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// a * b for a, b >= 0.
int64_t Multiply(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? kMax : out;
}

int64_t Add(int64_t a, int64_t b) { return a > kMax - b ? kMax : a + b; }

int64_t BytesOf(int64_t elements, int32_t bits) {
  if (bits % 8 == 0) return Multiply(elements, bits / 8);
  const int64_t total = Multiply(elements, bits);
  return total == kMax ? kMax : (total + 7) / 8;
}

// Reads the leaves of a printed shape one by one.
class LeafScanner {
 public:
  explicit LeafScanner(std::string_view shape) : text_(shape) {}

  // `dim` is called with each dimension, `order` with each number of the minor-to-major list.
  template <typename Dim, typename Order>
  bool Next(ArrayShape& leaf, Dim dim, Order order) {
    // Everything between leaves is punctuation; a leaf begins with a letter.
    while (at_ < text_.size() && !IsLetter(text_[at_])) ++at_;
    const size_t start = at_;
    while (at_ < text_.size() && (IsLetter(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    if (at_ < text_.size() && text_[at_] == '(') return Next(leaf, dim, order);  // Buffer "b(".
    if (at_ >= text_.size() || text_[at_] != '[') return false;
    leaf.type = text_.substr(start, at_ - start);
    leaf.element_bits = BitsOf(leaf.type);
    for (++at_; at_ < text_.size() && text_[at_] != ']'; ++at_) {
      if (text_[at_] == '?') {
        dim(1);
      } else if (IsDigit(text_[at_])) {
        dim(Number());
      }
    }
    ++at_;
    if (at_ < text_.size() && text_[at_] == '{') ReadLayout(leaf, order);
    return true;
  }

 private:
  static bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  // At a digit; leaves at_ on the last one.
  int64_t Number() {
    int64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc()) value = kMax;
    at_ = static_cast<size_t>(stop - text_.data()) - 1;
    return value;
  }

  template <typename Order>
  void ReadLayout(ArrayShape& leaf, Order order) {
    int depth = 0;
    bool items = false;  // Behind the ':'.
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '{' || c == '(') ++depth;
      if ((c == '}' || c == ')') && --depth == 0) {
        ++at_;
        return;
      }
      if (c == ':' && depth == 1) items = true;
      if (!items && IsDigit(c)) order(Number());
      if (!items || depth != 1 || text_.substr(at_ + 1, 1) != "(") continue;
      if ((c == 'S' || c == 'E') && at_ + 2 < text_.size() && IsDigit(text_[at_ + 2])) {
        at_ += 2;
        ++depth;  // For the '(' that was skipped.
        const int64_t value = Number();
        if (c == 'S') leaf.memory_space = value;
        if (c == 'E' && value > 0 && value <= 1024) leaf.element_bits = static_cast<int32_t>(value);
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

int64_t ArrayShape::elements() const {
  int64_t product = 1;
  for (const int64_t dim : dims) product = Multiply(product, dim);
  return product;
}

int64_t ArrayShape::bytes() const { return BytesOf(elements(), element_bits); }

std::vector<ArrayShape> Leaves(std::string_view shape) {
  std::vector<ArrayShape> leaves;
  LeafScanner scanner(shape);
  while (true) {
    ArrayShape leaf;
    if (!scanner.Next(
            leaf, [&](int64_t dim) { leaf.dims.push_back(dim); },
            [&](int64_t dim) { leaf.minor_to_major.push_back(dim); })) {
      return leaves;
    }
    leaves.push_back(std::move(leaf));
  }
}

ArrayShape FirstLeaf(std::string_view shape) {
  ArrayShape leaf;
  LeafScanner(shape).Next(
      leaf, [&](int64_t dim) { leaf.dims.push_back(dim); },
      [&](int64_t dim) { leaf.minor_to_major.push_back(dim); });
  return leaf;
}

bool IsTuple(std::string_view shape) { return !shape.empty() && shape.front() == '('; }

int64_t ElementCount(std::string_view shape) {
  int64_t sum = 0;
  LeafScanner scanner(shape);
  ArrayShape leaf;
  int64_t product = 1;
  while (scanner.Next(
      leaf, [&](int64_t dim) { product = Multiply(product, dim); }, [](int64_t) {})) {
    sum = Add(sum, product);
    product = 1;
  }
  return sum;
}

int64_t ByteSize(std::string_view shape) {
  int64_t sum = 0;
  LeafScanner scanner(shape);
  ArrayShape leaf;
  int64_t product = 1;
  while (scanner.Next(
      leaf, [&](int64_t dim) { product = Multiply(product, dim); }, [](int64_t) {})) {
    sum = Add(sum, BytesOf(product, leaf.element_bits));
    product = 1;
  }
  return sum;
}

int32_t BitsOf(std::string_view type) {
  if (type == "pred") return 8;
  if (type == "token" || type == "opaque") return 0;
  if (type.substr(0, 2) == "bf") type.remove_prefix(1);
  int32_t bits = 0;
  size_t at = 1;
  for (; at < type.size() && IsDigit(type[at]) && bits < 1000; ++at) {
    bits = bits * 10 + (type[at] - '0');
  }
  return bits;
}

std::string_view TupleElement(std::string_view shape, int64_t index) {
  if (!IsTuple(shape) || index < 0) return {};
  int depth = 0;
  int64_t element = 0;
  size_t start = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const char c = shape[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool ends = depth == 0 || (depth == 1 && c == ',');
    if (!ends) continue;
    if (element == index) return shape.substr(start, i - start);
    if (depth == 0) return {};
    ++element;
    start = i + 1;
    while (start < shape.size() && shape[start] == ' ') ++start;
  }
  return {};
}

std::string_view ResultShape(std::string_view opcode, std::string_view shape) {
  const int64_t index = opcode == "copy-start"                                                 ? 0
                        : opcode == "all-gather-start" || opcode == "collective-permute-start" ? 1
                                                                                               : -1;
  const std::string_view element = index < 0 ? std::string_view() : TupleElement(shape, index);
  return element.empty() ? shape : element;
}

}  // namespace xlatrace::hlo
