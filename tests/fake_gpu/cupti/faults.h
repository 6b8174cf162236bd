// SPDX-License-Identifier: Apache-2.0

// The scenario's lines for CUPTI ("cupti ..."), as figures. README.md has the language.
#ifndef FAKE_GPU_CUPTI_FAULTS_H_
#define FAKE_GPU_CUPTI_FAULTS_H_

#include <cstdint>
#include <map>
#include <string>

namespace fakegpu::cupti {

// Numbers from `first` on, `count` of them; first 0: none.
struct Span {
  uint64_t first = 0, count = 1;
  bool counted = true;  // a drop shows in cuptiActivityGetNumDroppedRecords

  bool Holds(uint64_t number) const {
    return first != 0 && number >= first && number - first < count;
  }
};

struct Faults {
  Span drop_records, drop_buffers;           // Device records, completed buffers.
  Span zero_times, reversed_times, unended;  // Device records.
  Span lose_clone;                           // GRAPHNODE_CLONED callbacks.
  uint64_t swap_correlation = 0;             // This device record and the next.
  uint64_t unknown_before = 0;               // A record of an unknown kind comes before this one.
  uint32_t unknown_kind = 999;
  std::map<uint32_t, uint16_t> sizes;  // Kind -> bytes written instead of the right number.
  uint64_t late_ns = 0;                // Records show this much after the device is done.
  uint64_t shuffle = 0;                // Buffers are delivered in groups of this size, last first.
  bool hold_until_exit = false;        // Completed buffers come after the exit handlers.
  uint64_t fatal_after = 0;            // This many device records, then FATAL_ERROR.
  std::string other_subscriber;        // Another tool uses CUPTI.
  std::string polite_subscriber;       // The same, but it lets others be (second interface).
  bool reenter = false;                // Calls of the tool come back as requests for buffers.
  bool flush_needs_context = false;    // FlushAll never returns before there is a context.
  bool second_bars_first = false;  // The second interface refuses, and then the first does, too.
  bool clock_raw = false;          // CUPTI's clock is CLOCK_MONOTONIC_RAW, as under WSL2.
  bool iterator_needs_descriptors = false;  // GetNextRecord reads a descriptor of the driver.
  uint64_t others_flush_at = 0;      // Another subscriber flushes by force at this device record.
  bool slots_at_completion = false;  // Slots are reserved when records are complete.
  bool any_record_fault = false;
};

const Faults& TheFaults();

}  // namespace fakegpu::cupti

#endif  // FAKE_GPU_CUPTI_FAULTS_H_
