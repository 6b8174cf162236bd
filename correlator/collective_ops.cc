// SPDX-License-Identifier: Apache-2.0
#include "correlator/collective_ops.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

namespace xlatrace::correlator {
namespace {

using model::Hint;
using model::Id;

CollectiveKind KindOfOp(std::string_view op_type) {
  if (op_type == "NcclAllReduce" || op_type == "CollectiveReduce" ||
      op_type == "CollectiveReduceV2" || op_type == "CollectiveReduceV3") {
    return CollectiveKind::kAllReduce;
  }
  if (op_type == "CollectiveGather" || op_type == "CollectiveGatherV2") {
    return CollectiveKind::kAllGather;
  }
  if (op_type == "CollectiveReduceScatterV2") return CollectiveKind::kReduceScatter;
  if (op_type == "CollectiveAllToAllV2" || op_type == "CollectiveAllToAllV3") {
    return CollectiveKind::kSendRecv;
  }
  return CollectiveKind::kAny;
}

// `CollectiveReduceV2_1` is number 1 of `CollectiveReduceV2`, which itself is number 0.
struct Numbered {
  std::string_view stem;
  int number = 0;
  const Hint* hint = nullptr;
};

Numbered NumberOf(const Hint& hint) {
  const std::string_view name = hint.op_name;
  Numbered result = {.stem = name, .hint = &hint};
  const size_t at = name.rfind('_');
  if (at == name.npos || at + 1 == name.size() || name[at + 1] == '0') return result;
  int number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + at + 1, end, number);
  if (error != std::errc() || stop != end || number < 0) return result;
  result.stem = name.substr(0, at);
  result.number = number;
  return result;
}

// The ops of one kind, ordered by number; empty if they are not one series.
std::vector<Numbered> SeriesOf(std::vector<Numbered> ops) {
  std::sort(ops.begin(), ops.end(),
            [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].stem != ops.front().stem || ops[i].number != static_cast<int>(i)) return {};
  }
  return ops;
}

}  // namespace

bool IsLooseCollective(const model::LaunchConfig& config, const Hint* hint) {
  const bool outside =
      hint == nullptr || (hint->evidence == model::Evidence::kOpRange && hint->op_name.empty());
  return outside && config.kind == model::ActivityKind::kKernel &&
         LaunchKindOf(config) == LaunchKind::kCollective;
}

CollectiveOps::CollectiveOps(const model::RunTables& run) {
  std::map<CollectiveKind, std::map<std::string_view, const Hint*>> named;
  for (const Hint& hint : run.hints) {
    if (hint.evidence != model::Evidence::kOpRange) continue;
    const CollectiveKind kind = KindOfOp(hint.op_type);
    if (kind != CollectiveKind::kAny) named[kind].try_emplace(hint.op_name, &hint);
  }
  if (named.empty()) return;
  std::vector<CollectiveKind> kinds;  // By launch configuration.
  for (const model::LaunchConfig& config : run.configs) {
    kinds.push_back(IsLooseCollective(config, nullptr) ? CollectiveOfSymbol(config.symbol)
                                                       : CollectiveKind::kAny);
  }
  std::map<std::pair<Id, CollectiveKind>, std::set<Id>> devices;  // By process and kind.
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const CollectiveKind kind = kinds[run.activities.config[i] - 1];
    if (!named.contains(kind)) continue;
    const model::Device& device = run.DeviceOf(i);
    devices[{device.process_id, kind}].insert(run.LaneOf(i).device_id);
  }
  for (const auto& [place, ids] : devices) {
    std::vector<Numbered> ops;
    for (const auto& [name, hint] : named[place.second]) ops.push_back(NumberOf(*hint));
    if (ops.size() == ids.size()) ops = SeriesOf(std::move(ops));
    if (ops.size() != ids.size()) continue;
    std::vector<Id> order(ids.begin(), ids.end());
    std::stable_sort(order.begin(), order.end(), [&](Id a, Id b) {
      const auto ordinal = [&](Id id) { return run.devices[static_cast<size_t>(id) - 1].ordinal; };
      return ordinal(a) < ordinal(b);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      by_device_[{order[i], place.second}] = ops[i].hint;
      found_.push_back(ops[i].hint);
    }
  }
}

const Hint* CollectiveOps::Of(Id device_id, CollectiveKind kind) const {
  const auto at = by_device_.find({device_id, kind});
  return at == by_device_.end() ? nullptr : at->second;
}

}  // namespace xlatrace::correlator
