// SPDX-License-Identifier: Apache-2.0

// Starts and ends of executions, as the alignment itself finds them.

#include "correlator/thunk_order/align/sequence_alignment.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using ::testing::ElementsAre;

// A program of kernels with a body of their own each, so that a kernel is one token.
class SequenceAlignmentTest : public ::testing::Test {
 protected:
  SequenceAlignmentTest() {
    std::vector<Body> bodies;
    Body main{"main", {{"x", "parameter"}}};
    for (const char* opcode : {"negate", "cosine", "sine", "tanh"}) {
      const std::string body = std::string("fused_") + opcode;
      bodies.push_back({body, {{"p", "parameter"}, {"r", opcode, "", {"p"}}}});
      main.ops.push_back({std::string("f_") + opcode, "fusion", "n", {"x"}, {body}});
    }
    bodies.push_back(main);
    module_ = MakeModule("jit_f", bodies);
    program_ = ThunkProgram(module_, {});
    for (uint32_t t = 0; t < 4; ++t) candidates_.push_back({{0, t}});
  }

  struct Seen {
    uint32_t token;
    uint32_t group;
  };
  // Numbers of the executions that these kernels are of.
  std::vector<uint32_t> Executions(const std::vector<Seen>& seen, SequenceEnds ends = {}) {
    std::vector<SequenceItem> items;
    for (const Seen& one : seen) items.push_back({&candidates_[one.token], one.group});
    const ThunkProgram* const programs[] = {&program_};
    std::vector<uint32_t> executions;
    for (const AlignedItem& item : AlignSequence(programs, items, ends).items) {
      EXPECT_EQ(item.program, 0u);
      executions.push_back(item.execution);
    }
    return executions;
  }

  model::HloModule module_;
  ThunkProgram program_;
  std::vector<std::vector<Candidate>> candidates_;
};

TEST_F(SequenceAlignmentTest, LaunchesInProgramOrderAreOneExecution) {
  ASSERT_EQ(program_.size(), 4u);
  EXPECT_THAT(Executions({{0, 0}, {1, 0}, {2, 0}, {3, 0}}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(Executions({{0, 7}, {1, 7}, {2, 7}, {3, 7}}), ElementsAre(1, 1, 1, 1));
}

TEST_F(SequenceAlignmentTest, RepeatedLaunchStartsAnotherExecution) {
  EXPECT_THAT(Executions({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {0, 0}, {1, 0}}),
              ElementsAre(1, 1, 1, 1, 2, 2));
}

TEST_F(SequenceAlignmentTest, RecordedExecutionsAreNeverMerged) {
  // The second half of one and the first half of another would fit as one without a gap.
  EXPECT_THAT(Executions({{0, 7}, {1, 7}, {2, 8}, {3, 8}}), ElementsAre(1, 1, 2, 2));
}

TEST_F(SequenceAlignmentTest, LossAtACleanEndHasACost) {
  const ThunkProgram* const programs[] = {&program_};
  const std::vector<SequenceItem> items = {{&candidates_[1], 0}, {&candidates_[2], 0}};
  const int64_t cut = AlignSequence(programs, items, {}).cost;
  const int64_t no_start = AlignSequence(programs, items, {.clean_start = true}).cost;
  const int64_t no_end = AlignSequence(programs, items, {.clean_end = true}).cost;
  const int64_t lost =
      AlignSequence(programs, items, {.clean_start = true, .clean_end = true}).cost;
  EXPECT_EQ(cut, 0) << "the recording may have begun and ended there";
  EXPECT_GT(no_start, 0);
  EXPECT_EQ(no_start, no_end) << "one kernel each";
  EXPECT_EQ(lost, no_start + no_end);
}

}  // namespace
}  // namespace xlatrace::correlator
