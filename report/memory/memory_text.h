// SPDX-License-Identifier: Apache-2.0

// `summary --by memory`: device memory of programs by owner and by layer, and the largest buffers
// at the peak, from the view `buffer` (docs/schema.md, "Memory").
//
// The text describes one program: the main program with the largest peak. JSON has all programs.
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_MEMORY_MEMORY_TEXT_H_
#define XLATRACE_REPORT_MEMORY_MEMORY_TEXT_H_

#include <cstddef>
#include <string>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct MemoryTextOptions {
  int width = 100;  // Columns of the terminal.
  bool ascii = false;
  size_t rows = 0;  // Largest buffers; 0: 15.
};

// Both fail if run.db has no buffers.
Result<std::string> MemoryText(store::RunDb& db, const MemoryTextOptions& options);
// {"schema_version", "programs": [{"handle", "name", "total_bytes", "peak_instruction", "owners",
// "layers", "buffers"}]}.
Result<std::string> MemoryJson(store::RunDb& db, const MemoryTextOptions& options);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_MEMORY_MEMORY_TEXT_H_
