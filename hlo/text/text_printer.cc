// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_printer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {
namespace {

using model::Computation;
using model::HloModule;
using model::Instruction;
using model::kNoIndex;
using model::OpDetails;
using model::StackFrame;

// A get-tuple-element that the text holds in its users' operands only.
bool IsCompact(const Instruction& instruction) {
  return instruction.name.find('#') != std::string_view::npos;
}

void AppendName(std::string_view name, std::string& out) {
  if (!name.empty() && !IsIdentifierStart(name[0])) out += '_';
  for (const char c : name) out += IsIdentifierChar(c) || c == '#' ? c : '_';
  if (name.empty()) out += '_';
}

bool IsBalancedDictionary(std::string_view text) {
  if (text.empty() || text.front() != '{') return false;
  TextScanner scan(text);
  std::string_view whole;
  return scan.Balanced(&whole) && whole.size() == text.size();
}

void AppendQuoted(std::string_view key, std::string_view text, std::string& out) {
  out.append(key).append("=\"").append(EscapeText(text)) += '"';
}

void AppendList(std::string_view open, std::span<const int64_t> numbers, std::string_view close,
                std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}{}{}", open, fmt::join(numbers, ","), close);
}

// Attributes of an instruction that was not read from text.
class AttributePrinter {
 public:
  AttributePrinter(const HloModule& module, const Instruction& instruction, std::string& out)
      : module_(module),
        instruction_(instruction),
        details_(module.DetailsOf(instruction)),
        out_(out) {}

  void Print() {
    PrintDetails();
    const auto lhs = module_.LhsContractingDims(instruction_);
    if (instruction_.lhs_contracting_dims.size > 0) {
      AppendList(Next("lhs_contracting_dims={"), lhs, "}", out_);
    }
    if (instruction_.opcode == "get-tuple-element") {
      out_.append(Next("index=")).append(std::to_string(instruction_.tuple_index));
    }
    if (!instruction_.fusion_kind.empty()) {
      out_.append(Next("kind=")).append(instruction_.fusion_kind);
    }
    PrintCalls();
    if (!instruction_.custom_call_target.empty()) {
      AppendQuoted(Next("custom_call_target"), instruction_.custom_call_target, out_);
    }
    PrintMetadata();
    const std::string_view config = instruction_.backend_config;
    if (IsBalancedDictionary(config)) {
      out_.append(Next("backend_config=")).append(config);
    } else if (!config.empty()) {
      AppendQuoted(Next("backend_config"), config, out_);
    }
  }

 private:
  std::string_view Next(std::string_view text) {
    out_ += ", ";
    return text;
  }

  void PrintDetails() {
    const auto list = [&](std::string_view open, model::Slice slice) {
      if (slice.size > 0) AppendList(Next(open), module_.Dims(slice), "}", out_);
    };
    const auto number = [&](std::string_view key, int64_t value, int64_t unless) {
      if (value != unless) out_.append(Next(key)).append(std::to_string(value));
    };
    list("dimensions={", details_.dimensions);
    PrintWindow();
    PrintDimLabels();
    list("fft_length={", details_.fft_length);
    number("feature_group_count=", details_.feature_group_count, 1);
    number("batch_group_count=", details_.batch_group_count, 1);
    if (details_.has_channel) out_.append(Next("channel_id=1"));
    if (const int64_t size = details_.largest_group; size > 0) {
      fmt::format_to(std::back_inserter(out_), ", replica_groups=[1,{}]<=[{}]", size, size);
    }
    if (details_.use_global_device_ids) out_.append(Next("use_global_device_ids=true"));
    if (details_.rhs_group_dims > 0) {
      out_.append(Next("rhs_group_dims={0"));
      for (uint32_t i = 1; i < details_.rhs_group_dims; ++i) out_.append(",").append("0");
      out_ += '}';
    }
  }

  void PrintWindow() {
    const auto numbers = module_.Dims(details_.window);
    constexpr size_t kFieldsPerDimCount = 7;
    const size_t dims = numbers.size() / kFieldsPerDimCount;
    if (dims == 0) return;
    const auto part = [&](std::string_view key, size_t field, int64_t usual) {
      bool any = key == "size=";
      for (size_t d = 0; d < dims; ++d)
        any = any || numbers[d * kFieldsPerDimCount + field] != usual;
      if (!any) return;
      out_.append(out_.back() == '{' ? "" : " ").append(key);
      for (size_t d = 0; d < dims; ++d) {
        if (d > 0) out_ += 'x';
        out_.append(std::to_string(numbers[d * kFieldsPerDimCount + field]));
      }
    };
    out_.append(Next("window={"));
    part("size=", 0, 1);
    part("stride=", 1, 1);
    bool padded = false;
    for (size_t d = 0; d < dims; ++d) {
      padded = padded || numbers[d * kFieldsPerDimCount + 2] != 0 ||
               numbers[d * kFieldsPerDimCount + 3] != 0;
    }
    if (padded) {
      out_.append(" pad=");
      for (size_t d = 0; d < dims; ++d) {
        fmt::format_to(std::back_inserter(out_), "{}{}_{}", d > 0 ? "x" : "",
                       numbers[d * kFieldsPerDimCount + 2], numbers[d * kFieldsPerDimCount + 3]);
      }
    }
    part("lhs_dilate=", 5, 1);
    part("rhs_dilate=", 4, 1);
    part("rhs_reversal=", 6, 0);
    out_ += '}';
  }

  // The places of OpDetails::convolution_dims back to "b01f_01io->b01f".
  void PrintDimLabels() {
    const auto dims = module_.Dims(details_.convolution_dims);
    if (dims.size() < 6 || dims.size() % 3 != 0) return;
    const size_t spatial = dims.size() / 3 - 2;
    if (spatial > 10) return;  // Ten digits name them.
    const auto part = [&](size_t names, std::string_view letters, size_t first) {
      std::string text(spatial + 2, '?');
      const auto put = [&](int64_t place, char label) {
        if (place >= 0 && static_cast<uint64_t>(place) < text.size()) {
          text[static_cast<size_t>(place)] = label;
        }
      };
      put(dims[names], letters[0]);
      put(dims[names + 1], letters[1]);
      for (size_t d = 0; d < spatial; ++d) put(dims[first + d], static_cast<char>('0' + d));
      return text;
    };
    const std::string input = part(0, "bf", 6);
    const std::string kernel = part(2, "io", 6 + spatial);
    const std::string output = part(4, "bf", 6 + 2 * spatial);
    if ((input + kernel + output).find('?') != std::string::npos) return;
    fmt::format_to(std::back_inserter(out_), ", dim_labels={}_{}->{}", input, kernel, output);
  }

  void PrintCalls() {
    const auto calls = module_.CalledComputations(instruction_);
    if (calls.empty()) return;
    const auto one = [&](std::string_view key, size_t number) {
      out_.append(Next(key)) += '%';
      AppendName(module_.computations[calls[number]].name, out_);
    };
    const std::string_view opcode = instruction_.opcode;
    if (calls.size() == 2 && opcode == "while") {
      one("condition=", 1);
      one("body=", 0);
    } else if (calls.size() == 2 && opcode == "select-and-scatter") {
      one("select=", 0);
      one("scatter=", 1);
    } else if (calls.size() == 1 && (opcode == "fusion" || opcode == "async-start" ||
                                     opcode == "async-update" || opcode == "async-done")) {
      one("calls=", 0);
    } else if (calls.size() == 1 && opcode != "conditional" && opcode != "custom-call") {
      one("to_apply=", 0);
    } else {
      out_.append(
          Next(opcode == "conditional" ? "branch_computations={" : "called_computations={"));
      for (size_t i = 0; i < calls.size(); ++i) {
        out_.append(i > 0 ? ", %" : "%");
        AppendName(module_.computations[calls[i]].name, out_);
      }
      out_ += '}';
    }
  }

  void PrintMetadata() {
    const model::OpMetadata& metadata = instruction_.metadata;
    const size_t before = out_.size();
    out_.append(", metadata={");
    const size_t start = out_.size();
    const auto text = [&](std::string_view key, std::string_view value) {
      if (value.empty()) return;
      if (out_.size() > start) out_ += ' ';
      AppendQuoted(key, value, out_);
    };
    const auto number = [&](std::string_view key, int64_t value) {
      if (value == 0) return;
      if (out_.size() > start) out_ += ' ';
      out_.append(key).append(std::to_string(value));
    };
    text("op_type", metadata.op_type);
    text("op_name", metadata.op_name);
    const bool from_frame =
        metadata.stack_frame > 0 && !module_.stack_frames[metadata.stack_frame - 1].file.empty();
    if (!from_frame) {
      text("source_file", metadata.source_file);
      number("source_line=", metadata.source_line);
    }
    const model::OtherNames& names = module_.OtherNamesOf(metadata);
    text("deduplicated_name", names.deduplicated);
    text("scheduling_name", names.scheduling);
    number("stack_frame_id=", metadata.stack_frame);
    if (out_.size() == start) {
      out_.resize(before);
    } else {
      out_ += '}';
    }
  }

  const HloModule& module_;
  const Instruction& instruction_;
  const OpDetails& details_;
  std::string& out_;
};

void AppendInstruction(const HloModule& module, const Instruction& instruction, std::string& out) {
  if (instruction.is_root) out.append("ROOT ");
  out += '%';
  AppendName(instruction.name, out);
  out.append(" = ");
  if (!instruction.shape.empty()) out.append(instruction.shape) += ' ';
  AppendName(instruction.opcode, out);
  out += '(';
  if (instruction.opcode == "parameter") {
    out.append(std::to_string(instruction.parameter_number));
  } else if (instruction.opcode == "constant") {
    out.append(module.LiteralOf(instruction));
  }
  bool first = true;
  for (const uint32_t operand : module.Operands(instruction)) {
    out.append(first ? "%" : ", %");
    AppendName(module.instructions[operand].name, out);
    first = false;
  }
  out += ')';
  if (!instruction.attributes.empty()) {
    out.append(", ").append(instruction.attributes);
  } else {
    AttributePrinter(module, instruction, out).Print();
  }
}

// (p: f32[8], q: s32[]) -> f32[8]
void AppendProgramShape(const HloModule& module, const Computation& computation, std::string& out) {
  std::vector<const Instruction*> parameters;
  for (const Instruction& instruction : module.InstructionsOf(computation)) {
    if (instruction.opcode == "parameter") parameters.push_back(&instruction);
    if (instruction.shape.empty() && (instruction.is_root || instruction.opcode == "parameter")) {
      return;
    }
  }
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const Instruction* a, const Instruction* b) {
                     return a->parameter_number < b->parameter_number;
                   });
  out.append(" (");
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i > 0) out.append(", ");
    AppendName(parameters[i]->name, out);
    out.append(": ").append(parameters[i]->shape);
  }
  out.append(") -> ").append(module.instructions[computation.root].shape);
}

void AppendComputation(const HloModule& module, const Computation& computation, std::string& out) {
  out.append(computation.is_entry ? "\nENTRY %" : "\n%");
  AppendName(computation.name, out);
  AppendProgramShape(module, computation, out);
  out.append(" {\n");
  for (const Instruction& instruction : module.InstructionsOf(computation)) {
    if (IsCompact(instruction)) continue;
    out.append("  ");
    AppendInstruction(module, instruction, out);
    out += '\n';
  }
  out += '}';
  if (!computation.execution_thread.empty()) {
    out.append(", ");
    AppendQuoted("execution_thread", computation.execution_thread, out);
  }
  out += '\n';
}

// 1-based numbers in the order of first use; 0 for "".
class Table {
 public:
  size_t Number(std::string_view text) {
    if (text.empty()) return 0;
    const auto [it, is_new] = numbers_.try_emplace(text, numbers_.size() + 1);
    if (is_new) rows_.push_back(text);
    return it->second;
  }
  void Print(std::string_view title, std::string& out) const {
    fmt::format_to(std::back_inserter(out), "\n{}\n", title);
    for (size_t i = 0; i < rows_.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "{} \"{}\"\n", i + 1, EscapeText(rows_[i]));
    }
  }

 private:
  std::unordered_map<std::string_view, size_t> numbers_;
  std::vector<std::string_view> rows_;
};

void AppendStackFrames(const std::vector<StackFrame>& frames, std::string& out) {
  Table files;
  Table functions;
  std::string locations = "\nFileLocations\n";
  std::string rows = "\nStackFrames\n";
  std::unordered_map<std::string, size_t> location_numbers;
  for (size_t i = 0; i < frames.size(); ++i) {
    const StackFrame& frame = frames[i];
    std::string location = "{";
    const auto field = [&](std::string_view key, int64_t value) {
      if (value == 0) return;
      fmt::format_to(std::back_inserter(location), "{}{}={}", location.size() > 1 ? " " : "", key,
                     value);
    };
    field("file_name_id", static_cast<int64_t>(files.Number(frame.file)));
    field("function_name_id", static_cast<int64_t>(functions.Number(frame.function)));
    field("line", frame.line);
    field("column", frame.column);
    location += '}';
    const auto [it, is_new] = location_numbers.try_emplace(location, location_numbers.size() + 1);
    if (is_new) fmt::format_to(std::back_inserter(locations), "{} {}\n", it->second, location);
    // Text holds the parent's number plus one.
    fmt::format_to(std::back_inserter(rows), "{} {{file_location_id={} parent_frame_id={}}}\n",
                   i + 1, it->second, frame.parent + 1);
  }
  files.Print("FileNames", out);
  functions.Print("FunctionNames", out);
  out.append(locations).append(rows);
}

void AppendHeader(const HloModule& module, std::string& out) {
  out.append("HloModule ");
  // Readers require the first character of a name, or a percent sign before any other.
  if (!module.name.empty() && !IsIdentifierStart(module.name.front())) out += '%';
  for (const char c : module.name) {
    const bool plain = IsIdentifierChar(c) || static_cast<unsigned char>(c) >= 0x80 ||
                       std::string_view("+:<>=*&|!?@$^~;#'").find(c) != std::string_view::npos;
    out += plain ? c : '_';
  }
  if (module.name.ends_with(':')) out += ':';  // Readers take the last one for a name token's.
  if (!module.attributes.empty()) {
    out.append(", ").append(module.attributes);
  } else {
    if (module.is_scheduled) out.append(", is_scheduled=true");
    if (module.replica_count != 1) {
      out.append(", replica_count=").append(std::to_string(module.replica_count));
    }
    if (module.num_partitions != 1) {
      out.append(", num_partitions=").append(std::to_string(module.num_partitions));
    }
  }
  out += '\n';
}

}  // namespace

std::string EscapeText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string PrintInstruction(const HloModule& module, const Instruction& instruction) {
  std::string out;
  AppendInstruction(module, instruction, out);
  return out;
}

std::string PrintText(const HloModule& module) {
  std::string out;
  if (module.buffer != nullptr) out.reserve(module.buffer->size());
  // Text without a header was read: it has none in print either.
  if (!module.name.empty() || !module.attributes.empty() || module.is_scheduled ||
      !module.stack_frames.empty()) {
    AppendHeader(module, out);
  }
  if (!module.stack_frames.empty()) AppendStackFrames(module.stack_frames, out);
  for (const Computation& computation : module.computations) {
    AppendComputation(module, computation, out);
  }
  return out;
}

}  // namespace xlatrace::hlo
