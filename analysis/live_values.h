// SPDX-License-Identifier: Apache-2.0

// Values of a scheduled program that need device memory, with their live ranges.
//
// An estimate from the program alone. Positions are those of the flattened schedule. Values that
// must share memory count as one: loop-carried values, values behind tuples and bitcasts, and
// results that reuse a donated parameter. Values that XLA allows to share memory also count as one.
// These are in-place updates, and an elementwise result of the same size as an operand without a
// later reader. XLA reserves more memory: gaps in its heap, and results, whose memory is reserved
// from the start. The buffer assignment of the module has the exact amount.
//
// Sources: HloLiveRange::FlattenSchedule in xla/hlo/utils/hlo_live_range.cc,
// xla/hlo/analysis/hlo_dataflow_analysis.cc, xla/service/gpu/buffer_sharing.cc.
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_LIVE_VALUES_H_
#define XLATRACE_ANALYSIS_LIVE_VALUES_H_

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "model/hlo_module.h"

namespace xlatrace::analysis {

enum class LiveKind : uint8_t { kParameter, kConstant, kResult, kTemporary };

// One place in memory: a leaf of an instruction's result, and all values that share memory with it.
struct LiveValue {
  uint32_t instruction = model::kNoIndex;  // The first writer.
  uint32_t updated_by = model::kNoIndex;   // The first in-place writer of a part; kNoIndex: none.
  uint32_t last_user = model::kNoIndex;    // The last reader; kNoIndex: lives to the end.
  int64_t bytes = 0;                       // Above 0.
  int32_t first = 0;                       // Positions, both inclusive.
  int32_t last = 0;
  LiveKind kind = LiveKind::kTemporary;
  bool donated = false;    // A parameter whose memory a result reuses.
  bool donatable = false;  // A parameter that is not donated although a result of the same shape
                           // needs separate memory. Donating the parameter would save that memory.
};

// The live range of one leaf of an instruction's result, as XLA assigns it. Values that must share
// memory follow each other. For a loop-carried value, the instruction is the parameter of the
// loop's body or condition.
struct ValueRange {
  uint32_t instruction = model::kNoIndex;
  uint32_t leaf = 0;   // Leaf of the instruction's shape.
  uint32_t group = 0;  // Equal for values that share memory by necessity.
  int32_t first = 0;   // Positions, both inclusive.
  int32_t last = 0;
  bool is_carried = false;  // Passed into a loop's computation, not computed.
};

struct LiveValues {
  // Instructions in execution order. Those of loops and branches are listed once, before the
  // caller. Bodies of fusions are not listed.
  std::vector<uint32_t> order;
  std::vector<LiveValue> values;   // By first position.
  std::vector<ValueRange> ranges;  // By instruction and leaf.
  int64_t peak_bytes = 0;          // Largest sum alive at once, with parameters and constants.
  int32_t peak_position = 0;       // The first position with this peak.
};

// Error: the module has no schedule, or its values exceed the limit of this estimate.
Result<LiveValues> LiveValuesOf(const model::HloModule& module);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LIVE_VALUES_H_
