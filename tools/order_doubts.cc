// SPDX-License-Identifier: Apache-2.0
#include "tools/order_doubts.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "correlator/correlator.h"
#include "store/run_builder.h"
#include "store/run_replay.h"
#include "tools/parsed_modules.h"

namespace xlatrace::tools {

Result<std::vector<correlator::Doubt>> OrderDoubts(store::RunDb& db) {
  const std::filesystem::path beside =
      std::filesystem::temp_directory_path() / fmt::format("xlatrace.why.{}", getpid());
  store::RunBuilder builder(beside.string());
  XLATRACE_TRY(store::Replay(db, builder));
  XLATRACE_TRY(builder.status());
  std::vector<correlator::Doubt> doubts;
  ParsedModules modules(builder);
  XLATRACE_TRY(correlator::Attribute(builder.tables(), modules.ForCorrelator(), &doubts));
  return doubts;
}

}  // namespace xlatrace::tools
