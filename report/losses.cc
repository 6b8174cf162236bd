// SPDX-License-Identifier: Apache-2.0
#include "report/losses.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::report {
namespace {

// The names of Linux on the machines that xlatrace runs on.
std::string SignalName(int64_t signal) {
  static constexpr std::pair<int, const char*> kNames[] = {
      {1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},   {5, "SIGTRAP"},
      {6, "SIGABRT"},  {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},  {10, "SIGUSR1"},
      {11, "SIGSEGV"}, {12, "SIGUSR2"}, {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"},
      {24, "SIGXCPU"}, {25, "SIGXFSZ"}, {31, "SIGSYS"}};
  for (const auto& [number, name] : kNames) {
    if (number == signal) return fmt::format("signal {} ({})", signal, name);
  }
  return fmt::format("signal {}", signal);
}

std::optional<int64_t> IntOrNone(const store::Table& table, size_t row, std::string_view column) {
  if (table.IsNull(row, column)) return std::nullopt;
  return table.Int(row, column);
}

std::string Seconds(int64_t ns) { return Duration(static_cast<double>(ns)); }

bool Lacks(const EndFigure& end) { return end.from_ns.has_value() && end.ended != "running"; }

}  // namespace

std::string EndText(const EndFigure& end) {
  if (end.ended != "signal") return end.ended;
  return end.signal ? SignalName(*end.signal) : "a signal or a crash";
}

bool LossFigure::more_possible() const {
  return !between_parts.empty() || std::any_of(ends.begin(), ends.end(), Lacks);
}

std::optional<int64_t> LossFigure::tail_ns() const {
  std::optional<int64_t> longest;
  for (const EndFigure& end : ends) {
    if (!Lacks(end)) continue;
    if (!end.tail_ns) return std::nullopt;
    longest = std::max(longest.value_or(0), *end.tail_ns);
  }
  return longest;
}

std::string LossFigure::Text() const {
  if (!more_possible()) return Thousands(lost);
  std::string end;
  if (std::any_of(ends.begin(), ends.end(), Lacks)) {
    const std::optional<int64_t> tail = tail_ns();
    end = tail ? "up to " + Seconds(*tail) + " of the end" : "all after a moment";
  }
  if (!between_parts.empty()) {
    int64_t runs = 0;
    for (const auto& [program, count] : between_parts) runs += count;
    if (!end.empty()) end += ", and ";
    end += fmt::format("{} execution{} between parts of the recording", Thousands(runs),
                       runs == 1 ? "" : "s");
  }
  return lost > 0 ? fmt::format("at least {}, and {}", Thousands(lost), end) : end;
}

std::string LossFigure::EndsText() const {
  std::map<std::string, int64_t> counts;
  for (const EndFigure& end : ends) {
    if (!end.ended.empty()) ++counts[EndText(end)];
  }
  if (counts.empty()) return {};
  if (counts.size() == 1 && counts.begin()->first == "running") return "still running";
  if (counts.size() == 1) return "ended by " + counts.begin()->first;
  std::string text = "ended: ";
  for (const auto& [how, count] : counts) {
    text += fmt::format("{}{} {}", text.size() > 7 ? ", " : "", count, how);
  }
  return text;
}

std::vector<std::string> LossFigure::Sentences() const {
  std::vector<const EndFigure*> lacking;
  for (const EndFigure& end : ends) {
    if (Lacks(end)) lacking.push_back(&end);
  }
  std::stable_sort(lacking.begin(), lacking.end(), [](const EndFigure* a, const EndFigure* b) {
    return a->at_least > b->at_least;
  });
  std::vector<std::string> sentences;
  for (const EndFigure* end : lacking) {
    std::string text = end->pid ? fmt::format("process {}", *end->pid) : "a process";
    text += end->ended.empty() ? ": recording stopped" : fmt::format(" ended by {}", EndText(*end));
    text += fmt::format("; its work after {} may be missing", Seconds(*end->from_ns));
    if (end->tail_ns) text += fmt::format(", at most {}", Seconds(*end->tail_ns));
    if (end->at_least > 0) {
      text += fmt::format("; at least {} {} missing", Thousands(end->at_least),
                          end->at_least == 1 ? "record is" : "records are");
    }
    sentences.push_back(std::move(text));
  }
  for (const auto& [program, runs] : between_parts) {
    sentences.push_back(fmt::format(
        "{} ran {} time{} between parts of the recording: those are not in it{}{}", program,
        Thousands(runs), runs == 1 ? "" : "s", one_part.empty() ? "" : "; ", one_part));
  }
  return sentences;
}

Result<LossFigure> LoadLosses(store::RunDb& db, int64_t lost) {
  LossFigure figure;
  figure.lost = lost;
  XLATRACE_ASSIGN(const store::Table processes,
                  db.Select("SELECT process_id, host, pid, ended, ended_signal, "
                            "unrecorded_from_ns, unrecorded_tail_ns, lost_at_least FROM process "
                            "ORDER BY process_id"));
  for (size_t i = 0; i < processes.rows.size(); ++i) {
    EndFigure end;
    end.process_id = processes.Int(i, "process_id");
    end.host = processes.Text(i, "host");
    end.pid = IntOrNone(processes, i, "pid");
    end.ended = processes.Text(i, "ended");
    end.signal = IntOrNone(processes, i, "ended_signal");
    end.from_ns = IntOrNone(processes, i, "unrecorded_from_ns");
    end.tail_ns = IntOrNone(processes, i, "unrecorded_tail_ns");
    end.at_least = IntOrNone(processes, i, "lost_at_least").value_or(0);
    figure.located += end.at_least;
    figure.ends.push_back(std::move(end));
  }
  XLATRACE_ASSIGN(
      const store::Table between,
      db.Select(
          "SELECT source, sum(value) AS runs, max(advice) AS advice FROM run_stat WHERE name = "
          "'executions_between_parts' GROUP BY source ORDER BY runs DESC, source"));
  for (size_t i = 0; i < between.rows.size(); ++i) {
    figure.between_parts.emplace_back(between.Text(i, "source"), between.Int(i, "runs"));
    const std::string advice = between.Text(i, "advice");
    const size_t how = advice.rfind("; ");
    if (how != advice.npos) figure.one_part = advice.substr(how + 2);
  }
  return figure;
}

}  // namespace xlatrace::report
