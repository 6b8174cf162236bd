// SPDX-License-Identifier: Apache-2.0

// Cost of the collector per launch. Launching thread: callback pair, range push and pop. Writer
// thread: decoding CUPTI's record, draining the API call, writing both. All figures are CPU time of
// that thread, without CUPTI's own cost.
//
//   build/release/bench/collector_bench

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "collector/activity_decoder.h"
#include "collector/lock.h"
#include "collector/string_table.h"
#include "collector/thread_log.h"
#include "recording/writer.h"

namespace xlatrace::collector {
namespace {

constexpr int kKernelCount = 200;  // Different kernels of a step.
constexpr int kLaunches = 20000;   // Per iteration: 4 MB of records.

// A stream of launches as a training step makes it: 200 kernels in turn, 3 us apart.
std::vector<uint8_t> KernelBuffer(std::vector<std::string>* names) {
  for (int i = 0; i < kKernelCount; ++i) {
    names->push_back("loop_multiply_add_subtract_fusion_" + std::to_string(i));
  }
  std::vector<uint8_t> buffer(sizeof(CUpti_ActivityKernel10) * kLaunches);
  uint64_t now = 1795283467112603756;
  for (int i = 0; i < kLaunches; ++i) {
    CUpti_ActivityKernel10 kernel = {};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    const int which = i % kKernelCount;
    kernel.name = (*names)[static_cast<size_t>(which)].c_str();
    kernel.registersPerThread = static_cast<uint16_t>(16 + which % 64);
    kernel.start = now;
    kernel.end = now + 1500 + static_cast<uint64_t>(which) * 37;
    now += 3000 + static_cast<uint64_t>(which) * 41;
    kernel.contextId = 1;
    kernel.streamId = 13;
    kernel.gridX = 132 * (1 + which % 7);
    kernel.gridY = kernel.gridZ = 1;
    kernel.blockX = 128;
    kernel.blockY = kernel.blockZ = 1;
    kernel.correlationId = 1000 + static_cast<uint32_t>(i) * 3;
    std::memcpy(buffer.data() + sizeof(kernel) * static_cast<size_t>(i), &kernel, sizeof(kernel));
  }
  return buffer;
}

std::unique_ptr<recording::Writer> TemporaryWriter() {
  char path[] = "/tmp/xlatrace_bench_XXXXXX";
  const int fd = mkstemp(path);
  unlink(path);
  return std::make_unique<recording::Writer>(fd, "bench", uint64_t{64} << 30);
}

void Decode(benchmark::State& state) {
  void* cupti = dlopen(XLATRACE_REAL_CUPTI, RTLD_LAZY);
  if (cupti == nullptr) {
    state.SkipWithError("no libcupti.so.13 (scripts/cuda_headers)");
    return;
  }
  CuptiApi api;
  api.cuptiActivityGetNextRecord = reinterpret_cast<decltype(api.cuptiActivityGetNextRecord)>(
      dlsym(cupti, "cuptiActivityGetNextRecord"));
  std::vector<std::string> names;
  std::vector<uint8_t> buffer = KernelBuffer(&names);
  auto writer = TemporaryWriter();
  ActivityDecoder decoder(&api);
  for (auto _ : state) {
    if (writer->bytes_written() > uint64_t{1} << 30) {
      state.PauseTiming();
      writer = TemporaryWriter();
      state.ResumeTiming();
    }
    decoder.Decode({buffer.data(), buffer.size(), buffer.size()}, *writer);
    writer->Flush();
  }
  const auto launches = static_cast<double>(state.iterations()) * kLaunches;
  state.counters["ns_per_launch"] = benchmark::Counter(
      launches * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(Decode)->Unit(benchmark::kMillisecond);

// Range push, launch enter and exit, range pop; the rows are drained in between and counted apart.
void LaunchingThread(benchmark::State& state) {
  Definitions definitions;
  auto strings = std::make_unique<StringTable>(&definitions);
  std::vector<uint32_t> titles;
  for (int i = 0; i < kKernelCount; ++i) {
    titles.push_back(strings->Register("Thunk:#hlo_op=fusion." + std::to_string(i) + "#", 1, 1));
  }
  auto writer = TemporaryWriter();
  ThreadLog* log = ThreadLog::Current();
  log->Drain(*writer);
  uint32_t correlation = 0;
  for (auto _ : state) {
    for (int i = 0; i < kLaunches; ++i) {
      OpenRange range{};
      range.text = titles[static_cast<size_t>(i % kKernelCount)];
      range.kind = strings->KindOf(range.text);
      log->Push(range, 0);
      ++correlation;
      log->EnterCall(correlation, NowNs());
      recording::ApiCallRow row;
      log->LeaveCall(correlation, &row.start_ns);
      row.end_ns = NowNs();
      row.thread = log->thread();
      row.function = 652;
      row.correlation = correlation;
      row.thunk = log->thunk();
      log->Append(row);
      OpenRange popped;
      uint32_t depth = 0;
      uint64_t run = 0;
      log->Pop(nullptr, &popped, &depth, &run);
    }
    state.PauseTiming();
    log->Drain(*writer);
    writer->Flush();
    state.ResumeTiming();
  }
  const auto launches = static_cast<double>(state.iterations()) * kLaunches;
  state.counters["ns_per_launch"] = benchmark::Counter(
      launches * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(LaunchingThread)->Unit(benchmark::kMillisecond);

// The writer's part of an API call, and bytes per launch of both rows together.
void WriterThread(benchmark::State& state) {
  void* cupti = dlopen(XLATRACE_REAL_CUPTI, RTLD_LAZY);
  if (cupti == nullptr) {
    state.SkipWithError("no libcupti.so.13 (scripts/cuda_headers)");
    return;
  }
  CuptiApi api;
  api.cuptiActivityGetNextRecord = reinterpret_cast<decltype(api.cuptiActivityGetNextRecord)>(
      dlsym(cupti, "cuptiActivityGetNextRecord"));
  std::vector<std::string> names;
  std::vector<uint8_t> buffer = KernelBuffer(&names);
  ActivityDecoder decoder(&api);
  ThreadLog* log = ThreadLog::Current();
  auto writer = TemporaryWriter();
  log->Drain(*writer);
  uint64_t bytes = 0;
  uint64_t now = 1795283467112603756;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kLaunches; ++i) {
      recording::ApiCallRow row;
      row.thread = log->thread();
      row.function = 652;
      row.correlation = 1000 + static_cast<uint32_t>(i) * 3;
      row.start_ns = now;
      row.end_ns = now + 2100 + static_cast<uint64_t>(i % 300);
      now += 3500 + static_cast<uint64_t>(i % 700);
      row.thunk = 100 + static_cast<uint32_t>(i % kKernelCount) * 4;
      row.module_run = static_cast<uint64_t>(i / kKernelCount);
      log->Append(row);
    }
    if (writer->bytes_written() > uint64_t{1} << 30) writer = TemporaryWriter();
    const uint64_t before = writer->bytes_written();
    state.ResumeTiming();
    decoder.Decode({buffer.data(), buffer.size(), buffer.size()}, *writer);
    log->Drain(*writer);
    writer->Flush();
    bytes = writer->bytes_written() - before;
  }
  const auto launches = static_cast<double>(state.iterations()) * kLaunches;
  state.counters["ns_per_launch"] = benchmark::Counter(
      launches * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_launch"] = static_cast<double>(bytes) / kLaunches;
}
BENCHMARK(WriterThread)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xlatrace::collector
