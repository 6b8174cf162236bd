// SPDX-License-Identifier: Apache-2.0

// From which place of the program a host call was made: the ranges of its thread that were open
// then, outermost first ("FSDP::forward > aten::linear > aten::addmm").
//
// Of ranges that say no more than that something is launched (cudaLaunchKernel) nothing is told,
// and texts lose what differs from call to call, so that the paths of a kernel can be counted.
//
// Ask all, Answer, then Answers. Cost: 24 bytes per question; ranges pass by and only those open at
// once are held (a path is made where a question asks for it), unless a thread's do not come by
// start: then they are read again, held (24 bytes each) and sorted. Thread-safety: one thread.

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

// What recurs of a range's text: "aten::addmm, seq = 12, op_id = 1000222" -> "aten::addmm",
// "ProfilerStep#6" -> "ProfilerStep#*", "encoder.block.9.layer.1" -> "encoder.block.*.layer.*".
// Numbers in words ("conv2d", "AddmmBackward0") and lines of files ("module.py(1501)") stay.
std::string RangeWords(std::string_view text);

// "cudaLaunchKernel", "hipModuleLaunchKernel", "cuLaunchKernelEx": a call of the runtime or driver.
bool IsRuntimeRange(std::string_view text);

// "nn.Module: BertLayer_3", "train.py(12): main": a module or function of PyTorch's with_stack.
bool IsPythonFrame(std::string_view text);

// It in few words: "BertLayer_3", "train.py(12): main" without folders; other texts as they are.
std::string_view ShortFrame(std::string_view text);

// Names of a path that are kept, of all of them: whole up to four (five where Python's are among
// them, whose modules go without `nn.Module: `). Of more, the framework's ops
// (`aten::linear`) keep the outermost and the innermost, and what is around them (modules, ranges
// of the model) its innermost names. A profiler's step mark is kept only where it is all there is.
std::vector<std::string_view> ShownNames(const std::vector<std::string_view>& names);

class RangePaths {
 public:
  static constexpr uint32_t kNoText = 0;

  struct Question {
    int64_t time_ns = 0;
    int64_t value_ns = 0;  // This and `what` are the caller's, handed back as they are.
    uint32_t what = 0;
    uint32_t path = 0;  // The answer; 0: no range is open. A range is open until before its end.
  };

  // Number of a text, for AddRange; kNoText: it says nothing.
  uint32_t AddText(std::string_view text);
  bool has_texts() const { return texts_.size() > 1; }

  // `thread`: any small number of a thread of a process.
  void Ask(uint32_t thread, const Question& question);

  // `add_ranges` calls AddRange for all ranges, of any thread and that hold nothing, too, until it
  // returns false. It is called again where they did not come by start, outer before inner.
  Status Answer(const std::function<Status()>& add_ranges);
  bool AddRange(uint32_t thread, uint32_t text, int64_t start_ns, int64_t end_ns);

  void ForEachAnswer(const std::function<void(const Question&)>& row) const;
  // "a > b > c", of ShownNames or of all; empty of 0.
  std::string Text(uint32_t path, bool whole = false) const;

 private:
  struct Range {
    int64_t start_ns, end_ns;
    uint32_t text;
  };
  // The ranges of one thread that are open while its questions pass.
  class Sweep {
   public:
    void Add(RangePaths& paths, const Range& range);
    void Finish(RangePaths& paths);
    void Restart();

    std::vector<Question> questions;
    std::vector<Range> held;  // Where they come in any order.
    int64_t last_start_ns = INT64_MIN, last_end_ns = INT64_MAX;

   private:
    struct Open {
      int64_t end_ns;
      uint32_t text, path;  // Path 0: nobody has asked yet.
    };
    void AnswerBefore(RangePaths& paths, int64_t time_ns);
    void CloseUntil(int64_t time_ns);
    void CountLoose();
    uint32_t Path(RangePaths& paths);

    size_t next_question_ = 0;
    std::vector<Open> open_;  // Outermost first.
    size_t loose_ = 0;        // Of them those that end after what is around them.
  };

  uint32_t PathOf(uint32_t parent, uint32_t text);

  std::vector<Sweep> threads_;
  bool any_order_ = false;
  bool disordered_ = false;
  std::vector<std::string> texts_ = {""};  // kNoText.
  std::unordered_map<std::string, uint32_t> text_numbers_;
  std::vector<std::pair<uint32_t, uint32_t>> paths_ = {{0, 0}};  // What is around it, text.
  std::unordered_map<uint64_t, uint32_t> path_numbers_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_RANGE_PATHS_H_
