// SPDX-License-Identifier: Apache-2.0

// Field by field comparison of two modules.

#ifndef XLATRACE_TESTS_HLO_SAME_MODEL_H_
#define XLATRACE_TESTS_HLO_SAME_MODEL_H_

#include <algorithm>

#include <gtest/gtest.h>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// All facts that text can contain must be equal. Exceptions are ids, program id, platform, peak
// memory and the raw attributes, whose meaning is compared through the derived fields.
inline void ExpectSameModel(const model::HloModule& a, const model::HloModule& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.is_scheduled, b.is_scheduled);
  EXPECT_EQ(a.replica_count, b.replica_count);
  EXPECT_EQ(a.num_partitions, b.num_partitions);
  EXPECT_EQ(a.entry, b.entry);
  EXPECT_EQ(a.content_hash, b.content_hash);
  ASSERT_EQ(a.computations.size(), b.computations.size());
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (size_t c = 0; c < a.computations.size(); ++c) {
    const model::Computation& x = a.computations[c];
    const model::Computation& y = b.computations[c];
    ASSERT_EQ(x.name, y.name);
    ASSERT_EQ(x.instruction_count, y.instruction_count) << x.name;
    EXPECT_EQ(x.root - x.first_instruction, y.root - y.first_instruction) << x.name;
    EXPECT_EQ(x.is_entry, y.is_entry) << x.name;
    EXPECT_EQ(x.is_fusion, y.is_fusion) << x.name;
    EXPECT_EQ(x.execution_thread, y.execution_thread) << x.name;
    for (uint32_t n = 0; n < x.instruction_count; ++n) {
      const model::Instruction& i = a.InstructionsOf(x)[n];
      const model::Instruction& j = b.InstructionsOf(y)[n];
      ASSERT_EQ(i.name, j.name) << x.name;
      EXPECT_EQ(i.opcode, j.opcode) << i.name;
      EXPECT_EQ(i.shape, j.shape) << i.name;
      EXPECT_EQ(i.is_root, j.is_root) << i.name;
      EXPECT_EQ(i.fusion_kind, j.fusion_kind) << i.name;
      EXPECT_EQ(i.custom_call_target, j.custom_call_target) << i.name;
      EXPECT_EQ(i.backend_config, j.backend_config) << i.name;
      EXPECT_EQ(i.parameter_number, j.parameter_number) << i.name;
      EXPECT_EQ(i.tuple_index, j.tuple_index) << i.name;
      EXPECT_EQ(i.metadata.op_name, j.metadata.op_name) << i.name;
      EXPECT_EQ(i.metadata.op_type, j.metadata.op_type) << i.name;
      EXPECT_EQ(i.metadata.source_file, j.metadata.source_file) << i.name;
      EXPECT_EQ(i.metadata.source_line, j.metadata.source_line) << i.name;
      EXPECT_EQ(i.metadata.stack_frame, j.metadata.stack_frame) << i.name;
      EXPECT_EQ(a.OtherNamesOf(i.metadata).deduplicated, b.OtherNamesOf(j.metadata).deduplicated)
          << i.name;
      EXPECT_EQ(a.OtherNamesOf(i.metadata).scheduling, b.OtherNamesOf(j.metadata).scheduling)
          << i.name;
      const auto operands_i = a.Operands(i);
      const auto operands_j = b.Operands(j);
      ASSERT_EQ(operands_i.size(), operands_j.size()) << i.name;
      for (size_t o = 0; o < operands_i.size(); ++o) {
        EXPECT_EQ(operands_i[o] - x.first_instruction, operands_j[o] - y.first_instruction)
            << i.name;
      }
      const auto calls_i = a.CalledComputations(i);
      const auto calls_j = b.CalledComputations(j);
      EXPECT_TRUE(std::ranges::equal(calls_i, calls_j)) << i.name;
      EXPECT_TRUE(std::ranges::equal(a.LhsContractingDims(i), b.LhsContractingDims(j))) << i.name;
      const model::OpDetails& d = a.DetailsOf(i);
      const model::OpDetails& e = b.DetailsOf(j);
      EXPECT_EQ(a.LiteralOf(i), b.LiteralOf(j)) << i.name;
      EXPECT_TRUE(std::ranges::equal(a.Dims(d.dimensions), b.Dims(e.dimensions))) << i.name;
      EXPECT_TRUE(std::ranges::equal(a.Dims(d.window), b.Dims(e.window))) << i.name;
      EXPECT_TRUE(std::ranges::equal(a.Dims(d.convolution_dims), b.Dims(e.convolution_dims)))
          << i.name;
      EXPECT_TRUE(std::ranges::equal(a.Dims(d.fft_length), b.Dims(e.fft_length))) << i.name;
      EXPECT_EQ(d.feature_group_count, e.feature_group_count) << i.name;
      EXPECT_EQ(d.batch_group_count, e.batch_group_count) << i.name;
      EXPECT_EQ(d.largest_group, e.largest_group) << i.name;
      EXPECT_EQ(d.rhs_group_dims, e.rhs_group_dims) << i.name;
      EXPECT_EQ(d.has_channel, e.has_channel) << i.name;
      EXPECT_EQ(d.use_global_device_ids, e.use_global_device_ids) << i.name;
    }
  }
  ASSERT_EQ(a.stack_frames.size(), b.stack_frames.size());
  for (size_t f = 0; f < a.stack_frames.size(); ++f) {
    EXPECT_EQ(a.stack_frames[f].file, b.stack_frames[f].file) << f;
    EXPECT_EQ(a.stack_frames[f].function, b.stack_frames[f].function) << f;
    EXPECT_EQ(a.stack_frames[f].line, b.stack_frames[f].line) << f;
    EXPECT_EQ(a.stack_frames[f].column, b.stack_frames[f].column) << f;
    EXPECT_EQ(a.stack_frames[f].parent, b.stack_frames[f].parent) << f;
  }
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_TESTS_HLO_SAME_MODEL_H_
