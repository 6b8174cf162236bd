// SPDX-License-Identifier: Apache-2.0

// Sheets of kernels, modules, findings, layers and source lines.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/apportion.h"
#include "analysis/memory/peak_memory.h"
#include "base/shell_word.h"
#include "compare/statistics.h"
#include "hlo/artefacts/module_memory.h"
#include "report/launch_sums.h"
#include "report/launched_in.h"
#include "report/run_view.h"
#include "report/share_times.h"
#include "report/show/show_sheet.h"
#include "report/source_figures.h"
#include "store/launch_scan.h"

namespace xlatrace::report {
namespace {

using store::RunDb;

constexpr size_t kMaxListRows = 40;

// Columns of ops in the sheets that list them.
constexpr std::string_view kOpColumns =
    "SELECT handle, op AS instruction, op_kind, phase, layer, self_ns, steady_ns, occurrences, "
    "wasted_ns,"
    " bound_by, max(coalesce(compute_utilisation_pct, 0), coalesce(memory_utilisation_pct, 0))"
    " AS utilisation_pct, source_file, source_line FROM op_time ";

Result<Json> Ops(RunDb& db, std::string_view where, std::initializer_list<store::Cell> parameters) {
  std::string sql(kOpColumns);
  sql += where;
  sql += " AND handle IS NOT NULL ORDER BY self_ns DESC";
  return Rows(db, sql, parameters, kMaxListRows);
}

// Rows with an op's handle and self_ns, and the share_ppm of a part of it: the time of each op.
std::vector<int64_t> PartsOf(const store::Table& shares) {
  std::map<std::string, std::vector<size_t>> rows_of;  // By handle.
  for (size_t i = 0; i < shares.rows.size(); ++i) rows_of[shares.Text(i, "handle")].push_back(i);
  std::vector<int64_t> ns(shares.rows.size()), ppm, parts;
  for (const auto& [handle, rows] : rows_of) {
    ppm.clear();
    for (const size_t row : rows) ppm.push_back(shares.Int(row, "share_ppm"));
    parts.resize(ppm.size());
    analysis::Apportion(shares.Int(rows[0], "self_ns"), ppm, parts);
    for (size_t k = 0; k < rows.size(); ++k) ns[rows[k]] = parts[k];
  }
  return ns;
}

// Ops with a matching part, and the time of that part: `here_ns`.
Result<Json> OpsWithin(RunDb& db, std::string_view where,
                       std::initializer_list<store::Cell> parameters) {
  const std::string condition(where);
  XLATRACE_ASSIGN(
      const store::Table shares,
      db.Select("SELECT o.handle, o.self_ns, s.share_ppm, s.here FROM op_time o JOIN (SELECT"
                " module_id, instruction, share_ppm, (" +
                    condition +
                    ") AS here FROM instruction_share) s ON s.module_id = o.module_id AND"
                    " s.instruction = o.instruction WHERE o.handle IS NOT NULL",
                parameters));
  const std::vector<int64_t> parts = PartsOf(shares);
  std::map<std::string, int64_t> here_ns;
  for (size_t i = 0; i < parts.size(); ++i) {
    here_ns[shares.Text(i, "handle")] += shares.Int(i, "here") != 0 ? parts[i] : 0;
  }
  XLATRACE_ASSIGN(
      Json ops,
      Rows(db,
           std::string(kOpColumns) +
               "WHERE handle IS NOT NULL AND ((module_id, instruction) IN"
               " (SELECT module_id, instruction FROM instruction_share WHERE " +
               condition + ") OR (module_id IS NULL AND " + condition + ")) ORDER BY self_ns DESC",
           parameters));
  for (Json& op : ops) {
    const auto here = here_ns.find(JsonText(op, "handle"));
    // Outside of modules, an op has no parts.
    op["here_ns"] = here == here_ns.end() ? op["self_ns"] : Json(here->second);
  }
  std::stable_sort(ops.begin(), ops.end(), [](const Json& a, const Json& b) {
    return JsonInt(a, "here_ns").value_or(0) > JsonInt(b, "here_ns").value_or(0);
  });
  if (ops.size() > kMaxListRows) {
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(kMaxListRows), ops.end());
  }
  return ops;
}

// Time of the ops of a module by phase, by their shares.
Result<Json> ModulePhases(RunDb& db, int64_t module_id) {
  XLATRACE_ASSIGN(const store::Table shares,
                  db.Select("SELECT o.handle, o.self_ns, s.phase, s.share_ppm FROM op_time o JOIN"
                            " instruction_share s ON s.module_id = o.module_id AND s.instruction ="
                            " o.instruction WHERE o.module_id = ?1",
                            {module_id}));
  const std::vector<int64_t> parts = PartsOf(shares);
  std::map<std::string, int64_t> ns_of;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] > 0) ns_of[shares.Text(i, "phase")] += parts[i];
  }
  Json rows = Json::array();
  for (const auto& [phase, ns] : ns_of) rows.push_back({{"phase", phase}, {"self_ns", ns}});
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return JsonInt(a, "self_ns").value_or(0) > JsonInt(b, "self_ns").value_or(0);
  });
  return rows;
}

// Time of the matching parts, by phase; split instructions count with their shares.
Status AddScopeTimes(RunDb& db, std::string_view where,
                     std::initializer_list<store::Cell> parameters, Json* sheet) {
  std::string sql(
      "SELECT phase, sum(self_ns) AS self_ns, sum(estimated_ns) AS estimated_ns FROM scope_time "
      "WHERE ");
  sql += where;
  XLATRACE_ASSIGN(Json phases, Rows(db, sql + " GROUP BY phase ORDER BY self_ns DESC", parameters));
  int64_t self = 0;
  int64_t estimated = 0;
  for (const Json& row : phases) {
    self += row["self_ns"].get<int64_t>();
    estimated += row["estimated_ns"].get<int64_t>();
  }
  XLATRACE_ASSIGN(const Json all, Row(db, "SELECT coalesce(sum(self_ns), 0) AS ns FROM op_time"));
  (*sheet)["self_ns"] = self;
  (*sheet)["estimated_ns"] = estimated;
  (*sheet)["device_ns"] = all["ns"];
  (*sheet)["phases"] = std::move(phases);
  std::string names(
      "SELECT op_name, phase, sum(self_ns) AS self_ns FROM scope_time WHERE op_name IS NOT NULL "
      "AND ");
  names += where;
  XLATRACE_ASSIGN(
      (*sheet)["op_names"],
      Rows(db, names + " GROUP BY op_name, phase ORDER BY self_ns DESC", parameters, kMaxListRows));
  return {};
}

bool IsInside(const std::string& layer, const std::string& whole) {
  return layer.starts_with(whole) && (layer.size() == whole.size() || layer[whole.size()] == '/');
}

// Time per steady step of one device, also for each layer that a `*` represents.
Status AddStepTimes(RunDb& db, const std::function<bool(const ShareTime&)>& here,
                    const std::string& layer, Json* sheet) {
  XLATRACE_ASSIGN(const RunView view, LoadRunView(db));
  if (!view.basis.steady) return {};
  XLATRACE_ASSIGN(const std::vector<ShareTime> shares, LoadShareTimes(db, view));
  const size_t star = layer.find('*');
  const auto depth =
      star == std::string::npos ? -1 : std::count(layer.begin(), layer.begin() + star, '/');
  int64_t ns = 0;
  std::map<std::string, int64_t> siblings;
  for (const ShareTime& share : shares) {
    if (!here(share)) continue;
    ns += share.ns;
    if (depth < 0 || share.layer.find('*') != std::string::npos) continue;
    // XLA combines collectives and updates of several layers; they count for one of them.
    if (view.ops[share.op].op_kind == "collective" || share.phase == model::Phase::kOptimizer) {
      continue;
    }
    // As many components as of the layer up to the star.
    size_t end = 0;
    for (int64_t k = 0; k <= depth && end != std::string::npos; ++k) {
      end = share.layer.find('/', end + (k > 0));
    }
    siblings[share.layer.substr(0, end)] += share.ns;
  }
  const auto per_step = [&](int64_t of) { return of / view.basis.step_devices; };
  (*sheet)["per_step"] = {{"ns", per_step(ns)}, {"device_ns", per_step(view.coverage.device_ns)}};
  if (siblings.size() < 2) return {};
  std::vector<double> times;
  for (const auto& [name, of] : siblings) times.push_back(static_cast<double>(per_step(of)));
  Json rows = Json::array();
  for (const auto& [name, of] : siblings) rows.push_back({{"layer", name}, {"ns", per_step(of)}});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Json& a, const Json& b) { return a["ns"] > b["ns"]; });
  (*sheet)["siblings"] = {{"median_ns", std::llround(compare::Median(times))},
                          {"layers", std::move(rows)}};
  return {};
}

Status AddMemory(RunDb& db, int64_t module_id, Json* sheet) {
  const auto module = LoadHlo(db, module_id);
  if (!module || module->peak_memory_bytes < 0) return {};
  const auto assignment = hlo::BufferAssignmentOf(*module);
  if (!assignment) return {};
  const hlo::ModuleMemory memory = analysis::PeakMemory(*module, *assignment, nullptr);
  Json json{
      {"total_bytes", memory.total_bytes},
      {"parameter_bytes", memory.parameter_bytes},
      {"output_bytes", memory.output_bytes},
      {"constant_bytes", memory.constant_bytes},
      {"temporary_bytes", memory.temp_bytes},
      {"at_instruction", memory.at_instruction.empty() ? Json() : Json(memory.at_instruction)},
      {"at_peak", Json::array()},
      {"more_at_peak", memory.more_at_peak}};
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  for (const hlo::PeakBuffer& value : memory.at_peak) {
    json["at_peak"].push_back(
        {{"instruction", or_null(value.instruction)},
         {"shape", or_null(value.shape)},
         {"bytes", value.size_bytes},
         {"owner", or_null(value.owner)},
         {"phase", or_null(value.phase)},
         {"layer", or_null(value.layer)},
         {"source_file", or_null(value.source_file)},
         {"source_line", value.source_line > 0 ? Json(value.source_line) : Json()}});
  }
  json["owners"] = Json::array();
  for (const hlo::OwnerBytes& owner : memory.owners) {
    json["owners"].push_back({{"owner", owner.owner}, {"bytes", owner.bytes}});
  }
  (*sheet)["memory"] = std::move(json);
  return {};
}

// Places from which launches without an instruction came, for these configurations.
Result<Json> LaunchPlaces(RunDb& db, const std::set<int64_t>& configs) {
  LaunchedIn launched_in;
  XLATRACE_TRY(launched_in.Open(db));
  Json rows = Json::array();
  if (!launched_in.is_open()) return rows;
  Status status;
  XLATRACE_TRY(store::ScanLaunches(db, [&](const store::ScannedLaunch& launch) {
    if (configs.contains(launch.config_id)) status = launched_in.Add(launch, /*in_basis=*/false);
    return status.has_value();
  }));
  XLATRACE_TRY(status);
  XLATRACE_TRY(launched_in.Finish());
  const auto places = launched_in.ByGroup(
      [&](int64_t config_id) { return configs.contains(config_id) ? int64_t{0} : int64_t{-1}; });
  for (const auto& [group, of] : places) {
    for (const LaunchPlace& place : of) {
      rows.push_back({{"how", Text(place.kind)},
                      {"path", place.path.empty() ? Json() : Json(place.path)},
                      {"paths", place.kind == PlaceKind::kMore ? Json(place.paths) : Json()},
                      {"launches", place.launches},
                      {"self_ns", place.self_ns}});
    }
  }
  return rows;
}

}  // namespace

Result<Json> KernelSheet(RunDb& db, const std::string& what, const ShowOptions& options) {
  XLATRACE_ASSIGN(const LaunchSums launches, LaunchSums::Load(db));
  const std::vector<LaunchSums::Kernel> kernels = launches.Kernels();
  const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) {
    return k.handle == what || k.symbol == what || k.name == what;
  });
  if (kernel == kernels.end()) return Json();
  Json sheet{{"kind", "kernel"},
             {"handle", kernel->handle},
             {"kernel",
              {{"handle", kernel->handle},
               {"kernel_name", kernel->name.empty() ? Json() : Json(kernel->name)},
               {"kernel_symbol", kernel->symbol.empty() ? Json() : Json(kernel->symbol)},
               {"launches", kernel->sum.launches},
               {"self_ns", kernel->sum.timed > 0 ? Json(kernel->sum.self_ns) : Json()},
               {"total_ns", kernel->sum.timed > 0 ? Json(kernel->sum.total_ns) : Json()}}}};
  // The page's figure, with its own name, in addition to the figure of the whole run.
  XLATRACE_ASSIGN(const RunView view, LoadRunView(db));
  if (view.basis.steady) {
    for (const NamedFigure& figure : view.kernels) {
      if (figure.name != kernel->name) continue;
      sheet["per_step"] = {{"ns", figure.ns / view.basis.step_devices},
                           {"launches", static_cast<double>(figure.calls) /
                                            static_cast<double>(view.basis.step_devices)},
                           {"device_ns", view.coverage.device_ns / view.basis.step_devices}};
      break;
    }
  }
  std::vector<LaunchSum> of_symbol;  // Kernels, from the view `launch`.
  std::vector<LaunchSum> of_ops, without_op;
  for (const LaunchSum& sum : launches.sums()) {
    if (kernel->symbol.empty() || launches.ConfigText(sum, "kernel_symbol") != kernel->symbol) {
      continue;
    }
    const bool attributed = !launches.LabelText(sum, "instruction").empty();
    if (attributed) of_ops.push_back(sum);
    if (!launches.IsLaunch(sum)) continue;
    of_symbol.push_back(sum);
    if (!attributed) without_op.push_back(sum);
  }
  // Launches that differ only in names or clusters become one row.
  const auto shape_of = [&](const LaunchSum& sum) {
    std::string shape;
    for (const std::string_view column :
         {"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers_per_thread",
          "shared_memory_static_bytes", "shared_memory_dynamic_bytes"}) {
      shape.append(launches.ConfigText(sum, column)).push_back(' ');
    }
    return shape;
  };
  Json rows = Json::array();
  const std::vector<LaunchSum> shapes = GroupSums(of_symbol, shape_of);
  for (const LaunchSum& sum : shapes) {
    if (rows.size() == kMaxListRows) break;
    Json row = launches.LaunchJson(sum);
    row.erase("kernel_symbol");
    row["min_ns"] = sum.timed > 0 ? Json(sum.min_ns) : Json();
    row["max_ns"] = sum.timed > 0 ? Json(sum.max_ns) : Json();
    rows.push_back(std::move(row));
  }
  XLATRACE_TRY(AddOccupancyAdvice(db, options, &rows));
  std::set<int64_t> configs;
  for (const LaunchSum& sum : of_symbol) configs.insert(sum.config_id);
  XLATRACE_ASSIGN(sheet["host"], LaunchLatency(db, [&](int64_t /*label_id*/, int64_t config_id) {
                    return configs.contains(config_id);
                  }));
  sheet["launches"] = std::move(rows);
  sheet["launch_configurations"] = shapes.size();
  XLATRACE_ASSIGN(sheet["launched_in"], LaunchPlaces(db, configs));

  XLATRACE_ASSIGN(const store::Table ops,
                  db.Select("SELECT module_id, instruction, handle, op_kind, phase, layer, bound_by"
                            " FROM op_time WHERE handle IS NOT NULL"));
  std::map<std::pair<int64_t, std::string>, size_t> row_of_op;
  for (size_t i = 0; i < ops.rows.size(); ++i) {
    row_of_op.emplace(std::pair(ops.Int(i, "module_id"), ops.Text(i, "instruction")), i);
  }
  const auto op_of = [&](const LaunchSum& sum) {
    return std::pair(launches.ModuleOf(sum), launches.LabelText(sum, "instruction"));
  };
  const Json op_rows = RowsJson(ops);
  Json& into = sheet["ops"] = Json::array();
  for (const LaunchSum& sum : GroupSums(of_ops, op_of)) {
    const auto row = row_of_op.find(op_of(sum));
    if (row == row_of_op.end() || into.size() == kMaxListRows) continue;
    const Json& op = op_rows[row->second];
    into.push_back({{"handle", op["handle"]},
                    {"instruction", op["instruction"]},
                    {"op_kind", op["op_kind"]},
                    {"phase", op["phase"]},
                    {"layer", op["layer"]},
                    {"self_ns", sum.timed > 0 ? Json(sum.self_ns) : Json()},
                    {"launches", sum.launches},
                    {"bound_by", op["bound_by"]}});
  }
  const auto reason_of = [&](const LaunchSum& sum) {
    const std::string reason = launches.LabelText(sum, "unattributed_reason");
    return reason.empty() ? std::string(Text(model::Reason::kUnknown)) : reason;
  };
  sheet["unattributed"] = Json::array();
  for (const LaunchSum& sum : GroupSums(without_op, reason_of)) {
    sheet["unattributed"].push_back({{"unattributed_reason", reason_of(sum)},
                                     {"launches", sum.launches},
                                     {"self_ns", sum.timed > 0 ? Json(sum.self_ns) : Json()}});
  }
  return sheet;
}

Result<Json> ModuleSheet(RunDb& db, const std::string& handle) {
  XLATRACE_ASSIGN(const Json module, Row(db, "SELECT * FROM module WHERE handle = ?1", {handle}));
  if (module.is_null()) {
    return MakeError("there is no module " + handle + " in '" + db.path() + "'",
                     "modules are numbered by time: xlatrace modules " + ShellWord(db.path()));
  }
  const auto module_id = module["module_id"].get<int64_t>();
  Json sheet{{"kind", "module"}, {"handle", handle}, {"module", module}};
  XLATRACE_ASSIGN(sheet["time"],
                  Row(db,
                      "SELECT coalesce(sum(self_ns), 0) AS self_ns, coalesce(sum(steady_ns), 0) AS"
                      " steady_ns, coalesce(sum(flops), 0) AS flops, coalesce(sum(bytes), 0) AS"
                      " bytes, coalesce(sum(wasted_ns), 0) AS wasted_ns, count(*) AS ops,"
                      " (SELECT sum(self_ns) FROM op_time) AS device_ns"
                      " FROM op_time WHERE module_id = ?1",
                      {module_id}));
  XLATRACE_ASSIGN(sheet["executions"],
                  Row(db,
                      "SELECT count(*) AS count, min(end_ns - start_ns) AS min_ns,"
                      " CAST(avg(end_ns - start_ns) AS INT) AS average_ns,"
                      " max(end_ns - start_ns) AS max_ns, sum(complete) AS complete"
                      " FROM execution WHERE module_id = ?1",
                      {module_id}));
  XLATRACE_ASSIGN(sheet["compiles"],
                  Rows(db,
                       "SELECT name, start_ns, end_ns - start_ns AS duration_ns FROM compile"
                       " WHERE module_id = ?1 ORDER BY start_ns",
                       {module_id}, kMaxListRows));
  XLATRACE_ASSIGN(sheet["phases"], ModulePhases(db, module_id));
  XLATRACE_ASSIGN(sheet["ops"], Ops(db, "WHERE module_id = ?1", {module_id}));
  XLATRACE_TRY(AddMemory(db, module_id, &sheet));
  return sheet;
}

Result<Json> FindingSheet(RunDb& db, const std::string& handle) {
  XLATRACE_ASSIGN(Json finding, Row(db, "SELECT * FROM finding WHERE handle = ?1", {handle}));
  if (finding.is_null()) {
    return MakeError("there is no finding " + handle + " in '" + db.path() + "'",
                     "findings are listed by: xlatrace summary " + ShellWord(db.path()));
  }
  if (finding["evidence"].is_string()) {
    Json evidence = Json::parse(finding["evidence"].get<std::string>(), nullptr, false);
    finding["evidence"] = evidence.is_array() ? std::move(evidence) : Json::array();
  }
  if (const Json& of_run = finding["saves_high_ns_per_run"]; of_run.is_number()) {
    // A merged job without steps in this file still has the steps of the job.
    XLATRACE_ASSIGN(const JobFigure job, LoadJob(db));
    if (job.HasSteps()) {
      XLATRACE_ASSIGN(const RunView view, LoadRunView(db));
      for (const FindingFigure& figure : view.findings) {
        if (figure.handle != handle || !figure.saves_high_ns_per_job_step) continue;
        finding["saves_high_ns_per_job_step"] = *figure.saves_high_ns_per_job_step;
      }
    }
  }
  XLATRACE_ASSIGN(const Json devices,
                  Row(db, "SELECT count(*) AS worked FROM busy_time WHERE busy_ns > 0"));
  Json sheet{{"kind", "finding"},
             {"handle", handle},
             {"devices", devices["worked"]},  // Savings of a run are sums over these devices.
             {"finding", std::move(finding)}};
  return sheet;
}

Result<Json> LayerSheet(RunDb& db, const std::string& layer) {
  Json sheet{{"kind", "layer"}, {"layer", layer}};
  constexpr std::string_view kInside =
      "(layer = ?1 OR layer_group = ?1 OR substr(layer, 1, length(?1) + 1) = ?1 || '/'"
      " OR substr(layer_group, 1, length(?1) + 1) = ?1 || '/')";
  XLATRACE_TRY(AddScopeTimes(db, kInside, {layer}, &sheet));
  XLATRACE_TRY(AddStepTimes(
      db,
      [&](const ShareTime& share) {
        return IsInside(share.layer, layer) || IsInside(share.layer_group, layer);
      },
      layer, &sheet));
  XLATRACE_ASSIGN(sheet["layers"],
                  Rows(db,
                       "SELECT layer, sum(self_ns) AS self_ns FROM scope_time WHERE " +
                           std::string(kInside) + " GROUP BY layer ORDER BY self_ns DESC",
                       {layer}, kMaxListRows));
  XLATRACE_ASSIGN(sheet["ops"], OpsWithin(db, kInside, {layer}));
  XLATRACE_ASSIGN(
      sheet["findings"],
      Rows(db, "SELECT handle, title FROM finding WHERE where_layer = ?1 ORDER BY rank", {layer}));
  return sheet;
}

namespace {

// Time of all ops that are called from a line, and of the lines around it in their stacks: whole
// run, all devices.
Status AddCalls(RunDb& db, const SourceStacks& stacks,
                const std::function<bool(const SourceStacks::Frame&)>& is_here, Json* sheet) {
  int64_t inclusive = 0;
  std::map<std::tuple<std::string, int64_t, std::string>, int64_t> callers, callees;
  const auto add = [](auto& to, const SourceStacks::Frame& frame, int64_t ns) {
    to[{frame.file, frame.line.value_or(0), frame.function}] += ns;
  };
  XLATRACE_TRY(
      db.ForEach("SELECT stack_id, self_ns FROM stack_time", [&](const store::Statement& row) {
        const SourceStacks::Stack& stack = stacks.Of(row.Int64(0));
        const auto here = std::find_if(stack.begin(), stack.end(), is_here);
        if (here == stack.end()) return true;
        const int64_t ns = row.Int64(1);
        inclusive += ns;
        if (here + 1 != stack.end()) add(callers, *(here + 1), ns);
        if (here != stack.begin()) add(callees, *(here - 1), ns);
        return true;
      }));
  (*sheet)["inclusive_ns"] = inclusive;
  for (const auto& [key, lines] : {std::pair("callers", &callers), std::pair("calls", &callees)}) {
    std::vector<std::pair<std::tuple<std::string, int64_t, std::string>, int64_t>> order(
        lines->begin(), lines->end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    Json rows = Json::array();
    for (const auto& [place, ns] : order) {
      if (rows.size() == kMaxListRows) break;
      const auto& [file, line, function] = place;
      rows.push_back({{"source_file", file},
                      {"source_line", line > 0 ? Json(line) : Json()},
                      {"function", function.empty() ? Json() : Json(function)},
                      {"inclusive_ns", ns}});
    }
    (*sheet)[key] = std::move(rows);
  }
  return {};
}

}  // namespace

Result<Json> SourceSheet(RunDb& db, const std::string& file, int64_t line) {
  Json sheet{{"kind", "source"}, {"source_file", file}, {"source_line", line}};
  // The whole path, or its last whole components.
  constexpr std::string_view kHere =
      "source_line = ?2 AND (source_file = ?1 OR"
      " substr(source_file, -length(?1) - 1) = '/' || ?1)";
  XLATRACE_TRY(AddScopeTimes(db, kHere, {file, line}, &sheet));
  XLATRACE_ASSIGN(const SourceStacks stacks, SourceStacks::Load(db));
  const auto is_here = [&](const SourceStacks::Frame& frame) {
    return SourceStacks::IsIn(frame, file, line);
  };
  XLATRACE_TRY(AddStepTimes(
      db,
      [&](const ShareTime& share) {
        const SourceStacks::Stack& stack = stacks.Of(share.stack_id);
        return std::any_of(stack.begin(), stack.end(), [&](const SourceStacks::Frame& frame) {
          return frame.is_source && is_here(frame);
        });
      },
      "", &sheet));
  XLATRACE_TRY(AddCalls(db, stacks, is_here, &sheet));
  if (sheet["inclusive_ns"] == 0) {
    return MakeError(
        "no device time of '" + db.path() + "' comes from " + file + ":" + std::to_string(line),
        "lines with time are listed by: xlatrace summary --by source " + ShellWord(db.path()));
  }
  XLATRACE_ASSIGN(sheet["layers"],
                  Rows(db,
                       "SELECT layer, sum(self_ns) AS self_ns FROM scope_time WHERE " +
                           std::string(kHere) + " GROUP BY layer ORDER BY self_ns DESC",
                       {file, line}, kMaxListRows));
  // Ops of the line, and of functions that it calls.
  constexpr std::string_view kCalledHere =
      "stack_id IN (SELECT stack_id FROM source_stack WHERE line = ?2 AND (file = ?1 OR"
      " substr(file, -length(?1) - 1) = '/' || ?1))";
  XLATRACE_ASSIGN(sheet["ops"], OpsWithin(db, kCalledHere, {file, line}));
  XLATRACE_ASSIGN(sheet["findings"],
                  Rows(db,
                       "SELECT handle, title FROM finding WHERE where_source = ?1 OR"
                       " substr(where_source, -length(?1) - 1) = '/' || ?1 ORDER BY rank",
                       {file + ":" + std::to_string(line)}));
  return sheet;
}

}  // namespace xlatrace::report
