// SPDX-License-Identifier: Apache-2.0

// Missing parts of a recording: windows, losses and endings, compared with the parts that the
// builder left out.

#include <gtest/gtest.h>

#include "importers/recording/recording_import.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/recording_builder.h"

namespace xlatrace::importers {
namespace {

using model::ProcessEnd;
using model::WindowEnd;

class RecordedWindowsTest : public ::testing::Test {
 protected:
  RecordingImport Import(bool live = false) {
    auto outcome = ImportRecording(builder_.path(), live, sink_);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : RecordingImport{};
  }
  uint32_t Launch(uint64_t call, uint64_t run = 0) {
    return builder_.Call(307, call, call + 5, 0, run);
  }
  void Mark(const std::string& text, uint64_t time) {
    builder_.writer->Add(recording::RangeRow{.thread = 7,
                                             .domain = builder_.Text("xlatrace"),
                                             .text = builder_.Text(text),
                                             .start_ns = RecordingBuilder::kStart + time,
                                             .end_ns = RecordingBuilder::kStart + time});
  }
  void Clock(uint64_t time) {
    const uint64_t now = RecordingBuilder::kStart + time;
    builder_.writer->Add(recording::ClockRow{now, now, now, now});
  }

  TemporaryFolder folder_;
  RecordingBuilder builder_{folder_ / "a.rec"};
  MemorySink sink_;
};

TEST_F(RecordedWindowsTest, OrderlyExitHasNoLoss) {
  builder_.Kernel("a", Launch(10), 100, 200);
  builder_.Kernel("b", Launch(20), 300, 400);
  builder_.Fact("ended", "exit");
  builder_.Finish();
  const RecordingImport outcome = Import();
  EXPECT_EQ(sink_.windows, (std::vector<model::Window>{{1, 100, 400, WindowEnd::kEnd}}));
  EXPECT_TRUE(sink_.losses.empty());
  EXPECT_EQ(outcome.ending.how, ProcessEnd::kExit);
  EXPECT_EQ(outcome.ending.unrecorded_tail_ns, 0);
  EXPECT_EQ(outcome.ending.unrecorded_from_ns, std::nullopt);
}

TEST_F(RecordedWindowsTest, RecordingThatIsOpenFromTheBeginningStatesItsBeginning) {
  builder_.Fact("start_unix_ns", std::to_string(RecordingBuilder::kStart));
  builder_.Kernel("a", Launch(10), 100, 200);
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.processes.size(), 1u);
  EXPECT_EQ(sink_.processes[0].recorded_from_ns, 0);
}

TEST_F(RecordedWindowsTest, RecordingThatPausesStatesItsBeginning) {
  builder_.Fact("start_unix_ns", std::to_string(RecordingBuilder::kStart));
  builder_.Kernel("a", Launch(10), 100, 200);
  Mark("window closed", 300);
  Mark("window opened", 400);
  builder_.Kernel("a", Launch(410), 500, 600);
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.processes.size(), 1u);
  EXPECT_EQ(sink_.processes[0].recorded_from_ns, 0);
}

TEST_F(RecordedWindowsTest, RecordingThatOpensLaterStatesNoBeginning) {
  builder_.Fact("start_unix_ns", std::to_string(RecordingBuilder::kStart));
  Mark("window closed", 0);
  Mark("window opened", 50);
  builder_.Kernel("a", Launch(60), 100, 200);
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.processes.size(), 1u);
  EXPECT_EQ(sink_.processes[0].recorded_from_ns, std::nullopt);
}

TEST_F(RecordedWindowsTest, SignalsAndAbortAreReported) {
  builder_.Kernel("a", Launch(10), 100, 200);
  builder_.Fact("ended", "signal 15");
  builder_.Finish();
  const RecordingImport outcome = Import();
  EXPECT_EQ(outcome.ending.how, ProcessEnd::kSignal);
  EXPECT_EQ(outcome.ending.signal, 15);
  EXPECT_EQ(outcome.ending.unrecorded_tail_ns, 0);
}

TEST_F(RecordedWindowsTest, ExecIsNotCountedAsKill) {
  builder_.Kernel("a", Launch(10), 100, 200);
  builder_.Fact("ended", "exec");
  builder_.Kill();
  const RecordingImport outcome = Import();
  EXPECT_EQ(outcome.ending.how, ProcessEnd::kExec);
  EXPECT_EQ(outcome.ending.unrecorded_tail_ns, 0);
  EXPECT_EQ(sink_.Stat("process_killed"), 0);
}

// The last flush came at 1 s; of the two calls after it one has an activity already.
TEST_F(RecordedWindowsTest, WorkMayBeMissingFromTheFirstLaunchWithoutActivity) {
  builder_.Kernel("a", Launch(10), 100, 200);
  Clock(500'000'000);
  builder_.Kernel("b", Launch(400'000'000), 450'000'000, 460'000'000);
  Launch(450'000'100);
  Launch(450'000'200);
  Clock(1'000'000'000);
  builder_.Kill();
  const RecordingImport outcome = Import();
  EXPECT_EQ(outcome.ending.how, ProcessEnd::kSignal);
  EXPECT_EQ(outcome.ending.signal, std::nullopt);
  EXPECT_EQ(outcome.ending.unrecorded_from_ns, 450'000'100);
  EXPECT_EQ(outcome.missing_at_least, 2);
  // Flushes come every 0.5 s here, and a period is 1 s.
  EXPECT_GE(outcome.ending.unrecorded_tail_ns, 1'000'000'000 - 450'000'100 + 500'000'000);
  EXPECT_EQ(sink_.windows.back().why_ended, WindowEnd::kLoss);
  EXPECT_EQ(sink_.Stat("launch_without_activity"), 2);
}

TEST_F(RecordedWindowsTest, WorkMayBeMissingFromTheLastFlushOn) {
  builder_.Kernel("a", Launch(10), 100, 200);
  Clock(500'000'000);
  Clock(1'000'000'000);  // Clock of a flush that began after the first one, so data until then is
                         // complete.
  builder_.Kill();
  EXPECT_EQ(Import().ending.unrecorded_from_ns, 500'000'000);
  EXPECT_EQ(sink_.Stat("process_killed"), 1);
}

TEST_F(RecordedWindowsTest, WorkBeforeTheLastWrittenFlushIsNotMissing) {
  builder_.Fact("start_unix_ns", std::to_string(RecordingBuilder::kStart));
  builder_.Kernel("a", Launch(10), 100, 200);
  Clock(470'000'000);
  builder_.writer->Add(
      recording::StatRow{"whole_until_ns", RecordingBuilder::kStart + 490'000'000});
  Clock(500'000'000);
  builder_.Kill();
  const RecordingImport outcome = Import();
  EXPECT_EQ(outcome.ending.unrecorded_from_ns, 490'000'000);
  // The next flush was due a sixteenth of the age later. Clocks came at most 1 ms late, so a small
  // fixed margin is added.
  EXPECT_GT(outcome.ending.unrecorded_tail_ns, 10'000'000 + 500'000'000 / 16);
  EXPECT_LT(outcome.ending.unrecorded_tail_ns, 10'000'000 + 500'000'000 / 16 + 200'000'000);
}

TEST_F(RecordedWindowsTest, LateFlushesLengthenTheTimeThatMayBeMissing) {
  builder_.Fact("start_unix_ns", std::to_string(RecordingBuilder::kStart));
  builder_.Kernel("a", Launch(10), 100, 200);
  builder_.writer->Add(recording::StatRow{"whole_until_ns", RecordingBuilder::kStart + 10'000'000});
  Clock(20'000'000);
  Clock(820'000'000);
  builder_.Kill();
  // Due was 20 ms after the first.
  EXPECT_GT(Import().ending.unrecorded_tail_ns, 810'000'000 + 2 * int64_t{780'000'000});
}

// Stream 8 ran ahead of 7: of its work at 150 the block was written over before that of 7 at 100.
TEST_F(RecordedWindowsTest, RingIsCompleteOnceEachStreamHasActivity) {
  builder_.Fact("last_ms", "300");
  builder_.Fact("flush_period_ms", "50");
  builder_.writer->Add(recording::StatRow{"ring_blocks_dropped", uint64_t{3}});
  builder_.Kernel("a", Launch(10), 100, 200);
  builder_.Kernel("a", Launch(20), 300, 400);
  builder_.Kernel("b", Launch(30), 350, 380, 0, 0, {0, 1, 8});
  builder_.Fact("ended", "exit");
  builder_.Finish();
  Import();
  EXPECT_EQ(sink_.windows, (std::vector<model::Window>{{1, 350, 400, WindowEnd::kEnd},
                                                       {1, 350, 350, WindowEnd::kEnd}}));
}

// The activity of the first call was written over; that of the third is missing among others.
TEST_F(RecordedWindowsTest, OverwrittenRecordsOfARingAreNotLost) {
  builder_.Fact("last_ms", "300");
  Launch(10);
  builder_.Kernel("a", Launch(20), 100, 200);
  Launch(150);
  builder_.Kernel("a", Launch(160), 300, 400);
  builder_.Fact("ended", "exit");
  builder_.Finish();
  EXPECT_EQ(Import().missing_at_least, 1);
  EXPECT_EQ(sink_.losses.size(), 1u);
}

// A stream that lags behind runs earlier launches after the window opened, while another stream
// already runs launches of the window. The same happens when the window closes.
TEST_F(RecordedWindowsTest, WindowExcludesUnrecordedWork) {
  Mark("window closed", 0);
  Mark("window opened", 1000);
  builder_.Kernel("a", Launch(1010), 1100, 1200);
  Mark("outside from", 900);
  Mark("outside until", 1300);
  Mark("outside from", 1250);  // They may overlap.
  Mark("outside until", 1400);
  builder_.Kernel("b", Launch(1020), 1450, 1500);
  Mark("window closed", 2000);
  Mark("outside from", 2100);
  Mark("outside until", 2900);
  builder_.Kernel("c", Launch(1030), 2200, 2300);
  builder_.Fact("ended", "exit");
  builder_.Finish();
  Import();
  EXPECT_EQ(sink_.windows, (std::vector<model::Window>{{1, 1400, 2100, WindowEnd::kRequested},
                                                       {1, 1400, 1400, WindowEnd::kRequested}}));
  for (const auto& range : sink_.ranges) EXPECT_EQ(range.text.find("outside"), std::string::npos);
}

// The begin of the second interval was lost with a block. Its length is unknown, and the time since
// the first is not part of it.
TEST_F(RecordedWindowsTest, WindowEndWithoutABeginDoesNotExtendBackwards) {
  Mark("window closed", 0);
  Mark("window opened", 1000);
  Mark("outside from", 900);
  Mark("outside until", 1100);
  builder_.Kernel("a", Launch(1200), 1300, 1400);
  Mark("outside until", 1500);
  builder_.Fact("ended", "exit");
  builder_.Finish();
  Import();
  ASSERT_FALSE(sink_.windows.empty());
  EXPECT_EQ(sink_.windows[0].start_ns, 1300);  // Where its first work is.
}

TEST_F(RecordedWindowsTest, LostLaunchLiesBeforeTheNextLaunchOfItsStream) {
  builder_.Kernel("a", Launch(10), 100, 200);
  Launch(20);
  builder_.Kernel("c", Launch(30), 300, 400);
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].start_ns, 20);
  EXPECT_EQ(sink_.losses[0].end_ns, 300);
  EXPECT_EQ(sink_.losses[0].at_least, 1);
  EXPECT_EQ(sink_.losses[0].correlation, 102u);
}

// A launch on another stream that began at once gives no information about the queued launch.
TEST_F(RecordedWindowsTest, LostLaunchMayRunUntilAllNeighbouringStreamsContinue) {
  builder_.Kernel("a", Launch(10), 100, 5000);
  Launch(20);
  builder_.Kernel("side", Launch(30), 40, 50, 0, 0, {0, 1, 14});
  builder_.Kernel("c", Launch(40), 6000, 7000);
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].end_ns, 6000);
}

TEST_F(RecordedWindowsTest, APauseEndsAWindow) {
  builder_.Kernel("a", Launch(10), 100, 200);
  Mark("window closed", 50);
  Mark("window opened", 1'000'000);
  builder_.Kernel("b", Launch(1'000'010), 1'000'100, 1'000'200);
  builder_.Finish();
  Import();
  EXPECT_EQ(sink_.windows,
            (std::vector<model::Window>{{1, 100, 200, WindowEnd::kRequested},
                                        {1, 1'000'100, 1'000'200, WindowEnd::kEnd}}));
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(RecordedWindowsTest, WindowClosedForGoodEndedByRequest) {
  builder_.Kernel("a", Launch(10), 100, 200);
  Mark("window closed", 50);
  builder_.Finish();
  Import();
  EXPECT_EQ(sink_.windows, (std::vector<model::Window>{{1, 100, 200, WindowEnd::kRequested}}));
}

// Losses that CUPTI counts between two flushes, without a known call, lie around these flushes.
TEST_F(RecordedWindowsTest, CountedLossesLieBetweenFlushes) {
  for (uint64_t flush = 1; flush <= 6; ++flush) {
    const uint64_t at = flush * 1'000'000;
    builder_.Kernel("k", Launch(at - 500), at - 400, at - 300);
    Clock(at);
    builder_.writer->Add(recording::StatRow{"records_dropped", flush < 4 ? uint64_t{0} : 3});
    builder_.writer->Flush();
  }
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].at_least, 3);
  EXPECT_LE(sink_.losses[0].start_ns, 3'000'000);
  EXPECT_GE(sink_.losses[0].start_ns, 1'000'000);
  EXPECT_GE(sink_.losses[0].end_ns, 4'000'000);
  EXPECT_LE(sink_.losses[0].end_ns, 6'000'000);
  EXPECT_EQ(sink_.Stat("records_dropped"), 3);
}

// A loss that is counted while the one before it waits for its end has an end of its own: the clock
// after next.
TEST_F(RecordedWindowsTest, SecondLossEndsAfterItsOwnFlush) {
  for (uint64_t flush = 1; flush <= 8; ++flush) {
    const uint64_t at = flush * 1'000'000;
    builder_.Kernel("k", Launch(at - 500), at - 400, at - 300);
    Clock(at);
    const uint64_t lost = flush < 4 ? 0 : flush == 4 ? 3 : 5;
    builder_.writer->Add(recording::StatRow{"records_dropped", lost});
    builder_.writer->Flush();
  }
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 2u);
  EXPECT_EQ(sink_.losses[0].end_ns, 6'000'000);
  EXPECT_EQ(sink_.losses[1].at_least, 2);
  EXPECT_EQ(sink_.losses[1].end_ns, 7'000'000);
}

// Losses with a known call are not counted twice.
TEST_F(RecordedWindowsTest, DroppedRecordWithAKnownCallCountsOnce) {
  builder_.Kernel("a", Launch(10), 100, 200);
  Launch(20);
  builder_.Kernel("c", Launch(30), 300, 400);
  builder_.writer->Add(recording::StatRow{"records_dropped", uint64_t{1}});
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.Stat("records_dropped") + sink_.Stat("launch_without_activity"), 1);
}

// Three calls lack their record, and CUPTI counted one.
TEST_F(RecordedWindowsTest, IdentifiedLossesMayExceedTheCountedOnes) {
  builder_.Kernel("a", Launch(10), 100, 200);
  for (const uint64_t call : {20, 30, 40}) Launch(call);
  builder_.Kernel("c", Launch(50), 300, 400);
  builder_.writer->Add(recording::StatRow{"records_dropped", uint64_t{1}});
  builder_.Finish();
  Import();
  int64_t lost = 0;
  for (const model::Loss& loss : sink_.losses) {
    EXPECT_GT(loss.at_least, 0);
    lost += loss.at_least;
  }
  EXPECT_EQ(lost, 3);
  EXPECT_EQ(sink_.Stat("records_dropped") + sink_.Stat("launch_without_activity"), 3);
}

TEST_F(RecordedWindowsTest, MissingGraphNodeCountsAsLost) {
  for (uint64_t k = 0; k < 20; ++k) {
    const uint32_t launch = builder_.Call(514, 1000 * k + 10, 1000 * k + 20, 0, 0);
    builder_.Kernel("a", launch, 1000 * k + 100, 1000 * k + 200, 71, 5);
    if (k != 7) builder_.Kernel("b", launch, 1000 * k + 300, 1000 * k + 400, 72, 5);
  }
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].correlation, 108u);
  EXPECT_EQ(sink_.Stat("launch_without_activity"), 1);
}

// Rows without times show that nodes ran, but not when. The call has the time.
TEST_F(RecordedWindowsTest, LossInAGraphWithoutTimesStartsWithItsCall) {
  for (uint64_t k = 0; k < 20; ++k) {
    const uint32_t launch = builder_.Call(514, 1000 * k + 10, 1000 * k + 20, 0, 0);
    if (k == 7) {
      const recording::ConfigRow config{.name = "a"};
      builder_.writer->AddActivity({.correlation = launch, .graph = 5, .graph_node = 71}, config,
                                   {0, 1, 13});
      continue;
    }
    builder_.Kernel("a", launch, 1000 * k + 100, 1000 * k + 200, 71, 5);
    builder_.Kernel("b", launch, 1000 * k + 300, 1000 * k + 400, 72, 5);
  }
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].start_ns, 7'010);
}

class ConditionalGraphTest : public RecordedWindowsTest,
                             public ::testing::WithParamInterface<bool> {};

// The device decides how often a body runs, but each run is complete: body 6 of a loop runs k
// times.
TEST_P(ConditionalGraphTest, BodyOfAConditionalGraphIsCompleteOrAbsent) {
  constexpr uint64_t kGraph = uint64_t{5} << 32, kBody = uint64_t{6} << 32;
  const auto run = [&](bool lacks_one) {
    for (uint64_t k = 0; k < 6; ++k) {
      const uint64_t at = 10'000 * k;
      const uint32_t launch = builder_.Call(514, at + 10, at + 20, 0, 0);
      builder_.Kernel("a", launch, at + 100, at + 200, kGraph + 1, 5);
      for (uint64_t round = 0; round < k; ++round) {
        const uint64_t begin = at + 1000 * (round + 1);
        builder_.Kernel("b", launch, begin, begin + 100, kBody + 1, 5);
        if (lacks_one && k == 3 && round == 1) continue;
        builder_.Kernel("c", launch, begin + 200, begin + 300, kBody + 2, 5);
      }
    }
  };
  builder_.writer->Add(recording::GraphNodeRow{.node = 73, .graph = 5, .type = 13});
  run(GetParam());
  builder_.Finish();
  Import();
  EXPECT_EQ(sink_.Stat("graph_nodes_perhaps_missing"), GetParam() ? 1 : 0);
  ASSERT_EQ(sink_.losses.size(), GetParam() ? 1u : 0u);
  if (!GetParam()) return;
  EXPECT_EQ(sink_.losses[0].start_ns, 30'010);
  EXPECT_EQ(sink_.losses[0].end_ns, 40'100);
  EXPECT_EQ(sink_.losses[0].at_least, 0);
}

INSTANTIATE_TEST_SUITE_P(LacksOne, ConditionalGraphTest, ::testing::Bool());

// If one of three launches lacks a node, the node may have been disabled in that launch.
TEST_F(RecordedWindowsTest, NodeOfARareGraphIsPossiblyMissing) {
  for (uint64_t k = 0; k < 3; ++k) {
    const uint32_t launch = builder_.Call(514, 1000 * k + 10, 1000 * k + 20, 0, 0);
    builder_.Kernel("a", launch, 1000 * k + 100, 1000 * k + 200, 71, 5);
    if (k != 1) builder_.Kernel("b", launch, 1000 * k + 300, 1000 * k + 400, 72, 5);
  }
  builder_.Finish();
  Import();
  EXPECT_EQ(sink_.Stat("graph_nodes_perhaps_missing"), 1);
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].at_least, 0);
}

// `--steps 3:6`: a helper was taken for the step until the real one had run twice.
TEST_F(RecordedWindowsTest, WorkOfAWrongStepProgramIsLeftOut) {
  builder_.Fact("steps", "3:6");
  Mark("window opened", 5);
  builder_.Kernel("helper", Launch(10), 100, 200);
  Mark("window anew", 500);
  Mark("window closed", 500);
  Mark("window opened", 1000);
  Mark("step 3", 1005);
  builder_.Kernel("step", Launch(1010), 1100, 1200);
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.activities.size(), 1u);
  EXPECT_EQ(sink_.windows, (std::vector<model::Window>{{1, 1100, 1200, WindowEnd::kEnd}}));
  EXPECT_EQ(sink_.Stat("activities_before_steps"), 1);
}

TEST_F(RecordedWindowsTest, MarkedStepLastsUntilTheNextMark) {
  Mark("step 3", 50);
  builder_.Kernel("a", Launch(60), 100, 200);
  Mark("step 4", 250);
  builder_.Kernel("a", Launch(260), 300, 400);
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.steps.size(), 2u);
  EXPECT_EQ(sink_.steps[0].number, 3);
  EXPECT_EQ(sink_.steps[0].start_ns, 50);
  EXPECT_EQ(sink_.steps[0].end_ns, 250);
  EXPECT_EQ(sink_.steps[1].number, 4);
  EXPECT_EQ(sink_.steps[1].start_ns, 250);
  EXPECT_EQ(sink_.steps[1].end_ns, 400);
}

TEST_F(RecordedWindowsTest, ClockJumpIsReportedAsPossibleLoss) {
  builder_.Kernel("a", Launch(10), 100, 200);
  Clock(1'000'000'000);
  const uint64_t start = RecordingBuilder::kStart;
  builder_.writer->Add(recording::ClockRow{0, start + 61'500'000'000, start + 1'500'000'000, 0});
  builder_.Finish();
  Import();
  ASSERT_EQ(sink_.losses.size(), 1u);
  EXPECT_EQ(sink_.losses[0].start_ns, 1'000'000'000);
  EXPECT_EQ(sink_.losses[0].end_ns, 61'500'000'000);
  EXPECT_EQ(sink_.losses[0].at_least, 0);
}

TEST_F(RecordedWindowsTest, ProcessThatStillRunsIsReportedAsRunning) {
  builder_.Kernel("a", Launch(10), 100, 200);
  builder_.Kill();
  EXPECT_EQ(Import(true).ending.how, ProcessEnd::kRunning);
  EXPECT_EQ(sink_.Stat("process_killed"), 0);
}

}  // namespace
}  // namespace xlatrace::importers
