// SPDX-License-Identifier: Apache-2.0

// Decides if the wall time per iteration differs between two sides, with one of three result words.
//
// An iteration is a step, or the time from the start of a call of the main program to the start of
// the next call. Two variations are estimated separately:
//
//   within a run   from the iterations of the run, and from the medians of consecutive blocks of
//                  them, because neighbouring iterations are not independent
//   between runs   a prior for the kind of machine (UsualVariation), which counts as
//                  kPriorRunCount runs, pooled with the spread of the runs of each side. A run
//                  whose level drifts predicts the level of the next run less, so its drift is
//                  added.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_TIME_CHANGE_H_
#define XLATRACE_COMPARE_TIME_CHANGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/run_rows.h"
#include "compare/statistics.h"

namespace xlatrace::compare {

enum class ResultWord : uint8_t { kUnknown, kNotDistinguishable, kVeryLikely, kEstablished };
std::string_view Text(ResultWord word);     // "very_likely", for JSON.
std::string_view InWords(ResultWord word);  // "very likely".

// The times of the iterations of one run, in order.
struct Iterations {
  std::vector<int64_t> ns;
  // Usual variation between runs of one program on this machine, relative (1 sigma).
  double usual_variation = 0;
};

struct TimeChange {
  ResultWord word = ResultWord::kUnknown;
  bool of_calls = false;       // Iterations are calls of the main program.
  double ratio = 1;            // NEW to BASE.
  Interval interval;           // 95 % interval of `ratio` - 1.
  double usual_variation = 0;  // The larger of both sides.
  size_t base_runs = 0, now_runs = 0;
  int64_t base_ns = 0, now_ns = 0;       // Typical time per iteration, as mean over runs.
  size_t base_count = 0, now_count = 0;  // Iterations of all runs of the side.

  bool different() const { return word >= ResultWord::kVeryLikely; }
  // The largest change that is compatible with equal times, relative.
  double within() const;
  // "slower by 12 to 15%".
  std::string Difference() const;
};

// With fewer iterations per run, the time per iteration is not known.
inline constexpr size_t kMinIterations = 4;

// The probability of kEstablished, and of kVeryLikely or more, for equal programs.
inline constexpr double kEstablishedLevel = 0.002;
inline constexpr double kVeryLikelyLevel = 0.05;

// The usual standard deviation between runs on a machine. For the busy part of an iteration it is
// that of a dedicated GPU, for the other part that of a shared CPU. On a CPU, the scatter of the
// iterations is added, because it comes from other load.
double UsualVariation(const Run& run);

// kUnknown if a run has fewer than kMinIterations.
TimeChange ChangeOfTime(const std::vector<Iterations>& base, const std::vector<Iterations>& now);

// Steps if all runs have steady steps, otherwise calls.
TimeChange ChangeOfTime(const std::vector<const Run*>& base, const std::vector<const Run*>& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_TIME_CHANGE_H_
