// SPDX-License-Identifier: Apache-2.0

// BufferAssignmentProto, and the peaks of its heap simulator traces.

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <protozero/exception.hpp>

#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/proto/wire.h"
#include "hlo/shape.h"

namespace xlatrace::hlo {
namespace {

// xla.HeapSimulatorTrace.Event.
struct HeapEvent {
  enum Kind : int64_t { kAlloc = 0, kFree = 1, kShareWith = 2 };
  int64_t kind = kAlloc;
  int64_t buffer = 0;
  int64_t shares = 0;
  std::string_view instruction;
};

class ProtoAssignment {
 public:
  explicit ProtoAssignment(const model::HloModule& module) : module_(module) {
    for (size_t i = 0; i < module.instructions.size(); ++i) {
      instructions_.try_emplace(module.instructions[i].id, i);
    }
  }

  Result<BufferAssignment> Read() {
    out_.platform = PlatformOf(module_);
    try {
      ReadMessage();
    } catch (const protozero::exception& error) {
      return MakeError(DescribeWireError(error, module_.buffer_assignment, position_));
    }
    for (BufferAllocation& a : out_.allocations) {
      a.is_temp = a.parameter_number < 0 && !a.is_thread_local && !a.is_constant &&
                  !a.maybe_live_out && !a.is_tuple;
    }
    return std::move(out_);
  }

 private:
  void ReadMessage() {
    std::vector<std::string_view> allocations;
    std::vector<std::string_view> traces;
    Fields fields(module_.buffer_assignment, position_);
    while (fields.Next()) {
      switch (fields.Key()) {
        case BytesKey(1):
          ReadBuffer(fields.Bytes());
          break;
        case BytesKey(3):
          allocations.push_back(fields.Bytes());
          break;
        case BytesKey(4):
          traces.push_back(fields.Bytes());
          break;
        default:
          fields.Skip();
      }
    }
    for (const std::string_view allocation : allocations) ReadAllocation(allocation);
    for (const std::string_view trace : traces) ReadTrace(trace);
  }

  void ReadBuffer(std::string_view message) {
    AssignedValue value;
    value.id = 0;  // Zero is not written.
    Fields fields(message, position_);
    while (fields.Next()) {
      switch (fields.Key()) {
        case VarintKey(1):
          value.id = fields.Int();
          break;
        case VarintKey(2):
          value.size_bytes = std::max<int64_t>(fields.Int(), 0);
          break;
        case BytesKey(3):
          ReadDefinition(fields.Bytes(), value);
          break;
        default:
          fields.Skip();
      }
    }
    buffers_.try_emplace(value.id, std::move(value));
  }

  void ReadDefinition(std::string_view message, AssignedValue& value) {
    std::vector<int64_t> index;
    int64_t id = 0;
    Fields fields(message, position_);
    while (fields.Next()) {
      switch (fields.Key()) {
        case BytesKey(2):
          value.instruction = fields.Bytes();
          break;
        case VarintKey(3):
        case BytesKey(3):
          fields.Ints([&](int64_t i) { index.push_back(i); });
          break;
        case VarintKey(4):
          id = fields.Int();
          break;
        default:
          fields.Skip();
      }
    }
    if (!index.empty()) value.shape_index = fmt::format("{{{}}}", fmt::join(index, ","));
    const auto it = instructions_.find(id);
    if (it == instructions_.end()) return;
    const model::Instruction& instruction = module_.instructions[it->second];
    value.instruction = instruction.name;
    std::string_view shape = instruction.shape;
    for (const int64_t i : index) shape = TupleElement(shape, i);
    value.shape = shape;
  }

  void ReadAllocation(std::string_view message) {
    BufferAllocation& allocation = out_.allocations.emplace_back();
    int64_t parameter = 0;
    bool is_parameter = false;
    Fields fields(message, position_);
    while (fields.Next()) {
      switch (fields.Key()) {
        case VarintKey(1):
          allocation.index = fields.Int();
          break;
        case VarintKey(2):
          allocation.size_bytes = std::max<int64_t>(fields.Int(), 0);
          break;
        case VarintKey(3):
          allocation.is_thread_local = fields.Bool();
          break;
        case VarintKey(5):
          is_parameter = fields.Bool();
          break;
        case VarintKey(6):
          parameter = fields.Int();
          break;
        case VarintKey(7):
          allocation.maybe_live_out = fields.Bool();
          break;
        case VarintKey(8):
          allocation.color = fields.Int();
          break;
        case BytesKey(9):
          ReadAssigned(fields.Bytes(), allocation);
          break;
        case VarintKey(11):
          allocation.is_tuple = fields.Bool();
          break;
        case VarintKey(12):
          allocation.is_constant = fields.Bool();
          break;
        default:
          fields.Skip();
      }
    }
    if (allocation.index < 0) allocation.index = 0;  // Zero is not written.
    if (is_parameter) allocation.parameter_number = parameter;
  }

  void ReadAssigned(std::string_view message, BufferAllocation& allocation) {
    int64_t part[4] = {};  // Logical buffer, offset, size.
    Fields fields(message, position_);
    while (fields.Next()) {
      const uint32_t field = fields.Key() >> 3;
      if (field <= 3 && fields.Key() == VarintKey(field)) {
        part[field] = fields.Int();
      } else {
        fields.Skip();
      }
    }
    AssignedValue value;
    const auto it = buffers_.find(part[1]);
    if (it != buffers_.end()) value = it->second;
    value.id = part[1];
    value.offset_bytes = part[2];
    value.size_bytes = std::max<int64_t>(part[3], 0);
    allocation.values.push_back(std::move(value));
  }

  void ReadTrace(std::string_view message) {
    std::vector<HeapEvent> events;
    int64_t allocation = 0;
    Fields fields(message, position_);
    while (fields.Next()) {
      switch (fields.Key()) {
        case BytesKey(1):
          events.push_back(ReadEvent(fields.Bytes()));
          break;
        case VarintKey(3):
          allocation = fields.Int();
          break;
        default:
          fields.Skip();
      }
    }
    if (!events.empty()) AddPeak(events, allocation);
  }

  HeapEvent ReadEvent(std::string_view message) {
    HeapEvent event;
    Fields fields(message, position_);
    while (fields.Next()) {
      switch (fields.Key()) {
        case VarintKey(1):
          event.kind = fields.Int();
          break;
        case VarintKey(2):
          event.buffer = fields.Int();
          break;
        case BytesKey(4):
          event.instruction = fields.Bytes();
          break;
        case VarintKey(5):
          event.shares = fields.Int();
          break;
        default:
          fields.Skip();
      }
    }
    return event;
  }

  int64_t SizeOf(int64_t buffer) const {
    const auto it = buffers_.find(buffer);
    return it == buffers_.end() ? 0 : it->second.size_bytes;
  }

  // Runs the events. Buffers that share a place are one, which lives until the last is freed.
  // `visit` receives the bytes in use after each event, and stops the run by returning false.
  template <typename Visit>
  std::unordered_map<int64_t, int64_t> Run(const std::vector<HeapEvent>& events, Visit visit) {
    std::unordered_map<int64_t, int64_t> users;  // Use counts per place, keyed by its first buffer.
    std::unordered_map<int64_t, int64_t> place_of;
    int64_t bytes = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      const HeapEvent& event = events[i];
      if (event.kind == HeapEvent::kFree) {
        const auto place = place_of.find(event.buffer);
        if (place == place_of.end()) continue;
        const auto it = users.find(place->second);
        if (it != users.end() && --it->second == 0) {
          bytes -= SizeOf(it->first);
          users.erase(it);
        }
        place_of.erase(place);
      } else {
        const bool shares = event.kind == HeapEvent::kShareWith;
        if (place_of.count(event.buffer) > 0) continue;
        const auto canonical = place_of.find(event.shares);
        const int64_t place =
            shares && canonical != place_of.end() ? canonical->second : event.buffer;
        place_of.emplace(event.buffer, place);
        if (++users[place] == 1) {
          if (__builtin_add_overflow(bytes, SizeOf(place), &bytes)) break;
        }
      }
      if (!visit(i, bytes)) break;
    }
    return users;
  }

  void AddPeak(const std::vector<HeapEvent>& events, int64_t allocation) {
    int64_t most = -1;
    size_t at = 0;
    Run(events, [&](size_t i, int64_t bytes) {
      if (bytes > most) {
        most = bytes;
        at = i;
      }
      return true;
    });
    const auto live = Run(events, [&](size_t i, int64_t) { return i < at; });
    MemoryPeak& peak = out_.peaks.emplace_back();
    peak.bytes = most;
    peak.at_instruction = events[at].instruction;
    if (const auto it = buffers_.find(events[at].buffer);
        peak.at_instruction.empty() && it != buffers_.end()) {
      peak.at_instruction = it->second.instruction;
    }
    for (const auto& [place, users] : live) {
      const auto it = buffers_.find(place);
      if (it == buffers_.end()) continue;
      const AssignedValue& value = it->second;
      peak.values.push_back(
          {value.instruction, value.shape_index, value.shape, value.size_bytes, allocation});
    }
    std::sort(peak.values.begin(), peak.values.end(), [](const PeakValue& a, const PeakValue& b) {
      if (a.size_bytes != b.size_bytes) return a.size_bytes > b.size_bytes;
      return std::tie(a.instruction, a.shape_index) < std::tie(b.instruction, b.shape_index);
    });
  }

  const model::HloModule& module_;
  WirePosition position_;
  std::unordered_map<int64_t, size_t> instructions_;
  std::unordered_map<int64_t, AssignedValue> buffers_;
  BufferAssignment out_;
};

}  // namespace

Result<BufferAssignment> BufferAssignmentOf(const model::HloModule& module) {
  if (module.buffer_assignment.empty()) {
    return MakeError("no buffer assignment in the file of the module",
                     "only the .hlo.pb after optimizations holds one");
  }
  return ProtoAssignment(module).Read();
}

}  // namespace xlatrace::hlo
