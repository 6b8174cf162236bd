// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys/nsys_calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/text.h"
#include "importers/common/kept_calls.h"
#include "importers/nsys/nsys_devices.h"

namespace xlatrace::importers {
namespace {

constexpr size_t kPieceCallCount = 65'536;
// CUDA has some hundred; more is a hostile file.
constexpr size_t kMaxNames = 1000;

// cudaLaunchKernel_v7000, cuLaunchKernelEx, cudaGraphLaunch_v10000...; not cudaLaunchHostFunc.
bool IsLaunch(std::string_view text) {
  return (text.starts_with("cudaLaunch") || text.starts_with("cuLaunch") ||
          Has(text, "GraphLaunch")) &&
         !Has(text, "HostFunc");
}

}  // namespace

Status NsysCalls::Read(int64_t shift_ns) {
  XLATRACE_TRY(FindReferred());
  return ReadCalls(shift_ns);
}

Status NsysCalls::FindReferred() {
  XLATRACE_ASSIGN(store::Database db, store::Database::OpenTrace(path_));
  Counters uncounted(path_);  // Damage is counted where the rows are read.
  for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                            "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"}) {
    XLATRACE_ASSIGN(TableScan scan,
                    TableScan::Open(db, table, {"correlationId", "globalPid"}, {"correlationId"}));
    while (scan.Next(uncounted)) {
      if (scan.IntOr(0, 0) == 0) continue;
      has_pids_ |= !scan.IsNull(1);
      launches_.Add(scan.IntOr(1, 0) & ~kTidMask, scan.IntOr(0, 0));
    }
  }
  launches_.Finish();
  return {};
}

Status NsysCalls::ReadCalls(int64_t shift_ns) {
  XLATRACE_ASSIGN(store::Database db, store::Database::OpenTrace(path_));
  XLATRACE_ASSIGN(TableScan scan,
                  TableScan::Open(db, "CUPTI_ACTIVITY_KIND_RUNTIME",
                                  {kStartColumn, kEndColumn, "globalTid", "correlationId", "nameId",
                                   "eventClass", "returnValue"},
                                  {kStartColumn, kEndColumn, "correlationId"}));
  while (scan.Next(counters_)) {
    int64_t start = 0;
    int64_t end = 0;
    if (!ReadInterval(scan, shift_ns, counters_, start, end)) continue;
    const int64_t tid = scan.IntOr(2, 0);
    const int64_t correlation = scan.IntOr(3, 0);
    Name& name = NameOf(strings_.Of(scan, 4));
    name.total_ns += end - start;
    ++calls_seen_;
    const bool launches = name.is_launch && scan.IntOr(6, 0) == 0;
    launch_calls_ += launches;
    NsysLaunch* launch = Find(tid & ~kTidMask, correlation);
    if (name.is_launch && launch != nullptr) {
      name.has_record = true;
      int64_t& last = last_launch_ns_.try_emplace(tid & ~kTidMask, start).first->second;
      last = std::max(last, start);
    } else if (name.is_launch && scan.IntOr(6, 0) == 0 && !capturing_.contains(tid)) {
      unmatched_.push_back({tid & ~kTidMask, start, name.number});
    }
    if (name.capture != 0) {
      name.capture > 0 ? void(capturing_.insert(tid)) : void(capturing_.erase(tid));
    }
    // Without a record of its kernels, a process that launches waits for them all the same.
    if (launches && launches_.empty()) launching_.insert(tid & ~kTidMask);
    Use use = Use::kNone;
    if (launch != nullptr && launch->call == 0) {
      use = Use::kLaunch;
      if (const int64_t process = tid & ~kTidMask; process != last_launching_) {
        launching_.insert(last_launching_ = process);
      }
      launch->call = 1;  // Until the call has its id.
    } else if (MayExplainGap(name.may_block, end - start)) {
      use = Use::kMayExplainGap;
    } else {
      ++name.not_kept;
    }
    if (calls_.empty() || calls_.back().size() == kPieceCallCount) {
      calls_.emplace_back().reserve(kPieceCallCount);
    }
    calls_.back().push_back(
        {start, end, correlation, ThreadOf(tid), name.number, use, OutcomeOf(scan)});
  }
  CountUnmatched();
  return {};
}

void NsysCalls::CountUnmatched() {
  int64_t lost = 0, unfinished = 0;
  for (const Unmatched& launch : unmatched_) {
    if (!names_[launch.name]->has_record) continue;
    const auto last = last_launch_ns_.find(launch.pid_part);
    const bool later = last != last_launch_ns_.end() && launch.start_ns < last->second;
    ++(later ? lost : unfinished);
  }
  counters_.Add("launch_without_activity", model::Severity::kDataLoss, lost,
                "launches without a record of their kernels, while later ones have theirs: Nsight "
                "Systems lost them, or they launched nothing");
  counters_.Add("launches_not_finished", model::Severity::kNotice, unfinished,
                "launches that had not run when the capture ended: the program was that far ahead "
                "of the device");
  std::vector<Unmatched>().swap(unmatched_);
}

NsysCalls::Name& NsysCalls::NameOf(std::string_view text) {
  // Interned texts stay where they are, so most calls are known by their place.
  if (last_text_.data() == text.data() && last_text_.size() == text.size() &&
      last_name_ != nullptr && last_name_->text == text) {
    return *last_name_;
  }
  const auto known = name_index_.find(text);
  last_text_ = text;
  last_name_ = known != name_index_.end() ? &known->second : &AddName(text);
  return *last_name_;
}

NsysCalls::Name& NsysCalls::AddName(std::string_view text) {
  const bool may_block = MayBlock(text);
  // Too many names to keep each of them.
  if (name_index_.size() >= kMaxNames) text = may_block ? "others (Synchronize)" : "others";
  const auto [entry, fresh] = name_index_.try_emplace(std::string(text));
  if (fresh) {
    Name& name = entry->second;
    name.text = text;
    name.may_block = may_block;
    name.is_launch = IsLaunch(text);
    name.capture = Has(text, "StreamBeginCapture") ? 1 : Has(text, "StreamEndCapture") ? -1 : 0;
    name.number = static_cast<uint16_t>(names_.size());
    names_.push_back(&entry->second);
  }
  return entry->second;
}

uint32_t NsysCalls::ThreadOf(int64_t tid) {
  if (!threads_.empty() && last_tid_ == tid) return last_thread_;
  const auto [entry, fresh] =
      thread_index_.try_emplace(tid, static_cast<uint32_t>(threads_.size()));
  if (fresh) threads_.push_back(tid);
  last_tid_ = tid;
  last_thread_ = entry->second;
  return last_thread_;
}

uint8_t NsysCalls::OutcomeOf(const TableScan& scan) {
  const auto small = [&](int column) -> std::optional<int32_t> {
    const std::optional<int64_t> value = scan.Int(column);
    if (!value || *value != static_cast<int32_t>(*value)) return std::nullopt;
    return static_cast<int32_t>(*value);
  };
  const Outcome outcome = {small(5), small(6)};
  if (outcomes_[last_outcome_] == outcome) return last_outcome_;
  auto at = std::find(outcomes_.begin(), outcomes_.end(), outcome);
  // CUDA has about a hundred error codes; further outcomes are not stored.
  if (at == outcomes_.end() && outcomes_.size() >= 250) at = outcomes_.begin();
  if (at == outcomes_.end()) at = outcomes_.insert(at, outcome);
  last_outcome_ = static_cast<uint8_t>(at - outcomes_.begin());
  return last_outcome_;
}

std::string NsysCalls::Longest(size_t names) const {
  std::vector<const Name*> sorted(names_.begin(), names_.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Name* a, const Name* b) { return a->total_ns > b->total_ns; });
  std::string text;
  for (const Name* name : sorted) {
    if (names-- == 0) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name->text,
                        Duration(static_cast<double>(name->total_ns)));
  }
  return text;
}

void NsysCalls::FlushCounters(model::EventSink& sink) {
  for (const Name* name : names_) {
    counters_.Add("api_call_not_kept: " + name->text, model::Severity::kInfo, name->not_kept);
  }
  counters_.Flush(sink);
}

}  // namespace xlatrace::importers
