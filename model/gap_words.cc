#include "model/gap_words.h"

namespace xlatrace::model {

std::string_view InWords(GapCause cause) {
  switch (cause) {
    case GapCause::kUnknown:
      return "not known";
    case GapCause::kLaunchBound:
      return "the host launches too slowly";
    // Busy elsewhere, not there yet, or held in the call that launches (analysis/gap_cause.h, rules
    // 3 and 7).
    case GapCause::kHost:
      return "the host is late";
    // Before the gap, so that nothing was queued any more: most of such a gap is spent otherwise.
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

}  // namespace xlatrace::model
