// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys/nsys_sqlite.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/task.h"
#include "base/text.h"
#include "importers/common/compile_stage.h"
#include "importers/common/copies.h"
#include "importers/common/dropped_count.h"
#include "importers/common/page_migrations.h"
#include "importers/common/range_sorter.h"
#include "importers/common/repeated_rows.h"
#include "importers/common/self_time.h"
#include "importers/common/text_fields.h"
#include "importers/common/xla_ranges.h"
#include "importers/nsys/nsys_calls.h"
#include "importers/nsys/nsys_configs.h"
#include "importers/nsys/nsys_devices.h"
#include "importers/nsys/nsys_tables.h"

namespace xlatrace::importers {
namespace {

using model::ActivityKind;
using model::Severity;

// ENUM_NSYS_EVENT_TYPE.
constexpr int64_t kPushPopRangeType = 59;
constexpr int64_t kStartEndRangeType = 60;
constexpr int64_t kTextPushPopRangeType = 70;
constexpr int64_t kTextStartEndRangeType = 71;
constexpr int64_t kDomainCreateType = 75;

// The columns that all device activities share, in this order, come first in each scan.
#define XLATRACE_ACTIVITY_COLUMNS                                                    \
  "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", \
      "graphNodeId", "graphId"
constexpr int kDeviceColumn = 2, kContextColumn = 3, kStreamColumn = 4, kCorrelationColumn = 5,
              kPidColumn = 6, kGraphNodeColumn = 7, kGraphColumn = 8, kFirstOwnColumn = 9;

class NsysImport {
 public:
  NsysImport(store::Database& db, const std::string& path, model::EventSink& sink)
      : db_(db),
        sink_(sink),
        counters_(path),
        ranges_(sink),
        devices_(sink),
        calls_(path, strings_) {}

  Status Run() {
    XLATRACE_TRY(strings_.Read(db_, counters_));
    XLATRACE_TRY(SetClock());
    XLATRACE_TRY(ReadRunInfo());
    XLATRACE_TRY(devices_.ReadFacts(db_, strings_, counters_));
    // The two passes that need nothing of each other, each with a connection of its own.
    Status calls;
    Task reader([&] { calls = calls_.Read(shift_ns_); });
    const Status nvtx = ReadNvtx();
    reader.Wait();
    XLATRACE_TRY(nvtx);
    XLATRACE_TRY(calls);
    AddCalls();
    XLATRACE_TRY(ReadGraphNodes());
    XLATRACE_TRY(ReadKernels());
    XLATRACE_TRY(ReadCopies());
    XLATRACE_TRY(ReadMemsets());
    XLATRACE_TRY(ReadGraphRows());
    XLATRACE_TRY(AddMigrations());
    XLATRACE_TRY(CountRows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "synchronization_row"));
    XLATRACE_TRY(CountRows("CUPTI_ACTIVITY_KIND_OVERHEAD", "overhead_row"));
    XLATRACE_TRY(CountRows("OSRT_API", "osrt_row"));
    XLATRACE_TRY(CountRows("CUDA_UM_CPU_PAGE_FAULT_EVENTS", "cpu_page_fault_row"));
    XLATRACE_TRY(CountRows("CUDA_UM_GPU_PAGE_FAULT_EVENTS", "gpu_page_fault_row"));
    XLATRACE_TRY(ReadDiagnostics());
    if (activities_ == 0 && calls_.calls() == 0 && nvtx_rows_ == 0 && counted_rows_ == 0) {
      return MakeError("an export without any event", "nsys profile --trace cuda,nvtx COMMAND");
    }
    Finish();
    return {};
  }

 private:
  Status SetClock() {
    XLATRACE_ASSIGN(TableScan scan, TableScan::Open(db_, "TARGET_INFO_SESSION_START_TIME",
                                                    {"utcEpochNs"}, {"utcEpochNs"}));
    std::optional<int64_t> start;
    while (scan.Next(counters_)) {
      if (!start) start = Positive(scan.Int(0));
    }
    const std::optional<int64_t> sink_start = sink_.start_unix_ns();
    if (start && sink_start) {
      shift_ns_ = *start - *sink_start;
    } else if (start) {
      sink_.SetStart(*start);
    } else if (sink_start) {
      counters_.Add("clock_not_known", Severity::kNotice, 1,
                    "this export has no session start; its times cannot be placed beside the "
                    "other inputs of the run");
    }
    return {};
  }

  Status ReadRunInfo() {
    sink_.SetRunInfo("source", "nsys_sqlite");
    XLATRACE_ASSIGN(TableScan system, TableScan::Open(db_, "TARGET_INFO_SYSTEM_ENV",
                                                      {"name", "value"}, {"name", "value"}));
    while (system.Next(counters_)) {
      const std::string_view name = strings_.Of(system, 0);
      const std::string_view value = strings_.Of(system, 1);
      if (value.empty()) continue;
      is_wsl_ |= Has(value, "microsoft") || Has(value, "WSL");
      if (name == "Hostname") {
        devices_.SetHost(value);
        sink_.SetRunInfo("host", value);
      } else if (name == "NvDriverVersion") {
        sink_.SetRunInfo("driver", value);
      } else if (name == "CudaDriverVersion") {
        const std::optional<int64_t> number = ParseInt(value);  // 13000 -> 13.0
        if (number && *number >= 1000) {
          sink_.SetRunInfo("cuda", fmt::format("{}.{}", *number / 1000, *number % 1000 / 10));
        }
      }
    }
    for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {  // The latter until 2022.
      XLATRACE_ASSIGN(TableScan meta,
                      TableScan::Open(db_, table, {"name", "value"}, {"name", "value"}));
      while (meta.Next(counters_)) {
        if (meta.Text(0) == "EXPORT_SCHEMA_VERSION") {
          sink_.SetRunInfo("nsys_schema_version", meta.Text(1));
        } else if (meta.Text(0) == "EXPORT_PRODUCT_VERSION") {
          sink_.SetRunInfo("nsys_version", meta.Text(1));
        }
      }
    }
    return {};
  }

  Status ReadNvtx() {
    XLATRACE_ASSIGN(TableScan scan, TableScan::Open(db_, "NVTX_EVENTS",
                                                    {"start", "end", "eventType", "text", "textId",
                                                     "globalTid", "domainId"},
                                                    {"start"}));
    RangeSorter sorter([&](const RangeSorter::Row& range, int32_t depth) {
      sink_.AddRange({.process_id = devices_.ProcessOf(range.tid),
                      .thread_id = range.tid & kTidMask,
                      .domain = *range.domain,
                      .text = range.text,
                      .start_ns = range.start_ns,
                      .end_ns = range.end_ns,
                      .depth = depth,
                      .domain_number = range.domain_number});
      const auto compile = CompilerRangeOf(range.text);
      if (!compile || range.end_ns <= range.start_ns) return;
      sink_.AddCompile({.process_id = devices_.ProcessOf(range.tid),
                        .name = compile->SpanName(),
                        .start_ns = range.start_ns,
                        .end_ns = range.end_ns,
                        .stage = compile->stage});
    });
    while (scan.Next(counters_)) {
      ++nvtx_rows_;
      const int64_t type = scan.IntOr(2, kPushPopRangeType);  // Copies of such tables lack types.
      if (type == kDomainCreateType) {
        AddDomain(scan.IntOr(5, 0), scan.IntOr(6, 0), TextOf(scan, 3));
        AddNvtxRow(scan, type);
        continue;
      }
      if (type != kPushPopRangeType && type != kStartEndRangeType &&
          type != kTextPushPopRangeType && type != kTextStartEndRangeType) {
        counters_.Add("nvtx_row_not_kept", Severity::kInfo);
        AddNvtxRow(scan, type);
        continue;
      }
      // Until schema 2.x there was no NULL: what is not known is 0 or -1.
      if (scan.IsNull(1) || (scan.IntOr(1, 0) <= 0 && scan.IntOr(1, 0) < scan.IntOr(0, 0))) {
        counters_.Add("range_not_finished", Severity::kInfo);
        AddNvtxRow(scan, type);
        continue;
      }
      int64_t start = 0;
      int64_t end = 0;
      if (!Time(scan, start, end)) continue;
      const int64_t tid = scan.IntOr(5, 0);
      const std::string_view text = RangeTextOf(scan, 3);
      XLATRACE_ASSIGN(const std::string* domain, DomainOf(tid & ~kTidMask, scan.IntOr(6, 0)));
      // Trimmed files lack the rows that name domains; XLA's texts are unmistakable.
      if (type == kPushPopRangeType && (*domain == "TSL" || domain->empty())) {
        ranges_.Add(tid, start, end, text, *domain == "TSL");
      }
      const bool nests = type == kPushPopRangeType || type == kTextPushPopRangeType;
      sorter.Add({tid, start, end, text, domain, nests, scan.IntOr(6, -1)});
    }
    ranges_.Finish();
    sorter.Finish();
    return {};
  }

  // Only if the sink requests all rows in Nsight's words.
  void AddNvtxRow(const TableScan& scan, int64_t type) {
    const auto shifted = [&](int column) -> std::optional<int64_t> {
      const std::optional<int64_t> time = scan.Int(column);
      if (!time || *time < -kLatestNs || *time > kLatestNs) return std::nullopt;
      return *time + shift_ns_;
    };
    sink_.AddNvtxRow({.global_tid = scan.IntOr(5, 0),
                      .event_type = type,
                      .start_ns = shifted(0),
                      .end_ns = shifted(1),
                      .text = RangeTextOf(scan, 3),
                      .domain_number = scan.IntOr(6, -1)});
  }

  // Rows that name domains mostly come before the ranges in them; when one is missed, all are
  // looked for once.
  Status ReadDomains() {
    domains_read_ = true;
    XLATRACE_ASSIGN(TableScan domains,
                    TableScan::Open(db_, "NVTX_EVENTS",
                                    {"eventType", "domainId", "text", "textId", "globalTid"},
                                    {"eventType", "domainId"}));
    while (domains.Next(counters_)) {
      if (domains.IntOr(0, 0) != kDomainCreateType) continue;
      AddDomain(domains.IntOr(4, 0), domains.IntOr(1, 0), TextOf(domains, 2));
    }
    return {};
  }

  // A text of a range; what no screen shows is cut off, since each of a million ranges may bear it.
  std::string_view RangeTextOf(const TableScan& scan, int column) {
    constexpr size_t kMaxRangeTextBytes = size_t{64} << 10;
    std::string_view text = TextOf(scan, column);
    if (text.size() <= kMaxRangeTextBytes) return text;
    counters_.Add("range_text_cut", Severity::kNotice, 1,
                  "texts of ranges of more than 64 KiB keep their beginning");
    size_t end = kMaxRangeTextBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // UTF-8.
    return text.substr(0, end);
  }

  // The text in one column, else the one that the id in the column behind it stands for. Exports
  // that know no NULL have '' there.
  std::string_view TextOf(const TableScan& scan, int column) const {
    const std::string_view text = scan.Text(column);
    return text.empty() ? strings_.Of(scan, column + 1) : text;
  }

  void AddDomain(int64_t tid, int64_t id, std::string_view name) {
    domains_.try_emplace({tid & ~kTidMask, id}, name);
  }

  // Never null; empty for the default domain, 0, and for those that no row names.
  Result<const std::string*> DomainOf(int64_t pid_part, int64_t id) {
    if (last_domain_ != nullptr && last_domain_key_ == std::pair(pid_part, id)) return last_domain_;
    auto domain = domains_.find({pid_part, id});
    if (domain == domains_.end() && id != 0 && !domains_read_) {
      XLATRACE_TRY(ReadDomains());
      domain = domains_.find({pid_part, id});
    }
    static const std::string kDefaultDomain;
    last_domain_ = domain == domains_.end() ? &kDefaultDomain : &domain->second;
    last_domain_key_ = {pid_part, id};
    return last_domain_;
  }

  bool Time(const TableScan& scan, int64_t& start, int64_t& end) {
    return ReadInterval(scan, shift_ns_, counters_, start, end);
  }

  void AddCalls() {
    calls_.TakeCalls([&](const NsysCalls::Call& call, int64_t tid, const std::string& name,
                         const NsysCalls::Outcome& outcome) {
      // A call of a process that does nothing else makes no process of the run.
      const bool refers = call.use != NsysCalls::Use::kNone;
      const model::ApiCall row = {.process_id = refers ? devices_.ProcessOf(tid) : 0,
                                  .thread_id = refers ? tid & kTidMask : tid,
                                  .name = name,
                                  .correlation_id = call.correlation_id,
                                  .start_ns = call.start_ns,
                                  .end_ns = call.end_ns,
                                  .event_class = outcome.event_class,
                                  .return_value = outcome.return_value};
      if (!refers) return sink_.AddUnreferredCall(row);
      const model::Id id = sink_.AddApiCall(row);
      if (call.use != NsysCalls::Use::kLaunch) return;
      NsysLaunch& launch = *calls_.Find(tid & ~kTidMask, call.correlation_id);
      launch.call = static_cast<uint32_t>(id);
      if (ranges_.empty()) return;
      const XlaRanges::Found found = ranges_.At(tid, call.start_ns, model::Evidence::kRange);
      launch.thunk_hint = static_cast<uint32_t>(found.thunk_hint);
      launch.module_hint = static_cast<uint32_t>(found.module_hint);
      launch.module_range = static_cast<int32_t>(found.module_range);
    });
  }

  Status ReadGraphNodes() {
    if (ranges_.empty()) return {};
    XLATRACE_ASSIGN(TableScan scan, TableScan::Open(db_, "CUDA_GRAPH_NODE_EVENTS",
                                                    {"start", "end", "globalTid", "graphNodeId",
                                                     "originalGraphNodeId"},
                                                    {"start", "globalTid", "graphNodeId"}));
    while (scan.Next(counters_)) {
      const int64_t tid = scan.IntOr(2, 0);
      const std::pair node(tid & ~kTidMask, scan.IntOr(3, 0));
      const XlaRanges::Found found =
          ranges_.At(tid, scan.IntOr(0, 0) + shift_ns_, model::Evidence::kGraphNode);
      if (found.thunk_hint != 0) {
        node_hints_[node] = found.thunk_hint;
      } else if (!scan.IsNull(4)) {
        const auto original = node_hints_.find({node.first, scan.IntOr(4, 0)});
        if (original != node_hints_.end()) node_hints_[node] = original->second;
      }
    }
    return {};
  }

  // Fills what every activity has; false when the row cannot be used.
  bool FillActivity(const TableScan& scan, model::Activity& activity) {
    if (!Time(scan, activity.start_ns, activity.end_ns)) return false;
    const int64_t pid_part = scan.IntOr(kPidColumn, 0) & ~kTidMask;
    const int64_t ordinal = scan.IntOr(kDeviceColumn, 0);
    const int64_t stream = scan.IntOr(kStreamColumn, 0);
    const int64_t context = scan.IntOr(kContextColumn, -1);
    activity.lane_id = devices_.LaneOf({pid_part, ordinal, context, stream});
    activity.correlation_id = scan.IntOr(kCorrelationColumn, 0);
    activity.graph_node_id = scan.IntOr(kGraphNodeColumn, 0);
    activity.graph_id = scan.IntOr(kGraphColumn, 0);
    if (activity.correlation_id == 0) return true;
    const NsysLaunch* found = calls_.Find(pid_part, activity.correlation_id);
    if (found == nullptr) return true;
    const NsysLaunch& launch = *found;
    activity.api_call_id = launch.call;
    activity.hint_id = launch.thunk_hint != 0 ? launch.thunk_hint : launch.module_hint;
    if (activity.graph_node_id != 0) {
      const auto node = node_hints_.find({pid_part, activity.graph_node_id});
      activity.hint_id = node != node_hints_.end() ? node->second : launch.module_hint;
    }
    if (launch.module_range >= 0) {
      const model::Id device = devices_.DeviceOf(pid_part, ordinal);
      int64_t& key = run_keys_[{launch.module_range, device}];
      if (key == 0) key = (devices_.ProcessOf(pid_part) << 32) + ++last_run_;
      activity.run_key = key;
    }
    return true;
  }

  Status ReadKernels() {
    XLATRACE_ASSIGN(
        TableScan scan,
        TableScan::Open(db_, "CUPTI_ACTIVITY_KIND_KERNEL",
                        {XLATRACE_ACTIVITY_COLUMNS, XLATRACE_KERNEL_COLUMNS}, {"start", "end"}));
    NsysConfigs configs(strings_, sink_);
    while (scan.Next(counters_)) {
      model::Activity activity;
      if (!FillActivity(scan, activity)) continue;
      activity.config_id = configs.Of(scan, kFirstOwnColumn);
      activity.self_ns = self_times_.Next(activity.lane_id, activity.start_ns, activity.end_ns);
      Add(activity);
      ++kernels_;
    }
    return {};
  }

  Status ReadCopies() {
    XLATRACE_ASSIGN(TableScan scan, TableScan::Open(db_, "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                    {XLATRACE_ACTIVITY_COLUMNS, "bytes", "copyKind",
                                                     "srcKind", "dstKind"},
                                                    {"start", "end"}));
    while (scan.Next(counters_)) {
      model::Activity activity;
      if (!FillActivity(scan, activity)) continue;
      model::LaunchConfig config;
      config.kind = ActivityKind::kMemcpy;
      const int64_t kind = scan.IntOr(kFirstOwnColumn + 1, 0);
      const std::string_view migration = MigrationName(kind);
      config.copy_kind = CopyKindOf(kind);
      config.symbol = config.name =
          std::string(migration.empty() ? CopyName(config.copy_kind) : migration);
      config.nsight.source_memory_kind = scan.Int(kFirstOwnColumn + 2);
      config.nsight.memory_kind = scan.Int(kFirstOwnColumn + 3);
      if (migration.empty()) {
        AddSimple(config, scan.IntOr(kFirstOwnColumn, -1), activity);
        continue;
      }
      activity.config_id = sink_.AddLaunchConfig(config);
      activity.bytes = scan.IntOr(kFirstOwnColumn, -1);
      migrations_.emplace_back(DeviceOf(scan.IntOr(kPidColumn, 0), scan.IntOr(kDeviceColumn, 0)),
                               activity);
    }
    return {};
  }

  Status ReadMemsets() {
    XLATRACE_ASSIGN(TableScan scan,
                    TableScan::Open(db_, "CUPTI_ACTIVITY_KIND_MEMSET",
                                    {XLATRACE_ACTIVITY_COLUMNS, "bytes", "value", "memKind"},
                                    {"start", "end"}));
    while (scan.Next(counters_)) {
      model::Activity activity;
      if (!FillActivity(scan, activity)) continue;
      model::LaunchConfig config;
      config.kind = ActivityKind::kMemset;
      config.symbol = config.name = "Memset";
      config.nsight.memset_value = scan.Int(kFirstOwnColumn + 1);
      config.nsight.memory_kind = scan.Int(kFirstOwnColumn + 2);
      AddSimple(config, scan.IntOr(kFirstOwnColumn, -1), activity);
    }
    return {};
  }

  Status ReadGraphRows() {
    XLATRACE_ASSIGN(TableScan scan,
                    TableScan::Open(db_, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                    {XLATRACE_ACTIVITY_COLUMNS, "graphExecId"}, {"start", "end"}));
    while (scan.Next(counters_)) {
      model::Activity activity;
      if (!FillActivity(scan, activity)) continue;
      if (activity.graph_id == 0) activity.graph_id = scan.IntOr(kFirstOwnColumn, 0);
      model::LaunchConfig config;
      config.kind = ActivityKind::kGraph;
      config.symbol = config.name = "CudaGraph";
      AddSimple(config, -1, activity);
    }
    return {};
  }

  std::pair<int64_t, int64_t> DeviceOf(int64_t pid, int64_t ordinal) const {
    return {pid & ~kTidMask, ordinal};
  }

  Status AddMigrations() {
    if (migrations_.empty()) return {};
    Counters uncounted({});  // Damage was counted where the rows were read.
    std::map<std::pair<int64_t, int64_t>, KernelIntervals> kernels;
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}) {
      XLATRACE_ASSIGN(
          TableScan scan,
          TableScan::Open(db_, table, {kStartColumn, kEndColumn, "deviceId", "globalPid"},
                          {kStartColumn, kEndColumn}));
      while (scan.Next(uncounted)) {
        int64_t start = 0;
        int64_t end = 0;
        if (!ReadInterval(scan, shift_ns_, uncounted, start, end)) continue;
        kernels[DeviceOf(scan.IntOr(3, 0), scan.IntOr(2, 0))].Add(start, end);
      }
    }
    for (auto& [device, intervals] : kernels) intervals.Finish();
    for (auto& [device, migration] : migrations_) {
      migration.self_ns = kernels[device].Outside(migration.start_ns, migration.end_ns);
      Add(migration);
    }
    counters_.Add("page_migration", Severity::kNotice, std::ssize(migrations_),
                  "page migrations of unified memory (cudaMallocManaged), which the driver makes: "
                  "prefetch the pages (cudaMemPrefetchAsync), or copy explicitly");
    return {};
  }

  void AddSimple(const model::LaunchConfig& config, int64_t bytes, model::Activity& activity) {
    activity.config_id = sink_.AddLaunchConfig(config);
    activity.bytes = bytes;
    Add(activity);
  }

  void Add(const model::Activity& activity) {
    ++activities_;
    if (!repeated_.IsRepeated(activity)) sink_.AddActivity(activity);
  }

  Status CountRows(const std::string& table, const std::string& stat) {
    XLATRACE_ASSIGN(const std::vector<std::string> columns, db_.ColumnNames(table));
    if (columns.empty()) return {};
    const auto count = db_.QueryInt64(fmt::format("SELECT count(*) FROM \"{}\"", table));
    if (count && *count) {
      counters_.Add(stat, Severity::kInfo, **count);
      counted_rows_ += **count;
    } else if (!count) {
      counters_.Add("table_damaged", Severity::kDataLoss, 1,
                    fmt::format("{} could not be read: {}", table, count.error().message));
    }
    return {};
  }

  Status ReadDiagnostics() {
    XLATRACE_ASSIGN(TableScan scan, TableScan::Open(db_, "DIAGNOSTIC_EVENT", {"severity", "text"},
                                                    {"severity", "text"}));
    constexpr int64_t kWarningLevel = 2;
    constexpr int64_t kErrorLevel = 3;
    int kept = 0;
    while (scan.Next(counters_)) {
      const int64_t severity = scan.IntOr(0, 0);
      if (severity != kWarningLevel && severity != kErrorLevel) continue;
      const std::string text(strings_.Of(scan, 1).substr(0, 200));
      const bool other = IsAboutOtherSource(text);
      const int64_t lost = other ? 0 : DroppedIn(text);
      if (++kept > 100) break;
      counters_.Add("nsys: " + text,
                    lost > 0                            ? Severity::kDataLoss
                    : severity == kErrorLevel && !other ? Severity::kError
                                                        : Severity::kNotice,
                    std::max<int64_t>(lost, 1), "a message of Nsight Systems about the recording");
    }
    return {};
  }

  // Why Nsight Systems records CUDA calls and not the kernels that they launch.
  std::string WhyMissing() const {
    if (is_wsl_) {
      return ": under WSL2 its driver reports kernels only from CUDA 12.4 and Nsight Systems "
             "2024.2 "
             "on, so update both";
    }
    return ": the program was killed before CUDA gave its records out, the driver does not fit "
           "this "
           "version of Nsight Systems, or another profiler held the GPU (see its DIAGNOSTIC_EVENT)";
  }

  std::string WhyNoActivity() const {
    if (calls_.calls() == 0) {
      return "the export holds no CUDA activity: profile with nsys profile --trace cuda,nvtx";
    }
    return fmt::format(
        "the export holds {} CUDA calls ({} of them launch kernels; most time: {}) and "
        "no kernel or copy{}",
        Thousands(calls_.calls()), Thousands(calls_.launch_calls()), calls_.Longest(3),
        calls_.launch_calls() > 0 ? WhyMissing() : "");
  }

  void Finish() {
    if (activities_ > 0) {
      ranges_.AddUnasked();
      sink_.SetRunInfo("granularity", model::Text(model::Granularity::kKernel));
    } else {
      counters_.Add("no_device_activity", Severity::kNotice, 1, WhyNoActivity());
    }
    if (activities_ > 0 && kernels_ == 0 && calls_.launch_calls() > 0) {
      counters_.Add("kernels_not_recorded", Severity::kNotice, calls_.launch_calls(),
                    "calls that launch kernels, of which the export has no record" + WhyMissing());
    }
    if (!devices_.gpu_names().empty()) sink_.SetRunInfo("gpu", devices_.gpu_names());
    calls_.FlushCounters(sink_);
    repeated_.Count(counters_);
    counters_.Flush(sink_);
  }

  store::Database& db_;
  model::EventSink& sink_;
  Counters counters_;
  RepeatedRows repeated_;
  // Device (process and ordinal) and migration.
  std::vector<std::pair<std::pair<int64_t, int64_t>, model::Activity>> migrations_;
  XlaRanges ranges_;
  NsysDevices devices_;
  InternedStrings strings_;
  NsysCalls calls_;
  int64_t shift_ns_ = 0;
  int64_t activities_ = 0;
  int64_t kernels_ = 0;
  StreamSelfTime self_times_;
  int64_t nvtx_rows_ = 0;
  int64_t counted_rows_ = 0;  // In tables that are no device work.
  bool is_wsl_ = false;       // Windows Subsystem for Linux.
  int64_t last_run_ = 0;
  std::map<std::pair<int64_t, int64_t>, std::string> domains_;  // (pid part, domain id).
  bool domains_read_ = false;
  const std::string* last_domain_ = nullptr;
  std::pair<int64_t, int64_t> last_domain_key_;
  std::map<std::pair<int64_t, int64_t>, model::Id> node_hints_;  // (pid part, node).
  std::map<std::pair<int64_t, model::Id>, int64_t> run_keys_;    // (module range, device).
};

}  // namespace

Status ImportNsysSqlite(const std::string& path, model::EventSink& sink) {
  XLATRACE_ASSIGN(store::Database db, store::Database::OpenTrace(path));
  NsysImport import(db, path, sink);
  if (const Status status = import.Run(); !status) {
    return Wrap(fmt::format("reading '{}' as an nsys export", path), status.error());
  }
  return {};
}

}  // namespace xlatrace::importers
