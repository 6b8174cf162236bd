// SPDX-License-Identifier: Apache-2.0

// Aligns the kernels of a device, in launch order, with the thunk programs of the modules that may
// have launched them. It finds the module of each part of the sequence, and the token of each
// kernel in its program.
//
// Dynamic programming over (program, token), as in sequence alignment. Costs: a missing kernel that
// every execution launches, an activity that matches nothing, the start of an execution. All
// alignments of one execution with equally many matching kernels have equal costs. A token is
// therefore certain only if no other token is possible within the cost of two lost records. If one
// of two launches of a reused kernel was lost, neither is certain.
//
// Among alignments of equal cost, one that continues the same execution wins over one that starts
// another. Then the one with the first program and token wins. Items that differ between them are
// in doubt, so the choice has no effect on certainty.
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
  // Other candidates fit the launch better: align::kOtherSizeCost or align::kUnknownSizeCost.
  uint16_t doubt = 0;
};

struct SequenceItem {
  const std::vector<Candidate>* candidates = nullptr;  // Not null.
  uint32_t group = 0;  // Items of one group belong to one execution; 0: the group is not known.
};

struct AlignedItem {
  static constexpr uint32_t kNoIndex = UINT32_MAX;
  uint32_t program = kNoIndex;  // kNoIndex: fits nowhere.
  uint32_t token = kNoIndex;
  uint32_t execution = 0;      // Incremented at each start.
  Doubt doubt = Doubt::kNone;  // kNone: no other instruction is possible.
};

// A missing index among the programs.
inline constexpr uint32_t kNoProgramIndex = AlignedItem::kNoIndex;

struct Alignment {
  std::vector<AlignedItem> items;  // One per given item.
  int64_t cost = 0;
};

// Properties of both ends of the launches.
struct SequenceEnds {
  bool clean_start = false;  // The first item begins an execution; otherwise it may be inside one.
  bool clean_end = false;    // The last item ends an execution; otherwise it may be inside one.
  // Missing items of the first or last execution may have been cut off by the recording. This costs
  // nothing and is the best explanation. They may also have been lost inside, so items that may be
  // another instruction are in doubt then.
  bool may_be_cut_off = false;
};

Alignment AlignSequence(std::span<const ThunkProgram* const> programs,
                        std::span<const SequenceItem> items, SequenceEnds ends);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_SEQUENCE_ALIGNMENT_H_
