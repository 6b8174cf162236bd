// SPDX-License-Identifier: Apache-2.0

// Finds the framework op of a collective's kernel that a thread of NCCL launched.
//
// TensorFlow's ops queue their collectives, and other threads launch the kernels, outside of the
// ops' ranges. A graph has one op per device, and TensorFlow numbers them (`CollectiveReduceV2`,
// `CollectiveReduceV2_1`). So if as many all-reduces were announced as devices run all-reduce
// kernels, the first op belongs to the first device. If the numbers differ, no op is known.
//
// Thread-safety: const after construction.

#ifndef XLATRACE_CORRELATOR_COLLECTIVE_OPS_H_
#define XLATRACE_CORRELATOR_COLLECTIVE_OPS_H_

#include <map>
#include <utility>
#include <vector>

#include "correlator/thunk_order/program/launch_kind.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

class CollectiveOps {
 public:
  // `run` must outlive this.
  explicit CollectiveOps(const model::RunTables& run);

  // Op of the kernels of this kind on a device; null: not known.
  const model::Hint* Of(model::Id device_id, CollectiveKind kind) const;
  // All results of Of, in the order of kinds and devices.
  const std::vector<const model::Hint*>& found() const { return found_; }

 private:
  std::map<std::pair<model::Id, CollectiveKind>, const model::Hint*> by_device_;
  std::vector<const model::Hint*> found_;
};

// True if the activity may be a collective's kernel that threads of NCCL launched.
bool IsLooseCollective(const model::LaunchConfig& config, const model::Hint* hint);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_COLLECTIVE_OPS_H_
