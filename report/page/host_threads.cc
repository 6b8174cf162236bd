// SPDX-License-Identifier: Apache-2.0
#include "report/page/host_threads.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "report/page/page_context.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxHostEventCount = 20'000;  // Over all windows,
constexpr size_t kMinEventsOfWindowCount = 200;
// Thread numbers of operating systems have fewer digits; XProf's are hashes.
constexpr int64_t kMaxReadableThreadId = 9'999'999;

}  // namespace

Status HostThreads::Open(PageContext& page) {
  XLATRACE_TRY(ChooseWindows(page));
  if (windows_.empty()) return {};
  most_of_window_ = std::max<size_t>(kMaxHostEventCount / windows_.size(), kMinEventsOfWindowCount);
  FindSpans();
  XLATRACE_ASSIGN(const store::Table calls, store::ScanCallKinds(page.db));
  AddKinds(calls, "call_kind", "name", call_kinds_);
  XLATRACE_ASSIGN(const store::Table ranges, store::ScanRangeKinds(page.db));
  AddKinds(ranges, "range_kind", "text", range_kinds_);
  return {};
}

Status HostThreads::ChooseWindows(PageContext& page) {
  std::map<int64_t, std::map<int64_t, std::vector<StepIndex::Span>>> steps;  // Process, step.
  XLATRACE_TRY(
      page.db.ForEach("SELECT device_id, process_id FROM device", [&](const store::Statement& s) {
        auto& of_process = steps[s.Int64(1)];
        const auto spans = page.steps.devices().find(s.Int64(0));
        if (spans == page.steps.devices().end()) return true;
        for (const StepIndex::Span& span : spans->second) of_process[span.step].push_back(span);
        return true;
      }));
  for (const auto& [process, of_step] : steps) {
    struct Candidate {
      Window window;
      double mean_ns = 0;
      bool steady = false;
    };
    std::vector<Candidate> candidates;
    for (const auto& [step, spans] : of_step) {
      Candidate one{.window = {.process_id = process,
                               .step = step,
                               .start_ns = spans[0].start_ns,
                               .end_ns = spans[0].end_ns},
                    .steady = spans[0].steady};
      for (const StepIndex::Span& span : spans) {
        one.window.start_ns = std::min(one.window.start_ns, span.start_ns);
        one.window.end_ns = std::max(one.window.end_ns, span.end_ns);
        one.mean_ns +=
            static_cast<double>(span.end_ns - span.start_ns) / static_cast<double>(spans.size());
      }
      candidates.push_back(one);
    }
    const auto is_steady = [](const Candidate& c) { return c.steady; };
    if (std::any_of(candidates.begin(), candidates.end(), is_steady)) {
      std::erase_if(candidates, [](const Candidate& c) { return !c.steady; });
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.mean_ns < b.mean_ns; });
    if (candidates.empty()) {
      windows_.push_back({.process_id = process, .start_ns = INT64_MIN, .end_ns = INT64_MAX});
      continue;
    }
    windows_.push_back(candidates[(candidates.size() - 1) / 2].window);
    if (candidates.size() > 1) windows_.push_back(candidates.back().window);
  }
  return {};
}

void HostThreads::FindSpans() {
  for (const Window& window : windows_) spans_.emplace_back(window.start_ns, window.end_ns);
  std::sort(spans_.begin(), spans_.end());
  size_t last = 0;
  for (const auto& [start, end] : spans_) {
    if (start > spans_[last].second) spans_[++last] = {start, end};
    spans_[last].second = std::max(spans_[last].second, end);
  }
  spans_.resize(last + 1);
}

void HostThreads::AddKinds(const store::Table& table, std::string_view id, std::string_view name,
                           Kinds& kinds) const {
  std::unordered_map<int64_t, std::pair<size_t, size_t>> windows_of;  // By process: first, end.
  for (size_t w = 0; w < windows_.size(); ++w) {
    windows_of.try_emplace(windows_[w].process_id, w, w).first->second.second = w + 1;
  }
  const size_t name_column = table.Column(name);
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const auto windows = windows_of.find(table.Int(row, "process_id"));
    if (windows == windows_of.end()) continue;
    const auto* words = std::get_if<std::string>(&table.rows[row][name_column]);
    kinds[table.Int(row, id)] = {.thread_id = table.Int(row, "thread_id"),
                                 .text = words != nullptr ? *words : std::string(),
                                 .first_window = windows->second.first,
                                 .end_window = windows->second.second};
  }
}

void HostThreads::Keep(const Kinds& kinds, Event event, int64_t kind_id) {
  const auto kind = kinds.find(kind_id);
  if (kind == kinds.end() || event.end_ns < event.start_ns) return;
  event.kind = &kind->second;
  event.kind_id = kind_id;
  for (size_t w = kind->second.first_window; w < kind->second.end_window; ++w) {
    Window& window = windows_[w];
    if (event.end_ns < window.start_ns || event.start_ns > window.end_ns) continue;
    ++window.events;
    window.kept.push_back(event);
    if (window.kept.size() >= 4 * most_of_window_) DropShortOnes(window.kept);
    return;  // An event in both windows is drawn once.
  }
}

void HostThreads::DropShortOnes(std::vector<Event>& events) const {
  if (events.size() <= most_of_window_) return;
  const auto is_longer = [](const Event& a, const Event& b) {
    const int64_t a_ns = a.end_ns - a.start_ns;
    const int64_t b_ns = b.end_ns - b.start_ns;
    return std::tuple(b_ns, a.start_ns, a.kind_id) < std::tuple(a_ns, b.start_ns, b.kind_id);
  };
  std::nth_element(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(most_of_window_),
                   events.end(), is_longer);
  events.resize(most_of_window_);
}

Status HostThreads::AddOthers(store::RunDb& db) {
  if (windows_.empty()) return {};
  XLATRACE_ASSIGN(names_, db.Select("SELECT process_id, thread_id, name FROM thread"
                                    " WHERE name <> '' ORDER BY process_id, thread_id"));
  XLATRACE_TRY(store::ScanOtherCalls(db, [&](const store::ScannedOtherCall& call) {
    AddCall(call.call_kind, call.start_ns, call.end_ns);
  }));
  return store::ScanRanges(db, [&](const store::ScannedRange& range) {
    const int64_t end_ns = range.start_ns + range.duration_ns;
    if (!range.is_mark && InSpan(range.start_ns, end_ns)) {
      Keep(range_kinds_, {.start_ns = range.start_ns, .end_ns = end_ns}, range.range_kind);
    }
    return true;
  });
}

// Names, and numbers within the run for threads whose id is a hash.
void HostThreads::WriteThreads(PageContext& page) const {
  std::map<std::pair<int64_t, int64_t>, std::string> threads;  // Process, thread: name.
  for (size_t i = 0; i < names_.rows.size(); ++i) {
    const int64_t process = names_.Int(i, "process_id");
    if (std::any_of(windows_.begin(), windows_.end(),
                    [&](const Window& w) { return w.process_id == process; })) {
      threads[{process, names_.Int(i, "thread_id")}] = names_.Text(i, "name");
    }
  }
  const auto is_readable = [](int64_t id) { return id >= 0 && id <= kMaxReadableThreadId; };
  for (const Kinds* kinds : {&call_kinds_, &range_kinds_}) {
    for (const auto& [id, kind] : *kinds) {
      if (is_readable(kind.thread_id)) continue;
      threads.try_emplace({windows_[kind.first_window].process_id, kind.thread_id});
    }
  }
  PageTable table("host_threads", page.blocks.strings());
  table.Declare("process>processes thread_id name:text number id:text");
  int64_t number = 0;
  for (const auto& [key, name] : threads) {
    const auto& [process, thread] = key;
    SetCell(table, 0, process, &page.processes);
    table.Set(1, thread);
    if (!name.empty()) table.SetText(2, name);
    if (!is_readable(thread)) {
      table.Set(3, ++number);
      table.SetText(4, std::to_string(thread));
    }
    table.EndRow();
  }
  if (!table.empty()) page.blocks.Write(table);
}

void HostThreads::Write(PageContext& page) {
  if (windows_.empty()) return;
  struct Row {
    int64_t process_id, thread_id, start_ns, end_ns;
    bool is_call;
    std::string_view text;
  };
  std::vector<Row> rows;
  for (Window& window : windows_) {
    DropShortOnes(window.kept);
    for (const Event& event : window.kept) {
      const Kind& kind = *event.kind;
      rows.push_back({window.process_id, kind.thread_id, event.start_ns, event.end_ns,
                      event.is_call, kind.text});
    }
  }
  // Outer before inner, as they nest.
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.process_id, a.thread_id, a.start_ns, -a.end_ns, a.is_call, a.text) <
           std::tuple(b.process_id, b.thread_id, b.start_ns, -b.end_ns, b.is_call, b.text);
  });
  PageTable table("host_events", page.blocks.strings());
  table.Declare("process>processes thread_id start_ns:delta duration_ns call:flag text:text");
  for (const Row& row : rows) {
    SetCell(table, 0, row.process_id, &page.processes);
    table.Set(1, row.thread_id);
    table.Set(2, row.start_ns);
    table.Set(3, row.end_ns - row.start_ns);
    table.Set(4, row.is_call ? 1 : 0);
    table.SetText(5, row.text);
    table.EndRow();
  }
  if (!table.empty()) page.blocks.WriteChunk(table);
  WriteThreads(page);
  PageTable held("host_windows", page.blocks.strings());
  held.Declare("process>processes step start_ns end_ns events kept");
  for (const Window& window : windows_) {
    if (window.events == 0) continue;
    SetCell(held, 0, window.process_id, &page.processes);
    held.Set(1, window.step);
    if (window.step) {
      held.Set(2, window.start_ns);
      held.Set(3, window.end_ns);
    }
    held.Set(4, window.events);
    held.Set(5, static_cast<int64_t>(window.kept.size()));
    held.EndRow();
  }
  page.blocks.Write(held);
}

}  // namespace xlatrace::report
