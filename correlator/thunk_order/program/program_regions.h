// SPDX-License-Identifier: Apache-2.0

// Which tokens of a thunk program run together or not at all: a branch, of which a conditional runs
// exactly one, and the body of a loop that may run no time. How many kernels must have been
// launched between two tokens follows from that: what is entered runs as a whole.
//
// Made while the program is walked (Open, Close), then counted. Thread-safety: immutable after
// Count.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_PROGRAM_REGIONS_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_PROGRAM_REGIONS_H_

#include <cstdint>
#include <vector>

namespace xlatrace::correlator {

class ProgramRegions {
 public:
  static constexpr uint32_t kTop = 0;  // The region of what always runs.

  // A loop as the walk saw it. Its condition, if it runs, stands in front of its body.
  struct Loop {
    uint32_t region = kTop;  // That directly holds it.
    uint32_t body = kTop;    // The region of the body, kTop: the body surely runs.
    uint32_t begin = 0;
    uint32_t end = 0;
    int64_t before = 0;  // Kernels of its region in front of it, and up to its end.
    int64_t after = 0;
  };

  ProgramRegions() { Clear(); }
  // All tokens always run.
  void Clear();

  // Between BeginChoice and EndChoice come regions of which at most one runs, or exactly one.
  void BeginChoice(bool exactly_one);
  uint32_t Open(uint32_t next_token);  // The region that tokens from here on belong to.
  void Close(uint32_t next_token);
  void EndChoice();
  uint32_t current() const { return open_.back(); }

  // `required`: by token, whether it launches a kernel whenever its region runs.
  void Count(const std::vector<bool>& required);

  // Kernels of the top region, and of the branches that are the smallest.
  int64_t total() const { return regions_[kTop].total; }
  // Kernels missing when `to` follows `from` without going round a loop; -1: it cannot.
  int64_t Skipped(uint32_t from, uint32_t to) const;
  int64_t SkippedFromStart(uint32_t to) const;
  int64_t SkippedToEnd(uint32_t from) const;
  // The same when `loop`, which holds both, goes round once in between.
  int64_t SkippedAround(const Loop& loop, uint32_t from, uint32_t to) const;
  // Fills in what a loop's kernels are counted from; its bounds and region must be set.
  void CountLoop(Loop* loop);
  // True where the two tokens are of different branches of one conditional.
  bool Exclusive(uint32_t a, uint32_t b) const;

 private:
  struct Region {
    uint32_t parent = kTop;
    uint32_t choice = 0;
    uint32_t depth = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    std::vector<uint32_t> choices;  // In order.
    int64_t before = 0;             // Kernels of the parent in front of it, and up to its end.
    int64_t after = 0;
    int64_t leaving = 0;  // Kernels that run once more behind it: a loop's condition.
    int64_t total = 0;
  };
  struct Choice {
    bool exactly_one = false;
    std::vector<uint32_t> regions;
  };

  int64_t CountRegion(uint32_t region, const std::vector<bool>& required);
  int64_t AfterToken(uint32_t token) const { return before_[token] + (required_[token] ? 1 : 0); }
  // Kernels of `region` up to the end of what holds the token; `cost` grows by what is missing
  // inside. `around`: the region whose loop goes round.
  int64_t Leave(uint32_t token, uint32_t region, uint32_t around, int64_t* cost) const;
  int64_t Enter(uint32_t token, uint32_t region, int64_t* cost) const;
  // The innermost region that holds both; the regions right below it, kTop where a token is its
  // own.
  uint32_t Common(uint32_t a, uint32_t b, uint32_t* below_a, uint32_t* below_b) const;

  std::vector<Region> regions_;
  std::vector<Choice> choices_;
  std::vector<uint32_t> open_;  // Regions, while the program is walked.
  std::vector<uint32_t> open_choice_;
  // By token.
  std::vector<uint32_t> inner_;  // Innermost region.
  std::vector<int64_t> before_;  // Kernels in front of it in that region.
  std::vector<bool> required_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_PROGRAM_REGIONS_H_
