// SPDX-License-Identifier: Apache-2.0

// Op_names that XLA joined with ';' when it merged instructions: finds the end of the first one.
//
// "jit(f)/a/mul;jit(f)/b/add" are two names. Later ones may be relative to a jit inside of the
// first ("...;transpose(jvp())/add", "...;mul"). A scope of the program may contain ';' itself
// ("jit(f)/a;b/mul" is one name). The component after such a ';' is one that neither XLA nor JAX
// writes at the beginning of a name. It occurs nowhere before, and more components follow.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_MODEL_JOINED_NAMES_H_
#define XLATRACE_MODEL_JOINED_NAMES_H_

#include <string_view>

namespace xlatrace::model {

// The first of the joined names; `op_name` itself if it is one name.
std::string_view FirstOfJoined(std::string_view op_name);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_JOINED_NAMES_H_
