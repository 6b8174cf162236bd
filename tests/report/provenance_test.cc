// SPDX-License-Identifier: Apache-2.0
#include "report/provenance.h"

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

TEST(ProvenanceTest, AnEventNamesWhatItWasWhereThatIsOne) {
  ProvenanceEvent event{.pass = "priority-fusion",
                        .dump = 74,
                        .event = "made",
                        .name = "fusion.172",
                        .before = {{.name = "negate.9"}},
                        .before_count = 1};
  EXPECT_EQ(PassWords(event), "priority-fusion, dump 74");
  EXPECT_EQ(EventSentence(event), "fusion.172 was made of negate.9");
  event.event = "renamed";
  EXPECT_EQ(EventSentence(event), "negate.9 was renamed fusion.172");
  event.event = "made";
  event.before_count = 1'200;
  EXPECT_EQ(EventSentence(event), "fusion.172 was made of 1,200");
}

TEST(ProvenanceTest, APassWithoutANumberHasNone) {
  EXPECT_EQ(PassWords({.pass = "before_optimizations"}), "before_optimizations");
}

TEST(ProvenanceTest, WhatItComesFromIsSaidOnce) {
  OpProvenance op{.origins_of = "before_optimizations", .origins_count = 1};
  EXPECT_EQ(OriginsSentence(op), "It comes from 1 operation of before_optimizations");
  op.origins_count = 5;
  op.origins_told = true;
  EXPECT_EQ(OriginsSentence(op), "These 5 are operations of before_optimizations");
  op.origins_count = 0;
  EXPECT_EQ(OriginsSentence(op), "");
}

TEST(ProvenanceTest, ChangesOfOperandsAreCounted) {
  EXPECT_EQ(OperandsSentence({.operands_only = 1}), "1 change only in what it reads");
  EXPECT_EQ(OperandsSentence({.operands_only = 3}), "3 changes only in what it reads");
}

}  // namespace
}  // namespace xlatrace::report
