// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/compress.h"
#include "tests/accuracy/capture.h"

namespace xlatrace::accuracy {
namespace {

// Name, Projected Start, Projected Duration, Orig Start, Orig Duration, Style, PID, TID, NumGPUOps,
// Lvl, NumChild, RangeId, ParentId, RangeStack, Rank
enum Column { kName, kStart, kDuration, kOrigStart, kTid = 7, kOps = 8, kId = 11, kParent = 12 };

std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

int64_t Int(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Value of `key` in "...key=value,..." or "...key=value#".
std::string Value(const std::string& text, std::string_view key) {
  const size_t at = text.rfind(key);
  if (at == std::string::npos) return {};
  const size_t begin = at + key.size();
  return text.substr(begin, text.find_first_of(",#", begin) - begin);
}

}  // namespace

Status ReadProjectedRanges(const std::string& csv, model::EventSink* sink) {
  XLATRACE_ASSIGN(const std::string text, ReadFileInflated(csv));
  struct Row {
    std::string name;
    int64_t start, duration, launched, thread, ops, id, parent;
  };
  std::vector<Row> rows;
  std::map<int64_t, const std::string*> modules;  // Range id -> text.
  for (size_t at = 0; at < text.size();) {
    // Names may hold line breaks: a line ends where quotes are closed.
    size_t end = at;
    for (bool quoted = false; end < text.size() && (quoted || text[end] != '\n'); ++end) {
      if (text[end] == '"') quoted = !quoted;
    }
    const std::vector<std::string> f = Fields(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (f.size() <= kParent || !f[kName].starts_with("TSL:")) continue;
    rows.push_back({f[kName], Int(f[kStart]), Int(f[kDuration]), Int(f[kOrigStart]), Int(f[kTid]),
                    Int(f[kOps]), Int(f[kId]), Int(f[kParent])});
  }
  std::map<int64_t, const Row*> by_id;
  std::set<int64_t> parents;  // Parents of thunks: their content counts.
  for (const Row& row : rows) {
    by_id[row.id] = &row;
    if (row.name.starts_with("TSL:Thunk:")) parents.insert(row.parent);
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.launched < b.launched; });
  by_id.clear();
  for (const Row& row : rows) by_id[row.id] = &row;

  const model::Id process = sink->AddProcess({});
  std::map<int64_t, model::Id> lanes;
  model::LaunchConfig config;
  config.kind = model::ActivityKind::kRange;
  const model::Id config_id = sink->AddLaunchConfig(config);
  int64_t launch = 0;
  for (const Row& row : rows) {
    if (!row.name.starts_with("TSL:Thunk:") || parents.contains(row.id)) continue;
    const Row* module = &row;
    while (module != nullptr && !module->name.starts_with("TSL:XlaModule:")) {
      const auto parent = by_id.find(module->parent);
      module = parent == by_id.end() ? nullptr : parent->second;
    }
    if (module == nullptr) continue;
    model::Id& lane = lanes[row.thread];
    if (lane == 0) {
      model::Device device;
      device.process_id = process;
      device.ordinal = static_cast<int64_t>(lanes.size()) - 1;
      lane = sink->AddLane({.device_id = sink->AddDevice(device), .stream_id = 1});
    }
    model::Hint hint;
    hint.evidence = model::Evidence::kRange;
    hint.module_name = Value(module->name, "hlo_module=");
    hint.program_id = Int(Value(module->name, "program_id="));
    hint.instruction = Value(row.name, "hlo_op=");
    model::Activity activity;
    activity.lane_id = lane;
    activity.config_id = config_id;
    activity.hint_id = sink->AddHint(hint);
    activity.start_ns = row.start;
    activity.end_ns = row.start + row.duration;
    activity.bytes = row.ops;
    activity.correlation_id = ++launch;
    activity.run_key = module->id;
    sink->AddActivity(activity);
  }
  return {};
}

}  // namespace xlatrace::accuracy
