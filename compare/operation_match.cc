// SPDX-License-Identifier: Apache-2.0
#include "compare/operation_match.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/op_name.h"
#include "compare/sequence_align.h"

namespace xlatrace::compare {
namespace {

using model::kNoIndex;

// Attributes that must agree, from all to almost none.
enum class Strictness : uint8_t { kName, kScope, kScopeWithoutShape, kShape };

uint64_t Local(const OpIdentity& op, Strictness strictness) {
  uint64_t hash = Mix(op.work, op.literal);
  switch (strictness) {
    case Strictness::kName:
      return Mix(Mix(hash, op.shape), op.name);
    case Strictness::kScope:
      return Mix(Mix(hash, op.shape), op.scope);
    case Strictness::kScopeWithoutShape:
      return Mix(hash, op.scope);
    case Strictness::kShape:
      return Mix(hash, op.shape);
  }
  return hash;
}

struct Side {
  explicit Side(const FlatGraph& flat) : graph(flat), partner(flat.nodes().size(), kNoIndex) {}

  const FlatGraph& graph;
  std::vector<uint32_t> partner;
  std::vector<uint64_t> local, up, down;
  std::vector<uint32_t> anchor;  // Number of the pair + 1, equal on both sides; 0: none.

  size_t size() const { return partner.size(); }
  bool IsConstant(uint32_t i) const {
    return graph.module().instructions[Node(i).instruction].opcode == "constant";
  }
  const FlatNode& Node(uint32_t i) const { return graph.nodes()[i]; }

  uint64_t PositionOf(uint32_t node, uint32_t position) const {
    return Node(node).commutative ? 0 : position + 1;
  }

  void Describe(Strictness strictness) {
    local.resize(size());
    for (uint32_t i = 0; i < size(); ++i) {
      const OpIdentity& op = graph.IdentityOf(i);
      local[i] = Local(op, strictness);
      if (!Node(i).is_source || IsConstant(i)) continue;
      // The use identifies a parameter; its number and the path of the argument vary. A path with
      // keys (params['layer_0']['w']) is a name, and a path with numbers (states[0][3]) is a
      // position.
      local[i] = Mix(op.work, strictness == Strictness::kScopeWithoutShape ? 0 : op.shape);
      if (strictness == Strictness::kName && !KeysOf(i).empty()) local[i] = Mix(local[i], op.name);
    }
  }

  std::vector<std::string> KeysOf(uint32_t i) const {
    return analysis::ArgumentKeys(
        graph.module().instructions[Node(i).instruction].metadata.op_name);
  }

  // Hash of all dependencies of a node; a pair represents everything before it.
  void HashPast() {
    up.resize(size());
    for (uint32_t i = 0; i < size(); ++i) {
      if (anchor[i] != 0) {
        up[i] = Mix(1, anchor[i]);
        continue;
      }
      uint64_t sum = 0;
      for (const FlatEdge& edge : graph.OperandsOf(i)) {
        sum += Mix(up[edge.node], PositionOf(i, edge.position));
      }
      up[i] = Mix(local[i], sum);
    }
  }

  // Hash of everything that depends on a node; a pair represents everything after it.
  void HashFuture() {
    down.resize(size());
    for (uint32_t i = static_cast<uint32_t>(size()); i-- > 0;) {
      if (anchor[i] != 0) {
        down[i] = Mix(1, anchor[i]);
        continue;
      }
      uint64_t sum = Node(i).output != 0 ? 0x5bd1e995 + Node(i).output : 0;
      for (const FlatEdge& edge : graph.UsersOf(i)) {
        sum += Mix(down[edge.node], PositionOf(edge.node, edge.position));
      }
      down[i] = Mix(local[i], sum);
    }
  }

  uint64_t Seen(uint32_t node) const {
    return anchor[node] != 0 ? Mix(1, anchor[node]) : Mix(2, local[node]);
  }
  uint64_t Operands(uint32_t i) const {
    uint64_t sum = 0;
    for (const FlatEdge& edge : graph.OperandsOf(i)) {
      sum += Mix(Seen(edge.node), PositionOf(i, edge.position));
    }
    return sum;
  }
  uint64_t Users(uint32_t i) const {
    uint64_t sum = Node(i).output != 0 ? 1 : 0;
    for (const FlatEdge& edge : graph.UsersOf(i)) {
      sum += Mix(Seen(edge.node), PositionOf(edge.node, edge.position));
    }
    return sum;
  }
  uint64_t LocalUsers(uint32_t i) const {
    uint64_t sum = Node(i).output != 0 ? 1 : 0;
    for (const FlatEdge& edge : graph.UsersOf(i)) {
      sum += Mix(local[edge.node], PositionOf(edge.node, edge.position));
    }
    return sum;
  }
  bool IsArgument(uint32_t i) const {
    const model::Instruction& instruction = graph.module().instructions[Node(i).instruction];
    return instruction.opcode == "parameter" && instruction.computation == graph.module().entry;
  }
  // Nodes of the program's arguments, by number.
  std::vector<uint32_t> Arguments() const {
    std::map<int32_t, uint32_t> by_number;
    for (uint32_t i = 0; i < size(); ++i) {
      if (IsArgument(i)) {
        by_number.emplace(graph.module().instructions[Node(i).instruction].parameter_number, i);
      }
    }
    std::vector<uint32_t> nodes;
    for (const auto& [number, node] : by_number) nodes.push_back(node);
    return nodes;
  }
  // Nodes of the program's results, by position.
  std::vector<uint32_t> Results() const {
    std::map<uint32_t, uint32_t> by_position;
    for (uint32_t i = 0; i < size(); ++i) {
      if (Node(i).output != 0 && !Node(i).moves_only) by_position.emplace(Node(i).output, i);
    }
    std::vector<uint32_t> nodes;
    for (const auto& [position, node] : by_position) nodes.push_back(node);
    return nodes;
  }
  // True if a neighbour is paired. Without one, only the name is evidence.
  bool HasAnchor(uint32_t i) const {
    const auto paired = [&](const FlatEdge& edge) { return anchor[edge.node] != 0; };
    const auto operands = graph.OperandsOf(i);
    const auto users = graph.UsersOf(i);
    return std::any_of(operands.begin(), operands.end(), paired) ||
           std::any_of(users.begin(), users.end(), paired);
  }
};

class Matcher {
 public:
  Matcher(const FlatGraph& base, const FlatGraph& now) : sides_{Side(base), Side(now)} {
    for (Side& side : sides_) side.anchor.assign(side.size(), 0);
  }

  NodeMatch Run() {
    InPlace();
    for (const Strictness strictness : {Strictness::kName, Strictness::kScope}) {
      for (Side& side : sides_) {
        side.Describe(strictness);
        side.HashPast();
        side.HashFuture();
      }
      Spread();
      Pair([](const Side& side, uint32_t i) { return Mix(side.up[i], side.down[i]); }, true);
      Pair([](const Side& side, uint32_t i) { return Mix(side.up[i], side.LocalUsers(i)); }, false,
           true);
      Pair([](const Side& side, uint32_t i) { return side.up[i]; }, false, true);
      Spread();
      Pair([](const Side& side, uint32_t i) { return side.down[i]; }, false);
      Spread();
      Neighbours();
      Pair([](const Side& side, uint32_t i) { return Named(side, i); }, false);
      Spread();
      Neighbours();
    }
    for (const Strictness strictness : {Strictness::kScopeWithoutShape, Strictness::kShape}) {
      for (Side& side : sides_) side.Describe(strictness);
      Neighbours();
      if (strictness == Strictness::kScopeWithoutShape) {
        Pair([](const Side& side, uint32_t i) { return Named(side, i); }, false);
        Spread();
        Neighbours();
      }
    }
    for (Side& side : sides_) side.Describe(Strictness::kScope);
    ByScore();
    LibraryCalls();
    InOrder();
    for (Side& side : sides_) side.Describe(Strictness::kShape);
    Neighbours();
    return {std::move(sides_[0].partner), std::move(sides_[1].partner)};
  }

 private:
  // Pairs arguments by name, then arguments and results by order: a release of the framework moves
  // blocks of them, but keeps the order inside.
  void InPlace() {
    std::array<std::vector<uint32_t>, 2> arguments, results;
    for (size_t s = 0; s < 2; ++s) {
      arguments[s] = sides_[s].Arguments();
      results[s] = sides_[s].Results();
    }
    Pair(
        [](const Side& side, uint32_t i) {
          const OpIdentity& op = side.graph.IdentityOf(i);
          return op.name != 0 && side.IsArgument(i) && !side.KeysOf(i).empty()
                     ? Mix(op.shape, op.name)
                     : 0;
        },
        false);
    for (const auto* lists : {&arguments, &results}) {
      std::array<std::vector<uint64_t>, 2> shapes;
      for (size_t s = 0; s < 2; ++s) {
        for (const uint32_t i : (*lists)[s]) {
          shapes[s].push_back(sides_[s].graph.IdentityOf(i).shape);
        }
      }
      for (const auto& [b, n] : CertainPairs(shapes[0], shapes[1])) {
        const uint32_t ours = (*lists)[0][b];
        const uint32_t theirs = (*lists)[1][n];
        if (Free(0, ours) && Free(1, theirs) && !Contradicts(ours, theirs) &&
            sides_[0].graph.IdentityOf(ours).work == sides_[1].graph.IdentityOf(theirs).work) {
          Join(ours, theirs);
        }
      }
    }
  }

  // 0: an operation without a name cannot be paired by name.
  static uint64_t Named(const Side& side, uint32_t i) {
    return side.graph.IdentityOf(i).scope == 0 || side.Node(i).is_source ? 0 : side.local[i];
  }

  void Join(uint32_t b, uint32_t n) {
    sides_[0].partner[b] = n;
    sides_[1].partner[n] = b;
    sides_[0].anchor[b] = sides_[1].anchor[n] = ++pairs_;
    fresh_.emplace_back(b, n);
  }

  // True if both read different arguments at the same position.
  bool Contradicts(uint32_t b, uint32_t n) const {
    const auto ours = sides_[0].graph.OperandsOf(b);
    const auto theirs = sides_[1].graph.OperandsOf(n);
    const auto counts = [&](size_t side, uint32_t node) {
      return !Free(side, node) && sides_[side].Node(node).is_source &&
             !sides_[side].IsConstant(node);
    };
    if (sides_[0].Node(b).commutative) {
      const auto stranger = [&](size_t side, std::span<const FlatEdge> list,
                                std::span<const FlatEdge> others) {
        return std::any_of(list.begin(), list.end(), [&](const FlatEdge& edge) {
          return counts(side, edge.node) &&
                 std::none_of(others.begin(), others.end(), [&](const FlatEdge& other) {
                   return other.node == sides_[side].partner[edge.node];
                 });
        });
      };
      return stranger(0, ours, theirs) && stranger(1, theirs, ours);
    }
    if (ours.size() != theirs.size()) return false;
    for (size_t k = 0; k < ours.size(); ++k) {
      if (counts(0, ours[k].node) && counts(1, theirs[k].node) &&
          sides_[0].partner[ours[k].node] != theirs[k].node) {
        return true;
      }
    }
    return false;
  }

  bool Free(size_t side, uint32_t i) const { return sides_[side].partner[i] == kNoIndex; }

  // Pairs nodes with equal keys if each side has one, or, with `equal_counts`, equally many (in
  // program order). Keys of 0 are ignored. `from_the_end`: the tallest first, so that their
  // operands are paired before they are visited.
  template <typename Key>
  void Pair(const Key& key, bool equal_counts, bool from_the_end = false) {
    struct Candidates {
      std::array<std::vector<uint32_t>, 2> nodes;
    };
    std::unordered_map<uint64_t, Candidates> found;
    for (size_t s = 0; s < 2; ++s) {
      for (uint32_t i = 0; i < sides_[s].size(); ++i) {
        if (!Free(s, i)) continue;
        const uint64_t k = key(sides_[s], i);
        if (k != 0) found[k].nodes[s].push_back(i);
      }
    }
    std::vector<std::pair<uint32_t, uint32_t>> joined;
    for (const auto& [k, candidates] : found) {
      const auto& [b, n] = candidates.nodes;
      if (b.size() != n.size() || b.empty() || (b.size() > 1 && !equal_counts)) continue;
      for (size_t j = 0; j < b.size(); ++j) joined.emplace_back(b[j], n[j]);
    }
    std::sort(joined.begin(), joined.end());
    if (from_the_end) std::reverse(joined.begin(), joined.end());
    for (const auto& [b, n] : joined) {
      if (Free(0, b) && Free(1, n) && !Contradicts(b, n)) Join(b, n);
      if (from_the_end) Spread();
    }
  }

  // Extends new pairs to their operands and users if these are unambiguous.
  void Spread() {
    while (!fresh_.empty()) {
      const auto [b, n] = fresh_.back();
      fresh_.pop_back();
      const auto ours = sides_[0].graph.OperandsOf(b);
      const auto theirs = sides_[1].graph.OperandsOf(n);
      const bool in_place = ours.size() == theirs.size() && !sides_[0].Node(b).commutative;
      if (in_place) {
        for (size_t k = 0; k < ours.size(); ++k) {
          if (Free(0, ours[k].node) && Free(1, theirs[k].node) &&
              sides_[0].local[ours[k].node] == sides_[1].local[theirs[k].node] &&
              !Contradicts(ours[k].node, theirs[k].node)) {
            Join(ours[k].node, theirs[k].node);
          }
        }
      } else {
        Choose(ours, theirs);
      }
      Choose(sides_[0].graph.UsersOf(b), sides_[1].graph.UsersOf(n));
    }
  }

  // Pairs free nodes of two short lists that are equal and unambiguous.
  void Choose(std::span<const FlatEdge> ours, std::span<const FlatEdge> theirs) {
    constexpr size_t kMaxChoices = 64;  // Users of a value with very many users are no evidence.
    if (ours.size() > kMaxChoices || theirs.size() > kMaxChoices) return;
    const auto alone = [](const Side& side, std::span<const FlatEdge> list, const FlatEdge& edge) {
      return std::none_of(list.begin(), list.end(), [&](const FlatEdge& other) {
        return other.node != edge.node && side.partner[other.node] == kNoIndex &&
               side.local[other.node] == side.local[edge.node];
      });
    };
    for (const FlatEdge& our : ours) {
      if (!Free(0, our.node)) continue;
      for (const FlatEdge& their : theirs) {
        if (!Free(1, their.node) || sides_[0].local[our.node] != sides_[1].local[their.node]) {
          continue;
        }
        if (alone(sides_[0], ours, our) && alone(sides_[1], theirs, their) &&
            !Contradicts(our.node, their.node)) {
          Join(our.node, their.node);
        }
        break;
      }
    }
  }

  // Pairs by neighbours: paired ones count as themselves, others by their features.
  void Neighbours() {
    constexpr int kMaxRounds = 12;
    for (int round = 0; round < kMaxRounds; ++round) {
      const uint32_t before = pairs_;
      const auto both = [](const Side& side, uint32_t i) {
        return side.HasAnchor(i) ? Mix(Mix(side.local[i], side.Operands(i)), side.Users(i)) : 0;
      };
      const auto operands = [](const Side& side, uint32_t i) {
        return side.graph.OperandsOf(i).empty() || !side.HasAnchor(i)
                   ? 0
                   : Mix(side.local[i], side.Operands(i));
      };
      const auto users = [](const Side& side, uint32_t i) {
        return side.graph.UsersOf(i).empty() || !side.HasAnchor(i)
                   ? 0
                   : Mix(Mix(side.local[i], side.Users(i)), 3);
      };
      Pair(both, true);
      Spread();
      Pair(operands, false);
      Spread();
      Pair(users, false);
      Spread();
      if (pairs_ == before) return;
    }
  }

  // Pairs nodes with equal name, shape and work in program order, if both sides have equally many.
  void InOrder() {
    Pair([](const Side& side, uint32_t i) { return Named(side, i); }, true);
    Spread();
    Neighbours();
  }

  struct Candidate {
    double score;
    uint32_t b, n;
  };

  double Agreement(std::span<const FlatEdge> ours, std::span<const FlatEdge> theirs) const {
    if (ours.empty() || theirs.empty()) return 0;
    size_t common = 0;
    size_t looked_at = 0;
    constexpr size_t kMaxNeighbours = 32;
    for (const FlatEdge& our : ours) {
      if (++looked_at > kMaxNeighbours) break;
      const uint32_t partner = sides_[0].partner[our.node];
      if (partner == kNoIndex) continue;
      common += std::any_of(theirs.begin(), theirs.end(),
                            [&](const FlatEdge& their) { return their.node == partner; });
    }
    return 2.0 * static_cast<double>(common) / static_cast<double>(ours.size() + theirs.size());
  }

  double Score(uint32_t b, uint32_t n) const {
    const OpIdentity& ours = sides_[0].graph.IdentityOf(b);
    const OpIdentity& theirs = sides_[1].graph.IdentityOf(n);
    double score = 0;
    if (ours.name != 0 && ours.name == theirs.name) {
      score += 3;
    } else if (ours.scope != 0 && ours.scope == theirs.scope) {
      score += 2;
    } else if (ours.leaf != 0 && ours.leaf == theirs.leaf) {
      score += 0.5;
    }
    if (ours.shape == theirs.shape) {
      score += 1.5;
    } else if (ours.dims == theirs.dims) {
      score += 1;
    }
    if (ours.source != 0 && ours.source == theirs.source) score += 1;
    if (ours.work == theirs.work) score += 1;
    score += 3 * Agreement(sides_[0].graph.OperandsOf(b), sides_[1].graph.OperandsOf(n));
    score += 2 * Agreement(sides_[0].graph.UsersOf(b), sides_[1].graph.UsersOf(n));
    // Among equals, prefers the same position in the program.
    const double here = static_cast<double>(b) / static_cast<double>(sides_[0].size());
    const double there = static_cast<double>(n) / static_cast<double>(sides_[1].size());
    return score - 0.2 * (here > there ? here - there : there - here);
  }

  void ByScore() {
    constexpr double kMinScore = 4;
    constexpr size_t kMaxPairs = 4096;  // Per block; larger blocks are weak evidence.
    using Key = uint64_t (*)(const OpIdentity&);
    const std::array<Key, 3> keys = {
        [](const OpIdentity& op) { return op.scope == 0 ? 0 : Mix(op.work, op.scope); },
        [](const OpIdentity& op) { return Mix(op.work, op.shape); },
        [](const OpIdentity& op) { return op.source == 0 ? 0 : Mix(op.work, op.source); }};
    for (const Key key : keys) {
      std::unordered_map<uint64_t, std::array<std::vector<uint32_t>, 2>> blocks;
      for (size_t s = 0; s < 2; ++s) {
        for (uint32_t i = 0; i < sides_[s].size(); ++i) {
          if (!Free(s, i) || sides_[s].Node(i).is_source) continue;
          const uint64_t k = key(sides_[s].graph.IdentityOf(i));
          if (k != 0) blocks[k][s].push_back(i);
        }
      }
      std::vector<Candidate> candidates;
      for (const auto& [k, block] : blocks) {
        if (block[0].size() * block[1].size() > kMaxPairs) continue;
        for (const uint32_t b : block[0]) {
          for (const uint32_t n : block[1]) {
            const double score = Contradicts(b, n) ? 0 : Score(b, n);
            if (score >= kMinScore) candidates.push_back({score, b, n});
          }
        }
      }
      const auto less = [](const Candidate& x, const Candidate& y) {
        if (x.score != y.score) return x.score < y.score;
        return std::pair(x.b, x.n) > std::pair(y.b, y.n);
      };
      std::make_heap(candidates.begin(), candidates.end(), less);
      while (!candidates.empty()) {
        std::pop_heap(candidates.begin(), candidates.end(), less);
        Candidate candidate = candidates.back();
        candidates.pop_back();
        if (!Free(0, candidate.b) || !Free(1, candidate.n) || Contradicts(candidate.b, candidate.n))
          continue;
        // Pairs that were made meanwhile change the score.
        const double score = Score(candidate.b, candidate.n);
        if (score > candidate.score + 1e-9 ||
            (!candidates.empty() && score < candidates.front().score - 1e-9)) {
          if (score < kMinScore) continue;
          if (score != candidate.score) {
            candidate.score = score;
            candidates.push_back(candidate);
            std::push_heap(candidates.begin(), candidates.end(), less);
            continue;
          }
        }
        Join(candidate.b, candidate.n);
        Spread();
      }
    }
  }

  bool IsLibraryCall(size_t side, uint32_t i) const {
    const FlatGraph& graph = sides_[side].graph;
    return graph.module().instructions[graph.nodes()[i].instruction].opcode == "custom-call";
  }

  // A library call has the name of the last of its ops. Without such a call on the other side, it
  // is paired with the op of that name and shape whose users are its own.
  void LibraryCalls() {
    for (size_t s = 0; s < 2; ++s) {
      std::unordered_map<uint64_t, std::vector<uint32_t>> ops;
      const auto key = [&](size_t side, uint32_t i) {
        const OpIdentity& op = sides_[side].graph.IdentityOf(i);
        return op.scope == 0 ? 0 : Mix(op.shape, op.scope);
      };
      for (uint32_t i = 0; i < sides_[1 - s].size(); ++i) {
        const FlatNode& node = sides_[1 - s].Node(i);
        if (!Free(1 - s, i) || node.is_source || node.moves_only || IsLibraryCall(1 - s, i))
          continue;
        if (const uint64_t k = key(1 - s, i); k != 0) ops[k].push_back(i);
      }
      for (uint32_t i = 0; i < sides_[s].size(); ++i) {
        if (!Free(s, i) || !IsLibraryCall(s, i)) continue;
        const auto found = ops.find(key(s, i));
        if (found == ops.end()) continue;
        double most = 0;
        uint32_t best = kNoIndex;
        for (const uint32_t other : found->second) {
          if (!Free(1 - s, other)) continue;
          const uint32_t b = s == 0 ? i : other;
          const uint32_t n = s == 0 ? other : i;
          const double users = Agreement(sides_[0].graph.UsersOf(b), sides_[1].graph.UsersOf(n));
          if (users > 0 && users >= most) {
            most = users;
            best = other;
          }
        }
        if (best == kNoIndex) continue;
        s == 0 ? Join(i, best) : Join(best, i);
      }
    }
    Spread();
    Neighbours();
  }

  std::array<Side, 2> sides_;
  std::vector<std::pair<uint32_t, uint32_t>> fresh_;
  uint32_t pairs_ = 0;
};

}  // namespace

NodeMatch MatchNodes(const FlatGraph& base, const FlatGraph& now) {
  return Matcher(base, now).Run();
}

}  // namespace xlatrace::compare
