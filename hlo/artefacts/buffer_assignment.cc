// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/buffer_assignment.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "hlo/artefacts/line_reader.h"
#include "hlo/shape.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {
namespace {

int64_t Saturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// "allocation 6: 0x7f.., size 79691792, color 1, parameter 0, shape |..| at ShapeIndex {},
// maybe-live-out, constant, thread-local, preallocated-temp:"
bool ReadAllocation(std::string_view line, BufferAllocation& allocation) {
  if (!TakeInt(line, &allocation.index) || !TakePrefix(line, ":")) return false;
  // Shapes are between bars and may contain any text.
  std::string plain;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '|') {
      plain += line[at];
      continue;
    }
    const size_t close = line.find('|', at + 1);
    if (close == std::string_view::npos) break;
    at = close;
  }
  std::string_view size = AfterText(plain, "size ");
  if (size.data() == nullptr || !TakeInt(size, &allocation.size_bytes) ||
      allocation.size_bytes < 0) {
    return false;
  }
  const auto has = [&](std::string_view word) { return plain.find(word) != std::string::npos; };
  std::string_view parameter = AfterText(plain, ", parameter ");
  if (!TakeInt(parameter, &allocation.parameter_number)) allocation.parameter_number = -1;
  std::string_view color = AfterText(plain, ", color ");
  TakeInt(color, &allocation.color);
  allocation.is_thread_local = has("thread-local");
  allocation.is_constant = has(", constant");
  allocation.is_tuple = has(", tuple");
  allocation.maybe_live_out = has("maybe-live-out") || has("output shape is");
  return true;
}

// "<6 custom-call.1{0} @0> (size=117440512,offset=0): bf16[4096,14336]{1,0}"
bool ReadValue(std::string_view text, AssignedValue& value) {
  const size_t close = text.find("> (size=");
  if (close == std::string_view::npos || !TakePrefix(text, "<")) return false;
  std::string_view name = text.substr(0, close - 1);
  text.remove_prefix(close - 1);
  if (!TakeInt(name, &value.id)) return false;
  const size_t at = name.rfind(" @");
  SplitShapeIndex(name.substr(0, at), value.instruction, value.shape_index);
  if (!TakePrefix(text, "> (size=") || !TakeInt(text, &value.size_bytes) ||
      !TakePrefix(text, ",offset=") || !TakeInt(text, &value.offset_bytes) ||
      !TakePrefix(text, "):")) {
    return false;
  }
  text = TrimBlanks(text);
  value.shape = IsCanonicalShape(text) ? std::string(text) : CanonicalShape(text);
  return true;
}

void MarkTemps(BufferAssignment& assignment) {
  for (BufferAllocation& a : assignment.allocations) {
    a.is_temp = a.parameter_number < 0 && !a.is_thread_local && !a.is_constant &&
                !a.maybe_live_out && !a.is_tuple;
  }
}

template <typename Which>
int64_t Sum(const BufferAssignment& assignment, Which which) {
  int64_t sum = 0;
  for (const BufferAllocation& allocation : assignment.allocations) {
    if (IsDeviceMemory(assignment.platform, allocation.color) && which(allocation)) {
      sum = Saturating(sum, allocation.size_bytes);
    }
  }
  return sum;
}

void SortPeak(MemoryPeak& peak) {
  std::stable_sort(
      peak.values.begin(), peak.values.end(),
      [](const PeakValue& a, const PeakValue& b) { return a.size_bytes > b.size_bytes; });
}

PeakValue ToPeak(const AssignedValue& value, const BufferAllocation& allocation) {
  return {value.instruction, value.shape_index, value.shape, value.size_bytes, allocation.index};
}

// The heap's values that are alive at the position with the largest total size of places.
MemoryPeak PeakByRanges(const BufferAssignment& assignment, const LiveRanges& ranges) {
  std::unordered_map<std::string, const LiveRange*> range_of;
  for (const LiveRange& range : ranges.ranges) {
    range_of.try_emplace(range.instruction + range.shape_index, &range);
  }
  struct Live {
    const AssignedValue* value;
    const BufferAllocation* allocation;
    const LiveRange* range;
  };
  std::vector<Live> lives;
  std::vector<std::pair<int64_t, int64_t>> changes;  // Position, bytes.
  for (const BufferAllocation& allocation : assignment.allocations) {
    if (!allocation.is_temp) continue;
    for (const AssignedValue& value : allocation.values) {
      const auto it = range_of.find(value.instruction + value.shape_index);
      if (it == range_of.end() || it->second->end < it->second->start) continue;
      lives.push_back({&value, &allocation, it->second});
      changes.emplace_back(it->second->start, value.size_bytes);
      changes.emplace_back(Saturating(it->second->end, 1), -value.size_bytes);
    }
  }
  std::sort(changes.begin(), changes.end());
  MemoryPeak peak;
  int64_t now = 0;
  int64_t most = 0;
  for (const auto& [position, bytes] : changes) {
    now = Saturating(now, bytes);
    if (now > most) {
      most = now;
      peak.at_position = position;
    }
  }
  if (peak.at_position < 0) return peak;
  // Values in one place (an operand whose memory the result takes over) are one.
  std::set<std::tuple<int64_t, int64_t, int64_t>> places;
  for (const Live& live : lives) {
    if (live.range->start > peak.at_position || live.range->end < peak.at_position) continue;
    const auto place =
        std::tuple(live.allocation->index, live.value->offset_bytes, live.value->size_bytes);
    if (!places.insert(place).second) continue;
    peak.values.push_back(ToPeak(*live.value, *live.allocation));
    peak.bytes = Saturating(peak.bytes, live.value->size_bytes);
  }
  if (static_cast<uint64_t>(peak.at_position) < ranges.schedule.size()) {
    peak.at_instruction = ranges.schedule[static_cast<size_t>(peak.at_position)];
  }
  SortPeak(peak);
  return peak;
}

}  // namespace

std::vector<SpaceBytes> BufferAssignment::Spaces() const {
  std::map<int64_t, int64_t> by_color;
  for (const BufferAllocation& allocation : allocations) {
    int64_t& bytes = by_color[allocation.color];
    bytes = Saturating(bytes, allocation.size_bytes);
  }
  std::vector<SpaceBytes> spaces;
  for (const auto& [color, bytes] : by_color) spaces.push_back({color, bytes});
  return spaces;
}

int64_t BufferAssignment::TotalBytes() const {
  return Sum(*this, [](const BufferAllocation&) { return true; });
}
int64_t BufferAssignment::ParameterBytes() const {
  return Sum(*this, [](const BufferAllocation& a) { return a.parameter_number >= 0; });
}
int64_t BufferAssignment::OutputBytes() const {
  return Sum(*this, [](const BufferAllocation& a) {
    return a.maybe_live_out && a.parameter_number < 0 && !a.is_constant;
  });
}
int64_t BufferAssignment::ConstantBytes() const {
  return Sum(*this,
             [](const BufferAllocation& a) { return a.is_constant && a.parameter_number < 0; });
}
int64_t BufferAssignment::TempBytes() const {
  return Sum(*this, [](const BufferAllocation& a) {
    return a.parameter_number < 0 && !a.maybe_live_out && !a.is_constant;
  });
}

Result<BufferAssignment> ReadBufferAssignment(std::string_view text) {
  BufferAssignment assignment;
  LineReader lines(text);
  std::string_view line;
  while (lines.Next(&line)) {
    std::string_view rest = TrimBlanks(line);
    if (TakePrefix(rest, "allocation ")) {
      BufferAllocation allocation;
      if (!ReadAllocation(rest, allocation)) {
        return MakeError(
            fmt::format("{}:1: expected 'allocation N: size BYTES, ...'", lines.number()));
      }
      assignment.allocations.push_back(std::move(allocation));
    } else if (TakePrefix(rest, "value: ")) {
      AssignedValue value;
      if (assignment.allocations.empty() || !ReadValue(rest, value)) {
        return MakeError(fmt::format(
            "{}:1: expected '<ID NAME @N> (size=BYTES,offset=BYTES): SHAPE' in an allocation",
            lines.number()));
      }
      if (HasTiles(rest)) assignment.platform = Platform::kTpu;
      assignment.allocations.back().values.push_back(std::move(value));
    } else if (rest.substr(0, 16) == "Total bytes used" || rest.substr(0, 12) == "HloLiveRange") {
      break;  // The rest repeats the same by value.
    }
  }
  if (assignment.allocations.empty()) {
    return MakeError("no allocation in it: not a buffer assignment",
                     "give a -buffer-assignment.txt of an XLA dump");
  }
  MarkTemps(assignment);
  return assignment;
}

MemoryPeak PeakOf(const BufferAssignment& assignment, const LiveRanges* live_ranges) {
  const MemoryPeak* largest = nullptr;
  for (const MemoryPeak& peak : assignment.peaks) {
    if (largest == nullptr || peak.bytes > largest->bytes) largest = &peak;
  }
  if (largest != nullptr) return *largest;
  if (live_ranges != nullptr) {
    MemoryPeak peak = PeakByRanges(assignment, *live_ranges);
    if (peak.at_position >= 0) return peak;
  }
  MemoryPeak peak;
  std::set<std::tuple<int64_t, int64_t, int64_t>> places;
  for (const BufferAllocation& allocation : assignment.allocations) {
    if (!allocation.is_temp) continue;
    peak.bytes = Saturating(peak.bytes, allocation.size_bytes);
    for (const AssignedValue& value : allocation.values) {
      const auto place = std::tuple(allocation.index, value.offset_bytes, value.size_bytes);
      if (places.insert(place).second) peak.values.push_back(ToPeak(value, allocation));
    }
  }
  SortPeak(peak);
  return peak;
}

}  // namespace xlatrace::hlo
