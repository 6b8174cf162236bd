// SPDX-License-Identifier: Apache-2.0

// Any text as a baseline: every line that is a record is one again when it is written and read, and
// can be judged by.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "compare/gate.h"
#include "compare/run_record.h"

namespace {

using namespace xlatrace::compare;  // NOLINT

constexpr size_t kMostRecords = 12;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<RunRecord> records;
  for (size_t at = 0; at < text.size() && records.size() < kMostRecords;) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    if (auto record = ParseRecord(text.substr(at, end - at))) {
      const std::string written = RecordText(*record);
      const auto again = ParseRecord(written);
      if (!again || RecordText(*again) != written) std::abort();
      records.push_back(std::move(*record));
    }
    at = end + 1;
  }
  if (records.empty()) return 0;
  const std::vector<RunRecord> now = {records.back()};
  GateOptions options;
  options.by = size % 2 == 0 ? GateBy::kOp : GateBy::kPhase;
  (void)EvaluateGate(records, now, options);
  return 0;
}
