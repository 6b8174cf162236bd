// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/doubt.h"

namespace xlatrace::correlator {

std::string_view Text(Doubt doubt) {
  switch (doubt) {
    case Doubt::kNone:
      return "nothing else is possible";
    case Doubt::kTooManyWays:
      return "there were too many ways to look at all of them";
    case Doubt::kCutOff:
      return "may be another instruction if records were lost, not cut off";
    case Doubt::kAnotherInstruction:
      return "if one or two records were lost, another instruction may have launched it";
    case Doubt::kEqualInstruction:
      return "another instruction of the module matches equally well";
    case Doubt::kAnotherModule:
      return "another module may have launched it, although its size differs";
    case Doubt::kEqualModule:
      return "another module matches equally well";
    case Doubt::kHiddenByGraph:
      return "a row for a whole graph may contain it";
    case Doubt::kTripsLost:
      return "the trip counts of its loop match only if records were lost";
    case Doubt::kUnknownModule:
      return "the module is not recorded, and too few of its kernels ran to recognise it";
    case Doubt::kGraphRow:
    case Doubt::kSeveralThunks:
      return "one record for several thunks";
    case Doubt::kAnotherWay:
      return "other thunks in between may have launched it";
    case Doubt::kUnsureAnchor:
      return "the attribution of a neighbouring kernel is in doubt";
    case Doubt::kBetweenRuns:
      return "it is at the end of an execution and may belong to no instruction";
    case Doubt::kMayPrepareNext:
      return "a copy after a library call may belong to the next instruction";
    case Doubt::kModuleInferred:
      return "its module is inferred";
    case Doubt::kUnlikeOthers:
      return "in most executions this call launched other kernels";
    case Doubt::kOnlyCall:
      return "it is the only call of its kind, and its module is inferred";
    case Doubt::kOutOfOrder:
      return "it is the only call of its kind, but at another place than in the program";
    case Doubt::kOtherLibrary:
      return "the only possible call belongs to another library";
    case Doubt::kOtherInstructionRecorded:
      return "the source records another instruction";
    case Doubt::kRecordsLost:
      return "records of launches were lost";
    case Doubt::kPartOfSchedule:
      return "the schedule of the module is only partly known";
    case Doubt::kHloOfAnotherRun:
      return "the HLO is from another run of the program";
  }
  return "";
}

}  // namespace xlatrace::correlator
