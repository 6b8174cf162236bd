// SPDX-License-Identifier: Apache-2.0

// The recorded time of one device, divided over the nodes of the tree: every instant belongs to one
// node. Busy instants belong to the running ops (shared equally). Idle instants are stored as
// pieces; calls and ranges of the host divide them later (idle_time.h).
//
// Thread-safety: one thread.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_DEVICE_TIME_H_
#define XLATRACE_ANALYSIS_TIME_TREE_DEVICE_TIME_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/launch_queue.h"
#include "analysis/time_tree/node_table.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::time_tree {

inline constexpr int32_t kNoStepIndex = -1;

// An interval whose time is added below one node.
struct Region {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  NodeId base = 0;
  int32_t step = kNoStepIndex;  // Position of the step among those of the process.
  // Idle time is added below a node `idle` of the base; false: directly below the base.
  bool idle_below_node = true;
  int64_t weight = 1;  // Factor for its time.
};

// A part of the time of a node; a node may have several per step.
struct Entry {
  NodeId node = 0;
  int32_t step = kNoStepIndex;
  int64_t ns = 0;
};

constexpr uint32_t kNoActivityIndex = UINT32_MAX;

// An idle interval, or a part of one that lies in one region.
struct IdlePiece {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t gap_end_ns = 0;            // The end of the whole interval: the next work starts here.
  uint32_t next = kNoActivityIndex;  // The next work.
  uint32_t previous = kNoActivityIndex;  // The activity before it that ended last.
  uint32_t region = 0;
  int64_t weight = 1;
};

// An instant at which only a collective runs.
struct CollectivePiece {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t activity = 0;
  uint32_t region = 0;
  int64_t weight = 1;
};

class DeviceTime {
 public:
  // `regions`: by start, disjoint, covering the root of the device. All must outlive this.
  DeviceTime(const model::RunTables& run, const model::AttributionTables& attribution,
             const std::vector<ActivityClass>& classes, std::vector<Region> regions,
             NodeTable& nodes);

  // Segments of the device, in order; Finish after the last.
  void Add(const Segment& segment);
  void Finish();

  const std::vector<Region>& regions() const { return regions_; }
  // Adds a region without instants, to which pieces are moved. Returns its number, never 0.
  uint32_t AddRegion(const Region& region) {
    regions_.push_back(region);
    return static_cast<uint32_t>(regions_.size() - 1);
  }
  std::vector<Entry>& entries() { return entries_; }
  std::vector<IdlePiece>& idle() { return idle_; }
  std::vector<CollectivePiece>& collectives() { return collectives_; }

 private:
  struct Leaves {
    NodeId computation = 0;
    NodeId copy = 0;
    std::vector<NodeId> of_label;  // 0: not made yet.
    std::vector<NodeId> of_config;
    NodeId of_copy_kind[8] = {};  // By CopyKind.
    NodeId memset = 0;
    NodeId copy_op = 0;  // Copies by kernels and ops; direction unknown.
  };

  void AddBusy(size_t region, const Segment& segment);
  void AddIdle(int64_t start_ns, int64_t end_ns, uint32_t next);
  Leaves& LeavesOf(NodeId base);
  NodeId CopyLeafOf(Leaves& leaves, uint32_t activity);
  NodeId LeafOf(Leaves& leaves, uint32_t activity);
  void Put(NodeId node, int32_t step, int64_t ns);
  void Flush();

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  const std::vector<ActivityClass>& classes_;
  std::vector<Region> regions_;
  NodeTable& nodes_;
  std::unordered_map<NodeId, Leaves> leaves_;
  size_t busy_region_ = 0;
  size_t idle_region_ = 0;
  int64_t last_end_ns_ = INT64_MIN;
  uint32_t last_activity_ = kNoActivityIndex;
  std::vector<int64_t> sums_;  // By node, of the step that is under way.
  std::vector<NodeId> touched_;
  int32_t step_ = kNoStepIndex;
  std::vector<Entry> entries_;
  std::vector<IdlePiece> idle_;
  std::vector<CollectivePiece> collectives_;
};

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_DEVICE_TIME_H_
