// SPDX-License-Identifier: Apache-2.0
#include "model/joined_names.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace::model {
namespace {

TEST(FirstOfJoined, FirstOfTheNamesJoinedByXlaIsReturned) {
  EXPECT_EQ(FirstOfJoined("jit(f)/a/mul;jit(f)/b/add"), "jit(f)/a/mul");
  EXPECT_EQ(FirstOfJoined("jit(_fun)/shard_map/transpose(jvp())/mul;transpose(jvp())/broadcast"),
            "jit(_fun)/shard_map/transpose(jvp())/mul");
  EXPECT_EQ(FirstOfJoined("mul;abs"), "mul");
  EXPECT_EQ(FirstOfJoined("jit(f)/while/body/mul;abs"), "jit(f)/while/body/mul");
  EXPECT_EQ(FirstOfJoined("jit(f)/layer/mul;layer/add"), "jit(f)/layer/mul");
  EXPECT_EQ(FirstOfJoined("jit(f)/mul;while/body/add"), "jit(f)/mul");
  EXPECT_EQ(FirstOfJoined("a/MatMul;a/BiasAdd"), "a/MatMul");
}

TEST(FirstOfJoined, SemicolonInAScopeNameDoesNotSeparate) {
  for (const std::string name :
       {"jit(f)/a;b/mul", "jit(f)/jit(main)/x; y/dot_general", "jit(f)/jvp(a;b)/mul",
        "jit(f)/reduce[axes=(0;1)]", "jit(f)/a;b/c;d/mul", "jit(f)/mul", ""}) {
    EXPECT_EQ(FirstOfJoined(name), name);
  }
  EXPECT_EQ(FirstOfJoined("jit(f)/a;b/mul;jit(f)/a;b/add"), "jit(f)/a;b/mul");
}

TEST(FirstOfJoined, OtherNamesAreReturnedUnchanged) {
  EXPECT_EQ(FirstOfJoined(";mul"), ";mul");
  EXPECT_EQ(FirstOfJoined("jit(f)/mul;"), "jit(f)/mul");
  EXPECT_EQ(FirstOfJoined("jit(f/mul;a/b"), "jit(f/mul;a/b");
}

}  // namespace
}  // namespace xlatrace::model
