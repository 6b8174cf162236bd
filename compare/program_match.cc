#include "compare/program_match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "compare/flat_graph.h"
#include "compare/node_match.h"
#include "compare/one_for_several.h"
#include "compare/regions.h"
#include "compare/replaced_regions.h"

namespace xlatrace::compare {
namespace {

using model::kNoIndex;

// An instruction goes with another only when at least this part of its work is in it.
constexpr double kLeastPart = 0.25;
// What an instruction gives to others says more of it than what it needs on the way.
constexpr double kResults = 0.6;

// What of its work each unit has in common with which unit of the other side.
struct Overlap {
  std::unordered_map<uint32_t, double> weight;   // Of a unit.
  std::unordered_map<uint32_t, double> shared;   // What of it any other unit has.
  std::unordered_map<uint32_t, double> results;  // How many values it gives to others.
  using ByOther = std::map<uint32_t, double>;
  std::unordered_map<uint32_t, ByOther> in;          // Of a unit's weight, by other unit.
  std::unordered_map<uint32_t, ByOther> results_in;  // Of its results; those that the other only
                                                     // needs inside count half.
};

Overlap OverlapOf(const FlatGraph& ours, const FlatGraph& theirs,
                  const std::vector<uint32_t>& partner) {
  Overlap overlap;
  Regions our_regions(ours), their_regions(theirs);
  // The units that compute a node.
  const auto units_of = [](const FlatGraph& graph) {
    std::vector<std::vector<FlatMember>> units(graph.nodes().size());
    for (const FlatMember& member : graph.members()) {
      std::vector<FlatMember>& list = units[member.node];
      const bool known = std::any_of(list.begin(), list.end(), [&](const FlatMember& other) {
        return other.unit == member.unit;
      });
      if (!known) list.push_back(member);
    }
    return units;
  };
  const auto our_units = units_of(ours);
  const auto their_units = units_of(theirs);
  for (uint32_t i = 0; i < ours.nodes().size(); ++i) {
    const FlatNode& node = ours.nodes()[i];
    static const std::vector<FlatMember> none;
    const std::vector<FlatMember>& others = partner[i] == kNoIndex ? none : their_units[partner[i]];
    // What many fusions repeat tells little of each.
    const auto copies = static_cast<double>(std::max(our_units[i].size(), others.size()));
    const double weight =
        (node.is_source ? node.weight * 1e-6 : node.weight) / std::max(copies, 1.0);
    for (const FlatMember& member : our_units[i]) {
      overlap.weight[member.unit] += weight;
      if (!others.empty()) overlap.shared[member.unit] += weight;
      if (member.is_result) ++overlap.results[member.unit];
      for (const FlatMember& other : others) {
        overlap.in[member.unit][other.unit] += weight;
        if (member.is_result)
          overlap.results_in[member.unit][other.unit] += other.is_result ? 1 : 0.5;
      }
      // Loops, branches and calls hold what is in them, and go with those of their kind, or with
      // what does their work without one.
      if (member.region == kNoIndex || IsRegion(ours, member.unit)) continue;
      const std::vector<uint32_t>& around = our_regions.From(member.region);
      for (const uint32_t region : around) overlap.weight[region] += weight;
      for (const FlatMember& other : others) {
        const std::vector<uint32_t>& theirs_around = their_regions.From(other.region);
        size_t from = 0;
        for (const uint32_t region : around) {
          const std::string_view kind = ours.module().instructions[region].opcode;
          size_t at = from;
          while (at < theirs_around.size() &&
                 theirs.module().instructions[theirs_around[at]].opcode != kind) {
            ++at;
          }
          overlap.in[region][at < theirs_around.size() ? theirs_around[at] : other.unit] += weight;
          if (at < theirs_around.size()) from = at + 1;
        }
      }
    }
  }
  return overlap;
}

class Groups {
 public:
  Groups(size_t base, size_t now) : parent_(base + now), base_(base) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(uint32_t base, uint32_t now) { JoinOwn(base, base_ + now); }
  void JoinOwn(size_t a, size_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<size_t> parent_;
  size_t base_;
};

// Layers of the library calls of a side, by the group that they are in. `first`: of the side's
// instructions among those of both.
std::unordered_map<size_t, uint64_t> CallLayers(const FlatGraph& graph,
                                                const std::vector<bool>& paired, size_t first,
                                                Groups& groups) {
  std::unordered_map<size_t, uint64_t> layers;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const FlatNode& node = graph.nodes()[i];
    if (!paired[node.unit]) continue;
    if (graph.module().instructions[node.instruction].opcode != "custom-call") continue;
    layers[groups.Find(first + node.unit)] = graph.IdentityOf(i).layer;
  }
  return layers;
}

void JoinFirstParts(const FlatGraph& base, const FlatGraph& now, std::vector<bool>& base_paired,
                    std::vector<bool>& now_paired, Groups& groups) {
  constexpr int kMostParts = 8;  // That lead up to a call, one behind the other.
  const size_t half = base.module().instructions.size();
  for (int round = 0; round < kMostParts; ++round) {
    const auto join = [&](const FlatGraph& graph, std::vector<bool>& paired, size_t first,
                          const std::unordered_map<size_t, uint64_t>& layers) {
      const auto group_of = [&](uint32_t unit) { return groups.Find(first + unit); };
      const auto layer_of = [&](size_t group) {
        const auto found = layers.find(group);
        return found == layers.end() ? 0 : found->second;
      };
      const auto parts = FirstParts(graph, paired, group_of, layer_of);
      for (const auto& [unit, reader] : parts) {
        groups.JoinOwn(first + unit, first + reader);
        paired[unit] = true;
      }
      return !parts.empty();
    };
    const bool any = join(base, base_paired, 0, CallLayers(now, now_paired, half, groups));
    if (!join(now, now_paired, half, CallLayers(base, base_paired, 0, groups)) && !any) return;
  }
}

ProgramMatch MatchInOrder(const model::HloModule& base, const model::HloModule& now) {
  const FlatGraph old_graph(base);
  const FlatGraph new_graph(now);
  const NodeMatch match = MatchNodes(old_graph, new_graph);
  const Overlap ours = OverlapOf(old_graph, new_graph, match.to_new);
  const Overlap theirs = OverlapOf(new_graph, old_graph, match.to_base);

  Groups groups(base.instructions.size(), now.instructions.size());
  std::vector<bool> old_paired(base.instructions.size()), new_paired(now.instructions.size());
  const auto part = [](const auto& values, const auto& whole, uint32_t unit, uint32_t other) {
    const auto found = values.find(unit);
    if (found == values.end()) return 0.0;
    const auto value = found->second.find(other);
    return value == found->second.end() ? 0.0 : value->second / whole.at(unit);
  };
  const auto link = [&](const FlatGraph& from, const FlatGraph& to, const Overlap& overlap,
                        const Overlap& back, bool forward) {
    for (const uint32_t unit : from.units()) {
      const auto in = overlap.in.find(unit);
      if (in == overlap.in.end()) continue;
      uint32_t best = kNoIndex;
      double most = 0;
      for (const auto& [other, weight] : in->second) {
        if (IsRegion(to, other) && !IsRegion(from, unit)) continue;
        const double work = part(overlap.in, overlap.weight, unit, other);
        const double results = part(overlap.results_in, overlap.results, unit, other);
        if (work < kLeastPart && results < 0.5) continue;
        const double score =
            work + kResults * results + 0.2 * part(back.in, back.weight, other, unit);
        if (score <= most) continue;
        most = score;
        best = other;
      }
      if (best == kNoIndex) continue;
      const uint32_t b = forward ? unit : best;
      const uint32_t n = forward ? best : unit;
      groups.Join(b, n);
      old_paired[b] = true;
      new_paired[n] = true;
    }
  };
  link(old_graph, new_graph, ours, theirs, true);
  link(new_graph, old_graph, theirs, ours, false);

  // What only moves bits around a bitcast computes nothing that could be matched: alike ones go
  // together in program order.
  std::map<std::pair<std::string_view, std::string_view>, std::vector<uint32_t>> empty;
  for (const uint32_t unit : old_graph.units()) {
    if (ours.weight.contains(unit) || old_paired[unit]) continue;
    empty[{base.instructions[unit].opcode, base.instructions[unit].shape}].push_back(unit);
  }
  for (auto& [key, units] : empty) std::reverse(units.begin(), units.end());
  for (const uint32_t unit : new_graph.units()) {
    if (theirs.weight.contains(unit) || new_paired[unit]) continue;
    const auto found = empty.find({now.instructions[unit].opcode, now.instructions[unit].shape});
    if (found == empty.end() || found->second.empty()) continue;
    groups.Join(found->second.back(), unit);
    old_paired[found->second.back()] = new_paired[unit] = true;
    found->second.pop_back();
  }

  const auto join = [&](uint32_t b, uint32_t n) {
    groups.Join(b, n);
    old_paired[b] = new_paired[n] = true;
  };
  for (const LoopForOp& pair : LoopsForOps(old_graph, old_paired, new_graph, new_paired)) {
    for (const uint32_t unit : pair.loop) join(unit, pair.op);
  }
  for (const LoopForOp& pair : LoopsForOps(new_graph, new_paired, old_graph, old_paired)) {
    for (const uint32_t unit : pair.loop) join(pair.op, unit);
  }
  JoinFirstParts(old_graph, new_graph, old_paired, new_paired, groups);

  std::vector<bool> old_launched(base.instructions.size()), new_launched(now.instructions.size());
  for (const uint32_t unit : old_graph.units()) old_launched[unit] = true;
  for (const uint32_t unit : new_graph.units()) new_launched[unit] = true;
  for (const ReplacedRegion& region :
       FindReplacedRegions(old_graph, new_graph, match, [&](bool is_now, uint32_t unit) {
         return is_now ? new_launched[unit] && !new_paired[unit]
                       : old_launched[unit] && !old_paired[unit];
       })) {
    for (const uint32_t b : region.base) {
      for (const uint32_t n : region.now) {
        groups.Join(b, n);
        old_paired[b] = new_paired[n] = true;
      }
    }
  }

  ProgramMatch result;
  std::unordered_map<size_t, UnitGroup> by_root;
  double all = 0;
  double shared = 0;
  const auto weigh = [](const Overlap& overlap, uint32_t unit) {
    const auto found = overlap.weight.find(unit);
    return found == overlap.weight.end() ? 0.0 : found->second;
  };
  const auto common = [](const Overlap& overlap, uint32_t unit) {
    const auto found = overlap.shared.find(unit);
    return found == overlap.shared.end() ? 0.0 : found->second;
  };
  for (const uint32_t unit : old_graph.units()) {
    if (!IsRegion(old_graph, unit)) {
      all += weigh(ours, unit);
      shared += common(ours, unit);
    }
    if (old_paired[unit]) {
      by_root[groups.Find(unit)].base.push_back(unit);
    } else {
      result.only_base.push_back(unit);
    }
  }
  for (const uint32_t unit : new_graph.units()) {
    if (!IsRegion(new_graph, unit)) {
      all += weigh(theirs, unit);
      shared += common(theirs, unit);
    }
    if (new_paired[unit]) {
      by_root[groups.Find(base.instructions.size() + unit)].now.push_back(unit);
    } else {
      result.only_now.push_back(unit);
    }
  }
  for (auto& [root, group] : by_root) {
    double sum = 0;
    double both = 0;
    for (const uint32_t unit : group.base) {
      sum += weigh(ours, unit);
      both += common(ours, unit);
    }
    for (const uint32_t unit : group.now) {
      sum += weigh(theirs, unit);
      both += common(theirs, unit);
    }
    group.common = sum > 0 ? std::min(both / sum, 1.0) : 0;
    result.groups.push_back(std::move(group));
  }
  std::sort(result.groups.begin(), result.groups.end(),
            [](const UnitGroup& a, const UnitGroup& b) { return a.base < b.base; });
  result.similarity = all > 0 ? std::min(shared / all, 1.0) : 0;
  return result;
}

// Which of two modules is looked at first: of their content, whatever side they stand on.
bool Precedes(const model::HloModule& a, const model::HloModule& b) {
  const auto key = [](const model::HloModule& module) {
    return std::tuple(module.instructions.size(), module.content_hash,
                      std::string_view(module.name));
  };
  return key(a) < key(b);
}

}  // namespace

// Ties are settled by what was looked at first; always looked at in one order, they are the same
// ties whichever side is called the base.
ProgramMatch MatchPrograms(const model::HloModule& base, const model::HloModule& now) {
  if (!Precedes(now, base)) return MatchInOrder(base, now);
  ProgramMatch match = MatchInOrder(now, base);
  std::swap(match.only_base, match.only_now);
  for (UnitGroup& group : match.groups) std::swap(group.base, group.now);
  std::sort(match.groups.begin(), match.groups.end(),
            [](const UnitGroup& a, const UnitGroup& b) { return a.base < b.base; });
  return match;
}

}  // namespace xlatrace::compare
