// SPDX-License-Identifier: Apache-2.0
#include "hlo/module_origin.h"

#include <gtest/gtest.h>

namespace xlatrace::hlo {
namespace {

// Module names as frameworks print them (facts of dumps of JAX 0.4.13 to 0.10 and TF 2.15, 2.21).
TEST(ModuleOrigin, FunctionIsFoundForEveryFramework) {
  struct Case {
    const char* module;
    const char* how;
    const char* function;
    const char* text;
  };
  const Case cases[] = {
      {"jit_train_step", "jit", "train_step", "jit train_step"},
      {"jit_f.12", "jit", "f", "jit f"},
      {"jit__normal", "jit", "_normal", "jit _normal"},
      {"pjit__wrapped_step_fn", "pjit", "_wrapped_step_fn", "pjit _wrapped_step_fn"},
      {"pmap__unnamed_wrapped_function_.186875", "pmap", "_unnamed_wrapped_function_",
       "pmap _unnamed_wrapped_function_"},
      {"a_inference_step_853__XlaMustCompile_true_config_proto_135_executor_type_111_.23",
       "tf.function", "step", "tf.function step"},
      {"a_inference_one_step_on_data_2047__.26", "tf.function", "one_step_on_data",
       "tf.function one_step_on_data"},
      {"cluster_3__XlaCompiledKernel_true__XlaNumConstantArgs_0__XlaNumResourceArgs_1_.2",
       "cluster", "cluster_3", "cluster_3"},
      {"SyncTensorsGraph.33142", "torch_xla", "SyncTensorsGraph", "torch_xla SyncTensorsGraph"},
      {"xla_computation_f.4", "xla_computation", "f", "xla_computation f"},
      {"main.7", "", "main", "main"},
      {"jitter", "", "jitter", "jitter"},
      {"cluster_analysis", "", "cluster_analysis", "cluster_analysis"},
      {"", "", "", ""},
  };
  for (const Case& c : cases) {
    const ModuleOrigin origin = OriginOfModule(c.module);
    EXPECT_EQ(origin.how, c.how) << c.module;
    EXPECT_EQ(origin.function, c.function) << c.module;
    EXPECT_EQ(origin.Text(), c.text) << c.module;
  }
}

}  // namespace
}  // namespace xlatrace::hlo
