// SPDX-License-Identifier: Apache-2.0

// What thunk order weighs and where it draws lines, in one place with how they hang together.
//
// Costs have no unit: only sums of them are compared. They were chosen so that the orders below
// hold; tests/correlator/golden shows what each order is good for.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ORDER_LIMITS_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ORDER_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

namespace xlatrace::correlator {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

// --- alignment of kernels with programs (sequence_alignment) ---

namespace align {
// Doubts about candidates decide between what is equal otherwise, however many they are.
inline constexpr int64_t kUnit = int64_t{1} << 34;
inline constexpr int64_t kStart = 1 * kUnit;    // Of an execution.
inline constexpr int64_t kSkip = 2 * kUnit;     // A kernel that must be there and is not.
inline constexpr int64_t kForeign = 5 * kUnit;  // An activity that no token is for.
// What is possible at so much more than the best is possible: two lost records.
inline constexpr int64_t kSlack = 2 * kSkip;
// What is kept of the states behind an item: so much above the best, and so many.
inline constexpr int64_t kWorst = 40 * kUnit;
inline constexpr size_t kMostMatched = 128;
inline constexpr size_t kMostForeign = 8;
// A module of a thousand equal kernels has thousands of states per item; from here on (160 MB) only
// the best few are kept.
inline constexpr size_t kMostStates = 4'000'000;
inline constexpr size_t kMostMatchedLate = 4;

// Among programs of one kernel, this one's size does not go with the size of the launch.
inline constexpr uint16_t kOfAnotherSize = 1 << 10;
// Another's list of thunks tells just this grid, and this one's tells none. Less than that: only to
// choose by, never a reason to believe it.
inline constexpr uint16_t kOfUntoldSize = 1;

static_assert(kStart < kSkip, "a new execution explains more than a lost kernel does");
static_assert(kForeign > kSlack, "no activity is left out to make another one unique");
static_assert(kForeign < 3 * kSkip, "three lost records are dearer than one foreign");
static_assert(kWorst > 4 * kSlack, "what is forgotten is far from what is possible");
static_assert(kOfUntoldSize < kOfAnotherSize, "a size that is told outweighs one that is not");
static_assert(int64_t{kOfAnotherSize} * 1'000'000 < kUnit, "a million doubts are no lost record");
}  // namespace align

// --- activities between two kernels (window_assignment) ---

namespace fill {
inline constexpr int64_t kLost = 1;       // A thunk without a record, where losses are likely.
inline constexpr int64_t kSlack = 2;      // Cheaper differences than this decide nothing.
inline constexpr int64_t kOfAnother = 5;  // A kernel of another kind of library.
inline constexpr int64_t kSkip = 6;       // A thunk that must have launched something and did not.
inline constexpr int64_t kOutside = 7;    // An activity of no thunk.
// Larger windows are left alone: nothing in them could be told apart.
inline constexpr size_t kMostCells = 4'000'000;

static_assert(kLost < kSlack, "a loss that is likely decides nothing");
static_assert(kOfAnother < kOutside, "the wrong library's kernel is still some call's");
static_assert(kSkip < kOutside, "a call without a record is likelier than a kernel of no call");
}  // namespace fill

// --- trips of loops (trip_count) ---

inline constexpr size_t kLongestUnrolled = 20'000;
// Trips still count where this little is lost: one record of 32, or two of a shorter stretch, each
// among 8.
inline constexpr size_t kLostOf = 32;
inline constexpr size_t kFewestPerLost = 8;
// Of several kinds of kernels in turn more may be lost, until one cannot tell which ones were.
inline constexpr size_t kLostMarkersOf = 16;
static_assert(kFewestPerLost < kLostMarkersOf && kLostMarkersOf < kLostOf);

// --- recognising a module that nobody names (module_recognition) ---

// By this many different kernels that make up this much of what its module always launches: a
// helper of one `loop_add_fusion` is never recognised for sure, because a module that the run does
// not hold may look the same.
inline constexpr int64_t kFewestKernels = 6;
inline constexpr int64_t kLargestGapPct = 20;
// As many launches of kernels with fewer names are as telling as different kernels.
inline constexpr int64_t kFewestNamesOfMany = 2;
// So many names of kernels with a size too many are no accident.
inline constexpr size_t kFewestOfMissing = 2;
// An execution that the recording cuts off is recognised by more kernels.
inline constexpr int64_t kFewestKernelsOfPart = 12;
static_assert(kFewestNamesOfMany < kFewestKernels && kFewestKernels < kFewestKernelsOfPart);

// --- stretches (stretch_solver) ---

// Launches that no source groups are solved this many at a time, more where an execution is longer.
inline constexpr size_t kFirstStretch = 8192;
inline constexpr size_t kLongestStretch = 1'000'000;
// Patterns must follow each other for so many launches before one of them is taken for granted: a
// program that begins as a known one does is seldom longer than that up to where it differs.
inline constexpr size_t kPatternsAhead = 2048;
static_assert(kPatternsAhead < kFirstStretch && kFirstStretch < kLongestStretch);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ORDER_LIMITS_H_
