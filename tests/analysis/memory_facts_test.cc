// SPDX-License-Identifier: Apache-2.0

// Memory that is needed to avoid recomputation, and memory of copies at the peak.

#include "analysis/findings/memory_facts.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"

namespace xlatrace::analysis::findings {
namespace {

// `r1` and `r2` are computed again for `b`; positions are x f r1 r2 b t.
constexpr char kProgram[] = R"(HloModule m, is_scheduled=true
ENTRY e {
  x = f32[1024]{0} parameter(0)
  f = f32[1024]{0} exponential(x)
  r1 = f32[1024]{0} exponential(x)
  r2 = f32[512]{0} slice(r1), slice={[0:512]}
  b = f32[512]{0} sine(r2)
  ROOT t = (f32[1024]{0}, f32[512]{0}) tuple(f, b)
}
)";

model::HloModule Program(const std::string& text) {
  auto module = hlo::ReadText(std::make_shared<const std::string>(text));
  EXPECT_TRUE(module) << module.error().message;
  return module ? std::move(*module) : model::HloModule();
}

TEST(MemoryFacts, OnlyResultsThatOtherOpsReadAreKept) {
  const MemoryFacts facts = KeptWithoutRecomputation(Program(kProgram), {2, 3, model::kNoIndex},
                                                     {false, false, true, true, false, false});
  // `r1` is read by `r2` alone, which is there from the first time on.
  EXPECT_EQ(facts.bytes, (std::vector<int64_t>{0, 512 * 4, 0}));
  // While r2 is made: x, f and r1 of 4 KiB, r2 of 2.
  EXPECT_EQ(facts.peak_bytes, (3 * 1024 + 512) * 4);
  EXPECT_FALSE(facts.from_assignment);
}

TEST(MemoryFacts, ResultInATupleCountsAsRead) {
  std::string text = kProgram;
  text.replace(text.find("tuple(f, b)"), 11, "tuple(r1, b)");
  const MemoryFacts facts =
      KeptWithoutRecomputation(Program(text), {2, 3}, {false, false, true, true, false, false});
  EXPECT_EQ(facts.bytes, (std::vector<int64_t>{1024 * 4, 512 * 4}));
}

TEST(MemoryFacts, OnlyCopiesThatAreAliveAtThePeakCount) {
  const MemoryFacts facts = HeldAtPeak(Program(kProgram), {2, 4});
  EXPECT_EQ(facts.bytes, (std::vector<int64_t>{1024 * 4, 0}));
}

TEST(MemoryFacts, ModuleWithoutAScheduleHasNoMemoryFacts) {
  std::string text = kProgram;
  text.replace(text.find(", is_scheduled=true"), 19, "");
  EXPECT_EQ(HeldAtPeak(Program(text), {2}).peak_bytes, 0);
}

}  // namespace
}  // namespace xlatrace::analysis::findings
