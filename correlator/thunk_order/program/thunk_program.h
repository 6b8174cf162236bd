// SPDX-License-Identifier: Apache-2.0

// What one execution of a module launches, in order: the pattern that thunk order is matched with.
//
// XLA:GPU emits one thunk per scheduled instruction and runs them in the order of the schedule, on
// one host thread (xla/service/gpu/thunk_emitter.cc). The walk over the schedule gives order, loops
// and branches. The thunk list, where there is one, says what each instruction launches (symbol,
// grid, block, kind); without it, that is deduced from the opcode, and a fusion may run under its
// own symbol or under that of an earlier fusion with the same body (kernel reuse).
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
  // Tokens [begin, end) run again and again.
  struct Loop {
    uint32_t begin = 0;
    uint32_t end = 0;
    int64_t trips = 1;     // Where XLA found them out.
    bool counted = false;  // It did.
    uint32_t body = 0;  // Where the body begins, of one that is not counted: behind the condition.
    ProgramRegions::Loop regions = {};
  };

  ThunkProgram() = default;
  // `graph_rows`: the run has graph-level rows. Then tokens have costs, and where it is known what
  // XLA recorded into CUDA graphs (lists of thunks made after the thunk passes; HLO of 2023 to
  // 2025) each graph has a token of its own in front of those that it holds.
  ThunkProgram(const model::HloModule& module, std::span<const model::Thunk> thunks,
               bool graph_rows = false);

  // As a list of thunks has them: loops once, branches all.
  void TakeEachOnce();

  // The same program in a module that numbers its instructions otherwise; false, and nothing
  // changes, where `number` has none for one of them (kNoIndex).
  bool Renumber(const std::function<uint32_t(uint32_t)>& number);

  // These tokens are known to be kernels in this run (the run holds a kernel that they can be), so
  // that they are no copies, and every execution launches them.
  void SettleKernels(const std::vector<bool>& tokens);

  std::span<const ThunkToken> tokens() const { return tokens_; }
  size_t size() const { return tokens_.size(); }
  bool from_thunk_list() const { return from_thunk_list_; }

  // Of each class of fusions with one body, the tokens whose own symbol does not occur in the run,
  // ascending: those that may run under another's. A fusion whose own symbol occurs was compiled
  // for itself.
  using Unobserved = std::vector<std::vector<uint32_t>>;
  Unobserved NotObserved(const std::function<bool(std::string_view)>& observed) const;
  // Tokens that may launch such a kernel, ascending.
  std::vector<uint32_t> Matches(const model::LaunchConfig& config,
                                const Unobserved& unobserved) const;
  // Those that are CUDA graphs, ascending.
  std::vector<uint32_t> Graphs() const;
  // What tokens [first, last] cost together, each as often as it runs when they run once.
  double CostNs(uint32_t first, uint32_t last) const;
  // Tokens of an instruction.
  std::vector<uint32_t> TokensOf(uint32_t instruction) const;

  // How many kernels strictly between `from` and `to` must leave a record that is missing when the
  // activity of `to` follows that of `from`, loops included: all that always run, and the rest of a
  // branch or of a trip that was entered; -1: cannot follow in one execution.
  // `from` = kStart: from the beginning.
  static constexpr uint32_t kStart = UINT32_MAX;
  int64_t Skipped(uint32_t from, uint32_t to) const;
  // The same up to the end.
  int64_t SkippedToEnd(uint32_t from) const;
  // The tokens that Skipped counts and the optional ones among them, in the order in which they
  // run; `to` = size(): up to the end. Empty where there is no way. Whoever leaves a loop that is
  // not counted evaluates its condition once more: its tokens stand behind those of the body.
  std::vector<uint32_t> Between(uint32_t from, uint32_t to) const;

  // The kernels that an execution launches strictly between two tokens (kStart: from its beginning;
  // size(): to its end), loops as often as XLA knows that they run. `optional`: those that may run
  // besides. False where that is not known: `to` does not follow in the same trip of a loop, a loop
  // in between is not counted, or there are more than `most`.
  bool KernelsBetween(uint32_t from, uint32_t to, size_t most, std::vector<uint32_t>* kernels,
                      std::vector<uint32_t>* optional) const;

  // The same without what lies in loops that are not counted: of tokens from the first behind
  // `from` on that every execution runs a known number of times. False where `from` or `to` lies in
  // a loop that the other one is outside of, or there are more than `most`.
  bool MarkersBetween(uint32_t from, uint32_t to, size_t most,
                      std::vector<uint32_t>* markers) const;
  // In a loop, and not with `other` (kStart and size() are in none).
  bool InLoopWithout(uint32_t token, uint32_t other) const;

  // Every token in the order in which it runs, loops as often as XLA knows that they run; not much
  // longer than `most`.
  std::vector<uint32_t> Unrolled(size_t most) const;
  // Tokens from `first` to `last`, which may lie before it in the same loop.
  std::vector<uint32_t> Covered(uint32_t first, uint32_t last) const;
  // How often each token runs when tokens [first, last] run once: more than once in loops that lie
  // inside as a whole.
  std::vector<double> Repeats(uint32_t first, uint32_t last) const;

  // Kernels with a symbol that every execution launches at least once, and CUDA graphs in place of
  // what they hold.
  int64_t required_kernels() const { return required_kernels_; }
  bool IsRequired(uint32_t token) const { return required_[token + 1] > required_[token]; }
  // Kernels that every execution launches where graphs are not used, in [begin, end).
  int64_t KernelsWithoutGraphs(uint32_t begin, uint32_t end) const {
    return required_alone_[end] - required_alone_[begin];
  }
  // Every symbol, for an index over modules.
  std::vector<std::string_view> Symbols() const;

 private:
  friend class ThunkProgramBuilder;

  void CountRequired();
  void IndexInstructions();
  void UnrollInto(uint32_t begin, uint32_t end, size_t loops, size_t most,
                  const std::vector<bool>& opens_loop, std::vector<uint32_t>* out) const;
  // Innermost loop that holds both, or nullptr.
  const Loop* CommonLoop(uint32_t a, uint32_t b) const;

  bool from_thunk_list_ = false;
  std::vector<ThunkToken> tokens_;
  std::vector<Loop> loops_;  // Inner ones first.
  ProgramRegions regions_;
  std::vector<int64_t> required_;        // Kernels that always run, and graphs, before each token.
  std::vector<int64_t> required_alone_;  // As if there were no graphs.
  int64_t required_kernels_ = 0;
  // Symbol -> tokens that are named so; with a thunk list all users, else the owner.
  TokensBySymbol by_symbol_;
  // Without a thunk list: tokens of fusions with one body, ascending, and each token's class.
  std::vector<std::vector<uint32_t>> classes_;
  std::vector<uint32_t> class_of_;                             // By token; kNoIndex: none.
  std::vector<std::pair<uint32_t, uint32_t>> by_instruction_;  // (instruction, token), sorted.
  std::vector<std::string> own_symbol_;                        // By token, for members of classes.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_THUNK_PROGRAM_H_
