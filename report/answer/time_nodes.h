// SPDX-License-Identifier: Apache-2.0

// The time tree that all outputs show. It has the rows of the view `time_tree` (docs/schema.md) of
// the job. Without a job, it has those of the first process.
//
// Times are integer nanoseconds. Thread-safety: plain data; one thread per RunDb.

#ifndef XLATRACE_REPORT_ANSWER_TIME_NODES_H_
#define XLATRACE_REPORT_ANSWER_TIME_NODES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Texts belong to the TimeNodes.
struct TimeNode {
  int64_t node_id = 0;
  std::string_view kind, name, phase, layer_group, op_kind, source_file, handle;
  std::optional<int64_t> source_line, per_step_ns, p25_ns, p75_ns;
  int64_t ns = 0;
  std::vector<size_t> children;  // Positions; the largest first.
};

// Stores the texts of all nodes in few allocations, because a tree may have a million nodes.
class NodeTexts {
 public:
  std::string_view Add(std::string_view text);
  // Equal texts are stored once: for columns with few values.
  std::string_view AddOnce(std::string_view text);

 private:
  std::deque<std::string> chunks_;  // Never grow beyond the size that they reserved.
  std::unordered_set<std::string_view> known_;
};

struct TimeNodes {
  std::shared_ptr<NodeTexts> texts = std::make_shared<NodeTexts>();
  // The first node is the root; parents come before their children.
  // A deque, because a vector would copy a million nodes while it grows.
  std::deque<TimeNode> nodes;
  std::string of;  // For example "mean over 8 devices"; empty: the run has one device.
};

// "step" of "train.py(12): step" and of "$train.py:12 step".
std::string_view FunctionOf(const TimeNode& node);

// No nodes if run.db has no tree. An error if the tree is damaged.
Result<TimeNodes> LoadTimeNodes(store::RunDb& db);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_TIME_NODES_H_
