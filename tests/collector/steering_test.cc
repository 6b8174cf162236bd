// SPDX-License-Identifier: Apache-2.0

// Which calls a window takes, and that activities follow their calls.

#include "collector/steering.h"

#include <map>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "collector/skipped_calls.h"

namespace xlatrace::collector {
namespace {

constexpr uint64_t kMs = 1000000;

// On a thread of its own, with a log that no other test has used.
template <typename Body>
void OnThread(Body body) {
  std::thread([&] {
    ThreadLog* log = ThreadLog::Current();
    ASSERT_NE(log, nullptr);
    body(*log);
  }).join();
}

// One execution with so many thunks, which the device runs at once; whether its launches are taken.
bool Execute(Steering& steering, ThreadLog& log, uint32_t title, int thunks,
             std::optional<int64_t>* step = nullptr, uint32_t context = 1) {
  steering.OnModulePush(log, title);
  const Steering::RunBegin begin = steering.OnFirstCall(log, context);
  if (step != nullptr) *step = begin.step;
  if (log.step_edge() == StepEdge::kNext) {
    steering.AwaitWork(context, 1);
    steering.OnWork(1);
  }
  OpenRange module{};
  module.text = title;
  module.kind = RangeKind::kModule;
  log.Push(module, 1);
  const bool taken = !steering.Skips(log);
  OpenRange range;
  uint32_t depth = 0;
  uint64_t run = 0;
  for (int i = 0; i < thunks; ++i) {
    OpenRange thunk{};
    thunk.kind = RangeKind::kThunk;
    thunk.text = 1000;
    log.Push(thunk, 0);
    log.Pop(nullptr, &range, &depth, &run);
  }
  steering.OnModulePop(log, title);
  log.Pop(nullptr, &range, &depth, &run);
  return taken;
}

TEST(Steps, StepRangesAreParsed) {
  EXPECT_EQ(ParseSteps("10:15")->first, 10);
  EXPECT_EQ(ParseSteps("10:15")->end, 15);
  for (const char* no :
       {"", ":", "1:", ":2", "5:5", "6:5", "-1:2", "1:2:3", "1 :2", "a:b", "1:2 "}) {
    EXPECT_FALSE(ParseSteps(no).has_value()) << no;
  }
}

TEST(SteeringTest, EverythingIsRecordedWithoutAWindow) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(std::nullopt, 0, 0);
    steering.Begin(1);
    EXPECT_FALSE(steering.Skips(log));
    EXPECT_FALSE(steering.EverClosed());
    EXPECT_EQ(steering.Tick(100 * kMs, 1000), 1000u);
    EXPECT_EQ(steering.State(), recording::ProcessState::kRecording);
  });
}

TEST(SteeringTest, StepsAreRunsOfTheLargestModuleThatRecurs) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(StepWindow{2, 4}, 0, 0);
    EXPECT_EQ(steering.State(), recording::ProcessState::kWaiting);
    EXPECT_FALSE(Execute(steering, log, 1, 60));  // Initialisation: large, once.
    std::optional<int64_t> step;
    std::set<int64_t> taken;
    for (int64_t n = 0; n < 6; ++n) {
      for (int i = 0; i < 5; ++i) Execute(steering, log, 2, 1);  // A helper.
      if (Execute(steering, log, 3, 40, &step)) taken.insert(n);
      // The step after the window is marked as the end of the last one.
      EXPECT_EQ(step, n >= 2 && n <= 4 ? std::optional<int64_t>(n) : std::nullopt);
    }
    // The steps before and after the window are recorded, too.
    EXPECT_EQ(taken, (std::set<int64_t>{1, 2, 3, 4}));
    EXPECT_EQ(steering.State(), recording::ProcessState::kFinished);
  });
}

TEST(SteeringTest, HelperBeforeTheMainModuleDoesNotCloseTheWindow) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(StepWindow{0, 2}, 0, 0);
    for (int i = 0; i < 20; ++i) Execute(steering, log, 2, 1);
    EXPECT_TRUE(steering.Skips(log));
    // XLA registers the training step when it has compiled it.
    steering.OnRegisterModule(log, 3);
    for (int i = 0; i < 40; ++i) steering.OnRegisterThunk(log);
    EXPECT_FALSE(steering.Skips(log));
    for (int n = 0; n < 3; ++n) EXPECT_TRUE(Execute(steering, log, 3, 40)) << n;
    EXPECT_FALSE(Execute(steering, log, 3, 40));
  });
}

TEST(SteeringTest, EachContextHasItsStepsOnAnyThread) {
  // A thread of a pool per step and device; logs of threads that are gone are used again.
  Steering steering;
  steering.Configure(StepWindow{3, 5}, 0, 0);
  std::map<uint32_t, std::set<int64_t>> taken;
  for (int64_t n = 0; n < 8; ++n) {
    for (const uint32_t context : {1u, 2u}) {
      OnThread([&](ThreadLog& log) {
        if (Execute(steering, log, 3, 40, nullptr, context)) taken[context].insert(n);
      });
    }
  }
  EXPECT_EQ(taken[1], (std::set<int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(taken[2], (std::set<int64_t>{2, 3, 4, 5}));
}

TEST(SteeringTest, WindowIsOpenForAllThreadsUntilDevicesLeaveIt) {
  OnThread([](ThreadLog& steps) {
    Steering steering;
    steering.Configure(StepWindow{3, 5}, 0, 0);
    const auto run = [&](uint32_t context) {
      steering.OnModulePush(steps, 3);
      const StepEdge edge = steering.OnFirstCall(steps, context).edge;
      steering.OnModulePop(steps, 3);
      return edge;
    };
    const auto others_skip = [&] {
      bool skips = false;
      OnThread([&](ThreadLog& log) { skips = steering.Skips(log); });
      return skips;
    };
    for (int n = 0; n < 2; ++n) run(1);
    EXPECT_TRUE(others_skip());
    for (int n = 0; n < 3; ++n) run(2);  // Comes to step 2 first.
    EXPECT_FALSE(others_skip());
    EXPECT_EQ(run(2), StepEdge::kFirst);
    run(2);
    EXPECT_EQ(run(2), StepEdge::kNext);
    steering.AwaitWork(2, 70);
    for (int n = 2; n < 5; ++n) run(1);
    EXPECT_EQ(run(1), StepEdge::kNext);
    steering.AwaitWork(1, 80);
    EXPECT_TRUE(steering.awaits_work());
    steering.OnWork(70);
    steering.OnWork(71);
    EXPECT_FALSE(others_skip());
    steering.OnWork(80);
    EXPECT_TRUE(others_skip());
    EXPECT_FALSE(steering.awaits_work());
    EXPECT_EQ(steering.State(), recording::ProcessState::kFinished);
  });
}

TEST(SteeringTest, WindowOfStepsClosesWithoutRecordsOfTheNextStep) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(StepWindow{3, 5}, 0, 0);
    int open = 0;
    for (int n = 0; n < 200; ++n) {
      steering.OnModulePush(log, 3);
      steering.OnFirstCall(log, 1);
      steering.OnModulePop(log, 3);
      open += steering.Skips(log) ? 0 : 1;
    }
    EXPECT_EQ(open, 67);  // Steps 2 to 4, and 64 more.
  });
}

TEST(SteeringTest, WindowOfStepsThatIsStoppedWaitsForNoDevice) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(StepWindow{1, 3}, 0, 0);
    for (int n = 0; n < 3; ++n) Execute(steering, log, 3, 40);
    steering.OnOrder({1, false});
    steering.OnModulePush(log, 3);
    EXPECT_EQ(steering.OnFirstCall(log, 1).edge, StepEdge::kNone);
    steering.OnModulePop(log, 3);
    steering.OnOrder({2, true});
    EXPECT_TRUE(steering.Skips(log));
  });
}

TEST(SteeringTest, FirstMarkMakesMarksTheSteps) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(StepWindow{5, 6}, 0, 0);
    EXPECT_FALSE(steering.OnMark(log, 4));
    EXPECT_TRUE(steering.Skips(log));
    EXPECT_TRUE(steering.OnMark(log, 5));
    EXPECT_FALSE(steering.Skips(log));
    Execute(steering, log, 1, 9);  // Counts no more.
    EXPECT_FALSE(steering.Skips(log));
    EXPECT_FALSE(steering.OnMark(log, 6));
    EXPECT_TRUE(steering.Skips(log));
  });
}

TEST(SteeringTest, DelayAndDurationCountFromTheFirstContext) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(std::nullopt, 500, 1000);
    EXPECT_TRUE(steering.Skips(log));
    EXPECT_EQ(steering.Tick(10 * kMs, 1000), 1000u);  // Not begun.
    steering.Begin(2000 * kMs);
    EXPECT_EQ(steering.Tick(2100 * kMs, 1000), 401u);
    EXPECT_TRUE(steering.Skips(log));
    EXPECT_EQ(steering.Tick(2500 * kMs, 1000), 1000u);
    EXPECT_FALSE(steering.Skips(log));
    EXPECT_EQ(steering.Tick(3400 * kMs, 1000), 101u);
    EXPECT_EQ(steering.Tick(3500 * kMs, 1000), 1000u);
    EXPECT_TRUE(steering.Skips(log));
    EXPECT_EQ(steering.State(), recording::ProcessState::kFinished);
  });
}

TEST(SteeringTest, ProgramAndControlMustBothAgree) {
  OnThread([](ThreadLog& log) {
    Steering steering;
    steering.Configure(std::nullopt, 0, 0);
    steering.SetPaused(true);
    steering.OnOrder({1, false});
    steering.SetPaused(false);
    EXPECT_TRUE(steering.Skips(log));
    EXPECT_EQ(steering.State(), recording::ProcessState::kStopped);
    steering.OnOrder({2, true});
    EXPECT_FALSE(steering.Skips(log));
    EXPECT_TRUE(steering.EverClosed());
  });
}

TEST(SkippedCallsTest, SkippedCallsAreRememberedInAnyOrder) {
  // Against a plain set, with windows that open and close.
  std::mt19937 random(7);
  SkippedCalls calls;
  std::set<uint32_t> skipped;
  bool open = true;
  std::vector<uint32_t> ids;
  for (uint32_t id = 1; id < 400000; ++id) {
    if (id % 50000 == 0) open = !open;
    if (random() % 3 == 0) continue;  // Unknown calls.
    ids.push_back(id);
    // Threads are a few calls apart.
    if (open != (random() % 64 == 0 && id % 50000 < 1000)) {
      calls.Keep(id);
    } else {
      calls.Skip(id);
      skipped.insert(id);
    }
  }
  for (const uint32_t id : ids) ASSERT_EQ(calls.Skipped(id), skipped.contains(id)) << id;
  // Where all was skipped no bitmap is left: 4 KB for each page at an edge.
  EXPECT_LE(calls.pages(), 12u);
}

// A round of the counter in steps of 1,000 ids. Then the same ids are recorded.
TEST(SkippedCallsTest, ReusedIdsBelongToTheirNewCalls) {
  SkippedCalls calls;
  constexpr uint64_t kRound = uint64_t{1} << 32;
  calls.Keep(3);  // The first page has recorded and skipped calls.
  for (uint64_t id = 4; id < kRound; id += 1000) calls.Skip(static_cast<uint32_t>(id));
  EXPECT_TRUE(calls.Skipped(3'000'000'004));
  for (uint32_t id = 4; id < 10'000'000; id += 1000) {
    calls.Keep(id);
    ASSERT_FALSE(calls.Skipped(id)) << id;
  }
  EXPECT_TRUE(calls.Skipped(static_cast<uint32_t>(kRound - kRound % 1000 - 1000 + 4)));
  // A bitmap for each page of recorded calls at most.
  EXPECT_LE(calls.pages(), (10'000'000 >> 15) + 3u);
}

TEST(SkippedCallsTest, WindowsAroundTheEndOfTheCounterStaySeparate) {
  SkippedCalls calls;
  std::set<uint32_t> skipped;
  std::vector<uint32_t> ids;
  bool open = true;
  for (uint32_t i = 0; i < 400000; ++i) {
    const uint32_t id = UINT32_MAX - 200000 + i;  // Wraps.
    if (i % 50000 == 0) open = !open;
    ids.push_back(id);
    if (open) {
      calls.Keep(id);
    } else {
      calls.Skip(id);
      skipped.insert(id);
    }
  }
  for (const uint32_t id : ids) ASSERT_EQ(calls.Skipped(id), skipped.contains(id)) << id;
}

TEST(SkippedCallsTest, ALongPauseTakesNoMemory) {
  SkippedCalls calls;
  for (uint32_t id = 0; id < 20'000'000; id += 7) calls.Skip(id);
  EXPECT_LE(calls.pages(), 3u);
  EXPECT_TRUE(calls.Skipped(7 * 1'000'000));
  calls.Keep(7 * 1'000'000);  // Reported late.
  EXPECT_FALSE(calls.Skipped(7 * 1'000'000));
}

}  // namespace
}  // namespace xlatrace::collector
