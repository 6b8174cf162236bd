// SPDX-License-Identifier: Apache-2.0

// Assigns the activities between two kernels with known thunks to the thunks between them. Such
// activities have no instruction name: library kernels, copies, memsets, collectives, and
// graph-level rows.
//
// Each thunk has at least one activity and takes those that its kind can launch, in order (one
// library call may be several kernels). Exact if only one assignment is possible. Thread-safety:
// pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_FILL_WINDOW_ASSIGNMENT_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_FILL_WINDOW_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "correlator/thunk_order/doubt.h"
#include "correlator/thunk_order/program/launch_kind.h"
#include "correlator/thunk_order/program/thunk_program.h"

namespace xlatrace::correlator {

struct WindowActivity {
  LaunchKind kind = LaunchKind::kOther;
  CollectiveKind collective = CollectiveKind::kAny;
  LibraryKind library = LibraryKind::kAny;
};

struct WindowToken {
  ThunkToken thunk;
  bool taken = false;  // Its record is outside the window (a kernel that is an anchor), so the
                       // window needs none.
};

struct WindowChoice {
  static constexpr uint32_t kNoTokenIndex = UINT32_MAX;
  uint32_t token = kNoTokenIndex;       // Index of the window's token.
  uint32_t last_token = kNoTokenIndex;  // For a graph-level row: the last covered token.
  Doubt doubt = Doubt::kAnotherWay;     // kNone if no other choice is possible.

  bool IsOnly() const { return doubt == Doubt::kNone; }
};

// True if an activity of that kind may belong to the thunk.
bool MayLaunch(const ThunkToken& thunk, const WindowActivity& activity);

// False if the activity is a kernel of a library that the thunk's call is not known to use.
// Examples: a matrix product in an FFT, a sort's kernel in a matrix product. It may still belong to
// the thunk.
bool UsesLibrary(const ThunkToken& thunk, const WindowActivity& activity);

// True if a window of this size can be solved; time and memory grow with the product.
bool FitsWindow(size_t tokens, size_t activities);

// One choice per activity; kNoTokenIndex if the window is too large.
std::vector<WindowChoice> AssignWindow(std::span<const WindowToken> tokens,
                                       std::span<const WindowActivity> activities);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_FILL_WINDOW_ASSIGNMENT_H_
