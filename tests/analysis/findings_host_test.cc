// SPDX-License-Identifier: Apache-2.0

// Rules about the host, each from both sides: a case that has the problem, and a near case that has
// not.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/finding_case.h"
#include "tests/analysis/finding_programs.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Module(const std::string& target = "somebodys_kernel") { return TwoOps(target); }

FindingCase::Work Many(int count, int64_t us, int64_t rest) {
  FindingCase::Work work;
  for (int k = 0; k < count; ++k) work.emplace_back("a", us);
  work.emplace_back("b", rest);
  return work;
}

// Eight steps of eight kernels of 30 us with 20 us between them, each launched `ahead_us` before it
// starts by a call of 4 us.
FindingCase WithLaunches(int64_t ahead_us) {
  FindingCase made(Module());
  FindingCase::Work work;
  for (int k = 0; k < 8; ++k) {
    if (k > 0) work.emplace_back("~", 20);
    work.emplace_back(k % 2 == 0 ? "a" : "b", 30);
  }
  int64_t at = 1000;
  for (int step = 0; step < 8; ++step) at = made.Step(at, work) + 2;
  const std::vector<int64_t> starts = made.b.run.activities.start_ns;
  made.options.call_of = [starts, ahead_us](size_t i) {
    return model::HostCall{static_cast<model::Id>(i + 1), starts[i] - ahead_us * 1000,
                           starts[i] - ahead_us * 1000 + 4'000};
  };
  made.Run();
  return made;
}

TEST(HostRules, GapsAreLaunchBoundOnlyBeforeLateLaunches) {
  const FindingCase with = WithLaunches(6);
  ASSERT_NE(with.Find("launch_bound"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("launch_bound")->confidence, "high");
  // Seven gaps of 20 us. Where nothing is launched in between, kernels follow each other after 2
  // us.
  EXPECT_EQ(with.Find("launch_bound")->saves_high_ns_per_step, 7 * 18'000);
  EXPECT_EQ(with.Find("launch_bound")->basis, "replay");
  ASSERT_EQ(with.tables.launch_queues.size(), 1U);
  // A call comes 14 us after the kernel before has ended, but for the first of a step: 2 us lie
  // between steps.
  EXPECT_EQ(with.tables.launch_queues[0].outstanding_p50, 0);
  EXPECT_EQ(with.tables.launch_queues[0].outstanding_max, 1);
  EXPECT_EQ(with.tables.launch_queues[0].latency_p50_ns, 6'000);

  // Launched 200 us before: the gaps are the device's own (an event of another stream, graph
  // nodes).
  const FindingCase ahead = WithLaunches(200);
  EXPECT_EQ(ahead.Find("launch_bound"), nullptr) << ahead.Ids();
  ASSERT_NE(ahead.FindRuledOut("launch_bound"), nullptr);
  // A kernel starts every 50 us, so within 200 us four are outstanding, less what is between steps.
  EXPECT_GOLDEN_TEXT(ahead.TextOfRuledOut("launch_bound"));
}

TEST(HostRules, GapsOfSomeStepsAreAveragedOverAllSteps) {
  // Sixteen steps of four kernels of 60 us; every other one has a gap of 40 us, whose launch came
  // late. The last step has none; no later start ends it, so it does not count: 8 * 40 us / 15.
  FindingCase made(Module());
  int64_t at = 1000;
  for (int step = 0; step < 16; ++step) {
    FindingCase::Work work{{"a", 60}, {"b", 60}, {"a", 60}, {"b", 60}};
    if (step % 2 == 0) work.insert(work.begin() + 2, {"~", 40});
    at = made.Step(at, work) + 2;
  }
  const std::vector<int64_t> starts = made.b.run.activities.start_ns;
  made.options.call_of = [starts](size_t i) {
    return model::HostCall{static_cast<model::Id>(i + 1), starts[i] - 6'000, starts[i] - 2'000};
  };
  made.Run();
  const model::FindingRow* seldom = made.Find("launch_bound");
  ASSERT_NE(seldom, nullptr) << made.Ids();
  EXPECT_GOLDEN_TEXT(TextOf(*seldom));
}

TEST(HostRules, SmallKernelsAreAFindingOnlyIfManyAndShort) {
  FindingCase with(Module());
  with.Steps(8, Many(100, 2, 4800));
  ASSERT_NE(with.Find("small_kernels"), nullptr) << with.Ids();
  // 100 starts of 1.2 us.
  EXPECT_EQ(with.Find("small_kernels")->saves_high_ns_per_step, 120'000);
  FindingCase longer(Module());
  longer.Steps(8, Many(60, 4, 4600));
  EXPECT_EQ(longer.Find("small_kernels"), nullptr) << longer.Ids();
  // Short ones that are a hundred, and nearly all that is launched: 400 of 5000 us.
  FindingCase many(Module());
  many.Steps(8, Many(100, 4, 4600));
  ASSERT_NE(many.Find("small_kernels"), nullptr) << many.Ids();
  EXPECT_EQ(many.Find("small_kernels")->saves_high_ns_per_step, 400'000);
  // 20 starts are 24 of 4840 us: 0.5 %.
  FindingCase few(Module());
  few.Steps(8, Many(20, 2, 4800));
  EXPECT_EQ(few.Find("small_kernels"), nullptr) << few.Ids();
  EXPECT_NE(few.FindRuledOut("small_kernels"), nullptr);
}

// Eight steps of 1000 us with gaps of 400 us. `events` returns the host events of each gap.
using EventsOf = std::function<std::vector<model::HostEvent>(int64_t from_ns, int64_t to_ns)>;
FindingCase WithGaps(const EventsOf& events_of, const std::string& hlo = Module()) {
  FindingCase made(hlo);
  std::vector<model::HostEvent> events;
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    const int64_t end = made.Step(at, {{"a", 500}, {"b", 500}});
    at = end + 400;
    for (const model::HostEvent& event : events_of(end * 1000, at * 1000)) events.push_back(event);
  }
  made.options.host_events = [events](const Intervals&) { return events; };
  made.Run();
  return made;
}

// A range over the first `share` percent of the gap.
EventsOf Range(const std::string& name, int share) {
  return [=](int64_t from, int64_t to) {
    return std::vector<model::HostEvent>{{1, 7, name, from, from + (to - from) * share / 100, 4}};
  };
}

TEST(HostRules, GapFilledByTheDataLoaderIsInputBound) {
  const FindingCase with = WithGaps(Range("IteratorGetNext", 90));
  ASSERT_NE(with.Find("input_bound"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("idle"), nullptr) << with.Ids();
  const FindingCase other = WithGaps(Range("IteratorGetNext", 40));
  EXPECT_EQ(other.Find("input_bound"), nullptr) << other.Ids();
  EXPECT_NE(other.Find("idle"), nullptr) << other.Ids();
}

TEST(HostRules, GapFilledByPythonIsAHostGap) {
  const FindingCase with = WithGaps(Range("write_summaries", 90));
  ASSERT_NE(with.Find("host_gap"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("input_bound"), nullptr) << with.Ids();
  const FindingCase other = WithGaps(Range("write_summaries", 40));
  EXPECT_EQ(other.Find("host_gap"), nullptr) << other.Ids();
}

TEST(HostRules, AdviceNamesTheFrameworkThatRan) {
  std::string hlo = Module();
  for (size_t at = 0; (at = hlo.find("a.py", at)) != hlo.npos;) {
    hlo.replace(at, 4, "/x/tensorflow/python/framework/ops.py");
    at += 30;
  }
  const FindingCase tensorflow = WithGaps(Range("write_summaries", 90), hlo);
  ASSERT_NE(tensorflow.Find("host_gap"), nullptr) << tensorflow.Ids();
  EXPECT_THAT(tensorflow.Find("host_gap")->action, HasSubstr("steps_per_execution"));
  EXPECT_THAT(tensorflow.Find("host_gap")->action, Not(HasSubstr("lax.")));
  const FindingCase jax = WithGaps(Range("write_summaries", 90));
  EXPECT_THAT(jax.Find("host_gap")->action, HasSubstr("lax.scan"));
}

TEST(HostRules, EvidenceOfIdleTimeNamesTheCauseOfItsGaps) {
  // 400 us in front of each of seven steps of the eight, and Python all that while.
  const FindingCase all = WithGaps(Range("write_summaries", 90));
  ASSERT_NE(all.Find("host_gap"), nullptr) << all.Ids();
  EXPECT_GOLDEN_TEXT(all.TextOfFinding("host_gap"));
  // Seven gaps of 20 us a step, and each call 14 us after the device had nothing to do.
  const FindingCase launches = WithLaunches(6);
  ASSERT_NE(launches.Find("launch_bound"), nullptr) << launches.Ids();
  EXPECT_GOLDEN_TEXT(launches.TextOfFinding("launch_bound"));
  // The cause of gaps that are too short to be examined is not known.
  FindingCase shorter(Module());
  FindingCase::Work work;
  for (int k = 0; k < 20; ++k) {
    if (k > 0) work.emplace_back("~", 4);
    work.emplace_back(k % 2 == 0 ? "a" : "b", 30);
  }
  shorter.Steps(8, work);
  ASSERT_NE(shorter.Find("launch_bound"), nullptr) << shorter.Ids();
  EXPECT_GOLDEN_TEXT(shorter.TextOfFinding("launch_bound"));
}

// Thread 7 launches each activity that is there 5 us before it begins; `events` are beside that.
void CallLaunches(std::vector<model::HostEvent> events, FindingCase& made) {
  const std::vector<int64_t> starts = made.b.run.activities.start_ns;
  for (const int64_t start : starts) {
    events.push_back({1, 7, "cuLaunchKernel", start - 5'000, start - 1'000, 0});
  }
  made.options.host_events = [events](const Intervals&) { return events; };
  made.options.call_of = [starts](size_t i) -> std::optional<model::HostCall> {
    if (i >= starts.size()) return std::nullopt;
    return model::HostCall{static_cast<model::Id>(i + 1), starts[i] - 5'000, starts[i] - 1'000, 7};
  };
}

// One wait of 505 us empties the queue; three launches follow, each later than the device.
TEST(HostRules, SyncFindingNamesTheCallSiteAndTheLaunchTime) {
  FindingCase made(Module());
  made.Step(0, {{"a", 500}, {"~", 100}, {"b", 30}, {"~", 100}, {"a", 30}, {"~", 100}, {"b", 430}});
  std::vector<model::HostEvent> events = {{1, 7, "aten::to, seq = 1", -2'000, 506'000, 1},
                                          {1, 7, "aten::copy_, seq = 2", -1'000, 506'000, 2},
                                          {1, 7, "cuStreamSynchronize", 0, 505'000, 0}};
  CallLaunches(std::move(events), made);
  // Beside the work: a value that is fetched once, and a large copy.
  for (const int64_t bytes : {int64_t{8}, int64_t{1} << 20}) {
    const size_t copy = made.b.AddActivity(1, 500'000, 501'000,
                                           {.kind = model::ActivityKind::kMemcpy,
                                            .reason = model::Reason::kTransfer,
                                            .copy = model::CopyKind::kDeviceToHost});
    made.b.run.activities.bytes[copy] = bytes;
  }
  made.Run();
  const model::FindingRow* found = made.Find("sync_each_step");
  ASSERT_NE(found, nullptr) << made.Ids();
  EXPECT_THAT(found->evidence_json, HasSubstr("aten::to > aten::copy_"));
  EXPECT_THAT(EvidenceFigures(found->evidence_json),
              testing::IsSupersetOf({"1 count", "200000 ns"}));
  EXPECT_THAT(found->title, HasSubstr("aten::to > aten::copy_"));
  EXPECT_GOLDEN_TEXT(TextOf(*found));
}

// Gaps of 100 us after 500, 630 and 760 us: the first in forward, the others in backward.
TEST(HostRules, IdleTimeIsDividedAmongOverlappingHostRanges) {
  FindingCase made(Module());
  made.Step(0, {{"a", 500}, {"~", 100}, {"b", 30}, {"~", 100}, {"a", 30}, {"~", 100}, {"b", 430}});
  std::vector<model::HostEvent> events = {
      {1, 7, "ProfilerStep#5", -100'000, 1'300'000, 1},  // Covers the whole step.
      {1, 7, "## forward ##", 0, 615'000, 2},
      {1, 7, "aten::mm", 510'000, 520'000, 3},
      {1, 7, "## backward ##", 620'000, 900'000, 4},
      {1, 8, "autograd::engine::evaluate_function", 640'000, 850'000, 5},
      {1, 7, "cudaLaunchKernel", 616'000, 619'000, 6}};
  CallLaunches(std::move(events), made);
  made.Run();
  const model::FindingRow* found = made.Find("too_few_calls");
  ASSERT_NE(found, nullptr) << made.Ids();
  std::map<std::string, int64_t> idle_ns;
  for (const auto& item : nlohmann::json::parse(found->evidence_json)) {
    const std::string text = item["text"];
    for (const char* range :
         {"## backward ##", "## forward ##", "aten::mm", "autograd", "ProfilerStep"}) {
      if (text.find(range) != text.npos) idle_ns[range] = item["value"];
    }
  }
  EXPECT_THAT(idle_ns, testing::UnorderedElementsAre(std::pair("## backward ##", 200'000),
                                                     std::pair("## forward ##", 100'000)))
      << found->evidence_json;
}

TEST(HostRules, SynchronisationFindingNeedsAWaitThatEndsInTheGap) {
  const FindingCase with = WithGaps([](int64_t from, int64_t) {
    return std::vector<model::HostEvent>{
        {1, 7, "cuStreamSynchronize", from - 200'000, from + 5'000, 0}};
  });
  ASSERT_NE(with.Find("sync_each_step"), nullptr) << with.Ids();
  // A thread that always waits for something else does not delay the launches.
  const FindingCase other = WithGaps([](int64_t from, int64_t to) {
    return std::vector<model::HostEvent>{
        {1, 8, "cuStreamSynchronize", from - 200'000, to + 200'000, 0}};
  });
  EXPECT_EQ(other.Find("sync_each_step"), nullptr) << other.Ids();
}

// Eight steps. Before each of them lies a copy of 100 us, 300 us after the previous step. The call
// of a copy from the host begins when the step ends, and returns when the copy ends. The call of a
// copy on the device returns at once.
FindingCase WithCopyBefore(model::CopyKind kind) {
  FindingCase made(Module());
  std::map<size_t, model::HostCall> calls;
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    const size_t copy = made.b.AddActivity(
        2, at * 1000, (at + 100) * 1000,
        {.kind = model::ActivityKind::kMemcpy, .reason = model::Reason::kTransfer, .copy = kind});
    const int64_t returns = kind == model::CopyKind::kHostToDevice ? at + 100 : at - 295;
    calls[copy] = {step + 1, (at - 300) * 1000, returns * 1000, 7};
    at = made.Step(at + 100, {{"a", 500}, {"b", 500}}) + 300;
  }
  made.options.call_of = [calls](size_t i) -> std::optional<model::HostCall> {
    const auto call = calls.find(i);
    return call == calls.end() ? std::nullopt : std::optional(call->second);
  };
  made.Run();
  return made;
}

TEST(HostRules, IdleTimeBeforeACopyToDeviceIsCopyWait) {
  const FindingCase with = WithCopyBefore(model::CopyKind::kHostToDevice);
  ASSERT_NE(with.Find("copy_wait"), nullptr) << with.Ids();
  const FindingCase device = WithCopyBefore(model::CopyKind::kDeviceToDevice);
  EXPECT_EQ(device.Find("copy_wait"), nullptr) << device.Ids();
}

TEST(HostRules, CopyWaitsArePerRunIfThereAreNoSteps) {
  // Called once, so no step is known; six copies, each 50 us after the kernels before it.
  const auto made_of = [](model::CopyKind kind) {
    FindingCase made(Module());
    int64_t at = made.Step(0, {{"a", 500}, {"b", 500}});
    std::map<size_t, model::HostCall> calls;
    for (int k = 0; k < 6; ++k) {
      const size_t copy = made.b.AddActivity(
          2, (at + 50) * 1000, (at + 100) * 1000,
          {.kind = model::ActivityKind::kMemcpy, .reason = model::Reason::kTransfer, .copy = kind});
      // A copy on the device is called, and returns, when it starts.
      const bool waits = kind == model::CopyKind::kHostToDevice;
      calls[copy] = {k + 1, (at + (waits ? 0 : 48)) * 1000, (at + (waits ? 101 : 49)) * 1000, 7};
      at += 100;
    }
    made.options.call_of = [=](size_t i) {
      const auto call = calls.find(i);
      return call == calls.end() ? std::nullopt : std::optional(call->second);
    };
    made.Run();
    return made;
  };
  const FindingCase with = made_of(model::CopyKind::kHostToDevice);
  ASSERT_NE(with.Find("copy_wait"), nullptr) << with.Ids();
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("copy_wait"));
  const FindingCase device = made_of(model::CopyKind::kDeviceToDevice);
  EXPECT_EQ(device.Find("copy_wait"), nullptr) << device.Ids();
}

TEST(HostRules, LateLaunchCallAttributesIdleTimeToTheHost) {
  const auto make = [](int64_t ahead_us) {
    FindingCase made(Module());
    int64_t at = 5000;
    for (int step = 0; step < 8; ++step) at = made.Step(at, {{"a", 500}, {"b", 500}}) + 400;
    const std::vector<int64_t> starts = made.b.run.activities.start_ns;
    made.options.call_of = [starts, ahead_us](size_t i) {
      const int64_t call = starts[i] - ahead_us * 1000;
      return model::HostCall{static_cast<model::Id>(i + 1), call, call + 4'000};
    };
    made.Run();
    return made;
  };
  const FindingCase behind = make(6);
  // The call came after the device had become idle, so the host was late.
  ASSERT_NE(behind.Find("host_gap"), nullptr) << behind.Ids();
  const FindingCase ahead = make(2000);
  ASSERT_NE(ahead.Find("idle"), nullptr) << ahead.Ids();
  EXPECT_EQ(ahead.Find("host_gap"), nullptr) << ahead.Ids();
  EXPECT_GOLDEN_TEXT(ahead.TextOfFinding("idle"));
}

TEST(HostRules, ShortGapsBetweenStepsAreFine) {
  FindingCase fine(Module());
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) at = fine.Step(at, {{"a", 500}, {"b", 500}}) + 8;
  fine.Run();
  EXPECT_EQ(fine.Find("idle"), nullptr) << fine.Ids();
  ASSERT_NE(fine.FindRuledOut("host_gap"), nullptr);
  EXPECT_FALSE(fine.FindRuledOut("host_gap")->withheld);
}

TEST(HostRules, CustomCallIsAPythonCallbackOnlyByItsTarget) {
  FindingCase with(Module("xla_ffi_python_gpu_callback"));
  with.Steps(8, {{"a", 500}, {"~", 60}, {"c", 100}, {"~", 40}, {"b", 300}});
  ASSERT_NE(with.Find("host_callback"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("host_callback")->where_source, "a.py:5");
  // Its own time and the idle time before and after it.
  EXPECT_EQ(with.Find("host_callback")->saves_high_ns_per_step, 200'000);
  FindingCase other(Module());
  other.Steps(8, {{"a", 500}, {"~", 60}, {"c", 100}, {"~", 40}, {"b", 300}});
  EXPECT_EQ(other.Find("host_callback"), nullptr) << other.Ids();
  // One that hardly costs anything, because it runs every thousandth step only.
  FindingCase rare(Module("xla_ffi_python_gpu_callback"));
  rare.Steps(8, {{"a", 5000}, {"c", 10}, {"b", 3000}});
  EXPECT_EQ(rare.Find("host_callback"), nullptr) << rare.Ids();
}

// Eight steps with `count` small programs of 20 us after each, 30 us apart.
FindingCase WithHelpers(int count) {
  FindingCase made(Module());
  const model::Id helper = made.AddHelper();
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    at = made.Step(at, {{"a", 500}, {"b", 500}});
    for (int k = 0; k < count; ++k) at = made.RunHelper(at + 30, helper, 20);
  }
  made.Run();
  return made;
}

TEST(HostRules, AtLeastThreeSmallProgramsPerStepAreEagerOps) {
  const FindingCase with = WithHelpers(4);
  ASSERT_NE(with.Find("eager_ops"), nullptr) << with.Ids();
  EXPECT_GOLDEN_TEXT(with.TextOfFinding("eager_ops"));
  const FindingCase few = WithHelpers(2);
  EXPECT_EQ(few.Find("eager_ops"), nullptr) << few.Ids();
  // The same four programs before the first step.
  FindingCase before(Module());
  const model::Id helper = before.AddHelper();
  int64_t at = 0;
  for (int k = 0; k < 32; ++k) at = before.RunHelper(at + 30, helper, 20);
  for (int step = 0; step < 8; ++step) at = before.Step(at, {{"a", 500}, {"b", 500}});
  before.Run();
  EXPECT_EQ(before.Find("eager_ops"), nullptr) << before.Ids();
}

// Eight steps, each a loop of `iterations`: a kernel of 10 us, 5 us idle, a copy of 1 us, 20 us
// idle. In each iteration the host reads `bytes` back before it continues. `opcode`: opcode of the
// instruction that copies, if known.
FindingCase WithLoop(int iterations, int64_t bytes, const std::string& opcode = "") {
  FindingCase made(Module());
  if (!opcode.empty()) made.b.attribution.instructions[1].opcode = opcode;
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    const auto execution = made.b.AddExecution(1, 1, at * 1000, 0);
    const auto add = [&](model::Id instruction, int64_t us) {
      made.b.AddActivity(1, at * 1000, (at + us) * 1000,
                         {.instruction = instruction, .execution = execution});
      at += us;
    };
    for (int k = 0; k < iterations; ++k) {
      add(2, 10);
      at += 5;
      const size_t copy = made.b.AddActivity(1, at * 1000, (at + 1) * 1000,
                                             {.instruction = opcode.empty() ? 0 : 2,
                                              .execution = execution,
                                              .kind = model::ActivityKind::kMemcpy,
                                              .reason = model::Reason::kTransfer,
                                              .copy = model::CopyKind::kDeviceToHost});
      made.b.run.activities.bytes[copy] = bytes;
      at += 21;
    }
    add(4, 100);
    made.b.attribution.executions.back().end_ns = at * 1000;
  }
  made.Run();
  return made;
}

TEST(HostRules, LoopWithConditionReadByTheHostIsAFinding) {
  const FindingCase with = WithLoop(20, 1);
  ASSERT_NE(with.Find("while_overhead"), nullptr) << with.Ids();
  EXPECT_THAT(with.Find("while_overhead")->sentence, HasSubstr("20 times"));
  // 20 times 5 + 20 us; in this run nothing follows anything sooner than after 5 us.
  EXPECT_EQ(with.Find("while_overhead")->saves_high_ns_per_step, 20 * 15'000);
  const FindingCase data = WithLoop(20, 1 << 20);
  EXPECT_EQ(data.Find("while_overhead"), nullptr) << data.Ids();
  // First the opcode is unknown, then it is a loop, then a branch.
  EXPECT_NE(with.Find("while_overhead")->confidence, "high");
  const FindingCase loop = WithLoop(20, 1, "while");
  ASSERT_NE(loop.Find("while_overhead"), nullptr) << loop.Ids();
  EXPECT_EQ(loop.Find("while_overhead")->confidence, "high");
  const FindingCase branch = WithLoop(20, 1, "conditional");
  EXPECT_EQ(branch.Find("while_overhead"), nullptr) << branch.Ids();
  const FindingCase few = WithLoop(5, 1);
  EXPECT_EQ(few.Find("while_overhead"), nullptr) << few.Ids();
}

TEST(HostRules, CpuIdleTimeIsAHostGapOnlyBetweenPrograms) {
  FindingCase with(Module());
  with.RunOnCpu();
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) at = with.Step(at, {{"a", 500}, {"b", 500}}) + 400;
  with.Run();
  ASSERT_NE(with.Find("host_gap"), nullptr) << with.Ids();
  EXPECT_EQ(with.Find("host_gap")->confidence, "medium");
  // The script may take cores from ops that run in parallel with it. If their times vary by a
  // third, one more line of evidence has the time by which they exceed their shortest, without a
  // saving.
  const auto beside = [](int64_t shortest_us, int64_t usual_us) {
    FindingCase made(Module());
    made.RunOnCpu();
    int64_t now = 0;
    for (int step = 0; step < 40; ++step) {
      now = made.Step(now, {{"a", step == 3 ? shortest_us : usual_us}, {"b", 500}}) + 400;
    }
    made.Run();
    const model::FindingRow& finding = *made.Find("host_gap");
    EXPECT_NEAR(static_cast<double>(finding.saves_high_ns_per_step.value_or(0)), 400'000, 60'000);
    return TextOf(finding);
  };
  EXPECT_GOLDEN_TEXT(beside(500, 600));
  EXPECT_GOLDEN_TEXT(beside(200, 1'000));
  // A twentieth of the step may be a thread that woke late.
  FindingCase little(Module());
  little.RunOnCpu();
  at = 0;
  for (int step = 0; step < 20; ++step) at = little.Step(at, {{"a", 500}, {"b", 500}}) + 50;
  little.Run();
  ASSERT_NE(little.Find("host_gap"), nullptr) << little.Ids();
  EXPECT_EQ(little.Find("host_gap")->confidence, "low");
  FindingCase inside(Module());
  inside.RunOnCpu();
  inside.Steps(8, {{"a", 500}, {"~", 400}, {"b", 500}});
  EXPECT_EQ(inside.Find("host_gap"), nullptr) << inside.Ids();
  ASSERT_NE(inside.FindRuledOut("idle"), nullptr);
  EXPECT_TRUE(inside.FindRuledOut("idle")->withheld);
}

TEST(HostRules, CpuHostGapExcludesCompilation) {
  // Two runs of the program, too few for steps, with 400 us between them.
  const auto make = [](bool compiles) {
    FindingCase made(Module());
    made.RunOnCpu();
    const int64_t end = made.Step(0, {{"a", 500}, {"b", 500}});
    if (compiles) {
      made.options.compiles.push_back({1, end * 1000, (end + 400) * 1000});
      made.b.run.compiles.push_back({1, end * 1000, (end + 400) * 1000});
    }
    made.Step(end + 400, {{"a", 500}, {"b", 500}});
    made.Run();
    return made;
  };
  const FindingCase without = make(false);
  ASSERT_NE(without.Find("host_gap"), nullptr) << without.Ids();
  EXPECT_EQ(without.Find("host_gap")->saves_high_ns_per_run, 400'000);
  const FindingCase with = make(true);
  EXPECT_EQ(with.Find("host_gap"), nullptr) << with.Ids();
}

TEST(HostRules, CpuHostGapExcludesTimeBeforeTheFirstCall) {
  FindingCase made(Module());
  const model::Id helper = made.AddHelper();
  made.RunOnCpu();
  // Data is made and placed by a small program; then 5 ms until the first call, and 300 us between
  // the calls.
  int64_t at = made.RunHelper(0, helper, 10) + 5000;
  at = made.Step(at, {{"a", 500}, {"b", 500}}) + 300;
  made.Step(at, {{"a", 500}, {"b", 500}});
  made.Run();
  ASSERT_NE(made.Find("host_gap"), nullptr) << made.Ids();
  EXPECT_EQ(made.Find("host_gap")->saves_high_ns_per_run, 300'000);
}

// The call returns at once, and the runtime allocates memory: a shorter script would not help.
TEST(HostRules, CpuCallDividesScriptTimeFromRuntimeTime) {
  const auto make = [](int64_t before_us, int64_t after_us) {
    FindingCase made(Module());
    made.RunOnCpu();
    std::vector<model::HostEvent> events;
    int64_t at = 10'000;
    for (int step = 0; step < 8; ++step) {
      const int64_t called = at + before_us;
      events.push_back(
          {1, 7, "PjitFunction(step)", called * 1000, (called + 100) * 1000, step + 1});
      at = made.Step(called + 100 + after_us, {{"a", 2000}, {"b", 2000}});
    }
    made.options.host_events = [=](const Intervals&) { return events; };
    made.Run();
    return made;
  };
  const FindingCase runtimes = make(100, 1'800);
  ASSERT_NE(runtimes.Find("host_gap"), nullptr) << runtimes.Ids();
  EXPECT_THAT(EvidenceFigures(runtimes.Find("host_gap")->evidence_json),
              testing::Contains("1800000 ns"));
  EXPECT_GOLDEN_TEXT(runtimes.TextOfFinding("host_gap"));
  EXPECT_EQ(runtimes.Find("host_gap")->confidence, "low");
  const FindingCase scripts = make(1'800, 100);
  ASSERT_NE(scripts.Find("host_gap"), nullptr) << scripts.Ids();
  EXPECT_GOLDEN_TEXT(scripts.TextOfFinding("host_gap"));
}

TEST(HostRules, OnACpuScriptTimeIsDistinguishedFromDispatch) {
  // Eight steps of 4 ms with 2 ms between them; the call itself takes `call_us` of these. With
  // `staged`, a small program runs right before each.
  const auto make = [](int64_t call_us, bool staged = false) {
    FindingCase made(Module());
    made.RunOnCpu();
    const model::Id helper = staged ? made.AddHelper() : 0;
    std::vector<model::HostEvent> events;
    int64_t at = 10'000;
    for (int step = 0; step < 8; ++step) {
      if (staged) {
        events.push_back({1, 7, "PjitFunction(stage)", (at - 100) * 1000, at * 1000, step + 100});
        at = made.RunHelper(at, helper, 10) + 10;
      }
      events.push_back({1, 7, "PjitFunction(step)", (at - call_us) * 1000, at * 1000, step + 1});
      at = made.Step(at, {{"a", 2000}, {"b", 2000}}) + 2000;
    }
    made.options.host_events = [events](const Intervals&) { return events; };
    made.Run();
    return made;
  };
  const FindingCase outside = make(100);
  ASSERT_NE(outside.Find("host_gap"), nullptr) << outside.Ids();
  EXPECT_GOLDEN_TEXT(outside.TextOfFinding("host_gap"));
  EXPECT_THAT(outside.Find("host_gap")->evidence_json, HasSubstr("\"value\":95.0"));
  // The time of the script is not part of the dispatch of the first program that it calls next.
  const FindingCase staged = make(5, true);
  ASSERT_NE(staged.Find("host_gap"), nullptr) << staged.Ids();
  EXPECT_GOLDEN_TEXT(staged.TextOfFinding("host_gap"));
  const FindingCase dispatch = make(1500);
  ASSERT_NE(dispatch.Find("host_gap"), nullptr) << dispatch.Ids();
  EXPECT_GOLDEN_TEXT(dispatch.TextOfFinding("host_gap"));
}

// Steps of 4 ms, with `pause_us` before each step that `pauses` selects. A step lasts until the
// start of the next one, so the pause after step k is idle time of step k, counted from 1.
const char* const kTrains = R"(HloModule jit_step
ENTRY e {
  x = f32[256,256] parameter(0)
  a = f32[256,256] add(x, x), metadata={op_name="jit(step)/jvp(net)/add"}
  ROOT b = f32[256,256] multiply(a, x), metadata={op_name="jit(step)/transpose(jvp(net))/mul"}
}
)";

FindingCase WithPauses(int steps, int64_t pause_us, const std::function<bool(int)>& pauses,
                       bool on_cpu = false) {
  FindingCase made(kTrains);
  if (on_cpu) made.RunOnCpu();
  int64_t at = 10'000;
  for (int step = 0; step < steps; ++step) {
    at = made.Step(at, {{"a", 2000}, {"b", 2000}}) + 2;
    if (pauses(step + 1)) at += pause_us;
  }
  made.Run();
  return made;
}

TEST(HostRules, IdleTimeInFewStepsIsReportedAsPauses) {
  const auto every_seventh = [](int step) { return step % 7 == 5; };
  for (const bool on_cpu : {false, true}) {
    const FindingCase with = WithPauses(30, 20'000, every_seventh, on_cpu);
    const model::FindingRow* pauses = with.Find("pauses");
    ASSERT_NE(pauses, nullptr) << with.Ids();
    // Steps count from 1. The last one ends with its work.
    EXPECT_THAT(pauses->evidence_json, HasSubstr("(5, 12, 19, 26)"));
    EXPECT_GOLDEN_TEXT(TextOf(*pauses));
    EXPECT_EQ(pauses->saves_high_ns_per_step, 4 * 20'002'000 / 30);
    EXPECT_EQ(pauses->basis, "measured");  // The median step has no pause to replay.
    for (const std::string_view other : {"host_gap", "idle", "step_jitter", "long_stall"}) {
      EXPECT_EQ(with.Find(std::string(other)), nullptr) << with.Ids();
    }
  }
}

TEST(HostRules, OnACpuIrregularPausesHaveLowConfidence) {
  const auto at_odds = [](int step) { return step == 5 || step == 9 || step == 20; };
  const auto regular = [](int step) { return step % 7 == 5; };
  const auto sure = [&](const auto& pauses, bool on_cpu) {
    const FindingCase made = WithPauses(30, 20'000, pauses, on_cpu);
    return made.Find("pauses") == nullptr ? made.Ids() : made.Find("pauses")->confidence;
  };
  EXPECT_EQ(sure(at_odds, true), "low");
  EXPECT_EQ(sure(at_odds, false), "medium");
  EXPECT_EQ(sure(regular, true), "medium");
}

TEST(HostRules, OnePauseAndIrregularPausesHaveNoPeriod) {
  const FindingCase one = WithPauses(21, 20'000, [](int step) { return step == 9; });
  ASSERT_NE(one.Find("pauses"), nullptr) << one.Ids();
  EXPECT_GOLDEN_TEXT(one.TextOfFinding("pauses"));
  const FindingCase some =
      WithPauses(21, 20'000, [](int step) { return step == 3 || step == 4 || step == 15; });
  ASSERT_NE(some.Find("pauses"), nullptr) << some.Ids();
  EXPECT_GOLDEN_TEXT(some.TextOfFinding("pauses"));
}

TEST(HostRules, FrequentOrSlightlyLongerIdleTimeIsNotAPause) {
  const auto every_other = [](int step) { return step % 2 == 0; };
  EXPECT_EQ(WithPauses(30, 20'000, every_other).Find("pauses"), nullptr);
  EXPECT_EQ(WithPauses(30, 350, [](int step) { return step % 7 == 5; }).Find("pauses"), nullptr);
  // The others wait half as long.
  FindingCase made(kTrains);
  int64_t at = 10'000;
  for (int step = 0; step < 30; ++step) {
    at = made.Step(at, {{"a", 2000}, {"b", 2000}}) + (step % 7 == 5 ? 2'000 : 1'000);
  }
  made.Run();
  EXPECT_EQ(made.Find("pauses"), nullptr) << made.Ids();
}

}  // namespace
}  // namespace xlatrace::analysis
