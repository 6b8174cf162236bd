// SPDX-License-Identifier: Apache-2.0

// Idle time of the basis (steady steps, or the whole run), gap by gap, for rules to judge and
// claim.
//
// Thread-safety: pure functions of the context.

#ifndef XLATRACE_ANALYSIS_FINDINGS_IDLE_H_
#define XLATRACE_ANALYSIS_FINDINGS_IDLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/findings/context.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

inline constexpr int64_t kLaunchGapNs = 50'000;  // A host that only launches leaves no longer gap.
inline constexpr int64_t kLaunchCostNs = 1'500;  // From kernel to kernel of a full queue.
inline constexpr int64_t kCalledAgain = 10;      // Calls of one program that are no trial any more.

struct Gap {
  const model::GapRow* row = nullptr;
  int64_t ns = 0;            // What of it lies in the basis: no advice can win more than is there.
  const Op* next = nullptr;  // Of the activity behind it. Null: not known.
  bool within_execution = false;
  // In front of the first call of a program: tracing it, compiling it and making its data belong to
  // the start of a run, however often it is called.
  bool before_first_call = false;
};

std::vector<Gap> GapsOf(const Context& context);

// When the work began that the run is about: the first call of a program that is called three times
// or more, and takes a fifth of what the heaviest such program takes. Before it data is made and
// placed. INT64_MIN where there is none.
int64_t StartOfWork(const Context& context);

// Gaps that a finding claims (Finding::gaps).
using GapClaims = std::vector<std::pair<uint32_t, int64_t>>;
void Claim(const Context& context, const Gap& gap, GapClaims& claims);
// What the host did in the longest of them, where that is known: "save", "cudaStreamSynchronize".
std::string LongestOf(const Context& context, const GapClaims& claims);
// Of the host's calls on all devices those that found their device with nothing to do, in percent.
double CallsOnIdlePct(const Context& context);
// Says of idle time that what follows it had been launched, so that the host is not the cause.
void SayLaunched(const Context& context, int64_t ns, Finding& finding);
// ", on GPU 1": whose context.launch_queue is; empty where there is one device.
std::string WhoseQueue(const Context& context);
// How rules call the time of the gaps that they claim, in their evidence.
std::string IdleInGaps(const Context& context);
// Names the causes of the gaps that findings claim, in the words of views, page and terminal:
// IdleInGaps becomes "idle, the host had waited for the device, per step" where a finding claims
// all gaps of one cause and no others; else each cause of its gaps becomes an item. So a sum of
// idle time has one name, whichever rule speaks of it.
void NameCauses(const Context& context, Report& report);

// Why the device waits where there are no executions to tell (eager frameworks, whole runs):
// `sync_each_step`, `launch_bound`, `host_gap`, `input_bound`, `long_stall`, `idle`.
void JudgeLaunching(const Context& context, const std::vector<Gap>& gaps, Report& report);

// `pauses`: of gaps that few steps have and that are much longer than the others'.
void JudgePauses(const Context& context, Report& report);

// `hidden_products`. Gives the gaps that it speaks of.
GapClaims JudgeHiddenProducts(const Context& context, const std::vector<Gap>& gaps, Report& report);

// `eager_ops`. Gives whether it found any.
bool JudgeEagerOps(const Context& context, const std::vector<Gap>& gaps, Report& report);
// On a CPU: `host_gap`, `input_bound`. Gaps in front of small programs are left out where these
// have a finding of their own.
void JudgeBetweenPrograms(const Context& context, const std::vector<Gap>& gaps,
                          bool small_are_judged, Report& report);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_IDLE_H_
