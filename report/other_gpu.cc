// SPDX-License-Identifier: Apache-2.0
#include "report/other_gpu.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/device_facts.h"
#include "analysis/occupancy.h"
#include "analysis/other_gpu.h"
#include "base/number_format.h"
#include "report/launch_sums.h"
#include "report/show/show_sheet.h"
#include "report/text_table.h"
#include "report/word_tables.h"

namespace xlatrace::report {
namespace {

using store::RunDb;

// Time-weighted occupancy of the launches of one op or kernel, on both GPUs.
struct Occupancies {
  int64_t launches = 0;
  double here_ns = 0, here = 0;
  double there_ns = 0, there = 0;
  double most_ns = -1;
  std::string limiter;  // Limit on the other GPU, of the launches with most time.
  double waves = 0;
  bool fits = true;

  void Add(const Json& row, const analysis::Gpu& gpu) {
    const double ns = JsonNumber(row, "self_ns");
    launches += static_cast<int64_t>(JsonNumber(row, "launches"));
    if (JsonHas(row, "theoretical_occupancy_pct")) {
      here += ns * JsonNumber(row, "theoretical_occupancy_pct");
      here_ns += ns;
    }
    const auto shape = KernelShapeOf(row);
    const auto limits = analysis::FindGpuLimits(gpu.compute_capability);
    if (!shape || !limits) return;
    const auto occupancy = analysis::ComputeOccupancy(*shape, *limits);
    if (!occupancy) {
      fits = false;
      return;
    }
    there += ns * static_cast<double>(occupancy->milli_pct) / 1000;
    there_ns += ns;
    if (ns <= most_ns) return;
    most_ns = ns;
    limiter = occupancy->Limiter();
    const auto milli = analysis::WavesMilli(*shape, *occupancy, gpu.sm_count);
    waves = static_cast<double>(milli.value_or(0)) / 1000;
  }

  void Write(Json* row) const {
    (*row)["launches"] = launches;
    (*row)["occupancy_pct"] = here_ns > 0 ? Json(here / here_ns) : Json();
    (*row)["occupancy_there_pct"] = there_ns > 0 ? Json(there / there_ns) : Json();
    (*row)["occupancy_limiter_there"] = limiter.empty() ? Json() : Json(limiter);
    (*row)["waves_there"] = waves > 0 ? Json(waves) : Json();
    if (!fits) (*row)["fits_there"] = false;
  }
};

// By handle of the op.
Result<std::map<std::string, Occupancies>> OccupanciesOfOps(RunDb& db, const analysis::Gpu& gpu) {
  XLATRACE_ASSIGN(const store::Table ops, db.Select("SELECT module_id, instruction, handle FROM"
                                                    " op_time WHERE handle IS NOT NULL"));
  std::map<std::pair<int64_t, std::string>, std::string> handle_of;
  for (size_t i = 0; i < ops.rows.size(); ++i) {
    handle_of.emplace(std::pair(ops.Int(i, "module_id"), ops.Text(i, "instruction")),
                      ops.Text(i, "handle"));
  }
  XLATRACE_ASSIGN(const LaunchSums launches, LaunchSums::Load(db));
  const auto group = [&](const LaunchSum& sum) {
    const auto handle =
        handle_of.find({launches.ModuleOf(sum), launches.LabelText(sum, "instruction")});
    return std::tuple(handle == handle_of.end() ? std::string() : handle->second, sum.config_id,
                      sum.device_id);
  };
  std::map<std::string, Occupancies> result;
  for (const LaunchSum& sum : GroupSums(launches.sums(), group)) {
    const std::string handle = std::get<0>(group(sum));
    if (!handle.empty()) result[handle].Add(launches.LaunchJson(sum), gpu);
  }
  return result;
}

// Ops with their bound on the other GPU.
Result<Json> OpRows(RunDb& db, const analysis::Gpu& gpu, const analysis::DeviceFacts& here,
                    Json* totals) {
  XLATRACE_ASSIGN(Json ops,
                  Rows(db,
                       "SELECT handle, instruction, op_kind, layer, self_ns, flops, bytes,"
                       " bound_by, compute_type FROM op_time WHERE handle IS NOT NULL"
                       " ORDER BY self_ns DESC"));
  auto occupancies = OccupanciesOfOps(db, gpu);
  if (!occupancies) return tl::unexpected<Error>(std::move(occupancies).error());
  const analysis::DeviceFacts there = analysis::FactsOf(gpu);
  int64_t judged_ns = 0;
  int64_t there_ns = 0;
  int64_t unjudged_ns = 0;
  for (Json& op : ops) {
    const Occupancies& occupancy = (*occupancies)[op["handle"].get<std::string>()];
    occupancy.Write(&op);
    const std::string type = JsonText(op, "compute_type");
    const std::string bound = JsonText(op, "bound_by");
    analysis::StoredOp stored;
    stored.flops = JsonInt(op, "flops");
    stored.bytes = JsonInt(op, "bytes");
    stored.time_ns = JsonInt(op, "self_ns").value_or(0);
    stored.launches = occupancy.launches;
    stored.compute_type = type;
    stored.bound_by = bound;
    const analysis::OtherGpuEstimate estimate = analysis::EstimateOn(stored, here, there);
    op["bound_by_there"] = Text(estimate.there.bound);
    op["compute_type_there"] = estimate.there.peak.type;
    const bool known = estimate.there.wasted_ns.has_value();  // Cost, peaks, no communication.
    op["ns_there"] = estimate.time_ns && known ? Json(*estimate.time_ns) : Json();
    if (!here.peaks && known) {
      op["utilisation_pct"] =
          100 * std::min(1.0, std::max(*estimate.there.compute, *estimate.there.memory));
      op["wasted_ns"] = *estimate.there.wasted_ns;
    }
    if (op["ns_there"].is_null()) {
      unjudged_ns += stored.time_ns;
    } else {
      judged_ns += stored.time_ns;
      there_ns += *estimate.time_ns;
    }
  }
  *totals = {{"judged_ns", judged_ns}, {"judged_ns_there", there_ns}, {"unjudged_ns", unjudged_ns}};
  return ops;
}

Result<Json> KernelRows(RunDb& db, const analysis::Gpu& gpu) {
  constexpr size_t kMaxMeasuredKernels = 500;
  XLATRACE_ASSIGN(const LaunchSums launches, LaunchSums::Load(db));
  std::map<std::string, Occupancies> occupancies;
  const auto group = [](const LaunchSum& sum) { return std::pair(sum.config_id, sum.device_id); };
  for (const LaunchSum& sum : GroupSums(launches.sums(), group)) {
    if (!launches.IsLaunch(sum)) continue;
    occupancies[launches.ConfigText(sum, "kernel_symbol")].Add(launches.LaunchJson(sum), gpu);
  }
  Json rows = Json::array();
  for (const LaunchSums::Kernel& kernel : launches.Kernels()) {
    if (rows.size() == kMaxMeasuredKernels) break;
    Json& row = rows.emplace_back(
        Json{{"handle", kernel.handle},
             {"kernel_name", kernel.name.empty() ? Json() : Json(kernel.name)},
             {"kernel_symbol", kernel.symbol.empty() ? Json() : Json(kernel.symbol)},
             {"self_ns", kernel.sum.self_ns}});
    occupancies[kernel.symbol].Write(&row);
  }
  return rows;
}

std::string PctOrDash(const Json& row, std::string_view key) {
  return JsonHas(row, key) ? Significant(JsonNumber(row, key)) : "-";
}

std::string Text(const Json& sheet, const ShowOptions& options, size_t rows) {
  const bool same = sheet["is_this_run"].get<bool>();
  const std::string gpu = JsonText(sheet, "gpu");
  const std::string here = JsonText(sheet, "recorded_on");
  std::string out;
  const auto line = [&](const std::string& text) {
    for (const std::string& each : Wrap(Safe(text, options.ascii), options.width)) {
      out += each + "\n";
    }
  };
  line(same ? fmt::format("{}  taken to be recorded on {}, as the recording names no GPU",
                          JsonText(sheet, "path"), gpu)
            : fmt::format("{}  recorded on {}, estimated for {}", JsonText(sheet, "path"), here,
                          gpu));
  const double judged = JsonNumber(sheet["totals"], "judged_ns");
  const double there = JsonNumber(sheet["totals"], "judged_ns_there");
  if (judged > 0 && !same) {
    line(
        fmt::format("{} of device time would be about {} ({}x) when every op came as close to "
                    "the roof as it does here; {} cannot be judged (communication, no cost).",
                    Duration(judged), Duration(there), Significant(judged / std::max(there, 1.0)),
                    Duration(JsonNumber(sheet["totals"], "unjudged_ns"))));
  }
  out += "\n";
  TextTable table({{"op"},
                   {"time", true},
                   {same ? "% of roof" : "there", true},
                   {"bound", false, 8},
                   {same ? "wasted" : "was", same},
                   {"occ %", true},
                   {"there %", true},
                   {"waves", true},
                   {"limited by", false, 24},
                   {"name", false, 60, false, true}});
  for (size_t i = 0; i < sheet["rows"].size() && i < rows; ++i) {
    const Json& row = sheet["rows"][i];
    const std::string time_there =
        JsonHas(row, "ns_there") ? Duration(JsonNumber(row, "ns_there")) : "-";
    table.Add({JsonText(row, "handle"), Duration(JsonNumber(row, "self_ns")),
               same ? PctOrDash(row, "utilisation_pct") : time_there,
               JsonText(row, "bound_by_there"),
               same ? (JsonHas(row, "wasted_ns") ? Duration(JsonNumber(row, "wasted_ns")) : "-")
                    : JsonText(row, "bound_by"),
               PctOrDash(row, "occupancy_pct"), PctOrDash(row, "occupancy_there_pct"),
               PctOrDash(row, "waves_there"),
               JsonHas(row, "fits_there") ? "does not fit"
                                          : LimiterWords(JsonText(row, "occupancy_limiter_there")),
               JsonHas(row, "instruction") ? JsonText(row, "instruction")
                                           : JsonText(row, "kernel_name")});
  }
  for (const std::string& each : table.Lines(options.width, options.ascii)) out += each + "\n";
  if (sheet["rows"].size() > rows) {
    out += fmt::format("[{} others: --format json]\n", sheet["rows"].size() - rows);
  }
  return out;
}

}  // namespace

Result<std::string> SummaryOnGpu(RunDb& db, const ShowOptions& options, size_t rows) {
  const analysis::Gpu& gpu = *options.gpu;
  XLATRACE_ASSIGN(const Json device,
                  Row(db, "SELECT device_id, name, gpu FROM device WHERE kind = 'gpu' LIMIT 1"));
  if (device.is_null()) {
    return MakeError("'" + db.path() + "' holds no GPU whose launches could be judged",
                     "other GPUs are compared with runs on a GPU only");
  }
  XLATRACE_ASSIGN(const analysis::DeviceFacts here,
                  FactsOfStoredDevice(db, JsonInt(device, "device_id").value_or(1)));
  const std::string known = JsonText(device, "gpu");
  const std::string name = known.empty() ? JsonText(device, "name") : known;
  Json sheet{{"schema_version", 1},
             {"path", db.path()},
             {"gpu", gpu.name},
             {"recorded_on", name.empty() ? Json() : Json(name)},
             {"is_this_run", !here.peaks.has_value()},
             {"totals", Json::object()}};
  XLATRACE_ASSIGN(sheet["rows"], OpRows(db, gpu, here, &sheet["totals"]));
  // Without HLO there are no ops, but kernels.
  if (sheet["rows"].empty()) {
    XLATRACE_ASSIGN(sheet["rows"], KernelRows(db, gpu));
  }
  if (options.json) return sheet.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  constexpr size_t kRows = 25;
  return Text(sheet, options, rows > 0 ? rows : kRows);
}

}  // namespace xlatrace::report
