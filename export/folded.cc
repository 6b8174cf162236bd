// SPDX-License-Identifier: Apache-2.0
#include "export/folded.h"

#include <string>

#include <fmt/format.h>

#include "base/file.h"
#include "export/export_format.h"
#include "export/run_rows.h"
#include "export/stack_times.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

void AppendFrame(std::string& line, std::string_view name) {
  if (!line.empty()) line += ';';
  for (const char c : name) {
    const bool special = c == ';' || static_cast<unsigned char>(c) < 0x20;
    line += special ? ' ' : c;
  }
}

}  // namespace

Result<ExportCount> WriteFolded(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, request.progress, request.selection));
  XLATRACE_ASSIGN(const auto stacks, SumStacks(run));
  XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(request.output));
  ExportCount count{0, 1};
  for (const StackTime& stack : stacks) {
    if (stack.self_ns == 0) continue;
    std::string line;
    if (run.processes().size() > 1) {
      AppendFrame(line, run.ProcessTitle(At(run.processes(), stack.process_id)));
    }
    AppendFrame(line, model::Text(stack.phase));
    for (const StackTime::Frame& frame : stack.Frames()) AppendFrame(line, frame.name);
    XLATRACE_TRY(file.Append(fmt::format("{} {}\n", line, stack.self_ns)));
    ++count.rows;
  }
  XLATRACE_TRY(file.Commit());
  return count;
}

}  // namespace xlatrace::exporter
