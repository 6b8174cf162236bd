// SPDX-License-Identifier: Apache-2.0

// Numbers that the cost of an instruction depends on, from proto fields: windows, convolution
// dimensions, replica groups, device assignments. Expected values are those of the same operations
// as text, worked out by hand.

#include <gtest/gtest.h>

#include "hlo/cost/cost.h"
#include "hlo/proto/proto_reader.h"
#include "tests/hlo/proto_builder.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

Message Instruction(const std::string& opcode, int64_t id, const std::vector<int64_t>& dims,
                    const std::vector<int64_t>& operands) {
  std::vector<int64_t> layout;
  for (size_t d = dims.size(); d > 0; --d) layout.push_back(static_cast<int64_t>(d) - 1);
  Message instruction;
  instruction.Text(1, opcode + std::to_string(id)).Text(2, opcode);
  instruction.Nested(3, ArrayProto(kF32, dims, layout)).Int(35, id);
  if (opcode == "parameter") instruction.Int(9, id - 1);
  if (!operands.empty()) instruction.Packed(36, operands);
  return instruction;
}

Cost RootCost(const std::vector<Message>& instructions, CostKind kind, Message module = {}) {
  const auto root = static_cast<int64_t>(instructions.size());
  module.Text(1, "m").Text(2, "e").Nested(3, ComputationProto("e", 1, root, instructions));
  auto read = ReadProto(Shared(Message().Nested(1, module.Int(6, 1)).bytes()));
  if (!read) {
    ADD_FAILURE() << read.error().message;
    return {};
  }
  return CostModel(*read, {.kind = kind}).Total();
}

Message Window(const std::vector<std::vector<int64_t>>& dims) {
  Message window;
  for (const std::vector<int64_t>& numbers : dims) {
    Message dim;
    for (size_t f = 0; f < numbers.size(); ++f) dim.Int(static_cast<uint32_t>(f + 1), numbers[f]);
    window.Nested(1, dim);
  }
  return window;
}

// b01f_01io->b01f. A 3x3 kernel over 10x20 without padding: 8 x 18 results of 9 multiply-adds.
TEST(CostFromProto, ConvolutionCostFollowsFromTheProto) {
  Message dims;
  dims.Int(7, 0).Int(8, 3).Packed(11, {1, 2}).Int(3, 2).Int(4, 3).Packed(6, {0, 1});
  dims.Int(9, 0).Int(10, 3).Packed(12, {1, 2});
  Message convolution = Instruction("convolution", 3, {1, 8, 18, 6}, {1, 2});
  convolution.Nested(15, Window({{3, 1, 0, 0, 1, 1}, {3, 1, 0, 0, 1, 1}})).Nested(16, dims);
  convolution.Int(50, 2);
  const Cost cost = RootCost({Instruction("parameter", 1, {1, 10, 20, 4}, {}),
                              Instruction("parameter", 2, {3, 3, 2, 6}, {}), convolution},
                             CostKind::kHlo);
  EXPECT_EQ(cost.flops, 2 * (8 * 18 * 9) * 6 * (4 / 2));
}

// 4 ranks of 16 bytes each: 7 + 4 times that, for every notation of groups.
TEST(CostFromProto, CostOfReplicaGroupsFollowsFromTheProto) {
  const auto gather = [](const Message& groups, Message module = {}) {
    const Message whole = Instruction("all-gather", 2, {16}, {1}).Append(groups);
    return RootCost({Instruction("parameter", 1, {4}, {}), whole}, CostKind::kGpu,
                    std::move(module))
        .bytes_accessed;
  };
  const Message group = Message().Packed(1, {0, 1, 2, 3});
  const Message iota = Message().Int(1, 2).Int(2, 4);
  EXPECT_EQ(gather(Message().Nested(49, group)), 11 * 16);
  EXPECT_EQ(gather(Message().Nested(87, Message().Nested(1, group))), 11 * 16);
  EXPECT_EQ(gather(Message().Nested(87, Message().Nested(2, iota))), 11 * 16);
  EXPECT_EQ(gather(Message().Nested(92, iota)), 11 * 16);
  // No groups: all replicas.
  EXPECT_EQ(gather(Message(), Message().Nested(15, Message().Int(1, 4).Int(2, 1))), 11 * 16);
  // A channel without global ids: the group on each of the partitions.
  EXPECT_EQ(gather(Message().Int(26, 7).Nested(49, Message().Packed(1, {0, 1})),
                   Message().Nested(15, Message().Int(1, 2).Int(2, 2))),
            11 * 16);
}

TEST(CostFromProto, ConcatenateDimensionIsReadFromTheProto) {
  Message concatenate = Instruction("concatenate", 2, {2, 16}, {1, 1});
  concatenate.Packed(14, {1});
  EXPECT_EQ(RootCost({Instruction("parameter", 1, {2, 8}, {}), concatenate}, CostKind::kGpu).flops,
            400 * 32);
}

}  // namespace
}  // namespace xlatrace::hlo
