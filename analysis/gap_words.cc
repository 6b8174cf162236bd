// SPDX-License-Identifier: Apache-2.0
#include "analysis/gap_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/launch_queue.h"
#include "analysis/range_paths.h"
#include "base/number_format.h"
#include "model/gap_words.h"

namespace xlatrace::analysis {
namespace {

using model::GapCause;
using model::GapRow;
using model::HostEvent;

bool IsWithin(const HostEvent& event, const HostEvent& outer) {
  return event.range_id != 0 && &event != &outer && event.thread_id == outer.thread_id &&
         event.start_ns >= outer.start_ns && event.end_ns <= outer.end_ns;
}

// The gap's place within a range that covers it: ": 199 us between a and b", or ", 60 us of it in
// c". The name of the range alone is not enough, because a range of a whole step covers every gap.
std::string Between(const HostTimeline& timeline, const GapRow& gap, const HostEvent& outer) {
  // The longest hole between the ranges within, and the outermost ones before and after it.
  const HostEvent* before = nullptr;
  const HostEvent* after = nullptr;
  const HostEvent* last = nullptr;
  const HostEvent* longest = nullptr;
  int64_t hole = 0;
  int64_t longest_ns = 0;
  int64_t covered_until = gap.start_ns;
  for (size_t k = timeline.FirstAfter(gap.start_ns); k < timeline.by_start.size(); ++k) {
    const HostEvent& event = *timeline.by_start[k].event;
    if (event.start_ns >= gap.end_ns) break;
    if (!IsWithin(event, outer) || event.end_ns <= gap.start_ns) continue;
    if (event.start_ns - covered_until > hole) {
      hole = event.start_ns - covered_until;
      before = last;
      after = &event;
    }
    const int64_t end_ns = std::min(event.end_ns, gap.end_ns);
    if (const int64_t ns = end_ns - std::max(event.start_ns, gap.start_ns);
        ns > longest_ns && event.name != outer.name) {
      longest_ns = ns;
      longest = &event;
    }
    if (end_ns > covered_until) {
      covered_until = end_ns;
      last = &event;
    }
  }
  if (longest == nullptr) return {};
  if (gap.end_ns - covered_until > hole) {
    hole = gap.end_ns - covered_until;
    before = last;
    after = nullptr;
  }
  if (2 * hole < gap.end_ns - gap.start_ns) {
    if (4 * longest_ns < gap.end_ns - gap.start_ns) return {};
    return ", " + Duration(static_cast<double>(longest_ns)) + " of it in " +
           ShortHostName(longest->name);
  }
  const std::string text = ": " + Duration(static_cast<double>(hole));
  if (before == nullptr) return text + " until " + ShortHostName(after->name);
  if (after == nullptr) return text + " after " + ShortHostName(before->name);
  return text + " between " + ShortHostName(before->name) + " and " + ShortHostName(after->name);
}

// For a long gap that the host did not cause: when the next activity was launched. The host's other
// work did not delay the device then. Empty for other gaps.
std::string WordsOfHeld(const GapHost& host, const GapRow& gap) {
  const auto call = host.CallOfNext(gap);
  const int64_t length = gap.end_ns - gap.start_ns;
  if (gap.cause != GapCause::kUnknown || !call || length < kMaxStartNs) return {};
  const auto call_of_next = [&](size_t) { return std::optional(*call); };
  if (!WasLaunchedInTime(call_of_next, gap)) return {};
  const auto words = [](int64_t ns) { return Duration(static_cast<double>(ns)); };
  if (call->end_ns <= gap.start_ns) {
    return std::string(model::kLaunchedInTime) + "was launched " +
           words(gap.start_ns - call->end_ns) + " before the queue ran empty";
  }
  return std::string(model::kLaunchedInTime) + "began " + words(gap.end_ns - call->end_ns) +
         " after it was launched";
}

}  // namespace

// "aten::mul, seq = 47584, op_id = 999234" -> "aten::mul"; "cudaFree_v3020" -> "cudaFree";
// "XlaModule:#hlo_module=jit_f,program_id=3#" -> "module jit_f".
std::string ShortHostName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOfXla[] = {{"hlo_op=", "thunk "},
                                                                      {"hlo_module=", "module "}};
  for (const auto& [key, word] : kOfXla) {
    const size_t at = name.find(key);
    if (name.find(":#") >= at || at == name.npos) continue;
    return std::string(word) + std::string(AnnotationValue(name, key));
  }
  name = ShortFrame(name.substr(0, name.find(", ")));
  name = WithoutVersion(name);
  constexpr size_t kMaxBytes = 48;
  if (name.size() <= kMaxBytes) return std::string(name);
  size_t end = kMaxBytes - 1;
  while (end > 0 && (name[end] & 0xC0) == 0x80) --end;  // Not within a character.
  return std::string(name.substr(0, end)) + "\u2026";
}

std::string WordsOfGap(const GapHost& host, const GapRow& gap) {
  const HostTimeline& timeline = host.TimelineOf(gap);
  const int64_t length = gap.end_ns - gap.start_ns;
  std::map<std::string_view, int64_t> calls;
  const HostEvent* range = nullptr;
  const HostEvent* of_caller = nullptr;  // Likewise, on the thread that launches next.
  const auto next = host.CallOfNext(gap);
  const HostEvent* late = nullptr;
  bool waited = false;  // A wait ended in it.
  const size_t first = timeline.FirstAfter(gap.start_ns);
  for (size_t k = first; k < timeline.by_start.size(); ++k) {
    const HostEvent& event = *timeline.by_start[k].event;
    if (event.start_ns >= gap.end_ns) break;
    const int64_t covered =
        std::min(event.end_ns, gap.end_ns) - std::max(event.start_ns, gap.start_ns);
    waited = waited || (timeline.by_start[k].Does(HostAct::kWaits) && event.end_ns > gap.start_ns &&
                        event.end_ns <= gap.end_ns);
    if (covered <= 0 || !timeline.by_start[k].Concerns(gap)) continue;
    if (event.range_id == gap.host_range_id && event.start_ns > gap.start_ns) late = &event;
    if (event.range_id == 0) {
      calls[event.name] += covered;
    } else if (2 * covered > length) {
      if (next && next->thread_id != 0 && event.thread_id == next->thread_id &&
          (of_caller == nullptr || event.start_ns >= of_caller->start_ns)) {
        of_caller = &event;
      }
      if (range == nullptr || event.start_ns >= range->start_ns) range = &event;
    }
  }
  if (of_caller != nullptr) range = of_caller;
  std::vector<std::pair<int64_t, std::string_view>> by_time;
  for (const auto& [name, ns] : calls) {
    if (10 * ns >= length) by_time.emplace_back(ns, name);
  }
  std::sort(by_time.rbegin(), by_time.rend());
  if (by_time.size() > 2) by_time.resize(2);
  if (range != nullptr && by_time.empty() && host.IsAhead(*range, gap)) {
    return "the host is ahead, in " + ShortHostName(range->name);
  }
  if (std::string held = WordsOfHeld(host, gap); !held.empty()) return held;
  std::string text = range != nullptr ? ShortHostName(range->name) + Between(timeline, gap, *range)
                                      : std::string();
  std::string of_calls;
  for (const auto& [ns, name] : by_time) {
    of_calls += (of_calls.empty() ? "" : ", ") + ShortHostName(name) + " " +
                Duration(static_cast<double>(ns));
  }
  if (!of_calls.empty()) text += text.empty() ? of_calls : " (" + of_calls + ")";
  if (!text.empty()) {
    if (gap.cause == GapCause::kSynchronisation && !waited) text = "launching again: " + text;
    if (range != nullptr && next && next->thread_id != 0 && next->thread_id != range->thread_id) {
      text += fmt::format("; thread {} launched what follows", next->thread_id);
    }
    return text;
  }
  if (gap.cause == GapCause::kCopy) return "a copy from or to the host";
  if (gap.host_range_id != 0 && late != nullptr) {
    return "nothing recorded for " + Duration(static_cast<double>(late->start_ns - gap.start_ns)) +
           ", then " + ShortHostName(late->name);
  }
  if (const auto call = host.CallOfNext(gap); call && call->start_ns > gap.start_ns) {
    return "nothing recorded for " + Duration(static_cast<double>(call->start_ns - gap.start_ns)) +
           ", then the launch of the next work";
  }
  return {};
}

}  // namespace xlatrace::analysis
