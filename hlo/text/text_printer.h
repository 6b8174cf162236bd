// SPDX-License-Identifier: Apache-2.0

// Prints an HLO program as text, in XLA's long form: the way back from the model.
//
// Gets a module from either reader; gives everything the model holds: header and its attributes,
// stack frame tables, program shapes, layouts, literals, operands, called computations and
// attributes. Reading the text again gives the same model (the round trip is a test), except what
// text has no place for: ids, the program id, the platform and peak memory.
//
// From text, attributes are printed as they were read. From a proto they are made from the fields
// the model holds: what only the proto tells (sharding, precision, ...) is not there, and of
// replica groups one of the size of the largest. Names that text cannot hold (control characters,
// blanks) are respelled with '_'. Instructions that the text holds as "%fusion.3#1" only are not
// printed.
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

// `text` as the inside of a quoted string: quotes, backslashes and control characters escaped.
std::string EscapeText(std::string_view text);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_PRINTER_H_
