// SPDX-License-Identifier: Apache-2.0

// The correlator on recorded data: importers -> store -> correlator. Launches are replayed from
// dumps, whose thunk lists are the truth.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlator/attribution_check.h"
#include "correlator/kernel_symbols.h"
#include "dumps/dump_dir.h"
#include "hlo/text/text_reader.h"
#include "importers/importer.h"
#include "store/run_builder.h"
#include "tests/correlator/test_builders.h"
#include "tests/shared_data.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using model::Id;
using ::testing::IsEmpty;

struct Imported {
  std::unique_ptr<store::RunBuilder> builder;
  model::AttributionTables tables;
  const model::RunTables& run() const { return builder->tables(); }
};

Imported ImportAndAttribute(const std::string& path) {
  Imported imported;
  imported.builder =
      std::make_unique<store::RunBuilder>(::testing::TempDir() + "correlator_data_test.db");
  const Status status = importers::Import(path, *imported.builder);
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  auto tables = Attribute(imported.run(), [&](Id id) -> Result<LoadedModule> {
    XLATRACE_ASSIGN(auto stored, imported.builder->ReadModule(id));
    LoadedModule module;
    XLATRACE_ASSIGN(module.hlo,
                    hlo::ReadAny(std::make_shared<const std::string>(std::move(stored.bytes))));
    return module;
  });
  EXPECT_TRUE(tables) << (tables ? "" : tables.error().message);
  if (tables) imported.tables = std::move(*tables);
  EXPECT_THAT(CheckAttribution(imported.run(), imported.tables), IsEmpty());
  return imported;
}

// The expected counts come from the notes on the recording: 20 steps of 298 ops, and 7,737 ops in
// the whole run.
TEST(RecordedData, EveryOpOfAJaxCpuRunIsExact) {
  XLATRACE_SHARED_OR_SKIP(path, "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz");
  const Imported imported = ImportAndAttribute(path);
  const model::RunTables& run = imported.run();
  ASSERT_EQ(run.activities.size(), 7737u);
  size_t of_step = 0;
  std::set<Id> instructions;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const model::Label& label = LabelOf(imported.tables, i);
    ASSERT_EQ(label.confidence, Confidence::kExact);
    const auto& row = imported.tables.instructions[static_cast<size_t>(label.instruction_id - 1)];
    ASSERT_EQ(row.name, run.ConfigOf(i).symbol) << "JAX names CPU events after the instruction";
    const model::ModuleInfo& module = run.modules[static_cast<size_t>(label.module_id - 1)];
    if (module.program_id != 52) continue;
    EXPECT_EQ(module.name, "jit_train_step");
    ++of_step;
    instructions.insert(label.instruction_id);
  }
  EXPECT_EQ(of_step, 5960u);
  EXPECT_EQ(instructions.size(), 298u);
  size_t named = 0;
  for (const Id id : instructions) {
    named += !imported.tables.instructions[static_cast<size_t>(id - 1)].op_name.empty();
  }
  EXPECT_GE(named, 278u) << "instructions with an op_name";

  int executions = 0;
  for (const model::Execution& execution : imported.tables.executions) {
    if (run.modules[static_cast<size_t>(execution.module_id - 1)].program_id != 52) continue;
    ++executions;
    EXPECT_EQ(execution.activities, 298);
    EXPECT_TRUE(execution.complete);
  }
  EXPECT_EQ(executions, 20);
  for (size_t m = 0; m < run.modules.size(); ++m) {
    EXPECT_EQ(imported.tables.modules[m].role == model::ModuleRole::kMain,
              run.modules[m].program_id == 52)
        << run.modules[m].name;
  }
}

TEST(RecordedData, NamedOpsOfGpuAndTpuProfilesAreExact) {
  for (const char* name :
       {"jax08_elementwise", "jax08_gemm", "jax_conv_minimal", "tpu_v6e_jit_f_4chips"}) {
    XLATRACE_SHARED_OR_SKIP(path, "xplane/" + std::string(name) + ".xplane.pb");
    SCOPED_TRACE(name);
    const Imported imported = ImportAndAttribute(path);
    const model::RunTables& run = imported.run();
    ASSERT_GT(run.activities.size(), 0u);
    for (size_t i = 0; i < run.activities.size(); ++i) {
      const uint32_t hint = run.activities.hint[i];
      const model::Label& label = LabelOf(imported.tables, i);
      if (hint != 0 && !run.hints[hint - 1].instruction.empty()) {
        EXPECT_EQ(label.confidence, Confidence::kExact) << run.ConfigOf(i).symbol;
      } else if (label.instruction_id == 0) {
        EXPECT_EQ(label.reason, model::Reason::kTransfer) << run.ConfigOf(i).symbol;
      }
    }
  }
}

struct Score {
  int launches = 0;
  int exact = 0;
  int inferred = 0;
  int wrong_exact = 0;
  int wrong_inferred = 0;
};

// Launches each kernel of the thunk list twice, as a source without annotations shows it: symbol,
// grid and block, and the module that is running.
Score Replay(const std::string& dir, bool with_thunks) {
  Score score;
  auto listed = dumps::ListDumpDir(dir);
  if (!listed) {
    ADD_FAILURE() << listed.error().message;
    return score;
  }
  for (const dumps::DumpModule& dumped : listed->modules) {
    auto loaded = dumps::LoadDumpModule(dumped);
    if (!loaded) continue;
    RunBuilder run;
    run.AddDevice();
    run.AddLane();
    run.AddModule(dumped.name, dumped.program_id, [&] {
      auto again = dumps::LoadDumpModule(dumped);
      LoadedModule module;
      module.hlo = std::move(again->module);
      if (with_thunks) module.thunks = std::move(again->thunks);
      return module;
    });
    const uint32_t hint = run.Annotation(dumped.name, dumped.program_id, "");
    std::vector<std::string> truth;
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const model::Thunk& thunk : loaded->thunks) {
        if (thunk.kernel.empty() || thunk.instruction.empty()) continue;
        run.Activity(run.Kernel(thunk.kernel, thunk.grid[0], thunk.block[0]), hint);
        truth.push_back(thunk.instruction);
      }
    }
    const model::AttributionTables tables = run.Attribute();
    for (size_t i = 0; i < truth.size(); ++i) {
      const model::Label& label = LabelOf(tables, i);
      ++score.launches;
      if (label.instruction_id == 0) continue;
      const bool right =
          tables.instructions[static_cast<size_t>(label.instruction_id - 1)].name == truth[i];
      const bool exact = label.confidence == Confidence::kExact;
      ++(exact ? score.exact : score.inferred);
      if (!right) ++(exact ? score.wrong_exact : score.wrong_inferred);
    }
  }
  return score;
}

class ReplayedDump : public ::testing::TestWithParam<const char*> {};

TEST_P(ReplayedDump, ExactLabelsOfAReplayedDumpAreRight) {
  XLATRACE_SHARED_OR_SKIP(dir, GetParam());
  for (const bool with_thunks : {true, false}) {
    const Score score = Replay(dir, with_thunks);
    EXPECT_GT(score.launches, 0);
    EXPECT_EQ(score.wrong_exact, 0);
    // The bar for what is deduced: at least 97 in 100 right.
    EXPECT_LE(100 * score.wrong_inferred, 3 * (score.exact + score.inferred));
    // And for what is known for sure, with the thunk list and from optimised HLO alone.
    EXPECT_GE(100 * score.exact, (with_thunks ? 90 : 60) * score.launches);
    const std::string prefix = with_thunks ? "thunks_" : "hlo_";
    RecordProperty(prefix + "launches", score.launches);
    RecordProperty(prefix + "exact", score.exact);
    RecordProperty(prefix + "inferred", score.inferred);
    RecordProperty(prefix + "wrong_inferred", score.wrong_inferred);
  }
}

INSTANTIATE_TEST_SUITE_P(Data, ReplayedDump,
                         ::testing::Values("own/jax-sm90/cmdbuf", "own/jax-sm90/nocmdbuf",
                                           "own/jax-sm90/cublas", "own/jax-sm90/dp2",
                                           "dumps/mi300x-2026-08"));

}  // namespace
}  // namespace xlatrace::correlator
