// SPDX-License-Identifier: Apache-2.0

// A module as one graph of operations, without the borders of fusions, calls and loops.
//
// Compilers, and releases of one compiler, group the same operations into different fusions. In
// this graph, an operation inside a fusion is a node like one outside. Parameters of fused, called
// and loop computations are replaced by the passed values. Tuples and their elements are removed.
// An operation that only moves a value (copy, reshape, transpose, bitcast) is a node without users,
// because its users refer to the value itself. A copy that one compiler inserted therefore changes
// no neighbouring node.
//
// A collective over several arrays has a node for each, because compilers combine and split
// collectives.
//
// If an operation of a fusion is also computed elsewhere from the same values, both are one node.
// Compilers repeat cheap operations in every fusion that needs them. Results of launched
// instructions are never merged.
//
// Computations that an operation applies to elements (reducers, comparators) belong to the
// operation and have no nodes.
//
// Thread-safety: immutable after construction. The module must outlive the graph. Linear in the
// size of the module. A computation with several callers is expanded for each, up to a limit;
// beyond it, values represent themselves.

#ifndef XLATRACE_COMPARE_FLAT_GRAPH_H_
#define XLATRACE_COMPARE_FLAT_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compare/op_identity.h"
#include "model/hlo_module.h"

namespace xlatrace::compare {

struct FlatNode {
  uint32_t instruction = 0;
  // The launched instruction: the outermost fusion around the node, or the node itself. Loops and
  // calls are not units of their content. If several units compute the node, the unit that has it
  // as result, or else the first one.
  uint32_t unit = 0;
  uint32_t region = 0;    // The loop, branch or call around the unit; kNoIndex: the entry.
  uint32_t copies = 1;    // Number of units that compute it.
  model::Slice operands;  // FlatGraph::OperandsOf, by position.
  model::Slice users;     // FlatGraph::UsersOf.
  bool moves_only = false;
  bool commutative = false;
  bool is_source = false;  // Parameter or constant.
  uint32_t output = 0;     // 1 + position among the results of the program; 0: not a result.
  double weight = 0;       // Relative cost (hlo/cost/weights.h); always positive.
};

struct FlatEdge {
  uint32_t node = 0;
  uint32_t position = 0;
};

// A unit that computes a node.
struct FlatMember {
  uint32_t node = 0;
  uint32_t unit = 0;
  uint32_t region = 0;
  bool is_result = false;  // Other units use its value.
};

class FlatGraph {
 public:
  explicit FlatGraph(const model::HloModule& module);

  const model::HloModule& module() const { return *module_; }
  // Operands come before users.
  const std::vector<FlatNode>& nodes() const { return nodes_; }
  const OpIdentity& IdentityOf(uint32_t node) const { return identities_[node]; }
  std::span<const FlatEdge> OperandsOf(uint32_t node) const {
    return std::span(edges_).subspan(nodes_[node].operands.begin, nodes_[node].operands.size);
  }
  std::span<const FlatEdge> UsersOf(uint32_t node) const {
    return std::span(user_edges_).subspan(nodes_[node].users.begin, nodes_[node].users.size);
  }
  const std::vector<FlatMember>& members() const { return members_; }
  // Launched instructions, including loops and calls, in program order, without duplicates.
  const std::vector<uint32_t>& units() const { return units_; }

 private:
  friend class FlatGraphBuilder;
  const model::HloModule* module_;
  std::vector<OpIdentity> identities_;  // Per node.
  std::vector<FlatNode> nodes_;
  std::vector<FlatEdge> edges_, user_edges_;
  std::vector<FlatMember> members_;
  std::vector<uint32_t> units_;
};

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_FLAT_GRAPH_H_
