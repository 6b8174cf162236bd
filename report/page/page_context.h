// SPDX-License-Identifier: Apache-2.0

// Data shared by the files that write the page's tables. Private to report/page/.

#ifndef XLATRACE_REPORT_PAGE_PAGE_CONTEXT_H_
#define XLATRACE_REPORT_PAGE_PAGE_CONTEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "report/page/host_threads.h"
#include "report/page/page.h"
#include "report/page/page_blocks.h"
#include "report/page/page_table.h"
#include "report/run_view.h"
#include "store/activity_scan.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Row number in a table of the page, by id in run.db.
using IdRows = std::unordered_map<int64_t, int64_t>;

// Steps of all devices by time; which are steady.
class StepIndex {
 public:
  Status Load(store::RunDb& db);
  bool IsSteady(int64_t device_id, int64_t step) const;
  struct Span {
    int64_t start_ns = 0, end_ns = 0, step = 0;
    bool steady = false;
  };
  // The step of this device at this time; null: none.
  const Span* At(int64_t device_id, int64_t time_ns) const;
  const std::map<int64_t, std::vector<Span>>& devices() const { return spans_; }

 private:
  std::map<int64_t, std::vector<Span>> spans_;  // By device, by start.
  std::map<std::pair<int64_t, int64_t>, bool> steady_;
};

// An instruction of a run: "module_id\nname".
std::string OpKey(int64_t module_id, std::string_view instruction);

// Number that the row of `ops` will have.
struct PageOp {
  std::string handle;
  int64_t module_id = 0;
  std::string instruction;
  int64_t ns = 0;        // Basis.
  int64_t calls = 0;     // Basis (CallsOfLaunches); counted by the scan of launches.
  int64_t launches = 0;  // Whole run.
  int64_t self_ns = 0;
  int64_t row_in_sql = -1;             // Row in op_time; -1: activities without instruction.
  std::string reason, op_kind, phase;  // For activities without instruction.
  int64_t occurrences = 0, total_ns = 0;
  std::optional<int64_t> instruction_row;
  std::string stack;
};

// Sums of all gaps of a run.
struct PageGapSums {
  struct Sum {
    int64_t ns = 0, count = 0, longest_ns = 0;
    int64_t short_ns = 0;  // Gaps too short for a cause.
  };
  // By device, step (INT64_MIN: outside) and cause.
  std::map<std::tuple<int64_t, int64_t, std::string>, Sum> sums;
  int64_t count = 0;
  int64_t ns = 0;
};

// A piece of the critical path of a step on a device.
struct PagePathPart {
  int64_t device_id = 0, step = 0;
  int64_t activity_id = 0;  // 0: none.
  int64_t start_ns = 0, end_ns = 0;
  std::string kind;
};

struct PageContext {
  store::RunDb& db;
  const RunView& view;
  const PageOptions& options;
  PageBlocks& blocks;

  StepIndex steps;
  IdRows processes, devices, modules;
  std::map<std::pair<int64_t, int64_t>, int64_t> streams;  // By device_id and stream_id.
  std::vector<PageOp> ops;                                 // Rows of `ops`, by ns.
  std::unordered_map<std::string, int64_t> op_rows;        // By OpKey.
  std::unordered_map<int64_t, int64_t> site_of_activity;   // Activities that gaps refer to.
  std::vector<store::ScannedGap> gaps;                     // The longest, by device and start.
  PageGapSums gap_sums;
  HostThreads host;                // Filled by the scan of launches.
  std::vector<PagePathPart> path;  // By device and start.
  // Row number in the table of activities on the path.
  std::unordered_map<int64_t, int64_t> stream_of_activity;
  nlohmann::ordered_json meta = nlohmann::ordered_json::object();
  int64_t start_ns = 0, end_ns = 0;  // All device work.

  bool InBasis(int64_t device_id, const std::optional<int64_t>& step) const {
    return !view.basis.steady || (step && steps.IsSteady(device_id, *step));
  }
};

// stream_id may be NULL, which is also a valid key.
inline constexpr int64_t kNoStreamId = INT64_MIN;

// Fills `table` with the rows of `sql`, column by column. Values of reference columns are ids. They
// are looked up in `refs`, which has one map per reference column, in order. Unknown ids become
// NULL.
Status FillTable(store::RunDb& db, std::string_view sql, PageTable& table,
                 const std::vector<const IdRows*>& refs = {});
// The same for one row and for one cell.
void SetRow(PageTable& table, const store::Statement& row, const std::vector<const IdRows*>& refs);
void SetCell(PageTable& table, size_t column, const store::Cell& cell, const IdRows* ref = nullptr);

Status WriteRunTables(PageContext& page);     // page_run.cc
Status WriteRankTables(PageContext& page);    // page_ranks.cc. Needs devices.
Status LoadPageGaps(PageContext& page);       // page_gaps.cc
Status WriteGapTables(PageContext& page);     // page_gaps.cc. Needs site_of_activity.
Status LoadPagePath(PageContext& page);       // page_path.cc
Status WritePathTable(PageContext& page);     // page_path.cc. Needs stream_of_activity.
Status LoadReplayMeta(PageContext& page);     // page_path.cc
Status WriteTimeTables(PageContext& page);    // page_time.cc. Needs gaps, site_of_activity, host.
Status WriteTreeTables(PageContext& page);    // page_time_tree.cc
Status LoadPageOps(PageContext& page);        // page_ops.cc
Status WriteLaunchTables(PageContext& page);  // page_launches.cc. Needs gaps, path, ops.
Status WriteHloTables(
    PageContext& page);  // In page_hlo.cc. Must follow the ops, and completes them.
Status WriteOpTables(PageContext& page);  // In page_ops.cc. Must be called last.
// Shares of ops of `page`, which is this run or the base run (page_shares.cc).
Status WriteShareTable(PageContext& page, const std::string& name, const std::string& ops);
Status WriteSourceTables(PageContext& page);    // page_source.cc
Status WriteBaseTables(PageContext& page);      // page_base.cc
void WriteProvenanceTables(PageContext& page);  // page_provenance.cc: needs ops
Status LoadFindingsMeta(PageContext& page);     // page_meta.cc
nlohmann::ordered_json RunMeta(const RunView& view);
nlohmann::ordered_json BasisMeta(const RunView& view);
nlohmann::ordered_json CoverageMeta(const Coverage& coverage);
nlohmann::ordered_json PageMeta(const PageContext& page);  // page_meta.cc

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_CONTEXT_H_
