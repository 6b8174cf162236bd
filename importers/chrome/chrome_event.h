// SPDX-License-Identifier: Apache-2.0

// One event of a JSON trace as text fields, and its parser. Among the importers, only
// chrome_event.cc uses simdjson.
//
// Ownership: the views of an event live until the next event. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_CHROME_CHROME_EVENT_H_
#define XLATRACE_IMPORTERS_CHROME_CHROME_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace xlatrace::importers {

// Numbers are views of their decimal text (never converted through a double); empty: absent.
struct ChromeEvent {
  char phase = 0;  // "ph": 'X' complete, 'M' metadata, ... 0: absent.
  std::string_view category;
  std::string_view name;
  std::string_view pid;
  std::string_view tid;
  std::string_view start;     // "ts", microseconds.
  std::string_view duration;  // "dur", microseconds.

  // Fields of "args", of PyTorch's Kineto:
  std::string_view device, stream, context, correlation, bytes, registers, shared_memory;
  std::string_view grid, block;  // "[1, 2, 3]"
  std::string_view graph_id, graph_node_id;
  // ... of XProf's conversion (JAX's trace.json.gz):
  std::string_view hlo_op, hlo_module, program_id, run_id, device_ordinal, step_number;
  std::string_view kernel_details, memcpy_details, memset_details, occupancy;
  std::string_view op_name_end, op_name_prefix, category_text, tf_op, source, flops, bytes_accessed;
  std::string_view long_name;  // A TPU op's line of HLO.
  std::string_view op;         // TensorFlow's timeline: type of the op.
  // ... of metadata events (process_name, thread_name):
  std::string_view label;
};

class ChromeEventParser {
 public:
  ChromeEventParser();
  ~ChromeEventParser();

  // Number of bytes that must be allocated after the end of a slice.
  static size_t Padding();

  // Calls `each` for every event of "[EVENT,...]", in order. If `wants(phase, category)` returns
  // false, the remainder of the event is skipped. Returns the number of events that are not valid
  // JSON.
  int64_t Parse(std::string& slice, const std::function<void(const ChromeEvent&)>& each);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Converts microseconds in decimal text to nanoseconds and remaining picoseconds. Exact: digits are
// processed as text, also with an exponent. JAX prints doubles with 17 digits. Text with more than
// six decimals is therefore rounded to picoseconds first. nullopt: not a number, or out of range.
struct Moment {
  int64_t ns = 0;
  int32_t ps = 0;  // 0..999
};
std::optional<Moment> ParseMicroseconds(std::string_view text);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_CHROME_CHROME_EVENT_H_
