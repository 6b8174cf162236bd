// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/proto_literal.h"

#include <cstring>
#include <initializer_list>

#include <gtest/gtest.h>

#include "tests/hlo/proto_builder.h"

namespace xlatrace::hlo {
namespace {

// xla.PrimitiveType.
enum Type : int64_t { kPred = 1, kS8 = 2, kS32 = 4, kU64 = 9, kF16 = 10, kF32 = 11, kF64 = 12 };
constexpr int64_t kC64 = 15;
constexpr int64_t kBf16 = 16;
constexpr int64_t kS4 = 21;

Message Literal(int64_t type, const std::vector<int64_t>& dims,
                const std::vector<int64_t>& minor_to_major = {}) {
  Message shape;
  shape.Int(2, type).Packed(3, dims);
  if (!minor_to_major.empty()) shape.Nested(5, Message().Packed(1, minor_to_major));
  return Message().Nested(1, shape);
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.begin(), out.size());
  return out;
}

std::string Text(const Message& literal) {
  WirePosition position;
  return LiteralText(literal.bytes(), position);
}

// Expected texts: what XLA's own printer gives for these literals.
TEST(ProtoLiteral, ScalarsArePrintedAsXlaDoes) {
  EXPECT_EQ(Text(Literal(kPred, {}).Packed(2, {1})), "true");
  EXPECT_EQ(Text(Literal(kS32, {}).Packed(4, {-7})), "-7");
  EXPECT_EQ(Text(Literal(kU64, {}).Packed(7, {-1})), "18446744073709551615");
  EXPECT_EQ(Text(Literal(kF32, {}).Text(8, Bytes({0.1F}))), "0.1");
  EXPECT_EQ(Text(Literal(kF32, {}).Text(8, Bytes({1.17549435e-38F}))), "1.17549435e-38");
  EXPECT_EQ(Text(Literal(kF64, {}).Text(9, Bytes({0.30000000000000004}))), "0.30000000000000004");
  EXPECT_EQ(Text(Literal(kF64, {}).Text(9, Bytes({1e300}))), "1e+300");
  EXPECT_EQ(Text(Literal(kF16, {}).Text(11, Bytes<uint16_t>({0x2e66}))), "0.099976");
  EXPECT_EQ(Text(Literal(kF16, {}).Text(11, Bytes<uint16_t>({0x0002}))), "1.1921e-07");
  EXPECT_EQ(Text(Literal(kBf16, {}).Text(13, Bytes<uint16_t>({0x3dcd}))), "0.1001");
  EXPECT_EQ(Text(Literal(kBf16, {}).Text(13, Bytes<uint16_t>({0xff80}))), "-inf");
  EXPECT_EQ(Text(Literal(kF32, {}).Text(8, Bytes<uint32_t>({0xffc00000}))), "-nan");
}

TEST(ProtoLiteral, ArraysArePrintedAsXlaDoes) {
  EXPECT_EQ(Text(Literal(kPred, {2}).Packed(2, {1, 0})), "{1, 0}");
  EXPECT_EQ(Text(Literal(kS8, {2}).Text(15, Bytes<int8_t>({-1, 127}))), "{-1, 127}");
  EXPECT_EQ(Text(Literal(kS32, {0})), "{}");
  EXPECT_EQ(Text(Literal(kS32, {2, 1}).Packed(4, {3, 4})), "{ {3}, {4} }");
  EXPECT_EQ(Text(Literal(kS32, {2, 2}, {1, 0}).Packed(4, {1, 2, 3, 4})), "{ { 1, 2 }, { 3, 4 } }");
  EXPECT_EQ(Text(Literal(kS32, {2, 3}, {0, 1}).Packed(4, {1, 4, 2, 5, 3, 6})),
            "{ { 1, 2, 3 }, { 4, 5, 6 } }");
  EXPECT_EQ(Text(Literal(kS32, {1, 2, 2}, {2, 1, 0}).Packed(4, {1, 2, 3, 4})),
            "{ { { 1, 2 }, { 3, 4 } } }");
  EXPECT_EQ(Text(Literal(kS32, {2, 0})), "{ {}, {} }");
  EXPECT_EQ(Text(Literal(kC64, {}).Text(12, Bytes({1.0F, -2.5F}))), "(1, -2.5)");
  EXPECT_EQ(Text(Literal(kC64, {1}).Text(12, Bytes({0.0F, 1e9F}))), "{(0, 1e+09)}");
}

TEST(ProtoLiteral, LargeOrDamagedLiteralsAreLeftOut) {
  EXPECT_EQ(Text(Literal(kS32, {11}).Packed(4, std::vector<int64_t>(11, 1))), "{...}");
  EXPECT_EQ(Text(Literal(kS32, {1, 1, 1, 1}).Packed(4, {1})), "{...}");
  EXPECT_EQ(Text(Literal(kS4, {2}).Text(21, "ab")), "{...}");
  EXPECT_EQ(Text(Literal(kS32, {3}).Packed(4, {1, 2})), "{...}");
  EXPECT_EQ(Text(Literal(kF32, {}).Text(8, "abc")), "{...}");
  EXPECT_EQ(Text(Literal(kF32, {}).Packed(4, {1})), "{...}");
  EXPECT_EQ(Text(Message()), "{...}");
}

}  // namespace
}  // namespace xlatrace::hlo
