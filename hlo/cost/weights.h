// SPDX-License-Identifier: Apache-2.0

// Relative cost of an instruction: the time that it would take as a separate kernel.
//
// Splits the time of a fusion over its instructions. A share estimates the part of the time that an
// op would have if XLA ran all ops one by one. Model: the roofline of one op, which is the larger
// of bytes read and written per bandwidth, and operations per speed of the processor. Values that a
// fusion never writes (broadcasts, iotas) cost their index computation only. Their readers cost the
// few bytes behind them. Parameters, constants, tuples and bitcasts weigh 0.
//
// The unit is a nanosecond on an H100 or on one core of a CPU, but only ratios are valid. Figures
// in reports come from the cost model (hlo/cost/cost.h), not from these weights.
//
// Sources. GPU: bandwidth and clock of an H100 SXM, and clock cycles of f32 operations measured by
// XLA (sm_90 in xla/service/gpu/model/hlo_op_profiles_data.h). XLA's own performance model divides
// these by two operations per lane and clock (gpu_performance_model_base.cc). CPU: operations as
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

// At least 0, finite. A call, loop or conditional weighs the sum of its contents, each body once. A
// fusion also weighs the sum of its contents. Reducers count with the elements that they reduce.
// Any `device` other than a CPU counts as a GPU.
double Weight(const model::HloModule& module, const model::Instruction& instruction,
              model::DeviceKind device = model::DeviceKind::kGpu);

// The same for an instruction inside a fusion, whose intermediate results are never written. An
// operation on every element costs one pass over the elements of its largest array. Products cost
// as much as alone.
double WeightInFusion(const model::HloModule& module, const model::Instruction& instruction,
                      model::DeviceKind device = model::DeviceKind::kGpu);

// Estimated nanoseconds of `instruction` as a launch of its own on a large GPU. It is the cost of
// starting and ending a kernel, plus the longer of moving `bytes` and computing the contents.
// `bytes`: bytes read and written by the cost model; empty: unknown. Used to divide the time of
// several launches.
double LaunchNs(const model::HloModule& module, const model::Instruction& instruction,
                std::optional<int64_t> bytes);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COST_WEIGHTS_H_
