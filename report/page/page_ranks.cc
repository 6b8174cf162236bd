// SPDX-License-Identifier: Apache-2.0

// Ranks of a merged job (docs/how-to/fleet.md): one row each with its means, and a row per rank and
// step for the map. Runs that are no job have neither.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analysis/device_lag.h"
#include "report/glyphs.h"
#include "report/page/page_context.h"
#include "report/safe_text.h"

namespace xlatrace::report {
namespace {

using store::Statement;

// Cells of the map: some 20 bytes of the file each.
constexpr int64_t kMaxRankStepRows = 100'000;
constexpr int64_t kMaxCollectiveRows = 500;
constexpr size_t kMaxJobTextBytes = 4096;

// The job's steps that the map shows: all, or the longest of each group of consecutive
// steps.
struct ShownSteps {
  std::set<int64_t> steps;
  int64_t left_out = 0;  // Rows of the other steps.
};

Result<ShownSteps> ChooseSteps(store::RunDb& db) {
  struct Step {
    int64_t number = 0, rows = 0, longest_ns = 0;
  };
  std::vector<Step> all;
  int64_t rows = 0;
  XLATRACE_TRY(
      db.ForEach("SELECT step, count(*), max(step_ns) FROM rank_step GROUP BY step ORDER BY step",
                 [&](const Statement& row) {
                   all.push_back({row.Int64(0), row.Int64(1), row.Int64(2)});
                   rows += row.Int64(1);
                   return true;
                 }));
  ShownSteps shown;
  const auto group =
      static_cast<size_t>(std::max<int64_t>(1, (rows + kMaxRankStepRows - 1) / kMaxRankStepRows));
  for (size_t i = 0; i < all.size(); i += group) {
    size_t longest = i;
    for (size_t k = i; k < std::min(all.size(), i + group); ++k) {
      if (all[k].longest_ns > all[longest].longest_ns) longest = k;
      shown.left_out += all[k].rows;
    }
    shown.steps.insert(all[longest].number);
    shown.left_out -= all[longest].rows;
  }
  return shown;
}

// Means per step, of steady steps where the job has any.
Status Ranks(PageContext& page, IdRows& rows) {
  PageTable table("ranks", page.blocks.strings());
  table.Declare(
      "rank ordinal host:text source:text device>devices program:text clock_set clock_error_ns"
      " activities device_ns excess_ns_per_step steps step_ns wait_ns transfer_ns gemm_ns other_ns"
      " idle_ns");
  XLATRACE_TRY(page.db.ForEach(
      "SELECT r.rank_id, r.rank, r.ordinal, r.host, r.source, r.device_id, r.program, r.clock_set,"
      " r.clock_error_ns, r.activities, r.device_ns, r.excess_ns_per_step, s.steps, s.step_ns,"
      " s.wait_ns, s.transfer_ns, s.gemm_ns, s.other_ns, s.idle_ns FROM rank r LEFT JOIN"
      " (SELECT rank_id, count(*) AS steps, sum(step_ns) / count(*) AS step_ns,"
      " sum(wait_ns) / count(wait_ns) AS wait_ns, sum(transfer_ns) / count(transfer_ns) AS"
      " transfer_ns, sum(gemm_ns) / count(*) AS gemm_ns, sum(other_ns) / count(*) AS other_ns,"
      " sum(idle_ns) / count(*) AS idle_ns FROM rank_step WHERE steady OR NOT EXISTS"
      " (SELECT 1 FROM rank_step WHERE steady) GROUP BY rank_id) s USING (rank_id)"
      " ORDER BY r.rank_id",
      [&](const Statement& row) {
        rows.emplace(row.Int64(0), static_cast<int64_t>(table.rows()));
        for (int c = 1; c <= 18; ++c) {
          const auto column = static_cast<size_t>(c - 1);
          if (row.IsNull(c)) continue;
          if (c == 3 || c == 4 || c == 6) {
            table.SetText(column, row.Text(c));
          } else {
            SetCell(table, column, row.Int64(c), c == 5 ? &page.devices : nullptr);
          }
        }
        table.EndRow();
        return true;
      }));
  page.blocks.Write(table);
  return {};
}

// The most exposed ones first, as in the view, because overlap with computation is the most
// important property.
Status JobCollectives(PageContext& page, const IdRows& ranks) {
  PageTable table("job_collectives", page.blocks.strings());
  table.Declare(
      "instruction:text op:text bytes ranks paired transfer_ns arrival_skew_ns most_skew_ns"
      " bus_bandwidth exposed_ns wait_ns last>ranks last_times");
  int64_t rows = 0;
  XLATRACE_TRY(page.db.ForEach(
      "SELECT instruction, op, bytes, ranks, paired, transfer_ns, arrival_skew_ns, most_skew_ns,"
      " bus_bandwidth, exposed_ns_per_step, wait_ns_per_step, last_rank_id, last_times"
      " FROM job_collective",
      [&](const Statement& row) {
        if (++rows > kMaxCollectiveRows) return true;
        for (int c = 0; c <= 12; ++c) {
          const auto column = static_cast<size_t>(c);
          if (row.IsNull(c)) continue;
          if (c <= 1) {
            table.SetText(column, row.Text(c));
          } else {
            SetCell(table, column, row.Int64(c), c == 11 ? &ranks : nullptr);
          }
        }
        table.EndRow();
        return true;
      }));
  page.blocks.Write(table);
  page.blocks.LeftOut("job_collectives", std::max<int64_t>(0, rows - kMaxCollectiveRows), 0);
  return {};
}

// For a run of several devices: the device that the others wait for (analysis/device_lag.h).
Status DeviceLagMeta(PageContext& page) {
  analysis::DeviceSteps steps;
  XLATRACE_TRY(page.db.ForEach(
      "SELECT device_id, step, end_ns - start_ns FROM step WHERE steady OR NOT EXISTS"
      " (SELECT 1 FROM step WHERE steady)",
      [&](const Statement& row) {
        steps.Add(row.Int64(0), row.Int64(1), row.Int64(2));
        return true;
      }));
  XLATRACE_TRY(page.db.ForEach(
      "SELECT device_id, step, wall_ns FROM step_part WHERE part = 'exposed_collective'",
      [&](const Statement& row) {
        steps.AddExposed(row.Int64(0), row.Int64(1), row.Int64(2));
        return true;
      }));
  const auto lag = analysis::FindDeviceLag(steps);
  if (!lag) return {};
  page.meta["device_lag"] = {{"device", page.devices.at(lag->device)},
                             {"excess_ns", std::llround(lag->excess_ns)},
                             {"cost_ns", std::llround(lag->cost_ns)},
                             {"since", nullptr},
                             {"last", lag->last},
                             {"of", lag->of}};
  if (!lag->all_along) page.meta["device_lag"]["since"] = lag->since;
  return {};
}

}  // namespace

Status WriteRankTables(PageContext& page) {
  IdRows rows;
  XLATRACE_TRY(Ranks(page, rows));
  if (rows.empty()) return DeviceLagMeta(page);
  XLATRACE_TRY(JobCollectives(page, rows));
  XLATRACE_ASSIGN(const ShownSteps shown, ChooseSteps(page.db));
  PageTable table("rank_steps");
  table.Declare(
      "step rank>ranks step_ns wait_ns transfer_ns gemm_ns other_ns idle_ns steady start_ns");
  XLATRACE_TRY(page.db.ForEach(
      // Where a step is on the timeline is of use for launches that are in the file.
      "SELECT s.step, s.rank_id, s.step_ns, s.wait_ns, s.transfer_ns, s.gemm_ns, s.other_ns,"
      " s.idle_ns, s.steady, iif(r.device_id IS NULL, NULL, s.start_ns) FROM rank_step s"
      " JOIN rank r USING (rank_id) ORDER BY s.step, s.rank_id",
      [&](const Statement& row) {
        if (shown.steps.contains(row.Int64(0))) SetRow(table, row, {&rows});
        return true;
      }));
  page.blocks.WriteChunk(table);
  page.blocks.LeftOut("rank_steps", shown.left_out, 0);
  XLATRACE_ASSIGN(const auto sentence, page.db.Info("job"));
  XLATRACE_ASSIGN(const auto heading, page.db.Info("job_heading"));
  XLATRACE_ASSIGN(const auto cause, page.db.Info("job_cause"));
  XLATRACE_ASSIGN(const auto path, page.db.Info("job_path"));
  page.meta["job"] = {{"sentence", SafeName(WithGlyphs(sentence.value_or("")), kMaxJobTextBytes)},
                      {"heading", SafeName(WithGlyphs(heading.value_or("")), kMaxJobTextBytes)},
                      {"cause", SafeName(cause.value_or(""), kMaxJobTextBytes)},
                      {"path", SafeName(WithGlyphs(path.value_or("")), kMaxJobTextBytes)}};
  const JobFigure& job = page.view.job;
  auto& meta = page.meta["job"];
  meta["ranks"] = RankWords(job);
  meta["kept"] = KeptWords(job);
  meta["all_kept"] = job.kept == job.ranks;
  if (!job.HasSteps()) return {};
  meta["step"] = {{"ns", job.step_ns},    {"min_ns", job.min_ns},     {"max_ns", job.max_ns},
                  {"steps", job.steps},   {"recorded", job.recorded}, {"first", job.first_step},
                  {"last", job.last_step}};
  return {};
}

}  // namespace xlatrace::report
