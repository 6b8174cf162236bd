// SPDX-License-Identifier: Apache-2.0
#include "hlo/module_links.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace xlatrace::hlo {
namespace {

constexpr int64_t kMinArrayBytes = 64;
// A more common shape is no evidence. The limits keep thousands of modules fast.
constexpr size_t kMaxProducers = 64;
constexpr size_t kMaxCandidates = 256;

using Counts = std::unordered_map<std::string_view, int64_t>;

Counts CountShapes(const std::vector<ModuleValue>& values) {
  Counts counts;
  for (const ModuleValue& value : values) {
    if (value.bytes >= kMinArrayBytes) ++counts[value.shape];
  }
  return counts;
}

struct Offer {
  size_t producer = 0;
  int64_t arrays = 0;
  int64_t bytes = 0;
};

// How much of `wanted` the results of `producer` can supply; with `take`, takes it away.
Offer Supply(size_t producer, const Counts& results,
             const std::unordered_map<std::string_view, int64_t>& sizes, Counts& wanted,
             bool take) {
  Offer offer{.producer = producer};
  for (const auto& [shape, available] : results) {
    const auto it = wanted.find(shape);
    if (it == wanted.end()) continue;
    // A module that makes one such array may have run once for each.
    const int64_t count = it->second;
    if (available <= 0 || count <= 0) continue;
    offer.arrays += count;
    offer.bytes += count * sizes.at(shape);
    if (take) it->second -= count;
  }
  return offer;
}

}  // namespace

std::vector<ModuleLink> InferLinks(std::span<const ModuleSummary* const> modules) {
  std::vector<Counts> results(modules.size());
  std::unordered_map<std::string_view, std::vector<size_t>> makers;  // In order.
  for (size_t m = 0; m < modules.size(); ++m) {
    if (modules[m] == nullptr) continue;
    results[m] = CountShapes(modules[m]->results);
    for (const auto& [shape, count] : results[m]) makers[shape].push_back(m);
  }
  std::vector<ModuleLink> links;
  for (size_t consumer = 0; consumer < modules.size(); ++consumer) {
    if (modules[consumer] == nullptr) continue;
    Counts wanted = CountShapes(modules[consumer]->parameters);
    std::unordered_map<std::string_view, int64_t> sizes;
    ModuleLink base{.consumer = consumer};
    for (const ModuleValue& parameter : modules[consumer]->parameters) {
      if (parameter.bytes < kMinArrayBytes) continue;
      sizes[parameter.shape] = parameter.bytes;
      ++base.parameters;
      base.parameter_bytes += parameter.bytes;
    }
    std::vector<size_t> candidates;
    for (const auto& [shape, count] : wanted) {
      const auto it = makers.find(shape);
      if (it == makers.end()) continue;
      size_t taken = 0;
      for (auto maker = it->second.rbegin(); maker != it->second.rend(); ++maker) {
        if (*maker > consumer) continue;
        candidates.push_back(*maker);
        if (++taken == kMaxProducers) break;
      }
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    if (candidates.size() > kMaxCandidates) {  // The nearest ones.
      candidates.erase(candidates.begin(), candidates.end() - kMaxCandidates);
    }
    // A module cannot produce its own first input, so it is excluded here.
    const bool feeds_itself = !candidates.empty() && candidates.back() == consumer;
    if (feeds_itself) {
      Counts own = wanted;
      const Offer offer = Supply(consumer, results[consumer], sizes, own, false);
      ModuleLink link = base;
      link.producer = consumer;
      link.arrays = offer.arrays;
      link.bytes = offer.bytes;
      links.push_back(link);
      candidates.pop_back();
    }
    while (!candidates.empty()) {
      Offer best;
      for (const size_t candidate : candidates) {
        const Offer offer = Supply(candidate, results[candidate], sizes, wanted, false);
        // Among equals the latest, which is nearer in the program.
        if (offer.bytes > 0 && offer.bytes >= best.bytes) best = offer;
      }
      if (best.bytes == 0) break;
      Supply(best.producer, results[best.producer], sizes, wanted, true);
      ModuleLink link = base;
      link.producer = best.producer;
      link.arrays = best.arrays;
      link.bytes = best.bytes;
      links.push_back(link);
      candidates.erase(std::find(candidates.begin(), candidates.end(), best.producer));
    }
  }
  std::stable_sort(links.begin(), links.end(), [](const ModuleLink& a, const ModuleLink& b) {
    return a.consumer != b.consumer ? a.consumer < b.consumer : a.bytes > b.bytes;
  });
  return links;
}

}  // namespace xlatrace::hlo
