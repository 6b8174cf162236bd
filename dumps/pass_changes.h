// SPDX-License-Identifier: Apache-2.0

// The effect of each pass of a compilation, from one dump to the next.
//
// Thread-safety: re-entrant. Memory: as many modules as there are cores.

#ifndef XLATRACE_DUMPS_PASS_CHANGES_H_
#define XLATRACE_DUMPS_PASS_CHANGES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dumps/pass_timeline.h"

namespace xlatrace::dumps {

struct StepCounts {
  std::string error;  // The dump cannot be read, and the figures are not set.
  int64_t instructions = 0;
  int64_t operations = 0;                               // Instructions outside of fusions that do
                                                        // work.
  std::map<std::string, int64_t, std::less<>> opcodes;  // Count of each opcode among these.
  uint64_t content_hash = 0;                            // Names, opcodes, shapes, operands.
  uint64_t text_hash = 0;  // The bytes of the file, with attributes and layouts of literals.
};

// One entry per step.
std::vector<StepCounts> CountSteps(const std::vector<PassStep>& steps);

// "+12 fusion  -40 add  -3 copy and 4 more": the largest differences first, at most `most`.
std::string DeltaText(const std::map<std::string, int64_t, std::less<>>& before,
                      const std::map<std::string, int64_t, std::less<>>& after, size_t most);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_PASS_CHANGES_H_
