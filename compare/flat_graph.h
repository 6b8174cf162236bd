// SPDX-License-Identifier: Apache-2.0

// A module as one graph of operations: fusions, calls and loops are looked through.
//
// Two compilers, or two releases of one, draw the borders of fusions differently around the same
// operations. Here an operation inside a fusion is a node like one outside; parameters of fused,
// called and loop computations stand for the values that are passed in; tuples and their elements
// disappear. What only moves a value (copy, reshape, transpose, bitcast) is a node without users:
// its users read the value itself, so that a copy that one compiler inserted changes nothing
// around it.
//
// A collective over several arrays is a node for each: compilers combine and part them.
//
// What a fusion computes that is computed elsewhere too, from the same values, is the same node:
// compilers repeat cheap operations in every fusion that needs them. Results of launched
// instructions are never merged with each other.
//
// Computations that an operation applies to elements (reducers, comparators) belong to it and have
// no nodes.
//
// Thread-safety: immutable once made. The module must outlive the graph. Linear in the size of the
// module; a computation with several callers is laid out once for each, up to a limit, and behind
// that its values stand for themselves.

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
  uint32_t unit = 0;    // The instruction that is launched for it: the outermost fusion around it,
                        // or itself. Loops and calls are no units of what is inside them. Of
                        // several the one whose result it is, else the first.
  uint32_t region = 0;  // The loop, branch or call around the unit; kNoIndex: the entry.
  uint32_t copies = 1;  // Units that compute it.
  model::Slice operands;  // FlatGraph::OperandsOf, by position.
  model::Slice users;     // FlatGraph::UsersOf.
  bool moves_only = false;
  bool commutative = false;
  bool is_source = false;  // Parameter or constant.
  uint32_t output = 0;     // 1 + position among the results of the program; 0: is none.
  double weight = 0;       // Relative cost (hlo/cost/weights.h); at least a little.
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
  bool is_result = false;  // The unit gives its value to others.
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
  // Instructions that are launched, loops and calls included; in program order, each once.
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
