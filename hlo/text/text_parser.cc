// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/text_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "hlo/finish_module.h"
#include "hlo/text/attribute_syntax.h"
#include "hlo/text/module_attribute_syntax.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {
namespace {

// Nested computations and instructions recurse; upstream's cap is 8192, real text nests twice.
constexpr size_t kMaxNesting = 200;

template <typename T>
T At(const std::vector<T>& table, int64_t number) {
  if (number < 1 || static_cast<uint64_t>(number) > table.size()) return T{};
  return table[static_cast<size_t>(number - 1)];
}

// "8"; 1 for other text.
int64_t PositiveNumber(std::string_view text) {
  int64_t number = 1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number < 1 ? 1 : number;
}

// Estimates the number of indented lines from samples of a large text. Instructions are indented;
// header, tables and computations are not.
size_t CountIndentedLines(std::string_view text) {
  constexpr size_t kSampleBytes = 1 << 14;
  constexpr size_t kSampleCount = 8;
  const auto count = [](std::string_view part) {
    size_t lines = 0;
    if (part.empty()) return lines;
    for (size_t at = part.find('\n'); at < part.size() - 1; at = part.find('\n', at + 1)) {
      lines += part[at + 1] <= ' ' ? 1 : 0;
    }
    return lines;
  };
  if (text.size() <= kSampleCount * kSampleBytes) return count(text);
  size_t sum = 0;
  for (size_t i = 0; i < kSampleCount; ++i) {
    sum += count(text.substr((text.size() - kSampleBytes) / (kSampleCount - 1) * i, kSampleBytes));
  }
  // A little more, so that the estimate is rarely too small.
  return (text.size() / kSampleBytes + 1) * (sum / kSampleCount + 1) / 16 * 17;
}

template <typename T>
void Shrink(std::vector<T>& pool) {
  if (pool.capacity() - pool.size() > pool.size() / 4) pool.shrink_to_fit();
}

}  // namespace

using model::kNoIndex;

TextParser::TextParser(std::string_view text, model::HloModule& module)
    : scan_(text), module_(module), scopes_(1), text_(text.data()) {
  // XLA prints one instruction per line. A shorter line contains none.
  constexpr size_t kMinLineBytes = 24;
  module_.instructions.reserve(std::min(CountIndentedLines(text), text.size() / kMinLineBytes) + 1);
}

Status TextParser::Parse() {
  if (!ParseModule() || scan_.failed()) return tl::unexpected<Error>(scan_.error());
  // Frees the surplus of pools that grew by doubling. Not that of the instructions: the rest of
  // their reserve was never touched.
  Shrink(module_.operand_pool);
  Shrink(module_.dim_pool);
  Shrink(module_.details);
  Shrink(module_.literals);
  Shrink(module_.other_names);
  return {};
}

bool TextParser::KeepPart() {
  while (depth_ > 1) PopScope();  // Scopes inside an unfinished instruction.
  if (depth_ == 1) {
    uint32_t computation = kNoIndex;
    // An element of a tuple stays even if only the unfinished instruction uses it, because it is
    // sound.
    if (!Close(scopes_[0], &computation)) {
      module_.instructions.resize(scopes_[0].begin);
      AppendWaiting();
    }
  }
  if (module_.computations.empty()) return false;
  if (module_.entry == kNoIndex) {
    module_.entry = static_cast<uint32_t>(module_.computations.size() - 1);
  }
  return true;
}

bool TextParser::ParseModule() {
  if (scan_.AtEnd()) return scan_.FailHere("no HLO in it: the text is empty");
  if (scan_.TryWord("HloModule")) {
    if (!ParseHeader() || !ParseTables()) return false;
  } else if (!StartsComputation()) {
    return ParseSingleInstruction();
  }
  while (!scan_.AtEnd()) {
    if (SkipTail()) break;
    if (scan_.Peek() == '}') return scan_.FailHere("unexpected '}' behind a computation");
    if (!ParseComputation()) return false;
  }
  if (scan_.failed()) return false;
  if (module_.computations.empty()) return scan_.FailHere("the module holds no computation");
  if (module_.entry == kNoIndex) {
    module_.entry = static_cast<uint32_t>(module_.computations.size() - 1);
  }
  return true;
}

// Text after the last brace may not belong to the module. Examples: the rest of a longer file if
// several processes dumped under one name, the next module of a file of tests, surrounding text.
// The module is whole if it has its entry computation and the last '}' begins a line. The text
// after it must be neither a computation nor an instruction that a surplus brace cut off.
bool TextParser::SkipTail() {
  if (module_.entry == kNoIndex || StartsComputation()) return false;
  const char* const brace = last_end_ - 1;
  if (brace > text_ && brace[-1] != '\n') return false;
  scan_.Peek();
  const char* const start = scan_.position();
  if (*start == ',') return false;
  if (*start == '%' || IsIdentifierStart(*start)) {
    const bool instruction = scan_.Name("a name") == "ROOT" || scan_.Peek() == '=';
    if (!scan_.failed()) scan_.set_position(start);
    if (instruction || scan_.failed()) return false;
  }
  module_.warnings.push_back(fmt::format("{}: text behind the module's last brace is left out: {}",
                                         scan_.Location(start), scan_.TokenAt(start)));
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
    const ValueForm form = ModuleAttributeForm(attribute);
    if (form == ValueForm::kUnknown) ReportUnknown(attribute, "module attribute");
    if (scan_.Look() != '=') {
      return scan_.FailHere(
          fmt::format("expected '=' right behind the attribute name '{}'", attribute));
    }
    scan_.TryChar('=');
    if (!ScanValue(scan_, form, &value)) return false;
    if (attribute == "is_scheduled") module_.is_scheduled = value == "true";
    if (attribute == "replica_count") module_.replica_count = PositiveNumber(value);
    if (attribute == "num_partitions") module_.num_partitions = PositiveNumber(value);
    if (attribute == "input_output_alias" && !ParseAliasConfig(value)) return false;
    end = scan_.position();
  }
  if (scan_.failed()) return false;
  if (first_attribute != nullptr) {
    while (end > first_attribute && IsBlank(end[-1])) --end;
    module_.attributes = {first_attribute, static_cast<size_t>(end - first_attribute)};
  }
  return true;
}

// { {out}: (param, {idx}, may-alias), ... }; before 2020 { {out}: param }. A comma may follow the
// last one.
bool TextParser::ParseAliasConfig(std::string_view value) {
  const char* const after = value.data() + value.size();
  scan_.set_position(value.data());
  if (!scan_.Expect('{', "before input_output_alias")) return false;
  while (scan_.Peek() != '}') {
    int64_t parameter = 0;
    if (!ScanShapeIndex(scan_) || !scan_.Expect(':', "in input_output_alias")) return false;
    const bool is_pair = scan_.TryChar('(');
    if (!scan_.Int(&parameter, "a parameter number")) return false;
    if (is_pair) {
      if (!scan_.Expect(',', "in input_output_alias") || !ScanShapeIndex(scan_)) return false;
      if (scan_.TryChar(',')) {
        scan_.Peek();
        const char* const where = scan_.position();
        const std::string_view kind = scan_.Identifier();
        if (kind != "may-alias" && kind != "must-alias" && kind != "MAY_ALIAS" &&
            kind != "MUST_ALIAS" && kind != "SYSTEM" && kind != "USER") {
          return scan_.Fail(where, fmt::format("expected may-alias or must-alias, found {}",
                                               scan_.TokenAt(where)));
        }
      }
      if (!scan_.Expect(')', "after an alias")) return false;
    }
    module_.aliased_parameters.push_back(parameter);
    if (!scan_.TryChar(',')) break;
  }
  if (!scan_.Expect('}', "after input_output_alias")) return false;
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

bool TextParser::ParseTableRows(const std::function<void(const TableRow&)>& add) {
  int64_t rows = 0;
  while (scan_.Peek() >= '0' && scan_.Peek() <= '9') {
    int64_t number = 0;
    if (!scan_.Int(&number, "a number") || !scan_.Expect('{', "in a stack table")) return false;
    TableRow row;
    while (!scan_.TryChar('}')) {
      const std::string_view key = scan_.Name("a key of a stack table");
      int64_t value = 0;
      if (!scan_.Expect('=', "in a stack table") || !scan_.Int(&value, "a number")) return false;
      if (key == "file_name_id") row.file_name_id = value;
      if (key == "function_name_id") row.function_name_id = value;
      if (key == "line") row.line = value;
      if (key == "column") row.column = value;
      if (key == "file_location_id") row.file_location_id = value;
      if (key == "parent_frame_id") row.parent_frame_id = value;
      scan_.TryChar(',');
    }
    // Printed in order from 1; a gap would only be damage.
    if (number != rows + 1) continue;
    add(row);
    ++rows;
  }
  return !scan_.failed();
}

bool TextParser::ParseTables() {
  std::vector<std::string_view> files;
  std::vector<std::string_view> functions;
  std::vector<TableRow> locations;
  const auto int32 = [](int64_t value) {
    return value > 0 && value <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(value)
                                                                     : 0;
  };
  const auto add_frame = [&](const TableRow& row) {
    const TableRow location = At(locations, row.file_location_id);
    model::StackFrame& frame = module_.stack_frames.emplace_back();
    frame.file = At(files, location.file_name_id);
    frame.function = At(functions, location.function_name_id);
    frame.line = int32(location.line);
    frame.column = int32(location.column);
    // Text prints the parent's number plus one, so that 1 means none (hlo_module.cc).
    const int64_t parent = row.parent_frame_id;
    frame.parent = parent > 1 ? static_cast<uint32_t>(int32(parent)) - 1 : 0;
  };
  while (true) {
    bool good = true;
    if (scan_.TryWord("FileNames")) {
      good = ParseTableStrings(files);
    } else if (scan_.TryWord("FunctionNames")) {
      good = ParseTableStrings(functions);
    } else if (scan_.TryWord("FileLocations")) {
      good = ParseTableRows([&](const TableRow& row) { locations.push_back(row); });
    } else if (scan_.TryWord("StackFrames")) {
      good = ParseTableRows(add_frame);
    } else {
      break;
    }
    if (!good) return false;
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
  if (scan_.Peek() == '(' && !ParseProgramShape()) return false;
  if (is_entry && module_.entry != kNoIndex) {
    return scan_.Fail(where, fmt::format("second entry computation '{}'", name));
  }
  uint32_t computation = kNoIndex;
  if (!ParseBody(name, where, true, &computation)) return false;
  if (is_entry) module_.entry = computation;
  last_end_ = scan_.position();
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

// (NAME: SHAPE, ...) -> SHAPE: only its form is checked, because the instructions contain the same.
bool TextParser::ParseProgramShape() {
  std::string_view shape;
  scan_.TryChar('(');
  if (!scan_.TryChar(')')) {
    do {
      scan_.Name("a parameter");
      scan_.TryChar(':');
      if (!TakeKnownShape(&shape) && !ScanShape(scan_, &shape)) return false;
    } while (scan_.TryChar(','));
    if (!scan_.Expect(')', "after the parameters of a computation")) return false;
  }
  return scan_.ExpectText("->", "after the parameters of a computation") &&
         (TakeKnownShape(&shape) || ScanShape(scan_, &shape));
}

// The canonical form of one instruction, alone: operands may be shapes without names, which then
// are the parameters.
bool TextParser::ParseSingleInstruction() {
  single_instruction_ = true;
  scan_.TryWord("ROOT");
  scan_.Peek();
  const char* const where = scan_.position();
  Scope& scope = PushScope("entry", where);
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
  return Close(scope, &module_.entry);
}

bool TextParser::ParseNestedComputation(std::string_view suggested_name, uint32_t* computation) {
  if (depth_ >= kMaxNesting) return scan_.FailHere("computations nest too deep");
  scan_.Peek();
  return ParseBody(suggested_name, scan_.position(), false, computation);
}

bool TextParser::ParseBody(std::string_view name, const char* where, bool has_name,
                           uint32_t* computation) {
  if (!scan_.Expect('{', "at the start of a computation")) return false;
  Scope& scope = PushScope(name, where);
  scope.has_name = has_name;
  while (!scan_.TryChar('}')) {
    if (!ParseInstruction(scope)) return false;
  }
  return Close(scope, computation);
}

TextParser::Scope& TextParser::PushScope(std::string_view name, const char* where) {
  if (depth_ == scopes_.size()) scopes_.emplace_back();
  Scope& scope = scopes_[depth_++];
  scope.name = name;
  scope.where = where;
  scope.own.clear();
  scope.instructions = depth_ == 1 ? &module_.instructions : &scope.own;
  scope.begin = static_cast<uint32_t>(scope.instructions->size());
  scope.root = kNoIndex;
  scope.has_name = true;
  scope.names.Clear();
  scope.parameters.Clear();
  return scope;
}

uint32_t TextParser::FindInstruction(const Scope& scope, std::string_view name) const {
  return scope.names.Find(name, [&](uint32_t index) { return (*scope.instructions)[index].name; });
}

uint32_t TextParser::FindComputation(std::string_view name) const {
  return computation_names_.Find(name,
                                 [&](uint32_t index) { return module_.computations[index].name; });
}

bool TextParser::Close(Scope& scope, uint32_t* computation) {
  const auto count = static_cast<uint32_t>(scope.instructions->size()) - scope.begin;
  if (count == 0) {
    return scan_.Fail(scope.where, fmt::format("computation '{}' has no instructions", scope.name));
  }
  // Only now: computations inside of this one may have been given the same name.
  const std::string_view like = scope.name;
  while (!scope.has_name && FindComputation(scope.name) != kNoIndex) {
    scope.name = module_.Own(fmt::format("{}.{}", like, ++fresh_names_));
  }
  const auto index = static_cast<uint32_t>(module_.computations.size());
  const bool is_new = computation_names_.Insert(
      scope.name, index, [&](uint32_t known) { return module_.computations[known].name; });
  if (!is_new) {
    return scan_.Fail(scope.where, fmt::format("computation '{}' is defined twice", scope.name));
  }
  model::Computation& out = module_.computations.emplace_back();
  out.name = scope.name;
  out.first_instruction = scope.begin;
  out.instruction_count = count;
  out.root = scope.root != kNoIndex ? scope.root : scope.begin + count - 1;
  for (uint32_t i = 0; i < count; ++i) {
    (*scope.instructions)[scope.begin + i].computation = index;
  }
  *computation = index;
  PopScope();
  if (depth_ > 0) {
    waiting_.push_back({index, std::move(scope.own)});
  } else {
    AppendWaiting();
  }
  return true;
}

void TextParser::AppendWaiting() {
  for (Waiting& body : waiting_) {
    const auto base = static_cast<uint32_t>(module_.instructions.size());
    module_.computations[body.computation].first_instruction = base;
    module_.computations[body.computation].root += base;
    for (model::Instruction& instruction : body.instructions) {
      const auto operands = module_.operand_pool.begin() + instruction.operands.begin;
      for (uint32_t i = 0; i < instruction.operands.size; ++i) operands[i] += base;
      module_.instructions.push_back(instruction);
    }
  }
  waiting_.clear();
}

}  // namespace xlatrace::hlo
