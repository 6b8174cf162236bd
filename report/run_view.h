// SPDX-License-Identifier: Apache-2.0

// Everything that `summary` and the HTML page show of a run, in one struct.
//
// Input: an open run.db. Output: figures of the public views (docs/schema.md) as integers, in ns or
// counts. Text, JSON, CSV, Markdown and HTML therefore show the same numbers, and SQL can reproduce
// them.
//
// Basis of every figure: the steady steps if the run has any, else the whole run (`Basis::steady`).
// Figures of steps are sums over all steady steps of all devices, shown per step of one device
// (`PerStep`, mean over devices). Figures of the whole run are sums over all devices.
//
// Two kinds of time, never mixed (docs/schema.md). Device time is a sum over activities, so
// parallel streams add up. Wall time is time on a clock: steps, parts of a step, busy, idle.
//
// Thread-safety: plain data.

#ifndef XLATRACE_REPORT_RUN_VIEW_H_
#define XLATRACE_REPORT_RUN_VIEW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/words.h"
#include "report/answer/answer.h"
#include "report/job_figure.h"
#include "report/losses.h"
#include "store/run_db.h"

namespace xlatrace::report {

inline constexpr size_t kPhaseCount = 7;
inline constexpr size_t kStepPartCount = 10;
using PhaseTimes = std::array<int64_t, kPhaseCount>;  // Index: model::Phase.

struct Basis {
  bool steady = false;
  int64_t step_devices = 0;  // Steady steps counted once per device: the divisor.

  double PerStep(int64_t sum) const {
    return static_cast<double>(sum) / static_cast<double>(steady ? step_devices : 1);
  }
};

struct StepFigure {
  int64_t step = 0;
  int64_t wall_ns = 0;  // Mean over the devices that have this step.
  bool steady = false;
  // The part with the largest difference from the mean steady step, as a mean over devices; none:
  // the parts are unknown or equal.
  std::optional<model::StepPart> differs_in;
  int64_t differs_ns = 0;
};

struct StepsFigure {
  std::vector<StepFigure> all;  // By number.
  int64_t steady_count = 0;
  bool marked = false;                             // The framework's own numbers.
  int64_t typical_ns = 0, p25_ns = 0, p75_ns = 0;  // As in the time tree.
  int64_t min_ns = 0,
          max_ns = 0;   // Shortest and longest steady step, each as the mean over its devices.
  int64_t wall_ns = 0;  // Sum over the typical steps of all devices.
  int64_t busy_ns = 0;  // Union of the activities in the same steps.
};

// The whole run, from the first to the last activity of each device: sums over devices.
struct SpanFigure {
  int64_t wall_ns = 0;
  int64_t longest_ns = 0;  // The longest device.
};

struct DeviceFigure {
  std::string name;
  std::string kind;  // gpu, tpu, cpu
  int64_t count = 0;
  int64_t worked = 0;  // Number of devices with activity.
};

// How device time is labelled.
struct EvidenceFigure {
  std::string confidence;  // exact, inferred
  std::string evidence;
  int64_t ns = 0;
  int64_t activities = 0;
};

struct ReasonFigure {
  std::string reason;
  int64_t ns = 0;
  int64_t activities = 0;
};

struct Coverage {
  int64_t device_ns = 0;  // exact + inferred + none.
  int64_t exact_ns = 0, inferred_ns = 0, none_ns = 0;
  int64_t activities = 0;
  int64_t none_activities = 0;
  std::vector<EvidenceFigure> evidence;  // By time.
  std::vector<ReasonFigure> reasons;     // By time; sum to none_ns.
};

struct OpFigure {
  std::string handle;  // "o17"
  int64_t module_id = 0;
  std::string module;
  std::string fingerprint;  // The module's; equal in all processes of the program.
  std::optional<int64_t> program_id;
  std::string instruction;
  std::string op_kind, category;
  model::Phase phase = model::Phase::kUnknown;
  std::string layer, layer_group, op_name;  // Empty: unknown.
  std::string source_file;
  std::optional<int64_t> source_line;
  std::string library_file;  // The innermost line where it is not the user's.
  std::optional<int64_t> library_line;
  int64_t stack_id = 0;  // 0: none.
  int64_t ns = 0;        // Device time of the basis.
  int64_t calls = 0;     // Runs in the basis (CallsOfLaunches); 0: not known (only estimated).
  int64_t run_self_ns = 0;
  std::string confidence;
  std::string bound_by;
  double flop_per_call = 0;        // The type whose peak is the limit: "bf16".
  std::string compute_type;        // The type whose peak is the limit: "bf16".
  double compute_pct = 0;          // Share of that peak.
  double peak_flop_per_s = 0;      // The peak itself; 0: unknown.
  std::optional<double> peak_pct;  // Share of the roof that limits the op, in bytes or operations.
  std::optional<int64_t> wasted_ns;  // Whole run.
  // Time on the critical path of the replayed steps, and the growth that the remaining time of the
  // op allows.
  std::optional<double> critical_pct;
  std::optional<int64_t> slack_ns;
  bool estimated = false;
  bool mixed = false;
  // The op is a copy with its result in host memory, or the start of such a copy.
  bool to_host = false;
};

// One row of a breakdown; its phases sum to `ns`.
struct ScopeFigure {
  std::string name;  // Layer group, or source file.
  std::optional<int64_t> line;
  int64_t ns = 0;
  int64_t estimated_ns = 0;
  PhaseTimes phases{};
  // For source lines only.
  int64_t inclusive_ns = 0;  // Time of all ops that are called from the line.
  std::string function = {};
  // The library line with most of the time. If a line was divided, the library line below it.
  // Empty: none.
  std::string via_file = {};
  std::optional<int64_t> via_line = {};
};

// A node of the tree of the user's call stacks. File empty: no stack is known.
struct StackFigure {
  size_t depth = 0;
  std::string file, function;
  std::optional<int64_t> line;
  int64_t ns = 0;  // Time of the node and all nodes below it.
  int64_t self_ns = 0;
  std::string via_file;  // As in ScopeFigure, of self_ns.
  std::optional<int64_t> via_line;
};

struct NamedFigure {  // Kernels, op kinds.
  std::string name;
  int64_t ns = 0;
  int64_t calls = 0;
};

struct ModuleFigure {
  std::string handle, name, role, role_reason, source;
  int64_t module_id = 0;
  std::optional<int64_t> program_id, instruction_count;
  int64_t executions = 0;                       // Whole run.
  int64_t least_call_ns = 0, most_call_ns = 0;  // Shortest and longest of these executions.
  int64_t ns = 0;                               // Basis.
  int64_t run_ns = 0;                           // Whole run.
};

struct GapFigure {
  std::string cause;
  int64_t ns = 0;
  int64_t count = 0;
  int64_t longest_ns = 0;
  // Gaps without a known cause, because they are too short (analysis/time_tree/gap_part.h).
  int64_t short_ns = 0, short_count = 0;
  int64_t launched_ns = 0;  // Long gaps without known cause before a launch that was in time.
};

// How far the host was ahead of a device (view `launch_queue`).
struct LaunchQueueFigure {
  int64_t device_id = 0;
  bool steady = false;
  int64_t calls = 0, calls_on_idle = 0;
  int64_t call_p50_ns = 0;
  int64_t latency_p50_ns = 0, latency_p90_ns = 0;
  int64_t queued_p50_ns = 0, queued_p90_ns = 0;
  int64_t outstanding_p50 = 0, outstanding_p90 = 0, outstanding_max = 0;
};

struct StatFigure {
  std::string name;
  model::Severity severity = model::Severity::kInfo;
  std::string source;
  int64_t value = 0;
  std::string advice;
};

struct FindingFigure {
  std::string handle, id, title, sentence, headline, reason, basis, confidence, where_op,
      where_layer, where_source, action, how_to_check;
  std::optional<int64_t> saves_low_ns,
      saves_high_ns;  // Per step, or in the whole run if the run has no steps.
  bool of_run = false;
  // For a merged job without steps in this file: `saves_high_ns` of the whole run, per step of a
  // rank.
  std::optional<int64_t> saves_high_ns_per_job_step;
  std::vector<std::string> evidence;  // "per step: 4.10 ms".
  std::string evidence_sentence;      // evidence_sentence.h; empty: no sentence.
  bool replayed() const { return basis == "replay"; }
  // True: the saving is an upper bound, because it is a sum of times, or because the replay found
  // no lower bound.
  bool bound() const { return !replayed() || saves_low_ns.value_or(0) == 0; }
};

struct ReplayFigure {  // A step as replayed, and with all findings that could be replayed at once.
  int64_t step_ns = 0;
  std::optional<int64_t> all_findings_step_ns;
};

struct RuledOutFigure {
  std::string id, verdict, text;  // verdict: fine, withheld.
  std::string what, figure;       // Parts of `text` for a check without a problem.
};

struct RunView {
  std::string path;         // Path of run.db.
  std::string title;        // The script, or another title if no script is known.
  std::string command;      // Empty: unknown.
  std::string framework;    // "jax 0.8.0"; empty: unknown.
  std::string granularity;  // kernel, op, range
  std::string source;       // xplane, nsys_sqlite...
  std::string date;         // "2026-05-24 12:30 UTC"; empty: unknown.
  std::vector<std::pair<std::string, std::string>> info;  // run_info, by key.
  int64_t processes = 0;
  std::vector<DeviceFigure> devices;
  int64_t device_count = 0;
  JobFigure job;  // All ranks of a merged job, including ranks without launches in this file.

  Answer answer;  // The largest parts of the time.
  SpanFigure span;
  Basis basis;
  StepsFigure steps;
  std::array<int64_t, kStepPartCount> step_parts{};  // Wall; sum to steps.wall_ns.
  bool has_step_parts = false;
  Coverage coverage;      // Basis.
  Coverage run_coverage;  // Whole run.
  PhaseTimes phases{};    // Device time; sum to coverage.device_ns.
  int64_t phases_estimated_ns = 0;
  // Parts of the unknown phase that have an instruction, by kind.
  int64_t unphased_copies_ns = 0;
  int64_t unphased_collectives_ns = 0;
  PhaseTimes none_phases{};           // Part of `phases` without an instruction.
  std::vector<OpFigure> ops;          // By time; with coverage.none_ns sum to device time.
  std::vector<ScopeFigure> layers;    // By time; "": no layer known; only attributed time.
  std::vector<ScopeFigure> sources;   // Same by source line; "": no line known.
  std::vector<StackFigure> stacks;    // Same by the user's call stack.
  std::vector<NamedFigure> kinds;     // Same by op_kind.
  std::vector<NamedFigure> kernels;   // All device time by recorded name.
  std::vector<ModuleFigure> modules;  // By time of the whole run.
  std::vector<GapFigure> gaps;        // Basis.
  int64_t gap_count = 0;
  std::vector<LaunchQueueFigure> launch_queues;  // By device; none: host calls are not known.
  std::vector<StatFigure> stats;                 // Worst first.
  int64_t lost = 0;                              // Sum of all data_loss stats.
  LossFigure losses;                             // The lost records, and possible further losses.
  int64_t errors = 0;                            // Number of error stats.
  std::vector<FindingFigure> findings;
  ReplayFigure replay;
  std::vector<RuledOutFigure> ruled_out;
  std::vector<NamedFigure> slices;  // Made on demand (summary_slices.h).
  std::string filter;               // "backward of layer_*": only this is in the view.
  bool sorted_otherwise = false;    // `ops` are not by time.

  const ModuleFigure* MainModule() const;  // Null: none.
  // "4 x NVIDIA H100 80GB HBM3"; empty: none.
  std::string DeviceText() const;
  // For example "rank 0 of 128": a single rank of a job whose size the trace contains; otherwise
  // empty.
  std::string RankText() const;
  // Value of a key in run_info; empty: the key is absent.
  std::string Info(std::string_view key) const;
  // True for the fake GPU of the tests, which computes nothing: its figures are not those of a GPU.
  bool OnFakeGpu() const;
  // A process was still recording during the import, so the recording has grown since.
  bool IsPartial() const;
  double PerStep(int64_t sum) const { return basis.PerStep(sum); }
  // For example "run at least 20 steps": the condition for steady steps, in the words of the
  // analysis.
  std::string HowToGetSteps() const;
  // A merged job with known steps whose kept launches have no steps.
  bool StepsAreJobs() const { return !basis.steady && job.HasSteps(); }
};

// A percentile of the durations of steady steps (nearest rank); 0 without steady steps. It is
// printed if there are at least this many steps.
inline constexpr int64_t kStepsForPercentiles = 10;
int64_t StepPercentile(const StepsFigure& steps, int percent);

// Reads all figures; errors are those of the database.
Result<RunView> LoadRunView(store::RunDb& db);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_RUN_VIEW_H_
