#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "hlo/finish_module.h"
#include "hlo/op_details.h"
#include "hlo/shape.h"
#include "hlo/text_parser.h"
#include "hlo/text_shape.h"

namespace xlatrace::hlo {

using model::Instruction;
using model::kNoIndex;

namespace {

// Attributes whose value is a computation, and the place it has among HloInstruction's called
// computations (hlo_instruction.cc; the proto lists them in that order).
struct CallAttribute {
  std::string_view name;
  uint32_t rank;
};
constexpr CallAttribute kCallAttributes[] = {
    {"calls", 0},
    {"to_apply", 0},
    {"body", 0},
    {"condition", 1},
    {"select", 0},
    {"scatter", 1},
    {"true_computation", 0},
    {"false_computation", 1},
    {"branch_computations", 0},
    {"called_computations", 0},
};

bool IsDimLabels(std::string_view value) {
  size_t at = 0;
  for (const std::string_view separator : {"_", "->", ""}) {
    size_t count = 0;
    while (at < value.size() && value[at] != '_' && value[at] != '-') {
      const char c = value[at++];
      const bool digit = c >= '0' && c <= '9';
      if (!digit && c != 'b' && c != 'f' && c != 'i' && c != 'o' && c != '?') return false;
      ++count;
    }
    if (count < 2 || value.substr(at, separator.size()) != separator) return false;
    // Each of b/i and f/o names a dimension once; "?" stands for the others.
    at += separator.size();
  }
  return at == value.size();
}

// The two feature dimensions must be named in every part.
bool NamesFeatures(std::string_view dim_labels) {
  const size_t first = dim_labels.find('_');
  const size_t second = dim_labels.find("->");
  const auto has = [](std::string_view part, char a, char b) {
    return part.find(a) != std::string_view::npos && part.find(b) != std::string_view::npos;
  };
  return has(dim_labels.substr(0, first), 'b', 'f') &&
         has(dim_labels.substr(first, second - first), 'i', 'o') &&
         has(dim_labels.substr(second), 'b', 'f');
}

// xla.CustomCallApiVersion.
bool IsApiVersion(std::string_view value) {
  return value == "API_VERSION_ORIGINAL" || value == "API_VERSION_STATUS_RETURNING" ||
         value == "API_VERSION_STATUS_RETURNING_UNIFIED" || value == "API_VERSION_TYPED_FFI";
}

// {mode=highest}, {mode=default} or {tolerance={...}}.
bool IsResultAccuracy(std::string_view value) {
  const size_t mode = value.find("mode");
  if (mode == std::string_view::npos) return true;
  const size_t word = value.find_first_not_of(" \t\n=", mode + 4);
  if (word == std::string_view::npos) return false;
  const std::string_view rest = value.substr(word);
  return rest.substr(0, 7) == "highest" || rest.substr(0, 7) == "default" ||
         rest.substr(0, 9) == "tolerance";
}

}  // namespace

bool TextParser::ParseAttributes(Scope& scope, Instruction& instruction) {
  const size_t mark = calls_.size();
  const char* start = nullptr;
  const char* end = nullptr;
  while (scan_.TryChar(',')) {
    scan_.Peek();
    if (start == nullptr) start = scan_.position();
    const std::string_view name = scan_.Identifier();
    if (name.empty()) {
      return scan_.FailHere(fmt::format("expected an attribute of '{}', found {}", instruction.name,
                                        scan_.TokenAt(scan_.position())));
    }
    if (!scan_.Expect('=', "after an attribute name")) return false;
    if (!ParseAttribute(scope, instruction, name)) return false;
    end = scan_.position();  // Behind it may come blanks and comments.
  }
  if (scan_.failed()) return false;
  instruction.attributes = KeepAttributes({start, static_cast<size_t>(end - start)}, mark);
  const auto first = calls_.begin() + static_cast<ptrdiff_t>(mark);
  std::stable_sort(first, calls_.end(),
                   [](const Call& a, const Call& b) { return a.rank < b.rank; });
  instruction.called_computations.begin = static_cast<uint32_t>(module_.called_pool.size());
  instruction.called_computations.size = static_cast<uint32_t>(calls_.size() - mark);
  for (auto it = first; it != calls_.end(); ++it) module_.called_pool.push_back(it->computation);
  calls_.resize(mark);
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
  if (name == "backend_config") return ParseText(&instruction.backend_config);
  if (name == "kind") return scan_.Value(&instruction.fusion_kind);
  if (name == "custom_call_target") return ParseText(&instruction.custom_call_target);
  if (name == "index") return scan_.Int(&instruction.tuple_index, "a tuple index");
  if (name == "lhs_contracting_dims") return ParseContractingDims(instruction);
  if (name == "control-predecessors") return ParseControlPredecessors(scope);
  for (const CallAttribute& attribute : kCallAttributes) {
    if (name == attribute.name) return ParseCalls(instruction, name, attribute.rank);
  }
  std::string_view value;
  // literal=s32[] 1
  if (name == "literal" && StartsShape(scan_) && !ScanShape(scan_, &value)) return false;
  scan_.Peek();
  const char* const where = scan_.position();
  if (!scan_.Value(&value)) return false;
  if (name == "dim_labels" && (!IsDimLabels(value) || !NamesFeatures(value))) {
    return scan_.Fail(where, fmt::format("invalid dimension numbers {}", scan_.TokenAt(where)));
  }
  if (name == "api_version" && !IsApiVersion(value)) {
    return scan_.Fail(where, fmt::format("invalid API version {}", scan_.TokenAt(where)));
  }
  if (name == "result_accuracy" && !IsResultAccuracy(value)) {
    return scan_.Fail(where, "invalid result accuracy");
  }
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
    computation = computation_names_.Find(0, name);
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
      good = ParseText(&metadata.deduplicated_name);
    } else if (key == "scheduling_name") {
      good = ParseText(&metadata.scheduling_name);
    } else if (key == "source_line" || key == "stack_frame_id") {
      int64_t number = 0;
      good = scan_.Int(&number, "a number");
      const bool fits = number > 0 && number <= std::numeric_limits<int32_t>::max();
      if (key == "source_line") {
        metadata.source_line = fits ? static_cast<int32_t>(number) : 0;
      } else {
        metadata.stack_frame = fits ? static_cast<uint32_t>(number) : 0;
      }
    } else {
      good = scan_.Value(&value);
    }
    if (!good) return false;
    scan_.TryChar(',');
  }
  ResolveSource(module_, metadata);
  return !scan_.failed();
}

// Only checked: a scheduled list may name an instruction that comes later.
bool TextParser::ParseControlPredecessors(Scope& scope) {
  if (!scan_.Expect('{', "before control predecessors")) return false;
  if (scan_.TryChar('}')) return true;
  do {
    scan_.Peek();
    const char* const where = scan_.position();
    const std::string_view name = scan_.Name("an instruction");
    if (scan_.failed()) return false;
    references_.push_back({scope.number, name, where});
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

bool TextParser::ParseText(std::string_view* value) {
  const char next = scan_.Peek();
  if (next != '"' && next != '\'') return scan_.Value(value);
  if (!scan_.String(value)) return false;
  if (value->find('\\') != std::string_view::npos) *value = module_.Own(Unescape(*value));
  return true;
}

}  // namespace xlatrace::hlo
