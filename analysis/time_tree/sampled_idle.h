// SPDX-License-Identifier: Apache-2.0

// Divides idle time by the samples of the thread that launches (docs/schema.md, "Host samples").
//
// A sample represents the time until the next sample of its thread, within the state in which it
// was taken. A state that is shorter than the time between samples often has no sample. Such states
// are divided like the samples in equal states: same place in the tree, same call or range. The
// device may have been busy at the previous sample, which therefore counts only if there is no
// other sample.
//
// Garbage collections are `gc`. A thread that could run, but had no CPU, gives `contention`. So
// does a thread that waits for a CPU device whose own threads have no CPU (worker_delay.h). Other
// time has the kind of its stack (host_stacks.h). If the thread waits for the GIL, the stack of the
// thread with the GIL counts.
//
// Thread-safety: one thread.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_SAMPLED_IDLE_H_
#define XLATRACE_ANALYSIS_TIME_TREE_SAMPLED_IDLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/time_tree/device_time.h"
#include "analysis/time_tree/host_stacks.h"
#include "analysis/time_tree/host_states.h"
#include "analysis/time_tree/worker_delay.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::time_tree {

class SampledIdle {
 public:
  // The nodes that receive the time.
  struct Place {
    size_t device = 0;
    NodeId base = 0;
    int32_t step = kNoStepIndex;
    int64_t weight = 1;

    auto operator<=>(const Place&) const = default;
  };
  // `stack_id` 0: contention.
  using Put = std::function<void(const Place&, const HostState&, model::Id stack_id, int64_t ns)>;

  // `run` must outlive this.
  SampledIdle(const model::RunTables& run, WorkerDelay workers, Put put);

  // Divides a state of the thread; false: the thread has no samples.
  bool Add(const Place& place, model::Id process_id, int64_t thread_id, const HostState& state);
  // Divides the states without samples. Call it after all Adds.
  void Finish();

 private:
  using Thread = std::pair<model::Id, int64_t>;
  using Samples = std::span<const model::HostSample>;
  // Kind and names of a state.
  using StateKey = std::tuple<model::TreeKind, std::string_view, std::string_view>;

  struct Part {
    const model::HostSample* sample = nullptr;
    int64_t ns = 0;
  };
  // The part of a state in which a thread waits for a CPU.
  struct Contention {
    int64_t own_ns = 0;      // If this thread runs.
    int64_t workers_ns = 0;  // If this thread waits for a CPU device: delay of the threads that run
                             // the device's ops.
  };
  struct Deferred {
    int64_t ns = 0;
    Contention contention;
    const model::HostSample* before = nullptr;  // The last sample; null: none.
  };

  void AddOutsideCollections(const Place& place, Thread thread, Samples samples,
                             const HostState& state);
  void Emit(const Place& place, const HostState& state, const model::HostSample& sample, int64_t ns,
            const Contention& contention);
  void PutContention(const Place& place, const HostState& state, int64_t contended_ns,
                     int64_t& ns) const;
  const model::HostSample& Culprit(const model::HostSample& sample) const;
  Contention ContentionIn(Thread thread, int64_t start_ns, int64_t end_ns) const;
  int64_t Contended(Thread thread, int64_t start_ns, int64_t end_ns) const;

  const HostStacks stacks_;
  const WorkerDelay workers_;
  Put put_;
  std::map<Thread, Samples> samples_;
  std::map<Thread, std::vector<const model::ThreadUse*>> uses_;  // By start.
  std::map<model::Id, Intervals> collections_;                   // By process.
  // Samples by base and state.
  std::map<std::tuple<Thread, NodeId, StateKey>, std::map<std::pair<model::Id, int>, Part>> found_;
  std::map<std::tuple<Thread, StateKey, Place>, std::vector<Deferred>> deferred_;
};

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_SAMPLED_IDLE_H_
