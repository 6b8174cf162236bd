// SPDX-License-Identifier: Apache-2.0

// The HLO of a sheet: the instruction as XLA prints it, its producers and its consumers.
// Also the sheet of an instruction without own time.

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hlo/instruction_text.h"
#include "hlo/text/text_printer.h"
#include "report/show/show_sheet.h"

namespace xlatrace::report {
namespace {

using store::RunDb;

// Instructions that only name or forward another instruction's result.
bool PassesOn(std::string_view opcode) {
  return opcode == "bitcast" || opcode == "get-tuple-element" || opcode == "tuple" ||
         opcode == "opt-barrier" || opcode.ends_with("-done");
}

// An instruction that produces or reads a value, and the instructions without time in between.
struct Neighbour {
  uint32_t index = 0;
  std::vector<uint32_t> through;
};

class Neighbours {
 public:
  Neighbours(const model::HloModule& module,
             const std::unordered_map<std::string, const Json*>& ops)
      : module_(module), ops_(ops) {}

  Neighbour MakerOf(uint32_t index) const {
    Neighbour maker{index, {}};
    while (IsPassive(maker.index) && maker.through.size() < kMaxPassedThroughCount) {
      const model::Instruction& i = At(maker.index);
      const auto operands = module_.Operands(i);
      // A tuple has several producers. Only the next instruction identifies the element.
      const bool barrier = i.opcode == "get-tuple-element" && !operands.empty() &&
                           At(operands[0]).opcode == "opt-barrier";
      if (operands.empty() || (i.opcode == "tuple" && operands.size() > 1) || barrier) break;
      maker.through.push_back(maker.index);
      maker.index = operands[0];
      // An element of a tuple made just before.
      if (i.opcode == "get-tuple-element" && At(maker.index).opcode == "tuple") {
        const auto elements = module_.Operands(At(maker.index));
        if (i.tuple_index >= 0 && static_cast<size_t>(i.tuple_index) < elements.size()) {
          maker.through.push_back(maker.index);
          maker.index = elements[static_cast<size_t>(i.tuple_index)];
        }
      }
    }
    return maker;
  }

  // Readers of the value, through forwarding instructions. A reader without further readers
  // represents itself.
  std::vector<Neighbour> ReadersOf(uint32_t index) {
    if (users_.empty()) FindUsers();
    std::vector<Neighbour> readers;
    Follow({index, {}}, readers);
    return readers;
  }

 private:
  static constexpr size_t kMaxPassedThroughCount = 8;

  const model::Instruction& At(uint32_t index) const { return module_.instructions[index]; }
  bool IsPassive(uint32_t index) const {
    return PassesOn(At(index).opcode) && !ops_.contains(std::string(At(index).name));
  }

  void FindUsers() {
    users_.resize(module_.instructions.size());
    for (uint32_t i = 0; i < module_.instructions.size(); ++i) {
      for (const uint32_t operand : module_.Operands(At(i))) {
        if (users_[operand].empty() || users_[operand].back() != i) users_[operand].push_back(i);
      }
    }
  }

  void Follow(const Neighbour& from, std::vector<Neighbour>& readers) const {
    for (const uint32_t user : users_[from.index]) {
      if (readers.size() >= kMaxSheetRows) return;
      Neighbour reader{user, from.through};
      // A tuple ends the search, because consumers of single elements are not distinguished here.
      const bool ends = !IsPassive(user) || At(user).opcode == "tuple" || users_[user].empty() ||
                        reader.through.size() >= kMaxPassedThroughCount;
      if (ends) {
        readers.push_back(std::move(reader));
        continue;
      }
      reader.through.push_back(user);
      Follow(reader, readers);
    }
  }

  const model::HloModule& module_;
  const std::unordered_map<std::string, const Json*>& ops_;
  std::vector<std::vector<uint32_t>> users_;
};

// Instructions of the same module by name. Those that ran separately have a handle and a time.
Status AddNeighbours(RunDb& db, const model::HloModule& module, uint32_t index, int64_t module_id,
                     Json* sheet) {
  XLATRACE_ASSIGN(const Json ops,
                  Rows(db, "SELECT instruction, handle, self_ns FROM op_time WHERE module_id = ?1",
                       {module_id}));
  std::unordered_map<std::string, const Json*> by_name;
  for (const Json& op : ops) by_name[JsonText(op, "instruction")] = &op;
  // `value`: the array in the form in which this op reads it, or its reader receives it.
  const auto row_of = [&](const Neighbour& neighbour, std::string_view value) {
    const model::Instruction& other = module.instructions[neighbour.index];
    Json row{{"instruction", other.name}, {"opcode", other.opcode}, {"shape", value}};
    auto found = by_name.find(std::string(other.name));
    // A wrapper around one instruction (async-start): the wrapped instruction has the time.
    for (const uint32_t callee : module.CalledComputations(other)) {
      if (found != by_name.end() || other.opcode == "while") break;
      const uint32_t root = module.computations[callee].root;
      if (root == model::kNoIndex) continue;
      found = by_name.find(std::string(module.instructions[root].name));
    }
    row["handle"] = found == by_name.end() ? Json() : (*found->second)["handle"];
    row["self_ns"] = found == by_name.end() ? Json() : (*found->second)["self_ns"];
    row["through"] = Json::array();
    for (const uint32_t passed : neighbour.through) {
      row["through"].push_back(module.instructions[passed].name);
    }
    return row;
  };
  Neighbours neighbours(module, by_name);
  Json operands = Json::array();
  for (const uint32_t operand : module.Operands(module.instructions[index])) {
    if (operands.size() >= kMaxSheetRows) break;
    operands.push_back(row_of(neighbours.MakerOf(operand), module.instructions[operand].shape));
  }
  Json users = Json::array();
  for (const Neighbour& reader : neighbours.ReadersOf(index)) {
    users.push_back(row_of(reader, module.instructions[reader.index].shape));
  }
  (*sheet)["operands"] = std::move(operands);
  (*sheet)["users"] = std::move(users);
  return {};
}

// The instruction in XLA's form, and the computations that it calls, without metadata.
Json HloLines(const model::HloModule& module, uint32_t index, bool whole) {
  constexpr size_t kMaxHloLines = 40;
  const model::Instruction& instruction = module.instructions[index];
  Json lines = Json::array();
  lines.push_back(hlo::PrintInstruction(module, instruction));
  size_t left_out = 0;
  for (const uint32_t callee : module.CalledComputations(instruction)) {
    if (instruction.opcode != "fusion" && !instruction.opcode.starts_with("async")) break;
    const model::Computation& body = module.computations[callee];
    lines.push_back(std::string(body.name) + " {");
    for (const model::Instruction& inner : module.InstructionsOf(body)) {
      if (!whole && lines.size() > kMaxHloLines) {
        ++left_out;
        continue;
      }
      lines.push_back("  " + hlo::ShortText(module, inner));
    }
    lines.push_back("}");
  }
  if (left_out > 0) {
    lines.push_back("... " + std::to_string(left_out) + " more line" + (left_out == 1 ? "" : "s") +
                    ": --hlo");
  }
  return lines;
}

// The instructions that call the computation of an instruction.
void AddCallers(const model::HloModule& module, const model::Instruction& instruction,
                Json* sheet) {
  const model::Computation& computation = module.computations[instruction.computation];
  (*sheet)["computation"] = std::string(computation.name);
  if (computation.is_entry) return;
  Json callers = Json::array();
  for (const model::Instruction& other : module.instructions) {
    const auto called = module.CalledComputations(other);
    if (std::find(called.begin(), called.end(), instruction.computation) == called.end()) continue;
    if (callers.size() < kMaxSheetRows) callers.push_back(std::string(other.name));
  }
  (*sheet)["called_by"] = std::move(callers);
}

}  // namespace

Status AddHlo(RunDb& db, int64_t module_id, const std::string& name, const ShowOptions& options,
              Json* sheet) {
  const auto module = LoadHlo(db, module_id);
  if (!module) return {};  // A run without HLO still has the other parts.
  const auto by_name = model::IndexByName(*module);
  const auto found = by_name.find(name);
  if (found == by_name.end()) return {};
  (*sheet)["hlo"] = HloLines(*module, found->second, options.whole_hlo || options.json);
  return AddNeighbours(db, *module, found->second, module_id, sheet);
}

Result<Json> InstructionSheet(RunDb& db, const std::string& name, const ShowOptions& options) {
  XLATRACE_ASSIGN(const Json row,
                  Row(db,
                      "SELECT i.*, m.handle AS module_handle, m.name AS module FROM instruction i"
                      " JOIN module m ON m.module_id = i.module_id WHERE i.instruction = ?1"
                      " ORDER BY CAST(substr(m.handle, 2) AS INT)",
                      {name}));
  if (row.is_null()) return Json();
  const int64_t module_id = JsonInt(row, "module_id").value_or(0);
  Json sheet{{"kind", "instruction"}, {"instruction", row}};
  const auto module = LoadHlo(db, module_id);
  if (!module) return sheet;
  const auto found = model::IndexByName(*module);
  const auto index = found.find(name);
  if (index == found.end()) return sheet;
  AddCallers(*module, module->instructions[index->second], &sheet);
  Json ops = Json::array();
  for (const Json& caller : sheet.value("called_by", Json::array())) {
    XLATRACE_ASSIGN(const Json op, Row(db,
                                       "SELECT handle, instruction, self_ns FROM op_time"
                                       " WHERE module_id = ?1 AND instruction = ?2",
                                       {module_id, caller.get<std::string>()}));
    if (!op.is_null()) ops.push_back(op);
  }
  sheet["ops"] = std::move(ops);
  XLATRACE_TRY(AddHlo(db, module_id, name, options, &sheet));
  return sheet;
}

}  // namespace xlatrace::report
