// SPDX-License-Identifier: Apache-2.0

// Recursive-descent parser of HLO text; used by text_reader.cc only.
//
// Three files: text_parser.cc (module, header, tables, computations), text_instruction.cc
// (instructions and their operands), text_attributes.cc (attributes and metadata).
//
// HloModule keeps the instructions of a computation together. Those of a separate computation go
// straight into the module. Those of a computation inside its caller wait in their Scope, with
// operand indices relative to it, until the caller is complete.

#ifndef XLATRACE_HLO_TEXT_TEXT_PARSER_H_
#define XLATRACE_HLO_TEXT_TEXT_PARSER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hlo/name_table.h"
#include "hlo/text/attribute_syntax.h"
#include "hlo/text/text_cache.h"
#include "hlo/text/text_scanner.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// The parameter numbers that a computation has used. They are dense and small in undamaged
// text.
class ParameterNumbers {
 public:
  void Clear() {
    dense_.clear();
    sparse_.clear();
  }
  // False if the number was used already.
  bool Insert(int64_t number) {
    constexpr int64_t kMaxDenseNumber = 1 << 16;
    if (number >= kMaxDenseNumber) return sparse_.insert(number).second;
    const auto at = static_cast<size_t>(number);
    if (at >= dense_.size()) dense_.resize(at + 1, false);
    const bool is_new = !dense_[at];
    dense_[at] = true;
    return is_new;
  }

 private:
  std::vector<bool> dense_;
  std::unordered_set<int64_t> sparse_;
};

// One row of a stack table. The table decides which fields are set.
struct TableRow {
  int64_t file_name_id = 0;
  int64_t function_name_id = 0;
  int64_t line = 0;
  int64_t column = 0;
  int64_t file_location_id = 0;
  int64_t parent_frame_id = 0;
};

class TextParser {
 public:
  TextParser(std::string_view text, model::HloModule& module);

  // Fills everything except the results of FinishModule.
  Status Parse();
  // After Parse() failed: keeps the complete part before the failure, a computation up to its last
  // whole instruction. False if nothing is complete.
  bool KeepPart();

 private:
  // A computation that is being read.
  struct Scope {
    std::string_view name;
    const char* where = nullptr;
    // Target of its instructions: the module's vector, or `own` of a computation inside another
    // one. Indices, also those of operands, are into that vector; the first one is `begin`.
    std::vector<model::Instruction>* instructions = nullptr;
    std::vector<model::Instruction> own;
    uint32_t begin = 0;
    uint32_t root = model::kNoIndex;
    bool has_name = true;  // Else its name is derived from its caller's.
    NameTable names;
    ParameterNumbers parameters;
  };
  // The body of a computation that waits for its caller.
  struct Waiting {
    uint32_t computation;
    std::vector<model::Instruction> instructions;
  };
  // A computation that an instruction calls, with its place among the instruction's calls.
  struct Call {
    uint32_t rank;
    uint32_t computation;
    std::string_view inline_text;  // The body, if written in place of a name.
  };

  // text_parser.cc
  bool ParseModule();
  bool ParseHeader();
  bool ParseAliasConfig(std::string_view value);
  bool ParseTables();
  bool ParseTableStrings(std::vector<std::string_view>& table);
  bool ParseTableRows(const std::function<void(const TableRow&)>& add);
  bool StartsComputation();
  bool ParseComputation();
  bool SkipTail();
  bool ParseProgramShape();
  bool ParseSingleInstruction();
  bool ParseNestedComputation(std::string_view suggested_name, uint32_t* computation);
  // From '{' to '}'. Appends the computation to the module.
  bool ParseBody(std::string_view name, const char* where, bool has_name, uint32_t* computation);
  bool Close(Scope& scope, uint32_t* computation);
  void AppendWaiting();
  Scope& PushScope(std::string_view name, const char* where);
  void PopScope() { --depth_; }
  uint32_t FindInstruction(const Scope& scope, std::string_view name) const;
  uint32_t FindComputation(std::string_view name) const;

  // text_instruction.cc
  bool ParseInstruction(Scope& scope);
  // From the result shape on; `name` is already known.
  bool ParseRest(Scope& scope, std::string_view name, const char* where, uint32_t* index);
  bool ParseResult(std::string_view* shape, std::string_view* opcode);
  bool ParseOperands(Scope& scope, model::Instruction& instruction);
  bool ParseOperand(Scope& scope, const model::Instruction& instruction);
  bool ParseOperandName(Scope& scope, std::string_view shape);
  bool AddParameter(Scope& scope, std::string_view name, std::string_view shape);
  void DropOperand(const model::Instruction& instruction, const char* where);
  bool ParseNestedInstruction(Scope& scope, std::string_view shape);
  bool AddTupleElement(Scope& scope, uint32_t tuple, std::string_view name, int64_t element,
                       const char* where, uint32_t* index);
  bool CheckOpcode(std::string_view opcode, const char* where);
  bool Add(Scope& scope, const model::Instruction& instruction, const char* where, uint32_t* index);
  bool TakeKnownShape(std::string_view* shape);
  bool TakeShape(std::string_view* shape);
  std::string_view KeepShape(std::string_view raw);
  std::string_view FreshName(const Scope& scope, std::string_view base);

  // text_attributes.cc
  bool ParseAttributes(Scope& scope, model::Instruction& instruction);
  bool ParseAttribute(Scope& scope, model::Instruction& instruction, std::string_view name);
  bool ParseCalls(const model::Instruction& instruction, std::string_view attribute, uint32_t rank);
  bool ParseCall(const model::Instruction& instruction, std::string_view attribute, uint32_t rank);
  bool StartsInlineComputation();
  bool ParseWord(std::string_view attribute, ValueForm form, std::string_view* value);
  bool ParseMetadata(model::OpMetadata& metadata);
  bool ParseControlPredecessors(Scope& scope);
  void ReportUnknown(std::string_view word, std::string_view what);
  std::string_view KeepAttributes(std::string_view raw, size_t first_call);
  bool ParseContractingDims(model::Instruction& instruction);
  bool ParseText(std::string_view* value);    // A string, unescaped.
  bool ParseConfig(std::string_view* value);  // A string, or the raw dictionary.

  TextScanner scan_;
  model::HloModule& module_;
  NameTable computation_names_;
  TextCache shapes_;
  TextCache opcodes_;         // Those that passed CheckOpcode.
  std::deque<Scope> scopes_;  // One per level of nesting, reused; references stay valid.
  size_t depth_ = 0;
  std::vector<Waiting> waiting_;
  // Stacks shared by nested instructions: each uses the part above its own mark.
  std::vector<uint32_t> operands_;
  std::vector<Call> calls_;
  std::vector<std::string_view> attribute_names_;
  uint32_t shape_only_operands_ = 0;
  std::unordered_set<std::string_view> reported_;  // Unknown words.
  uint32_t fresh_names_ = 0;
  const char* text_;
  const char* last_end_ = nullptr;  // After the '}' of the last computation.
  static constexpr int kMaxInstructionNesting = 500;
  int instruction_depth_ = 0;
  bool single_instruction_ = false;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_PARSER_H_
