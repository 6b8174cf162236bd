// SPDX-License-Identifier: Apache-2.0
#include "importers/chrome/chrome_rows.h"

#include <algorithm>
#include <array>

#include "importers/common/kept_calls.h"
#include "importers/common/launch_table.h"
#include "importers/common/page_migrations.h"
#include "importers/common/repeated_rows.h"
#include "importers/common/self_time.h"

namespace xlatrace::importers {

uint32_t ChromeRows::Text(std::string_view text) {
  const auto [it, fresh] =
      text_index_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (fresh) texts_.emplace_back(text);
  return it->second;
}

uint32_t ChromeRows::Thread(int64_t pid, int64_t tid) {
  if (!threads_.empty() && threads_.back() == std::pair(pid, tid)) {
    return static_cast<uint32_t>(threads_.size() - 1);
  }
  const auto [it, fresh] =
      thread_index_.try_emplace({pid, tid}, static_cast<uint32_t>(threads_.size()));
  if (fresh) threads_.emplace_back(pid, tid);
  return it->second;
}

void ChromeRows::Flush(model::Id process, const std::vector<model::Id>& lanes,
                       const ChromeClock& clock, model::EventSink& sink, Counters& counters) {
  std::set<int64_t> calling;
  if (!frames_.empty()) {
    for (const ChromeCall& call : calls_) calling.insert(call.tid);
  }
  FlushCalls(process, clock.shift_ns, sink, counters);
  KeepFrames(calling, clock.epoch_ns, counters);
  FlushRanges(process, clock.shift_ns, sink);
  FlushActivities(lanes, clock.shift_ns, sink, counters);
}

void ChromeRows::FlushCalls(model::Id process, int64_t shift_ns, model::EventSink& sink,
                            Counters& counters) {
  struct Launch {
    model::Id call = 0;
    XlaRanges::Found found;
  };
  LaunchTable<Launch> launches;
  for (const ChromeActivity& row : activities_) {
    if (row.correlation != 0) launches.Add(0, row.correlation);
  }
  launches.Finish();
  XlaRanges xla(sink);
  for (const ChromeRange& range : ranges_) {
    xla.Add(threads_[range.thread].second, range.start_ns, range.end_ns, texts_[range.text]);
  }
  xla.Finish();
  std::vector<int64_t> not_kept(texts_.size(), 0);
  for (const ChromeCall& row : calls_) {
    Launch* const launch = row.correlation == 0 ? nullptr : launches.Find(0, row.correlation);
    const std::string& name = texts_[row.name];
    const bool referred = launch != nullptr && launch->call == 0;
    if (!referred && !MayExplainGap(MayBlock(name), row.end_ns - row.start_ns)) {
      ++not_kept[row.name];
      continue;
    }
    const model::Id id = sink.AddApiCall({.process_id = process,
                                          .thread_id = row.tid,
                                          .name = name,
                                          .correlation_id = row.correlation,
                                          .start_ns = row.start_ns + shift_ns,
                                          .end_ns = row.end_ns + shift_ns});
    if (!referred) continue;
    launch->call = id;
    if (!xla.empty()) launch->found = xla.At(row.tid, row.start_ns, model::Evidence::kRange);
  }
  if (!xla.empty()) xla.AddUnasked();
  calls_ = {};
  constexpr int kMaxNames = 1000;  // CUDA has some hundred; more is a hostile file.
  int names = 0;
  for (size_t i = 0; i < not_kept.size(); ++i) {
    if (not_kept[i] == 0) continue;
    counters.Add(++names <= kMaxNames ? "api_call_not_kept: " + texts_[i].substr(0, 200)
                                      : "api_call_not_kept: others",
                 model::Severity::kInfo, not_kept[i]);
  }
  call_of_.resize(activities_.size());
  if (!xla.empty()) said_of_.resize(activities_.size());
  for (size_t i = 0; i < activities_.size(); ++i) {
    const Launch* const launch =
        activities_[i].correlation == 0 ? nullptr : launches.Find(0, activities_[i].correlation);
    if (launch == nullptr) continue;
    call_of_[i] = launch->call;
    if (xla.empty()) continue;
    const XlaRanges::Found& found = launch->found;
    // The thunk around the launch of a graph is not that of its nodes.
    const bool is_node = activities_[i].graph_node_id != 0;
    said_of_[i].hint = static_cast<uint32_t>(found.thunk_hint != 0 && !is_node ? found.thunk_hint
                                                                               : found.module_hint);
    if (found.module_range >= 0) said_of_[i].run_key = (process << 32) + found.module_range + 1;
  }
}

void ChromeRows::FlushActivities(const std::vector<model::Id>& lanes, int64_t shift_ns,
                                 model::EventSink& sink, Counters& counters) {
  RepeatedRows repeated;
  std::map<uint16_t, KernelIntervals> kernels;  // By device; only where pages migrated.
  if (std::any_of(activities_.begin(), activities_.end(),
                  [](const ChromeActivity& row) { return row.migrates; })) {
    for (const ChromeActivity& row : activities_) {
      if (!row.migrates) kernels[row.device].Add(row.start_ns, row.end_ns);
    }
    for (auto& [device, intervals] : kernels) intervals.Finish();
  }
  std::map<uint32_t, std::vector<model::Activity>> nested;  // By lane.
  for (size_t i = 0; i < activities_.size(); ++i) {
    const ChromeActivity& row = activities_[i];
    // The record's own hint comes first.
    const RangeHint said = said_of_.empty() || row.hint != 0 ? RangeHint() : said_of_[i];
    model::Activity activity = {.lane_id = lanes[row.lane],
                                .config_id = row.config,
                                .hint_id = row.hint != 0 ? row.hint : said.hint,
                                .api_call_id = call_of_[i],
                                .start_ns = row.start_ns,
                                .end_ns = row.end_ns,
                                .bytes = row.bytes,
                                .correlation_id = row.correlation,
                                .graph_id = row.graph_id,
                                .graph_node_id = row.graph_node_id,
                                .run_key = row.run_key != 0 ? row.run_key : said.run_key};
    if (repeated.IsRepeated(activity)) continue;
    if (row.migrates) activity.self_ns = kernels[row.device].Outside(row.start_ns, row.end_ns);
    activity.start_ns += shift_ns;
    activity.end_ns += shift_ns;
    if (row.nests) {
      nested[row.lane].push_back(activity);
    } else {
      sink.AddActivity(activity);
    }
  }
  repeated.Count(counters);
  activities_ = {};
  for (auto& [lane, activities] : nested) {
    SortAndSetSelfTimes(activities);
    for (const model::Activity& activity : activities) sink.AddActivity(activity);
    activities = {};
  }
}

void ChromeRows::KeepFrames(const std::set<int64_t>& calling, int64_t epoch_ns,
                            Counters& counters) {
  if (frames_.empty()) return;
  std::vector<bool> works(threads_.size(), false);
  for (const ChromeRange& range : ranges_) works[range.thread] = true;
  for (size_t i = 0; i < threads_.size(); ++i) {
    works[i] = works[i] || calling.contains(threads_[i].second);
  }
  for (ChromeRange& frame : frames_) {
    if (works[frame.thread]) {
      frame.start_ns -= epoch_ns;
      frame.end_ns -= epoch_ns;
      ranges_.push_back(frame);
    } else {
      counters.Add("python_frame_of_idle_thread", model::Severity::kInfo, 1,
                   "calls of Python functions on threads that ran no op and made no API call");
    }
  }
  frames_ = {};
}

void ChromeRows::FlushRanges(model::Id process, int64_t shift_ns, model::EventSink& sink) {
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const ChromeRange& a, const ChromeRange& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    return a.end_ns > b.end_ns;
  });
  std::array<std::vector<int64_t>, 2> open;  // Open ranges and open frames nest separately.
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const ChromeRange& range = ranges_[i];
    if (i > 0 && ranges_[i - 1].thread != range.thread) open = {};
    std::vector<int64_t>& open_ends = open[range.is_frame ? 1 : 0];
    while (!open_ends.empty() && open_ends.back() <= range.start_ns) open_ends.pop_back();
    sink.AddRange({.process_id = process,
                   .thread_id = threads_[range.thread].second,
                   .domain = range.is_frame ? model::kPythonDomain : std::string_view(),
                   .text = texts_[range.text],
                   .start_ns = range.start_ns + shift_ns,
                   .end_ns = range.end_ns + shift_ns,
                   .depth = static_cast<int32_t>(open_ends.size())});
    open_ends.push_back(range.end_ns);
  }
  ranges_ = {};
}

}  // namespace xlatrace::importers
