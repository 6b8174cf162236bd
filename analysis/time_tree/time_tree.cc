// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/time_tree.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/intervals.h"
#include "analysis/range_paths.h"
#include "analysis/time_tree/device_time.h"
#include "analysis/time_tree/idle_time.h"
#include "analysis/time_tree/process_steps.h"
#include "analysis/time_tree/tree_rows.h"
#include "analysis/time_tree/waits.h"
#include "analysis/timeline.h"
#include "base/text.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::Id;
using model::TimeTreeRow;
using model::TreeKind;

// Earlier and later than any time of a run.
constexpr int64_t kBeforeAllNs = INT64_MIN / 4;
constexpr int64_t kAfterAllNs = INT64_MAX / 4;

// The names "train.py(12): f" and "$train.py:12 f" contain the source location.
void SetPlace(TimeTreeRow& row) {
  const bool xprof = row.name.starts_with('$');
  if (row.instruction_id != 0 || (!xprof && !IsPythonFrame(row.name))) return;
  const size_t line = row.name.find(xprof ? ".py:" : ".py(");
  if (line == row.name.npos) return;
  int64_t number = 0;
  for (size_t at = line + 4; at < row.name.size() && IsDigit(row.name[at]) && number < INT32_MAX;
       ++at) {
    number = 10 * number + (row.name[at] - '0');
  }
  if (number == 0) return;
  row.source_file = row.name.substr(xprof ? 1 : 0, line + (xprof ? 2 : 3));
  row.source_line = number;
}

class TreeBuilder {
 public:
  TreeBuilder(const model::RunTables& run, const model::AttributionTables& attribution,
              const std::vector<model::StepRow>& steps, const Sources& sources);

  TimeTree Build(const std::vector<model::CollectiveRow>& collectives);

 private:
  Intervals RootOf(Id process_id) const;
  std::vector<Region> RegionsOf(size_t device);
  void MovePauses(size_t device);
  using Waits = std::unordered_map<uint32_t, Wait>;
  void DivideCollectives(DeviceTime& time, const Waits& waits);
  int64_t WaitedUntil(const CollectivePiece& piece, const Wait& wait) const;
  void MoveWaitsOfTheJob(const Waits& waits);
  void AddSeen(size_t late, const std::vector<DeviceWait>& waits);
  std::vector<TimeTreeRow> ScopeRows(const std::vector<size_t>& devices,
                                     const std::vector<int64_t>& steady, bool job) const;

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const Sources& sources_;
  const std::vector<model::NamedCompile>& named_compiles_;
  const std::vector<ActivityClass>& classes_;
  const std::vector<std::vector<uint32_t>>& by_device_;
  std::vector<Intervals> roots_;  // By process, like the next.
  std::vector<ProcessSteps> steps_;
  NodeTable nodes_;
  std::vector<std::unique_ptr<DeviceTime>> times_;  // By device.

  // For rows of the job: replaces a wait by the late device's activity in that time.
  struct Seen {
    size_t late = 0;  // Device (index).
    std::unique_ptr<DeviceTime> busy, others;
  };
  std::vector<Seen> seen_;
  std::vector<std::vector<Entry>> moved_waits_;  // By device; negative.
};

TreeBuilder::TreeBuilder(const model::RunTables& run, const model::AttributionTables& attribution,
                         const std::vector<model::StepRow>& steps, const Sources& sources)
    : run_(run),
      attribution_(attribution),
      sources_(sources),
      named_compiles_(sources.compiles),
      classes_(sources.classes),
      by_device_(sources.by_device) {
  for (size_t p = 0; p < run.processes.size(); ++p) {
    const auto process_id = static_cast<Id>(p + 1);
    roots_.push_back(RootOf(process_id));
    steps_.push_back(StepsFromRows(run, steps, process_id));
  }
  times_.resize(run.devices.size());
  for (size_t d = 0; d < times_.size(); ++d) {
    times_[d] = std::make_unique<DeviceTime>(run_, attribution_, classes_, RegionsOf(d), nodes_);
    ForEachSegment(run_, by_device_[d], [&](const Segment& segment) { times_[d]->Add(segment); });
    times_[d]->Finish();
    MovePauses(d);
  }
}

// The recorded windows; of a source that states none, from the first record to the last.
Intervals TreeBuilder::RootOf(Id process_id) const {
  Intervals windows;
  for (const model::Window& window : run_.windows) {
    if (window.process_id == process_id) windows.push_back({window.start_ns, window.end_ns});
  }
  windows = Normalise(std::move(windows));
  Interval work{kAfterAllNs, kBeforeAllNs};
  for (size_t d = 0; d < run_.devices.size(); ++d) {
    if (run_.devices[d].process_id != process_id) continue;
    for (const uint32_t i : by_device_[d]) {
      work.start_ns = std::min(work.start_ns, run_.activities.start_ns[i]);
      work.end_ns = std::max(work.end_ns, run_.activities.end_ns(i));
    }
  }
  if (work.start_ns >= work.end_ns) return windows;
  const std::optional<int64_t> from =
      run_.processes[static_cast<size_t>(process_id) - 1].recorded_from_ns;
  if (!windows.empty() && windows != Intervals{work}) {
    if (from) windows.front().start_ns = std::min(windows.front().start_ns, *from);
    return windows;
  }
  Interval root = work;
  if (from) root.start_ns = std::min(root.start_ns, *from);
  const auto extend = [&](int64_t start_ns, int64_t end_ns) {
    root.start_ns = std::min(root.start_ns, start_ns);
    root.end_ns = std::max(root.end_ns, end_ns);
  };
  for (const model::StepMark& mark : run_.step_marks) {
    if (mark.process_id == process_id) extend(mark.start_ns, mark.end_ns);
  }
  for (const model::NamedCompile& span : named_compiles_) {
    if (span.process_id == process_id) extend(span.start_ns, span.end_ns);
  }
  if (sources_.host_events) {
    for (const model::HostEvent& event :
         sources_.host_events({{kBeforeAllNs, work.start_ns}, {work.end_ns, kAfterAllNs}})) {
      if (event.process_id == process_id) extend(event.start_ns, event.end_ns);
    }
  }
  return {root};
}

std::vector<Region> TreeBuilder::RegionsOf(size_t device) {
  const Id process_id = run_.devices[device].process_id;
  const auto process = static_cast<size_t>(process_id) - 1;
  const Intervals& root = roots_[process];
  const std::vector<uint32_t>& activities = by_device_[device];
  if (root.empty() || activities.empty()) return {};
  int64_t first_start = kAfterAllNs;
  int64_t last_end = kBeforeAllNs;
  for (const uint32_t i : activities) {
    first_start = std::min(first_start, run_.activities.start_ns[i]);
    last_end = std::max(last_end, run_.activities.end_ns(i));
  }
  const NodeId top = NodeTable::kRoot;
  const NodeId startup = nodes_.Child(top, TreeKind::kStartup);
  const NodeId shutdown = nodes_.Child(top, TreeKind::kShutdown);
  std::vector<Region> wanted;  // The whole line of time, before windows cut it.
  int64_t now = kBeforeAllNs;
  const auto add = [&](int64_t until, NodeId base, int32_t step, bool idle_below) {
    if (until <= now) return;
    wanted.push_back({now, until, base, step, idle_below});
    now = until;
  };
  const ProcessSteps& steps = steps_[process];
  const auto at =
      std::find(steps.devices.begin(), steps.devices.end(), static_cast<Id>(device + 1));
  const std::vector<StepSpan>& spans = steps.spans[static_cast<size_t>(at - steps.devices.begin())];
  bool started = false;
  for (const StepSpan& span : spans) {
    if (span.first_execution) {
      add(span.start_ns, startup, kNoStepIndex, false);
      add(span.end_ns, nodes_.Child(startup, TreeKind::kFirstExecution), kNoStepIndex, false);
      continue;
    }
    if (started) {
      add(span.start_ns, nodes_.Child(top, TreeKind::kBetweenSteps), kNoStepIndex, false);
    } else {
      add(span.start_ns, startup, kNoStepIndex, false);
    }
    started = true;
    const NodeId step = nodes_.Child(nodes_.Child(top, TreeKind::kSteps), TreeKind::kStep);
    const auto number = std::lower_bound(steps.numbers.begin(), steps.numbers.end(), span.number);
    add(span.end_ns, step, static_cast<int32_t>(number - steps.numbers.begin()), true);
  }
  if (started) {
    add(last_end, nodes_.Child(top, TreeKind::kBetweenSteps), kNoStepIndex, false);
  } else {
    add(first_start, startup, kNoStepIndex, false);
    add(last_end, top, kNoStepIndex, true);
  }
  add(kAfterAllNs, shutdown, kNoStepIndex, false);

  std::vector<Region> regions;
  size_t w = 0;
  for (const Interval& window : root) {
    while (w < wanted.size() && wanted[w].end_ns <= window.start_ns) ++w;
    for (size_t k = w; k < wanted.size() && wanted[k].start_ns < window.end_ns; ++k) {
      Region region = wanted[k];
      region.start_ns = std::max(region.start_ns, window.start_ns);
      region.end_ns = std::min(region.end_ns, window.end_ns);
      regions.push_back(region);
    }
  }
  return regions;
}

// A paused step keeps as much idle time as the unpaused step with the most. The rest goes to
// `pause`: first from the end of the longest idle interval, then of the next longest.
void TreeBuilder::MovePauses(size_t device) {
  const ProcessSteps& steps = steps_[static_cast<size_t>(run_.devices[device].process_id) - 1];
  if (steps.figures.paused.empty() || !steps.figures.known()) return;
  DeviceTime& time = *times_[device];
  std::vector<IdlePiece>& idle = time.idle();
  std::vector<int64_t> idle_ns(steps.numbers.size(), 0);
  for (const IdlePiece& piece : idle) {
    const int32_t step = time.regions()[piece.region].step;
    if (step != kNoStepIndex) idle_ns[static_cast<size_t>(step)] += piece.end_ns - piece.start_ns;
  }
  const auto in = [](const std::vector<int64_t>& numbers, int64_t number) {
    return std::binary_search(numbers.begin(), numbers.end(), number);
  };
  int64_t usual = 0;
  std::vector<bool> paused(steps.numbers.size(), false);
  for (size_t s = 0; s < steps.numbers.size(); ++s) {
    paused[s] = in(steps.figures.paused, steps.numbers[s]);
    if (!paused[s] && in(steps.figures.steady, steps.numbers[s])) {
      usual = std::max(usual, idle_ns[s]);
    }
  }
  std::map<size_t, std::vector<size_t>> pieces_of;  // By step: positions in `idle`.
  for (size_t k = 0; k < idle.size(); ++k) {
    const int32_t step = time.regions()[idle[k].region].step;
    if (step != kNoStepIndex && paused[static_cast<size_t>(step)]) {
      pieces_of[static_cast<size_t>(step)].push_back(k);
    }
  }
  uint32_t pause_region = 0;
  std::vector<IdlePiece> moved;
  for (auto& [step, pieces] : pieces_of) {
    int64_t excess = idle_ns[step] - usual;
    std::stable_sort(pieces.begin(), pieces.end(), [&](size_t a, size_t b) {
      return idle[a].end_ns - idle[a].start_ns > idle[b].end_ns - idle[b].start_ns;
    });
    for (size_t k = 0; k < pieces.size() && excess > 0; ++k) {
      if (pause_region == 0) {
        const NodeId between = nodes_.Child(NodeTable::kRoot, TreeKind::kBetweenSteps);
        pause_region = time.AddRegion(
            {.base = nodes_.Child(between, TreeKind::kPause), .idle_below_node = false});
      }
      IdlePiece& piece = idle[pieces[k]];
      const int64_t cut = std::min(excess, piece.end_ns - piece.start_ns);
      IdlePiece pause = piece;
      pause.start_ns = piece.end_ns - cut;
      pause.region = pause_region;
      piece.end_ns -= cut;
      moved.push_back(pause);
      excess -= cut;
    }
  }
  if (moved.empty()) return;
  std::erase_if(idle, [](const IdlePiece& piece) { return piece.start_ns >= piece.end_ns; });
  idle.insert(idle.end(), moved.begin(), moved.end());
  std::stable_sort(idle.begin(), idle.end(),
                   [](const IdlePiece& a, const IdlePiece& b) { return a.start_ns < b.start_ns; });
}

// The first instants of a collective, up to its waiting time, are `wait`; the rest is `transfer`.
void TreeBuilder::DivideCollectives(DeviceTime& time, const Waits& waits) {
  for (const CollectivePiece& piece : time.collectives()) {
    const Region& region = time.regions()[piece.region];
    const NodeId parent = nodes_.Child(region.base, TreeKind::kExposedCollective);
    const auto wait = waits.find(piece.activity);
    const auto put = [&](NodeId node, int64_t ns) {
      if (ns > 0) time.entries().push_back({node, region.step, ns * piece.weight});
    };
    if (wait == waits.end()) {
      put(nodes_.Child(parent, TreeKind::kUnknown, "wait or transfer"),
          piece.end_ns - piece.start_ns);
      continue;
    }
    const int64_t waited_until = WaitedUntil(piece, wait->second);
    if (waited_until > piece.start_ns) {
      put(nodes_.Child(parent, TreeKind::kWait, PlaceOf(run_, wait->second.late)),
          waited_until - piece.start_ns);
    }
    put(nodes_.Child(parent, TreeKind::kTransfer), piece.end_ns - waited_until);
  }
}

int64_t TreeBuilder::WaitedUntil(const CollectivePiece& piece, const Wait& wait) const {
  return std::clamp(run_.activities.start_ns[piece.activity] + wait.ns, piece.start_ns,
                    piece.end_ns);
}

// In the rows of the job, a wait is what the late device does meanwhile. If that was not recorded,
// the wait remains.
void TreeBuilder::MoveWaitsOfTheJob(const Waits& waits) {
  std::vector<std::vector<DeviceWait>> for_device(times_.size());
  moved_waits_.resize(times_.size());
  for (size_t d = 0; d < times_.size(); ++d) {
    for (const CollectivePiece& piece : times_[d]->collectives()) {
      const auto wait = waits.find(piece.activity);
      if (wait == waits.end()) continue;
      // All leave an exchange together: that fits the clocks of both devices.
      const int64_t ahead_ns =
          run_.activities.end_ns(wait->second.late) - run_.activities.end_ns(piece.activity);
      const Interval waited{piece.start_ns + ahead_ns, WaitedUntil(piece, wait->second) + ahead_ns};
      const size_t late = static_cast<size_t>(run_.LaneOf(wait->second.late).device_id) - 1;
      const auto process = static_cast<size_t>(run_.devices[late].process_id) - 1;
      if (late == d || waited.start_ns >= waited.end_ns ||
          Overlap(roots_[process], waited) != waited.end_ns - waited.start_ns) {
        continue;
      }
      for_device[late].push_back({waited.start_ns, waited.end_ns, late});
      const Region& region = times_[d]->regions()[piece.region];
      const NodeId node = nodes_.Child(nodes_.Child(region.base, TreeKind::kExposedCollective),
                                       TreeKind::kWait, PlaceOf(run_, wait->second.late));
      moved_waits_[d].push_back({node, region.step, waited.start_ns - waited.end_ns});
    }
  }
  for (size_t late = 0; late < for_device.size(); ++late) {
    if (!for_device[late].empty()) AddSeen(late, for_device[late]);
  }
  for (Seen& seen : seen_) DivideCollectives(*seen.others, waits);
}

void TreeBuilder::AddSeen(size_t late, const std::vector<DeviceWait>& waits) {
  const std::vector<WaitedFor> stretches = WaitedForBy(waits);
  DeviceTime& time = *times_[late];
  Seen seen{late,
            std::make_unique<DeviceTime>(run_, attribution_, classes_,
                                         PiecesDuring(time.regions(), stretches), nodes_),
            std::make_unique<DeviceTime>(run_, attribution_, classes_, time.regions(), nodes_)};
  ForEachSegment(run_, by_device_[late], [&](const Segment& segment) { seen.busy->Add(segment); });
  seen.busy->Finish();
  seen.others->idle() = PiecesDuring(time.idle(), stretches);
  seen.others->collectives() = PiecesDuring(time.collectives(), stretches);
  seen_.push_back(std::move(seen));
}

std::vector<TimeTreeRow> TreeBuilder::ScopeRows(const std::vector<size_t>& devices,
                                                const std::vector<int64_t>& steady,
                                                bool job) const {
  static const std::vector<int64_t> kNone;
  const auto steps_of = [&](size_t d) -> const ProcessSteps& {
    return steps_[static_cast<size_t>(run_.devices[d].process_id) - 1];
  };
  const auto with_steps = [&](const std::vector<Entry>& of, size_t d) {
    const ProcessSteps& steps = steps_of(d);
    return DeviceEntries{&of, &steps.numbers, steps.figures.known() ? &steps.figures.kept : &kNone};
  };
  std::vector<DeviceEntries> entries;
  TypicalSteps typical_steps;
  for (const size_t d : devices) {
    entries.push_back(with_steps(times_[d]->entries(), d));
    if (job && d < moved_waits_.size()) entries.push_back(with_steps(moved_waits_[d], d));
    const ProcessSteps& steps = steps_of(d);
    const auto at = std::find(steps.devices.begin(), steps.devices.end(), static_cast<Id>(d + 1));
    const auto& spans = steps.spans[static_cast<size_t>(at - steps.devices.begin())];
    typical_steps.devices += spans.empty() ? 0 : 1;
    for (const StepSpan& span : spans) {
      const std::vector<int64_t>& typical = *entries.back().typical;
      typical_steps.steps +=
          std::binary_search(typical.begin(), typical.end(), span.number) ? 1 : 0;
    }
  }
  for (size_t k = 0; job && k < seen_.size(); ++k) {
    entries.push_back(with_steps(seen_[k].busy->entries(), seen_[k].late));
    entries.push_back(with_steps(seen_[k].others->entries(), seen_[k].late));
  }
  return TreeRows(nodes_, entries, devices.size(), typical_steps, steady);
}

TimeTree TreeBuilder::Build(const std::vector<model::CollectiveRow>& collectives) {
  const Waits waits = WaitsOf(run_, classes_, by_device_, collectives);
  for (const std::unique_ptr<DeviceTime>& time : times_) DivideCollectives(*time, waits);
  std::vector<DeviceIdle> idle;
  for (size_t d = 0; d < times_.size(); ++d) {
    idle.push_back({static_cast<Id>(d + 1), times_[d].get()});
  }
  if (run_.processes.size() > 1) MoveWaitsOfTheJob(waits);
  for (const Seen& seen : seen_) {
    idle.push_back({static_cast<Id>(seen.late + 1), seen.others.get(), true});
  }
  IdleDivision division = DivideIdleTime(run_, classes_, named_compiles_, sources_.host_events,
                                         sources_.call_of, idle, nodes_);
  TimeTree result;
  result.gap_stacks = std::move(division.gap_stacks);
  result.gap_parts = std::move(division.gap_parts);
  std::vector<TimeTreeRow>& rows = result.rows;
  const auto append = [&](std::vector<TimeTreeRow> tree, Id process_id, Id device_id) {
    const auto before = static_cast<Id>(rows.size());
    for (TimeTreeRow& row : tree) {
      if (row.parent_id != 0) row.parent_id += before;
      row.process_id = process_id;
      row.device_id = device_id;
      SetPlace(row);
      rows.push_back(std::move(row));
    }
  };
  std::vector<std::vector<size_t>> of_process(run_.processes.size());
  std::vector<size_t> all;
  for (size_t d = 0; d < times_.size(); ++d) {
    if (times_[d]->regions().empty()) continue;
    of_process[static_cast<size_t>(run_.devices[d].process_id) - 1].push_back(d);
    all.push_back(d);
  }
  std::vector<TimeTreeRow> tree;
  size_t last_size = 0;  // Devices in `tree`.
  for (size_t p = 0; p < of_process.size(); ++p) {
    const std::vector<size_t>& devices = of_process[p];
    if (devices.empty()) continue;
    const auto process_id = static_cast<Id>(p + 1);
    for (const size_t d : devices) {
      tree = ScopeRows({d}, steps_[p].figures.steady, false);
      append(tree, process_id, static_cast<Id>(d + 1));
    }
    if (devices.size() > 1) tree = ScopeRows(devices, steps_[p].figures.steady, false);
    append(tree, process_id, 0);
    last_size = devices.size();
  }
  if (all.empty()) return result;
  if (all.size() > last_size) {
    std::vector<std::vector<StepSpan>> spans;
    for (const ProcessSteps& steps : steps_) {
      spans.insert(spans.end(), steps.spans.begin(), steps.spans.end());
    }
    tree = ScopeRows(all, FiguresOf(spans).steady, true);
  }
  append(std::move(tree), 0, 0);
  return result;
}

}  // namespace

TimeTree BuildTimeTree(const model::RunTables& run, const model::AttributionTables& attribution,
                       const std::vector<model::CollectiveRow>& collectives,
                       const std::vector<model::StepRow>& steps, const Sources& sources) {
  return TreeBuilder(run, attribution, steps, sources).Build(collectives);
}

}  // namespace xlatrace::analysis::time_tree
