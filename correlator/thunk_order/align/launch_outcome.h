// SPDX-License-Identifier: Apache-2.0

// A kind of launch as thunk order uses it, and the result for one launch.
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

// Knowledge on a launch before thunk order.
enum class Recorded : uint8_t {
  kNothing,
  kModuleAtBest,  // Possibly that module: the name fits, or other launches of its group name it.
  kModule,        // The source identifies exactly that module.
  kInstruction,   // The instruction itself, with certainty.
};

struct LaunchCase {
  LaunchKind kind = LaunchKind::kOther;
  CollectiveKind collective = CollectiveKind::kAny;
  LibraryKind library = LibraryKind::kAny;
  std::vector<Candidate> candidates;        // Possible tokens; empty: no anchor.
  uint32_t module = AlignedItem::kNoIndex;  // From the source; index among the programs.
  Recorded said = Recorded::kNothing;
  uint32_t symbol = 0;  // Number of the kernel's name; 0: the name belongs to a single op.
  // Launches with that name have more sizes than there are modules with such a kernel. A module is
  // missing, and the launch may belong to it.
  bool of_missing = false;

  bool IsKnown() const { return said == Recorded::kInstruction; }
  bool ModuleIsRecorded() const { return said >= Recorded::kModule; }
};

struct Outcome {
  uint32_t program = AlignedItem::kNoIndex;  // kNoIndex: no result.
  uint32_t token = 0;
  uint32_t last_token = 0;  // For a graph-level row that covers several tokens.
  Doubt doubt = Doubt::kNone;
  uint32_t execution = 0;      // From 1 in the stretch; 0: none.
  uint32_t shared_window = 0;  // Number of the window that several library calls share; 0: none.

  bool operator==(const Outcome&) const = default;
};

// A launch with candidates, and its aligned token.
struct Anchor {
  uint32_t launch = 0;  // Index in the stretch.
  AlignedItem item;

  bool IsSure() const { return item.doubt == Doubt::kNone; }
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_LAUNCH_OUTCOME_H_
