// SPDX-License-Identifier: Apache-2.0

// The parts of `show`: one JSON object per kind of subject, and its text. Internal to report/show/.

#ifndef XLATRACE_REPORT_SHOW_SHOW_SHEET_H_
#define XLATRACE_REPORT_SHOW_SHOW_SHEET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "analysis/device_facts.h"
#include "analysis/occupancy.h"
#include "base/error.h"
#include "model/hlo_module.h"
#include "report/show/show.h"
#include "store/run_db.h"

namespace xlatrace::report {

using Json = nlohmann::ordered_json;

// Each function returns {"kind": ..., ...}.
Result<Json> OpSheet(store::RunDb& db, const std::string& handle, const ShowOptions& options);
// An instruction without own time of a stored module: it is inside a fusion, or was never launched.
// Null if no module has the instruction.
Result<Json> InstructionSheet(store::RunDb& db, const std::string& name,
                              const ShowOptions& options);
// `what`: handle, symbol or name of the kernel. Null if there is no such kernel.
Result<Json> KernelSheet(store::RunDb& db, const std::string& what, const ShowOptions& options);
Result<Json> ModuleSheet(store::RunDb& db, const std::string& handle);
Result<Json> FindingSheet(store::RunDb& db, const std::string& handle);
Result<Json> LayerSheet(store::RunDb& db, const std::string& layer);
Result<Json> SourceSheet(store::RunDb& db, const std::string& file, int64_t line);

// Key "provenance" of the sheet of an op or an instruction; an error for other kinds.
Status AddProvenance(const ShowOptions& options, Json& sheet);

std::string SheetText(const Json& sheet, const ShowOptions& options);

// ---- Shared by the sheets --------------------------------------------------------------------

// Maximum number of launch configurations, shares, neighbours and similar entries of a sheet.
inline constexpr size_t kMaxSheetRows = 40;

// Rows of a query as objects with column names as keys; the first row as one object (null: no row).
Json RowsJson(const store::Table& table);
Result<Json> Rows(store::RunDb& db, std::string_view sql,
                  std::initializer_list<store::Cell> parameters = {}, size_t max_rows = SIZE_MAX);
Result<Json> Row(store::RunDb& db, std::string_view sql,
                 std::initializer_list<store::Cell> parameters = {});

// Number of steady steps times devices, the divisor of "per step"; 0: none.
Result<int64_t> SteadySteps(store::RunDb& db);

// The stored HLO of a module.
Result<model::HloModule> LoadHlo(store::RunDb& db, int64_t module_id);

// Adds the text of an instruction and its neighbours; adds nothing if the run has no HLO of the
// module.
Status AddHlo(store::RunDb& db, int64_t module_id, const std::string& name,
              const ShowOptions& options, Json* sheet);

// Facts of a device, as in the view `device`.
Result<analysis::DeviceFacts> FactsOfStoredDevice(store::RunDb& db, int64_t device_id);

// The launch configuration in a row with the columns of view `launch`.
std::optional<analysis::KernelShape> KernelShapeOf(const Json& row);

// Values of an object; missing and null: nothing, 0, "".
bool JsonHas(const Json& row, std::string_view key);
double JsonNumber(const Json& row, std::string_view key);
std::optional<int64_t> JsonInt(const Json& row, std::string_view key);
std::string JsonText(const Json& row, std::string_view key);

// Time from the host's call to the start on the device for activities that the predicate accepts,
// and the host's lead on that device. Null if no calls are known, or if the clocks do not match
// (more than one launch in twenty starts before its call).
Result<Json> LaunchLatency(store::RunDb& db, const std::function<bool(int64_t, int64_t)>& wanted);

// Launch configurations with their occupancy and the resource that limits it. `rows`: objects with
// the launch columns of view op_launch.
Status AddOccupancyAdvice(store::RunDb& db, const ShowOptions& options, Json* rows);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOW_SHOW_SHEET_H_
