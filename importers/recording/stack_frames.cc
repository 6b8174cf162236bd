// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/stack_frames.h"

#include <utility>

#include <fmt/format.h>

#include "importers/common/text_fields.h"

namespace xlatrace::importers {
namespace {

// XLA nests a hundred Python frames at most; more is damage.
constexpr size_t kMaxFrameDepth = 1000;

std::string Unescaped(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    bool found = false;
    for (const auto& [entity, c] : kEntities) {
      if (!text.substr(i).starts_with(entity)) continue;
      out += c;
      i += entity.size();
      found = true;
      break;
    }
    if (!found) out += text[i++];
  }
  return out;
}

// As the C-escaped strings of HLO text.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

struct ParsedLine {
  std::string_view file;
  int64_t line = 0;
  int64_t column = 0;
  std::string_view function;
  std::string_view op_name;
};

size_t Digits(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

// `FILE:LINE:COLUMN[FUNCTION] OP_NAME`; false when it is not that.
bool ParseLine(std::string_view text, ParsedLine* out) {
  for (size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    const size_t line_digits = Digits(text, colon + 1);
    const size_t second = colon + 1 + line_digits;
    if (line_digits == 0 || second >= text.size() || text[second] != ':') continue;
    const size_t column_digits = Digits(text, second + 1);
    const size_t bracket = second + 1 + column_digits;
    if (column_digits == 0 || bracket >= text.size() || text[bracket] != '[') continue;
    const size_t close = text.find(']', bracket);
    if (close == std::string_view::npos) return false;
    out->file = text.substr(0, colon);
    out->line = ParseInt(text.substr(colon + 1, line_digits)).value_or(0);
    out->column = ParseInt(text.substr(second + 1, column_digits)).value_or(0);
    out->function = text.substr(bracket + 1, close - bracket - 1);
    out->op_name = text.substr(close + 1);
    if (out->op_name.starts_with(' ')) out->op_name.remove_prefix(1);
    return !out->file.empty();
  }
  return false;
}

std::string_view NextLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

}  // namespace

StackFrames::StackFrames(std::string_view common) {
  while (!common.empty()) {
    const uint32_t frame = FrameOf(NextLine(&common), common_);
    if (frame != 0) common_ = frame;
  }
}

uint32_t StackFrames::Intern(const std::string& text, std::map<std::string, uint32_t>* numbers,
                             std::vector<std::string>* texts) {
  const auto [it, fresh] = numbers->try_emplace(text, static_cast<uint32_t>(texts->size() + 1));
  if (fresh) texts->push_back(text);
  return it->second;
}

uint32_t StackFrames::FrameOf(std::string_view line, uint32_t parent) {
  ParsedLine parsed;
  if (!ParseLine(line, &parsed)) return 0;
  const Location location = {Intern(Unescaped(parsed.file), &file_numbers_, &files_),
                             Intern(Unescaped(parsed.function), &function_numbers_, &functions_),
                             parsed.line, parsed.column};
  const auto [at, new_location] =
      location_numbers_.try_emplace(location, static_cast<uint32_t>(locations_.size() + 1));
  if (new_location) locations_.push_back(location);
  const auto [frame, new_frame] =
      frame_numbers_.try_emplace({parent, at->second}, static_cast<uint32_t>(frames_.size() + 1));
  if (new_frame) frames_.push_back({parent, at->second});
  return frame->second;
}

bool StackFrames::Add(int64_t frame_id, std::string_view stack, std::string_view op_name) {
  std::vector<uint32_t> path = {common_};
  uint32_t leaf = 0;
  uint32_t named = 0;
  int leaves = 0;
  size_t last_depth = 0;
  while (!stack.empty()) {
    const std::string_view line = NextLine(&stack);
    const size_t dashes = line.find_first_not_of('-');
    if (line.empty() || dashes == std::string_view::npos || dashes == 0) continue;
    const size_t depth = dashes;
    std::string_view text = line.substr(dashes);
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (depth > path.size() || depth > kMaxFrameDepth)
      return false;  // A level is missing: damaged.
    if (depth <= last_depth) ++leaves;
    last_depth = depth;
    path.resize(depth);
    leaf = FrameOf(text, path.back());
    if (leaf == 0) return false;
    path.push_back(leaf);
    ParsedLine parsed;
    if (named == 0 && !op_name.empty() && ParseLine(text, &parsed) && !parsed.op_name.empty() &&
        Unescaped(parsed.op_name) == op_name) {
      named = leaf;
    }
  }
  if (leaf == 0) {
    if (common_ == 0) return false;
    leaf = common_;  // The instruction lies in the common frame itself.
  }
  if (leaves > 0 && named == 0) return false;
  frame_of_id_.emplace(frame_id, named != 0 ? named : leaf);
  return true;
}

uint32_t StackFrames::Number(int64_t frame_id) const {
  const auto it = frame_of_id_.find(frame_id);
  return it == frame_of_id_.end() ? 0 : it->second;
}

std::string StackFrames::Tables() const {
  if (frames_.empty()) return {};
  std::string out = "FileNames\n";
  for (size_t i = 0; i < files_.size(); ++i) {
    out += fmt::format("{} {}\n", i + 1, Quoted(files_[i]));
  }
  out += "\nFunctionNames\n";
  for (size_t i = 0; i < functions_.size(); ++i) {
    out += fmt::format("{} {}\n", i + 1, Quoted(functions_[i]));
  }
  out += "\nFileLocations\n";
  for (size_t i = 0; i < locations_.size(); ++i) {
    const auto& [file, function, line, column] = locations_[i];
    out += fmt::format("{} {{file_name_id={} function_name_id={} line={} column={}}}\n", i + 1,
                       file, function, line, column);
  }
  out += "\nStackFrames\n";
  for (size_t i = 0; i < frames_.size(); ++i) {
    // Printed one higher than it is, so that 1 means none (xla/hlo/ir/hlo_module.cc).
    out += fmt::format("{} {{file_location_id={} parent_frame_id={}}}\n", i + 1,
                       frames_[i].location, frames_[i].parent + 1);
  }
  return out + "\n";
}

}  // namespace xlatrace::importers
