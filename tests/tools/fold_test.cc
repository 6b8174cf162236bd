// SPDX-License-Identifier: Apache-2.0

// Folding recordings: what is folded when, what is kept, what is removed.

#include "tools/fold.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/invariants.h"
#include "store/run_db.h"
#include "tests/golden_text/golden_text.h"
#include "tests/importers/recording_builder.h"
#include "tests/unquoted_path.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;
using importers::RecordingBuilder;
using importers::TemporaryFolder;
using ::testing::HasSubstr;

class FoldTest : public ::testing::Test {
 protected:
  FoldTest() { fs::create_directory(folder_ / "run.rec"); }

  std::string Rec() const { return folder_ / "run.rec"; }
  std::string Db() const { return folder_ / "run.db"; }
  std::string File(const std::string& name) const { return folder_ / ("run.rec/" + name); }
  FoldRequest Request() const { return {.folder = Rec(), .database = Db()}; }

  // A process with a module of two instructions, run once, and `kernels` more activities.
  std::unique_ptr<RecordingBuilder> Process(const std::string& name, int kernels = 1) {
    auto builder = std::make_unique<RecordingBuilder>(File(name));
    const auto titles = builder->RegisterModule(
        "jit_f", 7,
        {{.name = "p.1", .line = "p.1 = f32[8]{0} parameter(0)"},
         {.name = "add.3",
          .line = "add.3 = f32[8]{0} add(p.1, p.1), metadata={op_name=\"jit(f)/add\"}",
          .op_name = "jit(f)/add"}});
    const uint64_t run = builder->Run(titles[0], 10, 90000);
    thunk_ = titles[2];
    run_ = run;
    for (int i = 0; i < kernels; ++i) Kernel(*builder, i);
    return builder;
  }
  void Kernel(RecordingBuilder& builder, int i) {
    const auto at = static_cast<uint64_t>(i) * 10;
    builder.Kernel("loop_add", builder.Call(307, 20 + at, 25 + at, thunk_, run_), 1000 + at,
                   1005 + at);
  }

  FoldOutcome MustFold(const FoldRequest& request) {
    auto outcome = Fold(request);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : FoldOutcome{};
  }
  int64_t Count(const std::string& sql) {
    auto db = store::RunDb::Open(Db());
    EXPECT_TRUE(db) << db.error().message;
    if (!db) return -1;
    auto table = db->Select(sql);
    EXPECT_TRUE(table) << table.error().message;
    return table ? std::get<int64_t>(table->rows.at(0).at(0)) : -1;
  }
  int64_t Activities() { return Count("SELECT count(*) FROM activity"); }
  static std::string All(const std::vector<std::string>& notes) {
    std::string text;
    for (const std::string& note : notes) text += note + "\n";
    return text;
  }
  static std::set<std::string> Names(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  TemporaryFolder folder_;
  uint32_t thunk_ = 0;
  uint64_t run_ = 0;
};

TEST_F(FoldTest, WholeRecordingIsAttributed) {
  Process("a.h.1.10.rec", 5)->Finish();
  const FoldOutcome outcome = MustFold(Request());
  EXPECT_TRUE(outcome.folded);
  EXPECT_TRUE(outcome.whole);
  EXPECT_FALSE(outcome.live);
  EXPECT_EQ(outcome.token, "a");
  EXPECT_EQ(Activities(), 5);
  EXPECT_EQ(Count("SELECT count(*) FROM activity WHERE instruction = 'add.3' AND confidence = "
                  "'exact' AND evidence = 'range' AND execution_id IS NOT NULL"),
            5);
  EXPECT_EQ(Count("SELECT count(*) FROM execution"), 1);
  auto db = store::RunDb::Open(Db());
  ASSERT_TRUE(db);
  auto broken = store::CheckInvariants(*db);
  ASSERT_TRUE(broken) << broken.error().message;
  EXPECT_THAT(*broken, ::testing::IsEmpty());
  struct stat status {};
  ASSERT_EQ(stat(Db().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(FoldTest, UnchangedRecordingIsNotImportedAgain) {
  Process("a.h.1.10.rec")->Finish();
  MustFold(Request());
  const auto before = fs::last_write_time(Db());
  const FoldOutcome outcome = MustFold(Request());
  EXPECT_FALSE(outcome.folded);
  EXPECT_EQ(fs::last_write_time(Db()), before);
}

TEST_F(FoldTest, LiveProcessGivesAPartAndLaterTheRest) {
  auto builder = Process("a.h.1.10.rec", 2);
  builder->writer->Flush();
  const int lock = open(builder->path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);  // As the collector holds it.
  const FoldOutcome part = MustFold(Request());
  EXPECT_TRUE(part.live);
  EXPECT_FALSE(part.whole);
  const std::string running = All(part.notes);
  EXPECT_EQ(Activities(), 2);
  EXPECT_EQ(Count("SELECT count(*) FROM run_stat WHERE name = 'process_still_running'"), 1);

  for (int i = 2; i < 7; ++i) Kernel(*builder, i);
  builder->Finish();
  close(lock);
  const FoldOutcome rest = MustFold(Request());
  EXPECT_TRUE(rest.folded);
  EXPECT_TRUE(rest.whole);
  EXPECT_EQ(Activities(), 7);
  EXPECT_EQ(Count("SELECT count(*) FROM run_stat WHERE name = 'process_still_running'"), 0);
  EXPECT_GOLDEN_TEXT(running);
  EXPECT_FALSE(Exists(folder_ / "run.old.db"));  // The same job: replaced, not kept.
}

TEST_F(FoldTest, EndOfAProcessIsReportedWithoutNewBytes) {
  auto builder = Process("a.h.1.10.rec", 2);
  builder->writer->Flush();
  const int lock = open(builder->path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  MustFold(Request());
  close(lock);
  builder->writer.reset();  // Killed.
  const FoldOutcome outcome = MustFold(Request());
  EXPECT_TRUE(outcome.folded);
  EXPECT_FALSE(outcome.whole);
  EXPECT_GOLDEN_TEXT(All(outcome.notes));
  EXPECT_EQ(Count("SELECT count(*) FROM run_stat WHERE name = 'process_killed'"), 1);
}

// Its lock is not seen: it is on another host.
TEST_F(FoldTest, RecordingThatHasGrownIsFoldedAgain) {
  auto builder = Process("a.h.1.10.rec", 2);
  builder->writer->Flush();
  MustFold(Request());
  EXPECT_EQ(Activities(), 2);
  for (int i = 2; i < 7; ++i) Kernel(*builder, i);
  builder->writer->Flush();
  EXPECT_TRUE(MustFold(Request()).folded);
  EXPECT_EQ(Activities(), 7);
}

TEST_F(FoldTest, ProcessWithoutAFileHasItsNotedLaunches) {
  Process("a.h.1.10.rec")->Finish();
  // Process 77 noted that it would become another program, and the exec failed.
  std::ofstream(File("job")) << "a\nended 77 3 1\nended 1 100 1\nended 77 4 0\n";
  MustFold(Request());
  EXPECT_EQ(Count("SELECT count(*) FROM run_stat WHERE name = 'recording_missing'"), 1);
  EXPECT_EQ(Count("SELECT value FROM run_stat WHERE name = 'recording_missing'"), 7);
}

TEST_F(FoldTest, ProcessesOfAJobAreOneRun) {
  for (int rank = 0; rank < 8; ++rank) {
    const std::string host = rank < 4 ? "h1" : "h2.cluster.local";
    auto builder = Process("tok." + host + "." + std::to_string(100 + rank % 4) + ".10.rec", 3);
    builder->Fact("rank", std::to_string(rank));
    builder->Fact("host", host);
    builder->Finish();
  }
  MustFold(Request());
  EXPECT_EQ(Activities(), 24);
  EXPECT_EQ(Count("SELECT count(DISTINCT rank) FROM process"), 8);
  EXPECT_EQ(Count("SELECT count(DISTINCT host) FROM process"), 2);
  EXPECT_EQ(Count("SELECT count(*) FROM module"), 8);
  EXPECT_EQ(Count("SELECT count(*) FROM activity WHERE confidence = 'exact'"), 24);
}

TEST_F(FoldTest, NewestOfSeveralJobsIsImported) {
  Process("old.h.1.10.rec", 1)->Finish();
  Process("new.h.1.20.rec", 2)->Finish();
  const FoldOutcome outcome = MustFold(Request());
  EXPECT_EQ(outcome.token, "new");
  EXPECT_EQ(Activities(), 2);
  EXPECT_THAT(All(outcome.notes), HasSubstr("old"));
}

TEST_F(FoldTest, EarlierRunOfAnotherJobIsKept) {
  Process("one.h.1.10.rec", 1)->Finish();
  MustFold(Request());
  ASSERT_TRUE(RemoveRecording(Rec(), "one"));
  for (int n = 2; n <= 3; ++n) {
    fs::create_directory(Rec());
    Process("job" + std::to_string(n) + ".h.1.2" + std::to_string(n) + ".rec", n)->Finish();
    const FoldOutcome outcome = MustFold(Request());
    EXPECT_TRUE(outcome.folded);
    const std::string kept = n == 2 ? "run.old.db" : "run.old.2.db";
    EXPECT_THAT(All(outcome.notes), HasSubstr(kept));
    EXPECT_GOLDEN_TEXT(All(outcome.notes));
    ASSERT_TRUE(RemoveRecording(Rec(), outcome.token));
  }
  EXPECT_EQ(Activities(), 3);
  EXPECT_TRUE(Exists(folder_ / "run.old.db"));
  EXPECT_TRUE(Exists(folder_ / "run.old.2.db"));
}

TEST_F(FoldTest, OldRecordingDoesNotReplaceARunMadeSince) {
  Process("old.h.1.10.rec", 1)->Finish();
  fs::create_directory(folder_ / "other.rec");
  {
    RecordingBuilder other(folder_ / "other.rec/new.h.1.30.rec");
    other.Kernel("a", other.Call(307, 1, 2, 0, 0), 10, 20);
    other.Kernel("a", other.Call(307, 1, 2, 0, 0), 10, 20);
    other.Finish();
  }
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(File("old.h.1.10.rec"), hour_ago);
  MustFold({.folder = folder_ / "other.rec", .database = Db()});
  EXPECT_FALSE(MustFold(Request()).folded);
  EXPECT_EQ(Activities(), 2);
}

TEST_F(FoldTest, ForeignFileNamedLikeTheRunIsNotReplaced) {
  Process("a.h.1.10.rec")->Finish();
  std::ofstream(Db()) << "my notes";
  const auto outcome = Fold(Request());
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("run.db"));
  EXPECT_GOLDEN_TEXT(outcome.error().message + "\n" +
                     WithUnquotedPath(outcome.error().hint, Rec()));
  std::ifstream in(Db());
  std::string text;
  std::getline(in, text);
  EXPECT_EQ(text, "my notes");
}

TEST_F(FoldTest, EmptyRecordingIsAnErrorWithItsReason) {
  std::ofstream(File("a.h.77.10.note")) << "reason: libcuda.so.1 was not loaded\npid: 77\n";
  const auto outcome = Fold(Request());
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("libcuda.so.1 was not loaded"));
  EXPECT_THAT(outcome.error().message, HasSubstr("77"));
  EXPECT_NE(outcome.error().hint, "");
}

TEST_F(FoldTest, DamagedFileIsNamedAndOthersAreUsed) {
  Process("a.h.1.10.rec", 3)->Finish();
  std::ofstream(File("a.h.2.11.rec")) << "some text";
  const FoldOutcome outcome = MustFold(Request());
  EXPECT_EQ(Activities(), 3);
  EXPECT_FALSE(outcome.whole);
  ASSERT_EQ(outcome.build.skipped.size(), 1u);
  EXPECT_EQ(Count("SELECT count(*) FROM run_stat WHERE name = 'input_skipped'"), 1);
}

TEST_F(FoldTest, ConcurrentCommandsImportOnce) {
  Process("a.h.1.10.rec", 2000)->Finish();
  std::vector<std::thread> threads;
  std::atomic<int> folded = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto outcome = Fold(Request());
      ASSERT_TRUE(outcome) << outcome.error().message;
      folded += outcome->folded ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(folded, 1);
  EXPECT_EQ(Activities(), 2000);
}

TEST_F(FoldTest, RunAndRecordingNameGiveTheSameRun) {
  Process("a.h.1.10.rec", 3)->Finish();
  EXPECT_EQ(*FoldedRun(Rec()), Db());
  EXPECT_EQ(Activities(), 3);
  EXPECT_EQ(*FoldedRun(Rec() + "/"), Db());
  EXPECT_EQ(*FoldedRun(Db()), Db());
  EXPECT_EQ(*FoldedRun(folder_ / "elsewhere.db"), folder_ / "elsewhere.db");
  const auto file = FoldedRun(File("a.h.1.10.rec"));
  ASSERT_FALSE(file);
  EXPECT_GOLDEN_TEXT(file.error().message + "\n" + file.error().hint);
}

TEST_F(FoldTest, RemovalTakesFilesOfTheJobOnly) {
  Process("mine.h.1.10.rec")->Finish();
  Process("other.h.1.11.rec")->Finish();
  std::ofstream(File("mine.h.2.10.note")) << "reason: x\n";
  std::ofstream(File("job")) << "mine\n";
  std::ofstream(File("mine.txt")) << "a user's file";
  std::ofstream(folder_ / "precious") << "outside";
  fs::create_symlink(folder_ / "precious", File("mine.h.3.10.rec"));
  EXPECT_FALSE(RemoveRecording(Rec(), "mine"));
  EXPECT_EQ(Names(Rec()),
            (std::set<std::string>{"other.h.1.11.rec", "job", "mine.txt", "mine.h.3.10.rec"}));
  EXPECT_TRUE(Exists(folder_ / "precious"));
}

TEST_F(FoldTest, RemovalKeepsFilesOfRunningProcesses) {
  auto builder = Process("a.h.1.10.rec");
  builder->writer->Flush();
  const int lock = open(builder->path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_FALSE(RemoveRecording(Rec(), "a"));
  EXPECT_TRUE(Exists(File("a.h.1.10.rec")));
  close(lock);
  builder->Finish();
  EXPECT_TRUE(RemoveRecording(Rec(), "a"));
  EXPECT_FALSE(Exists(Rec()));
}

}  // namespace
}  // namespace xlatrace::tools
