// SPDX-License-Identifier: Apache-2.0

// Writes small run.db files whose figures are known by construction: ops run in sequence, equal in
// every step, then the device is idle. The derived figures are summed up here in a simple way,
// independent of the code under test.

#ifndef XLATRACE_TESTS_REPORT_SAMPLE_RUN_H_
#define XLATRACE_TESTS_REPORT_SAMPLE_RUN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/derived.h"
#include "model/events.h"
#include "model/time_tree.h"

namespace xlatrace::report {

struct SampleOp {
  std::string instruction;  // Empty: an activity without an instruction (a runtime copy).
  model::OpKind kind = model::OpKind::kElementwiseFusion;
  model::Phase phase = model::Phase::kForward;
  std::string layer;  // "decoder/layer_3/mlp"; digits after '_' fold in the group.
  std::string op_name;
  std::string source_file;
  int64_t source_line = 0;  // 0: no line.
  int64_t ns = 0;           // One call.
  int64_t calls = 1;        // Per step.
  model::Confidence confidence = model::Confidence::kExact;
  // Part of it, in millionths, that belongs to `other_phase`, and `other_layer` where that is not
  // empty; 0: all is `phase`.
  int64_t other_ppm = 0;
  model::Phase other_phase = model::Phase::kUnknown;
  // The host call of each launch: how long before the launch it begins, and how long it takes.
  int64_t called_ahead_ns = 0;  // 0: no call is known.
  int64_t call_ns = 0;
  // For a collective: bytes of each call, and the time without parallel computation.
  int64_t exchanged_bytes = 0;  // 0: it is none.
  int64_t exposed_ns = 0;
  std::string other_layer;
  int64_t bytes = 0;             // That one run moves, without arithmetic; 0: not known.
  int64_t second_kernel_ns = 0;  // Every call is followed by another kernel; 0: by none.
  int64_t grids = 1;             // Calls take turns with so many launch configurations.
};

// A graph of which nothing was recorded but that it ran, once per step behind the ops.
struct SampleGraph {
  struct Part {
    size_t op = 0;  // Into the ops of the run, all of which have instructions.
    int64_t ppm = 0;
    int64_t ns = 0;  // The part of the graph's time.
  };
  std::vector<Part> parts;  // The first part is the largest.
  int64_t on_device = -1;   // Device of the graph; below 0: all.

  int64_t Ns() const;
};

struct SampleRun {
  std::vector<SampleOp> ops;
  std::vector<SampleGraph> graphs;
  int64_t devices = 1;
  int64_t steps = 5;    // The first and the last one are not steady.
  int64_t idle_ns = 0;  // After each step, on each device.
  bool module = true;   // False: no HLO module at all, nothing is attributed.
  std::string module_name = "jit_train_step";
  std::string hlo;          // Text of the module; empty: unreadable bytes.
  bool executions = false;  // Each step of each device is an execution of the module.
  std::string command = "python3 train.py --layers 8";
  std::string device_name = "NVIDIA H100 80GB HBM3";
  model::DeviceKind device_kind = model::DeviceKind::kGpu;
  std::vector<std::pair<std::string, std::string>> info = {{"source", "xplane"},
                                                           {"jaxlib_version", "0.8.0"}};
  std::vector<model::RunStat> stats;
  std::vector<model::FindingRow> findings;
  // Empty: the steps and their ops, written out.
  std::vector<model::TimeTreeRow> time_tree;
};

// Ten ops of a small transformer, 2 devices, 12 steps; a realistic page and summary.
SampleRun TransformerRun();

Status WriteSampleRun(const SampleRun& run, const std::string& path);

// "decoder/layer_3/mlp" -> "decoder/layer_*/mlp".
std::string Folded(const std::string& layer);

}  // namespace xlatrace::report

#endif  // XLATRACE_TESTS_REPORT_SAMPLE_RUN_H_
