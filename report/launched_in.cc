// SPDX-License-Identifier: Apache-2.0
#include "report/launched_in.h"

#include <algorithm>

#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxShownPathCount = 4;  // Shown paths of a kernel.
constexpr size_t kMaxWholePathCount = 500;
constexpr size_t kMaxCachedCallCount = size_t{1}
                                       << 16;  // Remembered; what comes in again is looked up.

}  // namespace

std::string_view Text(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kPath:
      return "path";
    case PlaceKind::kMore:
      return "more";
    case PlaceKind::kOutside:
      return "outside";
    case PlaceKind::kEarlier:
      return "earlier";
    case PlaceKind::kNoCall:
      break;
  }
  return "no_call";
}

Status LaunchedIn::Open(store::RunDb& db) {
  XLATRACE_ASSIGN(const store::Table labels, store::ScanLabels(db));
  for (size_t i = 0; i < labels.rows.size(); ++i) {
    if (labels.Text(i, "confidence") != "none") labelled_.insert(labels.Int(i, "label_id"));
  }
  if (!labelled_.empty() && labelled_.size() == labels.rows.size()) return {};
  XLATRACE_TRY(store::ScanRangeTexts(db, [&](const store::ScannedRangeText& kind) {
    const uint32_t text = paths_.AddText(kind.text);
    if (text == analysis::RangePaths::kNoTextId) return true;
    range_kinds_.emplace(kind.range_kind,
                         RangeKind{ThreadOf(kind.process_id, kind.thread_id), text});
    return true;
  }));
  if (!paths_.has_texts()) return {};
  XLATRACE_ASSIGN(const store::Table calls, store::ScanCallKinds(db));
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    if (calls.IsNull(i, "thread_id")) continue;
    thread_of_call_kind_.emplace(calls.Int(i, "call_kind"),
                                 ThreadOf(calls.Int(i, "process_id"), calls.Int(i, "thread_id")));
  }
  XLATRACE_ASSIGN(shared_call_, db.Prepare("SELECT process_id, thread_id, start_ns FROM api_call"
                                           " WHERE api_call_id = ?1"));
  db_ = &db;
  open_ = true;
  return {};
}

uint32_t LaunchedIn::ThreadOf(int64_t process_id, int64_t thread_id) {
  return threads_.try_emplace({process_id, thread_id}, static_cast<uint32_t>(threads_.size()))
      .first->second;
}

Result<LaunchedIn::Call> LaunchedIn::CallOf(const store::ScannedLaunch& launch) {
  if (launch.call_kind != 0) {
    const auto thread = thread_of_call_kind_.find(launch.call_kind);
    if (thread == thread_of_call_kind_.end()) return Call{.thread = kNoPathIndex};
    return Call{thread->second, launch.call_start_ns};
  }
  if (launch.api_call_id == 0) return Call{.thread = kNoPathIndex};
  const auto known = shared_calls_.find(launch.api_call_id);
  if (known != shared_calls_.end()) return known->second;
  shared_call_.Reset();
  shared_call_.BindInt64(0, launch.api_call_id);
  XLATRACE_ASSIGN(const bool found, shared_call_.Step());
  Call call{.thread = kNoPathIndex};
  if (found && !shared_call_.IsNull(1)) {
    call = {ThreadOf(shared_call_.Int64(0), shared_call_.Int64(1)), shared_call_.Int64(2)};
  }
  if (shared_calls_.size() == kMaxCachedCallCount) shared_calls_.clear();
  shared_calls_.emplace(launch.api_call_id, call);
  return call;
}

Status LaunchedIn::QueueQuestion(const store::ScannedLaunch& launch, bool in_basis) {
  XLATRACE_ASSIGN(const Call call, CallOf(launch));
  const auto what = static_cast<uint32_t>(launch.config_id) << 1 | (in_basis ? 1U : 0U);
  if (launch.call_kind == 0 && launch.api_call_id == 0) {
    without_call_.push_back({launch.lane_id, launch.start_ns, launch.self_ns, what});
  } else if (call.thread == kNoPathIndex) {
    Count(what, kNoPathIndex, launch.self_ns);
  } else {
    paths_.AddQuestion(call.thread,
                       {.time_ns = call.start_ns, .value_ns = launch.self_ns, .what = what});
  }
  return {};
}

void LaunchedIn::Count(uint32_t what, uint32_t path, int64_t self_ns) {
  Sum& sum = sums_[what][path];
  ++sum.launches;
  sum.self_ns += self_ns;
  if ((what & 1) == 0) return;
  ++sum.calls;
  sum.ns += self_ns;
}

Status LaunchedIn::Finish() {
  if (!open_) return {};
  XLATRACE_TRY(paths_.Answer([this] { return AddRanges(); }));
  paths_.ForEachAnswer([this](const analysis::RangePaths::Question& question) {
    Count(question.what, question.path, question.value_ns);
  });
  // A stream runs in the order of the calls.
  for (const NoCall& launch : without_call_) {
    const auto first = first_called_ns_.find(launch.lane_id);
    const bool earlier = first != first_called_ns_.end() && launch.start_ns < first->second;
    Count(launch.what, earlier ? kEarlierPathIndex : kNoPathIndex, launch.self_ns);
  }
  return {};
}

Status LaunchedIn::AddRanges() {
  return store::ScanRanges(*db_, [this](const store::ScannedRange& range) {
    const auto kind = range_kinds_.find(range.range_kind);
    int64_t end_ns = 0;
    if (range.is_mark || kind == range_kinds_.end() ||
        __builtin_add_overflow(range.start_ns, range.duration_ns, &end_ns)) {
      return true;
    }
    return paths_.AddRange(kind->second.thread, kind->second.text, range.start_ns, end_ns);
  });
}

std::map<int64_t, std::vector<LaunchPlace>> LaunchedIn::ByGroup(
    const std::function<int64_t(int64_t config_id)>& group_of, bool whole) const {
  const auto add = [](auto& place, const auto& sum) {
    place.launches += sum.launches;
    place.self_ns += sum.self_ns;
    place.calls += sum.calls;
    place.ns += sum.ns;
  };
  // By number first: a text costs more, and kernels share paths with other configurations.
  std::map<int64_t, std::unordered_map<uint32_t, Sum>> by_number;
  for (const auto& [what, of_config] : sums_) {
    const int64_t group = group_of(what >> 1);
    if (group < 0) continue;
    for (const auto& [path, sum] : of_config) add(by_number[group][path], sum);
  }
  // Different paths may have the same shortened names, so they are grouped by these names.
  std::map<int64_t, std::map<std::pair<PlaceKind, std::string>, LaunchPlace>> groups;
  std::unordered_map<uint32_t, std::string> texts;
  for (const auto& [group, of_group] : by_number) {
    for (const auto& [number, sum] : of_group) {
      const PlaceKind kind = number == kNoPathIndex        ? PlaceKind::kNoCall
                             : number == kEarlierPathIndex ? PlaceKind::kEarlier
                             : number == 0                 ? PlaceKind::kOutside
                                                           : PlaceKind::kPath;
      std::string& path = texts[number];
      if (kind == PlaceKind::kPath && path.empty()) path = paths_.Text(number, whole);
      LaunchPlace& place = groups[group][{kind, path}];
      place.kind = kind;
      place.path = path;
      add(place, sum);
    }
  }
  std::map<int64_t, std::vector<LaunchPlace>> result;
  for (auto& [group, of] : groups) {
    std::vector<LaunchPlace> rows, rest;
    for (auto& [key, place] : of) {
      (place.kind == PlaceKind::kPath ? rows : rest).push_back(std::move(place));
    }
    if (rows.empty()) continue;
    const auto longer = [](const LaunchPlace& a, const LaunchPlace& b) {
      return a.self_ns > b.self_ns;
    };
    std::stable_sort(rows.begin(), rows.end(), longer);
    LaunchPlace more{.kind = PlaceKind::kMore};
    const size_t most = whole ? kMaxWholePathCount : kMaxShownPathCount;
    if (rows.size() > most + 1) {
      more.paths = static_cast<int64_t>(rows.size() - most);
      for (size_t i = most; i < rows.size(); ++i) add(more, rows[i]);
      rows.resize(most);
    }
    for (LaunchPlace& place : rest) rows.push_back(std::move(place));
    std::stable_sort(rows.begin(), rows.end(), longer);
    if (more.paths > 0) rows.push_back(std::move(more));
    result.emplace(group, std::move(rows));
  }
  return result;
}

}  // namespace xlatrace::report
