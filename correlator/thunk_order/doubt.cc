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
      return "may be another instruction, had a record or two been lost";
    case Doubt::kEqualInstruction:
      return "another instruction of the module explains it as well";
    case Doubt::kAnotherModule:
      return "may be another module's, though its size speaks against that";
    case Doubt::kEqualModule:
      return "may be another module's, and nothing speaks against that";
    case Doubt::kHiddenByGraph:
      return "may be one that a graph-level row holds";
    case Doubt::kTripsLost:
      return "the trips of its loop add up with lost records only";
    case Doubt::kUnknownModule:
      return "nobody says the module, and too little of it ran to recognise it";
    case Doubt::kGraphRow:
    case Doubt::kSeveralThunks:
      return "one record for several thunks";
    case Doubt::kAnotherWay:
      return "other thunks in between may have launched it";
    case Doubt::kUnsureAnchor:
      return "a kernel beside it is in doubt";
    case Doubt::kBetweenRuns:
      return "lies at the end of an execution and may be nobody's";
    case Doubt::kMayPrepareNext:
      return "a copy behind a library call may prepare what comes next";
    case Doubt::kModuleNotSaid:
      return "nobody says for sure that it is this module's";
    case Doubt::kUnlikeOthers:
      return "in most executions the call launched other kernels";
    case Doubt::kOnlyCall:
      return "the only call of its kind, of a module that nobody says for sure";
    case Doubt::kOutOfOrder:
      return "the only call of its kind, but not where the program has it";
    case Doubt::kOtherLibrary:
      return "the only call that comes into question is another library's";
    case Doubt::kToldOtherwise:
      return "the source says another instruction";
    case Doubt::kRecordsLost:
      return "records are missing among the launches";
    case Doubt::kPartOfSchedule:
      return "the module's schedule is not known whole";
    case Doubt::kHloOfAnotherRun:
      return "the HLO is of another run of the program";
  }
  return "";
}

}  // namespace xlatrace::correlator
