// SPDX-License-Identifier: Apache-2.0

// Certainty of a label from thunk order, and the reason for less certainty.
//
// A label without a doubt is exact (Doubt::kNone). Otherwise the first doubt that was raised is
// stored. It alone determines the confidence, and `xlatrace show MODULE --sequence --why` prints
// it. Doubts of an anchor (an activity with candidate tokens) are ordered by strength. If another
// module explains a label equally well, the label is less certain than if another instruction of
// the module may explain it.
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

  // For an anchor, from the alignment.
  kTooManyWays,         // Not all possible alignments were tested.
  kCutOff,              // It may be another instruction if records were lost instead of cut off.
  kAnotherInstruction,  // With at most two lost records, it may be another instruction of the
                        // program.
  kEqualInstruction,    // Another instruction of the program explains it equally well: no label.
  kAnotherModule,       // Another program may explain it, but its size is evidence against that.
  kEqualModule,         // Another program may explain it equally well.
  // The doubts above are of an anchor; they follow from the launches around it.
  kHiddenByGraph,  // A graph-level row without a position may contain the launch.
  kTripsLost,      // The trip count of its loop requires lost records.
  kUnknownModule,  // The source does not name the module, and too little of it ran to recognise it.
  kGraphRow,       // One record for several thunks.

  // For an activity between two anchors.
  kAnotherWay,      // The thunks in between may have launched the activity in several ways.
  kUnsureAnchor,    // An adjacent anchor is in doubt.
  kBetweenRuns,     // The activity is between two executions, or at an end, and may belong to no
                    // execution.
  kMayPrepareNext,  // A copy after the kernels of a library call, possibly for the next
                    // instruction.
  kSeveralThunks,   // One record for several thunks.
  kModuleInferred,  // The source does not identify this module with certainty.
  kUnlikeOthers,    // In most executions the call launched other kernels.
  kOnlyCall,        // The only possible instruction, but the module is not certain.
  kOutOfOrder,      // The only possible instruction, but at another position than in the program.
  kOtherLibrary,    // A kernel of a library that the call is not known to use.
  kOtherInstructionRecorded,  // The source names another instruction, of a module that is not
                              // certain.

  // For a whole stretch.
  kRecordsLost,      // Records among the launches are lost.
  kPartOfSchedule,   // Only a part of the module's schedule is known.
  kHloOfAnotherRun,  // The HLO is of another run of the program.
};

// For example "another instruction of the module matches equally well".
std::string_view Text(Doubt doubt);

// Confidence of a label with that doubt.
inline model::Confidence ConfidenceOf(Doubt doubt) {
  if (doubt == Doubt::kNone) return model::Confidence::kExact;
  return doubt == Doubt::kEqualInstruction ? model::Confidence::kNone
                                           : model::Confidence::kInferred;
}

// Raises a doubt if none was raised before.
inline void Raise(Doubt doubt, Doubt* of) {
  if (*of == Doubt::kNone) *of = doubt;
}

// True if a launch may belong to another program.
inline bool MayBeOfAnotherModule(Doubt doubt) {
  return doubt == Doubt::kAnotherModule || doubt == Doubt::kEqualModule;
}

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_DOUBT_H_
