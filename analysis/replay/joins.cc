// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/joins.h"

#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/hash.h"

namespace xlatrace::analysis::replay {
namespace {

constexpr uint32_t kNoPieceIndex = UINT32_MAX;

// Time at which work was given to the device: by the call, then by the node of the graph.
using Given = std::pair<int64_t, int64_t>;
constexpr Given kUnknown = {INT64_MIN, 0};

class Finder {
 public:
  Finder(const Input& input, const Pieces& pieces, const std::function<bool(uint32_t)>& known)
      : input_(input), pieces_(pieces.pieces), known_(known) {
    call_start_.assign(pieces.calls + 1, INT64_MIN);
    for (const Piece& piece : pieces_) {
      if (piece.node.kind == NodeKind::kCall) call_start_[piece.call] = piece.node.start_ns;
    }
    lanes_of_.resize(input.run.devices.size());
    for (uint32_t lane = 0; lane < pieces.lanes.size(); ++lane) {
      device_of_lane_.push_back(static_cast<size_t>(pieces.lanes[lane].device_id) - 1);
      lanes_of_[device_of_lane_.back()].push_back(lane);
    }
  }

  std::vector<Join> Find() {
    for (const bool look_only : {true, false}) Pass(look_only);
    return std::move(joins_);
  }

 private:
  int64_t EndOf(uint32_t p) const { return pieces_[p].node.start_ns + pieces_[p].node.duration_ns; }
  uint32_t ExecutionOf(uint32_t p) const {
    return input_.attribution.execution_of[pieces_[p].node.what];
  }
  Given GivenAt(uint32_t p) const {
    if (pieces_[p].call == 0) return kUnknown;
    return {call_start_[pieces_[p].call],
            input_.run.activities.graph_node_of(pieces_[p].node.what)};
  }

  uint64_t KeyOf(uint32_t node, uint32_t from) const {
    uint64_t key = 0;
    for (const uint32_t p : {node, from}) {
      const uint32_t what = pieces_[p].node.what;
      for (const uint32_t value :
           {input_.attribution.label_of[what], input_.run.activities.config[what]}) {
        key = Mix(key, value);
      }
    }
    return key;
  }

  void Pass(bool look_only) {
    on_lane_.assign(device_of_lane_.size(), kNoPieceIndex);
    before_.assign(pieces_.size(), kNoPieceIndex);
    std::vector<uint32_t> execution_on(lanes_of_.size(), 0);
    for (uint32_t p = 0; p < pieces_.size(); ++p) {
      const Piece& piece = pieces_[p];
      if (piece.node.kind != NodeKind::kActivity) continue;
      const size_t device = device_of_lane_[piece.lane];
      if (piece.first_piece && lanes_of_[device].size() > 1) {
        const uint32_t execution = ExecutionOf(p);
        const bool begins = execution != 0 && execution != execution_on[device];
        if (begins) execution_on[device] = execution;
        Look(p, lanes_of_[device], begins, look_only);
      }
      before_[p] = on_lane_[piece.lane];
      const uint32_t before = on_lane_[piece.lane];
      if (before == kNoPieceIndex || EndOf(p) >= EndOf(before)) on_lane_[piece.lane] = p;
    }
  }

  void Look(uint32_t p, const std::vector<uint32_t>& lanes, bool begins, bool look_only) {
    const Given given = GivenAt(p);
    const bool known = given == kUnknown || known_(pieces_[p].node.what);
    for (const uint32_t lane : lanes) {
      if (lane == pieces_[p].lane || on_lane_[lane] == kNoPieceIndex) continue;
      uint32_t other = on_lane_[lane];
      if (begins && ExecutionOf(other) != 0 && ExecutionOf(other) != ExecutionOf(p)) {
        Take(p, other, look_only);
        continue;
      }
      if (known) continue;
      while (other != kNoPieceIndex && GivenAt(other) >= given) other = before_[other];
      if (other == kNoPieceIndex || ExecutionOf(other) != ExecutionOf(p)) continue;
      uint32_t& joined = joined_.try_emplace({pieces_[p].lane, lane}, kNoPieceIndex).first->second;
      if (!look_only && joined == other) continue;
      if (Take(p, other, look_only)) joined = other;
    }
  }

  bool Take(uint32_t p, uint32_t other, bool look_only) {
    const uint64_t key = KeyOf(p, other);
    const bool ended = EndOf(other) <= pieces_[p].node.start_ns;
    if (look_only) {
      if (!ended) contradicted_.insert(key);
      return false;
    }
    if (!ended || contradicted_.contains(key)) return false;
    joins_.push_back({p, other});
    return true;
  }

  struct LanesHash {
    size_t operator()(const std::pair<uint32_t, uint32_t>& lanes) const {
      return Mix(lanes.first, lanes.second);
    }
  };

  const Input& input_;
  const std::vector<Piece>& pieces_;
  const std::function<bool(uint32_t)>& known_;
  std::vector<int64_t> call_start_;
  std::vector<size_t> device_of_lane_;
  std::vector<std::vector<uint32_t>> lanes_of_;  // By device.
  std::vector<uint32_t> on_lane_, before_;
  std::unordered_map<std::pair<uint32_t, uint32_t>, uint32_t, LanesHash> joined_;
  std::unordered_set<uint64_t> contradicted_;
  std::vector<Join> joins_;
};

}  // namespace

std::vector<Join> FindJoins(const Input& input, const Pieces& pieces,
                            const std::function<bool(uint32_t activity)>& known) {
  return Finder(input, pieces, known).Find();
}

}  // namespace xlatrace::analysis::replay
