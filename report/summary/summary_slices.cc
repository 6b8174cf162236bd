// SPDX-License-Identifier: Apache-2.0
#include "report/summary/summary_slices.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/launch_sums.h"
#include "report/share_times.h"
#include "report/shown_words.h"
#include "report/source_figures.h"

namespace xlatrace::report {
namespace {

using store::RunDb;
using store::Table;

// Activities of the basis (those of steady steps, or all), by what `name_of` calls them.
Status Group(RunDb& db, const RunView& view,
             const std::function<std::string(const LaunchSums&, const LaunchSum&)>& name_of,
             std::vector<NamedFigure>& into) {
  XLATRACE_ASSIGN(const Table rows, db.Select("SELECT device_id, step FROM step WHERE typical"));
  std::set<std::pair<int64_t, int64_t>> steady;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    steady.emplace(rows.Int(i, "device_id"), rows.Int(i, "step"));
  }
  std::pair<int64_t, int64_t> last{INT64_MIN, INT64_MIN};
  bool last_is_steady = false;
  const auto in_basis = [&](const LaunchSum& sum, const store::ScannedActivity& activity) {
    if (!view.basis.steady) return true;
    if (!activity.step) return false;
    // Activities of one device and step lie together, mostly.
    if (const std::pair step(sum.device_id, *activity.step); step != last) {
      last = step;
      last_is_steady = steady.contains(step);
    }
    return last_is_steady;
  };
  XLATRACE_ASSIGN(const LaunchSums launches, LaunchSums::Load(db, in_basis));
  std::map<std::string, NamedFigure> figures;
  for (const LaunchSum& sum : launches.sums()) {
    NamedFigure& figure = figures[name_of(launches, sum)];
    figure.ns += sum.self_ns;
    figure.calls += sum.launches;
  }
  for (auto& [name, figure] : figures) {
    figure.name = name;
    into.push_back(std::move(figure));
  }
  std::stable_sort(into.begin(), into.end(),
                   [](const NamedFigure& a, const NamedFigure& b) { return a.ns > b.ns; });
  return {};
}

// The process by its pid, as the first sentences name it; with the host if two hosts have the pid.
constexpr std::string_view kProcessNameSql =
    "'process ' || coalesce(p.pid, p.process_id) || CASE WHEN (SELECT count(*) FROM process q"
    " WHERE q.pid = p.pid) > 1 THEN ' on ' || coalesce(p.host, 'unknown host') ELSE '' END";

// By the device: a text that SQL makes of each.
Status GroupByDevice(RunDb& db, const RunView& view, std::string_view sql,
                     std::vector<NamedFigure>& into) {
  XLATRACE_ASSIGN(const Table devices, db.Select(sql));
  std::map<int64_t, std::string> names;
  for (size_t i = 0; i < devices.rows.size(); ++i) {
    names.emplace(devices.Int(i, "device_id"), devices.Text(i, "name"));
  }
  return Group(
      db, view, [&](const LaunchSums&, const LaunchSum& sum) { return names[sum.device_id]; },
      into);
}

// op_name without the primitive: the scope in full, transformations included.
Status Scopes(RunDb& db, RunView& view) {
  XLATRACE_ASSIGN(const std::vector<ShareTime> shares, LoadShareTimes(db, view));
  std::map<std::string, int64_t> scopes;
  for (const ShareTime& share : shares) {
    const std::string_view name = share.op_name;
    const size_t tail = OpNameTail(name).size();
    scopes[std::string(name.substr(0, tail < name.size() ? name.size() - tail - 1 : 0))] +=
        share.ns;
  }
  for (const auto& [name, ns] : scopes) view.slices.push_back({name, ns, 0});
  const int64_t none = view.coverage.none_ns;
  if (none > 0) {
    const auto unnamed = std::find_if(view.slices.begin(), view.slices.end(),
                                      [](const NamedFigure& slice) { return slice.name.empty(); });
    if (unnamed == view.slices.end()) {
      view.slices.push_back({"", none, 0});
    } else {
      unnamed->ns += none;
    }
  }
  std::stable_sort(view.slices.begin(), view.slices.end(),
                   [](const NamedFigure& a, const NamedFigure& b) { return a.ns > b.ns; });
  return {};
}

}  // namespace

Status LoadSlices(RunDb& db, By by, RunView& view) {
  view.slices.clear();
  switch (by) {
    case By::kScope:
      return Scopes(db, view);
    case By::kOrigin:
      return Group(
          db, view,
          [](const LaunchSums& launches, const LaunchSum& sum) {
            const std::string origin = launches.LabelText(sum, "origin");
            return origin.empty() ? std::string(Text(model::Origin{})) : origin;
          },
          view.slices);
    case By::kDevice:
      return GroupByDevice(
          db, view,
          fmt::format(
              "SELECT d.device_id, d.kind || ' ' || d.ordinal || coalesce(' ' || d.name, '')"
              " || CASE WHEN (SELECT count(*) FROM process) > 1 THEN ' of ' || {} ELSE ''"
              " END AS name FROM device d LEFT JOIN process p USING (process_id)",
              kProcessNameSql),
          view.slices);
    case By::kRank:
      return GroupByDevice(
          db, view,
          fmt::format("SELECT d.device_id, coalesce('rank ' || p.rank, {}) AS name FROM device d"
                      " JOIN process p USING (process_id)",
                      kProcessNameSql),
          view.slices);
    default:
      return {};
  }
}

bool CanFilter(By by) {
  return by == By::kOp || by == By::kLayer || by == By::kSource || by == By::kStack ||
         by == By::kPhase || by == By::kOpKind || by == By::kModule;
}

bool MatchesScope(std::string_view text, std::string_view pattern) {
  if (pattern.find('*') == std::string_view::npos) return text.find(pattern) != text.npos;
  // Where the last star was met, and how much of the text it stands for so far.
  size_t t = 0;
  size_t p = 0;
  std::optional<std::pair<size_t, size_t>> star;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = {p++, t};
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star) {
      p = star->first + 1;
      t = ++star->second;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Status ApplyFilter(RunDb& db, const SummaryFilter& filter, RunView& view) {
  if (filter.phase.empty() && filter.scope.empty()) return {};
  std::optional<model::Phase> phase;
  if (!filter.phase.empty()) {
    for (const model::Phase candidate : kPhaseOrder) {
      if (model::Text(candidate).starts_with(filter.phase)) phase = candidate;
    }
    if (filter.phase == "bwd") phase = model::Phase::kBackward;
    if (filter.phase == "fwd") phase = model::Phase::kForward;
    if (!phase) {
      return MakeError(fmt::format("there is no phase '{}'", filter.phase),
                       "forward, loss, backward, recompute, optimizer, other or unknown");
    }
  }
  XLATRACE_ASSIGN(const std::vector<ShareTime> shares, LoadShareTimes(db, view));
  std::vector<int64_t> op_ns(view.ops.size(), 0);
  std::map<std::string, ScopeFigure> layers;
  std::map<std::string, std::array<int64_t, kPhaseCount>> layer_ns;
  XLATRACE_ASSIGN(const SourceStacks stacks, SourceStacks::Load(db));
  SourceFigures sources(stacks);
  const auto in_layer = [&](const ShareTime& share) {
    return MatchesScope(share.layer, filter.scope) || MatchesScope(share.layer_group, filter.scope);
  };
  // A file stands for its own lines; one without any, for what is called from it.
  const auto in_file = [&](const ShareTime& share, bool callers) {
    for (const SourceStacks::Frame& frame : stacks.Of(share.stack_id)) {
      if ((callers || frame.is_source || &frame == &stacks.Of(share.stack_id).front()) &&
          MatchesScope(frame.file, filter.scope)) {
        return true;
      }
    }
    return false;
  };
  const bool callers = std::none_of(shares.begin(), shares.end(), [&](const ShareTime& share) {
    return in_layer(share) || in_file(share, false);
  });
  std::array<int64_t, kPhaseCount> phase_ns{};
  for (const ShareTime& share : shares) {
    if (phase && share.phase != *phase) continue;
    const std::string& group = share.layer_group;
    if (!filter.scope.empty() && !in_layer(share) && !in_file(share, callers)) continue;
    const auto p = static_cast<size_t>(share.phase);
    op_ns[share.op] += share.ns;
    layer_ns[group][p] += share.ns;
    sources.Add(share.stack_id, share.phase, share.ns, share.is_part);
    phase_ns[p] += share.ns;
  }
  std::map<std::string, NamedFigure> kinds;
  std::map<int64_t, int64_t> modules;
  std::vector<OpFigure> ops;
  int64_t sum = 0;
  int64_t calls = 0;
  for (size_t i = 0; i < view.ops.size(); ++i) {
    if (op_ns[i] == 0) continue;
    OpFigure& op = view.ops[i];
    op.ns = op_ns[i];
    if (phase) op.phase = *phase;
    sum += op.ns;
    calls += op.calls;
    NamedFigure& kind = kinds[op.op_kind];
    kind.name = op.op_kind;
    kind.ns += op.ns;
    kind.calls += op.calls;
    modules[op.module_id] += op.ns;
    ops.push_back(std::move(op));
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.ns > b.ns; };
  std::stable_sort(ops.begin(), ops.end(), by_time);
  view.ops = std::move(ops);
  const auto add = [](const std::array<int64_t, kPhaseCount>& from, ScopeFigure& figure) {
    figure.phases = from;
    for (const int64_t ns : from) figure.ns += ns;
  };
  view.layers.clear();
  for (const auto& [name, by_phase] : layer_ns) {
    view.layers.push_back({.name = name});
    add(by_phase, view.layers.back());
  }
  std::stable_sort(view.layers.begin(), view.layers.end(), by_time);
  view.sources = sources.Lines();
  view.stacks = sources.Tree();
  view.kinds.clear();
  for (auto& [name, kind] : kinds) view.kinds.push_back(std::move(kind));
  std::stable_sort(view.kinds.begin(), view.kinds.end(), by_time);
  for (ModuleFigure& module : view.modules) {
    module.ns = modules[module.module_id];
  }
  view.phases = phase_ns;
  view.coverage = {};
  view.coverage.device_ns = sum;
  view.coverage.activities = calls;
  view.none_phases = {};
  view.unphased_copies_ns = view.unphased_collectives_ns = 0;
  view.filter = (phase ? std::string(model::Text(*phase)) : std::string()) +
                (phase && !filter.scope.empty() ? " of " : "") + filter.scope;
  return {};
}

void SortOps(Sort sort, RunView& view) {
  view.sorted_otherwise = sort != Sort::kTime;
  const auto key = [sort](const OpFigure& op) {
    switch (sort) {
      case Sort::kCalls:
        return static_cast<double>(op.calls);
      case Sort::kAverage:
        return op.calls > 0 ? static_cast<double>(op.ns) / static_cast<double>(op.calls) : 0.0;
      case Sort::kWaste:
        return static_cast<double>(op.wasted_ns.value_or(0));
      case Sort::kTime:
        break;
    }
    return static_cast<double>(op.ns);
  };
  std::stable_sort(view.ops.begin(), view.ops.end(),
                   [&](const OpFigure& a, const OpFigure& b) { return key(a) > key(b); });
}

}  // namespace xlatrace::report
