// SPDX-License-Identifier: Apache-2.0
#include "base/masking.h"

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(MaskingTest, ValuesOfSecretsAreMasked) {
  EXPECT_EQ(MaskedCommand({"python", "train.py", "--token", "abc", "--steps", "3"}),
            "python train.py --token *** --steps 3");
  EXPECT_EQ(MaskedCommand({"a", "--api-key=abc", "HF_TOKEN=abc", "--db.password=x"}),
            "a --api-key=*** HF_TOKEN=*** --db.password=***");
  EXPECT_EQ(MaskedCommand({"a", "--openai.key", "abc"}), "a --openai.key ***");
}

TEST(MaskingTest, OtherWordsAndFlagsAreNotMasked) {
  EXPECT_EQ(MaskedCommand({"a", "--keyboard", "us", "--use-auth", "--steps", "3"}),
            "a --keyboard us --use-auth --steps 3");
}

TEST(MaskingTest, WordsThatAShellWouldSplitAreQuoted) {
  EXPECT_EQ(MaskedCommand({"sh", "-c", "echo it's", ""}), "sh -c 'echo it'\\''s' ''");
}

}  // namespace
}  // namespace xlatrace
