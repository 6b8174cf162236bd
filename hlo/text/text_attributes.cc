// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "hlo/finish_module.h"
#include "hlo/op_details.h"
#include "hlo/shape.h"
#include "hlo/text/attribute_syntax.h"
#include "hlo/text/attribute_words.h"
#include "hlo/text/text_parser.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {

using model::Instruction;
using model::kNoIndex;

namespace {

// Attributes whose value is a computation, and the place it has among HloInstruction's called
// computations (hlo_instruction.cc; the proto lists them in that order).
struct CallAttribute {
  std::string_view name;
  uint32_t rank;
  bool takes_list = false;
};
constexpr CallAttribute kCallAttributes[] = {
    {"calls", 0, true},
    {"to_apply", 0},
    {"body", 0},
    {"condition", 1},
    {"select", 0},
    {"scatter", 1},
    {"true_computation", 0},
    {"false_computation", 1},
    {"branch_computations", 0, true},
    {"called_computations", 0, true},
};

// Keys of metadata that are read over: OpMetadata of all eras.
bool IsMetadataKey(std::string_view key) {
  for (const std::string_view known :
       {"profile_type", "source_end_line", "source_column", "source_end_column", "metadata_payload",
        "preserve_layout", "size_of_generated_code_in_bytes", "size_of_memory_working_set_in_bytes",
        "profile_info"}) {
    if (key == known) return true;
  }
  return false;
}

// One of 64 bits; names of one instruction that share theirs are compared.
uint64_t BitOf(std::string_view name) {
  const auto first = static_cast<unsigned char>(name.front());
  const auto last = static_cast<unsigned char>(name.back());
  return uint64_t{1} << ((first * 5U + last * 3U + name.size()) % 64);
}

}  // namespace

bool TextParser::ParseAttributes(Scope& scope, Instruction& instruction) {
  const size_t mark = calls_.size();
  const char* start = nullptr;
  const char* end = nullptr;
  const size_t names_mark = attribute_names_.size();
  uint64_t seen = 0;
  while (scan_.TryChar(',')) {
    scan_.Peek();
    const char* const where = scan_.position();
    if (start == nullptr) start = where;
    const std::string_view name = scan_.Identifier();
    if (name.empty()) {
      return scan_.FailHere(fmt::format("expected an attribute of '{}', found {}", instruction.name,
                                        scan_.TokenAt(scan_.position())));
    }
    // A blank in between makes it two tokens for XLA, and no attribute.
    if (scan_.Look() != '=') {
      return scan_.FailHere(fmt::format("expected '=' right behind the attribute name '{}'", name));
    }
    scan_.TryChar('=');
    const uint64_t bit = BitOf(name);
    const auto first_name = attribute_names_.begin() + static_cast<ptrdiff_t>(names_mark);
    if ((seen & bit) != 0 &&
        std::find(first_name, attribute_names_.end(), name) != attribute_names_.end()) {
      return scan_.Fail(where,
                        fmt::format("second attribute '{}' of '{}'", name, instruction.name));
    }
    seen |= bit;
    attribute_names_.push_back(name);
    if (!ParseAttribute(scope, instruction, name)) return false;
    end = scan_.position();  // Behind it may come blanks and comments.
  }
  if (scan_.failed()) return false;
  while (end > start && IsBlank(end[-1])) --end;
  instruction.attributes = KeepAttributes({start, static_cast<size_t>(end - start)}, mark);
  const auto first = calls_.begin() + static_cast<ptrdiff_t>(mark);
  std::stable_sort(first, calls_.end(),
                   [](const Call& a, const Call& b) { return a.rank < b.rank; });
  instruction.called_computations.begin = static_cast<uint32_t>(module_.called_pool.size());
  instruction.called_computations.size = static_cast<uint32_t>(calls_.size() - mark);
  for (auto it = first; it != calls_.end(); ++it) module_.called_pool.push_back(it->computation);
  calls_.resize(mark);
  attribute_names_.resize(names_mark);
  return !scan_.failed();
}

// Computations that are written inline become instructions of their own: their text would only
// repeat them. `first_call`: the first call of this instruction, in the order of the text.
std::string_view TextParser::KeepAttributes(std::string_view raw, size_t first_call) {
  std::string kept;
  const char* from = raw.data();
  for (size_t i = first_call; i < calls_.size(); ++i) {
    const std::string_view text = calls_[i].inline_text;
    if (text.empty()) continue;
    kept.append(from, text.data())
        .append("%")
        .append(module_.computations[calls_[i].computation].name);
    from = text.data() + text.size();
  }
  if (from == raw.data()) return raw;
  return module_.Own(kept.append(from, raw.data() + raw.size()));
}

bool TextParser::ParseAttribute(Scope& scope, Instruction& instruction, std::string_view name) {
  if (name == "metadata") return ParseMetadata(instruction.metadata);
  if (name == "backend_config") return ParseConfig(&instruction.backend_config);
  if (name == "kind") return ParseWord(name, ValueForm::kWord, &instruction.fusion_kind);
  if (name == "custom_call_target") return ParseText(&instruction.custom_call_target);
  if (name == "index") {
    int64_t index = 0;
    scan_.Peek();
    const char* const where_index = scan_.position();
    if (!scan_.Int(&index, "a tuple index")) return false;
    if (index < 0 || index > INT32_MAX) {
      return scan_.Fail(where_index, fmt::format("tuple index {} is out of range", index));
    }
    instruction.tuple_index = static_cast<int32_t>(index);
    return true;
  }
  if (name == "lhs_contracting_dims") return ParseContractingDims(instruction);
  if (name == "control-predecessors") return ParseControlPredecessors(scope);
  for (const CallAttribute& attribute : kCallAttributes) {
    if (name != attribute.name) continue;
    return attribute.takes_list ? ParseCalls(instruction, name, attribute.rank)
                                : ParseCall(instruction, name, attribute.rank);
  }
  std::string_view value;
  const ValueForm form = InstructionAttributeForm(name);
  if (form == ValueForm::kUnknown) ReportUnknown(name, "attribute");
  scan_.Peek();
  const char* const where = scan_.position();
  const bool is_words = form == ValueForm::kWord || form == ValueForm::kWords;
  if (is_words ? !ParseWord(name, form, &value) : !ScanValue(scan_, form, &value)) return false;
  if (name == "parameter_replication") {
    const auto given = std::count(value.begin(), value.end(), ',') + 1;
    const auto leaves = static_cast<int64_t>(Leaves(instruction.shape).size());
    if (given != leaves && value != "{}") {
      return scan_.Fail(
          where, fmt::format("parameter_replication has {} values for {} arrays", given, leaves));
    }
  }
  ReadDetail(module_, instruction, name, value);
  return true;
}

// One of the words that the attribute takes, or a list of them.
bool TextParser::ParseWord(std::string_view attribute, ValueForm form, std::string_view* value) {
  if (!ScanValue(scan_, form, value)) return false;
  if (form == ValueForm::kWord && TakesWord(attribute, *value)) return true;
  TextScanner words(*value);
  words.TryChar('{');
  while (true) {
    const std::string_view word = words.Identifier();
    if (word.empty()) return true;
    if (!TakesWord(attribute, word)) {
      return scan_.Fail(word.data(),
                        fmt::format("{} cannot be {}", attribute, scan_.TokenAt(word.data())));
    }
    words.TryChar(',');
  }
}

// NAME, { NAME, ... } or a computation in braces.
bool TextParser::ParseCalls(const Instruction& instruction, std::string_view attribute,
                            uint32_t rank) {
  if (scan_.Peek() != '{' || StartsInlineComputation()) {
    return ParseCall(instruction, attribute, rank);
  }
  scan_.TryChar('{');
  if (scan_.TryChar('}')) return true;
  do {
    if (!ParseCall(instruction, attribute, rank)) return false;
  } while (scan_.TryChar(','));
  return scan_.Expect('}', "after a list of computations");
}

bool TextParser::ParseCall(const Instruction& instruction, std::string_view attribute,
                           uint32_t rank) {
  uint32_t computation = kNoIndex;
  std::string_view inline_text;
  if (scan_.Peek() == '{') {
    const char* const where = scan_.position();
    const std::string_view name = module_.Own(fmt::format("{}.{}", instruction.name, attribute));
    if (!ParseNestedComputation(name, &computation)) return false;
    inline_text = scan_.Since(where);
  } else {
    const char* const where = scan_.position();
    const std::string_view name = scan_.Name("a computation");
    if (scan_.failed()) return false;
    computation = FindComputation(name);
    if (computation == kNoIndex) {
      return scan_.Fail(where, fmt::format("undefined computation '{}'", name));
    }
  }
  calls_.push_back({rank, computation, inline_text});
  return true;
}

// At '{': does an instruction follow rather than a list of names? Looks only.
bool TextParser::StartsInlineComputation() {
  const char* const start = scan_.position();
  scan_.TryChar('{');
  bool is_computation = scan_.TryWord("ROOT");
  if (!is_computation) {
    if (scan_.Peek() == '%') scan_.TryChar('%');
    is_computation = !scan_.Identifier().empty() && scan_.Peek() == '=';
  }
  if (!scan_.failed()) scan_.set_position(start);
  return is_computation;
}

// { KEY=VALUE ... }, separated by blanks, of late also by commas.
bool TextParser::ParseMetadata(model::OpMetadata& metadata) {
  if (!scan_.Expect('{', "before metadata")) return false;
  while (!scan_.TryChar('}')) {
    const std::string_view key = scan_.Name("a key of metadata");
    if (!scan_.Expect('=', "after a key of metadata")) return false;
    std::string_view value;
    bool good = true;
    if (key == "op_name") {
      good = ParseText(&metadata.op_name);
    } else if (key == "op_type") {
      good = ParseText(&metadata.op_type);
    } else if (key == "source_file") {
      good = ParseText(&metadata.source_file);
    } else if (key == "deduplicated_name") {
      good = ParseText(&value);
      if (good) MutableOtherNames(module_, metadata).deduplicated = value;
    } else if (key == "scheduling_name") {
      good = ParseText(&value);
      if (good) MutableOtherNames(module_, metadata).scheduling = value;
    } else if (key == "source_line" || key == "stack_frame_id") {
      scan_.Peek();
      const char* const start = scan_.position();
      int64_t number = 0;
      good = scan_.Int(&number, "a number");
      if (good && number != static_cast<int32_t>(number)) {
        return scan_.Fail(start, fmt::format("a {} of {} is out of range", key, number));
      }
      const bool fits = number > 0;
      if (key == "source_line") {
        metadata.source_line = fits ? static_cast<int32_t>(number) : 0;
      } else {
        metadata.stack_frame = fits ? static_cast<uint32_t>(number) : 0;
      }
    } else {
      if (!IsMetadataKey(key)) ReportUnknown(key, "metadata key");
      good = scan_.Value(&value);
    }
    if (!good) return false;
    scan_.TryChar(',');
  }
  ResolveSource(module_, metadata);
  return !scan_.failed();
}

// Each name once: a newer XLA prints it with every instruction.
void TextParser::ReportUnknown(std::string_view word, std::string_view what) {
  constexpr size_t kMax = 20;
  if (reported_.size() >= kMax || !reported_.insert(word).second) return;
  module_.warnings.push_back(fmt::format("{}: {} '{}' is not known; kept as it is",
                                         scan_.Location(word.data()), what, word));
}

// Only checked.
bool TextParser::ParseControlPredecessors(Scope& scope) {
  if (!scan_.Expect('{', "before control predecessors")) return false;
  do {
    scan_.Peek();
    const char* const where = scan_.position();
    const std::string_view name = scan_.Name("an instruction");
    if (scan_.failed()) return false;
    if (FindInstruction(scope, name) == kNoIndex) {
      return scan_.Fail(where, fmt::format("undefined name '{}'", name));
    }
  } while (scan_.TryChar(','));
  return scan_.Expect('}', "after control predecessors");
}

bool TextParser::ParseContractingDims(Instruction& instruction) {
  instruction.lhs_contracting_dims.begin = static_cast<uint32_t>(module_.dim_pool.size());
  if (!scan_.Expect('{', "before dimensions")) return false;
  if (scan_.TryChar('}')) return true;
  do {
    int64_t dim = 0;
    if (!scan_.Int(&dim, "a dimension")) return false;
    module_.dim_pool.push_back(dim);
  } while (scan_.TryChar(','));
  instruction.lhs_contracting_dims.size =
      static_cast<uint32_t>(module_.dim_pool.size()) - instruction.lhs_contracting_dims.begin;
  return scan_.Expect('}', "after dimensions");
}

bool TextParser::ParseConfig(std::string_view* value) {
  return scan_.Peek() == '{' ? scan_.Balanced(value) : ParseText(value);
}

bool TextParser::ParseText(std::string_view* value) {
  if (!scan_.String(value)) return false;
  if (value->find('\\') != std::string_view::npos) *value = module_.Own(Unescape(*value));
  return true;
}

}  // namespace xlatrace::hlo
