// SPDX-License-Identifier: Apache-2.0
#include "analysis/collective_model.h"

#include <array>
#include <cmath>
#include <utility>

namespace xlatrace::analysis {
namespace {

constexpr std::array<std::string_view, 8> kOps = {
    "all-reduce",         "all-gather",           "reduce-scatter",    "all-to-all",
    "collective-permute", "collective-broadcast", "ragged-all-to-all", "all-gather-v"};

// Bus bandwidth of an all-reduce over 8 x H200 by size, in GB/s.
constexpr std::array<std::pair<double, double>, 13> kCurve = {{
    {32e3, 1.4},
    {128e3, 5.7},
    {512e3, 24},
    {1.05e6, 40},
    {4.2e6, 107},
    {8.4e6, 156},
    {16.8e6, 220},
    {33.6e6, 276},
    {67e6, 347},
    {134e6, 402},
    {268e6, 436},
    {1.07e9, 464},
    {17.2e9, 482},
}};

// Share of the best bandwidth that is reached at a size.
double ShareAt(double bytes) {
  const double most = kCurve.back().second;
  if (bytes <= kCurve.front().first) {
    return kCurve.front().second / most * bytes / kCurve.front().first;
  }
  for (size_t i = 1; i < kCurve.size(); ++i) {
    if (bytes > kCurve[i].first) continue;
    const auto& [low, slow] = kCurve[i - 1];
    const auto& [high, fast] = kCurve[i];
    const double at = std::log(bytes / low) / std::log(high / low);
    return (slow + at * (fast - slow)) / most;
  }
  return 1;
}

// Share of the links' speed that large collectives reach.
double LinkShare(const Gpu& gpu, bool all_reduce) {
  if (gpu.compute_capability == "9.0") return all_reduce ? 1.07 : 0.80;  // In-network reduction.
  if (gpu.compute_capability == "8.0") return 0.78;
  if (gpu.compute_capability.starts_with("10.")) return all_reduce ? 0.93 : 0.76;
  return 0.75;
}

}  // namespace

std::string_view CollectiveOf(std::string_view opcode) {
  for (const std::string_view suffix : {"-start", "-done"}) {
    if (opcode.ends_with(suffix)) opcode.remove_suffix(suffix.size());
  }
  for (const std::string_view op : kOps) {
    if (op == opcode) return op;
  }
  return {};
}

int64_t FullBytes(std::string_view op, int64_t result_bytes, int64_t ranks) {
  if (op != "reduce-scatter") return result_bytes;
  int64_t full = 0;
  return __builtin_mul_overflow(result_bytes, ranks, &full) ? INT64_MAX : full;
}

double BusFactor(std::string_view op, int64_t ranks) {
  if (ranks < 2) return 1;
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (op == "all-reduce") return 2 * others;
  if (op == "all-gather" || op == "reduce-scatter" || op == "all-to-all" ||
      op == "ragged-all-to-all") {
    return others;
  }
  return 1;
}

std::optional<double> ExpectedBusBandwidth(const Gpu& gpu, std::string_view op, int64_t full_bytes,
                                           int64_t ranks) {
  if (gpu.peer_link_bytes_per_s <= 0 || ranks < 2 || full_bytes <= 0) return std::nullopt;
  return static_cast<double>(gpu.peer_link_bytes_per_s) * LinkShare(gpu, op == "all-reduce") *
         ShareAt(static_cast<double>(full_bytes));
}

}  // namespace xlatrace::analysis
