// SPDX-License-Identifier: Apache-2.0
#include "importers/hook/compile_log.h"

#include <string>

#include <gtest/gtest.h>

#include "importers/common/compile_stage.h"
#include "model/event_sink.h"
#include "tests/importers/memory_sink.h"

namespace xlatrace::importers {
namespace {

using model::CompileStage;

constexpr char kLog[] = R"({"stage":"process","name":"python","start":900,"end":950}
{"stage":"import","name":"jax","start":950,"end":990,"file":"/w/train.py","line":3}
{"stage":"trace","name":"step","id":1,"start":1010,"end":1020,"file":"/w/train.py","line":9}
{"stage":"compile","name":"step","id":1,"start":1030,"file":"/w/train.py","line":9,"function":{"file":"/w/train.py","line":5,"library":false},"again":null}
{"stage":"compile","name":"step","id":1,"start":1030,"end":1130,"details":[{"kind":"cache_miss","name":"/c","before":"not in the cache"}]}
{"stage":"compile","name":"step","id":2,"start":1200,"file":"/w/train.py","line":9,"again":["shape"],"details":[{"kind":"shape","name":"x","before":"float32[3]","after":"float32[4]"},{"kind":"equations","name":"","value":7}]}
)";

TEST(CompileLog, LinesOfOneStageBecomeOneEntry) {
  const CompileLog log = ParseCompileLog(kLog);
  ASSERT_EQ(log.entries.size(), 5U);
  EXPECT_EQ(log.process_start_unix_ns, 900);
  EXPECT_EQ(log.entries[0].name, "python");
  const CompileLog::Entry& compiled = log.entries[3];
  EXPECT_EQ(compiled.stage, CompileStage::kCompile);
  EXPECT_EQ(compiled.end_unix_ns, 1130);
  EXPECT_FALSE(compiled.facts->is_again);
  EXPECT_EQ(compiled.facts->function_line, 5);
  ASSERT_EQ(compiled.facts->details.size(), 1U);
  EXPECT_EQ(compiled.facts->details[0].kind, "cache_miss");
  EXPECT_EQ(log.damaged_lines, 0);
}

TEST(CompileLog, CutLineIsCountedAndTheRestIsRead) {
  const std::string text = std::string(kLog) + R"({"stage":"compile","na)";
  const CompileLog log = ParseCompileLog(text);
  EXPECT_EQ(log.entries.size(), 5U);
  EXPECT_EQ(log.damaged_lines, 1);
}

TEST(CompileLog, UnfinishedStageLastsUntilTheProcessEnded) {
  MemorySink sink;
  sink.SetStart(1000);
  AddCompileLog(ParseCompileLog(kLog), {}, {}, 1, 5000, sink);
  ASSERT_EQ(sink.compiles.size(), 5U);
  const MemorySink::CompileRow& last = sink.compiles.back();
  EXPECT_TRUE(last.facts->is_unfinished);
  EXPECT_EQ(last.start_ns, 200);
  EXPECT_EQ(last.end_ns, 4000);
  EXPECT_TRUE(last.facts->details[0].is_difference);
  EXPECT_FALSE(last.facts->details[1].is_difference);
}

TEST(CompileLog, CompilationOfTheProfileGivesItsModuleAndItsPasses) {
  MemorySink sink;
  sink.SetStart(1000);
  const std::vector<HeldCompile> profile = {
      {{.process_id = 1, .module_id = 7, .start_ns = 35, .end_ns = 120}, "jit_step"},
      {{.process_id = 1,
        .module_id = 7,
        .start_ns = 40,
        .end_ns = 60,
        .stage = CompileStage::kPasses},
       "simplification"},
      {{.process_id = 1, .module_id = 9, .start_ns = 500, .end_ns = 600}, "jit_other"}};
  AddCompileLog(ParseCompileLog(kLog), profile, {}, 1, 1300, sink);
  ASSERT_EQ(sink.compiles.size(), 7U);
  EXPECT_EQ(sink.compiles[3].module_id, 7);
  EXPECT_EQ(sink.compiles[5].name, "simplification");
  EXPECT_EQ(sink.compiles[6].name, "jit_other");
}

TEST(CompileLog, ModulesOfOneNameFollowTheOrderOfCompilation) {
  MemorySink sink;
  sink.SetStart(1000);
  AddCompileLog(ParseCompileLog(kLog), {}, {{3, "jit_step", 80}, {2, "jit_step", 12}}, 1, 1300,
                sink);
  EXPECT_EQ(sink.compiles[3].module_id, 2);
  EXPECT_EQ(sink.compiles[4].module_id, 3);
}

TEST(CompileStage, NamesOfTheCompilerLeadToTheirStage) {
  const auto stage = [](std::string_view name) {
    return StageOfCompilerRange(name, CompileStage::kPasses);
  };
  EXPECT_EQ(stage("XlaPass: gemm-algorithm-picker"), CompileStage::kAutotune);
  EXPECT_EQ(stage("XlaEmitGpuAsm"), CompileStage::kCodegen);
  EXPECT_EQ(stage("CpuCompiler::RunBackend"), CompileStage::kCodegen);
  EXPECT_EQ(stage("XlaCreateGpuExecutable"), CompileStage::kLoad);
  EXPECT_EQ(stage("dce"), CompileStage::kPasses);
}

}  // namespace
}  // namespace xlatrace::importers
