// SPDX-License-Identifier: Apache-2.0

// The place in the program from which a host call was made, as the open ranges of its thread,
// outermost first. Example: "FSDP::forward > aten::linear > aten::addmm".
//
// Ranges that only name a launch (cudaLaunchKernel) are left out. Texts lose the parts that differ
// from call to call, so that the paths of a kernel can be counted.
//
// Call `AddQuestion` for all questions, then `Answer`, then read the answers. Cost: 24 bytes per
// question. Only ranges that are open at once are held, unless a thread's ranges are not ordered by
// start. Then they are read again, held (24 bytes each) and sorted. Thread-safety: one thread.

#ifndef XLATRACE_ANALYSIS_RANGE_PATHS_H_
#define XLATRACE_ANALYSIS_RANGE_PATHS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xlatrace::analysis {

// The constant part of a range's text: "aten::addmm, seq = 12, op_id = 1000222" -> "aten::addmm",
// "ProfilerStep#6" -> "ProfilerStep#*", "encoder.block.9.layer.1" -> "encoder.block.*.layer.*".
// Numbers in words ("conv2d", "AddmmBackward0") and lines of files ("module.py(1501)") stay.
std::string RangeWords(std::string_view text);

// "cudaLaunchKernel", "hipModuleLaunchKernel", "cuLaunchKernelEx": a call of the runtime or driver.
bool IsRuntimeRange(std::string_view text);

// "nn.Module: BertLayer_3", "train.py(12): main": a module or function of PyTorch's with_stack.
bool IsPythonFrame(std::string_view text);

// Short form of a frame: "BertLayer_3", "train.py(12): main" without folders; other texts
// unchanged.
std::string_view ShortFrame(std::string_view text);

// Names of a path that are shown. Up to four names: all of them. With Python frames, up to five;
// modules lose `nn.Module: `. Longer paths keep the outermost and the innermost of the framework's
// ops (`aten::linear`). They also keep the innermost names around these ops (modules, ranges of the
// model). A profiler's step mark is kept only if the path has no other name.
std::vector<std::string_view> ShownNames(const std::vector<std::string_view>& names);

class RangePaths {
 public:
  static constexpr uint32_t kNoTextId = 0;

  struct Question {
    int64_t time_ns = 0;
    int64_t value_ns = 0;  // `value_ns` and `what` belong to the caller and are returned unchanged.
    uint32_t what = 0;
    uint32_t path = 0;  // The answer: the path of open ranges; 0: no range is open. The end of a
                        // range is not part of it.
  };

  // Number of a text, for AddRange; kNoTextId: the text is left out of paths.
  uint32_t AddText(std::string_view text);
  bool has_texts() const { return texts_.size() > 1; }

  // `thread`: any small number of a thread of a process.
  void AddQuestion(uint32_t thread, const Question& question);

  // `add_ranges` calls AddRange for all ranges, of all threads, until AddRange returns false. It is
  // called again if the ranges were not ordered by start, outer before inner.
  Status Answer(const std::function<Status()>& add_ranges);
  bool AddRange(uint32_t thread, uint32_t text, int64_t start_ns, int64_t end_ns);

  void ForEachAnswer(const std::function<void(const Question&)>& row) const;
  // "a > b > c", of ShownNames or of all names; empty for path 0.
  std::string Text(uint32_t path, bool whole = false) const;

 private:
  struct Range {
    int64_t start_ns, end_ns;
    uint32_t text;
  };
  // The ranges of one thread that are open at the times of its questions.
  class Sweep {
   public:
    void Add(RangePaths& paths, const Range& range);
    void Finish(RangePaths& paths);
    void Restart();

    std::vector<Question> questions;
    std::vector<Range> held;  // Ranges that are not ordered by start.
    int64_t last_start_ns = INT64_MIN, last_end_ns = INT64_MAX;

   private:
    struct Open {
      int64_t end_ns;
      uint32_t text, path;  // Path 0: not requested yet.
    };
    void ResolveBefore(RangePaths& paths, int64_t time_ns);
    void CloseUntil(int64_t time_ns);
    void CountLoose();
    uint32_t Path(RangePaths& paths);

    size_t next_question_ = 0;
    std::vector<Open> open_;  // Outermost first.
    size_t loose_ = 0;        // Number of open ranges that end after the enclosing range.
  };

  uint32_t PathOf(uint32_t parent, uint32_t text);

  std::vector<Sweep> threads_;
  bool any_order_ = false;
  bool disordered_ = false;
  std::vector<std::string> texts_ = {""};  // kNoTextId.
  std::unordered_map<std::string, uint32_t> text_numbers_;
  std::vector<std::pair<uint32_t, uint32_t>> paths_ = {{0, 0}};  // Parent path, text.
  std::unordered_map<uint64_t, uint32_t> path_numbers_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_RANGE_PATHS_H_
