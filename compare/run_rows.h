// SPDX-License-Identifier: Apache-2.0

// One side of a comparison: what the views of a run.db say of a run, per step of one device.
//
// Whoever opens the run fills this (report/compare/load_run.h); nothing here knows a database.
// Times are whole nanoseconds that sum: the per-step device time is rounded once and then parted
// over the ops by largest remainders, each op's over its shares likewise, so that every grouping of
// either gives the same total (`Run::device_ns`) to the nanosecond, on each side by itself.
//
// Where a run has no steady steps (`Run::steady` is false) all figures are totals of the whole run
// over all devices.
//
// Thread-safety: plain data.

#ifndef XLATRACE_COMPARE_RUN_ROWS_H_
#define XLATRACE_COMPARE_RUN_ROWS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::compare {

inline constexpr size_t kPhases = 7;      // Index: model::Phase.
inline constexpr size_t kStepParts = 10;  // Index: model::StepPart.

// How one op, or work without an op, was launched. Of a launch that several ops share (a graph of
// which no kernels are known) each op has its part of the time, and the largest one the call.
struct KernelUse {
  std::string name;
  int64_t ns = 0;      // Of the basis, not divided by steps.
  int64_t calls = 0;   // Likewise.
  bool graph = false;  // A whole CUDA graph: which kernels ran is not known.
  std::array<int64_t, 3> grid{}, block{};
  int64_t registers = 0;
  int64_t shared_memory_bytes = 0;
  std::optional<double> occupancy_pct;
};

struct OpShare {
  std::string op_name, layer, layer_group, source_file;
  std::optional<int64_t> source_line;
  model::Phase phase = model::Phase::kUnknown;
  int64_t ns = 0;
};

// An instruction with time, the same of all processes together; or work that has none.
struct Op {
  std::string handle;        // "o17"; empty: no instruction.
  size_t module = SIZE_MAX;  // Into Run::modules.
  std::string instruction;   // Empty: none, then `reason` says why.
  std::string reason;
  std::string opcode, op_kind, category, shape, op_name, layer, layer_group, source_file;
  std::optional<int64_t> source_line;
  model::Phase phase = model::Phase::kUnknown;
  int64_t ns = 0;
  int64_t calls = 0;                    // Runs of the basis, not divided; 0: not known.
  std::optional<int64_t> flops, bytes;  // Of one execution.
  // From the beginning of a launch of it to that of the next one of the same configuration on its
  // device, the mean, of the configuration with most time. 0: not known, or the basis is steady
  // steps.
  int64_t recurs_ns = 0;
  std::vector<KernelUse> kernels;  // By time.
  std::vector<OpShare> shares;     // Sum to `ns`; empty: one share of its own columns.
};

struct Module {
  std::string handle, name, fingerprint, role, function;
  int64_t ns = 0;
  int64_t run_ns = 0;      // Of the whole run, over all devices.
  int64_t executions = 0;  // Likewise.
  std::optional<int64_t> peak_memory_bytes;
  std::string inputs;  // Shapes of the entry parameters, of the main program; empty: not known.
  std::shared_ptr<const model::HloModule> hlo;  // Null: not there, or not needed.
};

struct Gap {
  std::string cause;
  int64_t ns = 0;  // Per step; without steady steps of the whole run, all devices.
  int64_t count = 0;
};

struct Run {
  std::string path, title, command, framework, granularity, source;
  std::string content_id;  // Equal for the same recording, however often it was imported.
  std::vector<std::pair<std::string, int64_t>> devices;  // Name, how many.
  int64_t device_count = 0, processes = 0;
  bool cpu = false;
  bool fake = false;                                          // A device that computes nothing.
  std::vector<std::pair<std::string, std::string>> versions;  // "jaxlib_version", "0.8.0".
  bool flags_known = false;  // `xla_flags` is what was set, "" for none.
  std::string xla_flags;
  int64_t clock_hz = 0;  // The highest of the devices, as they say; 0: not known.
  int64_t lost = 0;
  bool partial = false;

  bool steady = false;         // The basis is steady steps.
  bool has_steps = false;      // There are some, whatever the basis.
  int64_t step_devices = 1;    // What `calls` are divided by.
  std::vector<int64_t> steps;  // Wall time of each steady step, in order.
  int64_t step_ns = 0;         // Their mean.
  // Mean of all steps from the first steady one to the last, and how many of them are not steady: a
  // compilation, a pause, an evaluation between them. 0: not known.
  int64_t amid_ns = 0, unsteady_amid = 0;
  // Device time of each complete execution of the main program, of the basis, in order; empty where
  // other programs take more than a tenth of the device time.
  std::vector<int64_t> main_calls;
  int64_t device_ns = 0;  // Sum of ops; see above.
  int64_t span_ns = 0;    // From a device's first activity to its last, whole run, the mean
                          // over devices; 0: not known.
  std::vector<Op> ops;    // By time.
  std::vector<Module> modules;
  bool has_parts = false;
  std::array<int64_t, kStepParts> parts{};  // Sum to step_ns.
  std::vector<Gap> gaps;

  // Facts without noise; unset: not known.
  std::optional<double> launches, host_calls;  // Per step.
  std::optional<double> graph_share;           // Part of the launches that CUDA graphs made.
  // What a launch takes the host: the function that launches most kernels, and its median, ns.
  std::string launch_call;  // Empty: not known.
  int64_t launch_call_ns = 0;
  std::optional<int64_t> compilations, peak_memory_bytes;
  std::optional<double> bytes, flops;        // Per step, by the cost model.
  std::optional<int64_t> fusions, main_ops;  // Of the main program, that ran at all.
  // Of a call of the main program, over the whole run.
  std::optional<double> call_launches, call_bytes, call_flops;
  std::optional<double> exposed_collective_bytes;  // Per execution of the main program.
  std::optional<double> attributed;                // Part of device time that has a label.

  double PerStep(int64_t basis) const {
    return static_cast<double>(basis) / static_cast<double>(step_devices);
  }
};

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_RUN_ROWS_H_
