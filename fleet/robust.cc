#include "fleet/robust.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace xlatrace::fleet {

namespace {

// The one at `part` of the order; the lower one between two.
double At(std::vector<double> values, size_t part) {
  if (values.empty()) return 0;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / part);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

double LowerMedian(std::vector<double> values) { return At(std::move(values), 2); }

double LowerQuartile(std::vector<double> values) { return At(std::move(values), 4); }

double Spread(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = LowerMedian(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return 1.4826 * LowerMedian(std::move(distances));
}

}  // namespace xlatrace::fleet
