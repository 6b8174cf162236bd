// SPDX-License-Identifier: Apache-2.0

// Order of changes: changes in the direction of the total first, then certain changes and causes of
// others.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CHANGE_ORDER_H_
#define XLATRACE_COMPARE_CHANGE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compare/changes.h"

namespace xlatrace::compare {

// Smaller changes are called equal.
inline constexpr double kEqualShare = 0.005;

// Change of the step time; of the device time if there are no steps to compare.
int64_t WholeOf(const Comparison& comparison);
// True if the change is below half a percent.
bool AboutEqual(const Comparison& comparison);
bool AboutEqual(int64_t base_ns, int64_t now_ns);
// Weight of a change: its time, increased if it is certain or causes others.
double WeightOf(const Change& change);
// Other arguments, layers, recomputation, CUDA graphs: changes that cause many rows.
bool IsStructure(const Change& change);

// Changes in the direction of the total come first, so that the list of a slower step never starts
// with a gain. Among those, the largest come first. Certain changes have more weight, because
// measured times vary without a change of the program. `equal_time`: the times are not
// distinguishable.
void SortChanges(const Comparison& comparison, bool equal_time, std::vector<Change>* changes);

// Among the changes after the first `shown`, up to two replace the last shown ones if they are
// larger. A change against the direction of the total may be larger than all shown changes.
void ShowHeaviest(std::vector<Change>* changes, size_t shown);

// A structural change is reported in either direction: removed rematerialisation saves its time and
// adds the larger memory traffic. Moves the heaviest such change to the second place. Does nothing
// if the first change is structural, or if the moved one is below a twentieth of `whole`.
void PutStructureSecond(std::vector<Change>* changes, int64_t whole);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CHANGE_ORDER_H_
