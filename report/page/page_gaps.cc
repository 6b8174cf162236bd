// SPDX-License-Identifier: Apache-2.0

// Gaps: the longest ones with the activity of the host, and sums of all gaps.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "analysis/time_tree/gap_part.h"
#include "model/gap_words.h"
#include "report/glyphs.h"
#include "report/page/page_context.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using store::Statement;

constexpr size_t kMaxGapRows = 20'000;

void GapSums(PageContext& page) {
  PageTable table("gap_sums", page.blocks.strings());
  table.Declare("device>devices step cause:word ns count longest_ns short_ns");
  for (const auto& [key, sum] : page.gap_sums.sums) {
    const auto& [device, step, cause] = key;
    SetCell(table, 0, device, &page.devices);
    if (step != INT64_MIN) table.Set(1, step);
    table.SetText(2, cause);
    table.Set(3, sum.ns);
    table.Set(4, sum.count);
    table.Set(5, sum.longest_ns);
    table.Set(6, sum.short_ns);
    table.EndRow();
  }
  page.blocks.Write(table);
}

// Rows of a small table by id, for the few that are referred to.
Status Referred(PageContext& page, PageTable& table, std::string_view columns,
                std::string_view view, std::string_view id, const std::vector<int64_t>& ids,
                IdRows& rows) {
  XLATRACE_ASSIGN(Statement statement, page.db.Prepare(fmt::format(
                                           "SELECT {} FROM {} WHERE {} = ?1", columns, view, id)));
  for (const int64_t wanted : ids) {
    if (wanted == 0 || rows.contains(wanted)) continue;
    statement.Reset();
    statement.BindInt64(0, wanted);
    XLATRACE_ASSIGN(const bool found, statement.Step());
    if (!found) continue;
    rows.emplace(wanted, static_cast<int64_t>(table.rows()));
    SetRow(table, statement, {&page.processes});
  }
  return {};
}

}  // namespace

Status WriteGapTables(PageContext& page) {
  GapSums(page);
  std::vector<int64_t> call_ids;
  std::vector<int64_t> range_ids;
  // Row by row, because for a join SQLite would build the whole view first.
  XLATRACE_ASSIGN(Statement call_of,
                  page.db.Prepare("SELECT api_call_id FROM activity WHERE activity_id = ?1"));
  for (const store::ScannedGap& gap : page.gaps) {
    call_of.Reset();
    call_of.BindInt64(0, gap.next_activity_id);
    XLATRACE_ASSIGN(const bool found, call_of.Step());
    call_ids.push_back(found ? call_of.OptionalInt64(0).value_or(0) : 0);
    range_ids.push_back(gap.host_range_id);
  }
  PageTable calls("api_calls", page.blocks.strings());
  calls.Declare("process>processes thread_id name:text start_ns:delta end_ns:delta");
  IdRows call_rows;
  XLATRACE_TRY(Referred(page, calls, "process_id, thread_id, name, start_ns, end_ns", "api_call",
                        "api_call_id", call_ids, call_rows));
  PageTable ranges("ranges", page.blocks.strings());
  ranges.Declare(
      "process>processes thread_id domain:text text:text start_ns:delta end_ns:delta depth");
  IdRows range_rows;
  XLATRACE_TRY(Referred(page, ranges,
                        "process_id, thread_id, domain, text, start_ns, end_ns, depth", "range",
                        "range_id", range_ids, range_rows));
  PageTable gaps("gaps", page.blocks.strings());
  gaps.Declare(
      "device>devices start_ns:delta end_ns:delta cause:word previous_site>sites next_site>sites"
      " range>ranges api_call>api_calls step steady evidence:text");
  std::unordered_map<int64_t, size_t> gap_before;  // By the activity at the end of the gap.
  for (size_t i = 0; i < page.gaps.size(); ++i) gap_before[page.gaps[i].next_activity_id] = i;
  std::vector<std::string> evidence(page.gaps.size());
  XLATRACE_TRY(store::ScanGapEvidence(page.db, [&](int64_t next, std::string_view words) {
    const auto gap = gap_before.find(next);
    if (gap != gap_before.end()) evidence[gap->second] = words;
  }));
  const auto id = [](int64_t value) { return value == 0 ? store::Cell() : store::Cell(value); };
  int64_t shown_ns = 0;
  for (size_t i = 0; i < page.gaps.size(); ++i) {
    const store::ScannedGap& gap = page.gaps[i];
    SetCell(gaps, 0, gap.device_id, &page.devices);
    gaps.Set(1, gap.start_ns);
    gaps.Set(2, gap.end_ns);
    gaps.SetText(3, std::string(Text(gap.cause)));
    SetCell(gaps, 4, id(gap.previous_activity_id), &page.site_of_activity);
    SetCell(gaps, 5, id(gap.next_activity_id), &page.site_of_activity);
    SetCell(gaps, 6, id(gap.host_range_id), &range_rows);
    const StepIndex::Span* step = page.steps.At(gap.device_id, gap.start_ns);
    SetCell(gaps, 7, call_ids[i], &call_rows);
    if (step != nullptr) gaps.Set(8, step->step);
    gaps.Set(9, step != nullptr && step->steady ? 1 : 0);
    gaps.SetText(10, WithGlyphs(evidence[i]));
    shown_ns += gap.end_ns - gap.start_ns;
    gaps.EndRow();
  }
  page.blocks.Write(gaps);
  page.blocks.Write(calls);
  page.blocks.Write(ranges);
  page.blocks.LeftOut("gaps", page.gap_sums.count - static_cast<int64_t>(gaps.rows()),
                      page.gap_sums.ns - shown_ns);
  return {};
}

Status LoadPageGaps(PageContext& page) {
  std::vector<store::ScannedGap>& longest = page.gaps;
  const auto is_longer = [](const store::ScannedGap& a, const store::ScannedGap& b) {
    const int64_t a_ns = a.end_ns - a.start_ns;
    const int64_t b_ns = b.end_ns - b.start_ns;
    if (a_ns != b_ns) return a_ns > b_ns;
    return std::tie(a.device_id, a.start_ns) < std::tie(b.device_id, b.start_ns);
  };
  const auto drop_short_ones = [&] {
    if (longest.size() <= kMaxGapRows) return;
    std::nth_element(longest.begin(), longest.begin() + kMaxGapRows, longest.end(), is_longer);
    longest.resize(kMaxGapRows);
  };
  using Sum = PageGapSums::Sum;
  std::map<std::tuple<int64_t, int64_t, model::GapCause>, Sum> sums;
  XLATRACE_TRY(store::ScanGaps(page.db, [&](const store::ScannedGap& gap) {
    const StepIndex::Span* step = page.steps.At(gap.device_id, gap.start_ns);
    Sum& sum = sums[{gap.device_id, step != nullptr ? step->step : INT64_MIN, gap.cause}];
    const int64_t ns = gap.end_ns - gap.start_ns;
    sum.ns += ns;
    ++sum.count;
    sum.longest_ns = std::max(sum.longest_ns, ns);
    if (gap.cause == model::GapCause::kUnknown && ns < analysis::time_tree::kMinExplainedGapNs) {
      sum.short_ns += ns;
    }
    page.gap_sums.ns += ns;
    ++page.gap_sums.count;
    longest.push_back(gap);
    if (longest.size() >= 4 * kMaxGapRows) drop_short_ones();
  }));
  for (const auto& [key, sum] : sums) {
    const auto& [device, step, cause] = key;
    page.gap_sums.sums[{device, step, std::string(Text(cause))}] = sum;
    std::string meaning(Meaning(cause));
    const auto figure =
        std::find_if(page.view.gaps.begin(), page.view.gaps.end(),
                     [name = Text(cause)](const GapFigure& gap) { return gap.cause == name; });
    if (figure != page.view.gaps.end() && 2 * figure->launched_ns > figure->ns) {
      meaning += " Here most of it: what follows had been launched in time.";
    }
    page.meta["causes"][std::string(Text(cause))] = WithGlyphs(meaning);
  }
  drop_short_ones();
  std::sort(longest.begin(), longest.end(), [](const auto& a, const auto& b) {
    return std::tie(a.device_id, a.start_ns) < std::tie(b.device_id, b.start_ns);
  });
  return {};
}

}  // namespace xlatrace::report
