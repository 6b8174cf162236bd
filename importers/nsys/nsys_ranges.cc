#include "importers/nsys/nsys_ranges.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "importers/common/annotation.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers {

void XlaRanges::Add(int64_t global_tid, int64_t start_ns, int64_t end_ns, std::string_view text) {
  const bool is_module = text.starts_with("XlaModule:");
  if (!is_module && !text.starts_with("Thunk:")) return;
  const auto [entry, is_new] =
      text_index_.try_emplace(std::string(text), static_cast<int32_t>(texts_.size()));
  if (is_new) {
    const Annotation annotation = ParseAnnotation(text);
    Text parsed;
    parsed.is_module = is_module;
    parsed.module_name = std::string(annotation.Get("hlo_module"));
    parsed.prefix = std::string(annotation.Get("prefix"));
    parsed.program_id = std::string(annotation.Get("program_id"));
    parsed.instruction = std::string(annotation.Get("hlo_op"));
    parsed.op_name = std::string(annotation.Get("name"));
    texts_.push_back(std::move(parsed));
  }
  threads_[global_tid].ranges.push_back(
      {.start_ns = start_ns, .end_ns = end_ns, .text = entry->second});
}

void XlaRanges::Finish() {
  int64_t number = 0;
  // In the order of thread ids, so that runs get the same numbers on every machine.
  std::vector<int64_t> tids;
  for (const auto& [tid, thread] : threads_) tids.push_back(tid);
  std::sort(tids.begin(), tids.end());
  for (const int64_t tid : tids) {
    threads_[tid].first_number = number;
    std::vector<Range>& ranges = threads_[tid].ranges;
    number += static_cast<int64_t>(ranges.size());
    const auto before = [](const Range& a, const Range& b) {
      if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
      return a.end_ns > b.end_ns;
    };
    // Exports list them by start; sorting takes as much memory again.
    if (!std::is_sorted(ranges.begin(), ranges.end(), before)) {
      std::stable_sort(ranges.begin(), ranges.end(), before);
    }
    int32_t open = -1;
    for (size_t i = 0; i < ranges.size(); ++i) {
      while (open >= 0 && ranges[static_cast<size_t>(open)].end_ns <= ranges[i].start_ns) {
        open = ranges[static_cast<size_t>(open)].parent;
      }
      ranges[i].parent = open;
      open = static_cast<int32_t>(i);
    }
  }
}

model::Id XlaRanges::HintOf(int32_t thunk, int32_t module, model::Evidence evidence) {
  model::Id& id = hints_[{thunk, module, evidence}];
  if (id != 0) return id;
  model::Hint hint;
  hint.evidence = evidence;
  std::string prefix;
  // Thunks before 2022 name their module themselves.
  for (const int32_t index : {module, thunk}) {
    if (index < 0) continue;
    const Text& text = texts_[static_cast<size_t>(index)];
    if (!text.module_name.empty()) hint.module_name = text.module_name;
    if (!text.program_id.empty()) hint.program_id = ParseInt(text.program_id);
    if (!text.prefix.empty()) prefix = text.prefix + "/";
    if (index == thunk) {
      hint.instruction = text.instruction;
      if (!text.op_name.empty()) hint.op_name = prefix + text.op_name;
    }
  }
  id = sink_.AddHint(hint);
  return id;
}

size_t XlaRanges::FirstAfter(Thread& thread, int64_t time_ns) {
  const std::vector<Range>& ranges = thread.ranges;
  // Calls come in the order of time, so it is mostly one of the next.
  size_t at = thread.after;
  if (at > 0 && ranges[at - 1].start_ns > time_ns) at = 0;
  const size_t near = std::min(ranges.size(), at + 32);
  while (at < near && ranges[at].start_ns <= time_ns) ++at;
  if (at == near) {
    const auto found =
        std::upper_bound(ranges.begin() + static_cast<std::ptrdiff_t>(at), ranges.end(), time_ns,
                         [](int64_t time, const Range& range) { return time < range.start_ns; });
    at = static_cast<size_t>(found - ranges.begin());
  }
  return thread.after = at;
}

XlaRanges::Found XlaRanges::At(int64_t global_tid, int64_t time_ns, model::Evidence evidence) {
  Found found;
  const auto thread = threads_.find(global_tid);
  if (thread == threads_.end()) return found;
  const std::vector<Range>& ranges = thread->second.ranges;
  const size_t after = FirstAfter(thread->second, time_ns);
  int32_t thunk = -1;
  int32_t module = -1;
  int levels = 0;  // XLA nests a dozen deep; a hostile file must not cost a walk over all ranges.
  for (auto at = static_cast<int32_t>(after) - 1; at >= 0 && levels < 256;
       at = ranges[static_cast<size_t>(at)].parent, ++levels) {
    const Range& range = ranges[static_cast<size_t>(at)];
    if (range.end_ns < time_ns) continue;
    const Text& text = texts_[static_cast<size_t>(range.text)];
    if (text.is_module) {
      module = range.text;
      found.module_range = thread->second.first_number + at;
      break;
    }
    if (thunk < 0 && !text.instruction.empty()) thunk = range.text;
  }
  if (module >= 0) found.module_hint = HintOf(-1, module, evidence);
  if (thunk >= 0) found.thunk_hint = HintOf(thunk, module, evidence);
  return found;
}

}  // namespace xlatrace::importers
