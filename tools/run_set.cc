// SPDX-License-Identifier: Apache-2.0
#include "tools/run_set.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "report/compare/compare_modules.h"
#include "report/compare/load_run.h"
#include "report/run_view.h"
#include "store/run_db.h"
#include "tools/fold.h"

namespace xlatrace::tools {
namespace {

struct Opened {
  store::RunDb db;
  report::RunView view;
};

Result<std::deque<Opened>> Open(const std::vector<std::string>& paths) {
  std::deque<Opened> opened;
  for (const std::string& path : paths) {
    XLATRACE_ASSIGN(const std::string run, FoldedRun(path));
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
    XLATRACE_ASSIGN(report::RunView view, report::LoadRunView(db));
    opened.push_back({std::move(db), std::move(view)});
  }
  return opened;
}

size_t MedianOf(const std::deque<compare::Run>& runs) {
  std::vector<size_t> order(runs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return runs[a].steady ? runs[a].step_ns < runs[b].step_ns
                          : runs[a].device_ns < runs[b].device_ns;
  });
  return order[(order.size() - 1) / 2];
}

std::vector<const compare::Run*> Pointers(const std::deque<compare::Run>& runs) {
  std::vector<const compare::Run*> list;
  for (const compare::Run& run : runs) list.push_back(&run);
  return list;
}

}  // namespace

Result<ComparedRuns> CompareRunSets(const std::vector<std::string>& base,
                                    const std::vector<std::string>& now) {
  XLATRACE_ASSIGN(std::deque<Opened> ours, Open(base));
  XLATRACE_ASSIGN(std::deque<Opened> theirs, Open(now));
  report::LoadRunOptions options;
  for (const std::deque<Opened>* side : {&ours, &theirs}) {
    for (const Opened& run : *side) options.whole_run |= !run.view.basis.steady;
  }
  ComparedRuns result;
  for (Opened& run : ours) {
    XLATRACE_ASSIGN(compare::Run loaded, report::LoadCompareRun(run.db, run.view, options));
    result.base_runs.push_back(std::move(loaded));
  }
  for (Opened& run : theirs) {
    XLATRACE_ASSIGN(compare::Run loaded, report::LoadCompareRun(run.db, run.view, options));
    result.now_runs.push_back(std::move(loaded));
  }
  result.base_at = MedianOf(result.base_runs);
  result.now_at = MedianOf(result.now_runs);
  compare::Run& a = result.base_runs[result.base_at];
  compare::Run& b = result.now_runs[result.now_at];
  report::LoadOtherModules(ours[result.base_at].db, b, a);
  report::LoadOtherModules(theirs[result.now_at].db, a, b);
  result.comparison = compare::Compare(a, b);
  const std::vector<const compare::Run*> base_runs = Pointers(result.base_runs);
  const std::vector<const compare::Run*> now_runs = Pointers(result.now_runs);
  result.changes =
      compare::FindChanges(a, b, result.comparison, compare::ChangeOfTime(base_runs, now_runs));
  result.verdict =
      compare::ComputeVerdict(a, b, result.comparison, result.changes, base_runs, now_runs);
  return result;
}

}  // namespace xlatrace::tools
