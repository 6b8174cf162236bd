// SPDX-License-Identifier: Apache-2.0

// One module on one device, while its activities are walked in time order: decides where an
// execution ends and the next begins, where the source does not say.
//
// Landmarks are the instructions of the entry computation that run once per execution. One that
// comes again begins a new execution. Where ops run one after the other (a GPU's stream) a jump
// back in the schedule does, too, which aligns a capture that began inside an execution.
//
// Use: Observe every activity in time order, then Settle, then Pass every one again.

#ifndef XLATRACE_CORRELATOR_EXECUTION_TRACK_H_
#define XLATRACE_CORRELATOR_EXECUTION_TRACK_H_

#include <cstdint>
#include <vector>

namespace xlatrace::correlator {

// What the track needs to know about an activity.
struct TrackItem {
  static constexpr uint32_t kNotEntry = UINT32_MAX;
  uint32_t entry_index = kNotEntry;  // Place in the entry computation; kNotEntry: not of it.
  uint32_t config = 0;               // How it was launched.
  bool one_record = false;           // The instruction has one record per execution: a fusion's
                                     // kernel, an op of a CPU or TPU; not a sort or a library call.
  bool product = false;              // A library's product or convolution: several kernels per
                                     // call, but each of them once.
};

class ExecutionTrack {
 public:
  // `serial`: ops of the device run one after the other (not on the threads of a CPU).
  ExecutionTrack(uint32_t entry_size, bool serial) : landmarks_(entry_size), serial_(serial) {}

  void Observe(const TrackItem& item);
  void Settle();

  // True when this item, next in time, cannot be of the open execution.
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
    int32_t rank = -1;  // Place in the schedule among what runs once; -1: runs more often.
    uint32_t last_execution = 0;  // That held it.
  };

  // True for a further kernel of the instruction that came before.
  bool Continues(const TrackItem& item) const {
    if (item.entry_index != previous_) return false;
    if (item.one_record && item.config == previous_config_) return false;
    // The kernel with which the call began begins the next one.
    return !(item.product && item.config == first_config_);
  }
  void Remember(const TrackItem& item, bool continues) {
    if (!continues) first_config_ = item.config;
    previous_ = item.entry_index;
    previous_config_ = item.config;
  }

  std::vector<Landmark> landmarks_;  // By place in the entry computation.
  bool serial_;
  int32_t once_count_ = 0;
  uint32_t execution_ = 0;  // Number of the open one; 0: none yet.
  uint32_t previous_ = TrackItem::kNotEntry;
  uint32_t previous_config_ = 0;
  uint32_t first_config_ = 0;   // Of the kernels of that instruction's present call.
  int32_t previous_rank_ = -1;  // In the open execution.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_EXECUTION_TRACK_H_
