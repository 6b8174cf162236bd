#include "hlo/cost_shape.h"

#include <vector>

namespace xlatrace::hlo {
namespace {

// XLA packs numbers of less than a byte only where the layout says so: E(4).
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

double ShapeBytes(std::string_view shape) {
  if (!IsTuple(shape)) return LeafBytes(shape);
  int64_t elements = 0;
  int depth = 0;
  bool any = false;
  for (const char c : shape) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 1 && c == ',') ++elements;
    any = any || (depth >= 1 && c != '(' && c != ' ') || depth > 1;
  }
  return any ? kPointerBytes * static_cast<double>(elements + 1) : 0;
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
