// Which fusions of a module XLA may compile once and launch several times (kernel reuse, since
// March 2023: xla/service/gpu/kernel_reuse_cache.cc).

#ifndef XLATRACE_CORRELATOR_FUSION_BODY_H_
#define XLATRACE_CORRELATOR_FUSION_BODY_H_

#include <cstdint>

#include "model/hlo_module.h"

namespace xlatrace::correlator {

// Equal for fusions with the same fused computation: opcodes, shapes, wiring. Coarser than XLA's
// own fingerprint (constants and buffer aliasing are left out), never finer.
uint64_t FusionBodyHash(const model::HloModule& module, const model::Instruction& fusion);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_FUSION_BODY_H_
