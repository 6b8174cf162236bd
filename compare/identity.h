// SPDX-License-Identifier: Apache-2.0

// Whether two runs can be compared, and with which restrictions. This is decided first.
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
  // Sentences. After a refusal, times allow no conclusion about the program: there is no verdict on
  // them, and `gate` ends as "not comparable". A qualification is reported beside the verdict.
  std::vector<std::string> refusals;
  std::vector<std::string> qualifications;
  std::string
      other_inputs;  // "f32[8,16] -> f32[16,16]": arguments of the main program; empty: equal.
  // Other differences that may be a reason: versions, command.
  std::vector<std::string> differences;

  bool comparable() const { return refusals.empty(); }
};

// Common part of two runs, 0 to 1; negative if it is not known.
struct InCommon {
  double programs = -1;  // The part of their work with a partner (instruction_match.h).
  double kernels = -1;   // For runs without programs: the part of their time in kernels of both.
};

Identity Identify(const Run& base, const Run& now, const InCommon& common);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_IDENTITY_H_
