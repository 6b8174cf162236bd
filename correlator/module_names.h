// SPDX-License-Identifier: Apache-2.0

// The user's function in a module's name.

#ifndef XLATRACE_CORRELATOR_MODULE_NAMES_H_
#define XLATRACE_CORRELATOR_MODULE_NAMES_H_

#include <string_view>

namespace xlatrace::correlator {

// "train_step" of `jit_train_step`, `pmap_train_step`, `jit_train_step.12` (JAX) and
// `a_inference_train_step_1585__XlaMustCompile_true_...` (tf.function). "cluster_0" of
// `cluster_0__XlaCompiledKernel_true_...` (TensorFlow's auto-clustering). "SyncTensorsGraph" of
// `SyncTensorsGraph.33142` (PyTorch/XLA). Any other name without its numeric suffix. The result is
// a part of `module_name`.
std::string_view FrameworkFunction(std::string_view module_name);

// The name without the suffix of some tools: `jit_f` for `jit_f(52)`.
std::string_view WithoutProgramId(std::string_view module_name);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_MODULE_NAMES_H_
