// SPDX-License-Identifier: Apache-2.0

// Copies of predicates where one loop of unknown length ends and the next one does not run.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "correlator/thunk_order/program/thunk_program.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::correlator {
namespace {

// `while w1 {a}; while w2 {h}; last`, with unknown trip counts.
constexpr char kModule[] = R"(HloModule jit_f, is_scheduled=true
fa { p = f32[8] parameter(0)
  ROOT r = f32[8] negate(p) }
fh { p = f32[8] parameter(0)
  ROOT r = f32[8] cosine(p) }
fl { p = f32[8] parameter(0)
  ROOT r = f32[8] sine(p) }
ca { p = f32[8] parameter(0)
  ROOT x = pred[] custom-call(p), custom_call_target="Sharding" }
cb { p = f32[8] parameter(0)
  ROOT x = pred[] custom-call(p), custom_call_target="Sharding" }
bodya { p = f32[8] parameter(0)
  ROOT a = f32[8] fusion(p), kind=kLoop, calls=fa }
bodyb { p = f32[8] parameter(0)
  ROOT h = f32[8] fusion(p), kind=kLoop, calls=fh }
ENTRY e { p = f32[8] parameter(0)
  w1 = f32[8] while(p), condition=ca, body=bodya
  w2 = f32[8] while(w1), condition=cb, body=bodyb
  ROOT last = f32[8] fusion(w2), kind=kLoop, calls=fl }
)";

TEST(LeavingLoops, LoopConditionRunsOnceMoreThanTheBody) {
  auto module = hlo::ReadText(std::make_shared<const std::string>(kModule));
  ASSERT_TRUE(module) << module.error().message;
  const ThunkProgram program(*module, {});
  const auto name = [&](uint32_t token) {
    return std::string(module->instructions[program.tokens()[token].instruction].name);
  };
  const auto token = [&](const std::string& wanted) {
    for (uint32_t t = 0; t < program.size(); ++t) {
      if (name(t) == wanted) return t;
    }
    ADD_FAILURE() << wanted;
    return 0u;
  };
  const auto between = [&](uint32_t from, uint32_t to) {
    std::string text;
    for (const uint32_t t : program.Between(from, to)) {
      if (program.tokens()[t].kind == ThunkKind::kHostCopy) text += name(t) + " ";
    }
    return text;
  };
  EXPECT_EQ(between(ThunkProgram::kStartIndex, token("a")), "w1 ");
  EXPECT_EQ(between(token("a"), token("a")), "w1 ") << "the next trip";
  EXPECT_EQ(between(token("a"), token("h")), "w1 w2 ");
  EXPECT_EQ(between(token("a"), token("last")), "w1 w2 ") << "the second loop does not run";
  EXPECT_EQ(between(token("h"), token("last")), "w2 ");
  EXPECT_EQ(between(token("h"), static_cast<uint32_t>(program.size())), "w2 ");
}

}  // namespace
}  // namespace xlatrace::correlator
