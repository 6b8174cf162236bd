// SPDX-License-Identifier: Apache-2.0
#include "importers/common/same_process_sink.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/importers/memory_sink.h"

namespace xlatrace::importers {
namespace {

// A session's definitions as an importer pours them; the ids it was given.
struct Session {
  model::Id process, cpu, gpu, module, other_module;
};

Session Pour(model::EventSink& sink) {
  Session ids{};
  model::Process process;
  process.host = "node";
  process.pid = 7;
  ids.process = sink.AddProcess(process);
  model::Device device;
  device.process_id = ids.process;
  device.kind = model::DeviceKind::kCpu;
  ids.cpu = sink.AddDevice(device);
  device.kind = model::DeviceKind::kGpu;
  ids.gpu = sink.AddDevice(device);
  model::ModuleBlob module;
  module.process_id = ids.process;
  module.name = "jit_step";
  module.program_id = 3;
  module.bytes = "one";
  ids.module = sink.AddModule(module);
  module.bytes = "two";  // Compiled again under the same number.
  ids.other_module = sink.AddModule(module);
  return ids;
}

TEST(SameProcessSink, SessionsOfAProcessShareItsDefinitions) {
  MemorySink memory;
  SameProcessSink sink(memory);
  const Session first = Pour(sink);
  const Session second = Pour(sink);
  EXPECT_EQ(memory.processes.size(), 1u);
  EXPECT_EQ(memory.devices.size(), 2u);
  EXPECT_EQ(memory.modules.size(), 2u);
  EXPECT_EQ(second.process, first.process);
  EXPECT_EQ(second.cpu, first.cpu);
  EXPECT_EQ(second.gpu, first.gpu);
  EXPECT_EQ(second.module, first.module);
  EXPECT_EQ(second.other_module, first.other_module);
  EXPECT_NE(first.cpu, first.gpu);
  EXPECT_NE(first.module, first.other_module);
}

// The profiler writes its profile from 40 to 100 ns; work that was still running ended at 45 ns.
TEST(SameProcessSink, WindowEndsAtTheRequestToStop) {
  MemorySink memory;
  SameProcessSink sink(memory);
  sink.SetStart(1'000);
  const Session ids = Pour(sink);
  for (const int64_t end_ns : {30, 45}) {
    sink.AddWindow({ids.process, 0, 100, model::WindowEnd::kEnd});
    model::Activity activity;
    activity.start_ns = 10;
    activity.end_ns = end_ns;
    sink.AddActivity(activity);
    sink.StopSession(1'040);
    sink.NextSession();
  }
  ASSERT_EQ(memory.windows.size(), 2u);
  EXPECT_EQ(memory.windows[0].end_ns, 40);
  EXPECT_EQ(memory.windows[1].end_ns, 45);
}

// Profilers number runs anew: run 1 of the second session is not run 1 of the first.
TEST(SameProcessSink, RunsOfTwoSessionsAreNotMerged) {
  MemorySink memory;
  SameProcessSink sink(memory);
  Pour(sink);
  model::Activity activity;
  activity.run_key = (int64_t{1} << 32) + 1;
  sink.AddActivity(activity);
  sink.AddActivity(activity);
  sink.NextSession();
  Pour(sink);
  sink.AddActivity(activity);
  ASSERT_EQ(memory.activities.size(), 3u);
  EXPECT_EQ(memory.activities[0].run_key, memory.activities[1].run_key);
  EXPECT_NE(memory.activities[0].run_key, memory.activities[2].run_key);
}

// A recording may end milliseconds after its last part began.
TEST(SameProcessSink, EmptySessionIsNoLossIfAnotherHasActivity) {
  for (const bool any : {true, false}) {
    MemorySink memory;
    SameProcessSink sink(memory);
    Pour(sink);
    if (any) sink.AddActivity(model::Activity());
    sink.NextSession();
    Pour(sink);
    sink.AddRunStat({.name = "no_device_activity", .value = 1});
    EXPECT_EQ(memory.Stat("no_device_activity"), 0);
    sink.FinishSessions();
    EXPECT_EQ(memory.Stat("no_device_activity"), any ? 0 : 1);
  }
}

// The reason why a session ended decides the advice.
TEST(SameProcessSink, AdviceOnMissingRunsFollowsTheEndOfTheSession) {
  for (const bool full : {true, false}) {
    MemorySink memory;
    SameProcessSink sink(memory);
    const Session ids = Pour(sink);
    for (const int64_t run : {1, 2, 3}) sink.OnRun(ids.cpu, 3, run);
    sink.NextSession(model::WindowEnd::kLimit, full);
    Pour(sink);
    for (const int64_t run : {7, 8, 9}) sink.OnRun(ids.cpu, 3, run);  // Three ran between.
    sink.FinishSessions();
    EXPECT_EQ(memory.Stat("executions_between_parts"), 3);
    const std::string& advice = memory.stats["executions_between_parts"].advice;
    EXPECT_EQ(advice.find("XLATRACE_HOOK_MEMORY_MB") != advice.npos, full) << advice;
    EXPECT_EQ(advice.find("--duration") != advice.npos, !full) << advice;
  }
}

}  // namespace
}  // namespace xlatrace::importers
