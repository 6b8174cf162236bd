// SPDX-License-Identifier: Apache-2.0
#include "tools/explain_output.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "analysis/module_labels.h"
#include "base/number_format.h"
#include "hlo/cost/cost.h"
#include "hlo/module_origin.h"
#include "hlo/module_summary.h"
#include "report/text_table.h"
#include "tools/dump_text.h"
#include "tools/json_line.h"

namespace xlatrace::tools {
namespace {

using hlo::Cost;
using model::HloModule;
using model::Instruction;

constexpr int kExplainSchemaVersion = 1;
constexpr size_t kMaxExplainedOpcodes = 8;
// Maximum number of stack frames per instruction, from the innermost one. The limit keeps the size
// of the output linear in the size of the input.
constexpr size_t kMaxFrames = 64;

void AddCost(std::string_view key, const Cost& cost, JsonLine& line) {
  line.Begin(key)
      .IntOrNull("flops", cost.flops)
      .IntOrNull("bytes_accessed", cost.bytes_accessed)
      .IntOrNull("output_bytes", cost.output_bytes)
      .IntOrNull("transcendentals", cost.transcendentals)
      .End();
}

// The two cost models of a module.
struct CostModels {
  CostModels(const HloModule& module, bool with_gpu) : plain(module) {
    if (with_gpu) gpu.emplace(module, hlo::CostOptions{.kind = hlo::CostKind::kGpu});
  }

  hlo::CostModel plain;
  std::optional<hlo::CostModel> gpu;
};

// Module totals have no output of their own: it is the root's.
Cost TotalOf(const hlo::CostModel& model, const HloModule& module) {
  Cost total = model.Total();
  if (module.entry < module.computations.size()) {
    const uint32_t root = module.computations[module.entry].root;
    if (root < module.instructions.size()) {
      total.output_bytes = model.Of(module.instructions[root]).output_bytes;
    }
  }
  return total;
}

void AddStack(const HloModule& module, const Instruction& instruction, JsonLine& line) {
  line.BeginArray("stack");
  uint32_t number = instruction.metadata.stack_frame;
  for (size_t count = 0; number != 0 && number <= module.stack_frames.size(); ++count) {
    if (count == kMaxFrames) break;
    const model::StackFrame& frame = module.stack_frames[number - 1];
    line.BeginItem()
        .Text("file", frame.file)
        .Int("line", frame.line)
        .Text("function", frame.function)
        .End();
    number = frame.parent;
  }
  line.EndArray();
}

void AddInstruction(const dumps::ExplainedFile& file, const Instruction& instruction,
                    const analysis::ModuleLabels& labels, const CostModels& costs, bool with_cost,
                    std::string& out) {
  const HloModule& module = *file.module;
  const auto index = static_cast<uint32_t>(&instruction - module.instructions.data());
  const model::Computation& computation = module.computations[instruction.computation];
  const Cost plain = costs.plain.Of(instruction);
  JsonLine line(out);
  line.Int("schema_version", kExplainSchemaVersion)
      .Text("file", file.path)
      .Text("module", module.name)
      .Text("computation", computation.name)
      .Text("instruction", instruction.name)
      .Bool("is_root", instruction.is_root)
      .Bool("is_entry", computation.is_entry)
      .Text("opcode", instruction.opcode)
      .Text("shape", instruction.shape)
      .TextOrNull("op_name", instruction.metadata.op_name)
      .TextOrNull("source_file", instruction.metadata.source_file)
      .IntOrNull("source_line", instruction.metadata.source_line > 0
                                    ? std::optional<int64_t>(instruction.metadata.source_line)
                                    : std::nullopt)
      .Text("phase", model::Text(labels.instructions[index].phase))
      .TextOrNull("layer", labels.LayerOf(index))
      .IntOrNull("flops", plain.flops)
      .IntOrNull("bytes", plain.bytes_accessed);
  std::vector<std::string_view> operands;
  for (const uint32_t operand : module.Operands(instruction)) {
    operands.push_back(module.instructions[operand].name);
  }
  line.TextOrNull("target", instruction.custom_call_target).Texts("operands", operands);
  AddStack(module, instruction, line);
  if (with_cost && costs.gpu) {
    line.Begin("cost");
    AddCost("hlo", plain, line);
    AddCost("gpu", costs.gpu->Of(instruction), line);
    line.End();
  }
  line.Close();
}

void AddNames(const dumps::DumpName& name, JsonLine& line) {
  if (name.program_id >= 0) line.Int("program_id", name.program_id);
  if (!name.platform.empty()) line.Text("platform", name.platform);
  if (!name.target.empty()) line.Text("target", name.target);
  if (name.pass_number >= 0) line.Int("pass_number", name.pass_number);
  if (!name.pipeline.empty()) line.Text("pipeline", name.pipeline);
  if (!name.pass.empty()) line.Text("after_pass", name.pass);
  if (!name.next_pass.empty()) line.Text("before_pass", name.next_pass);
  if (name.timestamp_us > 0) line.Int("timestamp_us", name.timestamp_us);
}

std::string WhatOf(const dumps::ExplainedFile& file) {
  std::string what = file.note.what;
  if (file.note.name) {
    if (const std::string of = dumps::ModuleText(*file.note.name); !of.empty()) what += ", " + of;
  }
  return what;
}

std::string ErrorText(const dumps::ExplainedFile& file) {
  if (!file.line) return file.error;
  return fmt::format("line {}, column {}: {}", *file.line, file.column.value_or(0), file.error);
}

std::string OptionalFlops(const std::optional<int64_t>& flops) {
  return flops ? Flop(static_cast<double>(*flops)) : "unknown";
}
std::string OptionalBytes(const std::optional<int64_t>& bytes) {
  return bytes ? Bytes(static_cast<double>(*bytes)) : "unknown";
}

std::string CostText(const Cost& cost) {
  std::string text = fmt::format(
      "{}, {} accessed, {} of it written by the root, {} transcendental", OptionalFlops(cost.flops),
      OptionalBytes(cost.bytes_accessed), OptionalBytes(cost.output_bytes),
      cost.transcendentals ? Thousands(*cost.transcendentals) : "unknown");
  if (cost.unknown > 0) text += fmt::format("; {} not counted", Count(cost.unknown, "operation"));
  return text;
}

// The largest of a list of arrays, in words.
std::string LargestOf(const std::vector<hlo::ModuleValue>& values) {
  const hlo::ModuleValue* largest = nullptr;
  for (const hlo::ModuleValue& value : values) {
    if (largest == nullptr || value.bytes > largest->bytes) largest = &value;
  }
  if (largest == nullptr) return {};
  const std::string& name = largest->label.empty() ? largest->name : largest->label;
  return fmt::format("the largest {} {}, {}", name, largest->shape,
                     Bytes(static_cast<double>(largest->bytes)));
}

void AppendModule(const dumps::ExplainedFile& file, const ExplainParts& parts, int width,
                  std::string& out) {
  const HloModule& module = *file.module;
  const hlo::ModuleSummary summary = hlo::Summarize(module);
  std::string from = hlo::OriginOfModule(summary.name).Text();
  const std::string source = SourceText(summary.source, true);
  if (!source.empty()) from += ", " + source;
  AppendField("from", from, width, out);
  AppendField("holds",
              fmt::format("{}, {}; {} in the entry computation{}",
                          Count(summary.computations, "computation"),
                          Count(summary.instructions, "instruction"), summary.entry_instructions,
                          summary.is_scheduled ? ", in the order they run" : ""),
              width, out);
  if (summary.operations > 0) {
    AppendField("ops", hlo::OpcodeText(summary.opcodes, kMaxExplainedOpcodes), width, out);
  }
  if (!summary.fused_opcodes.empty()) {
    AppendField("inside", hlo::OpcodeText(summary.fused_opcodes, kMaxExplainedOpcodes), width, out);
  }
  if (!summary.parameters.empty()) {
    AppendField("takes",
                fmt::format("{}, {}; {}",
                            Count(static_cast<int64_t>(summary.parameters.size()), "parameter"),
                            Bytes(static_cast<double>(summary.parameter_bytes)),
                            LargestOf(summary.parameters)),
                width, out);
  }
  AppendField("gives",
              fmt::format("{}, {}", Count(static_cast<int64_t>(summary.results.size()), "array"),
                          Bytes(static_cast<double>(summary.result_bytes))),
              width, out);
  if (!summary.constants.empty()) {
    AppendField(
        "constants",
        fmt::format("{}, {}; {}", Count(static_cast<int64_t>(summary.constants.size()), "array"),
                    Bytes(static_cast<double>(summary.constant_bytes)),
                    LargestOf(summary.constants)),
        width, out);
  }
  if (summary.peak_memory_bytes >= 0) {
    AppendField("memory",
                fmt::format("{} of buffers", Bytes(static_cast<double>(summary.peak_memory_bytes))),
                width, out);
  }
  if (parts.cost) {
    const CostModels costs(module, true);
    AppendField("cost.hlo", CostText(TotalOf(costs.plain, module)), width, out);
    AppendField("cost.gpu", CostText(TotalOf(*costs.gpu, module)), width, out);
  } else if (summary.flops) {
    std::string work = fmt::format("{}, {} read and written", OptionalFlops(summary.flops),
                                   OptionalBytes(summary.bytes_accessed));
    if (summary.unknown_costs > 0) {
      work += fmt::format("; {} not counted", Count(summary.unknown_costs, "operation"));
    }
    AppendField("does", work, width, out);
  }
  if (summary.replica_count > 1 || summary.num_partitions > 1) {
    AppendField("devices",
                fmt::format("{}, {}", Count(summary.replica_count, "replica"),
                            Count(summary.num_partitions, "partition")),
                width, out);
  }
  for (const std::string& warning : module.warnings) AppendField("note", warning, width, out);
}

void AppendInstructions(const dumps::ExplainedFile& file, const ExplainParts& parts, int width,
                        std::string& out) {
  const HloModule& module = *file.module;
  const analysis::ModuleLabels labels = analysis::LabelModule(module);
  const CostModels costs(module, parts.cost);
  std::vector<report::TextColumn> columns = {{.heading = "instruction", .at_most = 32},
                                             {.heading = "opcode", .at_most = 20},
                                             {.heading = "flops", .right = true},
                                             {.heading = "bytes", .right = true}};
  if (parts.cost) {
    columns.push_back({.heading = "gpu flops", .right = true});
    columns.push_back({.heading = "gpu bytes", .right = true});
  }
  columns.push_back({.heading = "phase"});
  columns.push_back({.heading = "source", .at_most = 24});
  columns.push_back({.heading = "shape", .at_most = std::max(width / 5, 16)});
  columns.push_back({.heading = "layer", .path = true, .flexible = true});
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? Thousands(*value) : std::string("?");
  };
  for (const model::Computation& computation : module.computations) {
    out += fmt::format("\n  {}{}\n", computation.is_entry ? "ENTRY " : "",
                       Printable(computation.name));
    report::TextTable table(columns);
    for (const Instruction& instruction : module.InstructionsOf(computation)) {
      const auto index = static_cast<uint32_t>(&instruction - module.instructions.data());
      const Cost plain = costs.plain.Of(instruction);
      std::vector<std::string> cells = {
          (instruction.is_root ? "ROOT " : "") + std::string(instruction.name),
          std::string(instruction.opcode), number(plain.flops), number(plain.bytes_accessed)};
      if (costs.gpu) {
        const Cost gpu = costs.gpu->Of(instruction);
        cells.push_back(number(gpu.flops));
        cells.push_back(number(gpu.bytes_accessed));
      }
      cells.emplace_back(model::Text(labels.instructions[index].phase));
      const model::OpMetadata& metadata = instruction.metadata;
      cells.push_back(
          metadata.source_file.empty()
              ? ""
              : fmt::format("{}:{}", BaseName(metadata.source_file), metadata.source_line));
      cells.push_back(hlo::WithoutLayout(instruction.shape));
      cells.push_back(labels.LayerOf(index));
      table.Add(std::move(cells));
    }
    for (const std::string& line : table.Lines(width - 2, false)) out += "  " + line + "\n";
  }
}

}  // namespace

uint64_t FileSize(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

std::string ExplainJson(const dumps::ExplainedFile& file, const ExplainParts& parts) {
  std::string out;
  if (file.ok() && file.module && parts.instructions) {
    const analysis::ModuleLabels labels = analysis::LabelModule(*file.module);
    const CostModels costs(*file.module, parts.cost);
    out.reserve(file.module->instructions.size() * 400);
    for (const Instruction& instruction : file.module->instructions) {
      AddInstruction(file, instruction, labels, costs, parts.cost, out);
    }
    return out;
  }
  JsonLine line(out);
  line.Int("schema_version", kExplainSchemaVersion)
      .Text("file", file.path)
      .Text("what", WhatOf(file))
      .Bool("ok", file.ok());
  if (!file.ok()) {
    line.Text("error", file.error).IntOrNull("line", file.line).IntOrNull("column", file.column);
  } else if (file.module) {
    line.Text("module", file.module->name)
        .Int("computations", static_cast<int64_t>(file.module->computations.size()))
        .Int("instructions", static_cast<int64_t>(file.module->instructions.size()));
  } else {
    line.TextOrNull("module", file.note.name ? file.note.name->module_name : std::string());
    if (file.note.kind == "thunk_sequence") {
      line.Int("thunks", static_cast<int64_t>(file.thunks.size()));
    }
  }
  if (!file.holds.empty()) line.Text("holds", file.holds);
  if (!file.warning.empty()) line.Text("warning", file.warning);
  line.Text("kind", file.note.kind);
  if (file.note.name) AddNames(*file.note.name, line);
  line.TextOrNull("purpose", file.note.purpose).TextOrNull("next", file.note.next);
  if (file.ok() && file.module && parts.cost) {
    const CostModels costs(*file.module, true);
    line.Begin("cost");
    AddCost("hlo", TotalOf(costs.plain, *file.module), line);
    AddCost("gpu", TotalOf(*costs.gpu, *file.module), line);
    line.End();
  }
  line.Close();
  return out;
}

std::string ExplainCard(const dumps::ExplainedFile& file, const ExplainParts& parts, int width) {
  std::string out = Printable(file.path) + "\n";
  AppendField("what", WhatOf(file), width, out);
  if (!file.note.purpose.empty()) AppendField("for", file.note.purpose, width, out);
  if (!file.ok()) {
    AppendField("error", ErrorText(file), width, out);
    if (!file.hint.empty()) AppendField("hint", file.hint, width, out);
    return out;
  }
  if (file.module) {
    AppendModule(file, parts, width, out);
  } else {
    std::string holds = Bytes(static_cast<double>(file.size_bytes));
    if (!file.thunks.empty()) {
      holds = Count(static_cast<int64_t>(file.thunks.size()), "thunk") + ", " + holds;
    }
    if (!file.holds.empty()) holds = file.holds + "; " + holds;
    AppendField("holds", holds, width, out);
  }
  if (!file.warning.empty()) AppendField("note", "not understood: " + file.warning, width, out);
  if (!file.note.next.empty()) AppendField("next", file.note.next, width, out);
  if (file.module && parts.instructions) AppendInstructions(file, parts, width, out);
  return out;
}

ExplainRow RowOf(const dumps::ExplainedFile& file) {
  ExplainRow row{.path = file.path, .what = file.note.brief};
  const std::string_view base = BaseName(file.path);
  row.folder = file.path.substr(0, file.path.size() - base.size());
  row.name = base;
  if (file.note.name && !file.note.name->suffix.empty()) {
    row.module = dumps::ModuleText(*file.note.name);
    row.name = file.note.name->suffix;
    if (!file.note.name->compression.empty()) row.name += "." + file.note.name->compression;
  }
  if (file.module) row.instructions = static_cast<int64_t>(file.module->instructions.size());
  if (!file.ok()) row.error = ErrorText(file);
  return row;
}

// Headings have folder and module, so that lines are short.
std::string ExplainTable(const std::vector<ExplainRow>& rows, const Terminal& terminal) {
  constexpr int kMinDescriptionWidth = 24;
  constexpr int kCountWidth = 20;
  int names = 0;
  for (const ExplainRow& row : rows) names = std::max(names, DisplayWidth(Printable(row.name)));
  names =
      std::min(names, std::max(terminal.width - 2 - 2 - kMinDescriptionWidth - kCountWidth, 20));
  const int whats = std::max(terminal.width - 2 - names - 2, kMinDescriptionWidth);
  std::string out;
  std::string heading;
  for (const ExplainRow& row : rows) {
    const std::string of = row.folder + row.module;
    if (of != heading && !of.empty()) out += Printable(of) + "\n";
    heading = of;
    std::string tail = row.error.empty() ? row.what : "cannot be read: " + row.error;
    if (row.instructions) tail += fmt::format("; {}", Count(*row.instructions, "instruction"));
    const std::string name = Printable(row.name);
    const bool fits = DisplayWidth(name) <= names;
    const std::vector<std::string> lines =
        report::Wrap(Printable(tail), fits ? whats : terminal.width - 6);
    if (!fits) out += "  " + name + "\n";
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string start = fits ? FitLeft(i == 0 ? name : "", names) + "  " : "    ";
      out += "  " + start + lines[i] + "\n";
    }
  }
  return out;
}

}  // namespace xlatrace::tools
