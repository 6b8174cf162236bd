// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/time_tree.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/steps.h"
#include "analysis/time_tree/host_states.h"
#include "analysis/time_tree/loop.h"
#include "analysis/time_tree/step_spans.h"
#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::TimeTreeRow;
using model::TreeKind;
using testing::ElementsAre;
using testing::IsEmpty;

// A run by hand, with the launch call of each activity and what the host did.
struct HostRun : RunBuilder {
  std::vector<std::optional<model::HostCall>> calls;
  std::vector<model::HostEvent> events;
  std::vector<model::NamedCompile> compiles;

  // A kernel whose launch call ends at `called`.
  size_t Kernel(model::Id lane, int64_t start, int64_t end, const std::string& symbol,
                std::optional<int64_t> called = std::nullopt, model::Id execution = 0) {
    const size_t i = AddActivity(lane, start, end, {.execution = execution, .symbol = symbol});
    calls.resize(i + 1);
    if (called) calls[i] = model::HostCall{static_cast<model::Id>(i + 1), *called - 2, *called, 7};
    return i;
  }
  void Range(const char* name, int64_t start, int64_t end) {
    events.push_back({1, 7, name, start, end, 1});
  }
  void Call(const char* name, int64_t start, int64_t end) {
    events.push_back({1, 7, name, start, end, 0});
  }

  std::vector<TimeTreeRow> Tree() const {
    const auto classes = ClassifyActivities(run, attribution);
    const auto by_device = ActivitiesByDevice(run);
    const HostCallOf call_of = [this](size_t i) { return calls[i]; };
    const HostEventLoader host_events = [this](const Intervals&) { return events; };
    std::vector<Intervals> compiling(run.processes.size());
    for (const model::NamedCompile& span : compiles) {
      compiling[static_cast<size_t>(span.process_id) - 1].push_back({span.start_ns, span.end_ns});
    }
    const Steps steps =
        FindSteps(run, attribution, {classes, by_device, compiling, compiles, call_of});
    return BuildTimeTree(run, attribution, {}, steps.rows,
                         {classes, by_device, compiles, host_events, call_of})
        .rows;
  }
};

// "steps/step/idle/host:env.step" -> ns of the rows of one device (0: the mean of the process).
std::map<std::string, int64_t> Paths(const std::vector<TimeTreeRow>& rows, model::Id process,
                                     model::Id device) {
  std::map<std::string, int64_t> paths;
  std::vector<std::string> path_of(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const TimeTreeRow& row = rows[i];
    if (row.parent_id != 0) {
      path_of[i] = path_of[static_cast<size_t>(row.parent_id) - 1];
      if (!path_of[i].empty()) path_of[i] += "/";
      path_of[i] += Text(row.kind);
      if (!row.name.empty()) path_of[i] += ":" + row.name;
    }
    if (row.process_id == process && row.device_id == device) paths[path_of[i]] = row.ns;
  }
  return paths;
}

std::string Broken(const std::vector<TimeTreeRow>& rows) {
  std::vector<int64_t> below(rows.size(), 0), per_step(rows.size(), 0);
  std::vector<bool> parent(rows.size(), false);
  for (const TimeTreeRow& row : rows) {
    if (row.ns < 0) return "negative time";
    if (row.parent_id == 0) continue;
    const auto p = static_cast<size_t>(row.parent_id) - 1;
    parent[p] = true;
    below[p] += row.ns;
    per_step[p] += row.per_step_ns.value_or(0);
    if (row.process_id != rows[p].process_id || row.device_id != rows[p].device_id) {
      return "a node of another tree";
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (parent[i] && below[i] != rows[i].ns) return "children do not sum";
    if (parent[i] && rows[i].per_step_ns && per_step[i] != *rows[i].per_step_ns) {
      return "children do not sum per step";
    }
  }
  return "";
}

TEST(HostStates, InnermostRangeDecidesAndCallsComeFirst) {
  HostThread thread({{0, 100, "train", HostSpan::Type::kUser},
                     {10, 60, "PjitFunction(f)", HostSpan::Type::kFramework},
                     {20, 30, "callback", HostSpan::Type::kUser},
                     {40, 50, "cuStreamSynchronize", HostSpan::Type::kCall, TreeKind::kSync}});
  std::vector<std::string> seen;
  thread.Visit(0, 120, [&](const HostState& state) {
    seen.push_back(std::to_string(state.end_ns) + " " + std::string(Text(state.kind)) + " " +
                   std::string(state.user));
  });
  EXPECT_THAT(seen, ElementsAre("10 host train", "20 dispatch train", "30 host callback",
                                "40 dispatch train", "50 sync train", "60 dispatch train",
                                "100 host train", "120 host "));
}

TEST(Quartile, QuartileIsLinearBetweenSortedValues) {
  EXPECT_EQ(Quartile({10, 20, 30, 40}, 1), 17);  // Rank 0.75: 10 + 0.75 * 10.
  EXPECT_EQ(Quartile({10, 20, 30, 40, 50}, 3), 40);
  EXPECT_EQ(Quartile({10}, 3), 10);
}

TEST(TypicalStep, TypicalStepOmitsAQuarterAtEachEnd) {
  std::vector<StepSpan> spans;
  int64_t now = 0;
  for (const int64_t ns : {10, 10, 90, 10, 14, 2, 10, 10}) {
    spans.push_back({static_cast<int64_t>(spans.size()) + 1, now, now + ns, true, false, true});
    now += ns;
  }
  const StepFigures figures = FiguresOf({spans});
  EXPECT_EQ(figures.steady.size(), 8u);
  EXPECT_EQ(figures.kept.size(), 4u);
  EXPECT_EQ(figures.typical_ns, 10);
  EXPECT_THAT(figures.paused, ElementsAre(3));
}

TEST(TypicalStep, TypicalStepOfTwoIsTheirMean) {
  const StepFigures figures =
      FiguresOf({{{1, 0, 10, true, false, true}, {2, 10, 30, true, false, true}}});
  EXPECT_EQ(figures.typical_ns, 15);
}

// Three steps of two kernels; each is called 5 before it starts, 30 after the one before ended.
HostRun LoopOfKernels() {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  for (int64_t s = 0; s < 5; ++s) {
    b.Kernel(lane, 100 * s, 100 * s + 40, "a", 100 * s - 5);
    b.Kernel(lane, 100 * s + 40, 100 * s + 60, "b", 100 * s - 3);
  }
  return b;
}

TEST(TimeTree, IdleTimeIsDividedByInstants) {
  HostRun b = LoopOfKernels();
  for (int64_t s = 0; s < 5; ++s) {
    b.Range("env.step", 100 * s + 65, 100 * s + 85);  // Half of the idle time.
    b.Call("cuStreamSynchronize", 100 * s + 60, 100 * s + 65);
  }
  const auto paths = Paths(b.Tree(), 1, 1);
  // Four steps of 100; the fifth ends with its own work.
  EXPECT_EQ(paths.at("steps"), 460);
  EXPECT_EQ(paths.at("steps/step/computation"), 300);
  EXPECT_EQ(paths.at("steps/step/idle"), 160);
  EXPECT_EQ(paths.at("steps/step/idle/host:env.step"), 80);
  EXPECT_EQ(paths.at("steps/step/idle/sync"), 20);
  EXPECT_EQ(paths.at("steps/step/idle/host:nothing recorded"), 32);
  EXPECT_EQ(paths.at("steps/step/idle/launch"), 28);  // Each call of 2, and 5 until the start.
}

TEST(TimeTree, ReadBackExplainsOnlyItsOwnInstants) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  for (int64_t s = 0; s < 4; ++s) {
    b.Kernel(lane, 1000 * s, 1000 * s + 100, "a", 1000 * s - 5);
    b.Call("cuMemcpyDtoH_v2", 1000 * s + 50, 1000 * s + 120);
  }
  const auto paths = Paths(b.Tree(), 1, 1);
  EXPECT_EQ(paths.at("steps/step/idle"), 2700);
  EXPECT_EQ(paths.at("steps/step/idle/copy_wait"), 60);
}

TEST(TimeTree, WorkOfAnEvaluationLiesBetweenSteps) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  int64_t now = 0;
  for (int s = 0; s < 9; ++s) {
    b.Kernel(lane, now, now + 60, "train", now - 5);
    now += 100;
    if (s % 3 != 2) continue;
    for (const int64_t batch : {0, 100}) {
      b.Kernel(lane, now + batch, now + batch + 80, "evaluate", now + batch - 5);
    }
    now += 200;
  }
  const auto paths = Paths(b.Tree(), 1, 1);
  // Six whole steps of 100 and three that end with their own 60.
  EXPECT_EQ(paths.at("steps"), 780);
  EXPECT_EQ(paths.at("between_steps/computation"), 480);
}

TEST(TimeTree, PauseIsNotPartOfTheStep) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  int64_t now = 0;
  for (int s = 0; s < 20; ++s) {
    b.Kernel(lane, now, now + 60, "a", now - 5);
    now += s == 9 ? 5000 : 100;
  }
  const auto rows = b.Tree();
  const auto paths = Paths(rows, 1, 1);
  EXPECT_EQ(paths.at("between_steps/pause"), 4900);
  EXPECT_EQ(paths.at("steps"), 1960);
  for (const TimeTreeRow& row : rows) {
    if (row.kind == TreeKind::kSteps) {
      EXPECT_EQ(row.per_step_ns, 100);
    }
  }
}

TEST(TimeTree, LongWaitAfterTheLaunchIsADependency) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  for (int64_t k = 0; k < 20; ++k) b.Kernel(lane, 100 * k, 100 * k + 98, "a", 100 * k - 500);
  b.Kernel(lane, 5000, 5100, "late", 1000);
  const auto paths = Paths(b.Tree(), 1, 1);
  int64_t dependency = 0;
  for (const auto& [path, ns] : paths) {
    if (path.find("dependency") != path.npos) dependency += ns;
  }
  EXPECT_EQ(dependency, 5000 - 1998 - 2);  // But for the usual 2 ns.
}

TEST(TimeTree, CompilationHasItsOwnKind) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  const auto module = b.AddModule();
  b.attribution.modules[0].fingerprint = "f";
  for (int64_t s = 0; s < 5; ++s) {
    const auto execution = b.AddExecution(module, 1, 1000 + 100 * s, 1060 + 100 * s);
    b.Kernel(lane, 1000 + 100 * s, 1060 + 100 * s, "k", 995 + 100 * s, execution);
  }
  b.compiles = {{1, 1, "jit_f", 100, 900}};
  const auto paths = Paths(b.Tree(), 1, 1);
  EXPECT_EQ(paths.at("startup/compile:jit_f"), 800);
  EXPECT_EQ(paths.at("startup/first_execution/computation"), 60);
  EXPECT_EQ(paths.at("steps"), 360);  // Three of 100 and the last.
}

// The anchor is `b`, the step begins with `a`.
TEST(TimeTree, StepThatTheEndCutsIsAStep) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  for (int64_t s = 0; s < 7; ++s) {
    b.Kernel(lane, 100 * s, 100 * s + 10, "a", 100 * s - 5);
    if (s < 6) b.Kernel(lane, 100 * s + 10, 100 * s + 50, "b", 100 * s - 2);
  }
  const auto paths = Paths(b.Tree(), 1, 1);
  EXPECT_EQ(paths.at("steps"), 610);
  EXPECT_EQ(paths.count("between_steps"), 0u);
}

// The step begins with a batch that another program makes. In the first execution, the main program
// is compiled after the batch was made.
TEST(TimeTree, CompilationDuringTheFirstExecutionIsPartOfStartup) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  const auto batch = b.AddModule(), train = b.AddModule();
  b.attribution.modules[0].fingerprint = "batch";
  b.attribution.modules[1].fingerprint = "train";
  const auto run_program = [&](model::Id module, int64_t start, int64_t end, int64_t called) {
    b.Kernel(lane, start, end, "k", called, b.AddExecution(module, 1, start, end));
  };
  for (int64_t s = 0; s < 5; ++s) {
    const int64_t start = s == 0 ? 10'000 : 20'000 + 100 * s;
    const int64_t trains = s == 0 ? 20'040 : start + 10;
    run_program(batch, start, start + 10, start - 5);
    run_program(train, trains, trains + 50, trains - 12);
  }
  b.compiles = {{1, 2, "jit_train", 10'100, 20'000}};
  const auto paths = Paths(b.Tree(), 1, 1);
  EXPECT_EQ(paths.at("startup/compile:jit_f"), 9'900);
  EXPECT_EQ(paths.at("startup/first_execution/computation"), 60);
  EXPECT_EQ(paths.at("steps"), 360);  // Three of 100 and the last.
  EXPECT_EQ(paths.at("steps/step/idle"), 120);
}

TEST(TimeTree, RecordingFromTheBeginningShowsTheFirstExecution) {
  HostRun b = LoopOfKernels();
  b.run.processes[0].recorded_from_ns = -1000;
  const auto paths = Paths(b.Tree(), 1, 1);
  EXPECT_EQ(paths.at(""), 1460);
  EXPECT_EQ(paths.at("startup"), 1100);
  EXPECT_EQ(paths.at("startup/first_execution/computation"), 60);
  EXPECT_EQ(paths.at("steps"), 360);
}

// Work of the second device begins 3 ns after the work of the first one ends, and was launched long
// before.
TEST(TimeTree, WaitForAnotherDeviceIsADependency) {
  HostRun b;
  const auto first = b.AddLane(b.AddDevice()), second = b.AddLane(b.AddDevice());
  for (int64_t s = 0; s < 12; ++s) {
    b.Kernel(first, 100 * s + 4, 100 * s + 64, "a", 100 * s);
    b.Kernel(second, 100 * s + 67, 100 * s + 97, "a", 100 * s + 2);
  }
  const auto paths = Paths(b.Tree(), 1, 2);
  // From the end of the launch call at 2 until 64, in each of eleven gaps.
  EXPECT_EQ(paths.at("steps/step/idle/dependency:other device"), 11 * 62);
}

// Marks reach over the host's part of a step. The last one was open when the recording ended.
TEST(TimeTree, StepWhoseMarkIsNotRecordedIsAStep) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  for (int64_t s = 0; s < 6; ++s) {
    b.Kernel(lane, 100 * s, 100 * s + 10, "a", 100 * s - 5);
    if (s == 5) break;
    b.Kernel(lane, 100 * s + 10, 100 * s + 50, "b", 100 * s - 2);
    b.run.step_marks.push_back({1, s + 1, 100 * s - 8, 100 * s + 60});
  }
  const auto paths = Paths(b.Tree(), 1, 1);
  EXPECT_EQ(paths.at("steps"), 510);
  EXPECT_EQ(paths.count("between_steps"), 0u);
}

// The recording begins with the last work of a step, which is the anchor.
TEST(TimeTree, CutFirstStepDoesNotMoveOtherSteps) {
  HostRun b;
  const auto lane = b.AddLane(b.AddDevice());
  int64_t now = 0;
  for (int s = 0; s < 9; ++s) {
    if (s > 0) b.Kernel(lane, now, now + 20, "a", now - 5);
    b.Kernel(lane, now + 20, now + 60, "b", now - 2);
    now += 100;
    if (s % 4 != 3) continue;
    b.Kernel(lane, now, now + 80, "evaluate", now - 5);
    now += 100;
  }
  const auto paths = Paths(b.Tree(), 1, 1);
  // The cut step, from 20 to 100; five whole steps of 100; and three that end with their own 60.
  EXPECT_EQ(paths.at("steps"), 80 + 500 + 180);
  EXPECT_EQ(paths.at("between_steps/computation"), 160);
}

// Two ranks. The second one reads data for 40 before its collective, and its clock is 1000 ahead.
TEST(TimeTree, WaitOfTheJobIsWorkOfTheLateRank) {
  HostRun b;
  b.run.processes.resize(2);
  const auto first = b.AddLane(b.AddDevice(1)), second = b.AddLane(b.AddDevice(2));
  for (int64_t s = 0; s < 6; ++s) {
    b.Kernel(first, 200 * s, 200 * s + 20, "a", 200 * s - 5);
    b.Kernel(first, 200 * s + 20, 200 * s + 80, "ncclDevKernel_AllReduce", 200 * s - 2);
    b.Kernel(second, 1000 + 200 * s, 1000 + 200 * s + 20, "a", 995 + 200 * s);
    b.Kernel(second, 1000 + 200 * s + 60, 1000 + 200 * s + 80, "ncclDevKernel_AllReduce",
             1057 + 200 * s);
  }
  const auto rows = b.Tree();
  EXPECT_EQ(Broken(rows), "");
  const auto of_first = Paths(rows, 1, 0), of_job = Paths(rows, 0, 0);
  EXPECT_EQ(of_first.at("steps/step/exposed_collective/wait:device 0"), 240);
  EXPECT_EQ(of_job.count("steps/step/exposed_collective/wait:device 0"), 0u);
  // The second rank is idle for 40 before each collective, and both for 120 after it, except the
  // last.
  EXPECT_EQ(of_job.at("steps/step/idle"), 240 + 600);
  EXPECT_EQ(of_job.at("steps/step/exposed_collective/transfer"), 120);
}

// A random loop on `devices` devices, with noise, other work and host ranges.
HostRun RandomRun(uint32_t seed, int devices) {
  std::mt19937 random(seed);
  const auto upto = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  HostRun b;
  std::vector<model::Id> lanes;
  for (int d = 0; d < devices; ++d) {
    const auto device = b.AddDevice();
    lanes.push_back(b.AddLane(device));
    lanes.push_back(b.AddLane(device));
  }
  int64_t now = 10'000;
  const int kernels = 1 + static_cast<int>(upto(5));
  for (int s = 0; s < 12; ++s) {
    for (int k = 0; k < kernels; ++k) {
      const int64_t start = now + upto(20'000);
      for (const auto lane : lanes) {
        if (upto(3) == 0) continue;
        b.Kernel(lane, start + upto(500), start + 1000 + upto(9000), "k" + std::to_string(k),
                 upto(4) == 0 ? std::nullopt : std::optional(start - upto(3000)));
      }
      now = start + 10'000;
    }
    b.Range(upto(2) == 0 ? "env.step" : "PjitFunction(f)", now - upto(5000), now + upto(9000));
    if (s % 5 == 4) {
      b.Kernel(lanes[0], now + 20'000, now + 90'000, "other", now);
      now += 100'000;
    }
  }
  return b;
}

TEST(TimeTreeProperties, ChildrenSumToTheirParentAndNothingIsNegative) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const auto rows = RandomRun(seed, 1 + static_cast<int>(seed % 3)).Tree();
    EXPECT_EQ(Broken(rows), "") << seed;
  }
}

HostRun Moved(HostRun b, int64_t times, int64_t later) {
  for (size_t i = 0; i < b.run.activities.size(); ++i) {
    b.run.activities.start_ns[i] = times * b.run.activities.start_ns[i] + later;
    b.run.activities.duration_ns[i] *= times;
    b.run.activities.self_ns[i] *= times;
    if (b.calls[i]) {
      b.calls[i]->start_ns = times * b.calls[i]->start_ns + later;
      b.calls[i]->end_ns = times * b.calls[i]->end_ns + later;
    }
  }
  for (model::HostEvent& event : b.events) {
    event.start_ns = times * event.start_ns + later;
    event.end_ns = times * event.end_ns + later;
  }
  return b;
}

TEST(TimeTreeProperties, ShiftingTimeGivesTheSameTree) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const HostRun b = RandomRun(seed, 2);
    const auto moved = Moved(b, 1, 123'456'789);
    EXPECT_EQ(Paths(b.Tree(), 1, 1), Paths(moved.Tree(), 1, 1)) << seed;
  }
}

TEST(TimeTreeProperties, RemovingADeviceChangesOnlyItsOwnNodes) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    // Devices of other processes: those of one process have the numbers of steps in common.
    HostRun both = RandomRun(seed, 1);
    const auto alone = Paths(both.Tree(), 1, 1);
    const auto lane = both.AddLane(both.AddDevice(2));
    for (int64_t k = 0; k < 9; ++k) both.Kernel(lane, 777 * k, 777 * k + 300, "z");
    EXPECT_EQ(Paths(both.Tree(), 1, 1), alone) << seed;
  }
}

TEST(Loop, PeriodHoldsAKernelThatRecursInIt) {
  std::vector<Work> works;
  WorkNames names;
  for (const char* name : {"a", "b", "c"}) names.Number(name, {});
  for (int s = 0; s < 20; ++s) {
    for (const uint32_t what : {0u, 1u, 0u, 2u}) {
      Work work;
      work.what = what;
      work.device_ns = what == 0 ? 100 : 10;
      works.push_back(work);
    }
  }
  const auto anchor = AnchorOp({works}, names);
  ASSERT_TRUE(anchor);
  EXPECT_NE(*anchor, Anchor{0u});
}

// No kernel runs once in the loop, and each has others behind it at two places.
TEST(Loop, SequenceIsTheAnchorIfAllKernelsRecur) {
  constexpr std::array kLoop = {0u, 1u, 0u, 0u, 1u, 1u};
  std::vector<Work> works;
  WorkNames names;
  for (const char* name : {"a", "b"}) names.Number(name, {});
  for (int s = 0; s < 20; ++s) {
    for (const uint32_t what : kLoop) {
      Work work;
      work.what = what;
      work.device_ns = 10;
      works.push_back(work);
    }
  }
  const auto anchor = AnchorOp({works}, names);
  ASSERT_TRUE(anchor);
  const std::vector<size_t> periods = PeriodsAt(works, *anchor);
  ASSERT_GE(periods.size(), 19u);
  for (size_t k = 1; k < periods.size(); ++k) {
    EXPECT_EQ(periods[k] - periods[k - 1], kLoop.size());
  }
}

TEST(Loop, WorksInRandomOrderAreNoLoop) {
  std::mt19937 random(17);
  std::vector<Work> works;
  WorkNames names;
  for (const char* name : {"a", "b", "c"}) names.Number(name, {});
  for (int i = 0; i < 500; ++i) {
    Work work;
    work.what = static_cast<uint32_t>(random() % 3);
    work.device_ns = 10;
    works.push_back(work);
  }
  EXPECT_FALSE(AnchorOp({works}, names));
}

}  // namespace
}  // namespace xlatrace::analysis::time_tree
