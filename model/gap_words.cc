// SPDX-License-Identifier: Apache-2.0
#include "model/gap_words.h"

namespace xlatrace::model {

std::string_view InWords(GapCause cause) {
  switch (cause) {
    case GapCause::kUnknown:
      return "not known";
    case GapCause::kLaunchBound:
      return "the host launches too slowly";
    case GapCause::kHost:
      return "the host is late";
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
      return "The gap is shorter than 5 us, or the next work had been launched in time, or the "
             "host "
             "is not recorded.";
    case GapCause::kLaunchBound:
      return "The host was inside launch calls for most of the gap, or the gap is short and inside "
             "one execution of a program.";
    case GapCause::kHost:
      return "The host launched the next work after the device had become idle: it was busy with "
             "other work, or the driver held it inside the launch call.";
    case GapCause::kSynchronisation:
      return "The host had waited for the device, so the queue became empty; the gaps after a wait "
             "count up to its length.";
    case GapCause::kCopy:
      return "The host was inside a copy call for the largest part of the gap.";
    case GapCause::kCompile:
      return "A program was being compiled for more than half of the gap.";
    case GapCause::kInput:
      return "A data loader covers most of the gap on the host: the data of the next work was not "
             "ready.";
  }
  return "";
}

}  // namespace xlatrace::model
