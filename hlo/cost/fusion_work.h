// SPDX-License-Identifier: Apache-2.0

// Determines the framework ops that take the time of a fusion, and the op that is its label.
//
// Views only decide which element is read. A kernel computes an index for them, so they get no
// time. Views are bitcast, reshape, broadcast, slice, dynamic-slice, reverse and access to tuples,
// and a transpose or copy whose result does not leave the fusion. If a fusion consists of views
// only, it is a copy, and its time belongs to the views that write its results.
//
// XLA names a fusion after the op for which it made the kernel (a product, or the root), in the
// fusion's own metadata. That op is the label, except where another op costs at least
// kDominantCost times as much. If XLA names a view, the op that the view reads takes its place.
//
// Thread-safety: one thread per object. Linear in the module: a body that several fusions share is
// read once.

#ifndef XLATRACE_HLO_COST_FUSION_WORK_H_
#define XLATRACE_HLO_COST_FUSION_WORK_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::hlo {

// Another op than the one that XLA names becomes the label only if it costs at least this many
// times as much.
inline constexpr double kDominantCost = 2;

// The work of one framework op, written on one source line, inside a fusion.
struct FusedOp {
  // The costliest instruction of the op. For instructions without an op_name, the fusion itself.
  uint32_t instruction = model::kNoIndex;
  double cost = 0;  // At least 0; only ratios within a fusion are meant (WeightInFusion).
  double duplicated_cost = 0;  // The part that an earlier kernel also computes (duplicated_work.h).
};

class FusionWork {
 public:
  // The module must outlive this. `device`: where the module runs.
  explicit FusionWork(const model::HloModule& module,
                      model::DeviceKind device = model::DeviceKind::kGpu);

  // Ops inside a fusion, or inside the computations that another instruction calls: the label
  // first, the others by descending cost. Nested fusions and calls are included; the function of a
  // reduction belongs to the reduction. Work without an op_name belongs to the op of the fusion's
  // own metadata, or is left out if there is none. Empty if no part takes time or has a name.
  std::vector<FusedOp> OpsOf(uint32_t fusion);

  // The same without ops that earlier kernels also compute. The label among them decides the phase
  // of the fusion.
  std::vector<FusedOp> OwnOpsOf(uint32_t fusion);

  // By instruction: FindDuplicatedWork of the module.
  const std::vector<bool>& duplicated() const { return duplicated_; }

 private:
  // op_name, op_type, source file, line and frame.
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, int32_t, uint32_t>;
  struct Op {
    Key key;
    FusedOp fused;
    double largest = 0;  // Cost of the instruction.
  };
  struct Body {
    std::vector<Op> ops;  // With names, in the order of their keys.
    bool has_unnamed = false;
    FusedOp unnamed;
    // By name of a view: the instruction that takes time and that the view reads.
    std::unordered_map<std::string_view, uint32_t> read;
  };
  class Walk;

  Key KeyOf(uint32_t instruction) const;
  const Body& BodyOf(uint32_t fusion);
  Body ReadBody(uint32_t fusion) const;
  std::vector<FusedOp> LabelFirst(uint32_t fusion, bool only_own);
  static std::vector<Op>::iterator FindNamed(std::vector<Op>& ops, const Key& own);

  const model::HloModule& module_;
  model::DeviceKind device_;
  std::vector<uint32_t> callers_;              // How many instructions call each computation.
  std::unordered_map<uint32_t, Body> bodies_;  // Bodies with several callers.
  std::vector<bool> duplicated_;
  Body last_;  // The last other body.
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_FUSION_WORK_H_
