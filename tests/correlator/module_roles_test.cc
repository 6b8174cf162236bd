// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/correlator/test_builders.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::correlator {
namespace {

using model::ModuleRole;
using ::testing::HasSubstr;

class ModuleRolesTest : public ::testing::Test {
 protected:
  ModuleRolesTest() {
    run_.AddDevice();
    run_.AddLane();
    kernel_ = run_.Kernel("k");
  }
  void Module(const std::string& name, int64_t program_id, const std::string& op_name = {}) {
    run_.AddModule(name, program_id, [=] {
      return LoadedModule{MakeModule(name, {{"main", {{"a", "add", op_name}}}}), {}};
    });
  }
  void Run(const std::string& module, int64_t program_id, int64_t duration_ns) {
    run_.Activity(kernel_, run_.Annotation(module, program_id, "a"), ++runs_, 1, clock_ns_,
                  duration_ns);
    clock_ns_ += duration_ns;
  }
  RunBuilder run_;
  uint32_t kernel_;
  uint32_t runs_ = 0;
  int64_t clock_ns_ = 0;
};

TEST_F(ModuleRolesTest, TrainingStepIsMainEvenIfInitTookLonger) {
  Module("jit_init", 1);
  Module("jit_train_step", 2);
  Module("jit_add", 3);
  Module("jit_unused", 4);
  Run("jit_init", 1, 1000);
  for (int step = 0; step < 3; ++step) {
    Run("jit_train_step", 2, 200);
    Run("jit_add", 3, 1);
  }
  const auto tables = run_.Attribute();
  EXPECT_EQ(tables.modules[0].role, ModuleRole::kInit);
  EXPECT_EQ(tables.modules[1].role, ModuleRole::kMain);
  // 600 of 1603 ns.
  EXPECT_THAT(tables.modules[1].role_reason, HasSubstr("37%"));
  EXPECT_THAT(tables.modules[1].role_reason, HasSubstr("3 "));
  EXPECT_EQ(tables.modules[2].role, ModuleRole::kHelper);
  EXPECT_EQ(tables.modules[3].role, ModuleRole::kHelper);
  EXPECT_GOLDEN_TEXT(tables.modules[1].role_reason + "\n" + tables.modules[3].role_reason);
  EXPECT_EQ(tables.modules[1].framework_function, "train_step");
}

TEST_F(ModuleRolesTest, SingleStepIsMainAndRepeatedHelpersAreNot) {
  Module("jit_train_step", 1);
  Module("jit_add", 2);
  Run("jit_add", 2, 1);
  Run("jit_train_step", 1, 1000);
  Run("jit_add", 2, 1);
  const auto tables = run_.Attribute();
  EXPECT_EQ(tables.modules[0].role, ModuleRole::kMain);
  EXPECT_EQ(tables.modules[1].role, ModuleRole::kHelper);
}

TEST_F(ModuleRolesTest, RecompiledStepIsMainToo) {
  Module("jit_train_step", 1);
  Module("jit_train_step", 2);
  for (int step = 0; step < 3; ++step) Run("jit_train_step", 1, 100);
  Run("jit_train_step", 2, 80);
  const auto tables = run_.Attribute();
  EXPECT_EQ(tables.modules[0].role, ModuleRole::kMain);
  EXPECT_EQ(tables.modules[1].role, ModuleRole::kMain);
  EXPECT_GOLDEN_TEXT(tables.modules[1].role_reason);
}

TEST_F(ModuleRolesTest, ProgramsOfSimilarWeightAreNotMain) {
  Module("jit_cg", 1);
  Module("jit_gmres", 2);
  Module("jit_add", 3);
  for (int call = 0; call < 3; ++call) {
    Run("jit_cg", 1, 100);
    Run("jit_add", 3, 1);
  }
  for (int call = 0; call < 3; ++call) Run("jit_gmres", 2, 60);
  const auto tables = run_.Attribute();
  for (const size_t m : {0, 1}) {
    EXPECT_EQ(tables.modules[m].role, ModuleRole::kHelper) << m;
    EXPECT_TRUE(tables.modules[m].beside_others) << m;
  }
  EXPECT_FALSE(tables.modules[2].beside_others);
}

TEST_F(ModuleRolesTest, EqualNamesWithDifferentTimesAreSeparatePrograms) {
  Module("jit_dot", 1);
  Module("jit_dot", 2);
  for (int call = 0; call < 3; ++call) Run("jit_dot", 1, 600);
  for (int call = 0; call < 3; ++call) Run("jit_dot", 2, 180);
  const auto tables = run_.Attribute();
  EXPECT_TRUE(tables.modules[0].beside_others);
  EXPECT_TRUE(tables.modules[1].beside_others);
}

// Functions of one wrapper share a name, as do all programs of jax.pmap.
TEST_F(ModuleRolesTest, EqualNamesWithDifferentCodeAreSeparatePrograms) {
  Module("jit__fun", 1, "jit(_fun)/jvp()/tanh");
  Module("jit__fun", 2, "jit(_fun)/argmax");
  Module("jit__fun", 3, "jit(_fun)/jvp()/tanh");
  for (int call = 0; call < 12; ++call) Run("jit__fun", 1, 100);
  for (int call = 0; call < 2; ++call) Run("jit__fun", 2, 100);
  Run("jit__fun", 3, 150);
  const auto tables = run_.Attribute();
  EXPECT_EQ(tables.modules[0].role, ModuleRole::kMain);
  EXPECT_EQ(tables.modules[1].role, ModuleRole::kHelper);
  // The first one, compiled again.
  EXPECT_EQ(tables.modules[2].role, ModuleRole::kMain);
}

}  // namespace
}  // namespace xlatrace::correlator
