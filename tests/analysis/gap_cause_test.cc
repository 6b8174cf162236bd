// SPDX-License-Identifier: Apache-2.0
#include "analysis/gap_cause.h"

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/time_tree/time_tree.h"
#include "tests/analysis/run_builder.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

using model::GapCause;

// As Analyze does: divides idle time, then finds the causes.
std::vector<model::GapEvidenceRow> FindCauses(const model::RunTables& run,
                                              const model::AttributionTables& attribution,
                                              const HostEventLoader& events,
                                              const HostCallOf& call_of,
                                              std::vector<model::GapRow>& gaps) {
  const auto classes = ClassifyActivities(run, attribution);
  const auto by_device = ActivitiesByDevice(run);
  const std::vector<model::NamedCompile> compiles;
  time_tree::TimeTree tree = time_tree::BuildTimeTree(
      run, attribution, {}, {}, {classes, by_device, compiles, events, call_of});
  return FindGapCauses(run, attribution, events, call_of, std::move(tree.gap_parts), gaps);
}

// Two activities with 100 us between them, from 100 to 200 us.
class GapCauseTest : public testing::Test {
 protected:
  GapCauseTest() {
    const auto lane = b.AddLane(b.AddDevice());
    b.AddActivity(lane, 0, 100'000, {});
    b.AddActivity(lane, 200'000, 300'000, {});
    gap.device_id = 1;
    gap.start_ns = 100'000;
    gap.end_ns = 200'000;
    gap.previous_activity_id = 1;
    gap.next_activity_id = 2;
  }

  model::GapRow Classify(std::vector<model::HostEvent> events, const HostCallOf& call_of = {}) {
    std::vector<model::GapRow> gaps{gap};
    FindCauses(
        b.run, b.attribution, [&](const Intervals&) { return events; }, call_of, gaps);
    return gaps[0];
  }

  std::string Words(std::vector<model::HostEvent> events) {
    std::vector<model::GapRow> gaps{gap};
    const auto evidence = FindCauses(
        b.run, b.attribution, [&](const Intervals&) { return events; }, {}, gaps);
    return evidence.empty() ? "" : evidence[0].text;
  }

  RunBuilder b;
  model::GapRow gap;
};

TEST_F(GapCauseTest, AWaitThatEndsInTheGapIsSynchronisation) {
  EXPECT_EQ(Classify({{1, 7, "cuStreamSynchronize", 50'000, 110'000, 0}}).cause,
            GapCause::kSynchronisation);
  // One that goes on beyond it did not hold the host up when the gap began.
  EXPECT_EQ(Classify({{1, 7, "cuStreamSynchronize", 50'000, 250'000, 0}}).cause,
            GapCause::kUnknown);
  // Nor did one of another process.
  EXPECT_EQ(Classify({{2, 7, "cuStreamSynchronize", 50'000, 110'000, 0}}).cause,
            GapCause::kUnknown);
}

TEST_F(GapCauseTest, ShortWaitDoesNotExplainALongGap) {
  gap.end_ns = 200'000;
  EXPECT_EQ(Classify({{1, 7, "cuStreamSynchronize", 62'000, 110'000, 0}}).cause,
            GapCause::kUnknown);
  EXPECT_EQ(Classify({{1, 7, "cuStreamSynchronize", 60'000, 110'000, 0}}).cause,
            GapCause::kSynchronisation);
  // A host with two synchronisations in sequence waits during the whole gap.
  EXPECT_EQ(Classify({{1, 7, "cuEventSynchronize", 30'000, 62'000, 0},
                      {1, 7, "cuStreamSynchronize", 62'000, 110'000, 0}})
                .cause,
            GapCause::kSynchronisation);
}

// Five kernels of 100 us, `idle_ns` apart, each called 5 us before it begins. Before the first the
// thread had waited for so long. Gives the causes of the gaps between them.
std::vector<GapCause> AfterAWaitOf(int64_t waited_ns, int64_t thread = 7,
                                   int64_t idle_ns = 100'000) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  std::vector<model::GapRow> gaps;
  std::vector<model::HostEvent> events{
      {1, 7, "cudaStreamSynchronize", -waited_ns - 6'000, -6'000, 0}};
  const int64_t every = 100'000 + idle_ns;
  for (int64_t k = 0; k < 5; ++k) {
    b.AddActivity(lane, k * every, k * every + 100'000, {});
    events.push_back({1, thread, "cudaLaunchKernel", k * every - 5'000, k * every - 1'000, 0});
    if (k == 0) continue;
    model::GapRow& gap = gaps.emplace_back();
    gap.device_id = 1;
    gap.start_ns = k * every - idle_ns;
    gap.end_ns = k * every;
    gap.previous_activity_id = k;
    gap.next_activity_id = k + 1;
  }
  const auto call_of = [every](size_t activity) {
    const int64_t begin = static_cast<int64_t>(activity) * every;
    return model::HostCall{1, begin - 5'000, begin - 1'000};
  };
  FindCauses(
      b.run, b.attribution, [&](const Intervals&) { return events; }, call_of, gaps);
  std::vector<GapCause> causes;
  for (const model::GapRow& gap : gaps) causes.push_back(gap.cause);
  return causes;
}

// Without the wait the thread would be earlier by as much as it waited, and no more.
TEST(GapsAfterAWait, GapsAreAttributedToAWaitUpToItsDuration) {
  using testing::Each;
  using testing::ElementsAre;
  constexpr GapCause kWait = GapCause::kSynchronisation, kLate = GapCause::kHost;
  EXPECT_THAT(AfterAWaitOf(40'000), Each(kLate));
  EXPECT_THAT(AfterAWaitOf(120'000), ElementsAre(kWait, kLate, kLate, kLate));
  EXPECT_THAT(AfterAWaitOf(260'000), ElementsAre(kWait, kWait, kWait, kLate));
  EXPECT_THAT(AfterAWaitOf(9'000'000), Each(kWait));
  // A wait of another thread does not delay this thread.
  EXPECT_THAT(AfterAWaitOf(9'000'000, 8), Each(kLate));
  // Nor does it hold up a host that launches nothing for longer than launching takes.
  EXPECT_THAT(AfterAWaitOf(90'000'000, 7, 900'000), Each(kWait));
  EXPECT_THAT(AfterAWaitOf(90'000'000, 7, 1'200'000), Each(kLate));
}

TEST_F(GapCauseTest, RangeNamedLikeALaunchIsNotALaunch) {
  EXPECT_EQ(Classify({{1, 7, "LaunchKernels", 95'000, 190'000, 3}}).cause, GapCause::kHost);
}

TEST_F(GapCauseTest, RangeOverMostOfTheGapIsTheHostCause) {
  const model::GapRow row =
      Classify({{1, 7, "train_loop", 0, 400'000, 3}, {1, 7, "logging", 120'000, 190'000, 4}});
  EXPECT_EQ(row.cause, GapCause::kHost);
  EXPECT_EQ(row.host_range_id, 4);
  EXPECT_EQ(Classify({{1, 7, "logging", 120'000, 140'000, 4}}).cause, GapCause::kUnknown);
}

TEST_F(GapCauseTest, StepRangeIsRefinedByItsInnerRanges) {
  const model::HostEvent step{1, 7, "ProfilerStep#6", 0, 400'000, 3};
  const model::HostEvent norm{1, 7, "layer_norm", 90'000, 102'000, 4};
  const model::HostEvent linear{1, 7, "linear", 180'000, 260'000, 5};
  // An op inside another op is not named.
  const model::HostEvent addmm{1, 7, "addmm", 185'000, 195'000, 6};
  EXPECT_EQ(Words({step}), "ProfilerStep#6");
  EXPECT_GOLDEN_TEXT(Words({step, norm, linear, addmm}));  // 78 us from layer_norm to linear.
  EXPECT_GOLDEN_TEXT(Words({step, linear}));               // 80 us before it.
  EXPECT_GOLDEN_TEXT(Words({step, norm}));                 // 98 us after it.
  // Neither most of it in one op nor most of it in none: the op that has most.
  EXPECT_GOLDEN_TEXT(Words({step,
                            {1, 7, "mul", 100'000, 130'000, 4},
                            {1, 7, "add", 150'000, 190'000, 5},
                            {1, 7, "sum", 192'000, 199'000, 6}}));
  // No op has a large part of it.
  EXPECT_EQ(Words({step,
                   {1, 7, "mul", 100'000, 120'000, 4},
                   {1, 7, "add", 140'000, 164'000, 5},
                   {1, 7, "sum", 180'000, 199'000, 6}}),
            "ProfilerStep#6");
  // Ranges of another thread do not count, and a narrower range replaces that of the step.
  EXPECT_EQ(Words({step, {1, 8, "linear", 180'000, 260'000, 5}}), "ProfilerStep#6");
  EXPECT_EQ(Words({step, {1, 7, "linear", 110'000, 260'000, 5}}), "linear");
}

TEST_F(GapCauseTest, LateRangeIsNamedWithTheUnknownTimeBeforeIt) {
  EXPECT_GOLDEN_TEXT(Words({{1, 7, "PjitFunction(f)", 180'000, 400'000, 3}}));  // 80 us before it.
}

TEST_F(GapCauseTest, RangesOfXlaAreNamedByWhatTheyRun) {
  const std::string module =
      "XlaModule:#hlo_module=jit_a_function_with_a_long_name_of_its_own,program_id=7#";
  EXPECT_EQ(Words({{1, 7, module, 0, 400'000, 3}}),
            "module jit_a_function_with_a_long_name_of_its_own");
  EXPECT_EQ(Words({{1, 7, "Thunk:#hlo_op=fusion.3,hlo_module=jit_f#", 0, 400'000, 3}}),
            "thunk fusion.3");
}

// Runs without calls whose thunks are recorded on the host (nsys-jax): two programs on a device.
class ThunkGapTest : public GapCauseTest {
 protected:
  ThunkGapTest() {
    b = {};
    lane_ = b.AddLane(b.AddDevice());
    for (const char* name : {"jit_f", "jit_g", "jit_step"}) {
      modules_.push_back(b.AddModule());
      b.run.modules.back().name = name;
    }
  }
  // The next activity: an instruction of a program, of a call of it that ends with `ends`.
  void Run(int module, const std::string& instruction, int64_t start_ns, int64_t end_ns,
           bool begins = true) {
    if (begins)
      execution_ = b.AddExecution(modules_[static_cast<size_t>(module)], 1, start_ns, end_ns);
    b.attribution.executions.back().end_ns = end_ns;
    const auto id = b.AddInstruction(modules_[static_cast<size_t>(module)], model::Phase::kUnknown);
    b.attribution.instructions.back().name = instruction;
    b.AddActivity(lane_, start_ns, end_ns, {.instruction = id, .execution = execution_});
  }
  GapCause CauseWith(const std::string& program, const std::string& thunk) {
    return Classify(Ranges(program, thunk)).cause;
  }
  static std::vector<model::HostEvent> Ranges(const std::string& program,
                                              const std::string& thunk) {
    static std::deque<std::string> names;
    const auto keep = [&](std::string name) -> std::string_view {
      return names.emplace_back(std::move(name));
    };
    return {{1, 7, keep("XlaModule:#hlo_module=" + program + ",program_id=3#"), 20'000, 900'000, 3},
            {1, 7, keep("Thunk:#name=dot,hlo_op=" + thunk + "#"), 90'000, 210'000, 4}};
  }
  model::Id lane_ = 0;
  std::vector<model::Id> modules_;
  model::Id execution_ = 0;
};

TEST_F(ThunkGapTest, HostThatLaunchesALaterThunkIsNotLate) {
  Run(0, "a", 0, 100'000);
  Run(1, "b", 200'000, 300'000);
  Run(2, "c", 300'000, 400'000);
  // Between f and g it launches a thunk of the step that comes after both.
  EXPECT_EQ(CauseWith("jit_step", "c"), GapCause::kUnknown);
  EXPECT_GOLDEN_TEXT(Words(Ranges("jit_step", "c")));
  // The device waits for the thunk that is being launched.
  EXPECT_EQ(CauseWith("jit_g", "b"), GapCause::kHost);
  // All of f has run: a thunk of f is one of its next call; not what ran last, which may wait.
  EXPECT_EQ(CauseWith("jit_f", "another"), GapCause::kUnknown);
  EXPECT_EQ(CauseWith("jit_f", "a"), GapCause::kHost);
  // A call that is known decides.
  EXPECT_EQ(Classify(Ranges("jit_step", "c"),
                     [](size_t) {
                       return model::HostCall{1, 190'000, 195'000};
                     })
                .cause,
            GapCause::kHost);
}

TEST_F(ThunkGapTest, ThunkOrderShowsWhetherTheHostIsAhead) {
  Run(0, "a", 0, 100'000);
  Run(0, "b", 200'000, 300'000, false);
  Run(0, "c", 300'000, 400'000, false);
  EXPECT_EQ(CauseWith("jit_f", "c"), GapCause::kUnknown);
  EXPECT_EQ(CauseWith("jit_f", "b"), GapCause::kHost);
  EXPECT_EQ(CauseWith("jit_f", "a"), GapCause::kHost);
  // So short a gap would be the host's launching where it is not ahead.
  gap.start_ns = 170'000;
  EXPECT_EQ(CauseWith("jit_f", "c"), GapCause::kUnknown);
  EXPECT_EQ(CauseWith("jit_f", "b"), GapCause::kLaunchBound);
}

TEST_F(GapCauseTest, LongestGapsAreExplainedEvenIfShort) {
  gap.start_ns = 190'000;
  EXPECT_EQ(Words({{1, 7, "logging", 0, 400'000, 3}}), "logging");
}

TEST_F(GapCauseTest, GapFilledByADataLoaderIsInput) {
  const model::GapRow row = Classify({{1, 7, "IteratorGetNext", 105'000, 195'000, 9}});
  EXPECT_EQ(row.cause, GapCause::kInput);
  EXPECT_EQ(row.host_range_id, 9);
}

// PyTorch's main thread waits in backward() for the thread of autograd, which launches.
TEST_F(GapCauseTest, TheRangeOfTheLaunchingThreadIsNamed) {
  const std::vector<model::HostEvent> events = {{1, 7, "forward and backward", 0, 400'000, 3},
                                                {1, 8, "autograd::engine", 10'000, 350'000, 4},
                                                {1, 7, "backward", 90'000, 400'000, 5}};
  const auto called_by = [](int64_t thread) {
    return [=](size_t) { return model::HostCall{1, 180'000, 185'000, thread}; };
  };
  const auto words = [&](int64_t thread) {
    std::vector<model::GapRow> gaps{gap};
    const auto evidence = FindCauses(
        b.run, b.attribution, [&](const Intervals&) { return events; }, called_by(thread), gaps);
    return evidence.empty() ? "" : evidence[0].text;
  };
  EXPECT_EQ(words(8), "autograd::engine");
  EXPECT_EQ(words(7), "backward");
  EXPECT_GOLDEN_TEXT(words(9));
  EXPECT_EQ(words(0), "backward");
  EXPECT_EQ(Classify(events, called_by(8)).host_range_id, 4);
  EXPECT_EQ(Classify(events, called_by(7)).host_range_id, 5);
  // A thread without events.
  EXPECT_EQ(Classify(events, called_by(9)).host_range_id, 5);
  EXPECT_EQ(Classify(events, called_by(0)).host_range_id, 5);
}

// PyTorch's with_stack: a function shows the place of the host, independent of its file name.
TEST_F(GapCauseTest, PythonFunctionIsAPlaceButNotACause) {
  model::GapRow row = Classify({{1, 7, "my/dataset.py(3): load_batch", 0, 400'000, 9}});
  EXPECT_EQ(row.cause, GapCause::kUnknown);
  EXPECT_EQ(row.host_range_id, 0);
  const std::vector<model::HostEvent> events = {{1, 7, "aten::linear", 0, 400'000, 8},
                                                {1, 7, "a.py(3): f", 50'000, 400'000, 9}};
  row = Classify(events);
  EXPECT_EQ(row.cause, GapCause::kHost);
  EXPECT_EQ(row.host_range_id, 8);
  EXPECT_EQ(Words(events), "a.py(3): f");
  EXPECT_EQ(Words({{1, 7, "nn.Module: Iterator_0", 0, 400'000, 3}}), "Iterator_0");
}

TEST_F(GapCauseTest, GapFilledByLaunchCallsIsLaunchBound) {
  const auto launched = [](int64_t start_ns, int64_t end_ns) {
    return [=](size_t) { return model::HostCall{2, start_ns, end_ns, 7}; };
  };
  // Two launches follow each other for 90 of 100 us.
  const std::vector<model::HostEvent> calls = {{1, 7, "cuLaunchKernel", 105'000, 150'000, 0},
                                               {1, 7, "cuLaunchKernel", 150'000, 195'000, 0}};
  EXPECT_EQ(Classify(calls, launched(150'000, 195'000)).cause, GapCause::kLaunchBound);
  // One call of 10 us, after 80 us without records.
  EXPECT_EQ(
      Classify({{1, 7, "cuLaunchKernel", 180'000, 190'000, 0}}, launched(180'000, 190'000)).cause,
      GapCause::kHost);
}

TEST_F(GapCauseTest, KernelLaunchedLongBeforeDidNotWaitForTheHost) {
  const std::vector<model::HostEvent> wait = {{1, 7, "cuStreamSynchronize", 50'000, 110'000, 0}};
  const auto launched_until = [](int64_t end_ns) {
    return [=](size_t) { return model::HostCall{1, end_ns - 5'000, end_ns}; };
  };
  // The call returned 20 us before the gap began at 100 us.
  EXPECT_EQ(Classify(wait, launched_until(80'000)).cause, GapCause::kUnknown);
  // It returned 5 us before (launching takes about that long to arrive), or in the gap.
  EXPECT_EQ(Classify(wait, launched_until(95'000)).cause, GapCause::kSynchronisation);
  EXPECT_EQ(Classify(wait, launched_until(190'000)).cause, GapCause::kSynchronisation);
  // It is not known.
  EXPECT_EQ(Classify(wait, [](size_t) { return std::nullopt; }).cause, GapCause::kSynchronisation);
}

TEST_F(GapCauseTest, KernelStartedLongAfterLaunchDidNotWaitForHost) {
  gap.end_ns = 700'000;
  b.run.activities.start_ns[1] = 700'000;
  const std::vector<model::HostEvent> busy = {{1, 7, "logging", 90'000, 650'000, 4}};
  const auto launched_until = [](int64_t end_ns) {
    return [=](size_t) { return model::HostCall{1, end_ns - 5'000, end_ns}; };
  };
  EXPECT_EQ(Classify(busy, launched_until(115'000)).cause, GapCause::kUnknown);
  // More than half of the gap had gone by when it was launched.
  EXPECT_EQ(Classify(busy, launched_until(401'000)).cause, GapCause::kHost);
  std::vector<model::GapRow> gaps{gap};
  const auto words = [&](int64_t end_ns) {
    const auto evidence = FindCauses(
        b.run, b.attribution, [&](const Intervals&) { return busy; }, launched_until(end_ns), gaps);
    return evidence.empty() ? std::string() : evidence[0].text;
  };
  EXPECT_GOLDEN_TEXT(words(115'000));  // It began 585 us later.
  EXPECT_GOLDEN_TEXT(words(40'000));   // It was launched 60.0 us before the gap.
  // A start takes up to 200 us where the device is slow to begin.
  gap.end_ns = 200'000;
  b.run.activities.start_ns[1] = 200'000;
  EXPECT_EQ(Classify({{1, 7, "logging", 90'000, 190'000, 4}}, launched_until(115'000)).cause,
            GapCause::kLaunchBound);
}

// A cut name ends with an ellipsis, and no character is split.
TEST_F(GapCauseTest, ALongNameIsCutWithAnEllipsis) {
  EXPECT_EQ(
      Words({{1, 7, "FSDP::pre_forward (blocks.16._checkpoint_wrapped_module)", 0, 400'000, 3}}),
      "FSDP::pre_forward (blocks.16._checkpoint_wrappe\u2026");
  const std::string greek = std::string(46, 'a') + "\u03b1\u03b2";
  EXPECT_EQ(Words({{1, 7, greek, 0, 400'000, 3}}), std::string(46, 'a') + "\u2026");
  EXPECT_EQ(Words({{1, 7, std::string(48, 'a'), 0, 400'000, 3}}), std::string(48, 'a'));
}

TEST_F(GapCauseTest, LongLaunchCallIsHostTimeAndNotSynchronisation) {
  gap.end_ns = 300'000;
  const std::vector<model::HostEvent> wait = {{1, 7, "cuStreamSynchronize", 1'000, 110'000, 0}};
  const auto called = [](int64_t start_ns, int64_t end_ns) {
    return [=](size_t) { return model::HostCall{1, start_ns, end_ns}; };
  };
  // 170 of 200 us in the call that made what came next.
  EXPECT_EQ(Classify(wait, called(120'000, 290'000)).cause, GapCause::kHost);
  // Less than half of the gap, or a call of a usual length.
  EXPECT_EQ(Classify(wait, called(205'000, 299'000)).cause, GapCause::kSynchronisation);
  gap.end_ns = 200'000;
  EXPECT_EQ(Classify(wait, called(115'000, 195'000)).cause, GapCause::kSynchronisation);
}

// A copy to the host until 100 us, then a kernel from 200 us on.
GapCause AfterReadBack(int64_t copy_called_ns, int64_t next_called_ns, int64_t bytes,
                       const std::vector<model::HostEvent>& events = {}) {
  RunBuilder made;
  const auto lane = made.AddLane(made.AddDevice());
  made.AddActivity(lane, 0, 100'000,
                   {.kind = model::ActivityKind::kMemcpy, .copy = model::CopyKind::kDeviceToHost});
  made.AddActivity(lane, 200'000, 300'000, {});
  made.run.activities.bytes[0] = bytes;
  std::vector<model::GapRow> gaps(1);
  gaps[0] = {.device_id = 1, .start_ns = 100'000, .end_ns = 200'000};
  gaps[0].previous_activity_id = 1;
  gaps[0].next_activity_id = 2;
  FindCauses(
      made.run, made.attribution, [&](const Intervals&) { return events; },
      [=](size_t activity) {
        const int64_t called_ns = activity == 0 ? copy_called_ns : next_called_ns;
        return model::HostCall{static_cast<model::Id>(activity + 1), called_ns, called_ns + 5'000,
                               7};
      },
      gaps);
  return gaps[0].cause;
}

TEST(GapsAfterAReadBack, ReadBackIsSynchronisationUpToItsWait) {
  // The host can have waited from 0 to 100 us, and then took 90 us to launch.
  EXPECT_EQ(AfterReadBack(0, 190'000, 4), GapCause::kSynchronisation);
  EXPECT_EQ(AfterReadBack(0, 190'000, 1 << 20), GapCause::kSynchronisation);
  // It waited for 30 us at most, and then did something else for 90 us.
  EXPECT_EQ(AfterReadBack(70'000, 190'000, 4), GapCause::kHost);
  // A call that shows the wait gives its length.
  EXPECT_EQ(AfterReadBack(0, 190'000, 4, {{1, 7, "cudaStreamSynchronize", 97'000, 104'000, 0}}),
            GapCause::kHost);
  // The next work was launched while the copy ran, so the host did not wait for it.
  EXPECT_EQ(AfterReadBack(0, 97'000, 4), GapCause::kLaunchBound);
}

// A kernel until 100 us, then a copy to the device from 200 us on, whose call ends at 250 us.
GapCause BeforeACopy(std::optional<int64_t> called_ns) {
  RunBuilder made;
  const auto lane = made.AddLane(made.AddDevice());
  made.AddActivity(lane, 0, 100'000, {});
  made.AddActivity(lane, 200'000, 300'000,
                   {.kind = model::ActivityKind::kMemcpy, .copy = model::CopyKind::kHostToDevice});
  std::vector<model::GapRow> gaps(1);
  gaps[0] = {.device_id = 1, .start_ns = 100'000, .end_ns = 200'000};
  gaps[0].previous_activity_id = 1;
  gaps[0].next_activity_id = 2;
  FindCauses(
      made.run, made.attribution, [](const Intervals&) { return std::vector<model::HostEvent>(); },
      [=](size_t i) -> std::optional<model::HostCall> {
        if (i != 1 || !called_ns) return std::nullopt;
        return model::HostCall{1, *called_ns, 250'000, 7};
      },
      gaps);
  return gaps[0].cause;
}

TEST(GapsBeforeACopy, CopyExplainsTheGapBeforeItOnlyDuringItsCall) {
  EXPECT_EQ(BeforeACopy(std::nullopt), GapCause::kUnknown);  // There are no host events.
  EXPECT_EQ(BeforeACopy(110'000), GapCause::kCopy);          // It stages pageable memory for 90 us.
  EXPECT_EQ(BeforeACopy(195'000), GapCause::kHost);          // It did something else for 95 us.
}

TEST_F(GapCauseTest, CopyToTheDeviceExplainsGapsOnlyDuringItsCall) {
  const auto next_called = [](size_t) { return model::HostCall{2, 195'000, 198'000, 7}; };
  EXPECT_EQ(Classify({{1, 7, "cudaMemcpy", -5'000, 170'000, 0}}, next_called).cause,
            GapCause::kCopy);
  EXPECT_EQ(Classify({{1, 7, "cudaMemcpyAsync", -5'000, 2'000, 0}}, next_called).cause,
            GapCause::kHost);
}

TEST_F(GapCauseTest, OnlyEventsOfItsProcessExplainAGap) {
  b.run.devices[0].process_id = 2;
  b.run.processes.emplace_back();
  EXPECT_EQ(Classify({{2, 7, "cuStreamSynchronize", 50'000, 110'000, 0}}).cause,
            GapCause::kSynchronisation);
  EXPECT_EQ(Classify({{1, 7, "cuStreamSynchronize", 50'000, 110'000, 0}}).cause,
            GapCause::kUnknown);
}

// Two devices of one process, with a gap each from 100 to 200 us; thread 7 launches on the first,
// thread 8 on the second.
TEST(GapCauseOfDevices, ThreadOfAnotherDeviceDoesNotExplainTheGap) {
  const auto judge = [](bool by_calls, int64_t thread) {
    RunBuilder made;
    std::vector<model::GapRow> gaps(2);
    for (const int64_t number : {7, 8}) {
      auto lane = made.AddLane(made.AddDevice());
      made.run.lanes.back().stream_id = by_calls ? 1 : number;
      made.AddActivity(lane, 0, 100'000, {});
      made.AddActivity(lane, 200'000, 300'000, {});
      model::GapRow& gap = gaps[static_cast<size_t>(number) - 7];
      gap = {.device_id = number - 6, .start_ns = 100'000, .end_ns = 200'000};
      gap.previous_activity_id = 2 * (number - 7) + 1;
      gap.next_activity_id = gap.previous_activity_id + 1;
    }
    const std::vector<model::HostEvent> events = {{1, 7, "elsewhere", 0, 1'000, 1},
                                                  {1, 8, "elsewhere", 0, 1'000, 2},
                                                  {1, thread, "logging", 110'000, 190'000, 3}};
    const HostCallOf call_of = [](size_t i) {
      return model::HostCall{1, 98'000, 99'000, i < 2 ? 7 : 8};
    };
    FindCauses(
        made.run, made.attribution, [&](const Intervals&) { return events; },
        by_calls ? call_of : HostCallOf(), gaps);
    return std::make_pair(gaps[0].host_range_id, gaps[1].host_range_id);
  };
  for (const bool by_calls : {true, false}) {
    EXPECT_EQ(judge(by_calls, 7), std::make_pair(model::Id{3}, model::Id{0})) << by_calls;
    EXPECT_EQ(judge(by_calls, 8), std::make_pair(model::Id{0}, model::Id{3})) << by_calls;
    // Python's own thread launches nothing, and may hold up both.
    EXPECT_EQ(judge(by_calls, 9), std::make_pair(model::Id{3}, model::Id{3})) << by_calls;
  }
}

TEST_F(GapCauseTest, ShortGapWithinOneExecutionIsLaunchBound) {
  // 30 us; something of the process was recorded, but nothing that covers the gap.
  b.run.activities.start_ns[1] = gap.end_ns = 130'000;
  const std::vector<model::HostEvent> elsewhere = {{1, 7, "PyFunction", 0, 20'000, 3}};
  EXPECT_EQ(Classify(elsewhere).cause, GapCause::kUnknown);
  const auto module = b.AddModule();
  const auto execution = static_cast<uint32_t>(b.AddExecution(module, 1, 0, 300'000));
  b.attribution.execution_of = {execution, execution};
  EXPECT_EQ(Classify(elsewhere).cause, GapCause::kLaunchBound);
  EXPECT_EQ(Classify({}).cause, GapCause::kUnknown);  // There are no host events.
  // On a CPU device, host threads are the device: they hand over work to each other.
  b.run.devices[0].kind = model::DeviceKind::kCpu;
  EXPECT_EQ(Classify(elsewhere).cause, GapCause::kUnknown);
  b.run.devices[0].kind = model::DeviceKind::kGpu;
  b.attribution.execution_of = {execution, execution + 1};
  EXPECT_EQ(Classify(elsewhere).cause, GapCause::kUnknown);
}

TEST_F(GapCauseTest, CompilationStaysTheCauseOfTheGap) {
  gap.cause = GapCause::kCompile;
  EXPECT_EQ(Classify({{1, 7, "cuStreamSynchronize", 50'000, 110'000, 0}}).cause,
            GapCause::kCompile);
}

}  // namespace
}  // namespace xlatrace::analysis
