// SPDX-License-Identifier: Apache-2.0

// HLO text of a module from the strings that XLA registered for it.
//
// The texts of called computations give all computations except the entry. The entry consists of
// the other instructions. Names, opcodes, shapes, operands, metadata and attributes are XLA's own
// text; the stack frame tables are made from the printed Python stacks. The strings do not contain
// the entry's name ("main"), its order and its root. The order follows `order` as far as data flow
// and control dependencies permit. The root is the last unused tuple, or else the last unused
// instruction that computes a value. Texts that XLA cut (at 65,330 bytes) are completed from the
// lines of their instructions.
//
// Thread-safety: re-entrant. Time and memory: O(n log n) in the size of the texts.

#ifndef XLATRACE_IMPORTERS_RECORDING_HLO_REBUILD_H_
#define XLATRACE_IMPORTERS_RECORDING_HLO_REBUILD_H_

#include <cstdint>
#include <functional>
#include <string>

#include "importers/recording/registered_modules.h"

namespace xlatrace::importers {

struct RebuiltModule {
  std::string text;            // Input of hlo::ReadText.
  int64_t completed = 0;       // Number of computations whose text had been cut.
  int64_t missing = 0;         // Called computations without text; stubs.
  int64_t undefined = 0;       // Operands without a line; stubs.
  int64_t instructions = 0;    // Instructions of the entry computation.
  int64_t unknown_frames = 0;  // Number of instructions whose place in the source is unknown.
};

// `order`: time at which an instruction was first seen running; INT64_MAX if it was not seen.
using InstructionOrder = std::function<int64_t(const RegisteredInstruction&)>;

RebuiltModule RebuildHlo(const RegisteredModule& module, const InstructionOrder& order);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_HLO_REBUILD_H_
