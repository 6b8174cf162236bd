// SPDX-License-Identifier: Apache-2.0
#include "compare/one_for_several.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "compare/regions.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::compare {
namespace {

using model::kNoIndex;

std::string_view OpcodeOf(const FlatGraph& graph, uint32_t node) {
  return graph.module().instructions[graph.nodes()[node].instruction].opcode;
}

// Free units by their enclosing loop.
std::map<uint32_t, std::set<uint32_t>> FreeInside(const FlatGraph& graph,
                                                  const std::vector<bool>& paired) {
  std::map<uint32_t, std::set<uint32_t>> inside;
  Regions regions(graph);
  for (const FlatMember& member : graph.members()) {
    if (paired[member.unit] || IsRegion(graph, member.unit)) continue;
    for (const uint32_t region : regions.From(member.region)) inside[region].insert(member.unit);
  }
  return inside;
}

bool Reduces(const FlatGraph& graph, uint32_t node) {
  return hlo::InfoOf(hlo::BaseOpcode(OpcodeOf(graph, node))).work == hlo::OpWork::kReduction;
}

struct Part {
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> readers;  // Nodes of other units.
};

bool IsHalfReduction(const FlatGraph& graph, const Part& part, uint32_t reader) {
  const uint32_t second = part.readers.front();
  if (part.readers.size() != 1) return false;
  if (!Reduces(graph, second) || graph.nodes()[second].instruction != reader) return false;
  return std::all_of(part.nodes.begin(), part.nodes.end(), [&](uint32_t i) {
    return graph.IdentityOf(i).scope == 0 && (Reduces(graph, i) || graph.nodes()[i].moves_only);
  });
}

}  // namespace

std::vector<LoopForOp> LoopsForOps(const FlatGraph& loops, const std::vector<bool>& loops_paired,
                                   const FlatGraph& ops, const std::vector<bool>& ops_paired) {
  using Key = std::pair<uint64_t, uint64_t>;  // Name, shape.
  struct Candidates {
    std::set<uint32_t> loops, ops;
  };
  std::map<Key, Candidates> found;
  for (uint32_t i = 0; i < loops.nodes().size(); ++i) {
    const uint32_t loop = loops.nodes()[i].instruction;
    const OpIdentity& identity = loops.IdentityOf(i);
    if (OpcodeOf(loops, i) != "while" || loops_paired[loop] || identity.name == 0) continue;
    for (const hlo::ArrayShape& leaf : hlo::Leaves(loops.module().instructions[loop].shape)) {
      OpIdentity value;
      SetShape(leaf, value);
      found[{identity.name, value.shape}].loops.insert(loop);
    }
  }
  if (found.empty()) return {};
  for (const FlatMember& member : ops.members()) {
    if (!member.is_result || ops_paired[member.unit] || IsRegion(ops, member.unit)) continue;
    const OpIdentity& identity = ops.IdentityOf(member.node);
    const auto at = found.find({identity.name, identity.shape});
    if (at != found.end()) at->second.ops.insert(member.unit);
  }
  const std::map<uint32_t, std::set<uint32_t>> inside = FreeInside(loops, loops_paired);
  std::vector<LoopForOp> pairs;
  for (const auto& [key, candidates] : found) {
    if (candidates.loops.size() != 1 || candidates.ops.size() != 1) continue;
    LoopForOp& pair = pairs.emplace_back();
    pair.op = *candidates.ops.begin();
    pair.loop.push_back(*candidates.loops.begin());
    const auto at = inside.find(pair.loop[0]);
    if (at != inside.end()) {
      pair.loop.insert(pair.loop.end(), at->second.begin(), at->second.end());
    }
  }
  return pairs;
}

std::vector<std::pair<uint32_t, uint32_t>> FirstParts(
    const FlatGraph& graph, const std::vector<bool>& paired,
    const std::function<size_t(uint32_t unit)>& group_of,
    const std::function<uint64_t(size_t group)>& call_layer) {
  std::map<uint32_t, Part> free;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const FlatNode& node = graph.nodes()[i];
    if (node.is_source || paired[node.unit] || IsRegion(graph, node.unit)) continue;
    Part& part = free[node.unit];
    part.nodes.push_back(i);
    for (const FlatEdge& use : graph.UsersOf(i)) {
      if (graph.nodes()[use.node].unit != node.unit) part.readers.push_back(use.node);
    }
  }
  std::vector<std::pair<uint32_t, uint32_t>> parts;
  for (const auto& [unit, part] : free) {
    if (part.readers.empty()) continue;
    const uint32_t reader = graph.nodes()[part.readers.front()].unit;
    const size_t group = group_of(reader);
    const bool of_one_group =
        std::all_of(part.readers.begin(), part.readers.end(), [&](uint32_t node) {
          const uint32_t other = graph.nodes()[node].unit;
          return paired[other] && group_of(other) == group;
        });
    if (!of_one_group) continue;
    const uint64_t layer = call_layer(group);
    const bool of_call =
        layer != 0 && std::any_of(part.nodes.begin(), part.nodes.end(), [&](uint32_t node) {
          return graph.IdentityOf(node).layer == layer;
        });
    if (of_call || IsHalfReduction(graph, part, reader)) parts.emplace_back(unit, reader);
  }
  return parts;
}

}  // namespace xlatrace::compare
