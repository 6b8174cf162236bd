// SPDX-License-Identifier: Apache-2.0

// One module on one device, whose activities are visited in time order. Finds the borders of
// executions, if the source does not have them.
//
// Landmarks are the entry instructions that run once per execution. A repeated landmark begins a
// new execution. If ops run one after the other (a GPU's stream), a jump back in the schedule does,
// too. This aligns a capture that began inside an execution.
//
// Order of calls: Observe every activity in time order, then Settle, then Pass every activity
// again.

#ifndef XLATRACE_CORRELATOR_EXECUTION_TRACK_H_
#define XLATRACE_CORRELATOR_EXECUTION_TRACK_H_

#include <cstdint>
#include <vector>

namespace xlatrace::correlator {

// Properties of an activity that the track uses.
struct TrackItem {
  static constexpr uint32_t kNoEntryIndex = UINT32_MAX;
  uint32_t entry_index = kNoEntryIndex;  // Index in the entry computation; kNoEntryIndex: the
                                         // instruction is not in the entry computation.
  uint32_t config = 0;                   // Launch configuration.
  bool one_record = false;               // The instruction has one record per execution: a fusion's
                            // kernel, an op of a CPU or TPU, but not a sort or a library
                            // call.
  bool product = false;  // A product or convolution of a library: it launches several kernels per
                         // call, each of them once.
};

class ExecutionTrack {
 public:
  // `serial`: ops of the device run one after the other (false for the threads of a CPU).
  ExecutionTrack(uint32_t entry_size, bool serial) : landmarks_(entry_size), serial_(serial) {}

  void Observe(const TrackItem& item);
  void Settle();

  // True if this item, the next in time, cannot belong to the open execution.
  bool Restarts(const TrackItem& item) const;
  void Open() {
    ++execution_;
    previous_rank_ = -1;
  }
  void Pass(const TrackItem& item);

  bool is_open() const { return execution_ > 0; }
  bool has_landmarks() const { return once_count_ > 0; }
  bool serial() const { return serial_; }

 private:
  struct Landmark {
    uint32_t occurrences = 0;
    int32_t rank = -1;  // Index in the schedule among instructions that run once; -1: runs more
                        // often.
    uint32_t last_execution = 0;  // Last execution that contained it.
  };

  // True for another kernel of the previous instruction.
  bool Continues(const TrackItem& item) const {
    if (item.entry_index != previous_) return false;
    if (item.one_record && item.config == previous_config_) return false;
    // The first kernel of a call begins the next call.
    return !(item.product && item.config == first_config_);
  }
  void Store(const TrackItem& item, bool continues) {
    if (!continues) first_config_ = item.config;
    previous_ = item.entry_index;
    previous_config_ = item.config;
  }

  std::vector<Landmark> landmarks_;  // By index in the entry computation.
  bool serial_;
  int32_t once_count_ = 0;
  uint32_t execution_ = 0;  // Number of the open execution; 0: none yet.
  uint32_t previous_ = TrackItem::kNoEntryIndex;
  uint32_t previous_config_ = 0;
  uint32_t first_config_ = 0;   // First kernel configuration of the current call of that
                                // instruction.
  int32_t previous_rank_ = -1;  // In the open execution.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_EXECUTION_TRACK_H_
