// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/window_not_reached.h"

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::importers {
namespace {

int64_t StatOf(const RecordedProcess& process, const char* name) {
  const auto stat = process.stats.find(name);
  if (stat == process.stats.end() || stat->second > INT64_MAX) return 0;
  return static_cast<int64_t>(stat->second);
}

std::string StepsRan(int64_t steps) {
  return fmt::format("{} {} ran", Thousands(steps), steps == 1 ? "step" : "steps");
}

}  // namespace

std::string WindowNotReached(const RecordedProcess& process) {
  if (StatOf(process, "activities_outside_window") == 0) return {};
  const int64_t steps = StatOf(process, "steps_run");
  if (const auto delay = process.IntFact("delay_ms"); delay && StatOf(process, "delay_pending")) {
    return fmt::format(
        "the process ended before --delay {} was over{}: record with a shorter --delay",
        static_cast<double>(*delay) / 1000, steps > 0 ? ", and " + StepsRan(steps) : "");
  }
  const std::string_view asked = process.Fact("steps");
  if (asked.empty()) return {};
  if (StatOf(process, "modules_run") == 0 && steps == 0) {
    return fmt::format(
        "--steps {} counts executions of XLA programs, and this process ran none (TensorFlow "
        "without XLA has no such programs): record with --delay and --duration instead",
        asked);
  }
  return fmt::format("--steps {} was not reached: {}; record an earlier window", asked,
                     StepsRan(steps));
}

}  // namespace xlatrace::importers
