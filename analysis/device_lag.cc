// SPDX-License-Identifier: Apache-2.0
#include "analysis/device_lag.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/robust.h"

namespace xlatrace::analysis {
namespace {

constexpr double kMinLagShareOfStep = 0.02;
constexpr size_t kMinLagSteps = 3;
constexpr double kMissingNs = std::numeric_limits<double>::quiet_NaN();

// Median of the values without NaN.
double Middle(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values.empty() ? kMissingNs : LowerMedian(std::move(values));
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

// By device: its own time in each step, NaN without one.
class OwnTimes {
 public:
  explicit OwnTimes(const DeviceSteps& given) {
    std::map<model::Id, size_t> row;
    std::map<int64_t, size_t> column;
    for (const auto& time : given.times()) {
      row.emplace(time.device, 0);
      column.emplace(time.step, 0);
    }
    for (auto& [device, at] : row) {
      at = devices.size();
      devices.push_back(device);
    }
    for (auto& [step, at] : column) {
      at = steps.size();
      steps.push_back(step);
    }
    own.assign(devices.size(), std::vector<double>(steps.size(), kMissingNs));
    longest.assign(steps.size(), 0);
    std::vector<int64_t> exchange(steps.size(), std::numeric_limits<int64_t>::max());
    for (const auto& time : given.times()) {
      int64_t& least = exchange[column[time.step]];
      least = std::min(least, time.exposed_ns);
      coupled = coupled || time.exposed_ns > 0;
    }
    for (const auto& time : given.times()) {
      const size_t s = column[time.step];
      own[row[time.device]][s] =
          static_cast<double>(time.wall_ns - (time.exposed_ns - exchange[s]));
      longest[s] = std::max(longest[s], static_cast<double>(time.wall_ns));
    }
  }

  std::vector<model::Id> devices;
  std::vector<int64_t> steps;
  std::vector<std::vector<double>> own;
  std::vector<double> longest;  // By step: the longest of all devices.
  bool coupled = false;         // Some collective shows that devices wait for each other.
};

// Own time of each device less that of the median device, step by step.
std::vector<std::vector<double>> ExcessOf(const OwnTimes& times) {
  std::vector<std::vector<double>> excess = times.own;
  for (size_t s = 0; s < times.steps.size(); ++s) {
    std::vector<double> of_step;
    for (const auto& own : times.own) of_step.push_back(own[s]);
    const double middle = Middle(std::move(of_step));
    for (auto& of_device : excess) of_device[s] -= middle;
  }
  return excess;
}

// The device whose excess stays, in all steps or in the last third of them.
std::optional<size_t> Slowest(const OwnTimes& times,
                              const std::vector<std::vector<double>>& excess) {
  const size_t n = times.steps.size();
  const auto late = static_cast<std::ptrdiff_t>(n - std::max(kMinLagSteps, n / 3));
  double most = kMinLagShareOfStep * Middle(times.longest);
  std::optional<size_t> slowest;
  for (size_t d = 0; d < excess.size(); ++d) {
    const double lasting =
        std::fmax(Middle(excess[d]), Middle({excess[d].begin() + late, excess[d].end()}));
    if (!(lasting > most)) continue;
    most = lasting;
    slowest = d;
  }
  return slowest;
}

}  // namespace

void DeviceSteps::Add(model::Id device, int64_t step, int64_t wall_ns) {
  times_.push_back({.device = device, .step = step, .wall_ns = wall_ns});
  sorted_ = false;
}

void DeviceSteps::AddExposed(model::Id device, int64_t step, int64_t ns) {
  const auto before = [](const Time& a, const Time& b) {
    return a.device != b.device ? a.device < b.device : a.step < b.step;
  };
  if (!sorted_) std::sort(times_.begin(), times_.end(), before);
  sorted_ = true;
  const Time wanted{.device = device, .step = step};
  const auto at = std::lower_bound(times_.begin(), times_.end(), wanted, before);
  if (at == times_.end() || before(wanted, *at)) return;
  at->exposed_ns += ns;
}

std::optional<DeviceLag> FindDeviceLag(const DeviceSteps& steps) {
  const OwnTimes times(steps);
  const size_t n = times.steps.size();
  if (times.devices.size() < 2 || n < kMinLagSteps || !times.coupled) return {};
  const std::vector<std::vector<double>> excess = ExcessOf(times);
  const std::optional<size_t> slowest = Slowest(times, excess);
  if (!slowest) return {};
  const size_t first = RiseOf(excess[*slowest]);
  std::vector<double> means;
  for (const auto& own : times.own) means.push_back(Mean(own));
  DeviceLag lag{.device = times.devices[*slowest],
                .excess_ns = means[*slowest] - Middle(means),
                .since = times.steps[first],
                .all_along = first == 0,
                .of = static_cast<int64_t>(n - first)};
  for (size_t s = first; s < n; ++s) {
    double others = 0;
    for (size_t d = 0; d < times.devices.size(); ++d) {
      if (d != *slowest) others = std::fmax(others, times.own[d][s]);
    }
    const double more = times.own[*slowest][s] - others;
    if (!(more > 0)) continue;
    lag.cost_ns += more;
    ++lag.last;
  }
  lag.cost_ns /= static_cast<double>(n - first);
  return lag;
}

}  // namespace xlatrace::analysis
