// SPDX-License-Identifier: Apache-2.0

// One instruction on one line, in short form: HLO text without layouts, attributes
// and metadata.
//
// Thread-safety: pure.

#ifndef XLATRACE_HLO_INSTRUCTION_TEXT_H_
#define XLATRACE_HLO_INSTRUCTION_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// "ROOT add.3 = f32[8] add(p.0, p.1)"; with the kind of a fusion, and the callees of other opcodes.
std::string ShortText(const model::HloModule& module, const model::Instruction& instruction);

// Line of the text that the module was read from, from 1; empty for other sources.
std::optional<int64_t> LineOf(const model::HloModule& module,
                              const model::Instruction& instruction);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_INSTRUCTION_TEXT_H_
