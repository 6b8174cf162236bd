// SPDX-License-Identifier: Apache-2.0
#include "correlator/execution_grouping.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "correlator/execution_track.h"
#include "correlator/loss_parts.h"

namespace xlatrace::correlator {
namespace {

using model::AttributionTables;
using model::Execution;
using model::Id;
using model::RunTables;

uint64_t Key(Id high, Id low) {
  return static_cast<uint64_t>(high) << 32 | static_cast<uint32_t>(low);
}

// A track and the lane with the sequence of its module's ops. Activities on other lanes
// (collectives, copies) join the open execution. On a CPU, all lanes are equal.
struct Track {
  Track(uint32_t entry_size, bool serial) : steps(entry_size, serial) {}

  void CountLane(uint32_t lane) { ++lane_counts[lane]; }
  void SettleLane() {
    uint32_t most = 0;
    for (const auto& [lane, count] : lane_counts) {
      if (count > most) main_lane = lane;
      most = std::max(most, count);
    }
  }
  bool IsMainLane(uint32_t lane) const {
    return main_lane == 0 || lane == main_lane || !steps.serial();
  }

  ExecutionTrack steps;
  std::map<uint32_t, uint32_t> lane_counts;
  uint32_t main_lane = 0;
  uint32_t execution = 0;  // Row of the open execution.
  uint32_t part = 0;       // Part of its activities (loss_parts.h).
};

class Grouper {
 public:
  Grouper(const RunTables& run, const ModuleTable& modules, std::span<const uint32_t> aligned,
          AttributionTables* tables)
      : run_(run), modules_(modules), aligned_(aligned), tables_(*tables), parts_(run) {
    for (const uint32_t run_key : run.activities.run_key) told_ = std::max(told_, run_key);
  }

  void Run() {
    tables_.execution_of.assign(run_.activities.size(), 0);
    ByRunKey();
    JoinAligned();
    ByTime();
    Number();
    MarkComplete();
  }

 private:
  const model::Label& LabelOf(size_t activity) const {
    return tables_.labels[tables_.label_of[activity] - 1];
  }
  // Group from the source, else from thunk order; 0: neither.
  uint32_t GroupOf(size_t activity) const {
    const uint32_t told = run_.activities.run_key[activity];
    if (told != 0 || aligned_.empty() || aligned_[activity] == 0) return told;
    return told_ + aligned_[activity];
  }
  Id DeviceOf(size_t activity) const { return run_.LaneOf(activity).device_id; }

  uint32_t Open(Id module_id, Id device_id) {
    Execution execution;
    execution.module_id = module_id;
    execution.device_id = device_id;
    tables_.executions.push_back(execution);
    return static_cast<uint32_t>(tables_.executions.size());
  }

  void ByRunKey();
  void JoinAligned();
  void ByTime();
  void ReadLabels();
  std::vector<uint32_t> TimeOrder() const;
  Track& TrackOf(size_t activity);
  void Number();
  void MarkComplete();

  const RunTables& run_;
  const ModuleTable& modules_;
  std::span<const uint32_t> aligned_;
  uint32_t told_ = 0;  // The largest group number of the source.
  AttributionTables& tables_;
  const LossParts parts_;
  std::vector<bool> withheld_;  // By activity: it may belong to no known execution. Empty: none.
  // Facts on an activity's label, by label_id; a flat vector, because each activity needs them.
  struct LabelFacts {
    uint32_t module_id = 0;
    TrackItem item;  // Without the launch configuration.
  };
  std::vector<LabelFacts> labels_;
  std::vector<Track> tracks_;
  std::unordered_map<uint64_t, uint32_t> track_ids_;  // (device, module) -> index.
  std::vector<uint32_t> track_of_label_;              // By label, on the device of ...
  std::vector<uint32_t> device_of_label_;             // ... its last activity.
};

void Grouper::ByRunKey() {
  // One group can contain work of another module (a callback that launches a helper), which gets
  // separate executions. Activities without a module belong to the group's first one.
  const auto& columns = run_.activities;
  std::unordered_map<uint64_t, uint32_t> main_of;  // (run key, device)
  std::unordered_map<uint64_t, std::vector<uint32_t>> all_of;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Id module_id = LabelOf(i).module_id;
    if (GroupOf(i) == 0 || module_id == 0) continue;
    const uint64_t key = Key(GroupOf(i), DeviceOf(i));
    uint32_t& main = main_of[key];
    if (main != 0 && tables_.executions[main - 1].module_id == module_id) {
      tables_.execution_of[i] = main;
      continue;
    }
    if (main == 0) {
      tables_.execution_of[i] = main = Open(module_id, DeviceOf(i));
      continue;
    }
    std::vector<uint32_t>& others = all_of[key];
    const auto same = std::find_if(others.begin(), others.end(), [&](uint32_t execution) {
      return tables_.executions[execution - 1].module_id == module_id;
    });
    if (same != others.end()) {
      tables_.execution_of[i] = *same;
    } else {
      others.push_back(tables_.execution_of[i] = Open(module_id, DeviceOf(i)));
    }
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (GroupOf(i) == 0 || tables_.execution_of[i] != 0) continue;
    const auto main = main_of.find(Key(GroupOf(i), DeviceOf(i)));
    if (main != main_of.end()) tables_.execution_of[i] = main->second;
  }
}

// Some launches have no place in thunk order (equal kernels of branches). They still ran in the
// execution around them, because a device runs the executions of a module one after the other. A
// launch outside of executions, or where two overlap, forms no execution if its instruction is not
// known either. Otherwise, all such kernels of a run would be one execution.
void Grouper::JoinAligned() {
  if (aligned_.empty()) return;
  struct Span {
    int64_t start_ns, end_ns;
    uint32_t execution;
    int64_t latest_end_ns;  // Maximum over this one and all before it.
  };
  const auto& columns = run_.activities;
  std::vector<Span> spans(tables_.executions.size(), {INT64_MAX, INT64_MIN, 0, 0});
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns.run_key[i] != 0 || tables_.execution_of[i] == 0 || !columns.timed(i)) continue;
    Span& span = spans[tables_.execution_of[i] - 1];
    span.start_ns = std::min(span.start_ns, columns.start_ns[i]);
    span.end_ns = std::max(span.end_ns, columns.end_ns(i));
    span.execution = tables_.execution_of[i];
  }
  std::unordered_map<uint64_t, std::vector<Span>> of_program;  // (device, module)
  for (const Span& span : spans) {
    if (span.execution == 0) continue;
    const Execution& execution = tables_.executions[span.execution - 1];
    of_program[Key(execution.device_id, execution.module_id)].push_back(span);
  }
  for (auto& [key, list] : of_program) {
    std::sort(list.begin(), list.end(),
              [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
    int64_t latest = INT64_MIN;
    for (Span& span : list) span.latest_end_ns = latest = std::max(latest, span.end_ns);
  }
  withheld_.assign(columns.size(), false);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (GroupOf(i) != 0 || tables_.execution_of[i] != 0 || !columns.timed(i)) continue;
    const model::Label& label = LabelOf(i);
    const auto program = of_program.find(Key(DeviceOf(i), label.module_id));
    if (label.module_id == 0 || program == of_program.end()) continue;
    const std::vector<Span>& list = program->second;
    const int64_t start = columns.start_ns[i];
    const auto after =
        std::upper_bound(list.begin(), list.end(), start,
                         [](int64_t time, const Span& span) { return time < span.start_ns; });
    const bool inside = after != list.begin() && columns.end_ns(i) <= after[-1].end_ns &&
                        (after - 1 == list.begin() || after[-2].latest_end_ns <= start) &&
                        (after == list.end() || columns.end_ns(i) <= after->start_ns);
    if (inside) {
      tables_.execution_of[i] = after[-1].execution;
    } else if (label.instruction_id == 0) {
      withheld_[i] = true;
    }
  }
}

void Grouper::ReadLabels() {
  labels_.resize(tables_.labels.size() + 1);
  for (size_t i = 0; i < tables_.labels.size(); ++i) {
    const model::Label& label = tables_.labels[i];
    LabelFacts& facts = labels_[i + 1];
    facts.module_id = static_cast<uint32_t>(label.module_id);
    if (label.instruction_id == 0 || label.module_id == 0) continue;
    const ModuleEntry& entry = modules_.entry(label.module_id);
    if (!entry.IsEntry(label.instruction_id)) continue;
    facts.item.entry_index =
        static_cast<uint32_t>(label.instruction_id - 1) - entry.entry_first_row;
    const model::InstructionRow& row = modules_.row(label.instruction_id);
    // Without HLO, the name is the only evidence.
    facts.item.one_record = row.opcode == "fusion" ||
                            (row.opcode.empty() && row.name.find("fusion") != std::string::npos);
    facts.item.product =
        row.opcode == "custom-call" &&
        (row.op_kind == model::OpKind::kGemm || row.op_kind == model::OpKind::kConvolution);
  }
  track_of_label_.assign(labels_.size(), 0);
  device_of_label_.assign(labels_.size(), 0);
}

Track& Grouper::TrackOf(size_t activity) {
  const uint32_t label = tables_.label_of[activity];
  const auto device = static_cast<uint32_t>(DeviceOf(activity));
  if (device_of_label_[label] != device) {
    const uint32_t module_id = labels_[label].module_id;
    const auto [it, inserted] =
        track_ids_.try_emplace(Key(device, module_id), static_cast<uint32_t>(tracks_.size()));
    if (inserted) {
      const bool serial = run_.DeviceOf(activity).kind != model::DeviceKind::kCpu;
      tracks_.emplace_back(modules_.entry(module_id).entry_row_count, serial);
    }
    track_of_label_[label] = it->second;
    device_of_label_[label] = device;
  }
  return tracks_[track_of_label_[label]];
}

std::vector<uint32_t> Grouper::TimeOrder() const {
  const auto& columns = run_.activities;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (GroupOf(i) != 0 || tables_.execution_of[i] != 0) continue;
    if (!withheld_.empty() && withheld_[i]) continue;
    if (labels_[tables_.label_of[i]].module_id != 0) order.push_back(i);
  }
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return columns.start_ns[a] != columns.start_ns[b] ? columns.start_ns[a] < columns.start_ns[b]
                                                      : a < b;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    std::sort(order.begin(), order.end(), earlier);
  }
  return order;
}

void Grouper::ByTime() {
  const auto& columns = run_.activities;
  ReadLabels();
  const std::vector<uint32_t> order = TimeOrder();
  const auto item_of = [&](uint32_t i) {
    TrackItem item = labels_[tables_.label_of[i]].item;
    item.config = columns.config[i];
    item.one_record |= run_.configs[item.config - 1].kind != model::ActivityKind::kKernel;
    return item;
  };
  for (const uint32_t i : order) {
    if (labels_[tables_.label_of[i]].item.entry_index == TrackItem::kNoEntryIndex) continue;
    TrackOf(i).CountLane(columns.lane[i]);
  }
  for (Track& track : tracks_) track.SettleLane();
  for (const uint32_t i : order) {
    Track& track = TrackOf(i);
    if (track.IsMainLane(columns.lane[i])) track.steps.Observe(item_of(i));
  }
  for (Track& track : tracks_) track.steps.Settle();

  std::vector<uint32_t> module_on_lane(run_.lanes.size() + 1, 0);
  for (const uint32_t i : order) {
    const uint32_t module_id = labels_[tables_.label_of[i]].module_id;
    Track& track = TrackOf(i);
    const TrackItem item = item_of(i);
    const bool main_lane = track.IsMainLane(columns.lane[i]);
    bool starts = !track.steps.is_open();
    if (parts_.any()) {
      // Missing records may contain the end of one execution and the start of the next.
      const uint32_t part = parts_.PartOf(i);
      starts |= part != track.part;
      track.part = part;
    }
    if (main_lane) {
      // Another module ran in between. If ops run one after the other, nothing overlaps it.
      const bool interrupted = module_on_lane[columns.lane[i]] != module_id;
      starts |= interrupted && (track.steps.serial() || !track.steps.has_landmarks());
      starts |= track.steps.Restarts(item);
      module_on_lane[columns.lane[i]] = module_id;
    }
    if (starts) {
      track.steps.Open();
      track.execution = Open(module_id, DeviceOf(i));
    }
    tables_.execution_of[i] = track.execution;
    if (main_lane) track.steps.Pass(item);
  }
}

void Grouper::Number() {
  const auto& columns = run_.activities;
  std::vector<bool> timed(tables_.executions.size() + 1, false);
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint32_t number = tables_.execution_of[i];
    if (number == 0) continue;
    Execution& execution = tables_.executions[number - 1];
    // Activities without times count only if there are no others.
    const bool known = columns.timed(i);
    const bool first = known ? !timed[number] : execution.activities == 0;
    if (first || (known && columns.start_ns[i] < execution.start_ns)) {
      execution.start_ns = columns.start_ns[i];
    }
    if (first || (known && columns.end_ns(i) > execution.end_ns)) {
      execution.end_ns = columns.end_ns(i);
    }
    timed[number] = timed[number] || known;
    ++execution.activities;
  }
  std::vector<uint32_t> order(tables_.executions.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Execution& x = tables_.executions[a];
    const Execution& y = tables_.executions[b];
    return std::tie(x.start_ns, x.device_id, a) < std::tie(y.start_ns, y.device_id, b);
  });
  std::vector<Execution> sorted;
  std::vector<uint32_t> number(order.size() + 1, 0);
  sorted.reserve(order.size());
  for (const uint32_t at : order) {
    sorted.push_back(tables_.executions[at]);
    number[at + 1] = static_cast<uint32_t>(sorted.size());
  }
  tables_.executions = std::move(sorted);
  for (uint32_t& execution : tables_.execution_of) execution = number[execution];
}

void Grouper::MarkComplete() {
  // Activities by execution, so that one mark per instruction is sufficient to count it once.
  const size_t executions = tables_.executions.size();
  std::vector<uint32_t> begin(executions + 2, 0);
  for (const uint32_t execution : tables_.execution_of) ++begin[execution + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<uint32_t> order(tables_.execution_of.size());
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  for (uint32_t i = 0; i < order.size(); ++i) order[next[tables_.execution_of[i]]++] = i;

  std::vector<uint32_t> last_seen(tables_.instructions.size() + 1, 0);
  std::vector<uint32_t> executions_with(tables_.instructions.size() + 1, 0);
  std::vector<uint32_t> executions_of_module(modules_.size() + 1, 0);
  std::vector<uint32_t> common(executions + 1, 0);  // Number of common instructions in an
                                                    // execution.
  const auto for_each_first = [&](auto&& visit) {
    std::fill(last_seen.begin(), last_seen.end(), 0);
    for (uint32_t execution = 1; execution <= executions; ++execution) {
      for (uint32_t at = begin[execution]; at < begin[execution + 1]; ++at) {
        const model::Label& label = LabelOf(order[at]);
        const auto instruction = static_cast<size_t>(label.instruction_id);
        if (instruction == 0 || label.module_id == 0) continue;
        if (last_seen[instruction] == execution) continue;
        if (!modules_.entry(label.module_id).IsEntry(label.instruction_id)) continue;
        last_seen[instruction] = execution;
        visit(execution, instruction);
      }
    }
  };
  for (const Execution& execution : tables_.executions) {
    ++executions_of_module[static_cast<size_t>(execution.module_id)];
  }
  for_each_first([&](uint32_t, size_t instruction) { ++executions_with[instruction]; });

  std::vector<uint32_t> expected(modules_.size() + 1, 0);
  const auto is_common = [&](size_t instruction) {
    const Id module_id = tables_.instructions[instruction - 1].module_id;
    return 2 * executions_with[instruction] >= executions_of_module[static_cast<size_t>(module_id)];
  };
  for (size_t instruction = 1; instruction <= tables_.instructions.size(); ++instruction) {
    if (executions_with[instruction] == 0 || !is_common(instruction)) continue;
    ++expected[static_cast<size_t>(tables_.instructions[instruction - 1].module_id)];
  }
  for_each_first([&](uint32_t execution, size_t instruction) {
    if (is_common(instruction)) ++common[execution];
  });
  for (uint32_t execution = 1; execution <= executions; ++execution) {
    Execution& row = tables_.executions[execution - 1];
    const uint32_t needed = expected[static_cast<size_t>(row.module_id)];
    row.complete = needed > 0 && common[execution] >= needed;
  }
}

}  // namespace

void GroupExecutions(const RunTables& run, const ModuleTable& modules,
                     std::span<const uint32_t> aligned, AttributionTables* tables) {
  Grouper(run, modules, aligned, tables).Run();
}

}  // namespace xlatrace::correlator
