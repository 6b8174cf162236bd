// SPDX-License-Identifier: Apache-2.0

// Op_names that XLA joined with ';' where it merged instructions: where the first one ends.
//
// "jit(f)/a/mul;jit(f)/b/add" are two. Later ones may be relative to a jit inside of the first
// ("...;transpose(jvp())/add", "...;mul"). A scope of the program may have the same sign in its
// name
// ("jit(f)/a;b/mul" is one): then what follows is a component that neither XLA nor JAX writes at a
// name's beginning and that is nowhere in what precedes, and more components follow.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_MODEL_JOINED_NAMES_H_
#define XLATRACE_MODEL_JOINED_NAMES_H_

#include <string_view>

namespace xlatrace::model {

// The first of the joined names; `op_name` itself where it is one.
std::string_view FirstOfJoined(std::string_view op_name);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_JOINED_NAMES_H_
