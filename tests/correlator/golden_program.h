// SPDX-License-Identifier: Apache-2.0

// Programs of a few words for the correlator's tests, one instruction a line:
//
//   before  cosine          a fusion; those with one opcode (and size) have one body, and so one
//   kernel loop 3                  runs three times; "loop ?": nobody knows how often
//     inside  negate
//   end
//   graph call.1            a command buffer, launched as one CUDA graph
//     within  sine
//   end
//   product gemm            also fft, copy, all-reduce; call: a custom call of the user's own
//   large   negate 4096     of another size
//
// The product of XLA's compilation: HLO text, and the launches of one execution. Written from XLA's
// rules without the correlator's code. A fusion whose body was compiled before runs under the first
// kernel (kernel_reuse_cache.cc); symbols are names with underscores (llvm_util.cc).

#ifndef XLATRACE_TESTS_CORRELATOR_GOLDEN_PROGRAM_H_
#define XLATRACE_TESTS_CORRELATOR_GOLDEN_PROGRAM_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace xlatrace::correlator {

struct ProgramOp {
  std::string name;  // Made up if it is a loop.
  std::string op;    // "loop" holds others.
  int64_t size = 8;
  int64_t trips = 1;  // -1: not known to XLA.
  std::vector<ProgramOp> body = {};
};

// Up to a line "end" that closes no loop. Fails the test where a line is not understood.
std::vector<ProgramOp> ReadProgram(std::istream& lines);

std::string HloText(const std::string& module, const std::vector<ProgramOp>& program);

struct TrueLaunch {
  std::string symbol;  // "copy": a copy on the device.
  std::string instruction;
  int64_t size = 8;

  bool operator==(const TrueLaunch&) const = default;
};

// Launches of one execution; loops of unknown length run `trips` times.
std::vector<TrueLaunch> LaunchesOf(const std::vector<ProgramOp>& program, int64_t trips = 2);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_TESTS_CORRELATOR_GOLDEN_PROGRAM_H_
