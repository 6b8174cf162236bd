// SPDX-License-Identifier: Apache-2.0

// Costs and limits of thunk order, in one place, with their relations.
//
// Costs have no unit, because only their sums are compared. Their values satisfy the orders below;
// tests/correlator/golden shows the use of each order.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ORDER_LIMITS_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ORDER_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

namespace xlatrace::correlator {

// The cost of an impossible match. Sums of four such costs fit 64 bits.
inline constexpr int64_t kInfiniteCost = std::numeric_limits<int64_t>::max() / 4;

// --- alignment of kernels with programs (sequence_alignment) ---

namespace align {
// One unit of cost. It exceeds the sum of all doubts of candidates, so that doubts decide only
// between otherwise equal alignments.
inline constexpr int64_t kUnitCost = int64_t{1} << 34;
inline constexpr int64_t kStartCost = 1 * kUnitCost;    // Start of an execution.
inline constexpr int64_t kSkipCost = 2 * kUnitCost;     // A kernel that must exist and is missing.
inline constexpr int64_t kForeignCost = 5 * kUnitCost;  // An activity without a matching token.
// Alignments up to this cost above the best one are possible: two lost records.
inline constexpr int64_t kSlackCost = 2 * kSkipCost;
// States that are kept after an item: maximum cost above the best, and maximum number.
inline constexpr int64_t kMaxExcessCost = 40 * kUnitCost;
inline constexpr size_t kMaxMatchedStates = 128;
inline constexpr size_t kMaxForeignStates = 8;
// A module of a thousand equal kernels has thousands of states per item. From this number on (160
// MB), only the best few are kept.
inline constexpr size_t kMaxStateCount = 4'000'000;
inline constexpr size_t kMaxLateMatchedStates = 4;

// The program has one kernel, and its size does not match the size of the launch.
inline constexpr uint16_t kOtherSizeCost = 1 << 10;
// The thunk list of another program has this grid, and the list of this program does not. The cost
// is smaller than the previous one, so that it only breaks ties and is never evidence.
inline constexpr uint16_t kUnknownSizeCost = 1;

static_assert(kStartCost < kSkipCost, "a new execution is likelier than a lost kernel");
static_assert(kForeignCost > kSlackCost, "no activity is omitted to make another one unique");
static_assert(kForeignCost < 3 * kSkipCost,
              "three lost records cost more than one foreign activity");
static_assert(kMaxExcessCost > 4 * kSlackCost, "removed states cost far more than possible ones");
static_assert(kUnknownSizeCost < kOtherSizeCost, "a different size outweighs an unknown size");
static_assert(int64_t{kOtherSizeCost} * 1'000'000 < kUnitCost,
              "a million doubts cost less than a lost record");
}  // namespace align

// --- activities between two kernels (window_assignment) ---

namespace fill {
inline constexpr int64_t kLostCost = 1;   // A thunk without a record, where losses are likely.
inline constexpr int64_t kSlackCost = 2;  // Smaller differences decide nothing.
inline constexpr int64_t kOtherLibraryCost = 5;  // A kernel of another kind of library.
inline constexpr int64_t kSkipCost = 6;  // A thunk that must have launched something and did not.
inline constexpr int64_t kOutsideCost = 7;  // An activity without a thunk.
// Larger windows are skipped, because their activities cannot be distinguished.
inline constexpr size_t kMaxWindowCells = 4'000'000;

static_assert(kLostCost < kSlackCost, "a loss that is likely decides nothing");
static_assert(kOtherLibraryCost < kOutsideCost,
              "a kernel of another library is likelier than one without a call");
static_assert(kSkipCost < kOutsideCost,
              "a call without a record is likelier than a kernel without a call");
}  // namespace fill

// --- trips of loops (trip_count) ---

inline constexpr size_t kMaxUnrolledLaunches = 20'000;
// Trip counts are evidence if at most this share is lost: one record of 32, or two in a shorter
// stretch, each among 8.
inline constexpr size_t kMinLaunchesPerLost = 32;
inline constexpr size_t kMinStretchLaunchesPerLost = 8;
// If several kinds of kernels alternate, a larger share may be lost before the positions of the
// lost kernels become ambiguous.
inline constexpr size_t kMinMarkersPerLost = 16;
static_assert(kMinStretchLaunchesPerLost < kMinMarkersPerLost &&
              kMinMarkersPerLost < kMinLaunchesPerLost);

// --- recognition of a module that the source does not name (module_recognition) ---

// Minimum number of different kernels, with a minimum share of the module's required launches. A
// helper with one `loop_add_fusion` is never recognised with certainty, because a module outside of
// the run may look the same.
inline constexpr int64_t kMinKernelCount = 6;
inline constexpr int64_t kMaxGapPct = 20;
// Many launches of kernels with fewer names are equivalent evidence.
inline constexpr int64_t kMinNamesOfManyCount = 2;
// This number of kernel names with too many sizes is not chance.
inline constexpr size_t kMinMissingNameCount = 2;
// An execution that the recording cuts off needs more kernels.
inline constexpr int64_t kMinKernelsOfPartCount = 12;
static_assert(kMinNamesOfManyCount < kMinKernelCount && kMinKernelCount < kMinKernelsOfPartCount);

// --- stretches (stretch_solver) ---

// Launches without groups from the source are solved in stretches of this size, or more if an
// execution is longer.
inline constexpr size_t kFirstStretchLaunches = 8192;
inline constexpr size_t kMaxStretchLaunches = 1'000'000;
// Patterns must follow each other for this number of launches before one is accepted. A new program
// that begins like a known one usually differs earlier.
inline constexpr size_t kMinLaunchesAhead = 2048;
static_assert(kMinLaunchesAhead < kFirstStretchLaunches &&
              kFirstStretchLaunches < kMaxStretchLaunches);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ORDER_LIMITS_H_
