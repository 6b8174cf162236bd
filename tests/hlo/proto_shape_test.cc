// SPDX-License-Identifier: Apache-2.0

// Shapes of protos in XLA's spelling: what xla::Layout::Print and ShapeUtil print for these
// messages.

#include "hlo/proto/proto_shape.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "tests/hlo/proto_builder.h"

namespace xlatrace::hlo {
namespace {

std::string ShapeText(const Message& shape) {
  WirePosition position;
  std::string text;
  EXPECT_TRUE(AppendShape(shape.bytes(), position, text));
  return text;
}

TEST(ProtoShape, LayoutItemsArePrintedInXlasOrder) {
  constexpr int64_t kU8 = 6;
  constexpr int64_t kU32 = 8;
  Message layout;
  // Written in another order than they print.
  layout.Int(15, 128).Int(8, 5).Int(7, 4).Int(16, 64).Int(11, kU32).Int(12, kU8);
  layout.Nested(10, ArrayProto(kS32, {10}, {0}));
  layout.Nested(17, Message().Int(1, 1).Packed(2, {50, 200}));
  layout.Nested(17, Message().Packed(2, {7}));
  layout.Nested(6, Message().Packed(1, {8, 128}));
  layout.Nested(6, Message().Int(1, 2).Int(1, std::numeric_limits<int64_t>::min()));
  layout.Packed(1, {1, 0});
  const Message shape = Message().Int(2, kBf16).Packed(3, {16, 32}).Nested(5, layout);
  EXPECT_EQ(ShapeText(shape),
            "bf16[16,32]{1,0:T(8,128)(2,*)L(64)#(u32)*(u8)E(4)S(5)SC(1:50,200)(0:7)P(s32[10]{0})"
            "M(128)}");
}

TEST(ProtoShape, ScalarsTuplesBuffersAndDynamicSizesArePrinted) {
  constexpr int64_t kToken = 17;
  constexpr int64_t kOpaque = 14;
  constexpr int64_t kBuffer = 34;
  EXPECT_EQ(ShapeText(ArrayProto(kF32, {}, {})), "f32[]");
  EXPECT_EQ(ShapeText(Message().Int(2, kF32).Nested(5, Message().Int(8, 1))), "f32[]{:S(1)}");
  EXPECT_EQ(ShapeText(Message().Int(2, kToken).Nested(5, Message())), "token[]");
  EXPECT_EQ(ShapeText(Message().Int(2, kOpaque)), "opaque[]");
  EXPECT_EQ(ShapeText(Message().Int(2, kF32).Packed(3, {4})), "f32[4]");
  EXPECT_EQ(ShapeText(Message().Int(2, kBuffer).Nested(4, ArrayProto(kF32, {8}, {0}))),
            "b(f32[8]{0})");
  EXPECT_EQ(ShapeText(Message().Int(2, kTupleType)), "()");
  EXPECT_EQ(
      ShapeText(Message()
                    .Int(2, kTupleType)
                    .Nested(4, ArrayProto(kS32, {}, {}))
                    .Nested(4, Message().Int(2, kTupleType).Nested(4, ArrayProto(kF32, {2}, {0})))),
      "(s32[], (f32[2]{0}))");
  EXPECT_EQ(ShapeText(Message()
                          .Int(2, kF32)
                          .Packed(3, {8, std::numeric_limits<int64_t>::min(), 4})
                          .Packed(6, {1, 1, 0})),
            "f32[<=8,?,4]");
  // A number format of XLA's future.
  EXPECT_EQ(ShapeText(Message().Int(2, 99).Packed(3, {4})), "invalid[4]");
}

TEST(ProtoShape, UnknownFieldsAreSkipped) {
  Message layout;
  layout.Packed(1, {0}).Text(99, "future").Int(98, 1);
  const Message tile = Message().Packed(1, {4}).Text(9, "x");
  const Message split = Message().Int(1, 0).Packed(2, {1}).Text(9, "x");
  layout.Nested(6, tile).Nested(17, split);
  EXPECT_EQ(ShapeText(Message().Int(2, kF32).Packed(3, {4}).Nested(5, layout).Text(50, "x")),
            "f32[4]{0:T(4)SC(0:1)}");
}

TEST(ProtoShape, DeepNestingIsAnError) {
  Message shape = ArrayProto(kF32, {1}, {0});
  for (int i = 0; i < 100; ++i) shape = Message().Int(2, kTupleType).Nested(4, shape);
  WirePosition position;
  std::string text;
  EXPECT_FALSE(AppendShape(shape.bytes(), position, text));
  Message deep = ArrayProto(kF32, {1}, {0});
  for (int i = 0; i < 100; ++i) {
    deep =
        Message().Int(2, kF32).Packed(3, {1}).Nested(5, Message().Packed(1, {0}).Nested(10, deep));
  }
  EXPECT_FALSE(AppendShape(deep.bytes(), position, text));
}

}  // namespace
}  // namespace xlatrace::hlo
