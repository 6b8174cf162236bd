// SPDX-License-Identifier: Apache-2.0

// Prints an HLO program as text, in XLA's long form: the inverse of the readers.
//
// Input: a module from either reader. Prints everything in the model: header and its attributes,
// stack frame tables, program shapes, layouts, literals, operands, called computations and
// attributes. A test reads the text again and gets the same model. The exceptions have no place in
// text: ids, the program id, the platform and peak memory.
//
// From text, attributes are printed as they were read. From a proto, they are made from the fields
// in the model. So attributes that only the proto has (sharding, precision, ...) are absent, and
// replica groups are replaced by one group of the largest size. In names that text cannot contain
// (control characters, blanks), '_' replaces these characters. Instructions that the text contains
// only as "%fusion.3#1" are not printed.
//
// Thread-safety: pure functions of an immutable module.
// Source: HloModule::Print, HloComputation::Print, HloInstruction::PrintWithCanonicalNameMap.

#ifndef XLATRACE_HLO_TEXT_TEXT_PRINTER_H_
#define XLATRACE_HLO_TEXT_TEXT_PRINTER_H_

#include <string>
#include <string_view>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

std::string PrintText(const model::HloModule& module);

// One line without indentation and newline: "ROOT %add.1 = f32[] add(%a, %b), metadata={...}".
std::string PrintInstruction(const model::HloModule& module, const model::Instruction& instruction);

// `text` as the content of a quoted string: quotes, backslashes and control characters escaped.
std::string EscapeText(std::string_view text);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_PRINTER_H_
