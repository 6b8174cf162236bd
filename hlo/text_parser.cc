#include "hlo/text_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "hlo/finish_module.h"
#include "hlo/text_shape.h"

namespace xlatrace::hlo {
namespace {

// Nested computations and instructions recurse; upstream's cap is 8192, real text nests twice.
constexpr size_t kMaxNesting = 200;

template <typename T>
T At(const std::vector<T>& table, int64_t number) {
  if (number < 1 || static_cast<uint64_t>(number) > table.size()) return T{};
  return table[static_cast<size_t>(number - 1)];
}

// "8"; 1 when it is none.
int64_t PositiveNumber(std::string_view text) {
  int64_t number = 1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number < 1 ? 1 : number;
}

}  // namespace

using model::kNoIndex;

Status TextParser::Parse() {
  scopes_.resize(kMaxNesting + 1);
  if (!ParseModule() || scan_.failed()) return tl::unexpected<Error>(scan_.error());
  return {};
}

bool TextParser::ParseModule() {
  if (scan_.AtEnd()) return scan_.FailHere("no HLO in it: the text is empty");
  if (scan_.TryWord("HloModule")) {
    if (!ParseHeader() || !ParseTables()) return false;
  } else if (!StartsComputation()) {
    return ParseSingleInstruction();
  }
  while (!scan_.AtEnd()) {
    if (scan_.Peek() == '}' && module_.entry != kNoIndex) {
      // Processes that dump into one folder leave the tail of a longer file behind a shorter one.
      module_.warnings.push_back(
          fmt::format("{}: ignored what follows the last computation, maybe the rest of another "
                      "file",
                      scan_.Location(scan_.position())));
      break;
    }
    if (!ParseComputation()) return false;
  }
  if (scan_.failed()) return false;
  if (module_.computations.empty()) return scan_.FailHere("the module holds no computation");
  if (module_.entry == kNoIndex) {
    module_.entry = static_cast<uint32_t>(module_.computations.size() - 1);
  }
  return true;
}

// HloModule NAME (, attribute)*
bool TextParser::ParseHeader() {
  scan_.Peek();
  const char* const start = scan_.position();
  if (scan_.Peek() != ',') {  // Fingerprints are printed without a name.
    std::string_view name;
    if (!IsIdentifierStart(scan_.Look()) && scan_.Look() != '%') {
      return scan_.FailHere(fmt::format("expected a module name, found {}", scan_.TokenAt(start)));
    }
    if (!scan_.Value(&name)) return false;
    // "%name" and the name token "name:" are spellings of the name.
    if (name.front() == '%') name.remove_prefix(1);
    if (!name.empty() && name.back() == ':') name.remove_suffix(1);
    module_.name = name;
  }
  const char* first_attribute = nullptr;
  const char* end = nullptr;
  while (scan_.TryChar(',')) {
    scan_.Peek();
    if (first_attribute == nullptr) first_attribute = scan_.position();
    const std::string_view attribute = scan_.Identifier();
    if (attribute.empty()) {
      return scan_.FailHere(fmt::format("expected an attribute of the module, found {}",
                                        scan_.TokenAt(scan_.position())));
    }
    std::string_view value;
    if (!scan_.Expect('=', "after an attribute name") || !scan_.Value(&value)) return false;
    if (attribute == "is_scheduled") module_.is_scheduled = value == "true";
    if (attribute == "replica_count") module_.replica_count = PositiveNumber(value);
    if (attribute == "num_partitions") module_.num_partitions = PositiveNumber(value);
    if (attribute == "input_output_alias" && !ParseAliasConfig(value)) return false;
    end = scan_.position();
  }
  if (scan_.failed()) return false;
  if (first_attribute != nullptr) {
    module_.attributes = {first_attribute, static_cast<size_t>(end - first_attribute)};
  }
  return true;
}

// { {out}: (param, {idx}, may-alias), ... }: only its form is checked.
bool TextParser::ParseAliasConfig(std::string_view value) {
  const char* const after = value.data() + value.size();
  const auto index_list = [this] {
    if (!scan_.Expect('{', "before an output index of input_output_alias")) return false;
    if (scan_.TryChar('}')) return true;
    do {
      int64_t index = 0;
      if (!scan_.Int(&index, "an output index")) return false;
    } while (scan_.TryChar(','));
    return scan_.Expect('}', "after an output index of input_output_alias");
  };
  scan_.set_position(value.data());
  if (!scan_.Expect('{', "before input_output_alias")) return false;
  if (!scan_.TryChar('}')) {
    do {
      if (!index_list() || !scan_.Expect(':', "in input_output_alias")) return false;
      std::string_view target;
      if (scan_.Peek() == '(' ? !scan_.Balanced(&target) : !scan_.Value(&target)) return false;
    } while (scan_.TryChar(','));
    if (!scan_.Expect('}', "after input_output_alias")) return false;
  }
  scan_.set_position(after);
  return true;
}

bool TextParser::ParseTableStrings(std::vector<std::string_view>& table) {
  while (scan_.Peek() >= '0' && scan_.Peek() <= '9') {
    int64_t number = 0;
    std::string_view text;
    if (!scan_.Int(&number, "a number") || !ParseText(&text)) return false;
    // Printed in order from 1; a gap would only be damage.
    if (number == static_cast<int64_t>(table.size()) + 1) table.push_back(text);
  }
  return !scan_.failed();
}

bool TextParser::ParseTableRows(
    std::vector<std::vector<std::pair<std::string_view, int64_t>>>& rows) {
  while (scan_.Peek() >= '0' && scan_.Peek() <= '9') {
    int64_t number = 0;
    if (!scan_.Int(&number, "a number") || !scan_.Expect('{', "in a stack table")) return false;
    std::vector<std::pair<std::string_view, int64_t>> row;
    while (!scan_.TryChar('}')) {
      const std::string_view key = scan_.Name("a key of a stack table");
      int64_t value = 0;
      if (!scan_.Expect('=', "in a stack table") || !scan_.Int(&value, "a number")) return false;
      scan_.TryChar(',');
      row.emplace_back(key, value);
    }
    if (number == static_cast<int64_t>(rows.size()) + 1) rows.push_back(std::move(row));
  }
  return !scan_.failed();
}

bool TextParser::ParseTables() {
  std::vector<std::string_view> files;
  std::vector<std::string_view> functions;
  std::vector<std::vector<std::pair<std::string_view, int64_t>>> locations;
  std::vector<std::vector<std::pair<std::string_view, int64_t>>> frames;
  while (true) {
    if (scan_.TryWord("FileNames")) {
      if (!ParseTableStrings(files)) return false;
    } else if (scan_.TryWord("FunctionNames")) {
      if (!ParseTableStrings(functions)) return false;
    } else if (scan_.TryWord("FileLocations")) {
      if (!ParseTableRows(locations)) return false;
    } else if (scan_.TryWord("StackFrames")) {
      if (!ParseTableRows(frames)) return false;
    } else {
      break;
    }
  }
  const auto number = [](const auto& row, std::string_view key) {
    for (const auto& [name, value] : row) {
      if (name == key) return value;
    }
    return int64_t{0};
  };
  const auto int32 = [](int64_t value) {
    return value > 0 && value <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(value)
                                                                     : 0;
  };
  for (const auto& row : frames) {
    const auto location = At(locations, number(row, "file_location_id"));
    model::StackFrame& frame = module_.stack_frames.emplace_back();
    frame.file = At(files, number(location, "file_name_id"));
    frame.function = At(functions, number(location, "function_name_id"));
    frame.line = int32(number(location, "line"));
    frame.column = int32(number(location, "column"));
    // Text prints the parent's number plus one, so that 1 means none (hlo_module.cc).
    const int64_t parent = number(row, "parent_frame_id");
    frame.parent = parent > 1 ? static_cast<uint32_t>(int32(parent)) - 1 : 0;
  }
  BreakFrameCycles(module_);
  return !scan_.failed();
}

// ENTRY ..., or NAME '{', or NAME '(' ... '->'. Looks only.
bool TextParser::StartsComputation() {
  scan_.Peek();
  const char* const start = scan_.position();
  bool starts = false;
  if (scan_.TryWord("ENTRY")) {
    starts = true;
  } else if (scan_.Peek() == '%' || IsIdentifierStart(scan_.Look())) {
    scan_.Name("a name");
    const char next = scan_.Peek();
    starts = next == '{' || next == '(';
  }
  if (!scan_.failed()) scan_.set_position(start);
  return starts;
}

// ENTRY? NAME (PARAMETERS -> SHAPE)? BODY (, execution_thread="...")?
bool TextParser::ParseComputation() {
  const bool is_entry = scan_.TryWord("ENTRY");
  scan_.Peek();
  const char* const where = scan_.position();
  const std::string_view name = scan_.Name("a computation");
  if (scan_.failed()) return false;
  if (scan_.Peek() == '(') {
    std::string_view parameters;
    std::string_view shape;
    if (!scan_.Balanced(&parameters)) return false;
    if (!scan_.ExpectText("->", "after the parameters of a computation")) return false;
    if (!ScanShape(scan_, &shape)) return false;
  }
  if (is_entry && module_.entry != kNoIndex) {
    return scan_.Fail(where, fmt::format("second entry computation '{}'", name));
  }
  uint32_t computation = kNoIndex;
  if (!ParseBody(name, where, false, &computation)) return false;
  if (is_entry) module_.entry = computation;
  while (scan_.TryChar(',')) {
    const std::string_view attribute = scan_.Identifier();
    if (attribute.empty()) return scan_.FailHere("expected an attribute");
    if (!scan_.Expect('=', "after an attribute name")) return false;
    std::string_view value;
    if (!ParseText(&value)) return false;
    if (attribute == "execution_thread") {
      module_.computations[computation].execution_thread = value;
    }
  }
  return !scan_.failed();
}

// The canonical form of one instruction, alone: operands may be shapes without names, which then
// are the parameters.
bool TextParser::ParseSingleInstruction() {
  single_instruction_ = true;
  Scope& scope = PushScope();
  scope.name = "entry";
  scan_.TryWord("ROOT");
  scan_.Peek();
  const char* const where = scan_.position();
  std::string_view name = "instruction";
  if (!StartsShape(scan_)) {
    name = scan_.Name("an HLO module or an instruction");
    if (!scan_.Expect('=', "after the name of an instruction")) return false;
  }
  uint32_t root = kNoIndex;
  if (!ParseRest(scope, name, where, &root)) return false;
  if (!scan_.AtEnd()) {
    return scan_.FailHere(
        fmt::format("unexpected {} after a single instruction", scan_.TokenAt(scan_.position())));
  }
  scope.root = root;
  return Close(scope, where, &module_.entry);
}

bool TextParser::ParseNestedComputation(std::string_view suggested_name, uint32_t* computation) {
  if (depth_ >= kMaxNesting) return scan_.FailHere("computations nest too deep");
  scan_.Peek();
  return ParseBody(suggested_name, scan_.position(), true, computation);
}

bool TextParser::ParseBody(std::string_view name, const char* where, bool unique_name,
                           uint32_t* computation) {
  if (!scan_.Expect('{', "at the start of a computation")) return false;
  Scope& scope = PushScope();
  if (unique_name && computation_names_.Find(0, name) != kNoIndex) {
    name = module_.Own(fmt::format("{}.{}", name, ++fresh_names_));
  }
  scope.name = name;
  while (!scan_.TryChar('}')) {
    if (!ParseInstruction(scope)) return false;
  }
  return Close(scope, where, computation);
}

TextParser::Scope& TextParser::PushScope() {
  Scope& scope = scopes_[depth_++];
  scope.number = ++scope_count_;
  scope.instructions.clear();
  scope.root = kNoIndex;
  scope.parameters.clear();
  return scope;
}

bool TextParser::Close(Scope& scope, const char* where, uint32_t* computation) {
  if (scope.instructions.empty()) {
    return scan_.Fail(where, fmt::format("computation '{}' has no instructions", scope.name));
  }
  while (!references_.empty() && references_.back().scope == scope.number) {
    const Reference& reference = references_.back();
    if (instruction_names_.Find(scope.number, reference.name) == kNoIndex) {
      return scan_.Fail(reference.where, fmt::format("undefined name '{}'", reference.name));
    }
    references_.pop_back();
  }
  const auto index = static_cast<uint32_t>(module_.computations.size());
  if (!computation_names_.Insert(0, scope.name, index)) {
    return scan_.Fail(where, fmt::format("computation '{}' is defined twice", scope.name));
  }
  const auto base = static_cast<uint32_t>(module_.instructions.size());
  model::Computation& out = module_.computations.emplace_back();
  out.name = scope.name;
  out.first_instruction = base;
  out.instruction_count = static_cast<uint32_t>(scope.instructions.size());
  out.root = base + (scope.root != kNoIndex ? scope.root : out.instruction_count - 1);
  for (model::Instruction& instruction : scope.instructions) {
    instruction.computation = index;
    const auto operands = module_.operand_pool.begin() + instruction.operands.begin;
    for (uint32_t i = 0; i < instruction.operands.size; ++i) operands[i] += base;
  }
  module_.instructions.insert(module_.instructions.end(), scope.instructions.begin(),
                              scope.instructions.end());
  *computation = index;
  PopScope();
  return true;
}

}  // namespace xlatrace::hlo
