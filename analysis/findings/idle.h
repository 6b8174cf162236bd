// SPDX-License-Identifier: Apache-2.0

// Idle time of the basis (steady steps, or the whole run), gap by gap. Rules classify and claim
// gaps.
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

inline constexpr int64_t kLaunchGapNs = 50'000;   // A longer gap has another cause than launching.
inline constexpr int64_t kLaunchCostNs = 1'500;   // Between kernels while the launch queue is full.
inline constexpr int64_t kMinRepeatedCalls = 10;  // A program with fewer calls may be a trial.

struct Gap {
  const model::GapRow* row = nullptr;
  int64_t ns = 0;            // Part of the gap in the basis: an upper limit of any saving.
  const Op* next = nullptr;  // Op of the next activity. Null: unknown.
  bool within_execution = false;
  // The gap precedes the first call of a program. Tracing, compilation and making its data belong
  // to the start of a run, for any number of later calls.
  bool before_first_call = false;
};

std::vector<Gap> GapsOf(const Context& context);

// Start of the run's main work: the first call of a program with at least three calls. Its time
// must be at least a fifth of that of the heaviest such program. Before this time, data is created
// and placed. INT64_MIN if there is no such program.
int64_t StartOfWork(const Context& context);

// Gaps that a finding claims (Finding::gaps).
using GapClaims = std::vector<std::pair<uint32_t, int64_t>>;
void Claim(const Context& context, const Gap& gap, GapClaims& claims);
// Host activity in the longest of the claimed gaps, if known: "save", "cudaStreamSynchronize".
std::string LongestOf(const Context& context, const GapClaims& claims);
// Such an activity for a title, for example " during save"; empty if none is recorded.
std::string DuringWords(std::string_view activity);
// Share of the host's launch calls, on all devices, that found their device idle, in percent.
double CallsOnIdlePct(const Context& context);
// Adds to the finding that the work after `ns` of idle time had already been launched.
void AddLaunched(const Context& context, int64_t ns, Finding& finding);
// For example ", on GPU 1": the device of context.launch_queue; empty if the run has one device.
std::string WhoseQueue(const Context& context);
// Text of the evidence item with the time of the claimed gaps.
std::string IdleInGaps(const Context& context);
// Adds the causes of the claimed gaps, in the words of views, page and terminal. If a finding
// claims all gaps of one cause and no others, its item IdleInGaps becomes "idle, the host had
// waited for the device, per step". Otherwise each cause of its gaps becomes an item. A sum of idle
// time therefore has the same name in all rules.
void NameCauses(const Context& context, Report& report);

// Why the device waits if no executions are recorded (eager frameworks, whole runs):
// `sync_each_step`, `launch_bound`, `host_gap`, `input_bound`, `long_stall`, `idle`.
void CheckLaunching(const Context& context, const std::vector<Gap>& gaps, Report& report);

// `pauses`: gaps of few steps that are much longer than the gaps of other steps.
void CheckPauses(const Context& context, Report& report);

// `hidden_products`. Returns the gaps that its finding claims.
GapClaims CheckHiddenProducts(const Context& context, const std::vector<Gap>& gaps, Report& report);

// `eager_ops`. Returns true if there is a finding.
bool CheckEagerOps(const Context& context, const std::vector<Gap>& gaps, Report& report);
// On a CPU: `host_gap`, `input_bound`. `small_are_checked`: leaves out gaps before small programs,
// because these have their own finding.
void CheckBetweenPrograms(const Context& context, const std::vector<Gap>& gaps,
                          bool small_are_checked, Report& report);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_IDLE_H_
