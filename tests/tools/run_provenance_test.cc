// SPDX-License-Identifier: Apache-2.0

// A dump of the passes is matched with a run by the content of the modules, and reading it stops at
// the time limit.

#include "tools/run_provenance.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "hlo/text/text_reader.h"
#include "store/run_builder.h"
#include "store/run_saver.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Twenty operations of one chain; the one numbered `other` is a sine, all others are negations.
std::string Chain(const std::string& prefix, int other = -1, const std::string& name = "jit_f") {
  std::string text = "HloModule " + name + "\nENTRY e {\n  p = f32[8] parameter(0)\n";
  std::string last = "p";
  for (int i = 0; i < 20; ++i) {
    const std::string now = fmt::format("{}.{}", prefix, i);
    text += fmt::format("  {}{} = f32[8] {}({})\n", i == 19 ? "ROOT " : "", now,
                        i == other ? "sine" : "negate", last);
    last = now;
  }
  return text + "}\n";
}

class RunProvenanceTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            fmt::format("xlatrace_provenance_{}_{}", getpid(),
                        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(root_ / "dump");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Dump(const std::string& rest, const std::string& text, const std::string& number = "0001") {
    std::ofstream(root_ / "dump" / fmt::format("module_{}.jit_f.{}", number, rest)) << text;
  }
  // before, two passes, after: named old.N until the second pass.
  void DumpAll(const std::string& old_text, const std::string& text) {
    Dump("before_optimizations.txt", old_text);
    Dump("0001.a.after_pipeline-start.before_x.txt", old_text);
    Dump("0002.a.after_rename.before_y.txt", text);
    Dump("sm_9.0_gpu_after_optimizations.txt", text);
  }

  // A run of one module with this text.
  store::RunDb Run(const std::string& text) {
    const auto module = hlo::ReadAny(std::make_shared<const std::string>(text));
    EXPECT_TRUE(module);
    const std::string path = (root_ / "run.db").string();
    auto saver = store::RunSaver::Create(path);
    EXPECT_TRUE(saver);
    store::RunBuilder run(saver->beside());
    run.AddProcess({.pid = 9});
    run.AddModule({.process_id = 1,
                   .name = "jit_f",
                   .program_id = 77,  // Another number than that of the dump.
                   .format = model::ModuleBlob::Format::kHloText,
                   .bytes = text});
    model::AttributionTables attribution;
    attribution.modules.push_back({.fingerprint = HashText(module->content_hash)});
    attribution.labels.push_back({});
    model::AnalysisTables analysis;
    run.AddResults(attribution);
    run.AddResults(analysis);
    EXPECT_TRUE(saver->Save(run, &attribution, &analysis));
    auto db = store::RunDb::Open(path);
    EXPECT_TRUE(db) << (db ? "" : db.error().message);
    return std::move(*db);
  }
  Result<report::Provenance> Read(store::RunDb& db, const std::string& name, const GoOn& go_on) {
    return ReadProvenance(db, (root_ / "dump").string(), {{1, name}}, go_on);
  }
  // "DUMP PASS EVENT: EARLIER NAMES > NAME" of each event; dump -1 is the unoptimised module.
  static std::vector<std::string> Events(const report::OpProvenance& op) {
    std::vector<std::string> events;
    for (const report::ProvenanceEvent& event : op.events) {
      std::string before;
      for (const report::ProvenanceNote& note : event.before) before += note.name + " ";
      events.push_back(
          fmt::format("{} {} {}: {}> {}", event.dump, event.pass, event.event, before, event.name));
    }
    return events;
  }
  static std::string Sentences(const report::OpProvenance& op) {
    std::string sentences;
    for (const report::ProvenanceEvent& event : op.events) {
      sentences += report::PassWords(event) + ": " + report::EventSentence(event) + "\n";
    }
    return sentences;
  }
  static bool Always() { return true; }

  std::filesystem::path root_;
};

TEST_F(RunProvenanceTest, InstructionIsTracedIfItsModuleHasAnotherNumber) {
  DumpAll(Chain("old"), Chain("neg"));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", Always);
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_EQ(told->ops.size(), 1u);
  EXPECT_THAT(Events(told->ops[0]), ElementsAre("-1 before_optimizations first: > old.7",
                                                "2 rename renamed: old.7 > neg.7"));
  EXPECT_GOLDEN_TEXT(Sentences(told->ops[0]));
  EXPECT_THAT(told->notes, IsEmpty());
}

TEST_F(RunProvenanceTest, ModuleWith95PercentEqualInstructionsIsUsed) {
  DumpAll(Chain("old", 3), Chain("neg", 3));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", Always);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->ops.size(), 1u);
  ASSERT_THAT(told->notes, ElementsAre(HasSubstr("95.0%")));
  EXPECT_GOLDEN_TEXT(told->notes[0]);
}

TEST_F(RunProvenanceTest, ModuleOfTheSameNameWithAnotherProgramIsRefused) {
  DumpAll(Chain("old"), Chain("other"));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", Always);
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("jit_f"));
  EXPECT_GOLDEN_TEXT(told.error().message + "\n" + told.error().hint);
}

TEST_F(RunProvenanceTest, TimeLimitIsReportedWithTheFirstPassRead) {
  DumpAll(Chain("old"), Chain("neg"));
  store::RunDb db = Run(Chain("neg"));
  int asked = 2;  // To compare the module, and to read dump 2.
  const auto told = Read(db, "neg.7", [&] { return asked-- > 0; });
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_EQ(told->notes.size(), 1u);
  EXPECT_THAT(told->notes[0], HasSubstr("rename"));
  EXPECT_THAT(Events(told->ops.at(0)), ElementsAre("2 rename first: > neg.7"));
  EXPECT_GOLDEN_TEXT(told->notes[0] + "\n" + Sentences(told->ops.at(0)));
}

TEST_F(RunProvenanceTest, TimeLimitBeforeTheFirstModuleIsAnError) {
  DumpAll(Chain("old"), Chain("neg"));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", [] { return false; });
  ASSERT_FALSE(told);
  EXPECT_GOLDEN_TEXT(told.error().message + "\n" + told.error().hint);
}

TEST_F(RunProvenanceTest, DumpWithTheMostPassesOfOneProgramIsRead) {
  DumpAll(Chain("old"), Chain("neg"));
  Dump("0000.a.after_b.before_c.txt", Chain("neg"), "0000");
  Dump("sm_9.0_gpu_after_optimizations.txt", Chain("neg"), "0000");
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", Always);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->ops.at(0).events.size(), 2u);
}

}  // namespace
}  // namespace xlatrace::tools
