// SPDX-License-Identifier: Apache-2.0

// Launch configurations of kernel rows: about a thousand distinct ones among millions of rows.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_NSYS_NSYS_CONFIGS_H_
#define XLATRACE_IMPORTERS_NSYS_NSYS_CONFIGS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "importers/nsys/nsys_tables.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// The columns of a configuration, in this order.
#define XLATRACE_KERNEL_COLUMNS                                                                 \
  "demangledName", "shortName", "mangledName", "registersPerThread", "gridX", "gridY", "gridZ", \
      "blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "clusterX",    \
      "clusterY", "clusterZ", "launchType", "cacheConfig", "localMemoryPerThread",              \
      "localMemoryTotal", "sharedMemoryExecuted"

class NsysConfigs {
 public:
  // Both must outlive the object.
  NsysConfigs(const InternedStrings& strings, model::EventSink& sink)
      : strings_(strings), sink_(sink) {}

  // The configuration of the scan's current row, whose kernel columns begin at `first`.
  model::Id Of(const TableScan& scan, int first);

 private:
  static constexpr size_t kColumns = 20;
  using Key = std::array<int64_t, kColumns>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  model::Id Make(const TableScan& scan, int first);

  const InternedStrings& strings_;
  model::EventSink& sink_;
  std::unordered_map<Key, model::Id, KeyHash> ids_;
  std::unordered_map<std::string, int64_t> texts_;  // Texts that are in the row itself.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_NSYS_CONFIGS_H_
