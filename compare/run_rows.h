// SPDX-License-Identifier: Apache-2.0

// One side of a comparison: the rows of a run.db, per step of one device.
//
// The caller fills it from a database (report/compare/load_run.h); this component uses no database.
// Times are integer nanoseconds with exact sums. The device time per step is rounded once and
// divided over the ops by largest remainders. The time of each op is divided over its shares in the
// same way. Every grouping of a side therefore has exactly the same total (`Run::device_ns`).
//
// If a run has no steady steps (`Run::steady` is false), all figures are totals of the whole run
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

inline constexpr size_t kRunPhaseCount = 7;      // Index: model::Phase.
inline constexpr size_t kRunStepPartCount = 10;  // Index: model::StepPart.

// Launches of one op, or of work without an op. If several ops share a launch (a graph without
// known kernels), each op has its part of the time. The call counts for the largest op.
struct KernelUse {
  std::string name;
  int64_t ns = 0;      // Total of the basis, not divided by steps.
  int64_t calls = 0;   // Total of the basis, not divided by steps.
  bool graph = false;  // A whole CUDA graph; its kernels are not known.
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

// An instruction with time, summed over all processes; or work without an instruction.
struct Op {
  std::string handle;        // "o17"; empty: no instruction.
  size_t module = SIZE_MAX;  // Index in Run::modules.
  std::string instruction;   // Empty: none, and `reason` is set.
  std::string reason;
  std::string opcode, op_kind, category, shape, op_name, layer, layer_group, source_file;
  std::optional<int64_t> source_line;
  model::Phase phase = model::Phase::kUnknown;
  int64_t ns = 0;
  int64_t calls = 0;                    // Runs in the basis, not divided by steps; 0: not known.
  std::optional<int64_t> flops, bytes;  // Per execution.
  // Mean time between the starts of consecutive launches of one configuration on a device. The
  // configuration is the one with the most time. 0: not known, or the basis is steady steps.
  int64_t recurs_ns = 0;
  std::vector<KernelUse> kernels;  // By time.
  std::vector<OpShare> shares;     // They sum to `ns`; empty: one share with the columns above.
};

struct Module {
  std::string handle, name, fingerprint, role, function;
  int64_t ns = 0;
  int64_t run_ns = 0;      // Whole run, all devices.
  int64_t executions = 0;  // Whole run, all devices.
  std::optional<int64_t> peak_memory_bytes;
  std::string inputs;  // Shapes of the entry parameters of the main program; empty: not known.
  std::shared_ptr<const model::HloModule> hlo;  // Null: not available, or not needed.
};

struct Gap {
  std::string cause;
  int64_t ns = 0;  // Per step; without steady steps of the whole run, all devices.
  int64_t count = 0;
};

struct Run {
  std::string path, title, command, framework, granularity, source;
  std::string content_id;                                // Equal for all imports of one recording.
  std::vector<std::pair<std::string, int64_t>> devices;  // Name, number.
  int64_t device_count = 0, processes = 0;
  bool cpu = false;
  bool fake = false;                                          // A device that computes nothing.
  std::vector<std::pair<std::string, std::string>> versions;  // "jaxlib_version", "0.8.0".
  bool flags_known = false;  // `xla_flags` has the flags, "" for none.
  std::string xla_flags;
  int64_t clock_hz = 0;  // The highest clock of the devices; 0: not known.
  int64_t lost = 0;
  bool partial = false;

  bool steady = false;         // The basis is steady steps.
  bool has_steps = false;      // The run has steps, with any basis.
  int64_t step_devices = 1;    // Divisor of `calls`.
  std::vector<int64_t> steps;  // Wall time of each steady step, in order.
  int64_t step_ns = 0;         // Mean of `steps`.
  // Mean of all steps from the first to the last steady one, and the number of unsteady ones among
  // them. Examples: a compilation, a pause, an evaluation. 0: not known.
  int64_t amid_ns = 0, unsteady_amid = 0;
  // Device time of each complete execution of the main program in the basis, in order. Empty if
  // other programs take more than a tenth of the device time.
  std::vector<int64_t> main_calls;
  // Wall time from start to start of consecutive calls of the main function in the whole run, on
  // the device with most calls.
  std::vector<int64_t> call_walls;
  int64_t device_ns = 0;  // Sum over ops.
  int64_t span_ns = 0;    // From a device's first activity to its last, in the whole run, as mean
                          // over devices; 0: not known.
  std::vector<Op> ops;    // By time.
  std::vector<Module> modules;
  bool has_parts = false;
  std::array<int64_t, kRunStepPartCount> parts{};  // They sum to step_ns.
  std::vector<Gap> gaps;

  // Facts without noise; nullopt: not known.
  std::optional<double> launches, host_calls;  // Per step.
  std::optional<double> graph_share;           // Share of the launches that CUDA graphs made.
  // Host cost of a launch: the function that launches most kernels, and its median in ns.
  std::string launch_call;  // Empty: not known.
  int64_t launch_call_ns = 0;
  std::optional<int64_t> compilations, peak_memory_bytes;
  // Wall time of all compilations of the run; compilations of functions after their first one.
  std::optional<int64_t> compile_ns, recompilations;
  std::optional<double> bytes, flops;        // Per step, from the cost model.
  std::optional<int64_t> fusions, main_ops;  // In the main program, executed at least once.
  // Per call of the main program, over the whole run.
  std::optional<double> call_launches, call_bytes, call_flops;
  std::optional<double> exposed_collective_bytes;  // Per execution of the main program.
  std::optional<double> attributed;                // Share of device time with a label.

  double PerStep(int64_t basis) const {
    return static_cast<double>(basis) / static_cast<double>(step_devices);
  }
};

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_RUN_ROWS_H_
