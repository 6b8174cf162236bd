// SPDX-License-Identifier: Apache-2.0

// Cost of a replay: for each run.db the times of the parts of `xlatrace what-if` (median of seven
// rounds) and the peak memory.
//
//   cmake --preset release -DXLATRACE_BENCHMARKS=ON &&
//   cmake --build --preset release --target replay_bench &&
//   build/release/bench/replay_bench RUN.db...
//
// "load": run.db to columns. "graph": its nodes and edges. "replay": start of every node. "error":
// the lags of each step are replaced by those of others, twice. "predict": ops take half the time.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "analysis/replay/graph.h"
#include "analysis/replay/replay.h"
#include "analysis/replay/what_if.h"
#include "analysis/timeline.h"
#include "base/error.h"
#include "store/run_db.h"
#include "tools/loaded_run.h"

namespace xlatrace {
namespace {

namespace replay = analysis::replay;

constexpr size_t kRoundCount = 7;

// Seconds of the wall, and what the call gave.
template <typename Call>
auto Timed(std::vector<double>& seconds, const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  auto result = call();
  seconds.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

double Median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

struct Parts {
  std::vector<double> load, graph, replay, error, predict;
};

Status Measure(const char* path) {
  Parts parts;
  size_t launches = 0, nodes = 0;
  for (size_t round = 0; round < kRoundCount; ++round) {
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(path));
    XLATRACE_ASSIGN(const tools::LoadedRun loaded,
                    Timed(parts.load, [&] { return tools::LoadRun(db); }));
    const analysis::HostCallOf call_of = loaded.CallOf();
    const replay::Input input = {loaded.run,     loaded.attribution, loaded.steps,
                                 loaded.step_of, loaded.gaps,        call_of,
                                 loaded.waits};
    const replay::Graph graph = Timed(parts.graph, [&] {
      return replay::BuildGraph(input,
                                analysis::ClassifyActivities(loaded.run, loaded.attribution));
    });
    Timed(parts.replay, [&] { return replay::Replay(graph).start_ns.size(); });
    const std::optional<replay::ReplayError> error =
        Timed(parts.error, [&] { return replay::MeasureError(graph, input); });
    replay::Change change;
    for (const model::LaunchConfig& config : loaded.run.configs)
      change.kernels[config.symbol] = 0.5;
    Timed(parts.predict, [&] { return replay::Predict(graph, input, change, error); });
    launches = loaded.run.activities.size();
    nodes = graph.nodes.size();
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{}: {} activities, {} nodes; s: load {:.3f}, graph {:.3f}, replay {:.3f}, error {:.3f}, "
      "predict {:.3f}; at most {} MB\n",
      path, launches, nodes, Median(parts.load), Median(parts.graph), Median(parts.replay),
      Median(parts.error), Median(parts.predict), usage.ru_maxrss / 1000);
  return {};
}

}  // namespace
}  // namespace xlatrace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (xlatrace::Status status = xlatrace::Measure(argv[i]); !status) {
      fmt::print(stderr, "{}\n", status.error().message);
      return 1;
    }
  }
  return 0;
}
