// SPDX-License-Identifier: Apache-2.0

// HLO text of a module from the strings that XLA registered for it.
//
// The text of called computations gives all computations but the entry; the entry is the
// instructions that lie in none of them. Names, opcodes, shapes, operands, metadata and attributes
// are XLA's own text; the stack frame tables are made from the printed Python stacks. What the
// strings do not hold: the entry's name ("main") and its order, which follows `order` as far as
// data flow and control dependencies let it, and which of several unused instructions is its root
// (the last tuple, else the last that computes something). Texts that were cut (XLA cuts at 65,330
// bytes) are completed from the lines of their instructions.
//
// Thread-safety: re-entrant. Time and memory are linear in the texts but for a logarithm.

#ifndef XLATRACE_IMPORTERS_RECORDING_HLO_REBUILD_H_
#define XLATRACE_IMPORTERS_RECORDING_HLO_REBUILD_H_

#include <cstdint>
#include <functional>
#include <string>

#include "importers/recording/registered_modules.h"

namespace xlatrace::importers {

struct RebuiltModule {
  std::string text;            // What hlo::ReadText accepts.
  int64_t completed = 0;       // Computations whose text had been cut.
  int64_t missing = 0;         // Computations that are called but were not told; stubs.
  int64_t undefined = 0;       // Operands of which no line was told; stubs.
  int64_t instructions = 0;    // Of the entry computation.
  int64_t unknown_frames = 0;  // Instructions whose place in the source is not known.
};

// `order`: when an instruction was first seen running; INT64_MAX when it was not.
using InstructionOrder = std::function<int64_t(const RegisteredInstruction&)>;

RebuiltModule RebuildHlo(const RegisteredModule& module, const InstructionOrder& order);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_HLO_REBUILD_H_
