// SPDX-License-Identifier: Apache-2.0

// JSON traces: the result of each kind of event, exact times, truncation at every byte, damage.

#include "importers/chrome/chrome_trace.h"

#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/compress.h"
#include "importers/chrome/chrome_event.h"
#include "importers/chrome/trace_splitter.h"
#include "importers/importer.h"
#include "tests/golden_text/golden_text.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/trace_json.h"

namespace xlatrace::importers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MemorySink ImportText(std::string_view text) {
  const MemoryFile file(text);
  MemorySink sink;
  const Status status = ImportChromeTrace(file.path(), sink);
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return sink;
}

// The number of a MemoryFile differs between runs.
std::string WithoutPaths(const std::string& text) {
  return std::regex_replace(text, std::regex("/proc/self/fd/[0-9]+"), "trace.json");
}

std::pair<int64_t, int> Micros(std::string_view text) {
  const auto moment = ParseMicroseconds(text);
  return moment ? std::pair(moment->ns, static_cast<int>(moment->ps)) : std::pair(int64_t{-999}, 0);
}

TEST(ParseMicroseconds, EveryDigitIsKept) {
  EXPECT_EQ(Micros("1365627862757.064"), std::pair(int64_t{1365627862757064}, 0));
  EXPECT_EQ(Micros("1695835542514261"), std::pair(int64_t{1695835542514261000}, 0));
  EXPECT_EQ(Micros("9223372036854775.807"), std::pair(INT64_MAX, 0));
  EXPECT_EQ(Micros("0.001"), std::pair(int64_t{1}, 0));
  EXPECT_EQ(Micros("68.0"), std::pair(int64_t{68000}, 0));
  EXPECT_EQ(Micros("0"), std::pair(int64_t{0}, 0));
  EXPECT_EQ(Micros("0.000"), std::pair(int64_t{0}, 0));
}

TEST(ParseMicroseconds, RoundsDoublesToPicoseconds) {
  EXPECT_EQ(Micros("667.06399999999996"), std::pair(int64_t{667064}, 0));
  EXPECT_EQ(Micros("26.690000000000001"), std::pair(int64_t{26690}, 0));
  EXPECT_EQ(Micros("1.2345674"), std::pair(int64_t{1234}, 567));
  EXPECT_EQ(Micros("1.9999999"), std::pair(int64_t{2000}, 0));
}

TEST(ParseMicroseconds, ReadsExponentsAndSigns) {
  EXPECT_EQ(Micros("1.695e15"), std::pair(int64_t{1695000000000000000}, 0));
  EXPECT_EQ(Micros("5e-3"), std::pair(int64_t{5}, 0));
  EXPECT_EQ(Micros("1E+2"), std::pair(int64_t{100000}, 0));
  EXPECT_EQ(Micros("-1.5"), std::pair(int64_t{-1500}, 0));
  EXPECT_EQ(Micros("-0.0005"), std::pair(int64_t{-1}, 500));  // Floor, and what is above it.
}

TEST(ParseMicroseconds, TextThatIsNoTimeIsRejected) {
  for (const char* text : {"", "abc", "1.2.3", "1e", "1e99", "99999999999999999999", "-",
                           "Infinity", "NaN", "0x10", "1 2"}) {
    EXPECT_FALSE(ParseMicroseconds(text)) << text;
  }
}

TEST(Kineto, DeviceRowsKeepTheirFacts) {
  const MemorySink sink = ImportText(KinetoTrace());
  ASSERT_EQ(sink.activities.size(), 4u);
  const model::Activity& gemm = sink.activities[0];
  // The first kept event is at 1000 us: times count from there.
  EXPECT_EQ(sink.start_unix_ns(), 1751410836000000000 + 1000000);
  EXPECT_EQ(gemm.start_ns, 30064);
  EXPECT_EQ(gemm.end_ns, 33200);
  EXPECT_EQ(gemm.correlation_id, 41);
  const model::LaunchConfig& config = sink.Config(gemm);
  EXPECT_EQ(config.kind, model::ActivityKind::kKernel);
  EXPECT_EQ(config.symbol, "void gemm<float, (anonymous namespace)::T>(float*, \"x\")");
  EXPECT_EQ(config.name, "gemm");
  EXPECT_EQ(config.grid[0], 564);
  EXPECT_EQ(config.grid[1], 2);
  EXPECT_EQ(config.block[0], 128);
  EXPECT_EQ(config.registers_per_thread, 32);
  EXPECT_EQ(config.shared_memory_dynamic_bytes, 1024);
  EXPECT_FALSE(config.shared_memory_static_bytes);
  EXPECT_FALSE(config.theoretical_occupancy_milli_pct);
  EXPECT_EQ(sink.activities[1].graph_id, 5);
  EXPECT_EQ(sink.activities[1].graph_node_id, 21474836481);
  EXPECT_EQ(sink.activities[2].bytes, 4096);
  EXPECT_EQ(sink.activities[2].end_ns - sink.activities[2].start_ns, 2001);
  EXPECT_EQ(sink.Config(sink.activities[2]).copy_kind, model::CopyKind::kHostToDevice);
  EXPECT_EQ(sink.Config(sink.activities[3]).kind, model::ActivityKind::kMemset);
  ASSERT_EQ(sink.devices.size(), 1u);
  EXPECT_EQ(sink.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(sink.devices[0].compute_capability, "9.0");
  EXPECT_EQ(sink.devices[0].sm_count, 132);
  EXPECT_EQ(sink.lanes.size(), 2u);
}

// Every fact of two devices has a value of its own, and the list is not in the order of their
// numbers.
TEST(Kineto, DevicesHaveTheirOwnFacts) {
  const auto properties = [](int id, int unit) {
    return fmt::format(
        R"({{"id": {}, "name": "GPU {}", "totalGlobalMem": {}, "computeMajor": {}, "computeMinor": {},
        "maxThreadsPerBlock": {}, "maxThreadsPerMultiprocessor": {}, "regsPerBlock": {},
        "regsPerMultiprocessor": {}, "warpSize": {}, "sharedMemPerBlock": {},
        "sharedMemPerMultiprocessor": {}, "numSms": {}, "sharedMemPerBlockOptin": {}}})",
        id, id, unit + 1, unit + 2, unit + 3, unit + 4, unit + 5, unit + 6, unit + 7, unit + 8,
        unit + 9, unit + 10, unit + 11, unit + 12);
  };
  const auto kernel = [](int device) {
    return fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "k", "pid": {0}, "tid": 7,
        "ts": {1}, "dur": 1, "args": {{"device": {0}, "stream": 7, "correlation": {1}}}}})",
                       device, 1000 + device);
  };
  const MemorySink sink = ImportText(fmt::format(
      R"({{"schemaVersion": 1, "deviceProperties": [{}, {}], "traceEvents": [{}, {}, {}]}})",
      properties(1, 500), properties(0, 700), kernel(0), kernel(1), kernel(2)));
  ASSERT_EQ(sink.devices.size(), 3u);
  for (const int64_t device : {0, 1}) {
    SCOPED_TRACE(device);
    const model::Device& facts = sink.devices[static_cast<size_t>(device)];
    const int64_t unit = device == 1 ? 500 : 700;
    EXPECT_EQ(facts.ordinal, device);
    EXPECT_EQ(facts.name, fmt::format("GPU {}", device));
    EXPECT_EQ(facts.memory_bytes, unit + 1);
    EXPECT_EQ(facts.compute_capability, fmt::format("{}.{}", unit + 2, unit + 3));
    EXPECT_EQ(facts.max_threads_per_block, unit + 4);
    EXPECT_EQ(facts.max_threads_per_sm, unit + 5);
    EXPECT_EQ(facts.registers_per_block, unit + 6);
    EXPECT_EQ(facts.registers_per_sm, unit + 7);
    EXPECT_EQ(facts.warp_size, unit + 8);
    EXPECT_EQ(facts.shared_memory_per_block_bytes, unit + 9);
    EXPECT_EQ(facts.shared_memory_per_sm_bytes, unit + 10);
    EXPECT_EQ(facts.sm_count, unit + 11);
    EXPECT_EQ(facts.shared_memory_per_block_optin_bytes, unit + 12);
  }
  // The third device has no properties and gets none from others.
  EXPECT_EQ(sink.devices[2].ordinal, 2);
  EXPECT_EQ(sink.devices[2].name, "");
  EXPECT_EQ(sink.devices[2].sm_count, std::nullopt);
}

// The name of the second is a part of the first one's.
TEST(Kineto, EveryGpuIsNamedOnce) {
  const auto kernel = [](int device) {
    return fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "k", "pid": {0}, "tid": 7,
        "ts": {1}, "dur": 1, "args": {{"device": {0}, "stream": 7, "correlation": {1}}}}})",
                       device, 1000 + device);
  };
  const MemorySink sink = ImportText(fmt::format(
      R"({{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "NVIDIA L40S"}},
      {{"id": 1, "name": "NVIDIA L4"}}, {{"id": 2, "name": "NVIDIA L4"}}],
      "traceEvents": [{}, {}, {}]}})",
      kernel(0), kernel(1), kernel(2)));
  EXPECT_EQ(sink.info.at("gpu"), "NVIDIA L40S, NVIDIA L4");
}

TEST(Kineto, PropertiesOfADeviceAreNotUsedForAnother) {
  const auto import = [](const std::string& pids) {
    std::string events;
    for (const char pid : pids) {
      events += fmt::format(R"({0}{{"ph": "X", "cat": "kernel", "name": "k", "pid": {1}, "tid": 7,
          "ts": 5, "dur": 1, "args": {{"device": {1}, "stream": 7}}}})",
                            events.empty() ? "" : ",", pid);
    }
    return ImportText(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "numSms": 8}],
        "traceEvents": [)" +
                      events + "]}");
  };
  // ROCm numbers rows by agent: alone it is the one.
  EXPECT_EQ(import("2").devices.at(0).sm_count, 8);
  const MemorySink two = import("12");
  EXPECT_EQ(two.devices.at(0).sm_count, std::nullopt);
  EXPECT_EQ(two.devices.at(1).sm_count, std::nullopt);
}

// Launch, wait and ranges of two threads, all at times that shift by the trace's start.
TEST(Kineto, LongerRangeAtOneStartIsTheOuterOne) {
  const auto range = [](const char* name, int tid, int start, int duration) {
    return fmt::format(R"({{"ph": "X", "cat": "user_annotation", "name": "{}", "pid": 10,
        "tid": {}, "ts": {}, "dur": {}}},)",
                       name, tid, start, duration);
  };
  const MemorySink sink = ImportText(
      R"({"schemaVersion": 1, "traceEvents": [)" + range("inner", 1, 100, 5) +
      range("outer", 1, 100, 9) + range("behind", 1, 109, 3) + range("other thread", 2, 101, 2) +
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 120, "dur": 4,
          "args": {"device": 0, "stream": 7, "correlation": 3}},
         {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 1,
          "ts": 110, "dur": 2, "args": {"correlation": 3}}]})");
  std::map<std::string, int32_t> depth;
  for (const auto& row : sink.ranges) depth[std::string(row.text)] = row.depth;
  EXPECT_EQ(depth, (std::map<std::string, int32_t>{
                       {"outer", 0}, {"inner", 1}, {"behind", 0}, {"other thread", 0}}));
  ASSERT_EQ(sink.calls.size(), 1u);
  ASSERT_EQ(sink.activities.size(), 1u);
  // 10 us from the call's start to the kernel's, on one clock.
  EXPECT_EQ(sink.activities[0].start_ns - sink.calls[0].start_ns, 10'000);
  EXPECT_EQ(sink.calls[0].end_ns - sink.calls[0].start_ns, 2'000);
}

TEST(Kineto, HostRowsAreLinkedToLaunchesOrCounted) {
  const MemorySink sink = ImportText(KinetoTrace());
  ASSERT_EQ(sink.processes.size(), 1u);
  EXPECT_EQ(sink.processes[0].pid, 10);
  EXPECT_EQ(sink.processes[0].rank, 3);
  EXPECT_EQ(sink.info.at("rank_of_job"), "3 of 8");
  EXPECT_EQ(sink.processes[0].command, "python3");
  ASSERT_EQ(sink.calls.size(), 3u);  // Two launches and the wait.
  EXPECT_EQ(sink.calls[0].name, "cudaLaunchKernel");
  EXPECT_EQ(sink.calls[0].end_ns - sink.calls[0].start_ns, 5125);
  EXPECT_EQ(sink.activities[0].api_call_id, 1);
  EXPECT_EQ(sink.activities[1].api_call_id, 2);
  EXPECT_EQ(sink.activities[2].api_call_id, 0);
  EXPECT_EQ(sink.Stat("api_call_not_kept: cudaGetDevice"), 1);
  ASSERT_EQ(sink.ranges.size(), 3u);
  EXPECT_EQ(sink.ranges[0].text, "ProfilerStep#7");
  EXPECT_EQ(sink.ranges[0].domain, "");
  EXPECT_EQ(sink.ranges[1].text, "a.py(1): f");
  EXPECT_EQ(sink.ranges[1].domain, model::kPythonDomain);
  EXPECT_EQ(sink.ranges[1].depth, 0);
  EXPECT_EQ(sink.ranges[2].depth, 1);  // Among ranges; Python's calls nest by themselves.
  ASSERT_EQ(sink.steps.size(), 1u);
  EXPECT_EQ(sink.steps[0].number, 7);
  EXPECT_EQ(sink.steps[0].end_ns, 500500);
  EXPECT_EQ(sink.Stat("python_function_not_kept"), 0);
  EXPECT_EQ(sink.Stat("flow_not_kept"), 2);
  EXPECT_EQ(sink.Stat("synchronization_row"), 1);
  EXPECT_EQ(sink.Stat("projected_range_not_kept"), 1);
  EXPECT_EQ(sink.Stat("trace_truncated"), 0);
  EXPECT_EQ(sink.Stat("event_damaged"), 0);
}

// with_stack=True: functions outside of PyTorch that are not built-in show the position of the
// host.
TEST(Kineto, PythonFramesOfWorkingThreadsAreRanges) {
  std::string text = KinetoTrace();
  const auto frame = [](std::string_view name, int tid) {
    return fmt::format(R"({{"ph": "X", "cat": "python_function", "name": "{}", "pid": 10,
                           "tid": {}, "ts": 1010, "dur": 1, "args": {{"Python id": 2}}}},)",
                       name, tid);
  };
  std::string frames = frame("nn.Module: Linear_3", 11) + frame("train.py(7): main", 11) +
                       frame("torch/nn/modules/module.py(1501): _call_impl", 11) +
                       frame("<built-in function linear>", 11) +
                       frame("<string>(1): <module>", 11) + frame("tqdm/_monitor.py(60): run", 12);
  text.insert(text.find('{', text.find("\"traceEvents\"")), frames);
  const MemorySink sink = ImportText(text);
  std::vector<std::string> kept;
  for (const auto& range : sink.ranges) {
    if (range.domain == model::kPythonDomain) kept.push_back(range.text);
  }
  EXPECT_THAT(kept, testing::UnorderedElementsAre("a.py(1): f", "nn.Module: Linear_3",
                                                  "train.py(7): main"));
  // They come first in the file and begin before all else, and set no zero.
  EXPECT_EQ(sink.start_unix_ns(), ImportText(KinetoTrace()).start_unix_ns());
  EXPECT_EQ(sink.calls[0].start_ns, ImportText(KinetoTrace()).calls[0].start_ns);
  EXPECT_EQ(sink.Stat("python_function_not_kept"), 3);
  EXPECT_EQ(sink.Stat("python_frame_of_idle_thread"), 1);
}

// A data loader calls CUDA once; its number is the smaller one.
TEST(Kineto, ProcessWithMostCallsIsTheProcess) {
  std::string text = KinetoTrace();
  const std::string call = "\"name\": \"cudaGetDevice\", \"pid\": ";
  text.replace(text.find(call), call.size() + 2, call + "9");
  const MemorySink sink = ImportText(text);
  ASSERT_EQ(sink.processes.size(), 1u);
  EXPECT_EQ(sink.processes[0].pid, 10);
  EXPECT_EQ(sink.processes[0].command, "python3");
}

// 1030.0645 and 3.1365 us end at 1033201.0 ns, 1030.0644 and 3.1365 at 1033200.9.
TEST(Kineto, EndIsComputedInPicoseconds) {
  const std::string time = "\"ts\": 1030.064, \"dur\": 3.136,";
  for (const auto& [start, duration_ns] : {std::pair("1030.0645", 3137), {"1030.0644", 3136}}) {
    std::string text = KinetoTrace();
    text.replace(text.find(time), time.size(), fmt::format("\"ts\": {}, \"dur\": 3.1365,", start));
    const MemorySink sink = ImportText(text);
    ASSERT_EQ(sink.activities.size(), 4u);
    EXPECT_EQ(sink.activities[0].end_ns - sink.activities[0].start_ns, duration_ns);
  }
}

TEST(Kineto, ListFormIsRead) {
  std::string text = KinetoTrace();
  const size_t open = text.find("\"traceEvents\": [") + 15;
  const size_t close = text.rfind("\n],");
  const std::string list = text.substr(open, close - open);
  EXPECT_EQ(ImportText(list + "]").activities.size(), 4u);
  // The Trace Event Format lets writers leave the bracket out.
  const MemorySink sink = ImportText(list + "\n");
  EXPECT_EQ(sink.activities.size(), 4u);
  EXPECT_EQ(sink.Stat("trace_truncated"), 0);
}

TEST(Kineto, OnlyDamagedEventsAreLost) {
  std::string text = KinetoTrace();
  text.replace(text.find("\"dur\": 3.136"), 12, "\"dur\" 3.136,");
  MemorySink sink = ImportText(text);
  EXPECT_EQ(sink.activities.size(), 3u);
  EXPECT_EQ(sink.Stat("event_damaged"), 1);
  // Control characters and bytes that are no UTF-8 in names are writers' mistakes, not losses.
  text = KinetoTrace();
  text.replace(text.find("\"add\""), 5, "\"a\xff\n\"");
  sink = ImportText(text);
  EXPECT_EQ(sink.activities.size(), 4u);
  EXPECT_EQ(sink.Stat("event_damaged"), 0);
}

TEST(Kineto, ReplayedKernelsAreOneReasonForMissingTimes) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  for (int i = 0; i < 3; ++i) {
    text += std::string(i > 0 ? "," : "") + R"({"ph": "X", "cat": "cuda_profiler_range", )" +
            R"("name": "k", "pid": 0, "tid": 1, "ts": 5, "dur": 9, "args": {}})";
  }
  const MemorySink sink = ImportText(text + "]}");
  EXPECT_TRUE(sink.activities.empty());
  EXPECT_EQ(sink.Stat("replay_range_not_timed"), 3);
  EXPECT_EQ(sink.stats.at("replay_range_not_timed").severity, model::Severity::kNotice);
  EXPECT_EQ(sink.Stat("kernels_not_timed"), 1);
  EXPECT_EQ(sink.stats.at("kernels_not_timed").severity, model::Severity::kDataLoss);
  EXPECT_THAT(sink.stats.at("kernels_not_timed").advice, HasSubstr("CUPTI"));
  EXPECT_GOLDEN_TEXT(sink.stats.at("kernels_not_timed").advice);
  EXPECT_EQ(sink.Stat("no_device_activity"), 0);  // Its advice is what was done.
  // A copy beside them does not make up for the kernels; a kernel does.
  const auto device_row = [](const char* category) {
    return std::string(R"(, {"ph": "X", "cat": ")") + category +
           R"(", "name": "r", "pid": 0, "tid": 7, "ts": 8, "dur": 1,
              "args": {"device": 0, "stream": 7}}]})";
  };
  EXPECT_EQ(ImportText(text + device_row("gpu_memcpy")).Stat("kernels_not_timed"), 1);
  EXPECT_EQ(ImportText(text + device_row("kernel")).Stat("kernels_not_timed"), 0);
}

TEST(Kineto, KernelsWithoutCompleteEventsAreADataLoss) {
  const MemorySink sink = ImportText(R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "B", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 10, "args": {"stream": 7}},
    {"ph": "E", "name": "a", "pid": 0, "tid": 7, "ts": 12},
    {"cat": "gpu_memcpy", "name": "b", "pid": 0, "tid": 7, "ts": 20, "dur": 1, "args": {}},
    {"ph": "B", "cat": "cpu_op", "name": "c", "pid": 1, "tid": 1, "ts": 1},
    {"ph": "X", "cat": "kernel", "name": "d", "pid": 0, "tid": 7, "ts": 30, "dur": 2,
     "args": {"device": 0, "stream": 7}}]})");
  EXPECT_EQ(sink.activities.size(), 1u);
  EXPECT_EQ(sink.Stat("device_event_not_complete"), 2);
  EXPECT_EQ(sink.stats.at("device_event_not_complete").severity, model::Severity::kDataLoss);
}

TEST(Kineto, TruncatedTraceKeepsItsEvents) {
  const std::string text = KinetoTrace();
  const size_t cut = text.find("{\"ph\": \"X\", \"cat\": \"gpu_memcpy\"") + 60;
  const MemorySink sink = ImportText(std::string_view(text).substr(0, cut));
  EXPECT_EQ(sink.activities.size(), 2u);
  EXPECT_EQ(sink.Stat("trace_truncated"), 1);
}

TEST(Kineto, TextAfterTheDocumentIsADataLoss) {
  const std::string text = KinetoTrace();
  const MemorySink plain = ImportText(text + " \n\t\r\n");
  EXPECT_EQ(plain.Stat("text_behind_trace"), 0);
  const MemorySink two = ImportText(text + "\n" + text);
  EXPECT_EQ(two.activities.size(), plain.activities.size());
  EXPECT_EQ(two.Stat("text_behind_trace"), 1);
}

TEST(Kineto, ImpossibleTimesAreLeftOut) {
  std::string text = KinetoTrace();
  text.replace(text.find("\"dur\": 3.136"), 12, "\"dur\": -3.13");
  const MemorySink sink = ImportText(text);
  EXPECT_EQ(sink.activities.size(), 3u);
  EXPECT_EQ(sink.Stat("event_time_invalid"), 1);
}

TEST(Kineto, ASecondTraceIsPlacedByItsClock) {
  const MemoryFile file(KinetoTrace());
  MemorySink sink;
  sink.SetStart(1751410836000000000);  // A first source that began 1 ms earlier.
  ASSERT_TRUE(ImportChromeTrace(file.path(), sink));
  EXPECT_EQ(sink.activities[0].start_ns, 1030064);
  EXPECT_EQ(sink.steps[0].start_ns, 1000000);
  EXPECT_EQ(sink.calls[0].start_ns, 1002000);
}

TEST(XprofJson, RowsEqualThoseOfTheXSpace) {
  const MemorySink sink = ImportText(XprofTrace());
  ASSERT_EQ(sink.activities.size(), 3u);
  const model::Activity& kernel = sink.activities[0];
  EXPECT_EQ(kernel.end_ns - kernel.start_ns, 401);
  EXPECT_EQ(kernel.start_ns, 667064 - 20000);
  EXPECT_EQ(kernel.api_call_id, 1);
  const model::Hint hint = sink.HintOf(kernel);
  EXPECT_EQ(hint.instruction, "loop_fusion.3");
  EXPECT_EQ(hint.module_name, "jit_f");
  EXPECT_EQ(hint.program_id, 9);
  EXPECT_EQ(hint.op_name, "jit(f)/jvp(g)/mul");
  EXPECT_EQ(sink.Config(kernel).grid[0], 8);
  EXPECT_FALSE(sink.Config(kernel).registers_per_thread);
  EXPECT_EQ(sink.Stat("impossible_registers"), 1);
  EXPECT_EQ(sink.Config(sink.activities[1]).copy_kind, model::CopyKind::kDeviceToHost);
  EXPECT_EQ(sink.activities[1].bytes, 64);
  EXPECT_EQ(sink.Config(sink.activities[2]).kind, model::ActivityKind::kOp);
  EXPECT_EQ(sink.DeviceOf(sink.activities[2]).kind, model::DeviceKind::kCpu);
  EXPECT_EQ(sink.steps[0].number, 4);
  EXPECT_EQ(sink.Stat("derived_line"), 1);
  EXPECT_EQ(sink.info.at("source"), "xprof_json");
}

// A run of a program on two streams, and the next run. Copies may lack the program.
TEST(XprofJson, ARunOnTwoStreamsIsOneRun) {
  std::string trace = R"json({"displayTimeUnit": "ns", "traceEvents": [
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
    {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "Stream #1(Compute)"}},
    {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "Stream #2(Compute)"}}
    )json";
  const auto kernel = [&](int stream, int ts, int run, const std::string& says) {
    trace += fmt::format(R"(, {{"ph": "X", "pid": 1, "tid": {}, "ts": {}, "dur": 1, "name": "k",
      "args": {{"kernel_details": "regs:32 grid:8,1,1 block:256,1,1", "run_id": "{}"{}}}}})",
                         stream, ts, run, says);
  };
  const std::string program = R"(, "hlo_op": "a", "hlo_module": "jit_f", "program_id": "9")";
  kernel(1, 100, 5, program);
  kernel(2, 110, 5, program);
  kernel(2, 120, 5, "");
  kernel(1, 200, 6, program);
  const MemorySink sink = ImportText(trace + "]}");
  ASSERT_EQ(sink.activities.size(), 4u);
  EXPECT_NE(sink.activities[0].run_key, 0);
  EXPECT_EQ(sink.activities[0].run_key, sink.activities[1].run_key);
  EXPECT_EQ(sink.activities[0].run_key, sink.activities[2].run_key);
  EXPECT_NE(sink.activities[0].run_key, sink.activities[3].run_key);
}

// Two launches inside one thunk each, one between the thunks, and one whose own record names its
// instruction.
TEST(Kineto, XlaRangesAroundALaunchNameItsInstruction) {
  const auto event = [](const char* cat, const std::string& name, int ts, int dur, int tid,
                        const std::string& arguments) {
    return "{\"ph\":\"X\",\"cat\":\"" + std::string(cat) + "\",\"name\":\"" + name +
           "\",\"pid\":10,\"tid\":" + std::to_string(tid) + ",\"ts\":" + std::to_string(ts) +
           ",\"dur\":" + std::to_string(dur) + ",\"args\":{" + arguments + "}},\n";
  };
  std::string text = "{\"schemaVersion\":1,\"traceEvents\":[\n";
  text +=
      event("user_annotation", "XlaModule:#prefix=Net,hlo_module=SyncTensorsGraph.4,program_id=3#",
            100, 100, 7, "");
  text +=
      event("user_annotation", "Thunk:#name=fc1/aten__mm,hlo_op=custom-call.2#", 110, 10, 7, "");
  text += event("user_annotation", "Thunk:#hlo_op=copy.3#", 150, 10, 7, "");
  // Another thread's module at the same time.
  text += event("user_annotation", "XlaModule:#hlo_module=other,program_id=9#", 90, 200, 8, "");
  const int launched[] = {112, 130, 152, 154};
  for (int i = 0; i < 4; ++i) {
    const std::string id = "\"correlation\":" + std::to_string(i + 1);
    text += event("cuda_driver", "cuLaunchKernel", launched[i], 2, 7, id);
    text += event("kernel", "k" + std::to_string(i), 1000 + 10 * i, 5, 5,
                  id + ",\"device\":0,\"stream\":5" +
                      (i == 3 ? ",\"hlo_op\":\"fusion.1\",\"hlo_module\":\"said\"" : ""));
  }
  text.resize(text.size() - 2);
  const MemorySink sink = ImportText(text + "]}");
  ASSERT_EQ(sink.activities.size(), 4u);
  const model::Hint gemm = sink.HintOf(sink.activities[0]);
  EXPECT_EQ(gemm.evidence, model::Evidence::kRange);
  EXPECT_EQ(gemm.module_name, "SyncTensorsGraph.4");
  EXPECT_EQ(gemm.program_id, 3);
  EXPECT_EQ(gemm.instruction, "custom-call.2");
  EXPECT_EQ(gemm.op_name, "Net/fc1/aten__mm");
  const model::Hint between = sink.HintOf(sink.activities[1]);
  EXPECT_EQ(between.module_name, "SyncTensorsGraph.4");
  EXPECT_EQ(between.instruction, "");
  EXPECT_EQ(sink.HintOf(sink.activities[2]).instruction, "copy.3");
  EXPECT_EQ(sink.HintOf(sink.activities[2]).op_name, "");
  EXPECT_EQ(sink.HintOf(sink.activities[3]).module_name, "said");
  // All of one execution.
  EXPECT_NE(sink.activities[0].run_key, 0);
  EXPECT_EQ(sink.activities[0].run_key, sink.activities[2].run_key);
}

// In XProf's JSON, only the events around a row identify its program.
TEST(XprofJson, ProgramFollowsFromTheModuleLines) {
  const auto name = [](const char* what, int pid, int tid, const char* label) {
    return "{\"ph\":\"M\",\"name\":\"" + std::string(what) + "\",\"pid\":" + std::to_string(pid) +
           ",\"tid\":" + std::to_string(tid) + ",\"args\":{\"name\":\"" + label + "\"}},\n";
  };
  const auto event = [](int pid, int tid, const char* text, int ts, int dur,
                        const char* arguments) {
    return "{\"ph\":\"X\",\"name\":\"" + std::string(text) + "\",\"pid\":" + std::to_string(pid) +
           ",\"tid\":" + std::to_string(tid) + ",\"ts\":" + std::to_string(ts) +
           ",\"dur\":" + std::to_string(dur) + ",\"args\":{" + arguments + "}},\n";
  };
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  text += name("process_name", 1, 0, "/device:TPU:0") + name("thread_name", 1, 1, "XLA Modules");
  text += name("thread_name", 1, 2, "XLA Ops") + name("process_name", 2, 0, "/device:GPU:0");
  text += name("thread_name", 2, 1, "Stream #16(Kernel)");
  text += name("thread_name", 2, 2, "Stream #17(Kernel)");
  text += name("thread_name", 2, 3, "XLA Modules - from #16");
  text += name("thread_name", 2, 4, "XLA Modules - from #17");
  text += event(1, 2, "fusion.3", 110, 5,
                R"("long_name":"%fusion.3 = f32[8]{0} fusion(f32[8]{0} %copy.1), kind=kLoop",)"
                R"("tf_op":"jit(f)/add:")");
  text += event(1, 2, "fusion.3", 210, 5,
                R"("long_name":"%fusion.3 = f32[8]{0} fusion(f32[8]{0} %copy.1), kind=kLoop",)"
                R"("tf_op":"jit(f)/add:")");
  text += event(1, 2, "copy", 310, 5, "");  // In no module.
  // Ids are unsigned there and signed in the XSpace.
  text += event(1, 1, "jit_f(12190760917235803885)", 100, 50, "");
  text += event(1, 1, "jit_f(7)", 200, 50, "");
  const char* const kernel =
      R"("hlo_op":"add.1","hlo_module":"jit_g","kernel_details":"grid:1,1,1")";
  text += event(2, 1, "add_1", 500, 10, kernel);
  text += event(2, 2, "add_1", 505, 10, kernel);
  text += event(2, 3, "jit_g(4)", 500, 10, "");
  text += event(2, 4, "jit_g(5)", 505, 10, "");
  text.resize(text.size() - 2);
  const MemorySink sink = ImportText(text + "]}");
  ASSERT_EQ(sink.activities.size(), 5u);
  std::map<int64_t, const model::Activity*> rows;  // By start.
  for (const model::Activity& row : sink.activities) rows[row.start_ns] = &row;
  const int64_t zero = rows.begin()->first - 110'000;
  const auto hint = [&](int64_t us) { return sink.HintOf(*rows.at(zero + us * 1000)); };
  EXPECT_EQ(hint(110).module_name, "jit_f");
  EXPECT_EQ(hint(110).program_id, -6255983156473747731);
  EXPECT_EQ(hint(110).instruction, "fusion.3");
  EXPECT_EQ(hint(110).op_name, "jit(f)/add");
  EXPECT_EQ(hint(110).hlo, "fusion.3 = f32[8]{0} fusion(f32[8]{0} %copy.1), kind=kLoop");
  EXPECT_EQ(hint(210).program_id, 7);
  EXPECT_NE(rows.at(zero + 110'000)->run_key, rows.at(zero + 210'000)->run_key);
  EXPECT_EQ(hint(310).module_name, "");
  EXPECT_EQ(hint(500).program_id, 4);  // Each by its own stream.
  EXPECT_EQ(hint(505).program_id, 5);
}

TEST(TraceSplitter, BlockSizesDoNotChangeTheEvents) {
  const std::string text = KinetoTrace();
  const auto split = [&](size_t block) {
    std::string events;
    std::vector<std::string> keys;
    TraceSplitter splitter({.events = [&](std::string slice) { events += slice; },
                            .member = [&](std::string key, std::string) { keys.push_back(key); }},
                           64);
    for (size_t at = 0; at < text.size(); at += block) {
      EXPECT_TRUE(splitter.Feed(std::string_view(text).substr(at, block)));
    }
    splitter.Finish();
    EXPECT_FALSE(splitter.truncated());
    EXPECT_THAT(keys, ElementsAre("schemaVersion", "deviceProperties", "distributedInfo",
                                  "cuda_runtime_version", "traceName", "displayTimeUnit",
                                  "baseTimeNanoseconds"));
    return events;
  };
  const std::string whole = split(text.size());
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n') > 0, true);
  for (const size_t block : {1u, 2u, 3u, 7u, 8u, 64u, 1000u}) EXPECT_EQ(split(block), whole);
}

TEST(TraceSplitter, EndlessValueIsSkippedInBoundedMemory) {
  size_t largest = 0;
  int events = 0;
  TraceSplitter splitter({.events =
                              [&](std::string slice) {
                                largest = std::max(largest, slice.size());
                                events += slice.find("\"ok\"") != std::string::npos;
                              },
                          .member = [](std::string, std::string) {}},
                         64);
  ASSERT_TRUE(splitter.Feed("{\"traceEvents\":[{\"name\":\""));
  const std::string block(size_t{1} << 20, 'x');
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(splitter.Feed(block));
  ASSERT_TRUE(splitter.Feed("\"},{\"name\":\"ok\"}]}"));
  splitter.Finish();
  EXPECT_EQ(splitter.oversized(), 1);
  EXPECT_EQ(events, 1);
  EXPECT_LT(largest, TraceSplitter::kMaxValueBytes);
}

void ExpectSane(const MemorySink& sink) {
  for (const model::Activity& a : sink.activities) {
    ASSERT_LE(a.start_ns, a.end_ns);
    ASSERT_GE(MemorySink::SelfNs(a), 0);
    ASSERT_LE(MemorySink::SelfNs(a), a.end_ns - a.start_ns);
    ASSERT_TRUE(a.lane_id > 0 && static_cast<size_t>(a.lane_id) <= sink.lanes.size());
    ASSERT_TRUE(a.config_id > 0 && static_cast<size_t>(a.config_id) <= sink.configs.size());
    ASSERT_LE(static_cast<size_t>(a.hint_id), sink.hints.size());
    ASSERT_LE(static_cast<size_t>(a.api_call_id), sink.calls.size());
  }
}

TEST(ChromeTraceCorruption, TruncatedTraceDoesNotCrash) {
  for (const std::string& whole : {KinetoTrace(), XprofTrace()}) {
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 300) {
      const MemoryFile file(std::string_view(whole).substr(0, size));
      MemorySink sink;
      const Status status = ImportChromeTrace(file.path(), sink);
      if (!status) {
        ASSERT_FALSE(status.error().message.empty());
        ASSERT_TRUE(sink.processes.empty());
      } else {
        ASSERT_EQ(sink.Stat("trace_truncated"), 1);
      }
      ExpectSane(sink);
    }
  }
}

TEST(ChromeTraceCorruption, FlippedBitsDoNotCrash) {
  std::mt19937 random(20261121);
  for (const std::string& whole : {KinetoTrace(), XprofTrace()}) {
    for (int round = 0; round < 1000; ++round) {
      std::string bytes = whole;
      for (int flips = 1 + round % 4; flips > 0; --flips) {
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
      }
      const MemoryFile file(bytes);
      MemorySink sink;
      const Status status = ImportChromeTrace(file.path(), sink);
      ASSERT_TRUE(status || !status.error().message.empty());
      ExpectSane(sink);
    }
  }
}

TEST(ChromeTraceCorruption, ACutGzipKeepsWhatCameBefore) {
  std::string text = "{\"traceEvents\": [";
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    text += "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k" + std::to_string(random()) +
            "\",\"pid\":0,\"tid\":7,\"ts\":" + std::to_string(1000 + i) +
            ",\"dur\":0.5,\"args\":{\"device\":0,\"stream\":7}},";
  }
  text += "{\"ph\":\"i\"}]}";
  std::string bytes = GzipCompress(text);
  bytes.resize(bytes.size() / 2);
  const MemorySink sink = ImportText(bytes);
  EXPECT_GT(sink.activities.size(), 1250u);
  EXPECT_LT(sink.activities.size(), 3750u);
  EXPECT_EQ(sink.Stat("trace_truncated"), 1);
}

TEST(ChromeTraceCorruption, CompressionBombIsRefused) {
  // 90 MB of blanks in an object: 90 kB of gzip.
  std::string text = "{\"traceEvents\": [{\"ph\":\"i\"},";
  text.append(size_t{90} << 20, ' ');
  const std::string bytes = GzipCompress(text);
  ASSERT_LT(bytes.size(), size_t{100} << 10);
  const MemoryFile file(bytes);
  MemorySink sink;
  const Status status = ImportChromeTrace(file.path(), sink);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(file.path()));
  EXPECT_GOLDEN_TEXT(WithoutPaths(status.error().message));
  EXPECT_TRUE(sink.processes.empty());
}

TEST(ChromeTraceCorruption, CompressionBombAfterRealEventsKeepsTheEvents) {
  std::string text =
      "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
      "\"ts\":10,\"dur\":0.5,\"args\":{\"device\":0,\"stream\":7}},";
  text.append(size_t{90} << 20, ' ');
  const MemoryFile file(GzipCompress(text));
  MemorySink sink;
  ASSERT_TRUE(ImportChromeTrace(file.path(), sink));
  EXPECT_EQ(sink.activities.size(), 1u);
  EXPECT_GOLDEN_TEXT(WithoutPaths(sink.stats.at("trace_truncated").advice));
}

TEST(ChromeTraceCorruption, ChangedGzipIsReported) {
  std::string bytes = GzipCompress(KinetoTrace());
  const MemorySink whole = ImportText(bytes);
  bytes[bytes.size() - 6] ^= 1;  // One byte of the checksum.
  const MemorySink sink = ImportText(bytes);
  EXPECT_EQ(sink.activities.size(), whole.activities.size());
  EXPECT_EQ(whole.Stat("trace_truncated"), 0);
  ASSERT_EQ(sink.Stat("trace_truncated"), 1);
  EXPECT_GOLDEN_TEXT(WithoutPaths(sink.stats.at("trace_truncated").advice));
}

}  // namespace
}  // namespace xlatrace::importers
