#include "correlator/execution_grouping.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace xlatrace::correlator {
namespace {

using model::AttributionTables;
using model::Execution;
using model::Id;
using model::RunTables;

uint64_t Key(Id high, Id low) {
  return static_cast<uint64_t>(high) << 32 | static_cast<uint32_t>(low);
}

// An instruction of the entry computation on the main lane of a track.
struct Landmark {
  uint32_t occurrences = 0;
  int64_t rank = -1;            // Place in the schedule among what runs once; -1: runs more often.
  uint32_t last_execution = 0;  // That held it.
};

// A module on a device while its activities are walked in time order.
struct Track {
  std::unordered_map<Id, Landmark> landmarks;
  int64_t once_count = 0;  // Landmarks with a rank.
  uint32_t main_lane = 0;  // The lane with most entry activities.
  std::unordered_map<uint32_t, uint32_t> lane_counts;
  uint32_t execution = 0;        // The open one.
  Id previous = 0;               // Last instruction on the main lane,
  uint32_t previous_config = 0;  // and how it was launched.
  int64_t previous_rank = -1;    // Of the open execution.

  // Ranks the landmarks that run once per execution. A capture that starts or ends inside an
  // execution has one more or one less of some.
  void RankLandmarks() {
    std::map<uint32_t, uint32_t> frequency;
    for (const auto& [instruction, landmark] : landmarks) ++frequency[landmark.occurrences];
    uint32_t usual = 0;
    uint32_t most = 0;
    for (const auto& [occurrences, count] : frequency) {
      if (count >= most) usual = occurrences;
      most = std::max(most, count);
    }
    const uint32_t slack = usual > 1 ? 1 : 0;
    std::vector<Id> once;
    for (const auto& [instruction, landmark] : landmarks) {
      if (landmark.occurrences + slack >= usual && landmark.occurrences <= usual + slack) {
        once.push_back(instruction);
      }
    }
    std::sort(once.begin(), once.end());
    once_count = static_cast<int64_t>(once.size());
    for (int64_t rank = 0; rank < once_count; ++rank) {
      landmarks[once[static_cast<size_t>(rank)]].rank = rank;
    }
  }

  // True when this instruction, next on the main lane, cannot be of the open execution: it was
  // there already, or the schedule jumps back by more than half (less is the freedom that the
  // branches of a CUDA graph have).
  bool Restarts(Id instruction, bool continues) const {
    if (continues) return false;
    const auto it = landmarks.find(instruction);
    if (it == landmarks.end() || it->second.rank < 0) return false;
    return it->second.last_execution == execution ||
           2 * (previous_rank - it->second.rank) > once_count;
  }

  void Pass(Id instruction, uint32_t config) {
    previous = instruction;
    previous_config = config;
    const auto it = landmarks.find(instruction);
    if (it == landmarks.end() || it->second.rank < 0) return;
    it->second.last_execution = execution;
    previous_rank = it->second.rank;
  }
};

class Grouper {
 public:
  Grouper(const RunTables& run, const ModuleTable& modules, AttributionTables* tables)
      : run_(run), modules_(modules), tables_(*tables) {}

  void Run() {
    tables_.execution_of.assign(run_.activities.size(), 0);
    ByRunKey();
    ByTime();
    Number();
    MarkComplete();
  }

 private:
  const model::Label& LabelOf(size_t activity) const {
    return tables_.labels[tables_.label_of[activity] - 1];
  }
  Id DeviceOf(size_t activity) const { return run_.LaneOf(activity).device_id; }

  uint32_t Open(Id module_id, Id device_id) {
    Execution execution;
    execution.module_id = module_id;
    execution.device_id = device_id;
    tables_.executions.push_back(execution);
    return static_cast<uint32_t>(tables_.executions.size());
  }

  // True for a further kernel of the instruction that came before on the lane: a sort's or a
  // library's. A fusion has one kernel, an op of a CPU or TPU one record; those begin again.
  bool Continues(const Track& track, size_t activity) const {
    const Id instruction = LabelOf(activity).instruction_id;
    if (instruction != track.previous) return false;
    const uint32_t config = run_.activities.config[activity];
    const bool one_record = run_.configs[config - 1].kind != model::ActivityKind::kKernel ||
                            modules_.row(instruction).opcode == "fusion";
    return !(one_record && config == track.previous_config);
  }

  void ByRunKey();
  void ByTime();
  void Count(const std::vector<uint32_t>& order);
  void Number();
  void MarkComplete();

  const RunTables& run_;
  const ModuleTable& modules_;
  AttributionTables& tables_;
  std::unordered_map<uint64_t, Track> tracks_;  // (device, module)
};

void Grouper::ByRunKey() {
  // One group can hold work of another module (a callback that launches a helper): those are
  // executions of their own. What has no module belongs to the group's first one.
  const auto& columns = run_.activities;
  std::unordered_map<uint64_t, uint32_t> main_of;  // (run key, device)
  std::unordered_map<uint64_t, std::vector<uint32_t>> all_of;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Id module_id = LabelOf(i).module_id;
    if (columns.run_key[i] == 0 || module_id == 0) continue;
    const uint64_t key = Key(columns.run_key[i], DeviceOf(i));
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
    if (columns.run_key[i] == 0 || tables_.execution_of[i] != 0) continue;
    const auto main = main_of.find(Key(columns.run_key[i], DeviceOf(i)));
    if (main != main_of.end()) tables_.execution_of[i] = main->second;
  }
}

void Grouper::Count(const std::vector<uint32_t>& order) {
  const auto& columns = run_.activities;
  const auto entry_instruction = [&](uint32_t i) -> Id {
    const model::Label& label = LabelOf(i);
    if (label.instruction_id == 0) return 0;
    return modules_.entry(label.module_id).IsEntry(label.instruction_id) ? label.instruction_id : 0;
  };
  for (const uint32_t i : order) {
    if (entry_instruction(i) == 0) continue;
    ++tracks_[Key(DeviceOf(i), LabelOf(i).module_id)].lane_counts[columns.lane[i]];
  }
  for (auto& [key, track] : tracks_) {
    uint32_t most = 0;
    for (const auto& [lane, count] : track.lane_counts) {
      if (count > most || (count == most && lane < track.main_lane)) {
        most = count;
        track.main_lane = lane;
      }
    }
  }
  for (const uint32_t i : order) {
    const Id instruction = entry_instruction(i);
    if (instruction == 0) continue;
    Track& track = tracks_[Key(DeviceOf(i), LabelOf(i).module_id)];
    if (columns.lane[i] != track.main_lane) continue;
    if (!Continues(track, i)) ++track.landmarks[instruction].occurrences;
    track.previous = instruction;
    track.previous_config = columns.config[i];
  }
  for (auto& [key, track] : tracks_) {
    track.RankLandmarks();
    track.previous = 0;
  }
}

void Grouper::ByTime() {
  const auto& columns = run_.activities;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (columns.run_key[i] == 0 && LabelOf(i).module_id != 0) order.push_back(i);
  }
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return columns.start_ns[a] != columns.start_ns[b] ? columns.start_ns[a] < columns.start_ns[b]
                                                      : a < b;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    std::sort(order.begin(), order.end(), earlier);
  }
  Count(order);

  std::vector<Id> module_on_lane(run_.lanes.size() + 1, 0);
  for (const uint32_t i : order) {
    const model::Label& label = LabelOf(i);
    const uint32_t lane = columns.lane[i];
    Track& track = tracks_[Key(DeviceOf(i), label.module_id)];
    const bool main_lane = track.main_lane == 0 || lane == track.main_lane;
    bool starts = track.execution == 0;
    if (main_lane) {
      starts |=
          module_on_lane[lane] != label.module_id ||
          (label.instruction_id != 0 && track.Restarts(label.instruction_id, Continues(track, i)));
      module_on_lane[lane] = label.module_id;
    }
    if (starts) {
      track.execution = Open(label.module_id, DeviceOf(i));
      track.previous_rank = -1;
    }
    tables_.execution_of[i] = track.execution;
    if (main_lane && label.instruction_id != 0) track.Pass(label.instruction_id, columns.config[i]);
  }
}

void Grouper::Number() {
  const auto& columns = run_.activities;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (tables_.execution_of[i] == 0) continue;
    Execution& execution = tables_.executions[tables_.execution_of[i] - 1];
    if (execution.activities == 0 || columns.start_ns[i] < execution.start_ns) {
      execution.start_ns = columns.start_ns[i];
    }
    if (execution.activities == 0 || columns.end_ns(i) > execution.end_ns) {
      execution.end_ns = columns.end_ns(i);
    }
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
  // Activities by execution, so that one mark per instruction is enough to count it once.
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
  std::vector<uint32_t> common(executions + 1, 0);  // Common instructions that an execution holds.
  const auto for_each_first = [&](auto&& visit) {
    std::fill(last_seen.begin(), last_seen.end(), 0);
    for (uint32_t execution = 1; execution <= executions; ++execution) {
      for (uint32_t at = begin[execution]; at < begin[execution + 1]; ++at) {
        const model::Label& label = LabelOf(order[at]);
        const auto instruction = static_cast<size_t>(label.instruction_id);
        if (instruction == 0 || last_seen[instruction] == execution) continue;
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

void GroupExecutions(const RunTables& run, const ModuleTable& modules, AttributionTables* tables) {
  Grouper(run, modules, tables).Run();
}

}  // namespace xlatrace::correlator
