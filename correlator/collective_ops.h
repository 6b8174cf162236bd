// SPDX-License-Identifier: Apache-2.0

// Which op of the framework a collective's kernel is of, where threads of NCCL's launch it.
//
// TensorFlow's ops queue their collectives; threads of its own launch the kernels, outside of the
// ops' ranges. What tells the op is that a graph holds one for each device: where as many
// all-reduces were announced as devices run kernels of one, the first is the first device's, as
// TensorFlow numbers them (`CollectiveReduceV2`, `CollectiveReduceV2_1`). Where the numbers differ
// nothing is claimed.
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

  // Of kernels of this kind on a device; null: not known.
  const model::Hint* Of(model::Id device_id, CollectiveKind kind) const;
  // All that Of gives, in the order of kinds and devices.
  const std::vector<const model::Hint*>& found() const { return found_; }

 private:
  std::map<std::pair<model::Id, CollectiveKind>, const model::Hint*> by_device_;
  std::vector<const model::Hint*> found_;
};

// The activity may be a collective's kernel that threads of NCCL's launched.
bool IsLooseCollective(const model::LaunchConfig& config, const model::Hint* hint);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_COLLECTIVE_OPS_H_
