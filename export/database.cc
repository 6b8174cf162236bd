#include "export/database.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "export/export_format.h"
#include "export/run_rows.h"
#include "store/run_copy.h"

namespace xlatrace::exporter {

Result<ExportCount> WriteDatabase(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const int64_t launches, store::CountLaunches(db));
  if (launches == 0) {
    return MakeError(fmt::format("'{}' holds no launches: there is nothing to export", db.path()),
                     fmt::format("xlatrace summary {}", db.path()));
  }
  const std::string temporary = fmt::format("{}.tmp.{}", request.output, getpid());
  XLATRACE_TRY(store::CopyRun(db.path(), temporary, {}));
  if (rename(temporary.c_str(), request.output.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    unlink(temporary.c_str());
    return MakeError(fmt::format("writing '{}': {}", request.output, reason));
  }
  return ExportCount{launches, 1};
}

}  // namespace xlatrace::exporter
