// SPDX-License-Identifier: Apache-2.0

// Which values of a scheduled program hold device memory, and from when to when.
//
// An estimate from the program alone: positions are those of the flattened schedule, values that
// must share memory are one (what a loop carries, what tuples and bitcasts pass on, a result that
// takes over a donated parameter), and so are those that XLA lets share (a result of the same size
// that is made element by element from a value that nobody reads later, updates in place). What
// XLA reserves is more by what lies between the places of its heap, and by results, which hold
// their memory from the start; the buffer assignment of the module says how much.
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

// One place in memory: a leaf of what an instruction makes, and all that shares memory with it.
struct LiveValue {
  uint32_t instruction = model::kNoIndex;  // What writes it first.
  uint32_t updated_by =
      model::kNoIndex;                   // What first writes a part of it in place; kNoIndex: none.
  uint32_t last_user = model::kNoIndex;  // What reads it last; kNoIndex: lives to the end.
  int64_t bytes = 0;                     // Above 0.
  int32_t first = 0;                     // Positions, both inclusive.
  int32_t last = 0;
  LiveKind kind = LiveKind::kTemporary;
  bool donated = false;    // A parameter whose memory a result takes over.
  bool donatable = false;  // A parameter that is not, though a result of the same shape needs
                           // memory of its own: donating it would save that.
};

// The live range of one leaf of the result of an instruction, as XLA assigns it: values that share
// memory by necessity follow each other. For a value that a loop carries, the instruction is the
// parameter of the loop's body or condition.
struct ValueRange {
  uint32_t instruction = model::kNoIndex;
  uint32_t leaf = 0;   // Leaf of the instruction's shape.
  uint32_t group = 0;  // Equal for values that share memory by necessity.
  int32_t first = 0;   // Positions, both inclusive.
  int32_t last = 0;
  bool is_carried = false;  // Passed into a loop's computation, not computed.
};

struct LiveValues {
  // Instructions in the order they run, those of loops and branches once, in front of what calls
  // them; bodies of fusions are not in it.
  std::vector<uint32_t> order;
  std::vector<LiveValue> values;   // By first position.
  std::vector<ValueRange> ranges;  // By instruction and leaf.
  int64_t peak_bytes = 0;          // Most that is alive at once, parameters and constants included.
  int32_t peak_position = 0;       // The first position where it is.
};

// An error: the module has no schedule, or holds more values than fit in memory.
Result<LiveValues> LiveValuesOf(const model::HloModule& module);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LIVE_VALUES_H_
