// Do the durations of what recurs agree, so that it may be called a step?
//
// Values are of one device, in the order in which they ran: device time of a step, collectives
// included, or its length. Numbers follow RUNDB ("Steps"): warm-up is what takes 5 % more than the
// later ones; where the largest takes over 1.5 times the least there is no step.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_STEP_AGREEMENT_H_
#define XLATRACE_ANALYSIS_STEP_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace xlatrace::analysis {

// How many values in front are warm-up: each 5 % above the median of those after it, and above
// nine tenths of them, so that noise is not taken for it. Never more than half: what falls all the
// way is no warm-up. Fewer than two later ones say nothing.
size_t WarmUpCount(std::span<const int64_t> values);

// Is the largest at most 1.5 times the least? One in twenty may stick out on either side, as a
// checkpoint or an evaluation within a long run does. Nothing agrees with nothing.
bool Agree(std::span<const int64_t> values);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEP_AGREEMENT_H_
