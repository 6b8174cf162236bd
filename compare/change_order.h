// SPDX-License-Identifier: Apache-2.0

// Which change is told first: what goes the way of the whole, what is certain, what others follow
// from.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CHANGE_ORDER_H_
#define XLATRACE_COMPARE_CHANGE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compare/changes.h"

namespace xlatrace::compare {

// What moved by less is called the same.
inline constexpr double kEqualShare = 0.005;

// By how much the step became longer; without steps to compare, the device time.
int64_t WholeOf(const Comparison& comparison);
// It moved by so little (half a percent) that it is called the same.
bool AboutEqual(const Comparison& comparison);
bool AboutEqual(int64_t base_ns, int64_t now_ns);
// How much a change counts: its time, more where it is certain or what others follow from.
double WeightOf(const Change& change);
// Other arguments, layers, recomputation, CUDA graphs: what many rows follow from.
bool IsStructure(const Change& change);

// What goes the way of the whole comes before what goes against it, so that a slower step is
// never led by a gain. Among those, what explains most; certain changes weigh more: measured
// times move by themselves, a program does not.
void SortChanges(const Comparison& comparison, std::vector<Change>* changes);

// Of those behind the first `shown`, up to two that moved more than the last ones of these go to
// their end: what goes against the whole may be more than all that is shown of what goes its way.
void ShowHeaviest(std::vector<Change>* changes, size_t shown);

// What many rows follow from is told however it turned out: remat that is gone saves its time and
// makes the memory traffic that outweighs it. Moves the heaviest such change that lies behind the
// second place there, unless the first is structure or it moves less than a twentieth of `whole`.
void PutStructureSecond(std::vector<Change>* changes, int64_t whole);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CHANGE_ORDER_H_
