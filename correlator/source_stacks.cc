// SPDX-License-Identifier: Apache-2.0
#include "correlator/source_stacks.h"

#include <algorithm>
#include <utility>

namespace xlatrace::correlator {
namespace {

// TensorFlow's name for the lack of a file.
constexpr std::string_view kDummyFile = "dummy_file_name";

}  // namespace

SourceStacks::SourceStacks(const model::UserCode& user_code, model::AttributionTables* out)
    : user_code_(user_code), out_(*out) {}

void SourceStacks::BeginModule(const model::HloModule& module) {
  module_ = &module;
  of_frame_.assign(module.stack_frames.size() + 1, 0);
  for (const model::StackFrame& frame : module.stack_frames) user_code_.AddFile(frame.file);
  if (!module.stack_frames.empty()) return;
  for (const model::Instruction& instruction : module.instructions) {
    user_code_.AddFile(instruction.metadata.source_file);
  }
}

uint32_t SourceStacks::OfFrame(uint32_t frame) {
  if (frame == 0 || frame >= of_frame_.size()) return 0;
  if (of_frame_[frame] != 0) return of_frame_[frame];
  std::vector<uint32_t> places;
  for (uint32_t at = frame; at != 0; at = module_->stack_frames[at - 1].parent) {
    const model::StackFrame& f = module_->stack_frames[at - 1];
    if (!f.file.empty()) places.push_back(PlaceOf(f.file, f.line, f.function));
  }
  std::vector<uint32_t> outermost_first;
  for (size_t k = places.size(); k > 0; --k) {
    if (std::find(outermost_first.begin(), outermost_first.end(), places[k - 1]) ==
        outermost_first.end()) {
      outermost_first.push_back(places[k - 1]);
    }
  }
  std::reverse(outermost_first.begin(), outermost_first.end());
  of_frame_[frame] = StackOf(std::move(outermost_first));
  return of_frame_[frame];
}

uint32_t SourceStacks::OfMetadata(const model::OpMetadata& metadata) {
  if (const uint32_t stack = OfFrame(metadata.stack_frame); stack != 0) return stack;
  return OfLine(metadata.source_file, metadata.source_line);
}

uint32_t SourceStacks::OfLine(std::string_view file, std::optional<int64_t> line) {
  if (file.empty() || file == kDummyFile) return 0;
  return StackOf({PlaceOf(file, line.value_or(0), {})});
}

uint32_t SourceStacks::PlaceOf(std::string_view file, int64_t line, std::string_view function) {
  const auto [at, fresh] = place_numbers_.try_emplace(
      {std::string(file), line, std::string(function)}, static_cast<uint32_t>(kinds_.size()));
  if (fresh) {
    kinds_.push_back(user_code_.KindOf(file));
    const bool is_user =
        kinds_.back() == model::FileKind::kUser || kinds_.back() == model::FileKind::kWithoutFile;
    out_.source_places.push_back({std::string(file), std::string(function), line, is_user});
  }
  return at->second;
}

uint32_t SourceStacks::StackOf(std::vector<uint32_t> places) {
  if (places.empty()) return 0;
  const auto [at, fresh] =
      stack_numbers_.try_emplace(places, static_cast<uint32_t>(out_.source_stacks.size()) + 1);
  if (fresh) {
    std::vector<model::FileKind> kinds;
    for (const uint32_t place : places) kinds.push_back(kinds_[place]);
    const model::UserFrame user = model::FindUserFrame(kinds);
    out_.source_stacks.push_back(
        {std::move(places), static_cast<uint32_t>(user.position), user.is_library});
  }
  return at->second;
}

}  // namespace xlatrace::correlator
