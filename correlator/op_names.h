// SPDX-License-Identifier: Apache-2.0

// The op_name texts: changes by XLA when it merges instructions.

#ifndef XLATRACE_CORRELATOR_OP_NAMES_H_
#define XLATRACE_CORRELATOR_OP_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::correlator {

// XLA joins the names of merged instructions with ';'; returns the first one. A ';' inside brackets
// (parameters that old JAX prints) does not separate.
std::string_view FirstOpName(std::string_view op_name);

// The names in a combined collective's `PREFIX/(A:B:C)` (XLA since 2025), one per operand, each
// with its prefix: "PREFIX/A", ... Empty if `op_name` has another form. A ':' inside brackets does
// not separate.
std::vector<std::string> CombinedOpNames(std::string_view op_name);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_OP_NAMES_H_
