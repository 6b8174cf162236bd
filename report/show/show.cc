// SPDX-License-Identifier: Apache-2.0
#include "report/show/show.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/shell_word.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/text/text_reader.h"
#include "report/show/show_sheet.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using store::RunDb;

bool IsHandle(std::string_view what) {
  if (what.size() < 2 || std::string_view("okmf").find(what[0]) == std::string_view::npos) {
    return false;
  }
  for (const char c : what.substr(1)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  }
  return true;
}

// "layers.py:88" -> file and line.
std::optional<std::pair<std::string, int64_t>> SourceOf(std::string_view what) {
  const size_t colon = what.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == what.size() || what.size() - colon > 9) {
    return std::nullopt;
  }
  int64_t line = 0;
  for (const char c : what.substr(colon + 1)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    line = line * 10 + (c - '0');
  }
  return std::pair(std::string(what.substr(0, colon)), line);
}

// First column of the first row, if it is text.
Result<std::string> FirstText(RunDb& db, std::string_view sql, const std::string& parameter) {
  XLATRACE_ASSIGN(const store::Table table, db.Select(sql, {parameter}, 1));
  return table.rows.empty() ? std::string() : table.Text(0, table.columns[0]);
}

Result<Json> ByHandle(RunDb& db, const std::string& handle, const ShowOptions& options) {
  switch (handle[0]) {
    case 'o':
      return OpSheet(db, handle, options);
    case 'k': {
      XLATRACE_ASSIGN(Json sheet, KernelSheet(db, handle, options));
      if (!sheet.is_null()) return sheet;
      return MakeError(
          "there is no kernel " + handle + " in '" + db.path() + "'",
          "kernels are numbered by time: xlatrace summary --by kernel " + ShellWord(db.path()));
    }
    case 'm':
      return ModuleSheet(db, handle);
    default:
      return FindingSheet(db, handle);
  }
}

Result<Json> ByName(RunDb& db, const std::string& what, const ShowOptions& options) {
  std::string name = what;
  if (name.starts_with('%')) name.erase(0, 1);
  XLATRACE_ASSIGN(const std::string op,
                  FirstText(db,
                            "SELECT handle FROM op_time WHERE op = ?1 OR (instruction IS NULL AND"
                            " op_name = ?1)"
                            " ORDER BY CAST(substr(handle, 2) AS INT)",
                            name));
  if (!op.empty()) return ByHandle(db, op, options);
  XLATRACE_ASSIGN(Json kernel, KernelSheet(db, name, options));
  if (!kernel.is_null()) return kernel;
  XLATRACE_ASSIGN(const std::string module,
                  FirstText(db,
                            "SELECT handle FROM module WHERE name = ?1 OR framework_function = ?1"
                            " ORDER BY CAST(substr(handle, 2) AS INT)",
                            name));
  if (!module.empty()) return ByHandle(db, module, options);
  XLATRACE_ASSIGN(const std::string layer,
                  FirstText(db,
                            "SELECT ?1 FROM scope_time WHERE layer = ?1 OR layer_group = ?1 OR"
                            " substr(layer, 1, length(?1) + 1) = ?1 || '/' OR"
                            " substr(layer_group, 1, length(?1) + 1) = ?1 || '/'",
                            what));
  if (!layer.empty()) return LayerSheet(db, what);
  XLATRACE_ASSIGN(Json instruction, InstructionSheet(db, name, options));
  if (!instruction.is_null()) return instruction;
  XLATRACE_ASSIGN(const store::Table counts,
                  db.Select("SELECT (SELECT count(*) FROM op_time WHERE handle IS NOT NULL) AS ops,"
                            " (SELECT count(*) FROM module) AS modules,"
                            " (SELECT count(*) FROM finding) AS findings"));
  const auto handles = [&](const char* letter, const char* column, const char* none) {
    const int64_t last = counts.Int(0, column);
    return last == 0 ? std::string(none) : fmt::format("{0}1 to {0}{1}", letter, last);
  };
  return MakeError(
      fmt::format("nothing in '{}' is called '{}'", db.path(), what),
      fmt::format("this run has {}, {}, {} finding{}, kernels k1..., layers and source lines "
                  "(FILE:LINE): xlatrace summary {}",
                  handles("o", "ops", "no ops"), handles("m", "modules", "no modules"),
                  counts.Int(0, "findings"), counts.Int(0, "findings") == 1 ? "" : "s",
                  ShellWord(db.path())));
}

}  // namespace

Json RowsJson(const store::Table& table) {
  Json rows = Json::array();
  for (const auto& cells : table.rows) {
    Json row = Json::object();
    for (size_t i = 0; i < cells.size(); ++i) {
      const store::Cell& cell = cells[i];
      Json& value = row[table.columns[i]];
      if (const auto* text = std::get_if<std::string>(&cell)) value = *text;
      if (const auto* number = std::get_if<int64_t>(&cell)) value = *number;
      if (const auto* real = std::get_if<double>(&cell)) value = *real;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<Json> Rows(RunDb& db, std::string_view sql, std::initializer_list<store::Cell> parameters,
                  size_t max_rows) {
  XLATRACE_ASSIGN(const store::Table table, db.Select(sql, parameters, max_rows));
  return RowsJson(table);
}

Result<Json> Row(RunDb& db, std::string_view sql, std::initializer_list<store::Cell> parameters) {
  XLATRACE_ASSIGN(Json rows, Rows(db, sql, parameters, 1));
  return rows.empty() ? Json() : std::move(rows[0]);
}

bool JsonHas(const Json& row, std::string_view key) {
  if (!row.is_object()) return false;
  const auto value = row.find(key);
  return value != row.end() && !value->is_null();
}

double JsonNumber(const Json& row, std::string_view key) {
  if (!JsonHas(row, key)) return 0;
  const Json& value = *row.find(key);
  return value.is_number() ? value.get<double>() : 0;
}

std::optional<int64_t> JsonInt(const Json& row, std::string_view key) {
  if (!JsonHas(row, key)) return std::nullopt;
  const Json& value = *row.find(key);
  return value.is_number() ? std::optional<int64_t>(value.get<int64_t>()) : std::nullopt;
}

std::string JsonText(const Json& row, std::string_view key) {
  if (!JsonHas(row, key)) return {};
  const Json& value = *row.find(key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

Result<int64_t> SteadySteps(RunDb& db) {
  XLATRACE_ASSIGN(const store::Table table,
                  db.Select("SELECT count(*) AS n FROM step WHERE typical"));
  return table.Int(0, "n");
}

Result<Json> LaunchLatency(RunDb& db, const std::function<bool(int64_t, int64_t)>& wanted) {
  // A graph is launched by one call, so the wait belongs to the graph and not to its nodes.
  std::vector<int64_t> calls, latencies, queued;
  int64_t skewed = 0;
  std::set<int64_t> lanes;
  XLATRACE_TRY(store::ScanCalls(db, wanted, [&](const store::ScannedCall& call) {
    calls.push_back(std::max<int64_t>(0, call.call_end_ns - call.call_start_ns));
    latencies.push_back(std::max<int64_t>(0, call.start_ns - call.call_start_ns));
    queued.push_back(std::max<int64_t>(0, call.start_ns - call.call_end_ns));
    skewed += call.start_ns < call.call_start_ns ? 1 : 0;
    lanes.insert(call.lane_id);
  }));
  const auto n = static_cast<int64_t>(calls.size());
  if (n == 0 || 20 * skewed > n) return Json();
  const auto percentile = [&](std::vector<int64_t>& values, int64_t percent) {
    const auto at = values.begin() + (n - 1) * percent / 100;
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  Json host{{"launches", n}};
  host["call_p50_ns"] = percentile(calls, 50);
  host["latency_p50_ns"] = percentile(latencies, 50);
  host["latency_p90_ns"] = percentile(latencies, 90);
  host["queued_p50_ns"] = percentile(queued, 50);
  XLATRACE_ASSIGN(const store::Table lane_rows, store::ScanLanes(db));
  int64_t device_id = INT64_MAX;  // The first of the devices that ran them.
  for (size_t i = 0; i < lane_rows.rows.size(); ++i) {
    if (!lanes.contains(lane_rows.Int(i, "lane_id"))) continue;
    device_id = std::min(device_id, lane_rows.Int(i, "device_id"));
  }
  XLATRACE_ASSIGN(
      const Json queue,
      Row(db, "SELECT outstanding_p50 FROM launch_queue WHERE device_id = ?1", {device_id}));
  host["outstanding_p50"] = queue.is_null() ? Json() : queue["outstanding_p50"];
  return host;
}

Result<model::HloModule> LoadHlo(RunDb& db, int64_t module_id) {
  XLATRACE_ASSIGN(RunDb::ModuleBytes stored, db.ReadModule(module_id));
  auto bytes = std::make_shared<const std::string>(std::move(stored.bytes));
  return stored.format == model::ModuleBlob::Format::kHloText ? hlo::ReadText(std::move(bytes))
                                                              : hlo::ReadProto(std::move(bytes));
}

Result<std::string> Show(RunDb& db, std::string_view what, const ShowOptions& options) {
  Result<Json> sheet = Json();
  if (IsHandle(what)) {
    sheet = ByHandle(db, std::string(what), options);
  } else if (const auto source = SourceOf(what)) {
    sheet = SourceSheet(db, source->first, source->second);
  } else {
    sheet = ByName(db, std::string(what), options);
  }
  if (!sheet) return tl::unexpected<Error>(std::move(sheet).error());
  if (options.provenance) XLATRACE_TRY(AddProvenance(options, *sheet));
  if (!options.json) return SheetText(*sheet, options);
  Json whole{{"schema_version", 1}};
  whole.update(*sheet);
  // Names may contain bytes that are not UTF-8; such bytes become the replacement character.
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::report
