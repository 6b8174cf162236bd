// SPDX-License-Identifier: Apache-2.0

// Parses an op_name, the framework's name of an operation, in the grammar of any era.
//
// JAX prints a name stack, a transform around the scope that follows it, and the primitive last:
//     jit(train_step)/jit(main)/transpose(jvp(LM))/block_1/up/dot_general[dimension_numbers=...]
// (jax/_src/source_info_util.py; `jit(main)` until 0.6, primitive parameters until 0.4.31, `jvp()`
// for "no scope" since 0.7). XLA joins the names of merged ops with ';' and those of combined
// collectives as `prefix/(a:b:c)`. TensorFlow prints the node name: name scopes, then the op, with
// `gradient_tape/` or `gradients/` before the ops of differentiation.
//
// The name alone does not decide the phase: see analysis/phase.h. Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_OP_NAME_H_
#define XLATRACE_ANALYSIS_OP_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::analysis {

struct OpName {
  enum class Kind : uint8_t {
    kEmpty,
    kRooted,    // JAX: starts with jit(f), pjit(f), pmap(f).
    kPath,      // Has scopes but no such start: a TensorFlow name, or a JAX name relative to its
                // caller.
    kBare,      // One component: "reduce_sum", "AddN_4", "XLA_Args".
    kArgument,  // The path of an argument in its tree: params['layer_0']['w'], state[0].mu[1].
  };

  Kind kind = Kind::kEmpty;
  std::string function;                // Rooted: "train_step".
  std::vector<std::string> scopes;     // Layer path: no transforms, control flow, einsum specs,
                                       // calls, nor immediate repetition; without the leaf.
  std::vector<std::string> functions;  // Nested jit(f): "log_softmax".
  std::string leaf;                    // Primitive or framework op, without parameters.

  // Transforms and marks anywhere in the name.
  bool jvp = false;
  bool transpose = false;
  bool vmap = false;
  bool jit_main = false;  // JAX until 0.6.
  // Component `remat`, which JAX up to 0.4.13 uses for both backward and recomputation.
  bool remat = false;
  bool checkpoint = false;      // Component `checkpoint`.
  bool rematted = false;        // Component `rematted_computation`.
  bool gradient = false;        // TF: gradient_tape/ or gradients/.
  bool grad_component = false;  // TF: a component ends in _grad (v1 gradients, custom gradients).
  bool einsum = false;
  // Inside the body of a while; its differentiation does not start inside that body.
  bool loop = false;
  bool combined = false;  // prefix/(a:b:c); describes the first part.
};

OpName ParseOpName(std::string_view op_name);

// Splits a `prefix/(a:b:c)` name into its names, each with the prefix. Otherwise returns the name
// itself. If names are joined with ';', the first is used, because XLA puts the op that absorbed
// the others first.
std::vector<std::string> PartsOfOpName(std::string_view op_name);

// True if the name is relative to a call. JAX 0.7 and later give such names to ops of called
// functions, until XLA inlines the function.
bool IsRelative(const OpName& name);

// The string keys of an argument path: params['params']['block_0']['kernel'] gives
// {"params", "block_0", "kernel"}. Empty if there are none.
std::vector<std::string> ArgumentKeys(std::string_view op_name);

// The component without the number that makes it unique: `einsum_1` gives `einsum`.
std::string_view WithoutNumber(std::string_view component);

// Splits at `separator` outside of brackets. Brackets in quotes are ignored.
std::vector<std::string_view> SplitTopLevel(std::string_view text, char separator);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OP_NAME_H_
