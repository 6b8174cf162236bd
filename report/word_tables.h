// SPDX-License-Identifier: Apache-2.0

// Words of run.db outside of the model's enums, with their display words. The lists are closed,
// so that terminal, static page and app (report/page/words_ts.h) show the same words.
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

// Limits of a kernel's occupancy: "shared memory". `occupancy_limiter` holds one or several.
std::span<const ShownWord> LimiterTable();
std::string LimiterWords(std::string_view limiter);
// Basis of a finding's saving: "cost model".
std::span<const ShownWord> BasisTable();
std::string_view BasisWords(std::string_view basis);
// Origin of the recording: "imported from Nsight Systems".
std::span<const ShownWord> SourceTable();
// Kinds of devices: "GPU".
std::span<const ShownWord> DeviceTable();
std::string_view KindOfDevice(std::string_view kind);
// Kinds of work on a critical path, in the plural: "copies".
std::span<const ShownWord> PathTable();
// Purposes of a module's reserved memory, and kinds of values in it.
std::span<const ShownWord> MemoryTable();
std::span<const ShownWord> LiveTable();
// Places of launches outside of the host's ranges (report/launched_in.h).
std::span<const ShownWord> PlaceTable();
std::string_view PlaceWords(std::string_view place);
// Phases in columns too narrow for the word: "fwd".
std::span<const ShownWord> ShortPhaseTable();

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_WORD_TABLES_H_
