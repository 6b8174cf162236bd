#include "importers/nsys_jax/nsys_jax.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "hlo/artefacts/target_config.h"
#include "importers/common/annotation.h"
#include "importers/common/counters.h"
#include "importers/common/text_fields.h"
#include "importers/nsys_jax/capture_files.h"
#include "importers/nsys_jax/parquet.h"
#include "importers/nsys_jax/projected_trace.h"

namespace xlatrace::importers {
namespace {

namespace fs = std::filesystem;
using model::Severity;

constexpr int64_t kLatestNs = INT64_MAX / 4;
constexpr size_t kNoRow = SIZE_MAX;

// "TSL:Thunk:#..." -> {"TSL", "Thunk:#..."}.
struct DomainAndText {
  std::string_view domain;
  std::string_view text;
};
DomainAndText SplitDomain(std::string_view name) {
  const size_t colon = name.find(':');
  // Names without a domain may hold colons of their own; XLA's and NCCL's domains are upper case.
  const std::string_view head = name.substr(0, colon);
  const bool is_domain = colon != name.npos && !head.empty() &&
                         std::all_of(head.begin(), head.end(),
                                     [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
  if (!is_domain) return {{}, name};
  return {head, name.substr(colon + 1)};
}

class CaptureImport {
 public:
  CaptureImport(const std::string& path, model::EventSink& sink)
      : path_(path), sink_(sink), counters_(path) {}

  Status Run() {
    XLATRACE_ASSIGN(CaptureFiles files, ReadCaptureFiles(path_));
    XLATRACE_ASSIGN(const std::unique_ptr<ProjectedTrace> trace,
                    ReadProjectedTrace(std::move(files.projected_trace)));
    ranges_ = &trace->ranges;
    ReadThreadNames(files);
    ReadDeviceFacts(files);
    ReadTargetConfig(files);
    FindKinds();
    AddProcesses();
    AddModules(files);
    AddActivities();
    AddHostRanges(files);
    Finish();
    return {};
  }

 private:
  enum class Kind : uint8_t { kOther, kThunk, kModule };

  // XlaLauncher:#global=0,local=0,process=0,slice=0# by thread.
  void ReadThreadNames(const CaptureFiles& files) {
    const auto file = ParquetFile::Open(files.thread_metadata);
    if (!file) return;
    const auto names = file->Read("Name");
    const auto tids = file->Read("TID");
    if (!names || !tids) return;
    for (size_t i = 0; i < names->texts.size(); ++i) {
      if (!names->Text(i).starts_with("XlaLauncher:#")) continue;
      const Annotation name = ParseAnnotation(names->Text(i));
      if (const auto local = ParseInt(name.Get("local")); local && tids->Number(i)) {
        local_of_thread_[*tids->Number(i)] = *local;
      }
      if (const auto rank = ParseInt(name.Get("process"))) rank_ = rank;
    }
  }

  // Columns are called ('TARGET_INFO_GPU', 'name'); a row per GPU of the machine.
  void ReadDeviceFacts(const CaptureFiles& files) {
    const auto file = ParquetFile::Open(files.device_metadata);
    if (!file) return;
    std::map<std::string, ParquetColumn, std::less<>> columns;
    for (const std::string& label : file->columns()) {
      const bool of_gpu = label.find("'TARGET_INFO_GPU'") != std::string::npos;
      const bool of_nvtx = label.find("'TARGET_INFO_NVTX_CUDA_DEVICE'") != std::string::npos;
      const size_t end = label.rfind('\'');
      const size_t start = end == std::string::npos || end == 0 ? end : label.rfind('\'', end - 1);
      std::string name = label;
      if (start != std::string::npos && end > start)
        name = label.substr(start + 1, end - start - 1);
      if (of_nvtx) name = "nvtx " + name;
      if (!of_gpu && !of_nvtx && name != "cuDevice") continue;
      if (auto column = file->Read(label)) columns.emplace(name, std::move(*column));
    }
    const auto number = [&](std::string_view name, size_t row) -> std::optional<int64_t> {
      const auto it = columns.find(name);
      const auto value = it == columns.end() ? std::nullopt : it->second.Number(row);
      return value && *value > 0 ? value : std::nullopt;
    };
    const auto text = [&](std::string_view name, size_t row) {
      const auto it = columns.find(name);
      return it == columns.end() ? std::string() : std::string(it->second.Text(row));
    };
    for (size_t row = 0; row < static_cast<size_t>(file->rows()); ++row) {
      model::Device device;
      device.name = text("name", row);
      device.uuid = text("uuid", row);
      const auto major = number("computeMajor", row);
      const auto minor = columns.find("computeMinor");
      if (major && minor != columns.end() && minor->second.Number(row)) {
        device.compute_capability = fmt::format("{}.{}", *major, *minor->second.Number(row));
      }
      device.sm_count = number("smCount", row);
      device.clock_hz = number("clockRate", row);
      device.memory_bandwidth_bytes_per_s = number("memoryBandwidth", row);
      device.memory_bytes = number("totalMemory", row);
      device.l2_bytes = number("l2CacheSize", row);
      device.warp_size = number("threadsPerWarp", row);
      if (const auto warps = number("maxWarpsPerSm", row); warps && *warps < 4096) {
        device.max_threads_per_sm = *warps * device.warp_size.value_or(32);
      }
      device.max_blocks_per_sm = number("maxBlocksPerSm", row);
      device.max_threads_per_block = number("maxThreadsPerBlock", row);
      device.registers_per_sm = number("maxRegistersPerSm", row);
      device.registers_per_block = number("maxRegistersPerBlock", row);
      device.shared_memory_per_sm_bytes = number("maxShmemPerSm", row);
      device.shared_memory_per_block_bytes = number("maxShmemPerBlock", row);
      device.shared_memory_per_block_optin_bytes = number("maxShmemPerBlockOptin", row);
      const std::string range = text("nvtx name", row);  // The annotation points into it.
      const Annotation name = ParseAnnotation(range);
      if (const auto rank = ParseInt(name.Get("process"))) rank_ = rank;
      const auto ordinal = columns.find("cuDevice");
      const auto known = ordinal == columns.end() ? std::nullopt : ordinal->second.Number(row);
      device_facts_.try_emplace(known.value_or(static_cast<int64_t>(row)), device);
    }
  }

  // What XLA compiled for, where the machine's own table is missing.
  void ReadTargetConfig(const CaptureFiles& files) {
    if (files.target_config.empty()) return;
    const auto config =
        hlo::ReadTargetConfig(std::make_shared<const std::string>(files.target_config));
    if (!config) return;
    const auto known = [](int64_t value) {
      return value > 0 ? std::optional<int64_t>(value) : std::nullopt;
    };
    model::Device& device = target_;
    device.name = config->description;
    device.compute_capability = config->compute_capability;
    device.sm_count = known(config->core_count);
    device.clock_hz = known(config->clock_hz);
    device.memory_bandwidth_bytes_per_s = known(config->memory_bandwidth_bytes_per_s);
    device.memory_bytes = known(config->device_memory_bytes);
    device.l2_bytes = known(config->l2_cache_bytes);
    device.warp_size = known(config->threads_per_warp);
    device.max_threads_per_sm = known(config->threads_per_core_limit);
    device.max_threads_per_block = known(config->threads_per_block_limit);
    device.registers_per_sm = known(config->registers_per_core);
    device.registers_per_block = known(config->registers_per_block);
    device.shared_memory_per_sm_bytes = known(config->shared_memory_per_core_bytes);
    device.shared_memory_per_block_bytes = known(config->shared_memory_per_block_bytes);
    device.shared_memory_per_block_optin_bytes = known(config->shared_memory_per_block_optin_bytes);
  }

  // What each row is, and the thunk and module around it.
  void FindKinds() {
    const std::vector<ProjectedRange>& ranges = *ranges_;
    std::map<std::pair<int64_t, int64_t>, size_t> by_id;  // (pid, range id)
    kinds_.resize(ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      const std::string_view text = SplitDomain(ranges[i].name).text;
      kinds_[i] = text.starts_with("Thunk:")       ? Kind::kThunk
                  : text.starts_with("XlaModule:") ? Kind::kModule
                                                   : Kind::kOther;
      if (ranges[i].range_id) by_id[{ranges[i].pid, *ranges[i].range_id}] = i;
    }
    parent_.assign(ranges.size(), kNoRow);
    has_child_.assign(ranges.size(), false);
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (!ranges[i].parent_id) continue;
      const auto it = by_id.find({ranges[i].pid, *ranges[i].parent_id});
      // Ids ascend from the outside in; anything else would be a circle.
      if (it == by_id.end() || *ranges[i].parent_id >= ranges[i].range_id.value_or(INT64_MIN)) {
        continue;
      }
      parent_[i] = it->second;
      has_child_[it->second] = true;
    }
  }

  size_t Around(size_t row, Kind kind) const {
    for (size_t at = parent_[row]; at != kNoRow; at = parent_[at]) {
      if (kinds_[at] == kind) return at;
    }
    return kNoRow;
  }

  void AddProcesses() {
    // Which threads launch, per process.
    std::map<int64_t, std::set<int64_t>> threads;
    for (size_t i = 0; i < ranges_->size(); ++i) {
      const ProjectedRange& range = (*ranges_)[i];
      if (kinds_[i] != Kind::kOther) threads[range.pid].insert(range.tid);
    }
    if (threads.empty() && !ranges_->empty()) threads[ranges_->front().pid];
    for (const auto& [pid, tids] : threads) {
      model::Process process;
      process.pid = pid;
      if (threads.size() == 1) process.rank = rank_;
      process_of_[pid] = sink_.AddProcess(process);
      int64_t next = 0;
      for (const int64_t tid : tids) {
        const auto named = local_of_thread_.find(tid);
        const bool is_main = tid == pid;
        ordinal_of_[{pid, tid}] = named != local_of_thread_.end() ? named->second
                                  : is_main                       ? 0
                                                                  : next++;
      }
    }
  }

  model::Id LaneOf(const ProjectedRange& range) {
    model::Id& lane = lanes_[{range.pid, range.tid}];
    if (lane != 0) return lane;
    const auto known = ordinal_of_.find({range.pid, range.tid});
    const int64_t ordinal = known == ordinal_of_.end() ? 0 : known->second;
    model::Id& device = devices_[{range.pid, ordinal}];
    if (device == 0) {
      auto facts = device_facts_.find(ordinal);
      // A process that sees one of the machine's GPUs calls it 0; the table may not.
      if (facts == device_facts_.end() && device_facts_.size() == 1) facts = device_facts_.begin();
      model::Device row = facts == device_facts_.end() ? target_ : facts->second;
      row.process_id = process_of_[range.pid];
      row.kind = model::DeviceKind::kGpu;
      row.ordinal = ordinal;
      if (!row.name.empty()) sink_.SetRunInfo("gpu", row.name);
      device = sink_.AddDevice(row);
    }
    lane = sink_.AddLane({.device_id = device,
                          .stream_id = range.tid,
                          .name = fmt::format("launched by thread {}", range.tid)});
    return lane;
  }

  void AddModules(const CaptureFiles& files) {
    // A dump says no process; captures are made per process.
    const model::Id process = process_of_.empty() ? 0 : process_of_.begin()->second;
    struct Parts {
      const CaptureFiles::DumpFile *hlo = nullptr, *thunks = nullptr, *metadata = nullptr;
    };
    std::map<std::pair<int64_t, std::string>, Parts> modules;
    for (const CaptureFiles::DumpFile& file : files.dump) {
      Parts& parts = modules[{file.parsed.program_id, file.parsed.module_name}];
      switch (file.parsed.kind) {
        case dumps::DumpKind::kHloProto:
          parts.hlo = &file;
          break;
        case dumps::DumpKind::kHloText:
          if (parts.hlo == nullptr) parts.hlo = &file;
          break;
        case dumps::DumpKind::kThunkSequenceFinal:  // What ran; the other is from before the
                                                    // passes.
          parts.thunks = &file;
          break;
        case dumps::DumpKind::kThunkSequence:
          if (parts.thunks == nullptr || parts.thunks->parsed.kind == file.parsed.kind) {
            parts.thunks = &file;
          }
          break;
        case dumps::DumpKind::kThunkMetadata:
          parts.metadata = &file;
          break;
        default:
          break;
      }
    }
    for (const auto& [key, parts] : modules) {
      if (parts.hlo == nullptr) continue;
      model::ModuleBlob blob;
      blob.process_id = process;
      blob.name = key.second;
      if (key.first >= 0) blob.program_id = key.first;
      blob.source = model::ModuleSource::kDump;
      blob.file = parts.hlo->name;
      blob.format = parts.hlo->parsed.kind == dumps::DumpKind::kHloText
                        ? model::ModuleBlob::Format::kHloText
                        : model::ModuleBlob::Format::kHloProto;
      blob.bytes = parts.hlo->bytes;
      if (parts.thunks != nullptr) blob.thunk_sequence = parts.thunks->bytes;
      if (parts.metadata != nullptr) blob.thunk_metadata = parts.metadata->bytes;
      sink_.AddModule(blob);
    }
  }

  bool TimeOf(const ProjectedRange& range, int64_t* start, int64_t* end) {
    if (!range.start_ns || !range.duration_ns || *range.duration_ns < 0 ||
        *range.start_ns < -kLatestNs || *range.start_ns > kLatestNs ||
        *range.duration_ns > kLatestNs) {
      counters_.Add("event_time_invalid", Severity::kDataLoss, 1,
                    "rows with impossible times were left out");
      return false;
    }
    *start = *range.start_ns;
    *end = *start + *range.duration_ns;
    return true;
  }

  // Time of each thunk that thunks inside it take: the union of their intervals, cut to its own.
  std::vector<int64_t> NestedTimes() const {
    std::unordered_map<size_t, std::vector<std::pair<int64_t, int64_t>>> inside;
    for (size_t i = 0; i < ranges_->size(); ++i) {
      const ProjectedRange& range = (*ranges_)[i];
      if (kinds_[i] != Kind::kThunk || !range.start_ns || !range.duration_ns) continue;
      const size_t outer = Around(i, Kind::kThunk);
      if (outer != kNoRow) {
        inside[outer].emplace_back(*range.start_ns, *range.start_ns + *range.duration_ns);
      }
    }
    std::vector<int64_t> nested(ranges_->size(), 0);
    for (auto& [outer, intervals] : inside) {
      const ProjectedRange& range = (*ranges_)[outer];
      if (!range.start_ns || !range.duration_ns) continue;
      std::sort(intervals.begin(), intervals.end());
      int64_t until = *range.start_ns;
      const int64_t end = *range.start_ns + *range.duration_ns;
      for (const auto& [from, to] : intervals) {
        const int64_t begin = std::max(from, until);
        const int64_t stop = std::min(to, end);
        if (stop > begin) nested[outer] += stop - begin;
        until = std::max(until, stop);
      }
    }
    return nested;
  }

  void AddActivities() {
    const std::vector<int64_t> nested = NestedTimes();
    // In the order of launch: what happened on the host decides.
    std::vector<size_t> order;
    for (size_t i = 0; i < ranges_->size(); ++i) {
      const ProjectedRange& range = (*ranges_)[i];
      if (range.name.empty()) {
        counters_.Add("projected_operations_outside_ranges", Severity::kNotice, range.gpu_ops,
                      "GPU operations launched outside all ranges; the capture holds no times of "
                      "them");
        continue;
      }
      const bool is_work =
          kinds_[i] == Kind::kThunk ||
          (kinds_[i] == Kind::kOther && !has_child_[i] && range.gpu_ops > 0 &&
           Around(i, Kind::kThunk) == kNoRow && Around(i, Kind::kModule) == kNoRow);
      if (is_work) {
        order.push_back(i);
      } else if (kinds_[i] == Kind::kOther) {
        counters_.Add("projected_range_not_kept", Severity::kInfo);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return (*ranges_)[a].host_start_ns.value_or(0) < (*ranges_)[b].host_start_ns.value_or(0);
    });
    for (const size_t i : order) {
      const ProjectedRange& range = (*ranges_)[i];
      model::Activity activity;
      if (!TimeOf(range, &activity.start_ns, &activity.end_ns)) continue;
      activity.lane_id = LaneOf(range);
      if (nested[i] > 0) {
        activity.self_ns = std::max<int64_t>(0, *range.duration_ns - nested[i]);
      }
      const size_t module = Around(i, Kind::kModule);
      activity.config_id = ConfigOf(i);
      activity.hint_id = kinds_[i] == Kind::kThunk ? HintOf(i, module) : 0;
      if (module != kNoRow) {
        activity.run_key = (process_of_[range.pid] << 32) + static_cast<int64_t>(module) + 1;
      }
      sink_.AddActivity(activity);
      ++activities_;
    }
  }

  model::Id ConfigOf(size_t row) {
    const std::string_view text = SplitDomain((*ranges_)[row].name).text;
    model::Id& id = configs_[std::string(text)];
    if (id != 0) return id;
    model::LaunchConfig config;
    config.kind = model::ActivityKind::kRange;
    const Annotation annotation = ParseAnnotation(text);
    config.symbol = std::string(annotation.Get("hlo_op"));
    if (kinds_[row] != Kind::kThunk || config.symbol.empty()) {
      config.symbol = std::string(text.substr(0, text.find(":#")));
    }
    config.name = config.symbol;
    id = sink_.AddLaunchConfig(config);
    return id;
  }

  model::Id HintOf(size_t row, size_t module_row) {
    const std::string_view text = SplitDomain((*ranges_)[row].name).text;
    const std::string_view module =
        module_row == kNoRow ? std::string_view() : SplitDomain((*ranges_)[module_row].name).text;
    model::Id& id = hints_[{std::string(text), std::string(module)}];
    if (id != 0) return id;
    const Annotation thunk = ParseAnnotation(text);
    const Annotation around = ParseAnnotation(module);
    model::Hint hint;
    hint.evidence = model::Evidence::kRange;
    hint.instruction = std::string(thunk.Get("hlo_op"));
    hint.module_name = std::string(around.Get("hlo_module"));
    if (hint.module_name.empty()) hint.module_name = std::string(thunk.Get("hlo_module"));
    hint.program_id = ParseInt(around.Get("program_id"));
    hint.op_name = std::string(thunk.Get("name"));
    if (!hint.op_name.empty() && !around.Get("prefix").empty()) {
      hint.op_name.insert(0, std::string(around.Get("prefix")) + "/");
    }
    id = sink_.AddHint(hint);
    return id;
  }

  void AddHostRanges(const CaptureFiles& files) {
    const int64_t damaged =
        ForEachCsvRow(files.push_pop_trace, {"Start (ns)", "End (ns)", "Name", "PID", "TID", "Lvl"},
                      [&](const std::vector<std::string>& row) {
                        const auto start = ParseInt(row[0]);
                        const auto end = ParseInt(row[1]);
                        const auto process = process_of_.find(ParseInt(row[3]).value_or(-1));
                        if (!start || !end || *end < *start || *start < -kLatestNs ||
                            *end > kLatestNs || process == process_of_.end()) {
                          counters_.Add("host_range_not_kept", Severity::kInfo);
                          return;
                        }
                        const DomainAndText name = SplitDomain(row[2]);
                        sink_.AddRange({.process_id = process->second,
                                        .thread_id = ParseInt(row[4]).value_or(0),
                                        .domain = name.domain,
                                        .text = name.text,
                                        .start_ns = *start,
                                        .end_ns = *end,
                                        .depth = static_cast<int32_t>(std::clamp<int64_t>(
                                            ParseInt(row[5]).value_or(0), 0, 10000))});
                        if (name.text.starts_with("XlaCompile:")) {
                          sink_.AddCompile({.process_id = process->second,
                                            .name = ParseAnnotation(name.text).Get("module"),
                                            .start_ns = *start,
                                            .end_ns = *end});
                        }
                      });
    if (damaged > 0) {
      counters_.Add("csv_row_damaged", Severity::kDataLoss, damaged,
                    "rows of the push-pop trace with too few or too many cells");
    }
  }

  void Finish() {
    sink_.SetRunInfo("source", "nsys_jax");
    if (activities_ > 0) {
      sink_.SetRunInfo("granularity", model::Text(model::Granularity::kRange));
    } else {
      counters_.Add("no_device_activity", Severity::kDataLoss, 1,
                    "the capture holds no range with GPU work: profile with nsys-jax");
    }
    if (sink_.start_unix_ns() || process_of_.begin()->second > 1) {
      counters_.Add("clock_not_known", Severity::kNotice, 1,
                    "this capture has no wall clock; its times cannot be placed beside the other "
                    "inputs of the run");
    }
    counters_.Flush(sink_);
  }

  const std::string& path_;
  model::EventSink& sink_;
  Counters counters_;
  const std::vector<ProjectedRange>* ranges_ = nullptr;
  std::vector<Kind> kinds_;
  std::vector<size_t> parent_;
  std::vector<bool> has_child_;
  std::map<int64_t, int64_t> local_of_thread_;
  std::optional<int64_t> rank_;
  std::map<int64_t, model::Device> device_facts_;  // By CUDA ordinal.
  model::Device target_;                           // By the dump, where that table has none.
  std::map<int64_t, model::Id> process_of_;        // By pid.
  std::map<std::pair<int64_t, int64_t>, int64_t> ordinal_of_;  // (pid, tid)
  std::map<std::pair<int64_t, int64_t>, model::Id> devices_;   // (pid, ordinal)
  std::map<std::pair<int64_t, int64_t>, model::Id> lanes_;     // (pid, tid)
  std::unordered_map<std::string, model::Id> configs_;
  std::map<std::pair<std::string, std::string>, model::Id> hints_;  // (thunk, module)
  int64_t activities_ = 0;
};

bool IsCaptureFolder(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "nvtx_gpu_proj_trace" / "trace.parquet", error) ||
         fs::exists(path / "derived" / "nvtx_gpu_proj_trace.csv.xz", error);
}

// Captures directly inside a folder: folders and zips.
std::vector<std::string> CapturesInside(const std::string& path) {
  std::vector<std::string> found;
  std::error_code error;
  for (auto it = fs::directory_iterator(path, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (it->is_directory(error) ? IsCaptureFolder(it->path()) : it->path().extension() == ".zip") {
      found.push_back(it->path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool LooksLikeNsysJaxFolder(const std::string& path) {
  if (!IsDirectory(path)) return false;
  return IsCaptureFolder(path) || !CapturesInside(path).empty();
}

Status ImportNsysJax(const std::string& path, model::EventSink& sink) {
  if (!IsDirectory(path) || IsCaptureFolder(path)) {
    Status status = CaptureImport(path, sink).Run();
    if (!status) return Wrap(fmt::format("reading '{}'", path), std::move(status).error());
    return {};
  }
  Status first;
  bool any = false;
  for (const std::string& capture : CapturesInside(path)) {
    Status status = CaptureImport(capture, sink).Run();
    if (status) {
      any = true;
      continue;
    }
    sink.AddRunStat({.name = "input_skipped",
                     .severity = Severity::kDataLoss,
                     .source = capture,
                     .value = 1,
                     .advice = status.error().message});
    if (first) first = Wrap(fmt::format("reading '{}'", capture), std::move(status).error());
  }
  return any ? Status() : first;
}

}  // namespace xlatrace::importers
