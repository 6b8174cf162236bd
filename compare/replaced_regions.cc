// SPDX-License-Identifier: Apache-2.0
#include "compare/replaced_regions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace xlatrace::compare {
namespace {

using model::kNoIndex;

constexpr size_t kMaxUnits = 64;  // A larger region is another program.

struct Region {
  std::set<uint32_t> units;
  std::set<uint64_t> in, out;  // Paired neighbours, as node numbers of the base side.
};

// Regions of one side. `anchor`: the partner of a node on the base side; kNoIndex: none.
std::vector<Region> RegionsOf(const FlatGraph& graph,
                              const std::function<uint32_t(uint32_t)>& anchor,
                              const std::function<bool(uint32_t)>& is_free) {
  const auto& nodes = graph.nodes();
  std::map<uint32_t, std::vector<uint32_t>> nodes_of;  // Nodes of free units.
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (is_free(nodes[i].unit)) nodes_of[nodes[i].unit].push_back(i);
  }
  std::vector<Region> regions;
  std::set<uint32_t> done;
  for (const auto& [first, unused] : nodes_of) {
    if (!done.insert(first).second) continue;
    Region region;
    std::vector<uint32_t> open = {first};
    while (!open.empty()) {
      const uint32_t unit = open.back();
      open.pop_back();
      region.units.insert(unit);
      for (const uint32_t i : nodes_of[unit]) {
        const auto visit = [&](const FlatEdge& edge, std::set<uint64_t>& around) {
          const uint32_t other = nodes[edge.node].unit;
          if (is_free(other) && !nodes[edge.node].is_source) {
            if (done.insert(other).second) open.push_back(other);
          } else if (const uint32_t at = anchor(edge.node); at != kNoIndex) {
            around.insert(at);
          }
        };
        for (const FlatEdge& edge : graph.OperandsOf(i)) {
          if (nodes[edge.node].is_source && graph.IdentityOf(edge.node).literal != 0 &&
              graph.module().instructions[nodes[edge.node].instruction].opcode == "constant") {
            continue;  // Constants vary.
          }
          visit(edge, region.in);
        }
        for (const FlatEdge& edge : graph.UsersOf(i)) visit(edge, region.out);
        if (nodes[i].output != 0) region.out.insert((uint64_t{1} << 40) + nodes[i].output);
      }
    }
    regions.push_back(std::move(region));
  }
  return regions;
}

double Common(const std::set<uint64_t>& a, const std::set<uint64_t>& b) {
  if (a.empty() || b.empty()) return 0;
  size_t both = 0;
  for (const uint64_t x : a) both += b.contains(x);
  return 2.0 * static_cast<double>(both) / static_cast<double>(a.size() + b.size());
}

}  // namespace

std::vector<ReplacedRegion> FindReplacedRegions(
    const FlatGraph& base, const FlatGraph& now, const NodeMatch& match,
    const std::function<bool(bool is_now, uint32_t unit)>& is_free) {
  const std::vector<Region> ours = RegionsOf(
      base, [&](uint32_t i) { return match.to_new[i] == kNoIndex ? kNoIndex : i; },
      [&](uint32_t unit) { return is_free(false, unit); });
  const std::vector<Region> theirs = RegionsOf(
      now, [&](uint32_t i) { return match.to_base[i]; },
      [&](uint32_t unit) { return is_free(true, unit); });
  struct Candidate {
    double score;
    size_t b, n;
  };
  std::vector<Candidate> candidates;
  std::map<uint64_t, std::vector<size_t>> by_out;  // Only regions with a common reader can match.
  for (size_t n = 0; n < theirs.size(); ++n) {
    if (theirs[n].units.size() > kMaxUnits) continue;
    for (const uint64_t at : theirs[n].out) by_out[at].push_back(n);
  }
  for (size_t b = 0; b < ours.size(); ++b) {
    if (ours[b].units.size() > kMaxUnits) continue;
    std::set<size_t> others;
    for (const uint64_t at : ours[b].out) {
      const auto found = by_out.find(at);
      if (found != by_out.end()) others.insert(found->second.begin(), found->second.end());
    }
    for (const size_t n : others) {
      const double in = Common(ours[b].in, theirs[n].in);
      const double out = Common(ours[b].out, theirs[n].out);
      if (in >= 0.5 && out >= 0.5) candidates.push_back({in + out, b, n});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  std::set<size_t> taken_base, taken_now;
  std::vector<ReplacedRegion> result;
  for (const Candidate& candidate : candidates) {
    if (taken_base.contains(candidate.b) || taken_now.contains(candidate.n)) continue;
    taken_base.insert(candidate.b);
    taken_now.insert(candidate.n);
    ReplacedRegion& region = result.emplace_back();
    region.base.assign(ours[candidate.b].units.begin(), ours[candidate.b].units.end());
    region.now.assign(theirs[candidate.n].units.begin(), theirs[candidate.n].units.end());
  }
  return result;
}

}  // namespace xlatrace::compare
