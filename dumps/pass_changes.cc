// SPDX-License-Identifier: Apache-2.0
#include "dumps/pass_changes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/ordered_work.h"
#include "dumps/dump_files.h"
#include "hlo/module_summary.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::dumps {
namespace {

// Cheaper than Summarize: no cost, no source.
void Count(const model::HloModule& module, StepCounts& counts) {
  const std::vector<bool> inlined = hlo::InlinedComputations(module);
  std::map<std::string_view, int64_t> opcodes;
  for (const model::Instruction& instruction : module.instructions) {
    if (inlined[instruction.computation] || !hlo::IsOperation(instruction.opcode)) continue;
    ++opcodes[instruction.opcode];
    ++counts.operations;
  }
  for (const auto& [opcode, count] : opcodes) counts.opcodes.emplace(opcode, count);
  counts.instructions = static_cast<int64_t>(module.instructions.size());
  counts.content_hash = module.content_hash;
}

StepCounts CountStep(const PassStep& step) {
  StepCounts counts;
  auto bytes = ReadDumpFile(step.file);
  if (!bytes) {
    counts.error = bytes.error().message;
    return counts;
  }
  counts.text_hash = Hash(*bytes);
  auto module = hlo::ReadAny(std::make_shared<const std::string>(std::move(*bytes)));
  if (!module) {
    counts.error = fmt::format("reading '{}': {}", step.file, module.error().message);
    return counts;
  }
  Count(*module, counts);
  return counts;
}

}  // namespace

std::vector<StepCounts> CountSteps(const std::vector<PassStep>& steps) {
  std::vector<StepCounts> counts;
  OrderedWork<StepCounts>(
      steps.size(), [&](size_t i) { return CountStep(steps[i]); },
      [&](size_t, StepCounts step) {
        counts.push_back(std::move(step));
        return true;
      });
  return counts;
}

std::string DeltaText(const std::map<std::string, int64_t, std::less<>>& before,
                      const std::map<std::string, int64_t, std::less<>>& after, size_t most) {
  std::map<std::string_view, int64_t> deltas;
  for (const auto& [opcode, count] : after) deltas[opcode] += count;
  for (const auto& [opcode, count] : before) deltas[opcode] -= count;
  std::vector<std::pair<int64_t, std::string_view>> ordered;
  for (const auto& [opcode, delta] : deltas) {
    if (delta != 0) ordered.emplace_back(delta, opcode);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::abs(a.first) > std::abs(b.first);
  });
  std::string text;
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (i == most) {
      text += fmt::format(" and {} more", ordered.size() - most);
      break;
    }
    text += fmt::format("{}{:+} {}", i == 0 ? "" : "  ", ordered[i].first, ordered[i].second);
  }
  return text;
}

}  // namespace xlatrace::dumps
