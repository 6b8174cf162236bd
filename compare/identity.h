// SPDX-License-Identifier: Apache-2.0

// May two runs be compared, and how far? Looked at before anything else.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_IDENTITY_H_
#define XLATRACE_COMPARE_IDENTITY_H_

#include <string>
#include <vector>

#include "compare/run_rows.h"

namespace xlatrace::compare {

struct Identity {
  bool same_recording = false;
  // Sentences. With a refusal, times say nothing about the program: no verdict on them, and `gate`
  // ends as "not comparable". A qualification is said beside the verdict.
  std::vector<std::string> refusals;
  std::vector<std::string> qualifications;
  std::string
      other_inputs;  // "f32[8,16] -> f32[16,16]": arguments of the main program; empty: same.
  // What else is different and may be a reason: versions, command.
  std::vector<std::string> differences;

  bool comparable() const { return refusals.empty(); }
};

// How much two runs have in common, 0 to 1; below 0 where there is nothing to tell it by.
struct InCommon {
  double programs = -1;  // The part of their work that has a partner (instruction_match.h).
  double kernels = -1;   // Of runs without programs: the part of their time in kernels of both.
};

Identity Identify(const Run& base, const Run& now, const InCommon& common);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_IDENTITY_H_
