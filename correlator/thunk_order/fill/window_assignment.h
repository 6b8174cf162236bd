// SPDX-License-Identifier: Apache-2.0

// Between two kernels whose thunks are known: which of the thunks in between launched which of the
// activities in between. For what carries no name of an instruction: library kernels, copies,
// memsets, collectives, and graph-level rows.
//
// Each thunk has at least one activity and takes those that its kind can launch, in order (facts:
// one library call may be several kernels). Exact where this is possible in one way only.
// Thread-safety: pure.

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
  bool taken = false;  // Its record is outside the window (a kernel that is an anchor): not owed.
};

struct WindowChoice {
  static constexpr uint32_t kOutside = UINT32_MAX;
  uint32_t token = kOutside;         // Index among the window's tokens.
  uint32_t last_token = kOutside;    // Of a graph-level row: the last one it covers.
  Doubt doubt = Doubt::kAnotherWay;  // kNone where no other choice is possible.

  bool IsOnly() const { return doubt == Doubt::kNone; }
};

// True where an activity of that kind may be the thunk's.
bool MayLaunch(const ThunkToken& thunk, const WindowActivity& activity);

// False where the activity is a kernel of a library that the thunk's call is not known to use: a
// matrix product of an FFT, a sort's kernel of a matrix product. It may still be the thunk's.
bool UsesLibrary(const ThunkToken& thunk, const WindowActivity& activity);

// Whether a window of so many can be judged; time and memory grow with the product.
bool FitsWindow(size_t tokens, size_t activities);

// One choice per activity; outside where the window is too large.
std::vector<WindowChoice> AssignWindow(std::span<const WindowToken> tokens,
                                       std::span<const WindowActivity> activities);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_FILL_WINDOW_ASSIGNMENT_H_
