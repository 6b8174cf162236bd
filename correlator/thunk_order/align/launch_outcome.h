// SPDX-License-Identifier: Apache-2.0

// A kind of launch, as order evidence looks at it, and what order says of one launch.
//
// Thread-safety: plain data.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_OUTCOME_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_OUTCOME_H_

#include <cstdint>
#include <vector>

#include "correlator/thunk_order/align/sequence_alignment.h"
#include "correlator/thunk_order/doubt.h"
#include "correlator/thunk_order/program/launch_kind.h"

namespace xlatrace::correlator {

// What is known of a launch before order is looked at.
enum class Said : uint8_t {
  kNothing,
  kModuleAtBest,  // It may be that module's: the name fits, or others of its group say so.
  kModule,        // The source means that very module.
  kInstruction,   // The instruction itself, beyond doubt.
};

struct LaunchCase {
  LaunchKind kind = LaunchKind::kOther;
  CollectiveKind collective = CollectiveKind::kAny;
  LibraryKind library = LibraryKind::kAny;
  std::vector<Candidate> candidates;     // Tokens that it can be; empty: no anchor.
  uint32_t module = AlignedItem::kNone;  // As was said; index among the programs.
  Said said = Said::kNothing;
  uint32_t symbol = 0;  // Number of its kernel's name; 0: it only says what a single op does.
  // Launches of that name have more sizes than there are modules with such a kernel: one is not
  // there, and this may be its.
  bool of_missing = false;

  bool IsKnown() const { return said == Said::kInstruction; }
  bool ModuleIsSaid() const { return said >= Said::kModule; }
};

struct Outcome {
  uint32_t program = AlignedItem::kNone;  // kNone: no answer.
  uint32_t token = 0;
  uint32_t last_token = 0;  // Of a graph-level row that covers several.
  Doubt doubt = Doubt::kNone;
  uint32_t execution = 0;      // Counts from 1 in the stretch; 0: of none.
  uint32_t shared_window = 0;  // Number of the window that several library calls share; 0: none do.

  bool operator==(const Outcome&) const = default;
};

// A launch with candidates, and where the alignment put it.
struct Anchor {
  uint32_t launch = 0;  // Place in the stretch.
  AlignedItem item;

  bool IsSure() const { return item.doubt == Doubt::kNone; }
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_OUTCOME_H_
