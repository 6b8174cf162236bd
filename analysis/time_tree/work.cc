// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/work.h"

#include <algorithm>
#include <cstddef>

#include "base/nearly_sorted.h"

namespace xlatrace::analysis::time_tree {
using model::Id;

std::string ProgramKey(const model::RunTables& run, const model::AttributionTables& attribution,
                       Id module_id, Identity identity) {
  const auto at = static_cast<size_t>(module_id) - 1;
  if (identity == Identity::kName) return "program name " + run.modules[at].name;
  const std::string& print = attribution.modules[at].fingerprint;
  return print.empty() ? "module " + std::to_string(module_id) : "program " + print;
}

uint32_t WorkNames::Number(const std::string& key, const Facts& facts_of_key) {
  const auto [known, is_new] = number_of.try_emplace(key, static_cast<uint32_t>(facts.size()));
  if (is_new) facts.push_back(facts_of_key);
  return known->second;
}

std::vector<Work> WorkOf(const model::RunTables& run, const model::AttributionTables& attribution,
                         const std::vector<ActivityClass>& classes,
                         const std::vector<uint32_t>& activities, const HostCallOf& call_of,
                         const std::vector<bool>& optimizers, WorkNames& names) {
  constexpr uint32_t kNoWhatIndex = UINT32_MAX;
  std::vector<uint32_t> of_program(attribution.modules.size(), kNoWhatIndex);
  std::vector<uint32_t> of_op(attribution.instructions.size() + 1, kNoWhatIndex);
  std::vector<uint32_t> of_config(run.configs.size(), kNoWhatIndex);
  std::vector<uint32_t> unit_of(attribution.executions.size(), 0);  // Position + 1.
  std::vector<Work> works;

  const auto what_of = [&](uint32_t i, uint32_t execution) {
    if (execution != 0) {
      const Id module = attribution.executions[execution - 1].module_id;
      uint32_t& number = of_program[static_cast<size_t>(module) - 1];
      if (number == kNoWhatIndex) {
        number = names.Number(
            ProgramKey(run, attribution, module, names.identity),
            {.program = true, .optimizer = optimizers[static_cast<size_t>(module) - 1]});
      }
      return number;
    }
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    const bool is_op = label.evidence == model::Evidence::kOpRange && label.instruction_id > 0;
    const model::LaunchConfig& config = run.ConfigOf(i);
    const bool copy = classes[i] == ActivityClass::kCopy;
    bool optimizer = false;
    uint32_t& number = is_op ? of_op[static_cast<size_t>(label.instruction_id)]
                             : of_config[run.activities.config[i] - 1];
    if (number == kNoWhatIndex) {
      std::string key;
      if (copy) {
        key = "copy " + std::to_string(static_cast<int>(config.kind)) + " " +
              std::to_string(static_cast<int>(config.copy_kind));
      } else if (is_op) {
        const model::InstructionRow& op =
            attribution.instructions[static_cast<size_t>(label.instruction_id) - 1];
        key = "op " + op.name;
        optimizer = op.phase == model::Phase::kOptimizer;
      } else {
        key = "kernel " + config.symbol;
      }
      number = names.Number(key, {.optimizer = optimizer, .copy = copy});
    }
    return number;
  };

  int64_t last_called = kCalledBeforeNs;
  bool any_call = false;
  for (const uint32_t i : activities) {
    const uint32_t execution =
        attribution.execution_of[i] != 0 &&
                attribution.executions[attribution.execution_of[i] - 1].module_id > 0
            ? attribution.execution_of[i]
            : 0;
    if (execution != 0 && unit_of[execution - 1] != 0) {
      Work& work = works[unit_of[execution - 1] - 1];
      work.end_ns = std::max(work.end_ns, run.activities.end_ns(i));
      work.device_ns += run.activities.self_ns[i];
      if (const auto call = call_of && work.has_call ? call_of(i) : std::nullopt) {
        work.launched_ns = std::max(work.launched_ns, call->end_ns);
      }
      continue;
    }
    Work work;
    work.start_ns = run.activities.start_ns[i];
    work.end_ns = run.activities.end_ns(i);
    work.device_ns = run.activities.self_ns[i];
    work.what = what_of(i, execution);
    work.copy = names.facts[work.what].copy;
    const auto call = call_of ? call_of(i) : std::nullopt;
    work.has_call = call.has_value();
    any_call |= work.has_call;
    // Work without a call keeps its place behind the work that ran before it. If no earlier work
    // has a call, it was launched before the recording.
    work.called_ns = call ? call->start_ns : last_called;
    if (call) work.launched_ns = call->end_ns;
    if (call) last_called = std::max(last_called, work.called_ns);
    works.push_back(work);
    if (execution != 0) unit_of[execution - 1] = static_cast<uint32_t>(works.size());
  }
  if (!any_call) {
    for (Work& work : works) work.called_ns = work.start_ns;
  }
  SortNearlySorted(works, [](const Work& a, const Work& b) {
    return a.called_ns != b.called_ns ? a.called_ns < b.called_ns : a.start_ns < b.start_ns;
  });
  return works;
}

}  // namespace xlatrace::analysis::time_tree
