#include "model/gap_words.h"

namespace xlatrace::model {

std::string_view InWords(GapCause cause) {
  switch (cause) {
    case GapCause::kUnknown:
      return "not known";
    case GapCause::kLaunchBound:
      return "the host launches too slowly";
    // Busy elsewhere, or simply not there yet (analysis/gap_cause.h, rule 7).
    case GapCause::kHost:
      return "the host calls too late";
    case GapCause::kSynchronisation:
      return "the host waits for the device";
    case GapCause::kCopy:
      return "a copy is waited for";
    case GapCause::kCompile:
      return "compilation";
    case GapCause::kInput:
      return "input data";
  }
  return "not known";
}

}  // namespace xlatrace::model
