// SPDX-License-Identifier: Apache-2.0

// Aligns the kernels that a device ran, in launch order, with the thunk programs of the modules
// that may have launched them: which module ran from where to where, and which token of its program
// each kernel is.
//
// Dynamic programming over (program, token), as sequence alignment is done. What costs: a kernel
// that every execution launches and that is not there, an activity that fits nowhere, the start of
// an execution. All alignments of one execution that match as many kernels cost the same, so a
// token is beyond doubt only when no other one is possible within the cost of two lost records: of
// two launches of a reused kernel, one of which was lost, neither counts as known.
//
// Of alignments that cost the same, one that goes on in the same execution wins over one that
// starts another, then the one whose program and token come first. What the others would have
// named is in doubt: nothing hangs on which of them wins.
//
// Linear in the number of launches; a launch with c candidate tokens costs about 10 c steps.
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_SEQUENCE_ALIGNMENT_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_SEQUENCE_ALIGNMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "correlator/thunk_order/doubt.h"
#include "correlator/thunk_order/program/thunk_program.h"

namespace xlatrace::correlator {

struct Candidate {
  uint32_t program = 0;  // Index among the programs.
  uint32_t token = 0;
  // Others of the candidates fit the launch better: align::kOfAnotherSize or align::kOfUntoldSize.
  uint16_t doubt = 0;
};

struct SequenceItem {
  const std::vector<Candidate>* candidates = nullptr;  // Not null.
  uint32_t group = 0;  // Items of one group are of one execution; 0: not told.
};

struct AlignedItem {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t program = kNone;  // kNone: fits nowhere.
  uint32_t token = kNone;
  uint32_t execution = 0;      // Counts up with each start.
  Doubt doubt = Doubt::kNone;  // None: no other instruction is possible.
};

// Where an index among the programs is wanted and there is none.
inline constexpr uint32_t kNoProgram = AlignedItem::kNone;

struct Alignment {
  std::vector<AlignedItem> items;  // As many as were given.
  int64_t cost = 0;
};

// Where the launches begin and end.
struct SequenceEnds {
  bool clean_start = false;  // The first item begins an execution; else it may lie inside one.
  bool clean_end = false;    // The same of the last one and the end.
  // What is missing of the first or last execution may be missing because a recording was cut off,
  // which costs nothing and explains best. It may as well have been lost inside: what could be
  // another instruction then is in doubt.
  bool may_be_cut_off = false;
};

Alignment AlignSequence(std::span<const ThunkProgram* const> programs,
                        std::span<const SequenceItem> items, SequenceEnds ends);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_SEQUENCE_ALIGNMENT_H_
