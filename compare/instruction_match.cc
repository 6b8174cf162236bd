// SPDX-License-Identifier: Apache-2.0
#include "compare/instruction_match.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "compare/flat_graph.h"
#include "compare/one_for_several.h"
#include "compare/operation_match.h"
#include "compare/regions.h"
#include "compare/replaced_regions.h"

namespace xlatrace::compare {
namespace {

using model::kNoIndex;

// Minimum share of an instruction's work in its partner.
constexpr double kMinWorkShare = 0.25;
// Weight of the results of an instruction, which identify it better than its intermediate values.
constexpr double kResultWeight = 0.6;

// Common work of each unit with each unit of the other side.
struct Overlap {
  std::unordered_map<uint32_t, double> weight;   // By unit.
  std::unordered_map<uint32_t, double> shared;   // Part of it that any other unit has.
  std::unordered_map<uint32_t, double> results;  // Number of values that other units use.
  using ByOther = std::map<uint32_t, double>;
  std::unordered_map<uint32_t, ByOther> in;          // Part of a unit's weight, by unit of the
                                                     // other side.
  std::unordered_map<uint32_t, ByOther> results_in;  // Part of its results, by other unit; values
                                                     // that the other unit only uses inside count
                                                     // half.
};

Overlap OverlapOf(const FlatGraph& ours, const FlatGraph& theirs,
                  const std::vector<uint32_t>& partner) {
  Overlap overlap;
  Regions our_regions(ours), their_regions(theirs);
  // The units that compute each node.
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
    // Operations that many fusions repeat are weak evidence for each.
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
      // Loops, branches and calls contain these nodes. They match regions of their kind, or a unit
      // that does their work without a region.
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

// Layers of the library calls of a side, by their group. `first`: index of the side's first
// instruction among those of both.
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
  constexpr int kMaxParts = 8;  // Maximum chain of units before a call.
  const size_t half = base.module().instructions.size();
  for (int round = 0; round < kMaxParts; ++round) {
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

double ValueOr0(const std::unordered_map<uint32_t, double>& values, uint32_t unit) {
  const auto found = values.find(unit);
  return found == values.end() ? 0.0 : found->second;
}

// Part of the values of a unit that another one has.
double PartIn(const std::unordered_map<uint32_t, Overlap::ByOther>& values,
              const std::unordered_map<uint32_t, double>& whole, uint32_t unit, uint32_t other) {
  const auto found = values.find(unit);
  if (found == values.end()) return 0.0;
  const auto value = found->second.find(other);
  return value == found->second.end() ? 0.0 : value->second / whole.at(unit);
}

// Pairs the instructions of two modules, the most certain first, and returns the resulting groups.
class ProgramMatcher {
 public:
  ProgramMatcher(const model::HloModule& base, const model::HloModule& now)
      : base_(base),
        now_(now),
        match_(MatchNodes(base_, now_)),
        ours_(OverlapOf(base_, now_, match_.to_new)),
        theirs_(OverlapOf(now_, base_, match_.to_base)),
        groups_(base.instructions.size(), now.instructions.size()),
        base_paired_(base.instructions.size()),
        now_paired_(now.instructions.size()) {}

  ProgramMatch Run() {
    PairByWork(base_, now_, ours_, theirs_, true);
    PairByWork(now_, base_, theirs_, ours_, false);
    PairWeightless();
    PairLoops();
    JoinFirstParts(base_, now_, base_paired_, now_paired_, groups_);
    PairReplaced();
    return Collect();
  }

 private:
  void Pair(uint32_t base, uint32_t now) {
    groups_.Join(base, now);
    base_paired_[base] = true;
    now_paired_[now] = true;
  }

  // Pairs each instruction of one side with the one on the other side that does most of its work.
  // `forward`: `from` is the base.
  void PairByWork(const FlatGraph& from, const FlatGraph& to, const Overlap& overlap,
                  const Overlap& back, bool forward) {
    for (const uint32_t unit : from.units()) {
      const auto in = overlap.in.find(unit);
      if (in == overlap.in.end()) continue;
      uint32_t best = kNoIndex;
      double most = 0;
      for (const auto& [other, weight] : in->second) {
        if (IsRegion(to, other) && !IsRegion(from, unit)) continue;
        const double work = PartIn(overlap.in, overlap.weight, unit, other);
        const double results = PartIn(overlap.results_in, overlap.results, unit, other);
        if (work < kMinWorkShare && results < 0.5) continue;
        const double score =
            work + kResultWeight * results + 0.2 * PartIn(back.in, back.weight, other, unit);
        if (score <= most) continue;
        most = score;
        best = other;
      }
      if (best == kNoIndex) continue;
      Pair(forward ? unit : best, forward ? best : unit);
    }
  }

  // Units that only move data around a bitcast compute nothing to match. Equal ones are paired in
  // program order.
  void PairWeightless() {
    std::map<std::pair<std::string_view, std::string_view>, std::vector<uint32_t>> alike;
    for (const uint32_t unit : base_.units()) {
      if (ours_.weight.contains(unit) || base_paired_[unit]) continue;
      const model::Instruction& instruction = base_.module().instructions[unit];
      alike[{instruction.opcode, instruction.shape}].push_back(unit);
    }
    for (auto& [key, units] : alike) std::reverse(units.begin(), units.end());
    for (const uint32_t unit : now_.units()) {
      if (theirs_.weight.contains(unit) || now_paired_[unit]) continue;
      const model::Instruction& instruction = now_.module().instructions[unit];
      const auto found = alike.find({instruction.opcode, instruction.shape});
      if (found == alike.end() || found->second.empty()) continue;
      Pair(found->second.back(), unit);
      found->second.pop_back();
    }
  }

  // Pairs loops with the op that another compiler uses instead.
  void PairLoops() {
    for (const LoopForOp& pair : LoopsForOps(base_, base_paired_, now_, now_paired_)) {
      for (const uint32_t unit : pair.loop) Pair(unit, pair.op);
    }
    for (const LoopForOp& pair : LoopsForOps(now_, now_paired_, base_, base_paired_)) {
      for (const uint32_t unit : pair.loop) Pair(pair.op, unit);
    }
  }

  // Pairs regions with only inputs and outputs in common, each as a whole.
  void PairReplaced() {
    std::vector<bool> base_launched(base_paired_.size()), now_launched(now_paired_.size());
    for (const uint32_t unit : base_.units()) base_launched[unit] = true;
    for (const uint32_t unit : now_.units()) now_launched[unit] = true;
    for (const ReplacedRegion& region :
         FindReplacedRegions(base_, now_, match_, [&](bool is_now, uint32_t unit) {
           return is_now ? now_launched[unit] && !now_paired_[unit]
                         : base_launched[unit] && !base_paired_[unit];
         })) {
      for (const uint32_t b : region.base) {
        for (const uint32_t n : region.now) Pair(b, n);
      }
    }
  }

  ProgramMatch Collect() {
    ProgramMatch result;
    std::unordered_map<size_t, UnitGroup> by_root;
    for (const uint32_t unit : base_.units()) {
      if (base_paired_[unit]) {
        by_root[groups_.Find(unit)].base.push_back(unit);
      } else {
        result.only_base.push_back(unit);
      }
    }
    for (const uint32_t unit : now_.units()) {
      if (now_paired_[unit]) {
        by_root[groups_.Find(base_paired_.size() + unit)].now.push_back(unit);
      } else {
        result.only_now.push_back(unit);
      }
    }
    for (auto& [root, group] : by_root) {
      Work work;
      for (const uint32_t unit : group.base) work.Add(ours_, unit);
      for (const uint32_t unit : group.now) work.Add(theirs_, unit);
      group.common = work.PartShared();
      result.groups.push_back(std::move(group));
    }
    std::sort(result.groups.begin(), result.groups.end(),
              [](const UnitGroup& a, const UnitGroup& b) { return a.base < b.base; });
    result.similarity = Similarity();
    return result;
  }

  // Share of the work, over both sides, that is also in the other one.
  double Similarity() const {
    Work work;
    for (const uint32_t unit : base_.units()) {
      if (!IsRegion(base_, unit)) work.Add(ours_, unit);
    }
    for (const uint32_t unit : now_.units()) {
      if (!IsRegion(now_, unit)) work.Add(theirs_, unit);
    }
    return work.PartShared();
  }

  struct Work {
    double all = 0;
    double shared = 0;
    void Add(const Overlap& overlap, uint32_t unit) {
      all += ValueOr0(overlap.weight, unit);
      shared += ValueOr0(overlap.shared, unit);
    }
    double PartShared() const { return all > 0 ? std::min(shared / all, 1.0) : 0; }
  };

  const FlatGraph base_, now_;
  const NodeMatch match_;
  const Overlap ours_, theirs_;  // Overlap of base_ with now_, and of now_ with base_.
  Groups groups_;
  std::vector<bool> base_paired_, now_paired_;
};

// Order of two modules by content, independent of the side.
bool Precedes(const model::HloModule& a, const model::HloModule& b) {
  const auto key = [](const model::HloModule& module) {
    return std::tuple(module.instructions.size(), module.content_hash,
                      std::string_view(module.name));
  };
  return key(a) < key(b);
}

}  // namespace

// The first module breaks ties. With a fixed order, ties have the same result for both directions.
ProgramMatch MatchPrograms(const model::HloModule& base, const model::HloModule& now) {
  if (!Precedes(now, base)) return ProgramMatcher(base, now).Run();
  ProgramMatch match = ProgramMatcher(now, base).Run();
  std::swap(match.only_base, match.only_now);
  for (UnitGroup& group : match.groups) std::swap(group.base, group.now);
  std::sort(match.groups.begin(), match.groups.end(),
            [](const UnitGroup& a, const UnitGroup& b) { return a.base < b.base; });
  return match;
}

}  // namespace xlatrace::compare
