// SPDX-License-Identifier: Apache-2.0

// The nodes of time trees. Each node has a kind and a name below a parent. All devices of a run
// share one table, so that their trees can be added node by node.
//
// Thread-safety: one thread.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_NODE_TABLE_H_
#define XLATRACE_ANALYSIS_TIME_TREE_NODE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/events.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

using NodeId = uint32_t;

struct Node {
  NodeId parent = 0;  // The root is its own parent.
  model::TreeKind kind = model::TreeKind::kRoot;
  std::string name;              // Empty: none.
  model::Id instruction_id = 0;  // Set for an op that is attributed.
  std::string source_file;       // The user's line; empty: none.
  std::optional<int64_t> source_line;
};

class NodeTable {
 public:
  static constexpr NodeId kRoot = 0;

  NodeTable() { nodes_.emplace_back(); }

  // Returns the child of this kind and name; the first call creates it. Parents come before their
  // children.
  NodeId Child(NodeId parent, model::TreeKind kind, std::string_view name = {},
               model::Id instruction_id = 0);

  // The first place of a node stays.
  void SetPlace(NodeId node, const std::string& file, std::optional<int64_t> line) {
    if (!nodes_[node].source_file.empty()) return;
    nodes_[node].source_file = file;
    nodes_[node].source_line = line;
  }

  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
  std::unordered_map<std::string, NodeId> known_;
  std::string key_;  // Scratch.
};

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_NODE_TABLE_H_
