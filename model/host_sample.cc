// SPDX-License-Identifier: Apache-2.0
#include "model/host_sample.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "model/user_code.h"

namespace xlatrace::model {
namespace {

constexpr std::array<std::string_view, 9> kThreadStateTexts = {
    "unknown", "python", "native", "sleep", "lock", "file", "network", "child", "other",
};

}  // namespace

template <>
std::span<const std::string_view> Texts<ThreadState>() {
  return kThreadStateTexts;
}
std::string_view Text(ThreadState v) { return kThreadStateTexts[static_cast<size_t>(v)]; }

void MarkUserFrames(const UserCode& declared, HostSampleTables& tables) {
  UserCode user_code = declared;
  for (const HostFrame& frame : tables.frames) user_code.AddFile(frame.file);
  std::vector<FileKind> kinds;
  for (HostFrame& frame : tables.frames) {
    kinds.push_back(user_code.KindOf(frame.file));
    frame.is_user = kinds.back() == FileKind::kUser;
  }
  std::vector<Id> frames;
  std::vector<FileKind> of_stack;
  for (HostStack& stack : tables.stacks) {
    frames.clear();
    of_stack.clear();
    const HostStack* at = &stack;
    while (true) {
      frames.push_back(at->frame_id);
      of_stack.push_back(kinds[static_cast<size_t>(at->frame_id) - 1]);
      if (at->parent_id == 0) break;
      at = &tables.stacks[static_cast<size_t>(at->parent_id) - 1];
    }
    stack.user_frame_id = frames[FindUserFrame(of_stack).position];
  }
}

void Append(const HostSampleTables& more, HostSampleTables& tables) {
  const auto frames = static_cast<Id>(tables.frames.size());
  const auto stacks = static_cast<Id>(tables.stacks.size());
  const auto moved = [](Id id, Id by) { return id == 0 ? 0 : id + by; };
  const auto append = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(more.frames, tables.frames);
  for (const HostStack& stack : more.stacks) {
    tables.stacks.push_back({moved(stack.parent_id, stacks), moved(stack.frame_id, frames),
                             moved(stack.user_frame_id, frames)});
  }
  for (HostSample sample : more.samples) {
    sample.stack_id = moved(sample.stack_id, stacks);
    tables.samples.push_back(sample);
  }
  append(more.thread_use, tables.thread_use);
  append(more.machine_use, tables.machine_use);
  append(more.collections, tables.collections);
}

}  // namespace xlatrace::model
