// From which place of the program a host call was made: the ranges of its thread that were open
// then, outermost first ("FSDP::forward > aten::linear > aten::addmm").
//
// Of ranges that say no more than that something is launched (cudaLaunchKernel) nothing is told,
// and texts lose what differs from call to call, so that the paths of a kernel can be counted.
//
// AddRange all, Finish, then ask. Cost: a sort of 24 bytes per range, 32 bytes per range after it,
// a binary search per question. Thread-safety: const functions are re-entrant after Finish.

#ifndef XLATRACE_ANALYSIS_RANGE_PATHS_H_
#define XLATRACE_ANALYSIS_RANGE_PATHS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace xlatrace::analysis {

// What recurs of a range's text: "aten::addmm, seq = 12, op_id = 1000222" -> "aten::addmm",
// "ProfilerStep#6" -> "ProfilerStep#*", "encoder.block.9.layer.1" -> "encoder.block.*.layer.*".
// Numbers in words ("conv2d", "AddmmBackward0") and lines of files ("module.py(1501)") stay.
std::string RangeWords(std::string_view text);

// "cudaLaunchKernel", "hipModuleLaunchKernel", "cuLaunchKernelEx": a call of the runtime or driver.
bool IsRuntimeRange(std::string_view text);

// Names of a path that are kept, of all of them: whole up to four. Of more, the framework's ops
// (`aten::linear`) keep the outermost and the innermost, and what is around them (modules, ranges
// of the model) its innermost names. A profiler's step mark is kept only where it is all there is.
std::vector<std::string_view> ShownNames(const std::vector<std::string_view>& names);

class RangePaths {
 public:
  // Number of a text, for AddRange.
  uint32_t AddText(std::string_view text);
  // `thread`: any small number of a thread of a process. Ranges that hold nothing may be given.
  void AddRange(uint32_t thread, uint32_t text, int64_t start_ns, int64_t end_ns);
  void Finish();

  // Number of the path at this time; 0: no range is open. A range is open from its start until
  // before its end.
  uint32_t At(uint32_t thread, int64_t time_ns) const;
  // "a > b > c"; empty of 0.
  std::string Text(uint32_t path) const;

  bool empty() const { return threads_.empty(); }

 private:
  struct Range {
    int64_t start_ns, end_ns;
    uint32_t text;
  };
  struct Segment {  // Until the next one.
    int64_t start_ns;
    uint32_t path;
  };
  struct Thread {
    std::vector<Range> ranges;  // Empty after Finish.
    std::vector<Segment> segments;
  };
  class Sweep;

  uint32_t PathOf(uint32_t parent, uint32_t text);

  std::vector<Thread> threads_;
  std::vector<std::string> texts_ = {""};  // 0: says nothing.
  std::unordered_map<std::string, uint32_t> text_numbers_;
  std::vector<std::pair<uint32_t, uint32_t>> paths_ = {{0, 0}};  // What is around it, text.
  std::unordered_map<uint64_t, uint32_t> path_numbers_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_RANGE_PATHS_H_
