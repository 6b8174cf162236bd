// SPDX-License-Identifier: Apache-2.0
#include "importers/common/xla_ranges.h"

#include <algorithm>
#include <cstddef>

#include "importers/common/annotation.h"
#include "importers/common/op_annotation.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers {

void XlaRanges::Add(int64_t global_tid, int64_t start_ns, int64_t end_ns, std::string_view text,
                    bool with_ops) {
  const bool is_module = text.starts_with("XlaModule:");
  const bool is_xla = is_module || text.starts_with("Thunk:");
  if (!is_xla && !with_ops) return;
  const OpAnnotation op = is_xla ? OpAnnotation() : ParseOpAnnotation(text);
  if (!is_xla && op.name.empty()) return;
  const auto [entry, is_new] =
      text_index_.try_emplace(std::string(text), static_cast<int32_t>(texts_.size()));
  if (is_new && !is_xla) {
    texts_.push_back({.is_op = true,
                      .op_name = std::string(op.name),
                      .is_whole_name = true,
                      .op_type = std::string(op.type)});
  } else if (is_new) {
    const Annotation annotation = ParseAnnotation(text);
    Text parsed;
    parsed.is_module = is_module;
    parsed.module_name = std::string(annotation.Get("hlo_module"));
    parsed.prefix = std::string(annotation.Get("prefix"));
    parsed.program_id = std::string(annotation.Get("program_id"));
    parsed.instruction = std::string(annotation.Get("hlo_op"));
    parsed.op_name = std::string(annotation.Get("name"));
    // With annotation level 1 (XLA since August 2026), these fields are explicit.
    if (const std::string_view name = annotation.Get("op_name"); !name.empty()) {
      parsed.op_name = std::string(name);
      parsed.is_whole_name = true;
    }
    parsed.op_type = std::string(annotation.Get("op_type"));
    parsed.source_file = std::string(annotation.Get("source_file"));
    parsed.source_line = std::string(annotation.Get("source_line"));
    texts_.push_back(std::move(parsed));
  }
  threads_[global_tid].ranges.push_back(
      {.start_ns = start_ns, .end_ns = end_ns, .place = entry->second});
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
      ranges[i].place =
          PlaceOf(ranges[i].place, open < 0 ? -1 : ranges[static_cast<size_t>(open)].place);
      open = static_cast<int32_t>(i);
    }
  }
}

int32_t XlaRanges::PlaceOf(int32_t text, int32_t parent) {
  const Text& own = texts_[static_cast<size_t>(text)];
  // A module inside a module (a callback that runs another program) is on its own; a thunk without
  // an instruction adds nothing.
  if (own.is_module) parent = -1;
  if (!own.is_module && !own.is_op && own.instruction.empty()) return parent;
  if (parent >= 0) {
    const Place& around = places_[static_cast<size_t>(parent)];
    const bool in_op = texts_[static_cast<size_t>(around.text)].is_op;
    // Thunks describe the work of a module, not ops; a thunk in an op is not inside of the op.
    if (own.is_op && !in_op) return parent;
    if (!own.is_op && in_op) parent = -1;
  }
  const uint64_t key =
      static_cast<uint64_t>(static_cast<uint32_t>(parent)) << 32 | static_cast<uint32_t>(text);
  const auto [it, fresh] = place_index_.try_emplace(key, static_cast<int32_t>(places_.size()));
  if (!fresh) return it->second;
  Place place;
  place.text = text;
  if (own.is_module) {
    place.module = text;
  } else if (parent >= 0) {
    const Place& around = places_[static_cast<size_t>(parent)];
    place.module = around.module;
    if (!texts_[static_cast<size_t>(around.text)].is_module) place.around = parent;
  }
  places_.push_back(place);
  return it->second;
}

model::Id XlaRanges::HintOf(int32_t place, bool module_only, model::Evidence evidence) {
  Place& at = places_[static_cast<size_t>(place)];
  const Text& own = texts_[static_cast<size_t>(at.text)];
  if (own.is_op) {
    if (at.hints[0] == 0) {
      at.hints[0] = sink_.AddHint(
          {.evidence = model::Evidence::kOpRange, .op_name = own.op_name, .op_type = own.op_type});
    }
    return at.hints[0];
  }
  const bool node = evidence == model::Evidence::kGraphNode;
  model::Id& id = at.hints[module_only ? 2 : node ? 1 : 0];
  if (id != 0) return id;
  model::Hint hint;
  hint.evidence = evidence;
  std::string prefix;
  const bool is_module = texts_[static_cast<size_t>(at.text)].is_module;
  // Thunks before 2022 name their module themselves.
  for (const int32_t index : {at.module, module_only || is_module ? -1 : at.text}) {
    if (index < 0) continue;
    const Text& text = texts_[static_cast<size_t>(index)];
    if (!text.module_name.empty()) hint.module_name = text.module_name;
    if (!text.program_id.empty()) hint.program_id = ParseInt(text.program_id);
    if (!text.prefix.empty()) prefix = text.prefix + "/";
    if (index == at.module) continue;
    hint.instruction = text.instruction;
    if (!text.op_name.empty()) {
      hint.op_name = text.is_whole_name ? text.op_name : prefix + text.op_name;
    }
    hint.op_type = text.op_type;
    hint.source_file = text.source_file;
    hint.source_line = ParseInt(text.source_line);
  }
  if (!hint.instruction.empty()) {
    // For deep nesting, the thunks nearest to the module are enough.
    constexpr size_t kMaxEnclosingCount = 16;
    std::vector<const std::string*> around;
    for (int32_t outer = at.around; outer >= 0;
         outer = places_[static_cast<size_t>(outer)].around) {
      const std::string& name =
          texts_[static_cast<size_t>(places_[static_cast<size_t>(outer)].text)].instruction;
      // A sequence of thunks bears its own name twice.
      if (name != hint.instruction) around.push_back(&name);
    }
    for (size_t k = 0; k < std::min(around.size(), kMaxEnclosingCount); ++k) {
      if (k > 0) hint.enclosing += '/';
      hint.enclosing += *around[around.size() - 1 - k];
    }
  }
  id = sink_.AddHint(hint);
  return id;
}

void XlaRanges::AddUnasked() {
  // More are no program but a hostile file.
  constexpr size_t kMaxPlaceCount = 200'000;
  if (places_.size() > kMaxPlaceCount) return;
  for (size_t p = 0; p < places_.size(); ++p) {
    const Place& place = places_[p];
    const bool thunk = !texts_[static_cast<size_t>(place.text)].is_module;
    if (!thunk || place.module < 0 || place.hints[0] != 0 || place.hints[1] != 0) continue;
    HintOf(static_cast<int32_t>(p), false, model::Evidence::kRange);
  }
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
  int32_t op = -1;
  int levels = 0;  // XLA nests a dozen deep; a hostile file must not cost a walk over all ranges.
  for (auto at = static_cast<int32_t>(after) - 1; at >= 0 && levels < 256;
       at = ranges[static_cast<size_t>(at)].parent, ++levels) {
    const Range& range = ranges[static_cast<size_t>(at)];
    // A range ends before what starts at its end. One without length holds its only instant.
    const bool ended =
        range.end_ns < time_ns || (range.end_ns == time_ns && range.start_ns < range.end_ns);
    if (ended || range.place < 0) continue;
    const Place& place = places_[static_cast<size_t>(range.place)];
    if (texts_[static_cast<size_t>(place.text)].is_module) {
      module = range.place;
      found.module_range = thread->second.first_number + at;
      break;
    }
    int32_t& innermost = texts_[static_cast<size_t>(place.text)].is_op ? op : thunk;
    if (innermost < 0) innermost = range.place;
  }
  if (module < 0 && thunk < 0) thunk = op;
  if (module >= 0) found.module_hint = HintOf(module, true, evidence);
  if (thunk >= 0) found.thunk_hint = HintOf(thunk, false, evidence);
  return found;
}

}  // namespace xlatrace::importers
