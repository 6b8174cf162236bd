// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory/module_buffers.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analysis/live_values.h"
#include "analysis/memory/buffer_owner.h"
#include "analysis/module_graph.h"
#include "analysis/parameter_users.h"
#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

using hlo::BufferAllocation;
using model::BufferOwner;
using model::BufferRow;
using model::kNoIndex;

// "{1,0}" of each leaf of a shape; empty for an array.
void AddLeafIndices(std::string_view shape, const std::string& prefix,
                    std::vector<std::string>& indices) {
  if (!hlo::IsTuple(shape)) {
    indices.push_back(prefix.empty() ? prefix : "{" + prefix + "}");
    return;
  }
  for (int64_t k = 0;; ++k) {
    const std::string_view element = hlo::TupleElement(shape, k);
    if (element.empty()) break;
    AddLeafIndices(element, fmt::format("{}{}{}", prefix, prefix.empty() ? "" : ",", k), indices);
  }
}

// Bytes of one allocation that values in use cover, along the schedule.
class HeapUse {
 public:
  HeapUse(const std::vector<BufferRow>& rows, const std::vector<size_t>& values)
      : rows_(rows), values_(values) {
    for (const size_t v : values) {
      edges_.push_back(rows[v].offset_bytes);
      edges_.push_back(rows[v].offset_bytes + rows[v].bytes);
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  void AddTo(std::vector<int64_t>& bytes_at) const {
    std::vector<std::pair<int64_t, std::pair<bool, size_t>>> events;
    for (const size_t v : values_) {
      events.push_back({rows_[v].first, {true, v}});
      events.push_back({rows_[v].last + 1, {false, v}});
    }
    std::sort(events.begin(), events.end());
    std::vector<uint32_t> users(edges_.size(), 0);
    int64_t used = 0;
    size_t next = 0;
    for (size_t t = 0; t < bytes_at.size(); ++t) {
      for (; next < events.size() && events[next].first <= static_cast<int64_t>(t); ++next) {
        const auto [begins, v] = events[next].second;
        const auto [from, to] = SegmentsOf(v);
        for (size_t s = from; s < to; ++s) {
          if (begins ? users[s]++ == 0 : --users[s] == 0) {
            used += (begins ? 1 : -1) * (edges_[s + 1] - edges_[s]);
          }
        }
      }
      bytes_at[t] += used;
    }
  }

  struct AtPosition {
    int64_t used = 0;
    // This value uses most of the then unused bytes at another time.
    size_t other = SIZE_MAX;
  };

  // Gives each byte in use at `position` to the value that was written last.
  AtPosition AssignAt(int64_t position, std::vector<BufferRow>& rows) const {
    std::vector<size_t> alive;
    for (const size_t v : values_) {
      if (rows[v].first <= position && position <= rows[v].last) alive.push_back(v);
    }
    std::stable_sort(alive.begin(), alive.end(),
                     [&](size_t a, size_t b) { return rows[a].first < rows[b].first; });
    std::vector<size_t> owner(edges_.size(), SIZE_MAX);
    for (const size_t v : alive) {
      const auto [from, to] = SegmentsOf(v);
      std::fill(owner.begin() + static_cast<std::ptrdiff_t>(from),
                owner.begin() + static_cast<std::ptrdiff_t>(to), v);
    }
    AtPosition at;
    for (size_t s = 0; s + 1 < edges_.size(); ++s) {
      if (owner[s] == SIZE_MAX) continue;
      rows[owner[s]].peak_bytes += edges_[s + 1] - edges_[s];
      at.used += edges_[s + 1] - edges_[s];
    }
    int64_t most = 0;
    for (const size_t v : values_) {
      int64_t free = 0;
      const auto [from, to] = SegmentsOf(v);
      for (size_t s = from; s < to; ++s) {
        if (owner[s] == SIZE_MAX) free += edges_[s + 1] - edges_[s];
      }
      if (free > most) {
        most = free;
        at.other = v;
      }
    }
    return at;
  }

 private:
  std::pair<size_t, size_t> SegmentsOf(size_t v) const {
    const auto at = [&](int64_t edge) {
      return static_cast<size_t>(std::lower_bound(edges_.begin(), edges_.end(), edge) -
                                 edges_.begin());
    };
    return {at(rows_[v].offset_bytes), at(rows_[v].offset_bytes + rows_[v].bytes)};
  }

  const std::vector<BufferRow>& rows_;
  const std::vector<size_t>& values_;
  std::vector<int64_t> edges_;
};

class Reader {
 public:
  Reader(const model::HloModule& module, const hlo::BufferAssignment& assignment,
         const ModuleLabels& labels, LiveValues live)
      : module_(module),
        assignment_(assignment),
        live_(std::move(live)),
        graph_(module),
        owners_(graph_, labels) {
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      by_name_.try_emplace(module.instructions[i].name, i);
    }
    position_.assign(module.instructions.size(), -1);
    for (size_t t = 0; t < live_.order.size(); ++t) {
      int64_t& position = position_[live_.order[t]];
      if (position < 0) position = static_cast<int64_t>(t);
    }
    for (const ValueRange& range : live_.ranges) ranges_[{range.instruction, range.leaf}] = &range;
    FindWriters();
  }

  ModuleBuffers Read() {
    std::map<std::string, std::vector<const BufferAllocation*>> heaps;
    const auto end = static_cast<int64_t>(live_.order.size()) - 1;
    std::map<std::string, int64_t> reserved;
    for (const BufferAllocation& allocation : assignment_.allocations) {
      const std::string space = hlo::MemorySpaceName(assignment_.platform, allocation.color);
      heaps[space];
      if (IsHeap(allocation)) {
        heaps[space].push_back(&allocation);
      } else {
        reserved[space] += AddReserved(allocation, space, end);
      }
    }
    for (const auto& [space, allocations] : heaps) {
      std::vector<int64_t> bytes_at(live_.order.size(), reserved[space]);
      std::vector<std::vector<size_t>> values;
      for (const BufferAllocation* allocation : allocations) {
        values.push_back(AddValues(*allocation, space));
        HeapUse(out_.rows, values.back()).AddTo(bytes_at);
      }
      const auto peak = std::max_element(bytes_at.begin(), bytes_at.end()) - bytes_at.begin();
      for (size_t k = 0; k < allocations.size(); ++k) {
        AddUnused(*allocations[k], space, HeapUse(out_.rows, values[k]).AssignAt(peak, out_.rows),
                  end);
      }
      if (space != "device") continue;
      out_.bytes_at = std::move(bytes_at);
      out_.peak_position = peak;
      out_.total_bytes = assignment_.TotalBytes();
    }
    std::stable_sort(
        out_.rows.begin(), out_.rows.end(), [](const BufferRow& a, const BufferRow& b) {
          return std::pair(-a.peak_bytes, -a.bytes) < std::pair(-b.peak_bytes, -b.bytes);
        });
    out_.order = std::move(live_.order);
    return std::move(out_);
  }

 private:
  static bool IsHeap(const BufferAllocation& allocation) {
    return allocation.parameter_number < 0 && !allocation.is_constant &&
           !allocation.maybe_live_out && !allocation.is_thread_local;
  }

  uint32_t Find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? kNoIndex : it->second;
  }

  // The last computed value of a group describes all values that a loop carries.
  void FindWriters() {
    for (const ValueRange& range : live_.ranges) {
      if (range.is_carried || IsEmptyStart(range.instruction)) continue;
      const auto [it, is_new] = writers_.try_emplace(range.group, &range);
      if (!is_new && it->second->first < range.first) it->second = &range;
    }
  }

  // Fills memory that work in a loop writes later.
  bool IsEmptyStart(uint32_t i) const {
    const model::Instruction& start = module_.instructions[i];
    return start.opcode == "broadcast" || start.opcode == "copy" ||
           (module_.Operands(start).empty() && start.opcode != "parameter");
  }

  const ValueRange* RangeOf(uint32_t instruction, std::string_view shape_index) {
    auto [it, is_new] = indices_.try_emplace(instruction);
    if (is_new) AddLeafIndices(module_.instructions[instruction].shape, "", it->second);
    const auto leaf = std::find(it->second.begin(), it->second.end(), shape_index);
    if (leaf == it->second.end()) return nullptr;
    const auto range =
        ranges_.find({instruction, static_cast<uint32_t>(leaf - it->second.begin())});
    return range == ranges_.end() ? nullptr : range->second;
  }

  // The table of pointers of a tuple lives until the last instruction that takes an element.
  std::pair<int64_t, int64_t> TableRange(uint32_t instruction) const {
    const int64_t first = std::max<int64_t>(position_[instruction], 0);
    int64_t last = first;
    for (const model::Instruction& user : module_.InstructionsOf(
             module_.computations[module_.instructions[instruction].computation])) {
      const auto operands = module_.Operands(user);
      if (std::find(operands.begin(), operands.end(), instruction) == operands.end()) continue;
      const auto index = static_cast<size_t>(&user - module_.instructions.data());
      last = std::max(last, position_[index]);
    }
    return {first, last};
  }

  // False: the value has no memory of its own (it is another name of a value with memory).
  bool Fill(const hlo::AssignedValue& value, BufferRow& row) {
    row.offset_bytes = value.offset_bytes;
    row.bytes = value.size_bytes;
    row.instruction = value.instruction;
    row.shape_index = value.shape_index == "{}" ? std::string() : value.shape_index;
    row.shape = value.shape;
    const uint32_t i = Find(value.instruction);
    if (i == kNoIndex) return true;
    if (hlo::IsTuple(value.shape)) {
      std::tie(row.first, row.last) = TableRange(i);
      row.described_by = owners_.DescribedBy(i) + 1;
      return true;
    }
    const ValueRange* range = RangeOf(i, row.shape_index);
    if (range == nullptr) return false;
    row.first = range->first;
    row.last = range->last;
    uint32_t writer = i;
    if (range->is_carried || IsEmptyStart(i)) {
      const auto it = writers_.find(range->group);
      if (it != writers_.end()) writer = it->second->instruction;
    }
    row.owner = owners_.OfValue(writer, value.shape);
    row.described_by = owners_.DescribedBy(writer) + 1;
    return true;
  }

  std::vector<size_t> AddValues(const BufferAllocation& allocation, const std::string& space) {
    std::vector<BufferRow> rows;
    for (const hlo::AssignedValue& value : allocation.values) {
      BufferRow row{.allocation = allocation.index, .memory_space = space};
      if (Fill(value, row) && row.bytes > 0) rows.push_back(std::move(row));
    }
    FollowInOnePlace(rows);
    EndWhereReplaced(rows);
    std::vector<size_t> added;
    for (BufferRow& row : rows) {
      if (row.last < row.first) continue;
      added.push_back(out_.rows.size());
      out_.rows.push_back(std::move(row));
    }
    return added;
  }

  // Values in one place follow each other: each ends where the next begins.
  static void FollowInOnePlace(std::vector<BufferRow>& rows) {
    const auto key = [](const BufferRow& r) {
      return std::tuple(r.offset_bytes, r.bytes, r.first);
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const BufferRow& a, const BufferRow& b) { return key(a) < key(b); });
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      BufferRow& next = rows[i + 1];
      if (rows[i].offset_bytes != next.offset_bytes || rows[i].bytes != next.bytes) continue;
      if (rows[i].last < next.first) continue;
      next.last = std::max(next.last, rows[i].last);
      rows[i].last = next.first - 1;
    }
  }

  // A result in a part of the memory of its operand: the operand ends before the instruction runs.
  static void EndWhereReplaced(std::vector<BufferRow>& rows) {
    std::multimap<int64_t, const BufferRow*> by_first;
    for (const BufferRow& row : rows) by_first.emplace(row.first, &row);
    for (BufferRow& row : rows) {
      if (row.first >= row.last) continue;
      const auto [begin, end] = by_first.equal_range(row.last);
      const bool replaced = std::any_of(begin, end, [&](const auto& next) {
        return next.second->offset_bytes < row.offset_bytes + row.bytes &&
               row.offset_bytes < next.second->offset_bytes + next.second->bytes;
      });
      if (replaced) --row.last;
    }
  }

  // Parameters, results, constants and thread-local values; returns the size.
  int64_t AddReserved(const BufferAllocation& allocation, const std::string& space, int64_t end) {
    const hlo::AssignedValue* main = nullptr;
    for (const hlo::AssignedValue& value : allocation.values) {
      const uint32_t i = Find(value.instruction);
      const bool input = i != kNoIndex && IsEntryParameter(graph_, i);
      if (main == nullptr || (allocation.parameter_number >= 0 && input) ||
          (allocation.parameter_number < 0 &&
           position_[i == kNoIndex ? 0 : i] >
               position_[std::min<size_t>(Find(main->instruction), position_.size() - 1)])) {
        main = &value;
        if (allocation.parameter_number >= 0 && input) break;
      }
    }
    BufferRow row{.allocation = allocation.index, .memory_space = space};
    if (main != nullptr) (void)Fill(*main, row);
    row.offset_bytes = 0;
    row.bytes = row.peak_bytes = allocation.size_bytes;
    row.first = 0;
    row.last = end;
    if (allocation.is_constant) {
      row.owner = BufferOwner::kConstants;
    } else if (allocation.parameter_number < 0 && allocation.maybe_live_out) {
      row.owner = BufferOwner::kOutputs;
    } else if (allocation.is_thread_local) {
      row.owner = BufferOwner::kTemporary;
    }
    if (allocation.parameter_number >= 0) ByParameter(allocation, row);
    const int64_t size = row.bytes;
    out_.rows.push_back(std::move(row));
    return size;
  }

  void ByParameter(const BufferAllocation& allocation, BufferRow& row) {
    for (const model::Instruction& i :
         module_.InstructionsOf(module_.computations[module_.entry])) {
      if (i.opcode != "parameter" || i.parameter_number != allocation.parameter_number) continue;
      const auto index = static_cast<uint32_t>(&i - module_.instructions.data());
      row.owner = owners_.OfInput(index);
      row.instruction = i.name;
      if (row.shape.empty()) row.shape = i.shape;
      row.described_by = owners_.DescribedBy(index) + 1;
      return;
    }
  }

  // Described by the value that needs these bytes at another time.
  void AddUnused(const BufferAllocation& allocation, const std::string& space,
                 const HeapUse::AtPosition& at, int64_t end) {
    const int64_t unused = allocation.size_bytes - at.used;
    if (unused <= 0) return;
    const model::Id described_by = at.other == SIZE_MAX ? 0 : out_.rows[at.other].described_by;
    out_.rows.push_back({.allocation = allocation.index,
                         .bytes = unused,
                         .peak_bytes = unused,
                         .memory_space = space,
                         .owner = BufferOwner::kUnused,
                         .described_by = described_by,
                         .first = 0,
                         .last = end});
  }

  const model::HloModule& module_;
  const hlo::BufferAssignment& assignment_;
  LiveValues live_;
  ModuleGraph graph_;
  BufferOwners owners_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::vector<int64_t> position_;  // Position of an instruction in the schedule; -1: none.
  std::map<std::pair<uint32_t, uint32_t>, const ValueRange*> ranges_;
  std::unordered_map<uint32_t, const ValueRange*> writers_;  // By group.
  std::unordered_map<uint32_t, std::vector<std::string>> indices_;
  ModuleBuffers out_;
};

}  // namespace

Result<ModuleBuffers> BuffersOf(const model::HloModule& module,
                                const hlo::BufferAssignment& assignment,
                                const ModuleLabels& labels) {
  XLATRACE_ASSIGN(LiveValues live, LiveValuesOf(module));
  return Reader(module, assignment, labels, std::move(live)).Read();
}

}  // namespace xlatrace::analysis
