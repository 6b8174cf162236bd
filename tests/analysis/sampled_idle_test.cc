// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/sampled_idle.h"

#include <cstdint>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/user_code.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::Id;
using model::ThreadState;
using model::TreeKind;
using testing::ElementsAre;
using testing::Pair;

constexpr int64_t kMsNs = 1'000'000;
constexpr char kJax[] = "/usr/lib/python3.11/site-packages/jax/_src/array.py";

// Samples by hand, and what a device that waits for them sees.
struct SampledRun {
  model::RunTables run;

  Id Frame(const std::string& function, const std::string& file, int64_t line) {
    run.host_samples.frames.push_back({function, file, line});
    return static_cast<Id>(run.host_samples.frames.size());
  }
  Id Stack(Id parent, Id frame) {
    run.host_samples.stacks.push_back({parent, frame});
    return static_cast<Id>(run.host_samples.stacks.size());
  }
  // The times of a thread come in order, and threads by number.
  void Sample(int64_t thread, int64_t time_ms, Id stack, ThreadState state, int64_t last_ms = -1,
              int64_t gil_wait_ns = 0) {
    auto& samples = run.host_samples.samples;
    if (!samples.empty() && samples.back().thread_id == thread) {
      samples.back().until_ns = time_ms * kMsNs;
    }
    const int64_t last_ns = (last_ms < 0 ? time_ms : last_ms) * kMsNs;
    samples.push_back({1, thread, time_ms * kMsNs, last_ns, (time_ms + 1) * kMsNs, stack, state,
                       kMsNs, gil_wait_ns});
  }

  // Milliseconds by "kind:function:inner" of the states (start and end in ms) of thread 7.
  // `cpu_idle`: idle time of a CPU device.
  std::map<std::string, int64_t> Divide(const std::vector<std::pair<int64_t, int64_t>>& states,
                                        TreeKind kind = TreeKind::kHost,
                                        const Intervals& cpu_idle = {}) {
    MarkUserFrames(model::UserCode(), run.host_samples);
    std::map<std::string, int64_t> parts;
    const WorkerDelay workers(run.host_samples, {{1, cpu_idle}});
    SampledIdle idle(run, workers,
                     [&](const SampledIdle::Place&, const HostState& state, Id, int64_t ns) {
                       std::string name(Text(state.kind));
                       name.append(":").append(state.user).append(":").append(state.inner);
                       parts[name] += ns;
                     });
    for (const auto& [start_ms, end_ms] : states) {
      EXPECT_TRUE(idle.Add({}, 1, 7, {start_ms * kMsNs, end_ms * kMsNs, kind}));
    }
    idle.Finish();
    for (auto& [name, ns] : parts) ns /= kMsNs;
    return parts;
  }
};

// `train` calls `load` and waits for the device in line 20.
struct Loop : SampledRun {
  Id train = Stack(0, Frame("train", "/job/train.py", 10));
  Id load = Stack(train, Frame("load", "/job/train.py", 31));
  Id waits = Stack(Stack(0, Frame("train", "/job/train.py", 20)),
                   Frame("ArrayImpl.block_until_ready", kJax, 600));
};

TEST(SampledIdle, EnvironmentWithTheNameOfAFrameworkIsNoFramework) {
  Loop loop;
  const Id numpy = loop.Stack(
      loop.load, loop.Frame("NpzFile.__getitem__",
                            "/job/.venv/jax/lib/python3.11/site-packages/numpy/lib/npyio.py", 9));
  const Id jax = loop.Stack(loop.train,
                            loop.Frame("asarray",
                                       "/job/.venv/jax/lib/python3.11/site-packages/jax/_src/numpy/"
                                       "array_creation.py",
                                       9));
  loop.Sample(7, 0, numpy, ThreadState::kNative);
  loop.Sample(7, 10, jax, ThreadState::kNative);
  loop.Sample(7, 15, loop.waits, ThreadState::kLock);
  EXPECT_THAT(loop.Divide({{0, 15}}), ElementsAre(Pair("dispatch:train.py(10): train:asarray", 5),
                                                  Pair("host:train.py(31): load:", 10)));
}

TEST(SampledIdle, SampleStandsForTheTimeToTheNextOne) {
  Loop loop;
  loop.Sample(7, 0, loop.train, ThreadState::kPython);
  loop.Sample(7, 10, loop.load, ThreadState::kPython);
  loop.Sample(7, 25, loop.waits, ThreadState::kLock);
  EXPECT_THAT(
      loop.Divide({{0, 30}}),
      ElementsAre(Pair("host:train.py(10): train:", 10), Pair("host:train.py(31): load:", 15),
                  Pair("sync:train.py(10): train:ArrayImpl.block_until_ready", 5)));
}

TEST(SampledIdle, StateOfABlockedThreadIsItsKind) {
  Loop loop;
  loop.Sample(7, 0, loop.load, ThreadState::kSleep, 40);
  loop.Sample(7, 50, loop.load, ThreadState::kFile, 90);
  loop.Sample(7, 100, loop.load, ThreadState::kLock);
  // The device waits from 5 on; the thread slept there before.
  EXPECT_THAT(loop.Divide({{5, 35}, {60, 80}, {100, 101}}),
              ElementsAre(Pair("io:train.py(31): load:", 20), Pair("lock:train.py(31): load:", 1),
                          Pair("sleep:train.py(31): load:", 30)));
}

TEST(SampledIdle, ShortGapsAreDividedAsTheSamplesInSuchGaps) {
  Loop loop;
  // Gaps of 1 ms from 0, 10, 20... The samples at 5, 15 see the thread wait while the device works.
  for (int64_t ms = 0; ms < 80; ms += 20) {
    loop.Sample(7, ms, ms < 60 ? loop.load : loop.train, ThreadState::kPython);
    loop.Sample(7, ms + 5, loop.waits, ThreadState::kLock, ms + 18);
  }
  std::vector<std::pair<int64_t, int64_t>> gaps;
  for (int64_t ms = 0; ms < 80; ms += 20) {
    gaps.push_back({ms, ms + 1});
    gaps.push_back({ms + 19, ms + 20});  // Without a sample.
  }
  // Three of four samples in gaps are of `load`, so three of four ms without samples are, too.
  EXPECT_THAT(loop.Divide(gaps), ElementsAre(Pair("host:train.py(20): train:", 2),
                                             Pair("host:train.py(31): load:", 6)));
}

TEST(SampledIdle, WaitingForACpuIsContentionWithoutAFunction) {
  Loop loop;
  loop.Sample(7, 0, loop.load, ThreadState::kPython);
  loop.Sample(7, 50, loop.load, ThreadState::kSleep, 90);
  // In this second the thread could run for 400 ms, and had no CPU for 100 ms of these.
  loop.run.host_samples.thread_use.push_back(
      {1, 7, 0, 1000 * kMsNs, 300 * kMsNs, 100 * kMsNs, 0, 0, 0, 0});
  EXPECT_THAT(loop.Divide({{0, 40}, {60, 80}}),
              ElementsAre(Pair("contention::", 10), Pair("host:train.py(31): load:", 30),
                          Pair("sleep:train.py(31): load:", 20)));
}

TEST(SampledIdle, WaitForACpuDeviceWithoutACpuIsContention) {
  Loop loop;
  loop.Sample(7, 0, loop.waits, ThreadState::kLock, 900);
  // Thread 8 runs the ops. In this second it could not run for 300 ms.
  loop.run.host_samples.thread_use.push_back(
      {1, 8, 0, 1'000 * kMsNs, 100 * kMsNs, 300 * kMsNs, 0, 0, 0, 0});
  auto& machine = loop.run.host_samples.machine_use;
  machine.push_back({1, 0, 1'000 * kMsNs, 1'400 * kMsNs, 100 * kMsNs, 2});
  const Intervals idle = {{0, 400 * kMsNs}};
  const std::string wait = "sync:train.py(20): train:ArrayImpl.block_until_ready";
  EXPECT_THAT(loop.Divide({{0, 400}}, TreeKind::kHost, idle),
              ElementsAre(Pair("contention::", 300), Pair(wait, 100)));
  // The device is not a CPU.
  EXPECT_THAT(loop.Divide({{0, 400}}), ElementsAre(Pair(wait, 400)));
  // Other programs used at most 50 ms, so the process delays itself.
  machine[0].busy_ns = 150 * kMsNs;
  EXPECT_THAT(loop.Divide({{0, 400}}, TreeKind::kHost, idle),
              ElementsAre(Pair("contention::", 50), Pair(wait, 350)));
}

TEST(SampledIdle, CollectionsBelongToTheFunctionThatCausedThem) {
  Loop loop;
  loop.Sample(7, 0, loop.train, ThreadState::kPython);
  loop.Sample(7, 22, loop.load, ThreadState::kPython);
  loop.run.host_samples.collections.push_back({1, 20 * kMsNs, 26 * kMsNs, 2});
  EXPECT_THAT(loop.Divide({{10, 30}}),
              ElementsAre(Pair("gc:train.py(31): load:", 6), Pair("host:train.py(10): train:", 10),
                          Pair("host:train.py(31): load:", 4)));
}

TEST(SampledIdle, GilHolderIsNamedInsteadOfTheWaitingThread) {
  Loop loop;
  const Id spins = loop.Stack(0, loop.Frame("refresh", "/job/train.py", 50));
  loop.Sample(7, 0, loop.load, ThreadState::kLock, -1, 5 * kMsNs);
  loop.Sample(8, 0, spins, ThreadState::kNative);
  EXPECT_THAT(loop.Divide({{0, 9}}),
              ElementsAre(Pair("lock:train.py(50): refresh:the interpreter lock (GIL)", 9)));
}

TEST(SampledIdle, ThreadWithItsResultWaitsForTheGilHolder) {
  Loop loop;
  const Id spins = loop.Stack(0, loop.Frame("refresh", "/job/train.py", 50));
  loop.Sample(7, 0, loop.waits, ThreadState::kLock, -1, 5 * kMsNs);
  loop.Sample(8, 0, spins, ThreadState::kPython);
  EXPECT_THAT(loop.Divide({{0, 9}}, TreeKind::kSync),
              ElementsAre(Pair("lock:train.py(50): refresh:the interpreter lock (GIL)", 9)));
}

TEST(SampledIdle, RangeOfAFrameworkStaysDispatchAndGetsTheFunction) {
  Loop loop;
  loop.Sample(7, 0, loop.train, ThreadState::kPython);
  EXPECT_THAT(loop.Divide({{0, 5}}, TreeKind::kDispatch),
              ElementsAre(Pair("dispatch:train.py(10): train:", 5)));
}

TEST(SampledIdle, OtherThreadsAreLeftToTheCaller) {
  Loop loop;
  loop.Sample(7, 0, loop.train, ThreadState::kPython);
  MarkUserFrames(model::UserCode(), loop.run.host_samples);
  SampledIdle idle(loop.run, WorkerDelay(),
                   [](const SampledIdle::Place&, const HostState&, Id, int64_t) { FAIL(); });
  EXPECT_FALSE(idle.Add({}, 1, 8, {0, 5}));
}

}  // namespace
}  // namespace xlatrace::analysis::time_tree
