// SPDX-License-Identifier: Apache-2.0

// Finds the framework op of a collective's kernel that a thread of NCCL launched.
//
// TensorFlow's ops queue their collectives, and other threads launch the kernels, outside of the
// ops' ranges. A graph has one op per device, and TensorFlow numbers the ops (`CollectiveReduceV2`,
// `CollectiveReduceV2_1`). If the number of announced all-reduces equals the number of devices with
// all-reduce kernels, the first op belongs to the first device. Otherwise the op is unknown.
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
