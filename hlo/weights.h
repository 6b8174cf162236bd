// Relative cost of an instruction, to split the time of a fusion over what is inside it.
//
// The unit is close to a nanosecond on a large GPU but only ratios mean something: the larger of
// work over a typical peak and bytes over a typical bandwidth. Parameters, constants, tuples and
// bitcasts weigh 0. The figures that are shown to people are of the cost model, not of this.
//
// Thread-safety: pure function of an immutable module.

#ifndef XLATRACE_HLO_WEIGHTS_H_
#define XLATRACE_HLO_WEIGHTS_H_

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// At least 0, finite. A fusion, call, loop or conditional weighs what is inside, each body once;
// reducers count with the elements they reduce.
double Weight(const model::HloModule& module, const model::Instruction& instruction);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_WEIGHTS_H_
