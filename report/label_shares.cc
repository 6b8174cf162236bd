// SPDX-License-Identifier: Apache-2.0
#include "report/label_shares.h"

#include <algorithm>

#include "analysis/apportion.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

constexpr int64_t kWholeShare = 1'000'000;

}  // namespace

Result<LabelShares> LabelShares::Load(store::RunDb& db) {
  LabelShares shares;
  XLATRACE_ASSIGN(const store::Table rows, store::ScanLabelShares(db));  // Grouped by label.
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    auto& [first, count] =
        shares.of_label_.try_emplace(rows.Int(i, "label_id"), i, size_t{0}).first->second;
    ++count;
    shares.owners_.push_back({rows.Int(i, "module_id"), rows.Text(i, "instruction")});
    // A damaged file may contain any value.
    shares.weights_.push_back(std::clamp<int64_t>(rows.Int(i, "share_ppm"), 0, kWholeShare));
  }
  return shares;
}

std::span<const LabelShares::Owner> LabelShares::OwnersOf(int64_t label_id) const {
  const auto at = of_label_.find(label_id);
  if (at == of_label_.end()) return {};
  return std::span(owners_).subspan(at->second.first, at->second.second);
}

std::span<const int64_t> LabelShares::Split(int64_t label_id, int64_t ns) {
  const auto [first, count] = of_label_.at(label_id);
  parts_.resize(count);
  analysis::Apportion(ns, std::span(weights_).subspan(first, count), parts_);
  return parts_;
}

}  // namespace xlatrace::report
