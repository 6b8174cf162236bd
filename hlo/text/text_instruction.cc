// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "hlo/op_details.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"
#include "hlo/text/text_literal.h"
#include "hlo/text/text_parser.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {

using model::Instruction;
using model::kNoIndex;

namespace {

// Words that no XLA ever read as a name, unless behind '%'.
bool IsReserved(std::string_view word) {
  constexpr std::string_view kReserved[] = {
      "ROOT", "ENTRY", "HloModule", "true", "false", "inf", "nan", "pred", "s8",  "s16", "s32",
      "s64",  "u8",    "u16",       "u32",  "u64",   "f16", "f32", "f64",  "c64", "bf16"};
  if (word.size() > 5 && word.size() != 9) return false;
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

// XLA's parser skips an absent operand ("custom-call(a, , b)"), and one that is only a shape. Only
// opcodes that count their operands detect this.
bool MayMissOperands(std::string_view opcode) {
  const std::string_view base = BaseOpcode(opcode);
  return base == "custom-call" || InfoOf(base).work == OpWork::kCollective;
}

}  // namespace

// ROOT? NAME = SHAPE? OPCODE ( OPERANDS ) (, ATTRIBUTE)*
bool TextParser::ParseInstruction(Scope& scope) {
  if (scan_.AtEnd()) {
    return scan_.FailHere(fmt::format("the text ends inside of computation '{}'", scope.name));
  }
  bool is_root = false;
  const char* where = scan_.position();
  std::string_view name = scan_.Name("an instruction or '}'");
  if (name == "ROOT" && *where != '%') {
    is_root = true;
    scan_.Peek();
    where = scan_.position();
    name = scan_.Name("an instruction");
  }
  if (name.size() <= 9 && !scan_.failed() && *where != '%' && IsReserved(name)) {
    return scan_.Fail(where, fmt::format("'{}' cannot name an instruction", name));
  }
  if (*where != '%' && scan_.Look() == ':') scan_.TryChar(':');  // For XLA "name:" is a name.
  if (*where != '%' && scan_.Look() == '=' && !scan_.failed()) {
    // For XLA "name=" is an attribute.
    return scan_.FailHere(fmt::format("expected a blank between '{}' and '='", name));
  }
  if (!scan_.Expect('=', "after the name of an instruction")) return false;
  uint32_t index = kNoIndex;
  if (!ParseRest(scope, name, where, &index)) return false;
  if (!is_root) return true;
  if (scope.root != kNoIndex) {
    return scan_.Fail(where, fmt::format("second ROOT '{}' in one computation", name));
  }
  scope.root = index;
  return true;
}

bool TextParser::ParseRest(Scope& scope, std::string_view name, const char* where,
                           uint32_t* index) {
  Instruction instruction;
  instruction.name = name;
  if (!ParseResult(&instruction.shape, &instruction.opcode)) return false;
  if (!ParseOperands(scope, instruction)) return false;
  if (scan_.Peek() == ',' && !ParseAttributes(scope, instruction)) return false;
  return !scan_.failed() && Add(scope, instruction, where, index);
}

bool TextParser::ParseResult(std::string_view* shape, std::string_view* opcode) {
  if (!TakeKnownShape(shape) && StartsShape(scan_) && !TakeShape(shape)) return false;
  scan_.Peek();
  const char* const where = scan_.position();
  *opcode = scan_.Identifier();
  if (opcode->empty()) {
    return scan_.FailHere(fmt::format("expected an opcode, found {}", scan_.TokenAt(where)));
  }
  if (shape->empty() && (*opcode == "parameter" || *opcode == "constant")) {
    return scan_.Fail(where, fmt::format("a {} needs a shape", *opcode));
  }
  return CheckOpcode(*opcode, where);
}

// Most shapes occur many times, letter by letter.
bool TextParser::TakeKnownShape(std::string_view* shape) {
  scan_.Peek();
  const std::string_view rest = scan_.Rest();
  const size_t extent = ShapeExtent(rest);
  if (extent == 0) return false;
  const std::string_view known = shapes_.Find(rest.substr(0, extent));
  if (known.data() == nullptr) return false;
  *shape = known;
  scan_.set_position(rest.data() + extent);
  return true;
}

bool TextParser::TakeShape(std::string_view* shape) {
  std::string_view raw;
  const size_t extent = ShapeExtent(scan_.Rest());
  if (!ScanShape(scan_, &raw)) return false;
  *shape = KeepShape(raw);
  if (raw.size() == extent) shapes_.Add(raw, *shape);
  return true;
}

// Asynchronous pairs that have opcodes of their own know no other forms; XLA refuses them too.
bool TextParser::CheckOpcode(std::string_view opcode, const char* where) {
  if (opcodes_.Find(opcode).data() != nullptr) return true;
  if (IsReserved(opcode)) {
    return scan_.Fail(where, fmt::format("expected an opcode, found '{}'", opcode));
  }
  for (const std::string_view unknown :
       {"send-start", "send-update", "recv-start", "recv-update", "copy-update",
        "all-gather-update", "all-reduce-update", "collective-permute-update"}) {
    if (opcode == unknown) return scan_.Fail(where, fmt::format("unknown opcode '{}'", opcode));
  }
  if (!IsKnownOpcode(opcode)) {
    ReportUnknown(opcode, "opcode");
    opcodes_.Add(opcode, opcode);
  }
  return true;
}

bool TextParser::ParseOperands(Scope& scope, Instruction& instruction) {
  if (scan_.Peek() != '(') {
    return scan_.FailHere(fmt::format("expected '(' after opcode '{}', found {}",
                                      instruction.opcode, scan_.TokenAt(scan_.position())));
  }
  if (instruction.opcode == "constant") {  // A literal of any form, stored unchanged.
    std::string_view literal;
    if (!ScanLiteral(scan_, instruction.shape, &literal)) return false;
    SetLiteral(module_, instruction, literal);
    return true;
  }
  const char* const open = scan_.position();
  scan_.TryChar('(');
  if (instruction.opcode == "parameter") {
    int64_t number = 0;
    if (!scan_.Int(&number, "a parameter number")) return false;
    if (number < 0 || number > INT32_MAX) {
      return scan_.Fail(open, fmt::format("parameter number {} is out of range", number));
    }
    if (!scope.parameters.Insert(number)) {
      return scan_.Fail(open, fmt::format("parameter number {} occurs twice", number));
    }
    instruction.parameter_number = static_cast<int32_t>(number);
    return scan_.Expect(')', "after a parameter number");
  }
  const size_t mark = operands_.size();
  if (!scan_.TryChar(')')) {
    do {
      if (!ParseOperand(scope, instruction)) return false;
    } while (scan_.TryChar(','));
    if (!scan_.Expect(')', "after the operands of an instruction")) return false;
  }
  instruction.operands.begin = static_cast<uint32_t>(module_.operand_pool.size());
  instruction.operands.size = static_cast<uint32_t>(operands_.size() - mark);
  module_.operand_pool.insert(module_.operand_pool.end(),
                              operands_.begin() + static_cast<ptrdiff_t>(mark), operands_.end());
  operands_.resize(mark);
  return true;
}

// SHAPE? NAME (# INT)*, or SHAPE? OPCODE ( OPERANDS ): an instruction without name.
bool TextParser::ParseOperand(Scope& scope, const Instruction& instruction) {
  std::string_view shape;
  const char first = scan_.Peek();
  if ((first == ',' || first == ')') && MayMissOperands(instruction.opcode)) {
    DropOperand(instruction, scan_.position());
    return true;
  }
  if (StartsShape(scan_)) {
    scan_.Peek();
    const char* const where_shape = scan_.position();
    if (!TakeKnownShape(&shape) && !TakeShape(&shape)) return false;
    const char next = scan_.Peek();
    if (next == ',' || next == ')') {
      if (single_instruction_ && depth_ == 1) {
        return AddParameter(scope, FreshName(scope, "parameter"), shape);
      }
      if (single_instruction_) {
        return scan_.FailHere(fmt::format("expected the name of an operand of '{}', found {}",
                                          instruction.name, scan_.TokenAt(scan_.position())));
      }
      // XLA's own parser swallows it as well, and some of its tests rely on that.
      DropOperand(instruction, where_shape);
      return true;
    }
  }
  if (scan_.TryText("...")) {  // Compact printing cuts long lists: "...(+3)".
    std::string_view count;
    if (scan_.Peek() == '(' && !scan_.Balanced(&count)) return false;
    module_.warnings.push_back(fmt::format("{}: operands of '{}' are left out in the text",
                                           scan_.Location(scan_.position()), instruction.name));
    return true;
  }
  if (scan_.Peek() != '%') {
    const char* const start = scan_.position();
    const std::string_view word = scan_.Identifier();
    const bool nested = !word.empty() && scan_.Peek() == '(';
    scan_.set_position(start);
    if (nested) return ParseNestedInstruction(scope, shape);
  }
  return ParseOperandName(scope, shape);
}

// A lone instruction: its operands, with a shape or a shape and a name, are parameters.
bool TextParser::AddParameter(Scope& scope, std::string_view name, std::string_view shape) {
  Instruction parameter;
  parameter.name = name;
  parameter.opcode = "parameter";
  parameter.shape = shape;
  parameter.parameter_number = static_cast<int32_t>(scope.instructions->size());
  uint32_t index = kNoIndex;
  if (!Add(scope, parameter, scan_.position(), &index)) return false;
  operands_.push_back(index);
  return true;
}

void TextParser::DropOperand(const Instruction& instruction, const char* where) {
  if (shape_only_operands_++ > 0) return;
  module_.warnings.push_back(fmt::format("{}: dropped an operand of '{}' that has no name",
                                         scan_.Location(where), instruction.name));
}

bool TextParser::ParseOperandName(Scope& scope, std::string_view shape) {
  scan_.Peek();
  const char* const where = scan_.position();
  const std::string_view name = scan_.Name("an operand");
  if (scan_.failed()) return false;
  uint32_t index = FindInstruction(scope, name);
  if (index == kNoIndex && single_instruction_ && depth_ == 1 && !shape.empty()) {
    return AddParameter(scope, name, shape);
  }
  if (index == kNoIndex) return scan_.Fail(where, fmt::format("undefined name '{}'", name));
  // "%t#0#1": elements of a tuple whose get-tuple-element is not printed.
  while (scan_.TryChar('#')) {
    int64_t element = 0;
    if (!scan_.Int(&element, "a tuple index after '#'")) return false;
    // The name as printed, without the blanks and zeros that XLA never prints.
    std::string_view printed = scan_.Since(name.data());
    if (const std::string usual = fmt::format("{}#{}", (*scope.instructions)[index].name, element);
        printed != usual) {
      printed = module_.Own(usual);
    }
    if (!AddTupleElement(scope, index, printed, element, where, &index)) return false;
  }
  operands_.push_back(index);
  return true;
}

bool TextParser::AddTupleElement(Scope& scope, uint32_t tuple, std::string_view name,
                                 int64_t element, const char* where, uint32_t* index) {
  const uint32_t known = FindInstruction(scope, name);
  if (known != kNoIndex) {
    *index = known;
    return true;
  }
  const std::string_view part = TupleElement((*scope.instructions)[tuple].shape, element);
  if (part.empty()) {
    return scan_.Fail(
        where, fmt::format("'{}' has no element {}", (*scope.instructions)[tuple].name, element));
  }
  Instruction get;
  get.name = name;
  get.opcode = "get-tuple-element";
  get.shape = part;
  get.tuple_index = static_cast<int32_t>(element);
  get.operands = {static_cast<uint32_t>(module_.operand_pool.size()), 1};
  module_.operand_pool.push_back(tuple);
  return Add(scope, get, where, index);
}

bool TextParser::ParseNestedInstruction(Scope& scope, std::string_view shape) {
  // Each level of nesting is a level of recursion; hostile text nests without end.
  if (++instruction_depth_ > kMaxInstructionNesting) {
    return scan_.FailHere("instructions nest too deep");
  }
  Instruction instruction;
  scan_.Peek();
  const char* const where = scan_.position();
  instruction.opcode = scan_.Identifier();
  instruction.name = FreshName(scope, instruction.opcode);
  instruction.shape = shape;
  if (shape.empty() && (instruction.opcode == "parameter" || instruction.opcode == "constant")) {
    return scan_.Fail(where, fmt::format("a {} needs a shape", instruction.opcode));
  }
  if (!CheckOpcode(instruction.opcode, where)) return false;
  if (!ParseOperands(scope, instruction)) return false;
  --instruction_depth_;
  uint32_t index = kNoIndex;
  if (!Add(scope, instruction, where, &index)) return false;
  operands_.push_back(index);
  return true;
}

bool TextParser::Add(Scope& scope, const Instruction& instruction, const char* where,
                     uint32_t* index) {
  *index = static_cast<uint32_t>(scope.instructions->size());
  const bool is_new = scope.names.Insert(
      instruction.name, *index, [&](uint32_t known) { return (*scope.instructions)[known].name; });
  if (!is_new) {
    return scan_.Fail(where, fmt::format("instruction '{}' is defined twice", instruction.name));
  }
  scope.instructions->push_back(instruction);
  return true;
}

std::string_view TextParser::KeepShape(std::string_view raw) {
  return IsCanonicalShape(raw) ? raw : module_.Own(CanonicalShape(raw));
}

std::string_view TextParser::FreshName(const Scope& scope, std::string_view base) {
  while (true) {
    std::string name = fmt::format("{}.inline{}", base, ++fresh_names_);
    if (FindInstruction(scope, name) == kNoIndex) {
      return module_.Own(std::move(name));
    }
  }
}

}  // namespace xlatrace::hlo
