// SPDX-License-Identifier: Apache-2.0

// The source line that causes the collectives that XLA's partitioner adds to change a sharding.
//
// The partitioner gives such a collective the metadata of the moved value, so that its line is that
// of the producer. The cause is the sharding constraint after the producer. Optimised HLO does not
// contain constraints, but the module's table of stack frames still has the frame of the
// constraint. The cause is known if exactly one line of unused frames lies between the producer's
// line and the reader's line, in the same function.
//
// Thread-safety: pure after construction. Linear in the module.

#ifndef XLATRACE_HLO_RESHARDING_H_
#define XLATRACE_HLO_RESHARDING_H_

#include <cstdint>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

class Resharding {
 public:
  // The module must outlive this.
  explicit Resharding(const model::HloModule& module);

  // Stack frame (1-based) of the constraint that made this collective necessary. 0: the instruction
  // is no such collective, or its cause is unknown.
  uint32_t ConstraintOf(uint32_t instruction) const;

 private:
  bool IsAddedByPartitioner(const model::Instruction& instruction) const;
  int32_t LastReadingLine(uint32_t collective) const;
  uint32_t AncestorBeside(uint32_t frame, const model::StackFrame& producer) const;

  const model::HloModule& module_;
  std::vector<uint32_t> unused_frames_;  // Leaves of the table that no instruction uses.
  std::vector<std::vector<uint32_t>> users_;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_RESHARDING_H_
