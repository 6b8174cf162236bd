// SPDX-License-Identifier: Apache-2.0

// The launches of one execution of a module, in order: the pattern for thunk order.
//
// XLA:GPU emits one thunk per scheduled instruction and runs them in the order of the schedule, on
// one host thread (xla/service/gpu/thunk_emitter.cc). The walk over the schedule gives order, loops
// and branches. The thunk list, if there is one, gives the launches of each instruction (symbol,
// grid, block, kind). Without it, they come from the opcode. A fusion may then run under its own
// symbol or under that of an earlier fusion with the same body (kernel reuse).
//
// Thread-safety: immutable after construction.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_PROGRAM_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "correlator/thunk_order/program/program_regions.h"
#include "correlator/thunk_order/program/thunk_token.h"
#include "model/events.h"
#include "model/hlo_module.h"

namespace xlatrace::correlator {

class ThunkProgram {
 public:
  // Tokens [begin, end) run repeatedly.
  struct Loop {
    uint32_t begin = 0;
    uint32_t end = 0;
    int64_t trips = 1;     // Trip count, if XLA determined it.
    bool counted = false;  // XLA determined it.
    uint32_t body = 0;     // For an uncounted loop: start of the body, after the condition.
    ProgramRegions::Loop regions = {};
  };

  ThunkProgram() = default;
  // `graph_rows`: the run has graph-level rows. Then tokens have costs. If the content of CUDA
  // graphs is known (thunk lists after the thunk passes; HLO of 2023 to 2025), each graph has a
  // token before those that it contains.
  ThunkProgram(const model::HloModule& module, std::span<const model::Thunk> thunks,
               bool graph_rows = false);

  // As in a thunk list: each loop once, and all branches.
  void TakeEachOnce();

  // Renumbers the instructions for another copy of the module. Returns false, without a change, if
  // `number` returns kNoIndex for one of them.
  bool Renumber(const std::function<uint32_t(uint32_t)>& number);

  // Declares tokens as kernels, because the run contains such kernels. They are therefore not
  // copies, and every execution launches them.
  void SettleKernels(const std::vector<bool>& tokens);

  std::span<const ThunkToken> tokens() const { return tokens_; }
  size_t size() const { return tokens_.size(); }
  bool from_thunk_list() const { return from_thunk_list_; }

  // For each class of fusions with equal bodies, the tokens whose own symbol does not occur in the
  // run, ascending. They may run under another symbol. A fusion whose own symbol occurs was
  // compiled separately.
  using Unobserved = std::vector<std::vector<uint32_t>>;
  Unobserved NotObserved(const std::function<bool(std::string_view)>& observed) const;
  // Tokens that may launch a kernel with this symbol, ascending.
  std::vector<uint32_t> Matches(const model::LaunchConfig& config,
                                const Unobserved& unobserved) const;
  // Tokens of CUDA graphs, ascending.
  std::vector<uint32_t> Graphs() const;
  // Cost of tokens [first, last] together, each multiplied by its number of runs when the range
  // runs once.
  double CostNs(uint32_t first, uint32_t last) const;
  // Tokens of an instruction.
  std::vector<uint32_t> TokensOf(uint32_t instruction) const;

  // Number of kernels strictly between `from` and `to` whose records must be missing if the
  // activity of `to` follows that of `from`. It includes loops, all required kernels, and the
  // remainder of an entered branch or trip. Returns -1 if `to` cannot follow in one execution.
  // `from` = kStartIndex: from the beginning.
  static constexpr uint32_t kStartIndex = UINT32_MAX;
  int64_t Skipped(uint32_t from, uint32_t to) const;
  // Number of kernels that must be missing from `from` to the end.
  int64_t SkippedToEnd(uint32_t from) const;
  // The tokens that Skipped counts and the optional ones among them, in execution order. `to` =
  // size(): up to the end. Empty if there is no path. Leaving a loop that is not counted evaluates
  // its condition once more, so its tokens follow those of the body.
  std::vector<uint32_t> Between(uint32_t from, uint32_t to) const;

  // The kernels of an execution strictly between two tokens (kStartIndex: from its beginning;
  // size(): to its end), with loops repeated by their trip counts. `optional`: include kernels that
  // may run. Returns false if the kernels are not known. Reasons: `to` does not follow in the same
  // trip of a loop, a loop in between is not counted, or there are more than `most`.
  bool KernelsBetween(uint32_t from, uint32_t to, size_t most, std::vector<uint32_t>* kernels,
                      std::vector<uint32_t>* optional) const;

  // The same without loops that are not counted: the tokens after `from` that every execution runs
  // a known number of times. Returns false if only one of `from` and `to` is in a loop, or if there
  // are more than `most`.
  bool MarkersBetween(uint32_t from, uint32_t to, size_t most,
                      std::vector<uint32_t>* markers) const;
  // True if the token is in a loop that does not contain `other` (kStartIndex and size() are in no
  // loop).
  bool InLoopWithout(uint32_t token, uint32_t other) const;

  // All tokens in execution order, with loops repeated by their trip counts; not much longer than
  // `most`.
  std::vector<uint32_t> Unrolled(size_t most) const;
  // Tokens from `first` to `last`, which may precede `first` in the same loop.
  std::vector<uint32_t> Covered(uint32_t first, uint32_t last) const;
  // Number of runs of each token when tokens [first, last] run once: more than one in loops that
  // are completely inside.
  std::vector<double> Repeats(uint32_t first, uint32_t last) const;

  // Kernels with a symbol that every execution launches at least once, and CUDA graphs instead of
  // their content.
  int64_t required_kernels() const { return required_kernels_; }
  bool IsRequired(uint32_t token) const { return required_[token + 1] > required_[token]; }
  // Kernels in [begin, end) that every execution launches without graphs.
  int64_t KernelsWithoutGraphs(uint32_t begin, uint32_t end) const {
    return required_alone_[end] - required_alone_[begin];
  }
  // All symbols, for an index over modules.
  std::vector<std::string_view> Symbols() const;

 private:
  friend class ThunkProgramBuilder;

  void CountRequired();
  void IndexInstructions();
  void UnrollInto(uint32_t begin, uint32_t end, size_t loops, size_t most,
                  const std::vector<bool>& opens_loop, std::vector<uint32_t>* out) const;
  // Innermost loop that contains both, or nullptr.
  const Loop* CommonLoop(uint32_t a, uint32_t b) const;

  bool from_thunk_list_ = false;
  std::vector<ThunkToken> tokens_;
  std::vector<Loop> loops_;  // Inner loops first.
  ProgramRegions regions_;
  std::vector<int64_t> required_;        // Required kernels and graphs before each token.
  std::vector<int64_t> required_alone_;  // Required kernels per token, without graphs.
  int64_t required_kernels_ = 0;
  // Tokens by symbol: with a thunk list all users, otherwise the owner.
  TokensBySymbol by_symbol_;
  // Without a thunk list: tokens of fusions with one body, ascending, and the class of each token.
  std::vector<std::vector<uint32_t>> classes_;
  std::vector<uint32_t> class_of_;                             // By token; kNoIndex: none.
  std::vector<std::pair<uint32_t, uint32_t>> by_instruction_;  // (instruction, token), sorted.
  std::vector<std::string> own_symbol_;                        // By token, for members of classes.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_PROGRAM_H_
