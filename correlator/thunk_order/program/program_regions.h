// SPDX-License-Identifier: Apache-2.0

// Tokens of a thunk program that run together or not at all. They are the branches of a
// conditional, which runs exactly one, and the body of a loop, which may not run. Because an
// entered region runs as a whole, this gives the number of kernels that must run between two
// tokens.
//
// Built during the walk over the program (Open, Close), then counted. Thread-safety: immutable
// after Count.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_PROGRAM_REGIONS_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_PROGRAM_REGIONS_H_

#include <cstdint>
#include <vector>

namespace xlatrace::correlator {

class ProgramRegions {
 public:
  static constexpr uint32_t kTopIndex = 0;  // The region that always runs.

  // A loop from the walk. Its condition, if it has launches, precedes its body.
  struct Loop {
    uint32_t region = kTopIndex;  // The innermost region that contains the loop.
    uint32_t body = kTopIndex;    // Region of the body; kTopIndex: the body always runs.
    uint32_t begin = 0;
    uint32_t end = 0;
    int64_t before = 0;  // Number of kernels of its region before it, and up to its end.
    int64_t after = 0;
  };

  ProgramRegions() { Clear(); }
  // Resets to one region that always runs.
  void Clear();

  // Regions between BeginChoice and EndChoice are alternatives: at most one runs, or exactly one.
  void BeginChoice(bool exactly_one);
  uint32_t Open(uint32_t next_token);  // Starts a region at the given token and returns the region.
  void Close(uint32_t next_token);
  void EndChoice();
  uint32_t current() const { return open_.back(); }

  // `required`: by token, true if it launches a kernel whenever its region runs.
  void Count(const std::vector<bool>& required);

  // Kernels of the top region and of the smallest branches.
  int64_t total() const { return regions_[kTopIndex].total; }
  // Missing kernels if `to` follows `from` in the same trip; -1: it cannot.
  int64_t Skipped(uint32_t from, uint32_t to) const;
  int64_t SkippedFromStart(uint32_t to) const;
  int64_t SkippedToEnd(uint32_t from) const;
  // Missing kernels if `to` follows `from` with one more trip of `loop`, which contains both.
  int64_t SkippedAround(const Loop& loop, uint32_t from, uint32_t to) const;
  // Sets the base counts of a loop, whose bounds and region must be set.
  void CountLoop(Loop* loop);
  // True if the two tokens are in different branches of one conditional.
  bool Exclusive(uint32_t a, uint32_t b) const;

 private:
  struct Region {
    uint32_t parent = kTopIndex;
    uint32_t choice = 0;
    uint32_t depth = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
    std::vector<uint32_t> choices;  // In order.
    int64_t before = 0;             // Number of kernels of the parent before it, and up to its end.
    int64_t after = 0;
    int64_t leaving = 0;  // Kernels that run once more after it: the condition of a loop.
    int64_t total = 0;
  };
  struct Choice {
    bool exactly_one = false;
    std::vector<uint32_t> regions;
  };

  int64_t CountRegion(uint32_t region, const std::vector<bool>& required);
  int64_t AfterToken(uint32_t token) const { return before_[token] + (required_[token] ? 1 : 0); }
  // Kernels of `region` up to the end of the part with the token; adds the missing kernels inside
  // to `cost`. `around`: the region whose loop repeats.
  int64_t Leave(uint32_t token, uint32_t region, uint32_t around, int64_t* cost) const;
  int64_t Enter(uint32_t token, uint32_t region, int64_t* cost) const;
  // The innermost region that contains both, and its direct child regions; kTopIndex if a token is
  // directly in it.
  uint32_t Common(uint32_t a, uint32_t b, uint32_t* below_a, uint32_t* below_b) const;

  std::vector<Region> regions_;
  std::vector<Choice> choices_;
  std::vector<uint32_t> open_;  // Open regions during the walk.
  std::vector<uint32_t> open_choice_;
  // By token.
  std::vector<uint32_t> inner_;  // Innermost region.
  std::vector<int64_t> before_;  // Number of kernels before the token in its region.
  std::vector<bool> required_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_PROGRAM_REGIONS_H_
