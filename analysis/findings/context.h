// SPDX-License-Identifier: Apache-2.0

// Input of every rule: the run per steady step of one device, its ops with their HLO facts, and the
// limits of device and data.
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
  double calls = 0;                  // Calls per steady step of one device.
  int64_t launches = 0;              // Number of its activities in the basis, not per step.
  bool hidden = false;  // The profile does not show the threads that do its work (roofline.h).

  // Per call; empty if the cost model has no figure.
  std::optional<double> BytesPerSecond() const;
};

// Achievable rates of the device, per second, which are below those of the data sheet. Empty:
// unknown.
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

  // True if the run has no steady step. Then all figures are sums of the whole run over all
  // devices, also those whose names contain `step`. Findings have low confidence.
  bool whole_run = false;
  TimeWords words = kStepWords;  // Words for these times, for the texts of rules.
  int64_t steady_steps = 0;      // Number of typical steps: pairs of step and device.
  int64_t steady_count = 0;      // Distinct steady steps, whether typical or not.
  int64_t divisor = 1;           // Sums are divided by this; 1 for a whole run.
  // Number of distinct typical steps on the device with the largest number.
  int64_t step_count = 0;
  // The typical step. For a whole run its busy time, because the time of an idle host between
  // calls has no influence on the cost of an op.
  int64_t step_ns = 0;
  int64_t span_ns = 0;  // Like step_ns, but with the idle time if the basis is a whole run.
  // Device time of one device, or of all devices if the basis is a whole run.
  int64_t device_ns = 0;
  double attributed = 1;   // Share of steady device time.
  double graph_share = 0;  // Share of device time in graphs with unknown nodes.
  bool on_gpu = false;
  // TensorFlow ran ops or called the programs, so advice uses the terms of TensorFlow.
  bool tensorflow = false;
  bool pytorch = false;  // All kernels are from PyTorch and none is from XLA, so advice uses the
                         // terms of PyTorch.
  bool on_cpu = false;   // The host is the device: no waiting for launches or for the host.
  // Threads of a CPU run ops in parallel. Their times add up to more than the step, and the part of
  // the step that one op causes is unknown.
  bool side_by_side = false;
  // Number of ops per step (or in the run) whose time is mostly recording cost; 0: not significant.
  double recorded_ops = 0;
  Limits limits;
  std::vector<Op> ops;  // By time.

  int64_t Part(model::StepPart part) const { return parts_[static_cast<size_t>(part)]; }
  double ShareOfStep(int64_t ns) const;
  double ShareOfSpan(int64_t ns) const;  // `ns` per step, for idle time.
  // Share for the time of ops: as ShareOfStep, or of all device time if ops run in parallel.
  double ShareOfWork(int64_t ns) const;
  std::string WorkShare(int64_t ns) const;  // "3.4% of the step", "3.1% of device time".
  int64_t PerStep(int64_t sum) const { return sum / divisor; }
  // "3 gaps" per step (or in the run), or "2 gaps over 10 steps" if there is less than one per
  // step.
  std::string Counted(int64_t count, std::string_view one, std::string_view many) const;
  // Advice in the terms of the program's framework, or of JAX if the framework is unknown.
  std::string_view Advice(std::string_view jax, std::string_view in_tensorflow,
                          std::string_view in_pytorch = {}) const {
    return tensorflow ? in_tensorflow : pytorch && !in_pytorch.empty() ? in_pytorch : jax;
  }
  // Null if the activity has no instruction, or an instruction without time in steady steps.
  const Op* OpOf(size_t activity) const;
  // In a steady step; any activity if the run has no steady step.
  bool InBasis(size_t activity) const {
    return whole_run || (activity < in_steady_step_.size() && in_steady_step_[activity]);
  }
  // The step that an activity of the basis belongs to; 0 throughout a whole run.
  int64_t StepOf(size_t activity) const {
    return whole_run ? 0 : int64_t{analysis.step_of[activity].value_or(0)};
  }

  // Achievable memory bandwidth in bytes per second: the limit of the device, or else the best rate
  // of this program.
  std::optional<double> MemoryRate() const { return memory_rate_; }
  bool MemoryRateIsOwn() const { return !limits.bytes && memory_rate_.has_value(); }

  // How far the host was ahead of the device with most launches. Null: unknown.
  const model::LaunchQueueRow* launch_queue = nullptr;

  // Confidence that the data as a whole allows. One level lower for few steps, for missing ops, and
  // for times that are mostly recording cost.
  Sure Allowed(Sure sure) const;

  // "model.py:88" (with its path): the user's line that an op comes from. It is the line of the
  // deciding instruction inside the fusion, in the first frame outside of libraries.
  // Empty if all known frames belong to libraries.
  std::string SourceOf(const Op& op) const;
  // The line of a stack frame of the op's module; empty if every frame belongs to a library.
  std::string SourceAt(const Op& op, uint32_t frame) const;
  // The line that calls the function with most of the ops' time, for example the line that
  // rematerialises a block or loops over it. Falls back to the line with most time.
  std::string CallerOf(const std::vector<const Op*>& ops) const;
  // The line that calls the program's step function; empty if no frame has it.
  std::string StepCallSource() const;

 private:
  void SumSteps();
  void SumWholeRun();
  void FindSideBySide();
  void FindLimits();
  void ReadOps(const ModuleLoader& load_module);
  // `first_row`: the first row of the module's instructions in `attribution`.
  void ReadMemory(const model::HloModule& hlo, const std::vector<uint32_t>& nodes, size_t first_row,
                  HloFacts& facts) const;
  void FindMemoryRate();

  std::array<int64_t, kStepPartCount> parts_{};
  // One element per activity. Rules read it in passes over all activities.
  std::vector<bool> in_steady_step_;
  std::map<model::Id, HloFacts> modules_;
  std::vector<uint32_t> op_of_instruction_;  // Index + 1 into ops.
  std::optional<double> memory_rate_;
};

// Ops that share a line of source, or a folded layer if the line is unknown, by time: the place of
// a finding.
struct Site {
  std::string source;
  std::vector<const Op*> ops;
  int64_t ns = 0;
  const Op& largest() const { return *ops.front(); }
};
std::vector<Site> SitesOf(const Context& context, const std::vector<const Op*>& ops);
// All ops as one site, at PlaceOf. `ops` are in the order of the context, by descending time.
Site AllOf(const Context& context, std::vector<const Op*> ops);

// The line that identifies these ops best. It has most of their time and little time of other ops.
// A helper function that computes every product identifies no op.
std::string PlaceOf(const Context& context, const std::vector<const Op*>& ops);

// One instruction of a program in several processes, each of which has its own module. The time of
// an op is the mean over the devices of all processes. The time of one execution is therefore the
// sum over these ops. They are ordered by descending time; `op` is the longest.
struct OneInstruction {
  const Op* op = nullptr;
  int64_t ns = 0;
};
std::vector<OneInstruction> InstructionsOf(const Context& context,
                                           const std::vector<const Op*>& ops);
// "sort.3 and 2 others take 12.1 ms". The text names all summed ops, because the time of a single
// op is another figure in other outputs.
std::string Takes(const Context& context, const Site& site);

// A finding about ops, with its place, its claims, and the figures that all such findings have.
Finding FindingAbout(const Context& context, std::string_view id, const Site& site);

// "GPU 1" as on the page; with the rank if several processes have a device of this number: "GPU 0,
// rank 3".
std::string DeviceWords(const Context& context, model::Id device_id);
// "12.3 ms", "45 us".
std::string Time(int64_t ns);
// "3.4%"
std::string Percent(double share);
// "embeddings.py:84" of a path and line.
std::string ShortSource(std::string_view source);
// " (embeddings.py:84)"; empty if the line is unknown.
std::string InBrackets(std::string_view source);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_CONTEXT_H_
