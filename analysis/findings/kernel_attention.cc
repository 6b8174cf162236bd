// SPDX-License-Identifier: Apache-2.0

// Attention that runs as separate kernels, recognised by their order: product, softmax, product.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/rules.h"
#include "analysis/kernel_class.h"
#include "base/number_format.h"
#include "base/text.h"

namespace xlatrace::analysis::findings {
namespace {

// Kernels between a product and the softmax: scaling, mask, dropout, a change of type or layout.
constexpr size_t kMaxBetween = 4;
constexpr std::string_view kAnonymous = "(anonymous namespace)::";
// A softmax below this share of the device time is not worth another attention.
constexpr double kMinSoftmaxShare = 0.05;

// The softmax of a loss is a log-softmax.
bool IsSoftmax(std::string_view kernel) {
  const std::string name = Lower(kernel);
  return Has(name, "softmax") && !HasAny(name, {"logsoftmax", "log_softmax"}) &&
         KernelClassOf(kernel) == KernelClass::kNorm;
}

enum class Role : uint8_t { kOther, kSoftmax, kProduct, kBetween };

Role RoleOf(const model::LaunchConfig& config) {
  if (config.kind != model::ActivityKind::kKernel) return Role::kOther;
  if (IsSoftmax(config.name)) return Role::kSoftmax;
  switch (KernelClassOf(config.name)) {
    case KernelClass::kProduct:
      return Role::kProduct;
    case KernelClass::kElementwise:
    case KernelClass::kOther:
      return Role::kBetween;
    default:
      return Role::kOther;
  }
}

struct AttentionTime {
  int64_t softmax_ns = 0, between_ns = 0, products_ns = 0;
  int64_t count = 0;
  std::string kernel;  // Name of a softmax.
  std::set<uint32_t>
      configs;  // Configurations of the softmax and of the kernels up to the products.
};

class AttentionFinder {
 public:
  explicit AttentionFinder(const Context& context) : context_(context) {
    for (const model::LaunchConfig& config : context.run.configs) roles_.push_back(RoleOf(config));
  }

  bool has_softmax() const {
    return std::find(roles_.begin(), roles_.end(), Role::kSoftmax) != roles_.end();
  }

  AttentionTime Find() {
    std::map<uint32_t, std::vector<uint32_t>> by_lane;
    const auto& activities = context_.run.activities;
    for (uint32_t i = 0; i < activities.size(); ++i) {
      if (context_.InBasis(i)) by_lane[activities.lane[i]].push_back(i);
    }
    for (auto& [lane, launches] : by_lane) {
      std::sort(launches.begin(), launches.end(), [&](uint32_t a, uint32_t b) {
        return activities.start_ns[a] < activities.start_ns[b];
      });
      for (size_t k = 0; k < launches.size(); ++k) {
        if (RoleAt(launches[k]) == Role::kSoftmax) AddSoftmax(launches, k);
      }
    }
    return time_;
  }

 private:
  Role RoleAt(uint32_t activity) const {
    return roles_[context_.run.activities.config[activity] - 1];
  }

  // The position of the nearest product in one direction; SIZE_MAX: none.
  size_t Product(const std::vector<uint32_t>& launches, size_t at, bool forward) const {
    for (size_t k = 1; k <= kMaxBetween + 1; ++k) {
      if (forward ? at + k >= launches.size() : at < k) break;
      const size_t position = forward ? at + k : at - k;
      const Role role = RoleAt(launches[position]);
      if (role == Role::kProduct) return position;
      if (role != Role::kBetween) break;
    }
    return SIZE_MAX;
  }

  void AddSoftmax(const std::vector<uint32_t>& launches, size_t at) {
    const size_t first = Product(launches, at, false), last = Product(launches, at, true);
    if (first == SIZE_MAX || last == SIZE_MAX) return;
    const auto& activities = context_.run.activities;
    ++time_.count;
    const std::string_view kernel = context_.run.ConfigOf(launches[at]).name;
    time_.kernel = kernel.substr(kernel.starts_with(kAnonymous) ? kAnonymous.size() : 0);
    for (size_t k = first; k <= last; ++k) {
      const int64_t ns = activities.self_ns[launches[k]];
      if (k == first || k == last) {
        time_.products_ns += ns;
        continue;
      }
      (k == at ? time_.softmax_ns : time_.between_ns) += ns;
      time_.configs.insert(activities.config[launches[k]]);
    }
  }

  const Context& context_;
  std::vector<Role> roles_;  // By configuration.
  AttentionTime time_;
};

}  // namespace

void ReportKernelAttention(const Context& context, Report& report) {
  AttentionFinder finder(context);
  if (!finder.has_softmax()) return;
  const AttentionTime time = finder.Find();
  const int64_t softmax_ns = context.PerStep(time.softmax_ns);
  const int64_t saves_ns = softmax_ns + context.PerStep(time.between_ns);
  const int64_t all_ns = saves_ns + context.PerStep(time.products_ns);
  if (static_cast<double>(softmax_ns) < kMinSoftmaxShare * static_cast<double>(context.device_ns)) {
    return;
  }
  Finding finding;
  finding.id = "attention_unfused";
  finding.variant = "kernels";
  finding.values["kernel"] = ShortKernelName(time.kernel);
  finding.sentence = {fmt::format("Attention runs as separate kernels, {} of the {}",
                                  Percent(context.ShareOfSpan(all_ns)), context.words.whole),
                      fmt::format("{} of it is the softmax between the products", Time(saves_ns))};
  // The products are computed by the fused kernel, too.
  finding.saves_high_ns = saves_ns;
  finding.saves_low_ns = 0;
  finding.basis = Basis::kCostModel;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.evidence.Add(context.words.PerStep("softmax,"), softmax_ns, "ns")
      .Add(context.words.PerStep("kernels between it and the products,"),
           context.PerStep(time.between_ns), "ns")
      .Add(context.words.PerStep("the two products,"), context.PerStep(time.products_ns), "ns")
      .Add(context.words.PerStep("how many,"), context.PerStep(time.count), "count");
  report.Add(std::move(finding));
}

}  // namespace xlatrace::analysis::findings
