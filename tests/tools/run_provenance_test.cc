// SPDX-License-Identifier: Apache-2.0

// A dump of the passes is matched with a run by what the modules hold, and read no longer than it
// may be.

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
    run.Learn(attribution);
    run.Learn(analysis);
    EXPECT_TRUE(saver->Save(run, &attribution, &analysis));
    auto db = store::RunDb::Open(path);
    EXPECT_TRUE(db) << (db ? "" : db.error().message);
    return std::move(*db);
  }
  Result<report::Provenance> Read(store::RunDb& db, const std::string& name, const GoOn& go_on) {
    return ReadProvenance(db, (root_ / "dump").string(), {{1, name}}, go_on);
  }
  static std::vector<std::string> Sentences(const report::OpProvenance& op) {
    std::vector<std::string> sentences;
    for (const report::ProvenanceEvent& event : op.events) {
      sentences.push_back(report::PassWords(event) + ": " + report::EventSentence(event));
    }
    return sentences;
  }
  static bool Always() { return true; }

  std::filesystem::path root_;
};

TEST_F(RunProvenanceTest, TellsOfAnInstructionWhateverTheNumberOfItsModule) {
  DumpAll(Chain("old"), Chain("neg"));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", Always);
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_EQ(told->ops.size(), 1u);
  EXPECT_THAT(Sentences(told->ops[0]), ElementsAre("before_optimizations: old.7 is there",
                                                   "rename, dump 2: old.7 was renamed neg.7"));
  EXPECT_THAT(told->notes, IsEmpty());
}

TEST_F(RunProvenanceTest, AModuleThatDiffersInOneOfTwentyIsTakenAndSaidToDiffer) {
  DumpAll(Chain("old", 3), Chain("neg", 3));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", Always);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->ops.size(), 1u);
  EXPECT_THAT(told->notes, ElementsAre(HasSubstr("95.0% of the instructions")));
}

TEST_F(RunProvenanceTest, AModuleOfTheSameNameThatIsAnotherProgramIsRefused) {
  DumpAll(Chain("old"), Chain("other"));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", Always);
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("is not a dump of this run"));
  EXPECT_THAT(told.error().message, HasSubstr("jit_f"));
  EXPECT_THAT(told.error().hint, HasSubstr("by content"));
}

TEST_F(RunProvenanceTest, StopsWhenTimeIsOverAndSaysFromWhereOnItTells) {
  DumpAll(Chain("old"), Chain("neg"));
  store::RunDb db = Run(Chain("neg"));
  int asked = 2;  // To compare the module, and to read dump 2.
  const auto told = Read(db, "neg.7", [&] { return asked-- > 0; });
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_EQ(told->notes.size(), 1u);
  EXPECT_THAT(told->notes[0], HasSubstr("took too long to read: what happened before rename"));
  EXPECT_THAT(Sentences(told->ops.at(0)), ElementsAre("rename, dump 2: neg.7 is there"));
}

TEST_F(RunProvenanceTest, WithoutAnyTimeItIsAnErrorNotAnotherProgram) {
  DumpAll(Chain("old"), Chain("neg"));
  store::RunDb db = Run(Chain("neg"));
  const auto told = Read(db, "neg.7", [] { return false; });
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, HasSubstr("took too long"));
}

TEST_F(RunProvenanceTest, OfSeveralDumpsOfOneProgramTheOneWithMostPassesIsRead) {
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
