// SPDX-License-Identifier: Apache-2.0

// Do the durations of what recurs agree, so that it may be called a step?
//
// Values are of one device, in the order in which they ran: device time of a step, collectives
// included, or its length. As in docs/schema.md ("Steps"), in numbers: warm-up is what takes 5 %
// more than the later ones; where the largest takes over 1.5 times the least there is no step.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_STEP_AGREEMENT_H_
#define XLATRACE_ANALYSIS_STEP_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace xlatrace::analysis {

// How many values in front are warm-up: each 5 % above the median of those after it, and above
// nine tenths of them and by five times their median deviation, so that noise is not taken for it.
// Never more than half: what falls all the way is no warm-up. Fewer than two later ones say
// nothing. `least_pct`: the 5 % of device time; a step's length, in which the host's noise is, asks
// for more (kWarmUpLengthPct).
inline constexpr int kWarmUpPct = 5;
inline constexpr int kWarmUpLengthPct = 10;
size_t WarmUpCount(std::span<const int64_t> values, int least_pct = kWarmUpPct);

// What the values were measured with. A device's own clock counts its work; in the time of a
// thread is also what the operating system ran in its place, and how many cores it got.
enum class Clock : uint8_t { kDevice, kPreempted };

// Is the largest at most 1.5 times the least? One in twenty may stick out on either side, as a
// checkpoint or an evaluation within a long run does; of preempted ones a quarter on each: it is
// the middle half that has to agree. Nothing agrees with nothing.
bool Agree(std::span<const int64_t> values, Clock clock = Clock::kDevice);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEP_AGREEMENT_H_
