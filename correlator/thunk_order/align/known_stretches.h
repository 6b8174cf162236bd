// SPDX-License-Identifier: Apache-2.0

// Stretches of launches that thunk order has solved already: a sequence that comes again has the
// answer of the first time, which makes the cost linear.
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
  std::vector<uint32_t> labels;  // Per launch; 0: as before.
  int64_t occurrences = 0;
  uint32_t how = 0;       // It was solved; see Find.
  bool executes = false;  // One execution, all of it found by order.
};

class KnownStretches {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<KnownStretch>& all() { return stretches_; }
  KnownStretch& operator[](uint32_t stretch) { return stretches_[stretch]; }

  // The stretch of just these launches (and outcomes, where given) that was solved as this one
  // would be (`how`: the caller's number for it); kNone: not known.
  uint32_t Find(std::span<const uint32_t> cases, const std::vector<Outcome>* outcomes = nullptr,
                uint32_t how = 0) const;
  // The longest pattern that the launches begin with, where patterns follow each other from there
  // on for `ahead` launches in all: else a longer, new one might begin here. `cases` is not empty.
  // `followed`: how far that is known from the search before, for `cases` that go on where it
  // ended.
  uint32_t FindPrefix(std::span<const uint32_t> cases, size_t ahead, size_t* followed) const;

  uint32_t Remember(std::span<const uint32_t> cases, std::vector<Outcome> outcomes,
                    uint32_t how = 0);
  // A whole execution, by which others are found.
  void MakePattern(uint32_t stretch);

 private:
  uint32_t OnePrefix(std::span<const uint32_t> cases) const;

  std::vector<KnownStretch> stretches_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_hash_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_first_case_;  // Longest first.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_ALIGN_KNOWN_STRETCHES_H_
