// SPDX-License-Identifier: Apache-2.0

// How far a run can be trusted, in words that terminal, static page and app share.

#ifndef XLATRACE_REPORT_TRUST_H_
#define XLATRACE_REPORT_TRUST_H_

#include <string>
#include <string_view>

#include "report/run_view.h"

namespace xlatrace::report {

// Share of device time that has an instruction, in percent with one decimal ("98.7"); never
// rounded up to 100.
std::string AttributedPercent(const Coverage& coverage);
// Attributed share of the whole recording; empty if it differs from that of the steps by less than
// 1 %.
std::string AttributedOfRecording(const RunView& view);

// The attributed share, as shown at the head of every output.
struct Attributed {
  std::string text;  // "attributed 98.7%" or "no kernel is XLA's"; empty: no device time.
  std::string of;    // Whole of the share: " of the steps, 91.0% of the recording"; may be empty.
  std::string why;   // Definition: "device time that has an instruction".
  bool foreign = false;  // No kernel is from XLA, so there is no share.
  bool low = false;      // The share is so small that figures of ops cover only a part of the time.
  std::string_view tone() const {
    return low ? "warn" : foreign ? "plain" : "";
  }  // CSS class of its badge.
};
Attributed AttributedWords(const RunView& view);

// A few sentences on how far to trust the figures: lost records, the share with an instruction,
// and the number of steps behind the figures.
std::string TrustText(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_TRUST_H_
