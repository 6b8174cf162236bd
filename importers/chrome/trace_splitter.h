// SPDX-License-Identifier: Apache-2.0

// Cuts a streamed JSON trace into slices of whole events. A parser that needs whole documents
// (simdjson) can then read a file of any size in bounded memory.
//
// Gets:  blocks of bytes of `{"...": ..., "traceEvents": [EVENT, ...], ...}` or `[EVENT, ...]`.
// Gives: for the events, slices "[EVENT,EVENT,...]" of about a megabyte; for every other member of
//        the outer object, its key and the bytes of its value.
// The splitter reads quotes and brackets only; the parser checks whether an event is JSON.
//
// Limits: an event or member above kMaxValueBytes is left out and counted. If a trace ends inside
// an event, the earlier events are kept (`truncated`). The list form may lack its ']'. Text after
// the document is ignored (`has_more`). Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_CHROME_TRACE_SPLITTER_H_
#define XLATRACE_IMPORTERS_CHROME_TRACE_SPLITTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace xlatrace::importers {

class TraceSplitter {
 public:
  static constexpr size_t kSliceBytes = size_t{1} << 20;
  static constexpr size_t kMaxValueBytes = size_t{16} << 20;

  struct Output {
    // "[...]", followed by `padding` allocated bytes.
    std::function<void(std::string slice)> events;
    std::function<void(std::string key, std::string value)> member;
    // Returns a processed slice so that its memory can be reused. Optional.
    std::function<std::string()> spare = {};
  };
  TraceSplitter(Output output, size_t padding) : output_(std::move(output)), padding_(padding) {}

  // False if the bytes show that the input is not a trace. Feed must not be called again then.
  bool Feed(std::string_view block);
  // Call it after the last block: delivers the remaining events.
  void Finish();

  // True if the array of events was found.
  bool found_events() const { return found_events_; }
  // The bytes ended before the document did.
  bool truncated() const { return truncated_; }
  // Something follows the document.
  bool has_more() const { return has_more_; }
  // Events and members that were too large.
  int64_t oversized() const { return oversized_; }

 private:
  enum class Mode { kStart, kKeys, kKeyText, kColon, kValueStart, kValue, kEvents, kEvent, kEnd };

  // Skips the bytes of one value. Returns the end of the value, or npos if the block ends first.
  size_t SkipNested(std::string_view block, size_t at);
  void Append(std::string_view bytes);
  void EndEvent();
  void FlushEvents();
  void StartSlice();

  Output output_;
  size_t padding_;
  Mode mode_ = Mode::kStart;
  bool is_list_ = false;
  bool found_events_ = false;
  bool truncated_ = false;
  bool has_more_ = false;
  int64_t oversized_ = 0;
  // Inside a value:
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool skip_value_ = false;
  std::string key_;
  std::string value_;
  std::string slice_;
  size_t slice_committed_ = 0;  // Bytes of slice_ that are whole events.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_CHROME_TRACE_SPLITTER_H_
