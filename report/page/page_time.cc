// Tables of wall time: steps and their parts, busy time, gaps with what the host did meanwhile.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "report/page/page_context.h"
#include "store/launch_scan.h"

namespace xlatrace::report {
namespace {

using store::Statement;
using store::Table;

constexpr size_t kMostGaps = 20'000;
constexpr size_t kMostHostEvents = 20'000;

Status Steps(PageContext& page) {
  const std::vector<const IdRows*> devices = {&page.devices};
  PageTable steps("steps", page.blocks.strings());
  steps.Declare(
      "step device>devices start_ns:delta end_ns:delta device_ns busy_ns steady how:word");
  XLATRACE_TRY(FillTable(page.db,
                         "SELECT step, device_id, start_ns, end_ns, device_ns, busy_ns, steady, how"
                         " FROM step ORDER BY device_id, start_ns",
                         steps, devices));
  page.blocks.Write(steps);
  PageTable parts("step_parts", page.blocks.strings());
  parts.Declare("device>devices step part:word wall_ns");
  XLATRACE_TRY(
      FillTable(page.db, "SELECT device_id, step, part, wall_ns FROM step_part", parts, devices));
  page.blocks.Write(parts);
  PageTable phases("phase_times", page.blocks.strings());
  phases.Declare("device>devices step phase:word self_ns estimated_ns");
  XLATRACE_TRY(FillTable(page.db,
                         "SELECT device_id, step, phase, self_ns, estimated_ns FROM phase_time",
                         phases, devices));
  page.blocks.Write(phases);
  PageTable busy("busy_times", page.blocks.strings());
  busy.Declare(
      "device>devices start_ns end_ns busy_ns idle_ns overlap_ns compute_ns collective_ns"
      " exposed_collective_ns copy_ns exposed_copy_ns steady_busy_ns");
  XLATRACE_TRY(FillTable(page.db,
                         "SELECT device_id, start_ns, end_ns, busy_ns, idle_ns, overlap_ns,"
                         " compute_ns, collective_ns, exposed_collective_ns, copy_ns,"
                         " exposed_copy_ns, steady_busy_ns FROM busy_time",
                         busy, devices));
  page.blocks.Write(busy);
  return {};
}

void GapSums(PageContext& page) {
  PageTable table("gap_sums", page.blocks.strings());
  table.Declare("device>devices step cause:word ns count longest_ns");
  for (const auto& [key, sum] : page.gap_sums.sums) {
    const auto& [device, step, cause] = key;
    SetCell(table, 0, device, &page.devices);
    if (step != INT64_MIN) table.Set(1, step);
    table.SetText(2, cause);
    table.Set(3, sum.ns);
    table.Set(4, sum.count);
    table.Set(5, sum.longest_ns);
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

Status Gaps(PageContext& page) {
  GapSums(page);
  std::vector<int64_t> call_ids;
  std::vector<int64_t> range_ids;
  // One by one: a join would make SQLite build the whole view first.
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
  std::unordered_map<int64_t, size_t> gap_before;  // By the activity that it ends at.
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
    gaps.SetText(10, evidence[i]);
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

// A stretch of time of one process whose calls and ranges the page holds.
struct HostWindow {
  int64_t process_id = 0;
  std::optional<int64_t> step;
  int64_t start_ns = 0, end_ns = 0;
  int64_t events = 0, kept = 0;
};

struct HostEvent {
  int64_t start_ns = 0, end_ns = 0;
  size_t window = 0;
  bool is_call = false;
  int64_t kind = 0;
};

// The steps that the timeline offers first, the median and the slowest one, of each process that
// has a device; where it has no step, all of the run. As the page's app picks them.
Result<std::vector<HostWindow>> HostWindows(PageContext& page) {
  std::map<int64_t, std::map<int64_t, std::vector<StepIndex::Span>>> steps;  // Process, step.
  XLATRACE_TRY(page.db.ForEach("SELECT device_id, process_id FROM device", [&](const Statement& s) {
    auto& of_process = steps[s.Int64(1)];
    const auto spans = page.steps.devices().find(s.Int64(0));
    if (spans == page.steps.devices().end()) return true;
    for (const StepIndex::Span& span : spans->second) of_process[span.step].push_back(span);
    return true;
  }));
  std::vector<HostWindow> windows;
  for (const auto& [process, of_step] : steps) {
    struct Candidate {
      HostWindow window;
      double mean_ns = 0;
      bool steady = false;
    };
    std::vector<Candidate> candidates;
    for (const auto& [step, spans] : of_step) {
      Candidate one{.window = {process, step, spans[0].start_ns, spans[0].end_ns},
                    .steady = spans[0].steady};
      for (const StepIndex::Span& span : spans) {
        one.window.start_ns = std::min(one.window.start_ns, span.start_ns);
        one.window.end_ns = std::max(one.window.end_ns, span.end_ns);
        one.mean_ns +=
            static_cast<double>(span.end_ns - span.start_ns) / static_cast<double>(spans.size());
      }
      candidates.push_back(one);
    }
    const auto is_steady = [](const Candidate& c) { return c.steady; };
    if (std::any_of(candidates.begin(), candidates.end(), is_steady)) {
      std::erase_if(candidates, [](const Candidate& c) { return !c.steady; });
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.mean_ns < b.mean_ns; });
    if (candidates.empty()) {
      windows.push_back({process, std::nullopt, INT64_MIN, INT64_MAX});
      continue;
    }
    windows.push_back(candidates[(candidates.size() - 1) / 2].window);
    if (candidates.size() > 1) windows.push_back(candidates.back().window);
  }
  return windows;
}

// What host threads did in those windows: calls and ranges, the longest of each window.
Status HostEvents(PageContext& page) {
  XLATRACE_ASSIGN(std::vector<HostWindow> windows, HostWindows(page));
  if (windows.empty()) return {};
  XLATRACE_ASSIGN(const Table call_kinds, store::ScanCallKinds(page.db));
  XLATRACE_ASSIGN(const Table range_kinds, store::ScanRangeKinds(page.db));
  using Rows = std::unordered_map<int64_t, size_t>;
  const auto rows_of = [](const Table& table, std::string_view id) {
    Rows rows;
    for (size_t r = 0; r < table.rows.size(); ++r) rows[table.Int(r, id)] = r;
    return rows;
  };
  const Rows call_rows = rows_of(call_kinds, "call_kind");
  const Rows range_rows = rows_of(range_kinds, "range_kind");
  std::unordered_map<int64_t, std::vector<size_t>> windows_of;  // By process.
  for (size_t w = 0; w < windows.size(); ++w) windows_of[windows[w].process_id].push_back(w);
  const size_t most = std::max<size_t>(kMostHostEvents / windows.size(), 200);
  std::vector<std::vector<HostEvent>> kept(windows.size());
  const auto is_longer = [](const HostEvent& a, const HostEvent& b) {
    const int64_t a_ns = a.end_ns - a.start_ns;
    const int64_t b_ns = b.end_ns - b.start_ns;
    return std::tuple(b_ns, a.start_ns, a.kind) < std::tuple(a_ns, b.start_ns, b.kind);
  };
  const auto drop_short_ones = [&](std::vector<HostEvent>& events) {
    if (events.size() <= most) return;
    std::nth_element(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(most),
                     events.end(), is_longer);
    events.resize(most);
  };
  const auto add = [&](const Table& kinds, const Rows& rows, HostEvent event) {
    const auto row = rows.find(event.kind);
    if (row == rows.end() || event.end_ns < event.start_ns) return;
    const auto of_process = windows_of.find(kinds.Int(row->second, "process_id"));
    if (of_process == windows_of.end()) return;
    for (const size_t w : of_process->second) {
      if (event.end_ns < windows[w].start_ns || event.start_ns > windows[w].end_ns) continue;
      ++windows[w].events;
      event.window = w;
      kept[w].push_back(event);
      if (kept[w].size() >= 4 * most) drop_short_ones(kept[w]);
      return;  // What lies in both is drawn once.
    }
  };
  XLATRACE_TRY(store::ScanLaunches(page.db, [&](const store::ScannedLaunch& launch) {
    if (launch.call_kind != 0) {
      add(call_kinds, call_rows,
          {launch.call_start_ns, launch.call_end_ns, 0, true, launch.call_kind});
    }
    return true;
  }));
  XLATRACE_TRY(store::ScanOtherCalls(page.db, [&](const store::ScannedOtherCall& call) {
    add(call_kinds, call_rows, {call.start_ns, call.end_ns, 0, true, call.call_kind});
  }));
  XLATRACE_TRY(store::ScanRanges(page.db, [&](const store::ScannedRange& range) {
    if (!range.is_mark) {
      add(range_kinds, range_rows,
          {range.start_ns, range.start_ns + range.duration_ns, 0, false, range.range_kind});
    }
    return true;
  }));
  struct Row {
    int64_t process_id, thread_id, start_ns, end_ns;
    bool is_call;
    std::string_view text;
  };
  std::vector<Row> rows;
  const size_t call_name = call_kinds.Column("name"), range_text = range_kinds.Column("text");
  for (size_t w = 0; w < windows.size(); ++w) {
    drop_short_ones(kept[w]);
    windows[w].kept = static_cast<int64_t>(kept[w].size());
    for (const HostEvent& event : kept[w]) {
      const Table& kinds = event.is_call ? call_kinds : range_kinds;
      const size_t kind = (event.is_call ? call_rows : range_rows).at(event.kind);
      const store::Cell& text = kinds.rows[kind][event.is_call ? call_name : range_text];
      const auto* words = std::get_if<std::string>(&text);
      rows.push_back({windows[w].process_id, kinds.Int(kind, "thread_id"), event.start_ns,
                      event.end_ns, event.is_call, words != nullptr ? *words : std::string_view()});
    }
  }
  // Outer before inner, as they nest.
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.process_id, a.thread_id, a.start_ns, -a.end_ns, a.is_call, a.text) <
           std::tuple(b.process_id, b.thread_id, b.start_ns, -b.end_ns, b.is_call, b.text);
  });
  PageTable table("host_events", page.blocks.strings());
  table.Declare("process>processes thread_id start_ns:delta duration_ns call:flag text:text");
  for (const Row& row : rows) {
    SetCell(table, 0, row.process_id, &page.processes);
    table.Set(1, row.thread_id);
    table.Set(2, row.start_ns);
    table.Set(3, row.end_ns - row.start_ns);
    table.Set(4, row.is_call ? 1 : 0);
    table.SetText(5, row.text);
    table.EndRow();
  }
  if (!table.empty()) page.blocks.WriteChunk(table);
  PageTable held("host_windows", page.blocks.strings());
  held.Declare("process>processes step start_ns end_ns events kept");
  for (const HostWindow& window : windows) {
    if (window.events == 0) continue;
    SetCell(held, 0, window.process_id, &page.processes);
    held.Set(1, window.step);
    if (window.step) {
      held.Set(2, window.start_ns);
      held.Set(3, window.end_ns);
    }
    held.Set(4, window.events);
    held.Set(5, window.kept);
    held.EndRow();
  }
  page.blocks.Write(held);
  return {};
}

// The longest, by device and start: a row of the timeline.
Status GraphLaunches(PageContext& page) {
  XLATRACE_ASSIGN(std::vector<store::ScannedGraphLaunch> launches,
                  store::ScanGraphLaunches(page.db));
  if (launches.size() > kMostGaps) {
    const auto cut = launches.begin() + kMostGaps;
    std::nth_element(launches.begin(), cut, launches.end(), [](const auto& a, const auto& b) {
      return std::tuple(b.end_ns - b.start_ns, a.device_id, a.start_ns) <
             std::tuple(a.end_ns - a.start_ns, b.device_id, b.start_ns);
    });
    int64_t ns = 0;
    for (auto at = cut; at != launches.end(); ++at) ns += at->end_ns - at->start_ns;
    page.blocks.LeftOut("graph_launches", launches.end() - cut, ns);
    launches.erase(cut, launches.end());
  }
  std::sort(launches.begin(), launches.end(), [](const auto& a, const auto& b) {
    return std::tie(a.device_id, a.start_ns, a.graph_id) <
           std::tie(b.device_id, b.start_ns, b.graph_id);
  });
  PageTable table("graph_launches", page.blocks.strings());
  table.Declare("device>devices start_ns:delta end_ns:delta activities graph_id");
  for (const store::ScannedGraphLaunch& launch : launches) {
    SetCell(table, 0, launch.device_id, &page.devices);
    table.Set(1, launch.start_ns);
    table.Set(2, launch.end_ns);
    table.Set(3, launch.activities);
    table.Set(4, launch.graph_id);
    table.EndRow();
  }
  page.blocks.Write(table);
  return {};
}

Status Collectives(PageContext& page) {
  struct Sum {
    int64_t calls = 0, ns = 0;
    std::optional<int64_t> bytes, group_size, exposed_ns, algorithm, bus, skew;
  };
  std::map<std::pair<int64_t, std::string>, Sum> sums;  // By row of ops.
  const auto add = [](std::optional<int64_t>& to, const std::optional<int64_t>& value) {
    if (value) to = to.value_or(0) + *value;
  };
  XLATRACE_TRY(page.db.ForEach(
      "SELECT a.module_id, a.instruction, a.device_id, a.step, a.self_ns, c.op, c.bytes,"
      " c.group_size, c.exposed_ns, c.algorithm_bandwidth, c.bus_bandwidth, c.arrival_skew_ns"
      " FROM collective c JOIN activity a ON a.activity_id = c.activity_id",
      [&](const Statement& row) {
        if (row.IsNull(1) || !page.InBasis(row.Int64(2), row.OptionalInt64(3))) return true;
        const auto op = page.op_rows.find(OpKey(row.Int64(0), row.Text(1)));
        if (op == page.op_rows.end()) return true;
        Sum& sum = sums[{op->second, std::string(row.Text(5))}];
        ++sum.calls;
        sum.ns += row.Int64(4);
        if (!row.IsNull(6)) sum.bytes = row.Int64(6);
        if (!row.IsNull(7)) sum.group_size = row.Int64(7);
        add(sum.exposed_ns, row.OptionalInt64(8));
        add(sum.algorithm, row.OptionalInt64(9));
        add(sum.bus, row.OptionalInt64(10));
        add(sum.skew, row.OptionalInt64(11));
        return true;
      }));
  PageTable table("collectives", page.blocks.strings());
  table.Declare(
      "op>ops collective:text calls bytes group_size ns exposed_ns algorithm_bandwidth"
      " bus_bandwidth arrival_skew_ns");
  for (const auto& [key, sum] : sums) {
    table.Set(0, key.first);
    table.SetText(1, key.second);
    table.Set(2, sum.calls);
    table.Set(3, sum.bytes);
    table.Set(4, sum.group_size);
    table.Set(5, sum.ns);
    table.Set(6, sum.exposed_ns);
    const auto mean = [&table, calls = sum.calls](size_t column, const auto& value) {
      if (value) table.Set(column, *value / calls);
    };
    mean(7, sum.algorithm);
    mean(8, sum.bus);
    mean(9, sum.skew);
    table.EndRow();
  }
  page.blocks.Write(table);
  return {};
}

}  // namespace

Status LoadPageGaps(PageContext& page) {
  std::vector<store::ScannedGap>& longest = page.gaps;
  const auto is_longer = [](const store::ScannedGap& a, const store::ScannedGap& b) {
    const int64_t a_ns = a.end_ns - a.start_ns;
    const int64_t b_ns = b.end_ns - b.start_ns;
    if (a_ns != b_ns) return a_ns > b_ns;
    return std::tie(a.device_id, a.start_ns) < std::tie(b.device_id, b.start_ns);
  };
  const auto drop_short_ones = [&] {
    if (longest.size() <= kMostGaps) return;
    std::nth_element(longest.begin(), longest.begin() + kMostGaps, longest.end(), is_longer);
    longest.resize(kMostGaps);
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
    page.gap_sums.ns += ns;
    ++page.gap_sums.count;
    longest.push_back(gap);
    if (longest.size() >= 4 * kMostGaps) drop_short_ones();
  }));
  for (const auto& [key, sum] : sums) {
    const auto& [device, step, cause] = key;
    page.gap_sums.sums[{device, step, std::string(Text(cause))}] = sum;
  }
  drop_short_ones();
  std::sort(longest.begin(), longest.end(), [](const auto& a, const auto& b) {
    return std::tie(a.device_id, a.start_ns) < std::tie(b.device_id, b.start_ns);
  });
  return {};
}

Status WriteTimeTables(PageContext& page) {
  XLATRACE_TRY(Steps(page));
  XLATRACE_TRY(Gaps(page));
  XLATRACE_TRY(HostEvents(page));
  XLATRACE_TRY(GraphLaunches(page));
  return Collectives(page);
}

}  // namespace xlatrace::report
