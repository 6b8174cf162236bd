// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/recorded_process.h"

#include <algorithm>

#include "importers/common/text_fields.h"

namespace xlatrace::importers {

void RecordedProcess::OnActivity(const recording::ActivityRow& row, const recording::ConfigRow&,
                                 const recording::LaneRow&) {
  if (row.correlation != 0) launches.Mark(row.correlation);
  if (row.graph_node != 0) graph_launch_ns.try_emplace(row.correlation, 0);
  See(row.start_ns);
  See(row.end_ns);
  if (row.start_ns != 0 && (first_activity_ns == 0 || row.start_ns < first_activity_ns)) {
    first_activity_ns = row.start_ns;
  }
}

void RecordedProcess::OnRange(const recording::RangeRow& row) {
  if (row.module_run != 0) runs[RunIndex(row.module_run) - 1] = row.text;
  See(row.start_ns);
  See(row.end_ns);
  constexpr size_t kMaxMarks = 1 << 22;
  if (row.start_ns == row.end_ns && row.domain != 0 && marks_.size() < kMaxMarks) {
    marks_.push_back({row.start_ns, row.domain, row.text});
  }
}

void RecordedProcess::OnDevice(const recording::DeviceRow& row) {
  Device& device = devices[row.device];
  static_cast<recording::DeviceRow&>(device) = row;
  device.name_text = std::string(row.name);
  device.uuid_text = std::string(row.uuid);
  device.name = device.uuid = {};  // Borrowed.
}

void RecordedProcess::OnOverhead(const recording::OverheadRow& row) {
  if (row.end_ns > row.start_ns) overhead_ns += row.end_ns - row.start_ns;
}

void RecordedProcess::OnFact(const recording::FactRow& row) {
  constexpr size_t kMaxErrors = 100;
  if (row.key == "error") {
    if (errors.size() < kMaxErrors) errors.emplace_back(row.value);
  } else if (row.key == "note") {
    if (notes.size() < kMaxErrors) notes.emplace_back(row.value);
  } else {
    facts[std::string(row.key)] = std::string(row.value);
  }
}

// Counters of records that are lost. They are written at every flush, behind its clock.
void RecordedProcess::OnStat(const recording::StatRow& row) {
  uint64_t& value = stats[std::string(row.name)];
  const uint64_t grown = row.value > value ? row.value - value : 0;
  value = row.value;
  constexpr std::string_view kLosses[] = {"records_dropped", "rows_lost",
                                          "buffers_cut",     "records_short",
                                          "buffers_refused", "allocation_failures"};
  if (grown == 0 ||
      std::find(std::begin(kLosses), std::end(kLosses), row.name) == std::end(kLosses)) {
    return;
  }
  // Counted with the flush before the last at the earliest: a buffer may have waited for it.
  const uint64_t from = clocks.size() < 3 ? 0 : clocks[clocks.size() - 3].realtime_ns;
  constexpr size_t kMaxCountedLossCount = 1000;  // More are one.
  if (counted_losses.size() < kMaxCountedLossCount) {
    counted_losses.push_back({from, 0, 0, std::string(row.name)});
  }
  // The clock may precede or follow the counters of its flush in the file. The clock after the next
  // one is certainly later.
  CountedLoss& loss = counted_losses.back();
  loss.open_at_clock = clocks.size();
  loss.records += static_cast<int64_t>(std::min<uint64_t>(grown, 1 << 30));
  loss.to_ns = 0;
}

void RecordedProcess::OnClock(const recording::ClockRow& row) {
  clocks.push_back(row);
  for (size_t i = counted_losses.size(); i > 0; --i) {
    CountedLoss& loss = counted_losses[i - 1];
    if (loss.to_ns != 0) break;  // Those before it are closed as well.
    if (loss.open_at_clock + 2 <= clocks.size()) loss.to_ns = row.realtime_ns;
  }
}

// token.host.pid.start: identity of the process, if the block with its description was lost.
void RecordedProcess::UseIdentity() {
  const std::string_view all = identity_;
  const size_t token_end = all.find('.');
  const size_t start = all.rfind('.');
  if (token_end == std::string_view::npos || start <= token_end) return;
  const size_t pid = all.rfind('.', start - 1);
  if (pid == std::string_view::npos || pid <= token_end) return;
  facts.try_emplace("host", all.substr(token_end + 1, pid - token_end - 1));
  facts.try_emplace("pid", all.substr(pid + 1, start - pid - 1));
}

void RecordedProcess::Finish() {
  UseIdentity();
  ring = !Fact("last_ms").empty();
  modules.Build(strings);
  nodes.Finish();
  launches.Freeze();
  constexpr std::string_view kStep = "step ";
  constexpr std::string_view kFirstRun = "first run ";
  constexpr std::string_view kNextRun = "next run ";
  constexpr std::string_view kOutsideRun = "outside run ";
  std::stable_sort(marks_.begin(), marks_.end(),
                   [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
  int64_t outside = 0;  // Intervals that are open: they may overlap.
  for (const Mark& mark : marks_) {
    const std::string_view text = strings.Text(mark.text);
    if ((text == "outside from" || text == "outside until") &&
        strings.Text(mark.domain) == "xlatrace") {
      const bool starts = text == "outside from";
      if (starts && outside++ == 0) outside_ns.emplace_back(mark.time_ns, mark.time_ns);
      // An end whose begin was lost has no facts about the time since the previous mark.
      if (outside > 0) outside_ns.back().second = mark.time_ns;
      if (!starts && outside > 0) --outside;
    }
    if (text.starts_with("window ") && strings.Text(mark.domain) == "xlatrace") {
      window_closed = text == "window closed";
      if (window_closed && first_closed_ns == 0) first_closed_ns = mark.time_ns;
      if (text == "window opened") opened_ns.push_back(mark.time_ns);
      if (text == "window anew") {
        anew_ns = mark.time_ns;
        first_runs.clear();
        next_runs.clear();
        outside_runs.clear();
      }
    }
    for (const auto& [prefix, marked] :
         {std::pair{kFirstRun, &first_runs}, std::pair{kNextRun, &next_runs},
          std::pair{kOutsideRun, &outside_runs}}) {
      if (!text.starts_with(prefix) || strings.Text(mark.domain) != "xlatrace") continue;
      const auto run = ParseInt(text.substr(prefix.size()));
      if (run && *run > 0) marked->emplace_back(mark.time_ns, static_cast<uint64_t>(*run));
    }
    if (!text.starts_with(kStep) || strings.Text(mark.domain) != "xlatrace") continue;
    if (const auto number = ParseInt(text.substr(kStep.size()))) {
      steps.emplace_back(mark.time_ns, *number);
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

uint32_t RecordedProcess::KnownRun(uint64_t module_run) const {
  const auto it = run_index_.find(module_run);
  return it == run_index_.end() ? 0 : it->second;
}

uint32_t RecordedProcess::RunIndex(uint64_t module_run) {
  const auto [it, fresh] =
      run_index_.try_emplace(module_run, static_cast<uint32_t>(runs.size() + 1));
  if (fresh) runs.push_back(0);
  return it->second;
}

std::string_view RecordedProcess::Fact(std::string_view key) const {
  const auto it = facts.find(key);
  return it == facts.end() ? std::string_view() : it->second;
}

std::optional<int64_t> RecordedProcess::IntFact(std::string_view key) const {
  const std::string_view text = Fact(key);
  return text.empty() ? std::nullopt : ParseInt(text);
}

}  // namespace xlatrace::importers
