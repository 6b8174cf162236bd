// SPDX-License-Identifier: Apache-2.0

// Cost of a launch in a recording: CPU time of the writer (kernel row and API call together), bytes
// in the file, and time of the reader.
//
// The streams are modelled on a JAX training step with 144 thunks and 40 kernels. A launch comes
// every 5 us of host time; with a CUDA graph one call launches all 144.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "recording/reader.h"
#include "recording/writer.h"

namespace xlatrace::recording {
namespace {

constexpr uint64_t kThunkCount = 144;
constexpr size_t kLaunches = 1'000'000;

struct Launch {
  bool has_call = false;
  ApiCallRow call;
  ActivityRow activity;
  uint32_t name = 0;
};

struct Stream {
  std::vector<std::string> names;
  std::vector<ConfigRow> configs;
  std::vector<Launch> launches;
};

const Stream& MakeStream(bool graph) {
  static Stream streams[2];
  Stream& stream = streams[graph ? 1 : 0];
  if (!stream.launches.empty()) return stream;
  std::mt19937_64 random(graph ? 1 : 2);
  for (int i = 0; i < 40; ++i) {
    stream.names.push_back("loop_add_subtract_multiply_fusion_" + std::to_string(i));
  }
  for (int i = 0; i < 40; ++i) {
    stream.configs.push_back({.name = stream.names[static_cast<size_t>(i)],
                              .grid = {static_cast<uint32_t>(1 + i * 7), 1, 1},
                              .block = {128, 1, 1},
                              .registers_per_thread = 32});
  }
  uint64_t host = 1'700'000'000'000'000'000;
  uint64_t device = host;
  uint32_t correlation = 1000;
  for (uint64_t i = 0; i < kLaunches; ++i) {
    Launch launch;
    const uint64_t thunk = i % kThunkCount;
    launch.has_call = !graph || thunk == 0;
    if (launch.has_call) {
      host += 3000 + random() % 4000;
      if (graph) host = std::max(host, device);
      correlation += 1 + static_cast<uint32_t>(random() % 3);
      launch.call = {.thread = 4242,
                     .function = graph ? 514u : 652u,
                     .correlation = correlation,
                     .start_ns = host,
                     .end_ns = host + 1500 + random() % 1000,
                     .thunk = 5000 + 4 * static_cast<uint32_t>(thunk),
                     .module_run = 1 + i / kThunkCount};
    }
    device = std::max(device + 700 + random() % 600, host + 5000);
    launch.activity = {.start_ns = device,
                       .end_ns = device + 2000 + random() % 100'000,
                       .correlation = correlation,
                       .graph = graph ? 3u : 0u,
                       .graph_node = graph ? (uint64_t{3} << 32) + thunk + 1 : 0};
    device = launch.activity.end_ns;
    launch.name = static_cast<uint32_t>(thunk % 40);
    stream.launches.push_back(launch);
  }
  return stream;
}

std::string Path() {
  return (std::filesystem::temp_directory_path() /
          ("xlatrace_recording_bench." + std::to_string(getpid())))
      .string();
}

uint64_t Write(const Stream& stream, const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) std::abort();
  Writer writer(fd, "token.host.7.1f", UINT64_MAX);
  for (const Launch& launch : stream.launches) {
    if (launch.has_call) writer.Add(launch.call);
    writer.AddActivity(launch.activity, stream.configs[launch.name], {0, 1, 13});
  }
  writer.Finish();
  return writer.bytes_written();
}

// CPU time of the writing thread, with the time that write() takes; to a file in $TMPDIR.
void BM_Write(benchmark::State& state) {
  const Stream& stream = MakeStream(state.range(0) != 0);
  const std::string path = Path();
  uint64_t bytes = 0;
  for (auto _ : state) bytes = Write(stream, path);
  std::remove(path.c_str());
  const auto launches = static_cast<double>(stream.launches.size());
  state.counters["bytes_per_launch"] = static_cast<double>(bytes) / launches;
  state.counters["cpu_per_launch"] = benchmark::Counter(
      launches, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Write)->ArgName("graph")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_Read(benchmark::State& state) {
  const std::string path = Path();
  const uint64_t bytes = Write(MakeStream(state.range(0) != 0), path);
  class Count final : public RowSink {
   public:
    void OnActivity(const ActivityRow& row, const ConfigRow&, const LaneRow&) override {
      sum += row.end_ns - row.start_ns;
    }
    void OnApiCall(const ApiCallRow& row) override { sum += row.end_ns - row.start_ns; }
    uint64_t sum = 0;
  };
  for (auto _ : state) {
    Count count;
    benchmark::DoNotOptimize(ReadRecording(path, count));
    benchmark::DoNotOptimize(count.sum);
  }
  std::remove(path.c_str());
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
  state.counters["launches"] = benchmark::Counter(static_cast<double>(kLaunches),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_Read)->ArgName("graph")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xlatrace::recording
