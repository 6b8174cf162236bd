// SPDX-License-Identifier: Apache-2.0

// Derives from a module's name the function of the user's program that it was compiled from.
//
//   jit_train_step                                   JAX: jit of train_step (pmap_, pjit_ likewise)
//   pmap__unnamed_wrapped_function_.186875           JAX until 2022, with the builder's number
//   a_inference_step_853__XlaMustCompile_true_....23 TensorFlow: tf.function(jit_compile=True) step
//   cluster_3__XlaCompiledKernel_true_....2          TensorFlow: automatic clustering
//   SyncTensorsGraph.33142, IrToHlo.7                PyTorch/XLA
//   xla_computation_f.4                              jax.xla_computation
//
// Thread-safety: pure.

#ifndef XLATRACE_HLO_MODULE_ORIGIN_H_
#define XLATRACE_HLO_MODULE_ORIGIN_H_

#include <string>
#include <string_view>

namespace xlatrace::hlo {

struct ModuleOrigin {
  // "jit", "pmap", "pjit", "tf.function", "cluster", "torch_xla", "xla_computation"; empty:
  // unknown.
  std::string_view how;
  std::string function;  // "train_step"; of a cluster "cluster_3"; never empty.

  // "jit train_step", "tf.function step", "cluster_3", or the name alone.
  std::string Text() const;
};

ModuleOrigin OriginOfModule(std::string_view module_name);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_MODULE_ORIGIN_H_
