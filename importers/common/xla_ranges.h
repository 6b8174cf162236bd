// SPDX-License-Identifier: Apache-2.0

// XLA's and TensorFlow's ranges per thread, to look up the ranges that were open on a thread at a
// given time.
//
// Memory: 24 bytes per range. Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_XLA_RANGES_H_
#define XLATRACE_IMPORTERS_COMMON_XLA_RANGES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/event_sink.h"

namespace xlatrace::importers {

class XlaRanges {
 public:
  explicit XlaRanges(model::EventSink& sink) : sink_(sink) {}

  // Adds a range of domain TSL. Texts other than Thunk and XlaModule are ignored; with `with_ops`,
  // ops of TensorFlow are added, too (op_annotation.h).
  void Add(int64_t global_tid, int64_t start_ns, int64_t end_ns, std::string_view text,
           bool with_ops = false);
  // Sorts; after that no Add.
  void Finish();

  struct Found {
    // Innermost thunk within its module, or outside of modules the framework's op; 0: none.
    model::Id thunk_hint = 0;
    model::Id module_hint = 0;  // The module alone.
    int64_t module_range = -1;  // Which XlaModule range: the run. -1: none.
  };
  // `evidence`: the source of the hint.
  Found At(int64_t global_tid, int64_t time_ns, model::Evidence evidence);

  // Adds hints of thunks that no activity has looked up. The contents of a graph are known only
  // from the ranges of its recording.
  void AddUnasked();

  bool empty() const { return threads_.empty(); }

 private:
  struct Range {
    int64_t start_ns;
    int64_t end_ns;
    int32_t place;        // Index into texts_ during adding, later into places_; -1: none.
    int32_t parent = -1;  // Index of the parent, in the same thread.
  };
  // A text together with the enclosing ranges up to its module; it repeats with every execution.
  struct Place {
    int32_t text = -1;
    int32_t around = -1;             // The place of the next thunk outside; -1: none.
    int32_t module = -1;             // Text of the module around; -1: none.
    model::Id hints[3] = {0, 0, 0};  // As a range, as a graph node, of the module alone.
  };
  struct Thread {
    std::vector<Range> ranges;
    int64_t first_number = 0;  // First number of the thread; numbers are unique over all threads.
    size_t after = 0;          // The first range that starts after the time of the last lookup.
  };
  struct Text {
    bool is_module = false;
    bool is_op = false;
    std::string module_name;
    std::string prefix;
    std::string program_id;
    std::string instruction;
    std::string op_name;
    bool is_whole_name = false;  // Not below the module's prefix.
    std::string op_type, source_file, source_line;
  };

  static size_t FirstAfter(Thread& thread, int64_t time_ns);
  int32_t PlaceOf(int32_t text, int32_t parent);
  model::Id HintOf(int32_t place, bool module_only, model::Evidence evidence);

  model::EventSink& sink_;
  std::unordered_map<int64_t, Thread> threads_;
  std::vector<Text> texts_;
  std::unordered_map<std::string, int32_t> text_index_;
  std::vector<Place> places_;
  std::unordered_map<uint64_t, int32_t> place_index_;  // (place around, text)
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_XLA_RANGES_H_
