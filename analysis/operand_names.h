// SPDX-License-Identifier: Apache-2.0

// The names in InstructionRow::operands ("a, %b, c").

#ifndef XLATRACE_ANALYSIS_OPERAND_NAMES_H_
#define XLATRACE_ANALYSIS_OPERAND_NAMES_H_

#include <cstddef>
#include <string_view>

namespace xlatrace::analysis {

// Calls `use` with each name (without '%') until `use` returns false.
template <typename Use>
void ForEachOperand(std::string_view operands, Use&& use) {
  while (!operands.empty()) {
    const size_t comma = operands.find(',');
    std::string_view name = operands.substr(0, comma);
    operands = comma == operands.npos ? std::string_view() : operands.substr(comma + 1);
    while (!name.empty() && (name.front() == ' ' || name.front() == '%')) name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!use(name)) return;
  }
}

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OPERAND_NAMES_H_
