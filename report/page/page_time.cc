// SPDX-License-Identifier: Apache-2.0

// Tables of wall time: steps and their parts, busy time, launches of graphs, collectives.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/page/page_context.h"
#include "report/shown_words.h"
#include "report/step_differences.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using store::Statement;

constexpr size_t kMaxGraphLaunchCount = 20'000;

// The first screen's facts about steps that take longer than others.
Status DifferencesOfSteps(PageContext& page) {
  std::map<std::pair<int64_t, int64_t>, StepOfDevice> steps;  // By number and device.
  std::optional<int64_t> last;
  XLATRACE_TRY(page.db.ForEach("SELECT step, device_id, end_ns - start_ns, steady, how FROM step",
                               [&](const Statement& row) {
                                 const int64_t step = row.Int64(0), device = row.Int64(1);
                                 if (row.Text(4) == "execution")
                                   last = std::max(last.value_or(step), step);
                                 if (row.Int64(3) != 0)
                                   steps[{step, device}] = {step, device, row.Int64(2)};
                                 return true;
                               }));
  XLATRACE_TRY(page.db.ForEach("SELECT step, device_id, part, wall_ns FROM step_part",
                               [&](const Statement& row) {
                                 const auto step = steps.find({row.Int64(0), row.Int64(1)});
                                 const auto part = StepPartFromText(row.Text(2));
                                 if (step == steps.end() || !part) return true;
                                 step->second.parts[static_cast<size_t>(*part)] += row.Int64(3);
                                 return true;
                               }));
  std::vector<StepOfDevice> list;
  for (const auto& [key, step] : steps) list.push_back(step);
  const auto differ = WhyStepsDiffer(list, last, page.view.steps.typical_ns);
  nlohmann::ordered_json& meta = page.meta["step_differences"] = nullptr;
  if (!differ) return {};
  meta = {{"heading", differ->heading},
          {"range", differ->range},
          {"text", differ->text},
          {"part", differ->part ? std::string(PartColor(*differ->part)) : std::string()},
          {"steps", nlohmann::ordered_json::array()}};
  for (const StepDifferences::Bar& bar : differ->bars) {
    meta["steps"].push_back({{"step", bar.step}, {"ns", bar.wall_ns}, {"part_ns", bar.part_ns}});
  }
  return {};
}

Status Steps(PageContext& page) {
  const std::vector<const IdRows*> devices = {&page.devices};
  PageTable steps("steps", page.blocks.strings());
  steps.Declare(
      "step device>devices start_ns:delta end_ns:delta device_ns busy_ns steady how:word typical");
  XLATRACE_TRY(
      FillTable(page.db,
                "SELECT step, device_id, start_ns, end_ns, device_ns, busy_ns, steady, how,"
                " typical"
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

// The longest, by device and start: a row of the timeline.
Status GraphLaunches(PageContext& page) {
  XLATRACE_ASSIGN(std::vector<store::ScannedGraphLaunch> launches,
                  store::ScanGraphLaunches(page.db));
  if (launches.size() > kMaxGraphLaunchCount) {
    const auto cut = launches.begin() + kMaxGraphLaunchCount;
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

// Mean over the calls that have the figure.
struct Mean {
  int64_t sum = 0, count = 0;
  void Add(std::optional<int64_t> value) {
    sum += value.value_or(0);
    count += value.has_value();
  }
  std::optional<int64_t> Value() const {
    return count == 0 ? std::nullopt : std::optional(sum / count);
  }
};

Status Collectives(PageContext& page) {
  struct Sum {
    int64_t calls = 0, ns = 0;
    std::optional<int64_t> bytes, group_size, exposed_ns;
    Mean algorithm, bus, skew;
  };
  std::map<std::pair<int64_t, std::string>, Sum> sums;  // By row of ops.
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
        if (!row.IsNull(8)) sum.exposed_ns = sum.exposed_ns.value_or(0) + row.Int64(8);
        sum.algorithm.Add(row.OptionalInt64(9));
        sum.bus.Add(row.OptionalInt64(10));
        sum.skew.Add(row.OptionalInt64(11));
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
    table.Set(7, sum.algorithm.Value());
    table.Set(8, sum.bus.Value());
    table.Set(9, sum.skew.Value());
    table.EndRow();
  }
  page.blocks.Write(table);
  return {};
}

}  // namespace

Status WriteTimeTables(PageContext& page) {
  XLATRACE_TRY(Steps(page));
  XLATRACE_TRY(DifferencesOfSteps(page));
  XLATRACE_TRY(WriteGapTables(page));
  XLATRACE_TRY(WriteTreeTables(page));
  page.host.Write(page);
  XLATRACE_TRY(GraphLaunches(page));
  return Collectives(page);
}

}  // namespace xlatrace::report
