// SPDX-License-Identifier: Apache-2.0
#include "export/database.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "base/abandoned_files.h"
#include "base/file.h"
#include "base/shell_word.h"
#include "export/export_format.h"
#include "export/run_rows.h"
#include "store/run_copy.h"

namespace xlatrace::exporter {

Result<ExportCount> WriteDatabase(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const int64_t launches, store::CountLaunches(db));
  if (launches == 0) {
    return MakeError(fmt::format("'{}' holds no launches: there is nothing to export", db.path()),
                     fmt::format("xlatrace summary {}", ShellWord(db.path())));
  }
  RemoveAbandonedFiles(request.output);
  const std::string temporary = fmt::format("{}.tmp.{}", request.output, getpid());
  RegisterTemporaryFile(temporary);
  Status copied = store::CopyRun(db.path(), temporary, {});
  const bool renamed = copied && rename(temporary.c_str(), request.output.c_str()) == 0;
  const std::string reason = std::strerror(errno);
  if (!renamed) unlink(temporary.c_str());
  UnregisterTemporaryFile(temporary);
  XLATRACE_TRY(std::move(copied));
  if (!renamed) return MakeError(fmt::format("writing '{}': {}", request.output, reason));
  return ExportCount{launches, 1};
}

}  // namespace xlatrace::exporter
