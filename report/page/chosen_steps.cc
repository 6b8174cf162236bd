// SPDX-License-Identifier: Apache-2.0
#include "report/page/chosen_steps.h"

#include <algorithm>
#include <map>
#include <vector>

#include "report/page/page_context.h"
#include "store/activity_scan.h"

namespace xlatrace::report {

Result<std::set<int64_t>> ChooseSteps(PageContext& page) {
  std::map<int64_t, int64_t> launches;
  XLATRACE_TRY(store::ScanActivities(page.db, [&](const store::ScannedActivity& activity) {
    if (activity.step) ++launches[*activity.step];
    return true;
  }));
  std::vector<StepFigure> steady;
  for (const StepFigure& step : page.view.steps.all) {
    if (step.steady || !page.view.basis.steady) steady.push_back(step);
  }
  std::vector<int64_t> order;
  if (!page.view.steps.all.empty()) order.push_back(page.view.steps.all[0].step);
  if (!steady.empty()) {
    std::vector<StepFigure> by_time = steady;
    std::sort(by_time.begin(), by_time.end(),
              [](const auto& a, const auto& b) { return a.wall_ns < b.wall_ns; });
    order.push_back(by_time.back().step);
    order.push_back(by_time[by_time.size() / 2].step);
    // Halves, quarters, eighths...: evenly spaced wherever the loop ends.
    for (size_t parts = 2; parts / 2 < steady.size(); parts *= 2) {
      for (size_t k = 1; k < parts; k += 2) order.push_back(steady[steady.size() * k / parts].step);
    }
  }
  std::set<int64_t> chosen;
  int64_t left = page.options.max_launches;
  for (const int64_t step : order) {
    const int64_t count = launches[step];
    if (chosen.contains(step) || count > left) continue;
    chosen.insert(step);
    left -= count;
  }
  return chosen;
}

}  // namespace xlatrace::report
