// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/node_table.h"

namespace xlatrace::analysis::time_tree {

NodeId NodeTable::Child(NodeId parent, model::TreeKind kind, std::string_view name,
                        model::Id instruction_id) {
  key_.assign(reinterpret_cast<const char*>(&parent), sizeof(parent));
  key_ += static_cast<char>(kind);
  key_.append(reinterpret_cast<const char*>(&instruction_id), sizeof(instruction_id));
  if (instruction_id == 0) key_ += name;
  const auto [known, is_new] = known_.try_emplace(key_, static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back({parent, kind, std::string(name), instruction_id});
  return known->second;
}

}  // namespace xlatrace::analysis::time_tree
