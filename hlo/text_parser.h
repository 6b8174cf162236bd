// Recursive-descent parser of HLO text; used by text_reader.cc only.
//
// Three files: text_parser.cc (module, header, tables, computations), text_instruction.cc
// (instructions and their operands), text_attributes.cc (attributes and metadata).
//
// Nested computations are written inside their caller, but HloModule keeps the instructions of a
// computation together: each computation collects into its own Scope, with operand indices relative
// to it, and is appended to the module when its '}' is read.

#ifndef XLATRACE_HLO_TEXT_PARSER_H_
#define XLATRACE_HLO_TEXT_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hlo/name_table.h"
#include "hlo/text_scanner.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

class TextParser {
 public:
  TextParser(std::string_view text, model::HloModule& module)
      : scan_(text),
        module_(module),
        instruction_names_(text.size() / kTypicalLine),
        computation_names_(text.size() / (16 * kTypicalLine)) {
    module_.instructions.reserve(text.size() / kTypicalLine);
  }

  // Fills everything but what FinishModule computes.
  Status Parse();

 private:
  // Bytes per instruction of a usual dump; only sizes tables.
  static constexpr size_t kTypicalLine = 180;

  // A computation that is being read.
  struct Scope {
    uint32_t number = 0;  // Unique per computation: names are local to it.
    std::string_view name;
    std::vector<model::Instruction> instructions;  // Operands: indices into this vector.
    uint32_t root = model::kNoIndex;
    std::unordered_set<int64_t> parameters;
  };
  // A computation that an instruction calls, with its place among the instruction's calls.
  struct Call {
    uint32_t rank;
    uint32_t computation;
    std::string_view inline_text;  // The body, where it is written in place of a name.
  };

  // text_parser.cc
  bool ParseModule();
  bool ParseHeader();
  bool ParseAliasConfig(std::string_view value);
  bool ParseTables();
  bool ParseTableStrings(std::vector<std::string_view>& table);
  bool ParseTableRows(std::vector<std::vector<std::pair<std::string_view, int64_t>>>& rows);
  bool StartsComputation();
  bool ParseComputation();
  bool ParseSingleInstruction();
  bool ParseNestedComputation(std::string_view suggested_name, uint32_t* computation);
  // From '{' to '}'. Appends the computation to the module.
  bool ParseBody(std::string_view name, const char* where, bool unique_name, uint32_t* computation);
  bool Close(Scope& scope, const char* where, uint32_t* computation);
  Scope& PushScope();
  void PopScope() { --depth_; }

  // text_instruction.cc
  bool ParseInstruction(Scope& scope);
  // From the result shape on; `name` is already known.
  bool ParseRest(Scope& scope, std::string_view name, const char* where, uint32_t* index);
  bool ParseResult(std::string_view* shape, std::string_view* opcode);
  bool ParseOperands(Scope& scope, model::Instruction& instruction);
  bool ParseOperand(Scope& scope, const model::Instruction& instruction);
  bool ParseOperandName(Scope& scope);
  bool ParseNestedInstruction(Scope& scope, std::string_view shape);
  bool AddTupleElement(Scope& scope, uint32_t tuple, std::string_view name, int64_t element,
                       const char* where, uint32_t* index);
  bool CheckOpcode(std::string_view opcode, const char* where);
  bool Add(Scope& scope, const model::Instruction& instruction, const char* where, uint32_t* index);
  std::string_view KeepShape(std::string_view raw);
  std::string_view FreshName(const Scope& scope, std::string_view base);

  // text_attributes.cc
  bool ParseAttributes(Scope& scope, model::Instruction& instruction);
  bool ParseAttribute(Scope& scope, model::Instruction& instruction, std::string_view name);
  bool ParseCalls(const model::Instruction& instruction, std::string_view attribute, uint32_t rank);
  bool ParseCall(const model::Instruction& instruction, std::string_view attribute, uint32_t rank);
  bool StartsInlineComputation();
  bool ParseMetadata(model::OpMetadata& metadata);
  bool ParseControlPredecessors(Scope& scope);
  std::string_view KeepAttributes(std::string_view raw, size_t first_call);
  bool ParseContractingDims(model::Instruction& instruction);
  bool ParseText(std::string_view* value);  // A string, unescaped, or the raw value.

  TextScanner scan_;
  model::HloModule& module_;
  NameTable instruction_names_;
  NameTable computation_names_;
  std::vector<Scope> scopes_;  // One per level of nesting, reused.
  size_t depth_ = 0;
  uint32_t scope_count_ = 0;
  // Stacks shared by nested instructions: each takes what lies above its own mark.
  std::vector<uint32_t> operands_;
  std::vector<Call> calls_;
  uint32_t shape_only_operands_ = 0;
  uint32_t fresh_names_ = 0;
  static constexpr int kMaxInstructionNesting = 500;
  int instruction_depth_ = 0;
  bool single_instruction_ = false;
  // Forward references that are allowed: (scope, name, where), checked when the scope closes.
  struct Reference {
    uint32_t scope;
    std::string_view name;
    const char* where;
  };
  std::vector<Reference> references_;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_PARSER_H_
