// SPDX-License-Identifier: Apache-2.0
#include "correlator/module_names.h"

#include <gtest/gtest.h>

namespace xlatrace::correlator {
namespace {

TEST(FrameworkFunction, JitPrefixIsRemovedFromTheFunction) {
  EXPECT_EQ(FrameworkFunction("jit_train_step"), "train_step");
  EXPECT_EQ(FrameworkFunction("jit_train_step(52)"), "train_step");
  EXPECT_EQ(FrameworkFunction("jit_f.12"), "f");
  EXPECT_EQ(FrameworkFunction("jit(f)"), "f");
  EXPECT_EQ(FrameworkFunction("pjit__wrapped_step_fn"), "_wrapped_step_fn");
  EXPECT_EQ(FrameworkFunction("pmap_train_step"), "train_step");
  EXPECT_EQ(FrameworkFunction("jit__fun"), "_fun");
  EXPECT_EQ(FrameworkFunction("SyncTensorsGraph.33142"), "SyncTensorsGraph");
}

TEST(FrameworkFunction, FunctionFollowsFromTensorFlowsNames) {
  EXPECT_EQ(FrameworkFunction("a_inference_train_step_1585__XlaMustCompile_true_config_proto_"
                              "13561319589895757934_executor_type_11160318154034397263_.683"),
            "train_step");
  EXPECT_EQ(FrameworkFunction("a_inference_one_step_on_data_2047__.26"), "one_step_on_data");
  EXPECT_EQ(FrameworkFunction("a_inference_run_step_1581__.968"), "run_step");
  EXPECT_EQ(FrameworkFunction("cluster_3__XlaCompiledKernel_true__XlaHasReferenceVars_false__"
                              "XlaNumConstantArgs_0__XlaNumResourceArgs_1_.2"),
            "cluster_3");
}

TEST(FrameworkFunction, OtherModuleNamesAreUnchanged) {
  EXPECT_EQ(FrameworkFunction(""), "");
  EXPECT_EQ(FrameworkFunction("jit_"), "jit");
  EXPECT_EQ(FrameworkFunction("jitter"), "jitter");
  EXPECT_EQ(FrameworkFunction(".5"), ".5");
  EXPECT_EQ(FrameworkFunction("(5)"), "(5)");
  EXPECT_EQ(FrameworkFunction("main"), "main");
}

}  // namespace
}  // namespace xlatrace::correlator
