// SPDX-License-Identifier: Apache-2.0

// The work of a device in the order in which the host launched it.
//
// A unit of work is one execution of a program, or one kernel, copy or op outside of programs.
// Units with equal `what` do the same work. A program is identified by its fingerprint. If no
// fingerprint recurs, because each call creates a new program, it is identified by its name. An op
// is identified by its framework name, a kernel by its symbol, a copy by its direction.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_WORK_H_
#define XLATRACE_ANALYSIS_TIME_TREE_WORK_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/launch_queue.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::time_tree {

// Called before the recording.
inline constexpr int64_t kCalledBeforeNs = INT64_MIN / 4;

struct Work {
  int64_t called_ns = 0;    // Start of the launch call; if no call is known, start on the device.
  int64_t launched_ns = 0;  // End of its last launch call.
  int64_t start_ns = 0;     // On the device: first start, last end.
  int64_t end_ns = 0;
  int64_t device_ns = 0;
  uint32_t what = 0;
  bool copy = false;
  bool has_call = false;
};

// Programs are the same if they have the same fingerprint, or the same name.
enum class Identity : uint8_t { kFingerprint, kName };

// Numbers of `what`, shared by the devices of a process.
struct WorkNames {
  Identity identity = Identity::kFingerprint;
  struct Facts {
    bool program = false;
    bool optimizer = false;  // Contains optimizer work.
    bool copy = false;
  };
  std::vector<Facts> facts;  // Index: `what`.
  std::unordered_map<std::string, uint32_t> number_of;

  uint32_t Number(const std::string& key, const Facts& facts_of_key);
};

// The key of a program among WorkNames.
std::string ProgramKey(const model::RunTables& run, const model::AttributionTables& attribution,
                       model::Id module_id, Identity identity);

// `activities`: those of one device by start (ActivitiesByDevice). `optimizers`: true per module
// with optimizer work, index module_id - 1.
std::vector<Work> WorkOf(const model::RunTables& run, const model::AttributionTables& attribution,
                         const std::vector<ActivityClass>& classes,
                         const std::vector<uint32_t>& activities, const HostCallOf& call_of,
                         const std::vector<bool>& optimizers, WorkNames& names);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_WORK_H_
