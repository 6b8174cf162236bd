// SPDX-License-Identifier: Apache-2.0
#include "fleet/groups.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/robust.h"

namespace xlatrace::fleet {
namespace {

// Distance of the ends of two members around a line, because their clocks may have an offset and a
// drift. The slope is the median of slopes between ends half the recording apart, as in clocks.cc.
std::optional<double> Residual(const EndsOfMember& a, const EndsOfMember& b) {
  std::vector<std::pair<double, double>> common;  // Time and distance.
  std::optional<std::pair<int64_t, int64_t>> origin;
  for (const auto& [key, end] : a) {
    const auto other = b.find(key);
    if (other == b.end()) continue;
    if (!origin) origin = {end, other->second - end};
    common.emplace_back(static_cast<double>(end - origin->first),
                        static_cast<double>(other->second - end - origin->second));
  }
  if (common.size() < kMinCommonEnds) return std::nullopt;
  std::sort(common.begin(), common.end());
  const size_t half = common.size() / 2;
  std::vector<double> slopes;
  for (size_t i = 0; i + half < common.size(); ++i) {
    const double apart = common[i + half].first - common[i].first;
    if (apart > 0) slopes.push_back((common[i + half].second - common[i].second) / apart);
  }
  const double slope = LowerMedian(std::move(slopes));
  std::vector<double> left;
  for (const auto& [when, apart] : common) left.push_back(apart - slope * when);
  return Spread(left);
}

size_t GroupOf(size_t member, size_t size, size_t stride) {
  return member / (size * stride) * stride + member % stride;
}

// Ninth decile of the residuals of pairs of members that are `apart` places apart in their group.
std::optional<double> ResidualOf(const std::vector<EndsOfMember>& ends, size_t size, size_t stride,
                                 size_t apart) {
  std::vector<size_t> first;  // Members with another member of their group `apart` places later.
  for (size_t m = 0; m + apart * stride < ends.size(); ++m) {
    if (GroupOf(m, size, stride) == GroupOf(m + apart * stride, size, stride)) first.push_back(m);
  }
  std::vector<double> residuals;
  const size_t each = first.size() / kMaxMemberPairs + 1;
  for (size_t i = 0; i < first.size(); i += each) {
    const auto residual = Residual(ends[first[i]], ends[first[i] + apart * stride]);
    if (!residual) return std::nullopt;
    residuals.push_back(*residual);
  }
  if (residuals.empty()) return std::nullopt;
  const size_t at = residuals.size() - 1 - residuals.size() / 10;
  std::nth_element(residuals.begin(), residuals.begin() + static_cast<std::ptrdiff_t>(at),
                   residuals.end());
  return residuals[at];
}

// A stride that is not a multiple of the right one separates all neighbours. Twice the right stride
// or more separates all members that are half a group apart.
std::optional<double> ResidualOf(const std::vector<EndsOfMember>& ends, size_t size,
                                 size_t stride) {
  const auto neighbours = ResidualOf(ends, size, stride, 1);
  const auto half = ResidualOf(ends, size, stride, std::max<size_t>(size / 2, 1));
  if (!neighbours || !half) return std::nullopt;
  return std::max(*neighbours, *half);
}

}  // namespace

std::optional<std::vector<size_t>> FindGroups(const std::vector<EndsOfMember>& ends,
                                              size_t group_size) {
  const size_t members = ends.size();
  if (group_size < 2 || members == 0 || members % group_size != 0) return std::nullopt;
  if (group_size == members) return std::vector<size_t>(members, 0);
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity(), next = least;
  for (size_t stride = 1; stride <= members / group_size; ++stride) {
    if (members / group_size % stride != 0) continue;
    const auto residual = ResidualOf(ends, group_size, stride);
    if (!residual) return std::nullopt;
    if (*residual < least) {
      next = std::exchange(least, *residual);
      best = stride;
    } else {
      next = std::min(next, *residual);
    }
  }
  if (next < kMinResidualRatio * least || next == 0) return std::nullopt;
  std::vector<size_t> groups;
  for (size_t m = 0; m < members; ++m) groups.push_back(GroupOf(m, group_size, best));
  return groups;
}

}  // namespace xlatrace::fleet
