// SPDX-License-Identifier: Apache-2.0

// Relative cost of an instruction: what it would take if it ran alone.
//
// Splits the time of a fusion over what is inside it: a share answers "had XLA run these ops one by
// one, which part of the time would be this op's?". The roofline of one op: the larger of the bytes
// it reads and writes over the bandwidth, and of its operations over the speed of the processor.
// What a fusion never writes (broadcasts, iotas) is charged for its index computation only, and
// whoever reads it for the few bytes behind it. Parameters, constants, tuples and bitcasts weigh 0.
//
// The unit is a nanosecond on an H100 or on one core of a CPU; only ratios are meant. The figures
// that are shown to people are of the cost model (hlo/cost/cost.h), not of this.
//
// Sources. GPU: bandwidth and clock of an H100 SXM; clock cycles of f32 operations as XLA measured
// them (sm_90 in xla/service/gpu/model/hlo_op_profiles_data.h), which its own performance model
// divides by two operations per lane and clock (gpu_performance_model_base.cc). CPU: operations as
// XLA:CPU compiles them for AVX2, one by one on arrays in cache (tests/accuracy/cpu_op_costs.py).
//
// Thread-safety: pure function of an immutable module.

#ifndef XLATRACE_HLO_COST_WEIGHTS_H_
#define XLATRACE_HLO_COST_WEIGHTS_H_

#include <cstdint>
#include <optional>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::hlo {

// At least 0, finite. A call, loop or conditional weighs what is inside, each body once, and
// so does a fusion, as if it were none; reducers count with the elements they reduce. `device`
// other than a CPU is taken for a GPU.
double Weight(const model::HloModule& module, const model::Instruction& instruction,
              model::DeviceKind device = model::DeviceKind::kGpu);

// The same for an instruction inside a fusion, whose intermediate results are never written. An
// operation on every element costs one pass over the elements of its largest array. Products cost
// as much as they do alone.
double WeightInFusion(const model::HloModule& module, const model::Instruction& instruction,
                      model::DeviceKind device = model::DeviceKind::kGpu);

// Nanoseconds that `instruction` should take as a launch of its own on a large GPU: what starting
// and ending a kernel takes, and the longer of moving `bytes` (what the cost model says it reads
// and writes; nothing: unknown) and computing what is inside. To share the time of several
// launches.
double LaunchNs(const model::HloModule& module, const model::Instruction& instruction,
                std::optional<int64_t> bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_WEIGHTS_H_
