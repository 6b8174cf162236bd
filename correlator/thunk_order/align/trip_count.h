// SPDX-License-Identifier: Apache-2.0

// Equal kernels of several loops in a row, or of one loop and what follows it, told apart by how
// often XLA knows that the loops run: beyond doubt where just as many are there, else where a few
// are lost.
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

// `launches`: cases of the stretch; `ends`: whether it may be cut off there; `blind`: graph-level
// rows without a place may hold some of what is missing. Changes the tokens and doubts of those
// anchors that are in doubt.
void CountTrips(std::span<const ThunkProgram* const> programs, const std::vector<LaunchCase>& cases,
                std::span<const uint32_t> launches, SequenceEnds ends, bool blind,
                std::vector<Anchor>* anchors);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_TRIP_COUNT_H_
