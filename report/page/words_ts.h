// SPDX-License-Identifier: Apache-2.0

// Generates report/ui/src/words.ts: the words of run.db as the app shows them. Sources:
// report/shown_words.h and word_tables.h, over model/words.h. Each word is therefore defined in one
// place.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_PAGE_WORDS_TS_H_
#define XLATRACE_REPORT_PAGE_WORDS_TS_H_

#include <string>

namespace xlatrace::report {

// Returns the whole file. tests/report/words_test.cc compares the committed file with it, and
// writes the file if XLATRACE_UPDATE_WORDS is set.
std::string WordsTypeScript();

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_WORDS_TS_H_
