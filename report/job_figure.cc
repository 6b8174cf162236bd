// SPDX-License-Identifier: Apache-2.0
#include "report/job_figure.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::report {
namespace {

struct StepTime {
  int64_t number = 0, longest_ns = 0;
};

// The steps behind the job's sentence: half of the ranks have a waiting time there. They lie from
// the first to the last steady step of any rank. Without waiting times, the steady steps.
constexpr const char* kCheckedSteps =
    "SELECT step, max(step_ns) FROM rank_step WHERE wait_ns IS NOT NULL"
    " AND step >= (SELECT min(step) FROM rank_step WHERE steady)"
    " AND step <= (SELECT max(step) FROM rank_step WHERE steady)"
    " GROUP BY step HAVING 2 * count(*) >= (SELECT count(*) FROM rank) ORDER BY step";
constexpr const char* kSteadySteps =
    "SELECT step, max(step_ns) FROM rank_step WHERE steady GROUP BY step ORDER BY step";

}  // namespace

Result<JobFigure> LoadJob(store::RunDb& db) {
  JobFigure job;
  XLATRACE_ASSIGN(const store::Table ranks,
                  db.Select("SELECT count(*) AS ranks, count(DISTINCT host) AS hosts,"
                            " count(device_id) AS kept FROM rank"));
  job.ranks = ranks.Int(0, "ranks");
  if (job.ranks == 0) return job;
  job.hosts = ranks.Int(0, "hosts");
  job.kept = ranks.Int(0, "kept");
  XLATRACE_ASSIGN(const store::Table steps,
                  db.Select("SELECT count(DISTINCT step) AS recorded, coalesce(sum(r.device_id IS"
                            " NOT NULL), 0) AS kept FROM rank_step JOIN rank r USING (rank_id)"));
  job.recorded = steps.Int(0, "recorded");
  job.kept_steps = steps.Int(0, "kept");
  std::vector<StepTime> times;
  for (const char* which : {kCheckedSteps, kSteadySteps}) {
    if (!times.empty()) break;
    XLATRACE_TRY(db.ForEach(which, [&](const store::Statement& row) {
      times.push_back({row.Int64(0), row.Int64(1)});
      return true;
    }));
  }
  if (times.empty()) return job;
  job.steps = static_cast<int64_t>(times.size());
  job.first_step = times.front().number;
  job.last_step = times.back().number;
  std::sort(times.begin(), times.end(),
            [](const StepTime& a, const StepTime& b) { return a.longest_ns < b.longest_ns; });
  job.step_ns = times[(times.size() - 1) / 2].longest_ns;
  job.min_ns = times.front().longest_ns;
  job.max_ns = times.back().longest_ns;
  return job;
}

std::string RankWords(const JobFigure& job) {
  std::string text = fmt::format("{} rank{}", Thousands(job.ranks), job.ranks == 1 ? "" : "s");
  if (job.hosts > 0) {
    text += fmt::format(" on {} host{}", Thousands(job.hosts), job.hosts == 1 ? "" : "s");
  }
  return text;
}

std::string KeptWords(const JobFigure& job) {
  return job.kept == job.ranks
             ? fmt::format("all {} rank{}", Thousands(job.ranks), job.ranks == 1 ? "" : "s")
             : fmt::format("{} of the {} ranks", Thousands(job.kept), Thousands(job.ranks));
}

}  // namespace xlatrace::report
