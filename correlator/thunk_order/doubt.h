// SPDX-License-Identifier: Apache-2.0

// How sure thunk order is of what it says of a launch, and why not surer.
//
// An answer is exact where nothing speaks against it (Doubt::kNone). Else one doubt is kept, the
// first that was raised: it alone decides what becomes of the answer, and `xlatrace show MODULE
// --sequence --why` prints it. Doubts of an anchor (an activity with candidate tokens) grow
// stronger in the order of the list: an answer that another module explains as well is worth less
// than one that another instruction of the module might be.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_DOUBT_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_DOUBT_H_

#include <cstdint>
#include <string_view>

#include "model/words.h"

namespace xlatrace::correlator {

enum class Doubt : uint8_t {
  kNone,

  // Of an anchor, from the alignment.
  kTooManyWays,         // Not every way to align was looked at.
  kCutOff,              // It may be another one if records were lost, not cut off.
  kAnotherInstruction,  // With two records lost, or less, it may be another one of the program.
  kEqualInstruction,    // Another one of the program explains it as well: no answer.
  kAnotherModule,       // So may one of another program, though its size speaks against that.
  kEqualModule,         // So may one of another program, and nothing speaks against that.
  // Of an anchor, from what surrounds it.
  kHiddenByGraph,  // A graph-level row without a place may hold the launch.
  kTripsLost,      // The trips of its loop do not add up without lost records.
  kUnknownModule,  // Nobody says the module, and too little of it ran to recognise it.
  kGraphRow,       // One record for several thunks.

  // Of an activity between two anchors.
  kAnotherWay,      // The thunks in between can have launched it in several ways.
  kUnsureAnchor,    // An anchor beside it is in doubt.
  kBetweenRuns,     // It lies between two executions, or at an end, and may be nobody's.
  kMayPrepareNext,  // A copy behind a library call's kernels.
  kSeveralThunks,   // One record for several thunks.
  kModuleNotSaid,   // Nobody says for sure that it is of this module.
  kUnlikeOthers,    // In most executions the call launched other kernels.
  kOnlyCall,        // The only instruction that could, of a module that nobody says for sure.
  kOutOfOrder,      // The only instruction that could, but not where the program has it.
  kOtherLibrary,    // A kernel of a library that the call is not known to use.
  kToldOtherwise,   // The source says another instruction, of a module that is not sure.

  // Of a whole stretch.
  kRecordsLost,      // Records are known to be missing among the launches.
  kPartOfSchedule,   // The module's schedule is not known whole.
  kHloOfAnotherRun,  // The HLO is of another run of the program.
};

// "another instruction of the program explains it as well"
std::string_view Text(Doubt doubt);

// What an answer with that doubt is worth.
inline model::Confidence ConfidenceOf(Doubt doubt) {
  if (doubt == Doubt::kNone) return model::Confidence::kExact;
  return doubt == Doubt::kEqualInstruction ? model::Confidence::kNone
                                           : model::Confidence::kInferred;
}

// Raises a doubt where there is none yet.
inline void Raise(Doubt doubt, Doubt* of) {
  if (*of == Doubt::kNone) *of = doubt;
}

// True where a launch may be another program's.
inline bool MayBeOfAnotherModule(Doubt doubt) {
  return doubt == Doubt::kAnotherModule || doubt == Doubt::kEqualModule;
}

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_DOUBT_H_
