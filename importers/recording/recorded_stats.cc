// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/recorded_stats.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace xlatrace::importers {
namespace {

using model::Severity;

struct Known {
  std::string_view name;
  Severity severity;
  std::string_view advice;
};

constexpr Known kKnown[] = {
    {"records_dropped", Severity::kDataLoss,
     "CUPTI had no buffer for activities and dropped them; record fewer steps, or a quieter part"},
    {"buffers_refused", Severity::kDataLoss,
     "the collector was at its limit of memory; record fewer steps"},
    {"rows_lost", Severity::kDataLoss,
     "writing stopped: the disk is full or the limit was reached; free disk space, or raise "
     "XLATRACE_MAX_BYTES"},
    {"buffers_cut", Severity::kDataLoss,
     "CUPTI could not read its own buffer to the end; the remaining records are lost"},
    {"records_short", Severity::kDataLoss,
     "records of this CUPTI are shorter than those of known versions; xlatrace doctor lists "
     "versions"},
    {"strings_not_kept", Severity::kDataLoss,
     "texts beyond the collector's limit; some instructions have no module text"},
    // The import counts them by missing value: activity_times_unknown, activity_end_unknown.
    {"records_invalid_time", Severity::kInfo, "CUPTI gave no valid time for these activities"},
    {"records_unknown", Severity::kNotice, "kinds of records that this collector does not support"},
    {"pops_unbalanced", Severity::kNotice, "ranges that were closed but not opened"},
    {"ranges_too_deep", Severity::kNotice, "ranges nested deeper than the collector follows"},
    {"strings_cut", Severity::kNotice, "texts longer than the collector keeps"},
    {"allocation_failures", Severity::kDataLoss,
     "the process had no memory for rows; give it more, or record fewer steps"},
    {"flush_timeouts", Severity::kNotice,
     "CUPTI did not hand over its buffers in time; work at the end may be missing"},
};

int64_t Bounded(uint64_t value) {
  return static_cast<int64_t>(
      std::min<uint64_t>(value, std::numeric_limits<int64_t>::max() / 1024));
}

}  // namespace

void AddRecordedStats(const RecordedProcess& process, Counters* counters) {
  const auto stopped = process.facts.find("writing_stopped");
  if (stopped != process.facts.end()) {
    // Recordings of older collectors have no `activities_lost`. Their `rows_lost` counts rows of
    // all kinds.
    auto lost = process.facts.find("activities_lost");
    if (lost == process.facts.end()) lost = process.facts.find("rows_lost");
    counters->Add(
        "recording_stopped", Severity::kDataLoss,
        lost == process.facts.end() ? 1 : std::max(std::atoll(lost->second.c_str()), 1ll),
        fmt::format("device activities that were not written: {}; free disk space, or raise "
                    "XLATRACE_MAX_BYTES",
                    stopped->second));
  }
  for (const auto& [stat_name, value] : process.stats) {
    const auto& name = stat_name;            // A lambda cannot capture the binding (clang 14).
    if (name == "whole_until_ns") continue;  // A time, used by recorded_windows.h.
    if (stopped != process.facts.end() && (name == "write_errno" || name == "rows_lost")) continue;
    if (name == "write_errno") {
      if (value == 0) continue;
      counters->Add("recording_stopped", Severity::kDataLoss, 1,
                    fmt::format("the recording could not be written any more: {}",
                                std::strerror(static_cast<int>(value & 0xFFFF))));
      continue;
    }
    const Known* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                      [&](const Known& stat) { return stat.name == name; });
    if (known != std::end(kKnown)) {
      counters->Add(name, known->severity, Bounded(value), known->advice);
    } else {
      counters->Add("collector_" + name, Severity::kInfo, Bounded(value));
    }
  }
  if (process.overhead_ns > 0) {
    counters->Add("cupti_overhead_ns", Severity::kInfo, Bounded(process.overhead_ns));
  }
  // The wall clock and the one that never jumps must run alike.
  constexpr int64_t kJumpNs = 5'000'000;
  for (size_t i = 1; i < process.clocks.size(); ++i) {
    const auto offset = [&](size_t at) {
      return static_cast<int64_t>(process.clocks[at].realtime_ns - process.clocks[at].monotonic_ns);
    };
    int64_t jump = 0;  // The distance of damaged readings may overflow.
    if (__builtin_sub_overflow(offset(i), offset(i - 1), &jump) || jump > kJumpNs ||
        jump < -kJumpNs) {
      counters->Add("wall_clock_jumped", Severity::kNotice, 1,
                    "the clock of the machine was set while the process ran; times before and "
                    "after are not comparable");
    }
  }
}

}  // namespace xlatrace::importers
