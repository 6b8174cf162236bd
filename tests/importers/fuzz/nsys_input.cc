// SPDX-License-Identifier: Apache-2.0
#include "tests/importers/fuzz/nsys_input.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "importers/nsys/nsys_sqlite.h"
#include "tests/importers/memory_sink.h"

namespace xlatrace::importers {

void RunNsysInput(const uint8_t* data, size_t size) {
  // SQLite needs a name that it can resolve; a file without a name has none.
  static const std::string path = (std::filesystem::temp_directory_path() /
                                   ("xlatrace_nsys_input_" + std::to_string(getpid()) + ".sqlite"))
                                      .string();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  MemorySink sink;
  (void)ImportNsysSqlite(path, sink);
  std::filesystem::remove(path);
  for (const model::Activity& activity : sink.activities) {
    if (activity.end_ns < activity.start_ns || MemorySink::SelfNs(activity) < 0) std::abort();
    if (activity.lane_id < 1 || static_cast<size_t>(activity.lane_id) > sink.lanes.size()) {
      std::abort();
    }
    if (static_cast<size_t>(activity.api_call_id) > sink.calls.size()) std::abort();
  }
}

}  // namespace xlatrace::importers
