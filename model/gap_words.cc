// SPDX-License-Identifier: Apache-2.0
#include "model/gap_words.h"

namespace xlatrace::model {

std::string_view InWords(GapCause cause) {
  switch (cause) {
    case GapCause::kUnknown:
      return "not known";
    case GapCause::kLaunchBound:
      return "the host launches too slowly";
    // The host is busy with other work, has not reached the launch, or waits in the launching call
    // (analysis/gap_cause.h, rules 3 and 7).
    case GapCause::kHost:
      return "the host is late";
    // The wait was before the gap, so the queue was empty. Most of such a gap is other work.
    case GapCause::kSynchronisation:
      return "the host had waited for the device";
    case GapCause::kCopy:
      return "a copy is waited for";
    case GapCause::kCompile:
      return "compilation";
    case GapCause::kInput:
      return "input data";
  }
  return "not known";
}

std::string_view Meaning(GapCause cause) {
  switch (cause) {
    case GapCause::kUnknown:
      return "The gap is under 5 us, too short to be judged, or what follows had been launched in "
             "time, or nothing recorded tells what the host did.";
    case GapCause::kLaunchBound:
      return "The host was launching for most of the gap, or the gap is short and within one run "
             "of a program: it was not busy with anything else, and the device is faster than its "
             "launches.";
    case GapCause::kHost:
      return "The host came to the launch of what follows only after the device had gone idle: it "
             "was busy with something else, or the call that launches held it for long.";
    case GapCause::kSynchronisation:
      return "The host had waited until the device was done, so nothing was queued any more: the "
             "gap, and those after it up to the length of the wait, by which all launches came "
             "later.";
    case GapCause::kCopy:
      return "A copy from or to the host comes right before or after the gap, and the host, or "
             "what follows, waited for it.";
    case GapCause::kCompile:
      return "A program was being compiled for more than half of the gap.";
    case GapCause::kInput:
      return "A range of the host that names a data loader covers most of the gap: the data of "
             "what follows was not there yet.";
  }
  return "";
}

}  // namespace xlatrace::model
