// SPDX-License-Identifier: Apache-2.0

// Finds fusions of a module that XLA may compile once and launch several times (kernel reuse, since
// March 2023: xla/service/gpu/kernel_reuse_cache.cc).

#ifndef XLATRACE_CORRELATOR_FUSION_BODY_H_
#define XLATRACE_CORRELATOR_FUSION_BODY_H_

#include <cstdint>
#include <unordered_map>

#include "model/hlo_module.h"

namespace xlatrace::correlator {

// Thread-safety: one thread per object. The module must outlive it.
class FusionBodies {
 public:
  explicit FusionBodies(const model::HloModule& module) : module_(module) {}

  // A hash that is equal for fusions with the same fused computation: opcodes, shapes, data flow.
  // It is coarser than XLA's own fingerprint (constants and buffer aliasing are ignored), never
  // finer.
  uint64_t HashOf(const model::Instruction& fusion);

 private:
  const model::HloModule& module_;
  std::unordered_map<uint32_t, uint64_t> known_;  // By computation, which may have several callers.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_FUSION_BODY_H_
