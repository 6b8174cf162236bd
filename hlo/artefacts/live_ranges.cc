// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/live_ranges.h"

#include <utility>

#include <fmt/format.h>

#include "hlo/artefacts/line_reader.h"

namespace xlatrace::hlo {
namespace {

constexpr std::string_view kTitle = "HloLiveRange (max ";

enum class Section { kNone, kSchedule, kRanges, kPeak, kScopes };

// "param.2{}:0-6", of names with colons too.
bool ReadRange(std::string_view line, LiveRange& range) {
  const size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view span = line.substr(colon + 1);
  if (!TakeInt(span, &range.start) || !TakePrefix(span, "-") || !TakeInt(span, &range.end) ||
      !TrimBlanks(span).empty()) {
    return false;
  }
  SplitShapeIndex(line.substr(0, colon), range.instruction, range.shape_index);
  return true;
}

// "x{0}: 117440512 bytes (cumulative: 117440512 bytes)"
bool ReadLiveValue(std::string_view line, LiveAtPeak& value) {
  const size_t colon = line.rfind(": ", line.rfind(" bytes (cumulative"));
  if (colon == std::string_view::npos) return false;
  std::string_view size = line.substr(colon + 2);
  if (!TakeInt(size, &value.size_bytes) || size.substr(0, 6) != " bytes") return false;
  SplitShapeIndex(line.substr(0, colon), value.instruction, value.shape_index);
  return true;
}

// "253 755 392" in front of " bytes".
bool TakeSpacedInt(std::string_view& text, int64_t* value) {
  const size_t end = text.find(" bytes");
  if (end == std::string_view::npos) return false;
  std::string digits;
  for (const char c : text.substr(0, end)) {
    if (c != ' ') digits += c;
  }
  std::string_view view = digits;
  if (!TakeInt(view, value) || !view.empty()) return false;
  text.remove_prefix(end);
  return true;
}

// "  ├── NAME (46.3%, total: 117 440 512 bytes, current: 117 440 512 bytes, remaining: ...)"
bool ReadScope(std::string_view line, PeakScope& scope) {
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos) return false;
  const size_t open = line.rfind(" (", line.rfind("%, total: "));
  if (open == std::string_view::npos) return false;
  std::string_view name = line.substr(first, open - first);
  // Box-drawing characters, four columns for each level.
  constexpr std::string_view kBranches[] = {"├── ", "└── ", "│   ", "    "};
  bool more = true;
  while (more) {
    more = false;
    for (const std::string_view branch : kBranches) {
      if (!TakePrefix(name, branch)) continue;
      ++scope.depth;
      more = true;
    }
  }
  scope.name = name;
  std::string_view total = AfterText(line.substr(open), "total: ");
  std::string_view own = AfterText(line.substr(open), "current: ");
  return TakeSpacedInt(total, &scope.total_bytes) && TakeSpacedInt(own, &scope.own_bytes);
}

}  // namespace

bool HoldsLiveRanges(std::string_view text) { return text.find(kTitle) != std::string_view::npos; }

Result<LiveRanges> ReadLiveRanges(std::string_view text) {
  LiveRanges out;
  LineReader lines(text);
  std::string_view line;
  Section section = Section::kNone;
  bool found = false;
  const auto fail = [&](std::string_view message) {
    return MakeError(fmt::format("{}:1: {}", lines.number(), message));
  };
  while (lines.Next(&line)) {
    std::string_view rest = TrimBlanks(line);
    if (rest.substr(0, kTitle.size()) == kTitle) {
      found = true;
      continue;
    }
    if (!found || rest.empty()) continue;
    if (rest == "InstructionSequence:") {
      section = Section::kSchedule;
      continue;
    }
    if (rest == "BufferLiveRange:") {
      section = Section::kRanges;
      continue;
    }
    if (TakePrefix(rest, "Live ranges at ")) {
      if (!TakeInt(rest, &out.peak_position)) return fail("a peak without a position");
      section = Section::kPeak;
      out.peak_bytes = 0;
      continue;
    }
    if (TakePrefix(rest, "Stack trace breakdown for peak usage:")) {
      section = Section::kScopes;
      continue;
    }
    switch (section) {
      case Section::kNone:
        break;
      case Section::kSchedule: {
        int64_t position = 0;
        if (!TakeInt(rest, &position) || !TakePrefix(rest, ":")) {
          return fail("expected 'POSITION:INSTRUCTION'");
        }
        out.schedule.emplace_back(rest);
        break;
      }
      case Section::kRanges: {
        LiveRange range;
        if (!ReadRange(rest, range)) return fail("expected 'VALUE{INDEX}:START-END'");
        out.ranges.push_back(std::move(range));
        break;
      }
      case Section::kPeak: {
        LiveAtPeak value;
        if (!ReadLiveValue(rest, value)) return fail("expected 'VALUE{INDEX}: SIZE bytes'");
        if (__builtin_add_overflow(out.peak_bytes, value.size_bytes, &out.peak_bytes)) {
          return fail("sizes beyond all measure");
        }
        out.at_peak.push_back(std::move(value));
        break;
      }
      case Section::kScopes: {
        PeakScope scope;
        if (ReadScope(line, scope)) out.peak_scopes.push_back(std::move(scope));
        break;
      }
    }
  }
  if (!found) {
    return MakeError("no 'HloLiveRange' in it: not a live range report",
                     "give a -live-range.txt of an XLA dump");
  }
  return out;
}

}  // namespace xlatrace::hlo
