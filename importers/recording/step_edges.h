// SPDX-License-Identifier: Apache-2.0

// Cuts the interval that the collector records for a window of steps to the steps themselves.
//
// The interval is wider than the steps (collector/steering.h). Per context, the collector marks the
// run of the main module that begins the window, and the run that follows the window. On a device
// the window lasts from the first work of the first run to the first work of the second. A device
// without such runs has the interval from the earliest begin to the latest end.
//
// Order of calls: Read, then Inside and InsideHost. Times are those of the recording.
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_RECORDING_STEP_EDGES_H_
#define XLATRACE_IMPORTERS_RECORDING_STEP_EDGES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "importers/recording/recorded_process.h"

namespace xlatrace::importers {

class StepEdges {
 public:
  // The part of a recording that belongs to one device.
  struct Interval {
    uint64_t from_ns = 0;
    uint64_t until_ns = UINT64_MAX;
    // Launches at the two times; 0: none.
    uint32_t first_correlation = 0;
    uint32_t next_correlation = 0;
  };

  // Reads calls and activities of the recording, unless no run is marked. Marks launches of
  // `process` outside the window as kLeftOutIndex.
  Status Read(const std::string& path, uint64_t bytes, RecordedProcess& process);

  // False: everything in the recording belongs to the window.
  bool cut() const { return cut_; }
  // Calls before this time are outside, where no run begins the window. 0: none.
  uint64_t begin_call_ns() const { return begin_call_ns_; }
  bool Inside(uint32_t device, uint64_t start_ns) const;
  // True if the program was in the steps of the window at this time, by the clock of the program.
  bool InsideHost(uint64_t time_ns) const {
    return host_.from_ns <= time_ns && time_ns < host_.until_ns;
  }
  uint64_t host_from_ns() const { return host_.from_ns; }
  // The end of the window on the last device; UINT64_MAX: the window has no end.
  uint64_t until_ns() const { return all_.until_ns; }
  // Intervals of the devices that ran the first step.
  const std::map<uint32_t, Interval>& devices() const { return devices_; }

 private:
  struct WorkPass;
  void MarkLaunches(const WorkPass& pass, RecordedProcess& process) const;
  void SetBegin(const RecordedProcess& process);

  bool cut_ = false;
  uint64_t begin_call_ns_ = 0;
  Interval host_;
  Interval all_;
  std::map<uint32_t, Interval> devices_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_STEP_EDGES_H_
