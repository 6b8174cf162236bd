// SPDX-License-Identifier: Apache-2.0
#include "hlo/cost/cost_shape.h"

namespace xlatrace::hlo {
namespace {

// XLA packs numbers of less than a byte only if the layout has E(4).
bool IsPacked(std::string_view shape) { return shape.find("E(") != std::string_view::npos; }

double BytesOf(const ArrayShape& leaf, bool packed) {
  if (leaf.type == "opaque") return kPointerBytes;
  if (leaf.element_bits < 8 && leaf.element_bits > 0 && !packed) {
    return static_cast<double>(leaf.elements());
  }
  return static_cast<double>(leaf.bytes());
}

// Row-major where no layout is printed; empty when it does not fit the rank.
std::vector<int64_t> MinorToMajor(const ArrayShape& shape) {
  const size_t rank = shape.dims.size();
  std::vector<int64_t> order = shape.minor_to_major;
  if (order.empty()) {
    for (size_t d = rank; d > 0; --d) order.push_back(static_cast<int64_t>(d) - 1);
  }
  if (order.size() != rank) return {};
  for (const int64_t dim : order) {
    if (dim < 0 || static_cast<uint64_t>(dim) >= rank) return {};
  }
  return order;
}

}  // namespace

double BytesOf(const ArrayShape& leaf) { return BytesOf(leaf, true); }

double LeafBytes(std::string_view shape) {
  const bool packed = IsPacked(shape);
  double sum = 0;
  for (const ArrayShape& leaf : Leaves(shape)) sum += BytesOf(leaf, packed);
  return sum;
}

std::vector<std::string_view> TupleElements(std::string_view shape) {
  std::vector<std::string_view> elements;
  if (!IsTuple(shape)) return elements;
  int depth = 0;
  size_t start = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const char c = shape[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth > 1 || (depth == 1 && c != ',')) continue;
    const std::string_view element = shape.substr(start, i - start);
    if (!element.empty()) elements.push_back(element);
    if (depth == 0) break;
    start = i + 1;
    while (start < shape.size() && shape[start] == ' ') ++start;
  }
  return elements;
}

double ShapeBytes(std::string_view shape) {
  if (!IsTuple(shape)) return LeafBytes(shape);
  return kPointerBytes * static_cast<double>(TupleElements(shape).size());
}

double Elements(std::string_view shape) { return static_cast<double>(ElementCount(shape)); }

std::string_view MainResult(std::string_view shape) {
  return IsTuple(shape) ? TupleElement(shape, 0) : shape;
}

bool TransposeIsBitcast(std::string_view from, std::string_view to,
                        std::span<const int64_t> permutation) {
  const ArrayShape source = FirstLeaf(from);
  const ArrayShape target = FirstLeaf(to);
  if (source.type != target.type || permutation.size() != target.dims.size() ||
      source.dims.size() != target.dims.size()) {
    return false;
  }
  const std::vector<int64_t> source_order = MinorToMajor(source);
  const std::vector<int64_t> target_order = MinorToMajor(target);
  if (source_order.size() != permutation.size() || target_order.size() != permutation.size()) {
    return false;
  }
  // Dimension d of the result is dimension permutation[d] of the operand.
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[static_cast<size_t>(target_order[i])] != source_order[i]) return false;
  }
  return true;
}

}  // namespace xlatrace::hlo
