// Stretches of launches that thunk order has solved already: a sequence that comes again has the
// answer of the first time, which makes the cost linear.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_KNOWN_STRETCHES_H_
#define XLATRACE_CORRELATOR_KNOWN_STRETCHES_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "correlator/execution_solver.h"

namespace xlatrace::correlator {

struct KnownStretch {
  std::vector<uint32_t> cases;
  std::vector<Outcome> outcomes;
  std::vector<uint32_t> labels;  // Per launch; 0: as before.
  int64_t occurrences = 0;
  bool executes = false;  // One execution, all of it found by order.
};

class KnownStretches {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<KnownStretch>& all() { return stretches_; }
  KnownStretch& operator[](uint32_t stretch) { return stretches_[stretch]; }

  // The stretch of just these launches (and outcomes, where given); kNone: not known.
  uint32_t Find(std::span<const uint32_t> cases,
                const std::vector<Outcome>* outcomes = nullptr) const;
  // The longest pattern that the launches begin with, where what follows it is known to begin
  // something as well: else a longer, new one might begin here. `cases` is not empty.
  uint32_t FindPrefix(std::span<const uint32_t> cases) const;

  uint32_t Remember(std::span<const uint32_t> cases, std::vector<Outcome> outcomes);
  // A whole execution, by which others are found.
  void MakePattern(uint32_t stretch);

 private:
  std::vector<KnownStretch> stretches_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_hash_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_first_case_;  // Longest first.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_KNOWN_STRETCHES_H_
