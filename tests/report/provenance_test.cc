// SPDX-License-Identifier: Apache-2.0
#include "report/provenance.h"

#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

TEST(ProvenanceTest, EventNamesItsSourceIfThereIsOne) {
  ProvenanceEvent event{.pass = "priority-fusion",
                        .dump = 74,
                        .event = "made",
                        .name = "fusion.172",
                        .before = {{.name = "negate.9"}},
                        .before_count = 1};
  EXPECT_EQ(PassWords(event), "priority-fusion, dump 74");
  EXPECT_GOLDEN_TEXT(EventSentence(event));  // The source is negate.9.
  event.event = "renamed";
  EXPECT_GOLDEN_TEXT(EventSentence(event));
  event.event = "made";
  event.before_count = 1'200;
  EXPECT_GOLDEN_TEXT(EventSentence(event));  // 1,200 instructions.
}

TEST(ProvenanceTest, PassWithoutANumberIsShownWithoutOne) {
  EXPECT_EQ(PassWords({.pass = "before_optimizations"}), "before_optimizations");
}

TEST(ProvenanceTest, OriginsAreCountedOrListedOnce) {
  OpProvenance op{.origins_of = "before_optimizations", .origins_count = 1};
  EXPECT_GOLDEN_TEXT(OriginsSentence(op));  // 1.
  op.origins_count = 5;
  op.origins_told = true;
  EXPECT_GOLDEN_TEXT(OriginsSentence(op));  // 5.
  op.origins_count = 0;
  EXPECT_EQ(OriginsSentence(op), "");
}

TEST(ProvenanceTest, ChangesOfOperandsAreCounted) {
  EXPECT_GOLDEN_TEXT(OperandsSentence({.operands_only = 1}));
  EXPECT_GOLDEN_TEXT(OperandsSentence({.operands_only = 3}));
}

}  // namespace
}  // namespace xlatrace::report
