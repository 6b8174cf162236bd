// SPDX-License-Identifier: Apache-2.0
#include "export/stack_times.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/time_split.h"
#include "base/text.h"

namespace xlatrace::exporter {
namespace {

struct Sums {
  int64_t self_ns = 0;
  int64_t launches = 0;
};

}  // namespace

std::vector<std::string_view> OpNameComponents(std::string_view op_name) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  const auto end_part = [&](size_t end) {
    if (end > begin) parts.push_back(op_name.substr(begin, end - begin));
    begin = end + 1;
  };
  for (size_t i = 0; i < op_name.size(); ++i) {
    const char c = op_name[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (c == '/' && depth == 0) end_part(i);
  }
  end_part(op_name.size());
  return parts;
}

std::vector<StackTime::Frame> StackTime::Frames() const {
  std::vector<Frame> frames;
  if (!module.empty()) frames.push_back({module, {}, 0});
  if (!unattributed_reason.empty()) {
    frames.push_back({fmt::format("(no instruction: {})", unattributed_reason), {}, 0});
  }
  for (const model::SourcePlace& call : calls) {
    frames.push_back({fmt::format("{} {}:{}", call.function, LastPart(call.file), call.line),
                      call.file, call.line, call.function});
  }
  if (unattributed_reason.empty() && op_name.empty()) frames.push_back({"(no op_name)", {}, 0});
  for (const std::string_view part : OpNameComponents(op_name)) {
    frames.push_back({std::string(part), {}, 0});
  }
  frames.push_back({leaf.empty() ? "(no name)" : leaf, source_file, source_line.value_or(0)});
  return frames;
}

Result<std::vector<StackTime>> SumStacks(const RunRows& run) {
  const analysis::TimeSplit split(run.attribution());
  const auto labels = static_cast<int64_t>(run.attribution().labels.size());
  // By process, label, scope and, without an instruction, what ran.
  std::map<std::tuple<int64_t, int64_t, uint32_t, int64_t>, Sums> sums;
  XLATRACE_TRY(run.ForEachLaunch([&](const store::ScannedLaunch& launch) -> Status {
    if (launch.label_id < 1 || launch.label_id > labels) return {};
    const int64_t process = At(run.devices(), At(run.lanes(), launch.lane_id).device_id).process_id;
    const bool attributed = run.LabelOf(launch.label_id).instruction_id != 0;
    const int64_t config = attributed ? 0 : launch.config_id;
    Sums* largest = nullptr;
    int64_t largest_ns = -1;
    split.Split(static_cast<uint32_t>(launch.label_id), launch.self_ns,
                [&](const analysis::Piece& piece, int64_t ns) {
                  Sums& sum = sums[{process, launch.label_id, piece.scope, config}];
                  sum.self_ns += ns;
                  if (ns > largest_ns) {
                    largest_ns = ns;
                    largest = &sum;
                  }
                });
    if (largest != nullptr && launch.timed) ++largest->launches;
    return {};
  }));
  std::vector<StackTime> stacks;
  for (const auto& [key, sum] : sums) {
    const auto& [process, label_id, scope_number, config_id] = key;
    const model::Label& label = run.LabelOf(label_id);
    const model::ScopeTimeRow& scope = split.scopes()[scope_number];
    StackTime stack;
    stack.process_id = process;
    stack.phase = scope.phase;
    stack.module = At(run.modules(), label.module_id).name;
    stack.op_name = scope.op_name;
    stack.source_file = scope.source_file;
    stack.source_line = scope.source_line;
    if (scope.stack_id != 0) {
      const model::AttributionTables& tables = run.attribution();
      const std::vector<uint32_t>& places = tables.source_stacks[scope.stack_id - 1].places;
      // A line without a function is no call stack.
      for (size_t k = places.size(); k > 0; --k) {
        const model::SourcePlace& place = tables.source_places[places[k - 1]];
        if (!place.function.empty()) stack.calls.push_back(place);
      }
    }
    if (const model::InstructionRow* instruction = run.InstructionOf(label)) {
      stack.leaf = instruction->name;
    } else {
      const ConfigFacts& config = At(run.configs(), config_id);
      stack.leaf = !config.name.empty() ? config.name : config.kind;
      stack.unattributed_reason = std::string(model::Text(label.reason));
    }
    stack.self_ns = sum.self_ns;
    stack.launches = sum.launches;
    stacks.push_back(std::move(stack));
  }
  const auto order = [](const StackTime& s) {
    return std::tie(s.process_id, s.phase, s.module, s.unattributed_reason, s.op_name, s.leaf,
                    s.source_file, s.source_line);
  };
  std::stable_sort(stacks.begin(), stacks.end(),
                   [&](const StackTime& a, const StackTime& b) { return order(a) < order(b); });
  return stacks;
}

}  // namespace xlatrace::exporter
