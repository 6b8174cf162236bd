// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/recorded_windows.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "importers/common/text_fields.h"
#include "importers/recording/recorded_names.h"
#include "recording/flush_schedule.h"

namespace xlatrace::importers {
namespace {

constexpr int64_t kClockJumpNs = 5'000'000;  // As recorded_stats.cc.
// With this margin, none of 272 killed processes lost more than reported. 192 of them ran beside
// eight busy loops on two cores (tests/losses/tails.py, 2026-11-30).
constexpr uint64_t kMinLatenessNs = 50'000'000;

using model::ProcessEnd;
using model::WindowEnd;

}  // namespace

void RecordedWindows::Extent::Add(uint64_t start, uint64_t end) {
  if (start_ns == 0 || start < start_ns) start_ns = start;
  end_ns = std::max(end_ns, end);
}

void RecordedWindows::OnCall(const recording::ApiCallRow& row) {
  const auto& opened = process_.opened_ns;
  if (opened.empty()) return;
  first_of_window_.resize(opened.size(), UINT32_MAX);
  const auto after = std::upper_bound(opened.begin(), opened.end(), row.start_ns);
  if (after == opened.begin()) return;
  uint32_t& first = first_of_window_[static_cast<size_t>(after - opened.begin()) - 1];
  first = std::min(first, row.correlation);
}

void RecordedWindows::OnLostCall(const recording::ApiCallRow& row) {
  lost_.push_back({row.correlation, 0, row.start_ns});
  if (row.module_run != 0) {
    lost_.back().run = process_.KnownRun(row.module_run);
    if (lost_.back().run != 0) run_end_.emplace(lost_.back().run, 0);
  }
}

void RecordedWindows::Prepare() {
  prepared_ = true;
  std::sort(lost_.begin(), lost_.end(),
            [](const LostCall& a, const LostCall& b) { return a.correlation < b.correlation; });
  buckets_.resize(lost_.size() + 1);
  // A window that nothing was launched in begins where the next one does.
  uint32_t next = UINT32_MAX;
  for (size_t k = first_of_window_.size(); k-- > 0;) {
    next = first_of_window_[k] = std::min(first_of_window_[k], next);
  }
  windows_.resize(first_of_window_.size() + 1);
}

size_t RecordedWindows::BucketOf(uint32_t correlation) const {
  const auto after = std::upper_bound(
      lost_.begin(), lost_.end(), correlation,
      [](uint32_t value, const LostCall& call) { return value < call.correlation; });
  return static_cast<size_t>(after - lost_.begin());
}

void RecordedWindows::OnActivity(const recording::ActivityRow& row, model::Id lane, uint32_t run) {
  if (!prepared_) Prepare();
  graphs_.OnActivity(row, lane);
  if (!row.timed()) return;
  const auto window =
      std::upper_bound(first_of_window_.begin(), first_of_window_.end(), row.correlation);
  windows_[static_cast<size_t>(window - first_of_window_.begin())].Add(row.start_ns, row.end_ns);
  if (process_.ring) {
    uint64_t& first = first_of_lane_.try_emplace(lane, row.start_ns).first->second;
    first = std::min(first, row.start_ns);
  }
  if (lost_.empty() || row.correlation == 0) return;
  const size_t at = BucketOf(row.correlation);
  Bucket& bucket = buckets_[at];
  if (row.correlation < bucket.first) {
    bucket.first = row.correlation;
    bucket.first_lane = lane;
  }
  if (row.correlation >= bucket.last) {
    bucket.last = row.correlation;
    bucket.last_lane = lane;
  }
  uint64_t& start = first_start_.try_emplace({lane, at}, row.start_ns).first->second;
  start = std::min(start, row.start_ns);
  if (run != 0) {
    const auto known = run_end_.find(run);
    if (known != run_end_.end()) known->second = std::max(known->second, row.end_ns);
  }
}

void RecordedWindows::Extend(const StepEdges::Interval& steps) {
  if (!prepared_) Prepare();
  const auto add = [&](uint32_t correlation, uint64_t time_ns) {
    const auto window =
        std::upper_bound(first_of_window_.begin(), first_of_window_.end(), correlation);
    windows_[static_cast<size_t>(window - first_of_window_.begin())].Add(time_ns, time_ns);
  };
  if (steps.first_correlation != 0) add(steps.first_correlation, steps.from_ns);
  if (steps.next_correlation != 0) add(steps.next_correlation, steps.until_ns);
}

// End of the work of a lost call. It ended before the next work on the streams of the launches
// around it began, and before the end of its run. 0: unknown.
uint64_t RecordedWindows::EndOf(size_t lost) const {
  std::set<model::Id> lanes;
  for (size_t b = lost + 1; b-- > 0;) {
    if (buckets_[b].last == 0) continue;
    lanes.insert(buckets_[b].last_lane);
    break;
  }
  for (size_t b = lost + 1; b < buckets_.size(); ++b) {
    if (buckets_[b].last == 0) continue;
    lanes.insert(buckets_[b].first_lane);
    break;
  }
  uint64_t end = 0;
  for (const model::Id lane : lanes) {
    const auto next = first_start_.lower_bound({lane, lost + 1});
    if (next == first_start_.end() || next->first.first != lane) return 0;
    end = std::max(end, next->second);
  }
  const auto run = run_end_.find(lost_[lost].run);
  if (run != run_end_.end()) end = std::max(end, run->second);
  return lanes.empty() ? 0 : end;
}

// The longest stretch of a window in which nothing ran that was left out. Never empty: a process
// without a window counts as recorded all the time.
RecordedWindows::Extent RecordedWindows::WithoutOutside(const Extent& window) const {
  const auto& outside = process_.outside_ns;
  Extent longest{window.end_ns - 1, window.end_ns};
  uint64_t from = window.start_ns;
  const auto take = [&](uint64_t until) {
    if (until > from && until - from > longest.end_ns - longest.start_ns) longest = {from, until};
  };
  auto at = std::partition_point(outside.begin(), outside.end(), [&](const auto& interval) {
    return interval.second <= window.start_ns;
  });
  for (; at != outside.end() && at->first < window.end_ns; ++at) {
    take(at->first);
    from = std::max(from, at->second);
  }
  take(window.end_ns);
  return longest;
}

// The overwritten part of a ring precedes the kept part. A stream that lags behind is overwritten
// later. So everything is kept from the time at which each stream has an activity, at the latest a
// flush period after the first one.
uint64_t RecordedWindows::StartOfRing(uint64_t first_ns) const {
  uint64_t start = first_ns;
  for (const auto& [lane, first] : first_of_lane_) start = std::max(start, first);
  return std::min(start, first_ns + FlushPeriodNs());
}

void RecordedWindows::AddWindows(bool finished, const std::function<int64_t(uint64_t)>& time_of,
                                 model::Id process_id, model::EventSink& sink) const {
  const bool stopped =
      process_.facts.contains("writing_stopped") ||
      (process_.stats.contains("write_errno") && process_.stats.at("write_errno") != 0);
  const auto written_over = process_.stats.find("ring_blocks_dropped");
  bool first = true;
  size_t last = windows_.size();
  for (size_t w = 0; w < windows_.size(); ++w) {
    if (windows_[w].start_ns != 0) last = w;
  }
  for (size_t w = 0; w < windows_.size(); ++w) {
    if (windows_[w].start_ns == 0) continue;
    WindowEnd why = WindowEnd::kRequested;
    if (w == last) {
      why = stopped                  ? WindowEnd::kLimit
            : process_.window_closed ? WindowEnd::kRequested
            : finished               ? WindowEnd::kEnd
                                     : WindowEnd::kLoss;
    }
    Extent extent = windows_[w];
    if (std::exchange(first, false) && written_over != process_.stats.end() &&
        written_over->second > 0) {
      extent.start_ns = std::min(StartOfRing(extent.start_ns), extent.end_ns);
    }
    if (extent.end_ns > limit_ns_) {
      if (extent.start_ns >= limit_ns_) continue;
      extent.end_ns = limit_ns_;
      why = WindowEnd::kLimit;
    }
    extent = WithoutOutside(extent);
    const int64_t start = time_of(extent.start_ns);
    sink.AddWindow({process_id, start, time_of(extent.end_ns), why});
    // Activities lie outside: an empty window keeps the store from taking them in.
    if (extent.start_ns != windows_[w].start_ns || extent.end_ns != windows_[w].end_ns) {
      sink.AddWindow({process_id, start, start, why});
    }
  }
}

uint64_t RecordedWindows::FlushPeriodNs() const {
  const auto told = process_.IntFact("flush_period_ms");
  if (!told || *told <= 0) return 1'000'000'000;
  return static_cast<uint64_t>(std::min<int64_t>(*told, 1 << 20)) * 1'000'000;
}

model::ProcessEnding RecordedWindows::Ending(
    bool finished, bool live, uint64_t whole_until,
    const std::function<int64_t(uint64_t)>& time_of) const {
  model::ProcessEnding ending;
  const std::string_view said = process_.Fact("ended");
  constexpr std::string_view kSignal = "signal ";
  const bool stopped = process_.facts.contains("writing_stopped");
  if (live) {
    ending.how = ProcessEnd::kRunning;
  } else if (said == "exit") {
    ending.how = ProcessEnd::kExit;
  } else if (said == "exec") {
    ending.how = ProcessEnd::kExec;
  } else if (said == "abort") {
    ending.how = ProcessEnd::kAbort;
  } else if (said.starts_with(kSignal)) {
    ending.how = ProcessEnd::kSignal;
    ending.signal = ParseInt(said.substr(kSignal.size()));
  } else if (stopped) {
    ending.how = ProcessEnd::kUnknown;  // There was no room for it.
  } else if (!finished) {
    ending.how = ProcessEnd::kSignal;  // Only the parent process has its number.
  } else {
    ending.how = ProcessEnd::kExit;  // A collector without an exit record.
  }
  if (finished || ending.how == ProcessEnd::kExec) {
    ending.unrecorded_tail_ns = 0;
    return ending;
  }
  ending.unrecorded_from_ns = time_of(whole_until);
  if (stopped) return ending;  // It is not known how long the process went on.
  constexpr uint64_t kMaxTailNs = uint64_t{1} << 50;
  const uint64_t end = std::max(process_.last_ns, LatestEndNs());
  ending.unrecorded_tail_ns =
      static_cast<int64_t>(std::min(kMaxTailNs, end > whole_until ? end - whole_until : 0));
  return ending;
}

// A process without an end lived at most until its next clock should have reached the file. The
// clocks that are in the file give by how much they are late on this machine.
uint64_t RecordedWindows::LatestEndNs() const {
  // Older collectors had no schedule by age.
  const bool by_age = process_.stats.contains("whole_until_ns");
  const auto start = process_.IntFact("start_unix_ns");
  const uint64_t start_ns = start && *start > 0 ? static_cast<uint64_t>(*start) : 0;
  uint64_t lateness_ns = kMinLatenessNs;
  uint64_t last_ns = start_ns;
  uint64_t due_ns = FlushPeriodNs();
  uint64_t last_monotonic_ns = 0;
  for (const recording::ClockRow& clock : process_.clocks) {
    const uint64_t now_ns = clock.monotonic_ns;  // The wall clock may be set.
    if (last_monotonic_ns != 0 && now_ns > last_monotonic_ns + due_ns) {
      lateness_ns = std::max(lateness_ns, now_ns - last_monotonic_ns - due_ns);
    }
    last_monotonic_ns = now_ns;
    last_ns = clock.realtime_ns;
    if (!by_age) continue;
    const uint64_t age_ns = last_ns - std::min(last_ns, start_ns);
    due_ns = recording::FlushIntervalMs(FlushPeriodNs() / 1'000'000, age_ns) * 1'000'000;
  }
  return last_ns + due_ns + 2 * lateness_ns;
}

RecordedWindows::Summary RecordedWindows::Finish(const recording::ReadOutcome& outcome, bool live,
                                                 model::Id process_id,
                                                 const std::function<int64_t(uint64_t)>& time_of,
                                                 model::EventSink& sink) {
  if (!prepared_) Prepare();
  Summary summary;
  const std::string_view said = process_.Fact("ended");
  const bool finished =
      outcome.complete || said == "exit" || said == "abort" || said.starts_with("signal ");
  std::vector<model::Loss> losses;  // In the recording's time.
  uint64_t end = 0;
  for (const Extent& window : windows_) end = std::max(end, window.end_ns);
  // A flush begins after the clock of the previous flush. Its own clock follows its records in the
  // file.
  const auto& clocks = process_.clocks;
  uint64_t whole_until =
      clocks.size() < 2 ? process_.first_ns : clocks[clocks.size() - 2].realtime_ns;
  // The begin of the last flush that is in the file; older collectors have no such stat.
  if (const auto stat = process_.stats.find("whole_until_ns"); stat != process_.stats.end()) {
    whole_until = std::max(process_.first_ns, std::min(stat->second, kLatestRecordedNs));
  }
  const bool stopped = process_.facts.contains("writing_stopped");
  for (size_t k = 0; k < lost_.size(); ++k) {
    const uint64_t after = EndOf(k);
    if (after == 0 && stopped) {
      // The file had no room for the activity. It is among those that the collector counted.
      limit_ns_ = std::min(limit_ns_, lost_[k].start_ns);
      continue;
    }
    if (after == 0 && !finished) whole_until = std::min(whole_until, lost_[k].start_ns);
    ++summary.calls_without_activity;
    losses.push_back(
        {.start_ns = static_cast<int64_t>(lost_[k].start_ns),
         .end_ns = static_cast<int64_t>(std::max(after != 0 ? after : end, lost_[k].start_ns)),
         .at_least = 1,
         .correlation = lost_[k].correlation,
         .cause = after != 0 ? "launch_without_activity" : "unfinished"});
  }
  GraphLosses::Missing nodes = graphs_.Find(finished, end);
  summary.graph_nodes_missing = nodes.certain;
  summary.graph_nodes_doubtful = nodes.doubtful;
  whole_until = std::min(whole_until, nodes.whole_until_ns);
  std::move(nodes.losses.begin(), nodes.losses.end(), std::back_inserter(losses));
  if (const uint64_t blocks = outcome.damaged_blocks + outcome.missing_blocks; blocks > 0) {
    // Any records of that time.
    losses.push_back({.start_ns = static_cast<int64_t>(process_.first_ns),
                      .end_ns = static_cast<int64_t>(end),
                      .at_least = static_cast<int64_t>(std::min<uint64_t>(blocks, 1 << 30)),
                      .cause = "damaged"});
  }
  // Where the wall clock was set, times before and after cannot be compared.
  for (size_t k = 1; k < clocks.size(); ++k) {
    const auto offset = [&](size_t at) {
      return static_cast<int64_t>(clocks[at].realtime_ns - clocks[at].monotonic_ns);
    };
    int64_t jump = 0;
    if (!__builtin_sub_overflow(offset(k), offset(k - 1), &jump) && jump <= kClockJumpNs &&
        jump >= -kClockJumpNs) {
      continue;
    }
    const auto [from, to] = std::minmax(clocks[k - 1].realtime_ns, clocks[k].realtime_ns);
    losses.push_back({.start_ns = static_cast<int64_t>(std::min(from, kLatestRecordedNs)),
                      .end_ns = static_cast<int64_t>(std::min(to, kLatestRecordedNs)),
                      .cause = "clock"});
  }
  // Losses that were counted and cannot be named.
  for (RecordedProcess::CountedLoss counted : process_.counted_losses) {
    counted.from_ns = std::max(counted.from_ns, process_.first_ns);
    if (counted.to_ns == 0) counted.to_ns = std::max(end, counted.from_ns);
    int64_t named = 0;
    for (const model::Loss& loss : losses) {
      named += loss.correlation != 0 && loss.end_ns >= static_cast<int64_t>(counted.from_ns) &&
                       loss.start_ns <= static_cast<int64_t>(counted.to_ns)
                   ? loss.at_least
                   : 0;
    }
    named = std::min(named, counted.records);
    summary.counted_elsewhere += named;
    if (named == counted.records) continue;
    losses.push_back({.start_ns = static_cast<int64_t>(counted.from_ns),
                      .end_ns = static_cast<int64_t>(counted.to_ns),
                      .at_least = counted.records - named,
                      .cause = counted.cause});
  }
  AddWindows(finished, time_of, process_id, sink);
  summary.ending = Ending(finished, live, whole_until, time_of);
  summary.ending.process_id = process_id;
  if (summary.ending.unrecorded_from_ns) {
    losses.push_back({.start_ns = static_cast<int64_t>(whole_until),
                      .end_ns = static_cast<int64_t>(std::max(
                          end, whole_until + static_cast<uint64_t>(
                                                 summary.ending.unrecorded_tail_ns.value_or(0)))),
                      .cause = live ? "running" : "tail"});
  }
  for (model::Loss& loss : losses) {
    loss.process_id = process_id;
    loss.start_ns = time_of(static_cast<uint64_t>(loss.start_ns));
    loss.end_ns = std::max(loss.start_ns, time_of(static_cast<uint64_t>(loss.end_ns)));
    sink.AddLoss(loss);
  }
  sink.SetEnding(summary.ending);
  return summary;
}

}  // namespace xlatrace::importers
