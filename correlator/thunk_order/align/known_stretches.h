// SPDX-License-Identifier: Apache-2.0

// Solved stretches of launches. A repeated sequence gets the result of its first occurrence, so the
// cost is linear.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_KNOWN_STRETCHES_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_KNOWN_STRETCHES_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "correlator/thunk_order/align/launch_outcome.h"

namespace xlatrace::correlator {

struct KnownStretch {
  std::vector<uint32_t> cases;
  std::vector<Outcome> outcomes;
  std::vector<uint32_t> labels;  // Per launch; 0: unchanged.
  int64_t occurrences = 0;
  uint32_t how = 0;       // Mode of solving; see Find.
  bool executes = false;  // Exactly one complete execution, found by thunk order.
};

class KnownStretches {
 public:
  static constexpr uint32_t kNoIndex = UINT32_MAX;

  std::vector<KnownStretch>& all() { return stretches_; }
  KnownStretch& operator[](uint32_t stretch) { return stretches_[stretch]; }

  // The solved stretch with exactly these launches (and outcomes, if given) and the same mode `how`
  // (a number of the caller); kNoIndex: not known.
  uint32_t Find(std::span<const uint32_t> cases, const std::vector<Outcome>* outcomes = nullptr,
                uint32_t how = 0) const;
  // The longest pattern at the beginning of the launches. Patterns must follow each other from
  // there for `ahead` launches, because otherwise a longer new pattern may begin here. `cases` is
  // not empty. `followed`: length that the previous search confirmed, if `cases` continues at its
  // end.
  uint32_t FindPrefix(std::span<const uint32_t> cases, size_t ahead, size_t* followed) const;

  uint32_t Add(std::span<const uint32_t> cases, std::vector<Outcome> outcomes, uint32_t how = 0);
  // Marks a complete execution as a pattern for other sequences.
  void MakePattern(uint32_t stretch);

 private:
  uint32_t OnePrefix(std::span<const uint32_t> cases) const;

  std::vector<KnownStretch> stretches_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_hash_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_first_case_;  // Longest first.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_KNOWN_STRETCHES_H_
