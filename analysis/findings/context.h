// SPDX-License-Identifier: Apache-2.0

// What every rule sees: the run per steady step of one device, its ops with their HLO facts, what
// the device could do, and what the data cannot carry.
//
// Thread-safety: immutable once made; borrows the tables.

#ifndef XLATRACE_ANALYSIS_FINDINGS_CONTEXT_H_
#define XLATRACE_ANALYSIS_FINDINGS_CONTEXT_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/findings/hlo_facts.h"
#include "analysis/findings/report.h"
#include "analysis/findings/time_words.h"
#include "analysis/step_parts.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::findings {

// An instruction with time in steady steps.
struct Op {
  std::string handle;  // "o17"
  const model::OpTimeRow* time = nullptr;
  const model::InstructionRow* row = nullptr;
  const OpFacts* facts = nullptr;    // Never null.
  const HloFacts* module = nullptr;  // Null: its HLO was not read.
  int64_t ns = 0;                    // Per steady step of one device.
  double calls = 0;                  // The same.
  int64_t launches = 0;              // Activities of it in the basis, not per step.
  bool hidden = false;               // Its work runs where the profile does not look (roofline.h).

  // Per call, where the cost model knows; nothing else.
  std::optional<double> BytesPerSecond() const;
};

// What the device can do, per second; achievable, not the data sheet. Nothing: not known.
struct Limits {
  std::optional<double> bytes;
  std::optional<double> f32, tf32, half;  // Operations: CUDA cores, tensor cores f32, 16 bit.
  std::optional<double> half_peak;        // The data sheet's, in 16 bits.
};

class Context {
 public:
  Context(const model::RunTables& run, const model::AttributionTables& attribution,
          const model::AnalysisTables& analysis, const ModuleLoader& load_module,
          const AnalysisOptions& options);

  const model::RunTables& run;
  const model::AttributionTables& attribution;
  const model::AnalysisTables& analysis;
  const AnalysisOptions& options;

  // Where a run has no steady step, everything is of the whole run, all devices together: `step`
  // in names below then means that, and nothing is said with more than low confidence.
  bool whole_run = false;
  TimeWords words = kStepWords;  // In which a rule says so.
  int64_t steady_steps = 0;      // Typical ones: pairs of step and device.
  int64_t steady_count = 0;      // Distinct steady steps, whether typical or not.
  int64_t divisor = 1;           // Of all sums: these; 1 for a whole run.
  int64_t step_count = 0;        // Distinct typical steps of the device that has most.
  // The typical step. Of a whole run its busy time: what an idle host takes between
  // calls says nothing about how much an op costs.
  int64_t step_ns = 0;
  int64_t span_ns = 0;     // The same with the idle time of a whole run.
  int64_t device_ns = 0;   // Device time of one; of a whole run that of all.
  double attributed = 1;   // Share of steady device time.
  double graph_share = 0;  // Share of device time in graphs whose nodes are not known.
  bool on_gpu = false;
  bool tensorflow = false;  // It called the programs, or ran ops itself: advice is in its words.
  bool pytorch = false;     // Kernels are its own, none is XLA's: the same.
  bool on_cpu = false;      // The host is the device: nothing waits for launches or for the host.
  // Threads of a CPU run ops side by side: their times add up to more than a step has, and what a
  // step has of one of them nobody knows.
  bool side_by_side = false;
  // Ops of a step (of the run) so short that recording them is a large part of it; 0: it is not.
  double recorded_ops = 0;
  Limits limits;
  std::vector<Op> ops;  // By time.

  int64_t Part(model::StepPart part) const { return parts_[static_cast<size_t>(part)]; }
  double ShareOfStep(int64_t ns) const;
  double ShareOfSpan(int64_t ns) const;  // For idle time, `ns` per step.
  // For the time of ops: as ShareOfStep; of all device time where ops run side by side.
  double ShareOfWork(int64_t ns) const;
  std::string WorkShare(int64_t ns) const;  // "3.4% of the step", "3.1% of device time".
  int64_t PerStep(int64_t sum) const { return sum / divisor; }
  // "3 gaps" of a step (or of the run); "2 gaps over 10 steps" where a step has less than one.
  std::string Counted(int64_t count, std::string_view one, std::string_view many) const;
  // Advice in the words of the framework whose program this is: JAX's, where it is not known.
  std::string_view Advice(std::string_view jax, std::string_view in_tensorflow,
                          std::string_view in_pytorch = {}) const {
    return tensorflow ? in_tensorflow : pytorch && !in_pytorch.empty() ? in_pytorch : jax;
  }
  // Nothing when the activity has no instruction, or that has no time in steady steps.
  const Op* OpOf(size_t activity) const;
  // In a steady step; anywhere, where a run has none.
  bool InBasis(size_t activity) const {
    return whole_run || (activity < in_steady_step_.size() && in_steady_step_[activity]);
  }
  // The step that an activity of the basis belongs to; 0 throughout a whole run.
  int64_t StepOf(size_t activity) const {
    return whole_run ? 0 : int64_t{analysis.step_of[activity].value_or(0)};
  }

  // Bytes per second that memory can do: the device's limit, else the best this program reaches.
  std::optional<double> MemoryRate() const { return memory_rate_; }
  bool MemoryRateIsOwn() const { return !limits.bytes && memory_rate_.has_value(); }

  // How far the host was ahead of its devices: of the device with most launches. Null: not known.
  const model::LaunchQueueRow* launch_queue = nullptr;

  // Confidence that the data as a whole allows: one level lower for few steps, for ops that are
  // missing, for times that are mostly those of recording.
  Sure Allowed(Sure sure) const;

  // "model.py:88" (with its path) of the line of the user's program that an op comes from: the
  // line inside the fusion that matters, the first frame that is no library's.
  // Empty where every frame that is known is the framework's own.
  std::string SourceOf(const Op& op) const;
  // The same of a stack frame of the op's module; empty where every frame is a library's.
  std::string SourceAt(const Op& op, uint32_t frame) const;
  // The line that calls the function in which most of the ops' time is spent: where a block is
  // rematerialised or looped over. Falls back to the line with most time.
  std::string CallerOf(const std::vector<const Op*>& ops) const;
  // The line that calls the program's step function; empty where no frame tells.
  std::string StepCallSource() const;

 private:
  void SumSteps();
  void SumWholeRun();
  void FindSideBySide();
  void FindLimits();
  void ReadOps(const ModuleLoader& load_module);
  // `first_row`: of the module's instructions in `attribution`.
  void ReadMemory(const model::HloModule& hlo, const std::vector<uint32_t>& nodes, size_t first_row,
                  HloFacts& facts) const;
  void FindMemoryRate();

  std::array<int64_t, kStepPartCount> parts_{};
  std::vector<bool> in_steady_step_;  // Per activity: rules ask for it in passes over all of them.
  std::map<model::Id, HloFacts> modules_;
  std::vector<uint32_t> op_of_instruction_;  // Index + 1 into ops.
  std::optional<double> memory_rate_;
};

// Ops that share a line of source, or a folded layer where no line of the program is known, by
// time: the finding's place.
struct Site {
  std::string source;
  std::vector<const Op*> ops;
  int64_t ns = 0;
  const Op& largest() const { return *ops.front(); }
};
std::vector<Site> SitesOf(const Context& context, const std::vector<const Op*>& ops);
// All of them as one site, at PlaceOf; `ops` by time, as the context has them.
Site AllOf(const Context& context, std::vector<const Op*> ops);

// The line that says most about where these ops are: most of their time, least of what is not
// theirs (a helper through which every product goes names no place).
std::string PlaceOf(const Context& context, const std::vector<const Op*>& ops);

// The same instruction of the same program in several processes, each with a module of its own: an
// op's time is the mean over all devices, also those of other processes, so only their sum is what
// one execution of it takes. By time, longest first; `op` is the longest of them.
struct OneInstruction {
  const Op* op = nullptr;
  int64_t ns = 0;
};
std::vector<OneInstruction> InstructionsOf(const Context& context,
                                           const std::vector<const Op*>& ops);

// "sort.3 and 2 others take 12.1 ms". What is summed is what is named: the time of one of several
// would be another figure elsewhere.
std::string Takes(const Context& context, const Site& site);

// A finding about ops: place, claims, and the figures every such finding has.
Finding FindingAbout(const Context& context, std::string_view id, const Site& site);

// "GPU 1" as the page calls it, and whose where several processes have one: "GPU 0, rank 3".
std::string DeviceWords(const Context& context, model::Id device_id);
// "12.3 ms", "45 us".
std::string Time(int64_t ns);
// "3.4%"
std::string Percent(double share);
// "embeddings.py:84" of a path and line.
std::string ShortSource(std::string_view source);
// " (embeddings.py:84)"; nothing where the line is not known.
std::string InBrackets(std::string_view source);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_CONTEXT_H_
