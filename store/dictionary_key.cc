// SPDX-License-Identifier: Apache-2.0
#include "store/dictionary_key.h"

#include <string_view>
#include <utility>

namespace xlatrace::store {
namespace {

class Key {
 public:
  Key& Add(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    key_.append(text);
    return *this;
  }
  Key& Add(int64_t value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Key& Add(const std::optional<int64_t>& value) {
    key_ += value ? '1' : '0';
    return Add(value.value_or(0));
  }
  std::string Take() { return std::move(key_); }

 private:
  std::string key_;
};

}  // namespace

std::array<std::optional<int64_t>, 7> NsightColumns(const model::NsightConfig& c) {
  return {c.launch_type,
          c.cache_config,
          c.local_memory_total_bytes,
          c.shared_memory_executed_bytes,
          c.source_memory_kind,
          c.memory_kind,
          c.memset_value};
}

std::string KeyOf(const model::LaunchConfig& c) {
  Key key;
  key.Add(static_cast<int64_t>(c.kind)).Add(c.symbol).Add(c.name).Add(c.demangled);
  key.Add(static_cast<int64_t>(c.copy_kind));
  for (int i = 0; i < 3; ++i) key.Add(c.grid[i]).Add(c.block[i]).Add(c.cluster[i]);
  key.Add(c.registers_per_thread).Add(c.shared_memory_static_bytes);
  key.Add(c.shared_memory_dynamic_bytes).Add(c.theoretical_occupancy_milli_pct);
  key.Add(c.local_memory_per_thread_bytes);
  for (const auto& value : NsightColumns(c.nsight)) key.Add(value);
  return key.Take();
}

std::string KeyOf(const model::Hint& h) {
  Key key;
  key.Add(static_cast<int64_t>(h.evidence)).Add(h.module_name).Add(h.program_id);
  key.Add(h.instruction).Add(h.op_name).Add(h.category).Add(h.source_file).Add(h.source_line);
  key.Add(h.flops).Add(h.bytes_accessed).Add(h.module_id);
  key.Add(h.enclosing).Add(h.op_type).Add(h.hlo);
  return key.Take();
}

std::string KeyOf(const model::Lane& l) {
  Key key;
  key.Add(l.device_id).Add(l.stream_id).Add(l.context_id).Add(l.name).Add(l.priority);
  return key.Take();
}

}  // namespace xlatrace::store
