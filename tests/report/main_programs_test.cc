// SPDX-License-Identifier: Apache-2.0

// The figures of a run's main program that a comparison uses, from a run.db with known
// collectives.

#include "report/compare/main_programs.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "report/compare/load_run.h"
#include "sample_run.h"
#include "store/run_db.h"
#include "temporary_folder.h"

namespace xlatrace::report {
namespace {

constexpr int64_t kMiB = 1 << 20;

// A program on 2 devices. In each execution it exchanges 4 MiB twice, mostly exposed, and 64 MiB
// behind other work.
std::optional<double> ExposedBytes(int64_t steps) {
  SampleRun run;
  run.devices = 2;
  run.steps = steps;
  run.executions = true;
  run.ops = {{.instruction = "fusion.1", .ns = 900'000},
             {.instruction = "all-reduce.1",
              .kind = model::OpKind::kCollective,
              .ns = 100'000,
              .calls = 2,
              .exchanged_bytes = 4 * kMiB,
              .exposed_ns = 60'000},
             {.instruction = "all-reduce.2",
              .kind = model::OpKind::kCollective,
              .ns = 100'000,
              .exchanged_bytes = 64 * kMiB,
              .exposed_ns = 40'000}};
  const TemporaryFolder folder;
  const std::string path = folder.File("run.db");
  EXPECT_TRUE(WriteSampleRun(run, path));
  auto db = store::RunDb::Open(path);
  EXPECT_TRUE(db);
  const auto view = LoadRunView(*db);
  EXPECT_TRUE(view);
  const auto loaded = LoadCompareRun(*db, *view);
  EXPECT_TRUE(loaded);
  EXPECT_EQ(loaded->modules.at(0).executions, 2 * steps);
  return loaded->exposed_collective_bytes;
}

TEST(MainProgramsTest, ExposedBytesAreOfOneExecution) {
  EXPECT_EQ(ExposedBytes(5), 8.0 * kMiB);
  EXPECT_EQ(ExposedBytes(20), 8.0 * kMiB);  // However long the recording.
}

}  // namespace
}  // namespace xlatrace::report
