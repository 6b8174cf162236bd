// SPDX-License-Identifier: Apache-2.0

// Words of run.db that are no enum of the model, and what each is shown as: closed lists, so that
// terminal, static page and app (report/page/words_ts.h) show the same.
//
// Thread-safety: constants and pure functions.

#ifndef XLATRACE_REPORT_WORD_TABLES_H_
#define XLATRACE_REPORT_WORD_TABLES_H_

#include <span>
#include <string>
#include <string_view>

namespace xlatrace::report {

struct ShownWord {
  std::string_view word, text;
};

// What limits the occupancy of a kernel: "shared memory". `occupancy_limiter` holds one or several.
std::span<const ShownWord> LimiterTable();
std::string LimiterWords(std::string_view limiter);
// Where what a finding saves comes from: "cost model".
std::span<const ShownWord> BasisTable();
std::string_view BasisWords(std::string_view basis);
// What wrote the recording: "imported from Nsight Systems".
std::span<const ShownWord> SourceTable();
// Kinds of devices: "GPU".
std::span<const ShownWord> DeviceTable();
std::string_view KindOfDevice(std::string_view kind);
// What a critical path leads through, in the plural: "copies".
std::span<const ShownWord> PathTable();
// What the memory of a module is reserved for, and what a value in it is.
std::span<const ShownWord> MemoryTable();
std::span<const ShownWord> LiveTable();
// Where a launch came from, if not from a range of the host (report/launched_in.h).
std::span<const ShownWord> PlaceTable();
std::string_view PlaceWords(std::string_view place);
// Phases in columns too narrow for the word: "fwd".
std::span<const ShownWord> ShortPhaseTable();

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_WORD_TABLES_H_
