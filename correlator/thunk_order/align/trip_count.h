// SPDX-License-Identifier: Apache-2.0

// Distinguishes equal kernels of several consecutive loops, or of one loop and the code after it,
// by the known trip counts. Certain if the number of launches agrees, otherwise if few are lost.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_TRIP_COUNT_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_TRIP_COUNT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "correlator/thunk_order/align/launch_outcome.h"
#include "correlator/thunk_order/align/sequence_alignment.h"
#include "correlator/thunk_order/program/thunk_program.h"

namespace xlatrace::correlator {

// `launches`: cases of the stretch. `ends`: true at an end where the stretch may be cut off.
// `blind`: graph-level rows without a position may contain some of the missing launches. Changes
// the tokens and doubts of anchors in doubt.
void CountTrips(std::span<const ThunkProgram* const> programs, const std::vector<LaunchCase>& cases,
                std::span<const uint32_t> launches, SequenceEnds ends, bool blind,
                std::vector<Anchor>* anchors);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_TRIP_COUNT_H_
