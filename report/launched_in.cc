#include "report/launched_in.h"

#include <algorithm>

#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMostPaths = 4;                // Of a kernel.
constexpr size_t kMostCalls = size_t{1} << 16;  // Remembered; what comes in again is looked up.

}  // namespace

std::string_view Text(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kPath:
      return "path";
    case PlaceKind::kMore:
      return "more";
    case PlaceKind::kOutside:
      return "outside";
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
  XLATRACE_TRY(LoadRanges(db));
  if (paths_.empty()) return {};
  XLATRACE_ASSIGN(const store::Table calls, store::ScanCallKinds(db));
  for (size_t i = 0; i < calls.rows.size(); ++i) {
    if (calls.IsNull(i, "thread_id")) continue;
    thread_of_call_kind_.emplace(calls.Int(i, "call_kind"),
                                 ThreadOf(calls.Int(i, "process_id"), calls.Int(i, "thread_id")));
  }
  XLATRACE_ASSIGN(shared_call_, db.Prepare("SELECT process_id, thread_id, start_ns FROM api_call"
                                           " WHERE api_call_id = ?1"));
  open_ = true;
  return {};
}

Status LaunchedIn::LoadRanges(store::RunDb& db) {
  std::unordered_map<int64_t, std::pair<uint32_t, uint32_t>> kinds;  // Thread, text.
  XLATRACE_TRY(store::ScanRangeTexts(db, [&](const store::ScannedRangeText& kind) {
    kinds.emplace(kind.range_kind,
                  std::pair(ThreadOf(kind.process_id, kind.thread_id), paths_.AddText(kind.text)));
    return true;
  }));
  XLATRACE_TRY(store::ScanRanges(db, [&](const store::ScannedRange& range) {
    const auto kind = kinds.find(range.range_kind);
    int64_t end_ns = 0;
    if (range.is_mark || kind == kinds.end() ||
        __builtin_add_overflow(range.start_ns, range.duration_ns, &end_ns)) {
      return true;
    }
    paths_.AddRange(kind->second.first, kind->second.second, range.start_ns, end_ns);
    return true;
  }));
  paths_.Finish();
  return {};
}

uint32_t LaunchedIn::ThreadOf(int64_t process_id, int64_t thread_id) {
  return threads_.try_emplace({process_id, thread_id}, static_cast<uint32_t>(threads_.size()))
      .first->second;
}

Result<uint32_t> LaunchedIn::PathOf(const store::ScannedLaunch& launch) {
  if (launch.call_kind != 0) {
    const auto thread = thread_of_call_kind_.find(launch.call_kind);
    return thread == thread_of_call_kind_.end() ? kNoPath
                                                : paths_.At(thread->second, launch.call_start_ns);
  }
  if (launch.api_call_id == 0) return kNoPath;
  const auto known = path_of_call_.find(launch.api_call_id);
  if (known != path_of_call_.end()) return known->second;
  shared_call_.Reset();
  shared_call_.BindInt64(0, launch.api_call_id);
  XLATRACE_ASSIGN(const bool found, shared_call_.Step());
  uint32_t path = kNoPath;
  if (found && !shared_call_.IsNull(1)) {
    const auto thread = threads_.find({shared_call_.Int64(0), shared_call_.Int64(1)});
    path = thread == threads_.end() ? 0 : paths_.At(thread->second, shared_call_.Int64(2));
  }
  if (path_of_call_.size() == kMostCalls) path_of_call_.clear();
  path_of_call_.emplace(launch.api_call_id, path);
  return path;
}

Status LaunchedIn::Count(const store::ScannedLaunch& launch, bool in_basis) {
  XLATRACE_ASSIGN(const uint32_t path, PathOf(launch));
  Sum& sum = sums_[launch.config_id][path];
  ++sum.launches;
  sum.self_ns += launch.self_ns;
  sum.calls += in_basis ? 1 : 0;
  sum.ns += in_basis ? launch.self_ns : 0;
  return {};
}

std::map<int64_t, std::vector<LaunchPlace>> LaunchedIn::ByGroup(
    const std::function<int64_t(int64_t config_id)>& group_of) const {
  const auto add = [](auto& place, const auto& sum) {
    place.launches += sum.launches;
    place.self_ns += sum.self_ns;
    place.calls += sum.calls;
    place.ns += sum.ns;
  };
  // By number first: a text costs more, and kernels share paths with other configurations.
  std::map<int64_t, std::unordered_map<uint32_t, Sum>> by_number;
  for (const auto& [config_id, of_config] : sums_) {
    const int64_t group = group_of(config_id);
    if (group < 0) continue;
    for (const auto& [path, sum] : of_config) add(by_number[group][path], sum);
  }
  // Different paths may have the same names left, so they are put together by these.
  std::map<int64_t, std::map<std::pair<PlaceKind, std::string>, LaunchPlace>> groups;
  std::unordered_map<uint32_t, std::string> texts;
  for (const auto& [group, of_group] : by_number) {
    for (const auto& [number, sum] : of_group) {
      const PlaceKind kind = number == kNoPath ? PlaceKind::kNoCall
                             : number == 0     ? PlaceKind::kOutside
                                               : PlaceKind::kPath;
      std::string& path = texts[number];
      if (kind == PlaceKind::kPath && path.empty()) path = paths_.Text(number);
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
    if (rows.size() > kMostPaths + 1) {
      more.paths = static_cast<int64_t>(rows.size() - kMostPaths);
      for (size_t i = kMostPaths; i < rows.size(); ++i) add(more, rows[i]);
      rows.resize(kMostPaths);
    }
    for (LaunchPlace& place : rest) rows.push_back(std::move(place));
    std::stable_sort(rows.begin(), rows.end(), longer);
    if (more.paths > 0) rows.push_back(std::move(more));
    result.emplace(group, std::move(rows));
  }
  return result;
}

}  // namespace xlatrace::report
