// SPDX-License-Identifier: Apache-2.0
#include "dumps/find_pattern.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "hlo/module_summary.h"

namespace xlatrace::dumps {
namespace {

struct NamedField {
  std::string_view name;
  FindField field;
};
constexpr NamedField kFields[] = {
    {"name", kFindName},   {"op_name", kFindOpName}, {"source", kFindSource},
    {"shape", kFindShape}, {"opcode", kFindOpcode},  {"target", kFindTarget},
};

constexpr int32_t kExactWeight = 100;
constexpr int32_t kWholeNameWeight = 90;
constexpr int32_t kPartOfNameWeight = 60;
constexpr int32_t kWholeOpcodeWeight = 55;
constexpr int32_t kEndOfOpNameWeight = 50;
constexpr int32_t kOpNameWeight = 45;
constexpr int32_t kTargetWeight = 42;
constexpr int32_t kSourceWeight = 40;
constexpr int32_t kCallerWeight = 25;  // A line further out on the Python stack.
constexpr int32_t kOpcodeWeight = 30;
constexpr int32_t kShapeWeight = 20;

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

uint8_t FindFieldFromText(std::string_view text) {
  for (const NamedField& field : kFields) {
    if (field.name == text) return field.field;
  }
  return 0;
}

std::string FindFieldsText(uint8_t fields) {
  std::string text;
  for (const NamedField& field : kFields) {
    if ((fields & field.field) != 0) text += (text.empty() ? "" : ", ") + std::string(field.name);
  }
  return text;
}

FindPattern::FindPattern() = default;
FindPattern::FindPattern(FindPattern&&) noexcept = default;
FindPattern& FindPattern::operator=(FindPattern&&) noexcept = default;
FindPattern::~FindPattern() = default;

Result<FindPattern> FindPattern::Make(std::string_view pattern, bool literal) {
  FindPattern made;
  if (pattern.starts_with('%')) pattern.remove_prefix(1);  // As HLO text prints names.
  made.literal_ = pattern;
  // Linux allows no longer argument (MAX_ARG_STRLEN). RE2 prints a line for each node beyond a
  // million, also with Quiet.
  constexpr size_t kMaxPatternBytes = size_t{128} << 10;
  if (pattern.size() > kMaxPatternBytes) {
    return MakeError(fmt::format("the pattern is too large: {} bytes, at most {}", pattern.size(),
                                 kMaxPatternBytes),
                     "", ErrorCode::kUsage);
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // Bytes, because names need not be
                                                            // UTF-8.
  options.set_case_sensitive(std::any_of(pattern.begin(), pattern.end(),
                                         [](unsigned char c) { return std::isupper(c) != 0; }));
  if (!literal) {
    made.regex_ = std::make_unique<re2::RE2>(Piece(pattern), options);
    if (made.regex_->error_code() == re2::RE2::ErrorPatternTooLarge) {
      return MakeError(fmt::format("the pattern is too large: {}", made.regex_->error()),
                       "repeat less, or add --literal", ErrorCode::kUsage);
    }
    if (!made.regex_->ok()) {  // "jvp(layer_0" can only be literal.
      made.why_plain_ = made.regex_->error();
      made.regex_ = nullptr;
    }
  }
  options.set_literal(true);
  made.plain_ = std::make_unique<re2::RE2>(Piece(pattern), options);
  return made;
}

std::vector<FindHit> FindPattern::Search(const model::HloModule& module, uint8_t fields) const {
  const auto matches = [&](std::string_view text) {
    return !text.empty() && (re2::RE2::PartialMatch(Piece(text), *plain_) ||
                             (regex_ && re2::RE2::PartialMatch(Piece(text), *regex_)));
  };
  const auto whole = [&](std::string_view text) {
    return re2::RE2::FullMatch(Piece(text), *plain_) ||
           (regex_ && re2::RE2::FullMatch(Piece(text), *regex_));
  };
  // Opcodes, shapes, op_names and places repeat, so each is searched once.
  std::unordered_map<std::string_view, int32_t> opcodes;
  std::unordered_map<std::string_view, int32_t> shapes;
  std::unordered_map<std::string_view, int32_t> op_names;
  std::unordered_map<std::string_view, int32_t> targets;
  std::unordered_map<std::string, int32_t> sources;
  const auto once = [](auto& known, auto key, const auto& score) {
    const auto [at, is_new] = known.try_emplace(key, 0);
    if (is_new) at->second = score();
    return at->second;
  };
  // Does a frame of the stack match, from `frame` outwards? The number of a parent is smaller.
  std::vector<int8_t> known_frames(module.stack_frames.size() + 1, -1);
  known_frames[0] = 0;
  const auto callers = [&](uint32_t frame) -> int32_t {
    if (frame >= known_frames.size()) return 0;
    // Outwards to a known frame, then back.
    std::vector<uint32_t> path;
    while (known_frames[frame] < 0) {
      path.push_back(frame);
      frame = module.stack_frames[frame - 1].parent;
    }
    int8_t found = known_frames[frame];
    for (; !path.empty(); path.pop_back()) {
      const model::StackFrame& at = module.stack_frames[path.back() - 1];
      if (found == 0 && matches(fmt::format("{}:{}", at.file, at.line))) found = 1;
      known_frames[path.back()] = found;
    }
    return found != 0 ? kCallerWeight : 0;
  };
  std::vector<FindHit> hits;
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    const model::Instruction& instruction = module.instructions[i];
    FindHit hit{.instruction = i};
    const auto take = [&](FindField field, int32_t score) {
      if (score == 0) return;
      hit.fields = static_cast<uint8_t>(hit.fields | field);
      hit.score = std::max(hit.score, score);
    };
    if ((fields & kFindName) != 0 && matches(instruction.name)) {
      take(kFindName, instruction.name == literal_ ? kExactWeight
                      : whole(instruction.name)    ? kWholeNameWeight
                                                   : kPartOfNameWeight);
    }
    if ((fields & kFindOpcode) != 0) {
      take(kFindOpcode, once(opcodes, instruction.opcode, [&] {
             return !matches(instruction.opcode) ? 0
                    : whole(instruction.opcode)  ? kWholeOpcodeWeight
                                                 : kOpcodeWeight;
           }));
    }
    const model::OpMetadata& metadata = instruction.metadata;
    if ((fields & kFindOpName) != 0 && !metadata.op_name.empty()) {
      take(kFindOpName, once(op_names, metadata.op_name, [&] {
             if (!matches(metadata.op_name)) return 0;
             const size_t slash = metadata.op_name.rfind('/');
             const bool at_end =
                 slash == std::string_view::npos || matches(metadata.op_name.substr(slash + 1));
             return at_end ? kEndOfOpNameWeight : kOpNameWeight;
           }));
    }
    if ((fields & kFindTarget) != 0 && !instruction.custom_call_target.empty()) {
      take(kFindTarget, once(targets, instruction.custom_call_target, [&] {
             return matches(instruction.custom_call_target) ? kTargetWeight : 0;
           }));
    }
    if ((fields & kFindSource) != 0 && !metadata.source_file.empty()) {
      const std::string place = fmt::format("{}:{}", metadata.source_file, metadata.source_line);
      const int32_t own = once(sources, place, [&] { return matches(place) ? kSourceWeight : 0; });
      take(kFindSource, own > 0 ? own : callers(metadata.stack_frame));
    }
    if ((fields & kFindShape) != 0) {
      take(kFindShape, once(shapes, instruction.shape, [&] {
             return matches(instruction.shape) || matches(hlo::WithoutLayout(instruction.shape))
                        ? kShapeWeight
                        : 0;
           }));
    }
    if (hit.fields != 0) hits.push_back(hit);
  }
  return hits;
}

}  // namespace xlatrace::dumps
