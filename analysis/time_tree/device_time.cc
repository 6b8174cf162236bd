// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/device_time.h"

#include <algorithm>
#include <string>
#include <utility>

namespace xlatrace::analysis::time_tree {

using model::TreeKind;

DeviceTime::DeviceTime(const model::RunTables& run, const model::AttributionTables& attribution,
                       const std::vector<ActivityClass>& classes, std::vector<Region> regions,
                       NodeTable& nodes)
    : run_(run),
      attribution_(attribution),
      classes_(classes),
      regions_(std::move(regions)),
      nodes_(nodes) {
  if (!regions_.empty()) last_end_ns_ = regions_.front().start_ns;
}

void DeviceTime::Add(const Segment& segment) {
  if (segment.start_ns > last_end_ns_) {
    uint32_t next = kNoActivityIndex;
    for (const uint32_t owner : segment.owners) next = std::min(next, owner);
    AddIdle(last_end_ns_, segment.start_ns, next);
  }
  while (busy_region_ < regions_.size() && regions_[busy_region_].end_ns <= segment.start_ns) {
    ++busy_region_;
  }
  for (size_t r = busy_region_; r < regions_.size() && regions_[r].start_ns < segment.end_ns; ++r) {
    Segment within = segment;
    within.start_ns = std::max(segment.start_ns, regions_[r].start_ns);
    within.end_ns = std::min(segment.end_ns, regions_[r].end_ns);
    if (within.start_ns < within.end_ns) AddBusy(r, within);
  }
  uint32_t ended = kNoActivityIndex;
  for (const uint32_t owner : segment.owners) {
    if (run_.activities.end_ns(owner) <= segment.end_ns) ended = std::min(ended, owner);
  }
  if (ended != kNoActivityIndex) last_activity_ = ended;
  last_end_ns_ = std::max(last_end_ns_, segment.end_ns);
}

void DeviceTime::Finish() {
  if (!regions_.empty()) AddIdle(last_end_ns_, regions_.back().end_ns, kNoActivityIndex);
  Flush();
}

void DeviceTime::AddBusy(size_t region, const Segment& segment) {
  const Region& of = regions_[region];
  int64_t computing = 0;
  uint32_t collective = kNoActivityIndex;
  for (const uint32_t owner : segment.owners) {
    computing += classes_[owner] == ActivityClass::kCompute ? 1 : 0;
    if (classes_[owner] == ActivityClass::kCollective) collective = std::min(collective, owner);
  }
  const int64_t length = segment.end_ns - segment.start_ns;
  if (computing == 0 && collective != kNoActivityIndex) {
    collectives_.push_back(
        {segment.start_ns, segment.end_ns, collective, static_cast<uint32_t>(region)});
    return;
  }
  Leaves& leaves = LeavesOf(of.base);
  if (computing == 0) {
    Put(CopyLeafOf(leaves, segment.owners[0]), of.step, length * of.weight);
    return;
  }
  int64_t left = length;
  for (const uint32_t owner : segment.owners) {
    if (classes_[owner] != ActivityClass::kCompute) continue;
    const int64_t share = left / computing--;
    left -= share;
    Put(LeafOf(leaves, owner), of.step, share * of.weight);
  }
}

void DeviceTime::AddIdle(int64_t start_ns, int64_t end_ns, uint32_t next) {
  while (idle_region_ < regions_.size() && regions_[idle_region_].end_ns <= start_ns) {
    ++idle_region_;
  }
  for (size_t r = idle_region_; r < regions_.size() && regions_[r].start_ns < end_ns; ++r) {
    const int64_t from = std::max(start_ns, regions_[r].start_ns);
    const int64_t to = std::min(end_ns, regions_[r].end_ns);
    if (from >= to) continue;
    idle_.push_back({from, to, end_ns, next, last_activity_, static_cast<uint32_t>(r)});
  }
}

DeviceTime::Leaves& DeviceTime::LeavesOf(NodeId base) {
  const auto [known, is_new] = leaves_.try_emplace(base);
  Leaves& leaves = known->second;
  if (is_new) {
    leaves.computation = nodes_.Child(base, TreeKind::kComputation);
    leaves.copy = nodes_.Child(base, TreeKind::kExposedCopy);
    leaves.of_label.assign(attribution_.labels.size() + 1, 0);
    leaves.of_config.assign(run_.configs.size() + 1, 0);
  }
  return leaves;
}

// A copy that an instruction makes is an op below its kind.
NodeId DeviceTime::CopyLeafOf(Leaves& leaves, uint32_t activity) {
  const uint32_t label_id = attribution_.label_of[activity];
  const model::Id instruction_id = attribution_.labels[label_id - 1].instruction_id;
  if (instruction_id > 0 && leaves.of_label[label_id] != 0) return leaves.of_label[label_id];
  const model::LaunchConfig& config = run_.ConfigOf(activity);
  const bool fills = config.kind == model::ActivityKind::kMemset;
  const bool copies = config.kind == model::ActivityKind::kMemcpy;
  NodeId& of_kind = fills    ? leaves.memset
                    : copies ? leaves.of_copy_kind[static_cast<size_t>(config.copy_kind)]
                             : leaves.copy_op;
  if (of_kind == 0) {
    const std::string_view name = fills    ? "memset"
                                  : copies ? model::Text(config.copy_kind)
                                           : "copy";
    of_kind = nodes_.Child(leaves.copy, TreeKind::kExposedCopy, name);
  }
  if (instruction_id == 0) return of_kind;
  const auto& row = attribution_.instructions[static_cast<size_t>(instruction_id) - 1];
  const NodeId leaf = nodes_.Child(of_kind, TreeKind::kOp, row.name, instruction_id);
  leaves.of_label[label_id] = leaf;
  return leaf;
}

NodeId DeviceTime::LeafOf(Leaves& leaves, uint32_t activity) {
  const uint32_t label_id = attribution_.label_of[activity];
  const model::Label& label = attribution_.labels[label_id - 1];
  if (label.instruction_id > 0) {
    NodeId& leaf = leaves.of_label[label_id];
    if (leaf == 0) {
      const auto& row = attribution_.instructions[static_cast<size_t>(label.instruction_id) - 1];
      leaf = nodes_.Child(leaves.computation, TreeKind::kOp, row.name, label.instruction_id);
    }
    return leaf;
  }
  NodeId& leaf = leaves.of_config[run_.activities.config[activity]];
  if (leaf == 0) {
    const model::LaunchConfig& config = run_.ConfigOf(activity);
    leaf = nodes_.Child(leaves.computation, TreeKind::kOp,
                        config.name.empty() ? config.symbol : config.name);
  }
  return leaf;
}

void DeviceTime::Put(NodeId node, int32_t step, int64_t ns) {
  if (step != step_) {
    Flush();
    step_ = step;
  }
  if (node >= sums_.size()) sums_.resize(2 * static_cast<size_t>(node) + 64, 0);
  if (sums_[node] == 0) touched_.push_back(node);
  sums_[node] += ns;
}

void DeviceTime::Flush() {
  for (const NodeId node : touched_) {
    if (sums_[node] != 0) entries_.push_back({node, step_, sums_[node]});
    sums_[node] = 0;
  }
  touched_.clear();
}

}  // namespace xlatrace::analysis::time_tree
