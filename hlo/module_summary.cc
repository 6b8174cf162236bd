// SPDX-License-Identifier: Apache-2.0
#include "hlo/module_summary.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "hlo/cost/cost.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"
#include "model/user_code.h"

namespace xlatrace::hlo {
namespace {

using model::HloModule;
using model::Instruction;

int64_t AddSaturated(int64_t a, int64_t b) {
  return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max() : a + b;
}

// The function that the module is named after ("train_step" of jit_train_step), with any prefix.
bool IsNamedAfter(std::string_view module, std::string_view function) {
  if (function.empty() || !module.ends_with(function)) return false;
  const size_t before = module.size() - function.size();
  return before == 0 || module[before - 1] == '_';
}

// Walks the stack of each instruction outwards. The frame of the traced function has the name of
// the module. If there is none, the outermost shared frame would be the call, which is not useful.
// Then the file with the most instructions counts.
ModuleSource SourceOf(const HloModule& module) {
  struct Lines {
    int64_t count = 0;
    int32_t first = std::numeric_limits<int32_t>::max();
    int32_t last = 0;
  };
  std::map<std::pair<std::string_view, std::string_view>, Lines> named;
  std::map<std::string_view, Lines> files;
  const auto add = [](Lines& lines, int32_t line) {
    ++lines.count;
    if (line <= 0) return;
    lines.first = std::min(lines.first, line);
    lines.last = std::max(lines.last, line);
  };
  model::UserCode user_code;
  for (const model::StackFrame& frame : module.stack_frames) user_code.AddFile(frame.file);
  for (const Instruction& instruction : module.instructions) {
    user_code.AddFile(instruction.metadata.source_file);
  }
  std::unordered_map<uint32_t, int64_t> by_frame;
  for (const Instruction& instruction : module.instructions) {
    const model::OpMetadata& metadata = instruction.metadata;
    if (metadata.stack_frame > 0) ++by_frame[metadata.stack_frame];
    if (!user_code.IsUser(metadata.source_file)) continue;
    add(files[metadata.source_file], metadata.source_line);
  }
  for (const auto& [leaf, count] : by_frame) {
    for (uint32_t at = leaf; at > 0 && at <= module.stack_frames.size();
         at = module.stack_frames[at - 1].parent) {
      const model::StackFrame& frame = module.stack_frames[at - 1];
      if (!IsNamedAfter(module.name, frame.function)) continue;
      Lines& lines = named[{frame.file, frame.function}];
      add(lines, frame.line);
      lines.count += count;
      break;
    }
  }
  const auto most = [](const auto& a, const auto& b) { return a.second.count < b.second.count; };
  ModuleSource source;
  Lines lines;
  if (!named.empty()) {
    const auto best = std::max_element(named.begin(), named.end(), most);
    source.file = best->first.first;
    source.function = best->first.second;
    lines = best->second;
  } else if (!files.empty()) {
    const auto best = std::max_element(files.begin(), files.end(), most);
    source.file = best->first;
    lines = best->second;
  }
  if (lines.last > 0) {
    source.first_line = lines.first;
    source.last_line = lines.last;
  }
  return source;
}

bool IsMarkedBackward(std::string_view op_name) {
  return op_name.find("transpose(jvp(") != std::string_view::npos ||
         op_name.find("gradient_tape/") != std::string_view::npos ||
         op_name.starts_with("gradients/");
}

ModuleValue ValueOf(const Instruction& instruction) {
  return {.name = std::string(instruction.name),
          .label = std::string(instruction.metadata.op_name),
          .shape = WithoutLayout(instruction.shape),
          .bytes = ByteSize(instruction.shape)};
}

void AddResults(const Instruction& root, ModuleSummary& summary) {
  if (!IsTuple(root.shape)) {
    summary.results.push_back({"result", "", WithoutLayout(root.shape), ByteSize(root.shape)});
  } else {
    for (int64_t i = 0;; ++i) {
      const std::string_view element = TupleElement(root.shape, i);
      if (element.empty()) break;
      summary.results.push_back(
          {fmt::format("result {}", i), "", WithoutLayout(element), ByteSize(element)});
    }
  }
  for (const ModuleValue& result : summary.results) {
    summary.result_bytes = AddSaturated(summary.result_bytes, result.bytes);
  }
}

// XLA's plain model has no custom calls, which are the matrix products on GPUs. The GPU model
// counts the same operations for them.
void AddCost(const HloModule& module, const std::vector<bool>& inlined, ModuleSummary& summary) {
  const Cost total = CostModel(module).Total();
  summary.flops = total.flops;
  summary.bytes_accessed = total.bytes_accessed;
  summary.unknown_costs = total.unknown;
  if (total.unknown == 0) return;
  const CostModel gpu(module, {.kind = CostKind::kGpu});
  for (const Instruction& instruction : module.instructions) {
    if (instruction.opcode != "custom-call") continue;
    if (instruction.computation < inlined.size() && inlined[instruction.computation]) continue;
    const Cost cost = gpu.Of(instruction);
    if (!cost.flops) continue;
    summary.flops = AddSaturated(summary.flops.value_or(0), *cost.flops);
    summary.bytes_accessed =
        AddSaturated(summary.bytes_accessed.value_or(0), cost.bytes_accessed.value_or(0));
    if (summary.unknown_costs > 0) --summary.unknown_costs;
  }
}

std::vector<uint64_t> SketchOfOpNames(const HloModule& module) {
  constexpr size_t kSketchSize = 256;
  std::vector<uint64_t> hashes;
  for (const Instruction& instruction : module.instructions) {
    const std::string_view name = instruction.metadata.op_name;
    if (!name.empty()) hashes.push_back(Hash(name));
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  if (hashes.size() > kSketchSize) hashes.resize(kSketchSize);
  return hashes;
}

}  // namespace

std::string WithoutLayout(std::string_view shape) {
  std::string out;
  int depth = 0;
  for (const char c : shape) {
    if (c == '{') ++depth;
    if (depth == 0) out += c;
    if (c == '}' && depth > 0) --depth;
  }
  return out;
}

std::vector<bool> InlinedComputations(const HloModule& module) {
  std::vector<bool> inlined(module.computations.size(), false);
  for (const Instruction& instruction : module.instructions) {
    const OpWork work = InfoOf(BaseOpcode(instruction.opcode)).work;
    const bool runs_body = work == OpWork::kCall && instruction.opcode != "fusion";
    if (runs_body) continue;
    for (const uint32_t called : module.CalledComputations(instruction)) {
      if (called < inlined.size()) inlined[called] = true;
    }
  }
  return inlined;
}

bool IsOperation(std::string_view opcode) {
  if (opcode.ends_with("-done") || opcode.ends_with("-update")) return false;
  return InfoOf(BaseOpcode(opcode)).work != OpWork::kNone;
}

namespace {

// Without blanks, because protos and old texts differ in blanks; a few dozen letters.
std::string ValueText(std::string_view literal) {
  constexpr size_t kMaxTextBytes = 80;
  std::string text;
  for (const char c : literal) {
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    if (text.size() >= kMaxTextBytes) break;
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

}  // namespace

ModuleSummary Summarize(const HloModule& module) {
  ModuleSummary summary;
  summary.name = module.name;
  summary.program_id = module.program_id;
  summary.content_hash = module.content_hash;
  summary.is_scheduled = module.is_scheduled;
  summary.replica_count = module.replica_count;
  summary.num_partitions = module.num_partitions;
  summary.computations = static_cast<int64_t>(module.computations.size());
  summary.instructions = static_cast<int64_t>(module.instructions.size());
  summary.peak_memory_bytes = module.peak_memory_bytes;
  const std::vector<bool> inlined = InlinedComputations(module);
  std::unordered_map<std::string_view, int64_t> outside;
  std::unordered_map<std::string_view, int64_t> inside;
  for (const Instruction& instruction : module.instructions) {
    const bool is_inlined =
        instruction.computation < inlined.size() && inlined[instruction.computation];
    if (!summary.has_gradient) {
      summary.has_gradient = IsMarkedBackward(instruction.metadata.op_name);
    }
    if (instruction.opcode == "constant" && !is_inlined) {
      const int64_t bytes = ByteSize(instruction.shape);
      summary.constant_bytes = AddSaturated(summary.constant_bytes, bytes);
      if (ElementCount(instruction.shape) > 1) summary.constants.push_back(ValueOf(instruction));
    }
    constexpr size_t kMaxScalars = 256;
    constexpr int64_t kMaxElements = 10;  // More are left out of text.
    if (instruction.opcode == "constant" && summary.scalars.size() < kMaxScalars &&
        ElementCount(instruction.shape) <= kMaxElements) {
      summary.scalars.push_back(
          {std::string(instruction.name), ValueText(module.LiteralOf(instruction))});
    }
    if (!IsOperation(instruction.opcode)) continue;
    ++(is_inlined ? inside : outside)[instruction.opcode];
    if (is_inlined) continue;
    ++summary.operations;
    if (instruction.opcode == "fusion") ++summary.fusions;
  }
  for (const auto& [opcode, count] : outside) summary.opcodes.emplace(opcode, count);
  for (const auto& [opcode, count] : inside) summary.fused_opcodes.emplace(opcode, count);
  if (module.entry < module.computations.size()) {
    const model::Computation& entry = module.computations[module.entry];
    summary.entry_instructions = entry.instruction_count;
    std::vector<std::pair<int64_t, ModuleValue>> parameters;
    for (const Instruction& instruction : module.InstructionsOf(entry)) {
      if (instruction.opcode != "parameter") continue;
      parameters.emplace_back(instruction.parameter_number, ValueOf(instruction));
    }
    std::stable_sort(parameters.begin(), parameters.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [number, value] : parameters) {
      value.aliased = std::binary_search(module.aliased_parameters.begin(),
                                         module.aliased_parameters.end(), number);
      summary.parameter_bytes = AddSaturated(summary.parameter_bytes, value.bytes);
      summary.parameters.push_back(std::move(value));
    }
    if (entry.root < module.instructions.size()) {
      AddResults(module.instructions[entry.root], summary);
    }
  }
  AddCost(module, inlined, summary);
  summary.source = SourceOf(module);
  summary.op_name_sketch = SketchOfOpNames(module);
  return summary;
}

std::string OpcodeText(const std::map<std::string, int64_t, std::less<>>& opcodes, size_t most) {
  std::vector<std::pair<int64_t, std::string_view>> ordered;
  for (const auto& [opcode, count] : opcodes) ordered.emplace_back(-count, opcode);
  std::sort(ordered.begin(), ordered.end());
  std::string text;
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (i == most) {
      text += fmt::format(" and {} more kinds", ordered.size() - most);
      break;
    }
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", -ordered[i].first, ordered[i].second);
  }
  return text;
}

}  // namespace xlatrace::hlo
