// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/rendezvous.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::analysis::replay {
namespace {

// Module, instruction (or nothing and the kernel), step.
using Key = std::tuple<std::string_view, std::string_view, int64_t>;

Key KeyOf(const Input& input, uint32_t activity) {
  const int64_t step = input.step_of[activity].value_or(-1);
  const uint32_t label = input.attribution.label_of[activity];
  if (label != 0) {
    const auto id = static_cast<size_t>(input.attribution.labels[label - 1].instruction_id);
    if (id != 0) {
      const model::InstructionRow& row = input.attribution.instructions[id - 1];
      if (row.module_id == 0) return {"", row.name, step};  // The framework's op.
      return {input.run.modules[static_cast<size_t>(row.module_id) - 1].name, row.name, step};
    }
  }
  return {"", input.run.ConfigOf(activity).symbol, step};
}

}  // namespace

void MarkRendezvous(const Input& input, const Pieces& pieces, Graph& graph) {
  graph.groups.assign(1, 0);
  std::map<Key, std::map<model::Id, std::vector<uint32_t>>> runs;
  for (size_t p = 0; p < pieces.pieces.size(); ++p) {
    const Piece& piece = pieces.pieces[p];
    if (piece.node.kind != NodeKind::kActivity || !piece.first_piece || !piece.node.last_piece ||
        piece.node.work != ActivityClass::kCollective) {
      continue;
    }
    runs[KeyOf(input, piece.node.what)][input.run.LaneOf(piece.node.what).device_id].push_back(
        static_cast<uint32_t>(p));
  }
  int64_t apart = 0;
  for (const auto& [key, by_device] : runs) {
    if (by_device.size() < 2) continue;
    const size_t count = by_device.begin()->second.size();
    const bool equal = std::all_of(by_device.begin(), by_device.end(), [&](const auto& device) {
      return device.second.size() == count;
    });
    if (!equal) continue;
    for (size_t k = 0; k < count; ++k) {
      int64_t last_start = INT64_MIN, first_end = INT64_MAX;
      for (const auto& [device, nodes] : by_device) {
        const Node& node = graph.nodes[nodes[k]];
        last_start = std::max(last_start, node.start_ns);
        first_end = std::min(first_end, node.start_ns + node.duration_ns);
      }
      if (last_start > first_end) {
        ++apart;
        continue;
      }
      graph.groups.push_back(static_cast<uint32_t>(by_device.size()));
      for (const auto& [device, nodes] : by_device) {
        Node& node = graph.nodes[nodes[k]];
        node.duration_ns = node.start_ns + node.duration_ns - last_start;
        node.group = static_cast<uint32_t>(graph.groups.size() - 1);
      }
    }
  }
  if (graph.groups.size() > 1) {
    graph.assumptions.push_back(
        fmt::format("{} collectives begin with the last of their devices, and then take as long "
                    "as they did",
                    graph.groups.size() - 1));
  }
  if (apart > 0) {
    graph.assumptions.push_back(fmt::format(
        "{} collectives do not overlap on all devices, and are replayed one by one", apart));
  }
}

}  // namespace xlatrace::analysis::replay
