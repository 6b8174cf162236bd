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
// The same of the whole recording; empty where that of the steps differs by less than a per cent.
std::string AttributedOfRecording(const RunView& view);

// What the head of every output says of attribution.
struct Attributed {
  std::string text;  // "attributed 98.7%" or "no kernel is XLA's"; empty: no device time.
  std::string of;    // What the share is of: " of the steps, 91.0% of the recording", or nothing.
  std::string why;   // For who asks: "device time that has an instruction".
  bool foreign = false;  // No kernel is XLA's: there is no share.
  bool low = false;      // So little that figures of ops speak of a part only.
  std::string_view tone() const { return low ? "warn" : foreign ? "plain" : ""; }  // Of its badge.
};
Attributed AttributedWords(const RunView& view);

// "Can I trust this?" in a few sentences: what is missing, what has an instruction, on how many
// steps the figures rest.
std::string TrustText(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_TRUST_H_
