// SPDX-License-Identifier: Apache-2.0

// A run in memory, the input of correlator and analysis. The store fills it from run.db in one
// pass; tests fill it by hand.
//
// Activities are columns: index i is activity_id i + 1, in the order in which they were recorded
// (not sorted by time). The other tables are row vectors where index k is id k + 1. Ids in columns
// are the ids themselves (1-based, 0 = none), narrowed to 32 bits.
//
// Size: 52 bytes per activity, 60 if a run has CUDA graphs. Thread-safety: plain data.

#ifndef XLATRACE_MODEL_RUN_TABLES_H_
#define XLATRACE_MODEL_RUN_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/events.h"
#include "model/host_sample.h"
#include "model/windows.h"

namespace xlatrace::model {

struct ActivityColumns {
  std::vector<uint32_t> lane;
  std::vector<uint32_t> config;
  std::vector<uint32_t> hint;
  std::vector<uint32_t> run_key;  // Dense number of the importer's run key; 0: not known.
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;
  std::vector<int64_t> self_ns;  // Always set (the sink resolves -1).
  std::vector<int64_t> bytes;    // -1: not applicable.

  // Empty, or one per activity. The order of correlation numbers is the launch order of one
  // process. The nodes of one graph launch share the number. Among them, the order of node ids is
  // the order of creation.
  std::vector<uint32_t> correlation = {};  // 0: not known.
  std::vector<int64_t> graph_node = {};    // 0: no graph, or not known. Graph-level row: graph <<
                                           // 32.

  // Empty, or one per activity. If times are not known, start_ns is at most a position in the
  // order, and the duration is 0.
  std::vector<Timing> timing = {};

  size_t size() const { return lane.size(); }
  Timing timing_of(size_t i) const { return i < timing.size() ? timing[i] : Timing::kKnown; }
  bool timed(size_t i) const { return timing_of(i) == Timing::kKnown; }
  uint32_t correlation_of(size_t i) const { return i < correlation.size() ? correlation[i] : 0; }
  int64_t graph_node_of(size_t i) const { return i < graph_node.size() ? graph_node[i] : 0; }
  int64_t end_ns(size_t i) const { return start_ns[i] + duration_ns[i]; }
};

// A module of the run without its HLO, which a callback loads on demand.
struct ModuleInfo {
  Id process_id = 0;
  std::string name;
  std::optional<int64_t> program_id;
  ModuleSource source = ModuleSource::kProto;
  std::string file;
};

// Time of a compilation or of a part of it, if the source has it.
struct CompileSpan {
  Id process_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool tracing = false;  // The framework traced the function that is compiled afterwards
                         // (kTracing).
};

struct RunTables {
  std::optional<int64_t> start_unix_ns;
  Granularity granularity = Granularity::kKernel;
  std::vector<Process> processes;
  std::vector<Device> devices;
  std::vector<Lane> lanes;
  std::vector<LaunchConfig> configs;
  std::vector<Hint> hints;
  std::vector<ModuleInfo> modules;
  std::vector<StepMark> step_marks;
  std::vector<CompileSpan> compiles;
  std::vector<Window> windows;  // Composed: by process and start, and cut at losses.
  std::vector<Loss> losses;     // In any order.
  std::vector<ProcessEnding> endings;
  HostSampleTables host_samples;
  ActivityColumns activities;

  const Lane& LaneOf(size_t activity) const { return lanes[activities.lane[activity] - 1]; }
  const Device& DeviceOf(size_t activity) const {
    return devices[static_cast<size_t>(LaneOf(activity).device_id) - 1];
  }
  const LaunchConfig& ConfigOf(size_t activity) const {
    return configs[activities.config[activity] - 1];
  }
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_RUN_TABLES_H_
