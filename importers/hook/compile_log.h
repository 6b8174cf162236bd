// SPDX-License-Identifier: Apache-2.0

// Reads compile.jsonl, in which the Python hook records imports, tracing and compilation of a
// process (python/xlatrace_hook/xlatrace_hook/compile_log.py), and adds it to a run.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_IMPORTERS_HOOK_COMPILE_LOG_H_
#define XLATRACE_IMPORTERS_HOOK_COMPILE_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "importers/common/same_process_sink.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

struct CompileLog {
  struct Entry {
    model::CompileStage stage = model::CompileStage::kCompile;
    std::string name;
    int64_t start_unix_ns = 0;
    std::optional<int64_t> end_unix_ns;  // None: the process ended in this stage.
    std::shared_ptr<model::CompileFacts> facts;
  };
  std::vector<Entry> entries;
  std::optional<int64_t> process_start_unix_ns;
  int64_t last_unix_ns = 0;   // The last time in the log.
  int64_t damaged_lines = 0;  // The last line of a killed process is often cut.
  int64_t dropped_lines = 0;  // Beyond the limit of the file.
};

// Lines in another format are counted and left out.
CompileLog ParseCompileLog(std::string_view text);
// A file that does not exist is an empty log.
Result<CompileLog> ReadCompileLog(const std::string& path);

// Adds the entries together with the compilations of the process's profile. A compilation in both
// becomes one row of stage `compile`, with the module of the profile. `ended_unix_ns`: end of the
// process, if known. A stage without an end lasts until then.
void AddCompileLog(const CompileLog& log, const std::vector<HeldCompile>& profile,
                   const std::vector<NamedModule>& modules, model::Id process_id,
                   std::optional<int64_t> ended_unix_ns, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_HOOK_COMPILE_LOG_H_
