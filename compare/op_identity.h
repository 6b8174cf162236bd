// SPDX-License-Identifier: Apache-2.0

// Features of an operation that are equal in two compilations of one program, independent of its
// name in the module.
//
// An op_name is reduced to the parts that survive a release of the framework: scopes, primitive,
// and whether it belongs to the gradient. Parameters of primitives, `jit(main)` and empty `jvp()`
// are dropped, because JAX versions differ in printing them (analysis/op_name.h).
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_OP_IDENTITY_H_
#define XLATRACE_COMPARE_OP_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "hlo/shape.h"
#include "model/hlo_module.h"

namespace xlatrace::compare {

// Hashes of features; equal if the features are equal. 0: not known.
struct OpIdentity {
  // Opcode without its asynchronous form. A library call has its kind of work as opcode, so that a
  // gemm equals a dot.
  uint64_t work = 0;
  uint64_t shape = 0;    // Element types and dimensions, without those of size 1, which vary.
  uint64_t dims = 0;     // Dimensions only, without those of size 1.
  uint64_t scope = 0;    // Scopes and primitive of the op_name.
  uint64_t name = 0;     // Like `name`, but with marks: gradient, recomputed.
  uint64_t leaf = 0;     // Primitive only.
  uint64_t layer = 0;    // Scopes only.
  uint64_t source = 0;   // File name and line.
  uint64_t literal = 0;  // Value of a constant, number of a parameter, index of an element.
};

std::vector<OpIdentity> IdentitiesOf(const model::HloModule& module);

// Sets `shape` and `dims` to those of another shape.
void SetShape(std::string_view shape, OpIdentity& identity);
void SetShape(const hlo::ArrayShape& shape, OpIdentity& identity);

// "dot", "fusion"...: `identity.work` as text. A library call of known kind is "dot" or
// "convolution".
std::string_view WorkOf(const model::HloModule& module, const model::Instruction& instruction);

// The op_name as described above, for people and for keys: "layer_0/dot_general", with the prefix
// "gradient of " or "recomputed ". Empty without a name.
std::string CanonicalOpName(std::string_view op_name);
// "dot_general" of "jit(f)/mlp/dot_general[dimension_numbers=...]": the last component without the
// parameters of the primitive. "args[0]" is a name and stays.
std::string_view LeafOf(std::string_view op_name);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_OP_IDENTITY_H_
