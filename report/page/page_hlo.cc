// SPDX-License-Identifier: Apache-2.0

// The HLO of modules that ran: instructions, edges, called computations, and text of the hot ones.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hlo/shape.h"
#include "hlo/text/text_printer.h"
#include "hlo/text/text_reader.h"
#include "model/hlo_module.h"
#include "report/page/page_context.h"
#include "report/page/page_memory.h"
#include "report/safe_text.h"

namespace xlatrace::report {
namespace {

using model::HloModule;
using model::kNoIndex;
using store::Statement;
using store::Table;

constexpr int64_t kMaxInstructionRows = 400'000;       // Over all modules.
constexpr size_t kMaxHotTextBytes = size_t{12} << 20;  // Deflates to a tenth or less.
constexpr size_t kTextPieceBytes = size_t{2} << 20;
constexpr size_t kMaxInstructionBytes = 8'192;

// Facts of run.db about an instruction, in the order of the module.
struct InstructionFacts {
  std::string name, op_kind, phase, op_name, layer, source_file;
  std::optional<int64_t> source_line, flops, bytes;
};

// `text` without its first `, metadata={...}`; quotes may contain braces.
void RemoveMetadata(std::string& text) {
  constexpr std::string_view kBegin = ", metadata={";
  const size_t begin = text.find(kBegin);
  if (begin == std::string::npos) return;
  bool quoted = false;
  for (size_t at = begin + kBegin.size(); at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      quoted = !quoted;
    } else if (text[at] == '}' && !quoted) {
      text.erase(begin, at + 1 - begin);
      return;
    }
  }
}

class HloTables {
 public:
  explicit HloTables(PageContext& page)
      : page_(page),
        computations_("computations", page.blocks.strings()),
        instructions_("instructions", page.blocks.strings()),
        edges_("edges"),
        calls_("calls"),
        memory_(page),
        text_("hlo_text") {
    computations_.Declare(
        "module>modules name:text entry fusion instruction_begin:delta instruction_count");
    instructions_.Declare(
        "computation>computations name:text opcode:text shape:text output_bytes root"
        " parameter_number op>ops op_kind:word phase:word op_name:text layer:text source_file:text"
        " source_line flops bytes fusion_kind:text");
    edges_.Declare("user>instructions operand>instructions");
    calls_.Declare("instruction>instructions computation>computations");
    NewTextPiece();
  }

  Status Run() {
    XLATRACE_TRY(Choose());
    XLATRACE_TRY(memory_.LoadTimes());
    int64_t module_id = 0;
    std::vector<InstructionFacts> facts;
    Status status;
    const auto finish = [&] {
      if (status && chosen_.contains(module_id)) status = Add(module_id, facts);
      facts.clear();
    };
    XLATRACE_TRY(page_.db.ForEach(
        "SELECT module_id, instruction, op_kind, phase, op_name, layer, source_file, source_line,"
        " flops, bytes FROM instruction",
        [&](const Statement& row) {
          if (row.Int64(0) != module_id) {
            finish();
            module_id = row.Int64(0);
          }
          if (!chosen_.contains(module_id)) return static_cast<bool>(status);
          facts.push_back({std::string(row.Text(1)), std::string(row.Text(2)),
                           std::string(row.Text(3)), std::string(row.Text(4)),
                           std::string(row.Text(5)), std::string(row.Text(6)), row.OptionalInt64(7),
                           row.OptionalInt64(8), row.OptionalInt64(9)});
          return static_cast<bool>(status);
        }));
    finish();
    XLATRACE_TRY(status);
    page_.blocks.Write(computations_);
    page_.blocks.Write(instructions_);
    page_.blocks.Write(edges_);
    page_.blocks.Write(calls_);
    memory_.Write();
    WriteTextPiece();
    constexpr std::string_view kWords[] = {"none", "hot", "all"};
    page_.meta["hlo"] = {{"text", kWords[static_cast<int>(page_.options.hlo_text)]},
                         {"modules_left_out", modules_left_out_},
                         {"instructions_left_out", instructions_left_out_},
                         {"text_left_out_bytes", text_left_out_}};
    return {};
  }

 private:
  // Modules by device time while they fit.
  Status Choose() {
    int64_t left = kMaxInstructionRows;
    std::vector<const ModuleFigure*> ran;
    for (const ModuleFigure& module : page_.view.modules) {
      if (module.run_ns > 0) ran.push_back(&module);
    }
    std::stable_sort(ran.begin(), ran.end(), [](const ModuleFigure* a, const ModuleFigure* b) {
      return a->run_ns > b->run_ns;
    });
    for (const ModuleFigure* module : ran) {
      const int64_t count = module->instruction_count.value_or(0);
      if (count > left) {
        ++modules_left_out_;
        instructions_left_out_ += count;
        continue;
      }
      left -= count;
      chosen_.insert(module->module_id);
    }
    return {};
  }

  Status Add(int64_t module_id, const std::vector<InstructionFacts>& facts) {
    auto stored = page_.db.ReadModule(module_id);
    auto read = !stored
                    ? tl::unexpected<Error>(std::move(stored).error())
                    : hlo::ReadAny(std::make_shared<const std::string>(std::move(stored->bytes)));
    if (!read) {  // Known by annotations alone; else it could be read once.
      ++modules_left_out_;
      instructions_left_out_ += static_cast<int64_t>(facts.size());
      return {};
    }
    const HloModule& module = *read;
    const auto module_row = page_.modules.find(module_id);
    const auto first_computation = static_cast<int64_t>(computations_.rows());
    const auto first_instruction = static_cast<int64_t>(instructions_.rows());
    for (const model::Computation& computation : module.computations) {
      computations_.Set(0, module_row->second);
      computations_.SetText(1, computation.name);
      computations_.Set(2, computation.is_entry ? 1 : 0);
      computations_.Set(3, computation.is_fusion ? 1 : 0);
      computations_.Set(4, first_instruction + computation.first_instruction);
      computations_.Set(5, computation.instruction_count);
      computations_.EndRow();
    }
    std::unordered_map<std::string_view, size_t> fact_of;
    std::vector<std::pair<int64_t, uint32_t>> hot;  // Time and index of instructions with an op.
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      const model::Instruction& instruction = module.instructions[i];
      const InstructionFacts* fact =
          i < facts.size() && facts[i].name == instruction.name ? &facts[i] : nullptr;
      if (fact == nullptr) {
        if (fact_of.empty()) {
          for (size_t f = 0; f < facts.size(); ++f) fact_of.emplace(facts[f].name, f);
        }
        const auto found = fact_of.find(instruction.name);
        if (found != fact_of.end()) fact = &facts[found->second];
      }
      const auto op = page_.op_rows.find(OpKey(module_id, instruction.name));
      // Printed modules repeat names in fused computations; the op is the one that is launched.
      const bool launched =
          op != page_.op_rows.end() && (instruction.computation >= module.computations.size() ||
                                        !module.computations[instruction.computation].is_fusion);
      if (launched) {
        PageOp& page_op = page_.ops[static_cast<size_t>(op->second)];
        page_op.instruction_row = first_instruction + i;
        hot.emplace_back(page_op.self_ns, i);
      }
      AddInstruction(module, instruction, fact, first_computation,
                     launched ? std::optional(op->second) : std::nullopt);
      for (const uint32_t operand : module.Operands(instruction)) {
        edges_.Set(0, first_instruction + i);
        edges_.Set(1, first_instruction + operand);
        edges_.EndRow();
      }
      for (const uint32_t called : module.CalledComputations(instruction)) {
        calls_.Set(0, first_instruction + i);
        calls_.Set(1, first_computation + called);
        calls_.EndRow();
      }
    }
    AddText(module, std::move(hot), first_instruction);
    memory_.Add(module, module_row->second, first_instruction);
    return {};
  }

  void AddInstruction(const HloModule& module, const model::Instruction& instruction,
                      const InstructionFacts* fact, int64_t first_computation,
                      const std::optional<int64_t>& op) {
    (void)module;
    instructions_.Set(0, first_computation + instruction.computation);
    instructions_.SetText(1, instruction.name);
    instructions_.SetText(2, instruction.opcode);
    instructions_.SetText(3, instruction.shape);
    instructions_.Set(4, hlo::ByteSize(hlo::ResultShape(instruction.opcode, instruction.shape)));
    instructions_.Set(5, instruction.is_root ? 1 : 0);
    if (instruction.parameter_number >= 0) {
      instructions_.Set(6, static_cast<int64_t>(instruction.parameter_number));
    }
    instructions_.Set(7, op);
    if (fact != nullptr) {
      instructions_.SetText(8, fact->op_kind);
      instructions_.SetText(9, fact->phase);
      instructions_.SetText(10, fact->op_name);
      instructions_.SetText(11, fact->layer);
      instructions_.SetText(12, fact->source_file);
      instructions_.Set(13, fact->source_line);
      instructions_.Set(14, fact->flops);
      instructions_.Set(15, fact->bytes);
    }
    instructions_.SetText(16, instruction.fusion_kind);
    instructions_.EndRow();
  }

  // Hot instructions: those with time, by time, each with its called computations. Their neighbours
  // follow.
  void AddText(const HloModule& module, std::vector<std::pair<int64_t, uint32_t>> hot,
               int64_t first_instruction) {
    if (page_.options.hlo_text == HloText::kNone) return;
    std::vector<bool> taken(module.instructions.size(), false);
    std::vector<uint32_t> order;
    const auto take = [&](uint32_t i) {
      if (!taken[i]) order.push_back(i);
      taken[i] = true;
    };
    std::stable_sort(hot.begin(), hot.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [ns, i] : hot) {
      take(i);
      for (const uint32_t called : module.CalledComputations(module.instructions[i])) {
        const model::Computation& body = module.computations[called];
        // Bodies of loops have launches of their own.
        if (!body.is_fusion) continue;
        for (uint32_t k = 0; k < body.instruction_count; ++k) take(body.first_instruction + k);
      }
    }
    const size_t with_time = order.size();
    for (size_t k = 0; k < with_time; ++k) {
      for (const uint32_t operand : module.Operands(module.instructions[order[k]])) take(operand);
    }
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      const bool beside = std::any_of(module.Operands(module.instructions[i]).begin(),
                                      module.Operands(module.instructions[i]).end(),
                                      [&](uint32_t o) { return taken[o]; });
      if (page_.options.hlo_text == HloText::kAll || (beside && !taken[i])) late_.push_back(i);
    }
    for (const uint32_t i : late_) take(i);
    late_.clear();
    for (const uint32_t i : order) {
      std::string line = PrintedLine(module, i);
      if (page_.options.hlo_text == HloText::kHot && text_bytes_ + line.size() > kMaxHotTextBytes) {
        text_left_out_ += line.size();
        continue;
      }
      text_bytes_ += line.size();
      piece_bytes_ += line.size();
      text_.Set(0, first_instruction + i);
      text_.SetBlob(text_column_, line);
      text_.EndRow();
      if (piece_bytes_ >= kTextPieceBytes) WriteTextPiece();
    }
  }

  static std::string PrintedLine(const HloModule& module, uint32_t i) {
    model::Instruction instruction = module.instructions[i];
    instruction.metadata = {};
    std::string line = hlo::PrintInstruction(module, instruction);
    RemoveMetadata(line);
    return SafeName(line, kMaxInstructionBytes);
  }

  void NewTextPiece() {
    text_ = PageTable("hlo_text");
    text_.AddRef("instruction", "instructions");
    text_column_ = text_.AddBlob("text", "bytes");
    piece_bytes_ = 0;
  }

  void WriteTextPiece() {
    page_.blocks.WriteChunk(text_);
    NewTextPiece();
  }

  PageContext& page_;
  PageTable computations_, instructions_, edges_, calls_;
  MemoryTables memory_;
  PageTable text_;
  std::set<int64_t> chosen_;
  std::vector<uint32_t> late_;
  size_t text_column_ = 0;
  size_t text_bytes_ = 0, piece_bytes_ = 0;
  size_t text_left_out_ = 0;
  int64_t modules_left_out_ = 0, instructions_left_out_ = 0;
};

}  // namespace

Status WriteHloTables(PageContext& page) { return HloTables(page).Run(); }

}  // namespace xlatrace::report
