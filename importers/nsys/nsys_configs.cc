// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys/nsys_configs.h"

#include <limits>
#include <optional>

#include "base/hash.h"
#include "importers/common/text_fields.h"
#include "importers/nsys/nsys_tables.h"

namespace xlatrace::importers {
namespace {

// In keys, what no column of a launch holds: NULL, and below it the texts that are no ids.
constexpr int64_t kNullNumber = std::numeric_limits<int64_t>::min() / 2;

}  // namespace

size_t NsysConfigs::KeyHash::operator()(const Key& key) const {
  return Hash({reinterpret_cast<const char*>(key.data()), sizeof(key)});
}

model::Id NsysConfigs::Of(const TableScan& scan, int first) {
  Key key;
  for (size_t i = 0; i < kColumns; ++i) {
    const int column = first + static_cast<int>(i);
    if (i < 3 && scan.IsText(column)) {
      const auto number = kNullNumber - 1 - static_cast<int64_t>(texts_.size());
      key[i] = texts_.try_emplace(std::string(scan.Text(column)), number).first->second;
    } else {
      key[i] = scan.IntOr(column, kNullNumber);
    }
  }
  const auto known = ids_.find(key);
  if (known != ids_.end()) return known->second;
  const model::Id id = Make(scan, first);
  ids_.emplace(key, id);
  return id;
}

model::Id NsysConfigs::Make(const TableScan& scan, int first) {
  model::LaunchConfig config;
  config.kind = model::ActivityKind::kKernel;
  const std::string demangled(strings_.Of(scan, first));
  const std::string short_name(strings_.Of(scan, first + 1));
  config.symbol = std::string(strings_.Of(scan, first + 2));
  config.demangled = demangled;
  if (config.symbol.empty()) config.symbol = demangled.empty() ? short_name : demangled;
  if (config.symbol.empty()) config.symbol = "(unnamed)";
  config.name = short_name.empty() ? ShortKernelName(config.symbol) : short_name;
  config.registers_per_thread = Positive(scan.Int(first + 3));
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = scan.Int(first + 4 + i);
    config.block[i] = scan.Int(first + 7 + i);
    config.cluster[i] = Positive(scan.Int(first + 12 + i));  // 0: no cluster.
  }
  config.shared_memory_static_bytes = scan.Int(first + 10);
  config.shared_memory_dynamic_bytes = scan.Int(first + 11);
  config.nsight.launch_type = scan.Int(first + 15);
  config.nsight.cache_config = scan.Int(first + 16);
  config.local_memory_per_thread_bytes = scan.Int(first + 17);
  config.nsight.local_memory_total_bytes = scan.Int(first + 18);
  config.nsight.shared_memory_executed_bytes = scan.Int(first + 19);
  return sink_.AddLaunchConfig(config);
}

}  // namespace xlatrace::importers
