// SPDX-License-Identifier: Apache-2.0
#include "tools/show_sequence.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/shell_word.h"
#include "correlator/kernel_symbols.h"
#include "correlator/thunk_order/fill/thunk_list_join.h"
#include "correlator/thunk_order/program/thunk_program.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/text/text_reader.h"
#include "store/activity_scan.h"
#include "tools/order_doubts.h"

namespace xlatrace::tools {
namespace {

using correlator::ThunkKind;

struct Launch {
  std::string name;
  std::string instruction;
  std::string why;    // "thunk_order, exact", or the reason for none.
  std::string doubt;  // Empty: none, or not requested.
};

struct Line {
  char mark = ' ';
  std::string thunk;
  std::string launch;
  std::string why;
  std::string doubt = {};
};

std::string Cut(std::string text, size_t width) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  return text;
}

std::string_view Word(ThunkKind kind) {
  switch (kind) {
    case ThunkKind::kKernel:
      return "kernel";
    case ThunkKind::kGemm:
      return "gemm";
    case ThunkKind::kConvolution:
      return "convolution";
    case ThunkKind::kLibrary:
      return "library";
    case ThunkKind::kCollective:
      return "collective";
    case ThunkKind::kCopy:
    case ThunkKind::kHostCopy:
      return "copy";
    case ThunkKind::kMemset:
      return "memset";
    case ThunkKind::kGraph:
      return "graph";
    case ThunkKind::kAnything:
      return "custom call";
  }
  return "";
}

Result<std::vector<Launch>> LaunchesOf(store::RunDb& db, int64_t execution, bool why) {
  std::vector<correlator::Doubt> doubts;
  if (why) {
    XLATRACE_ASSIGN(doubts, OrderDoubts(db));
  }
  // First which they are, then one by one: SQLite would build a whole view for the join.
  std::vector<int64_t> ids;
  XLATRACE_TRY(store::ScanActivities(db, [&](const store::ScannedActivity& activity) {
    if (activity.execution_id == execution) ids.push_back(activity.activity_id);
    return true;
  }));
  XLATRACE_ASSIGN(store::Statement row,
                  db.Prepare("SELECT correlation_id, start_ns, name, instruction, evidence,"
                             " confidence, unattributed_reason FROM activity"
                             " WHERE activity_id = ?1"));
  XLATRACE_ASSIGN(store::Statement symbol,
                  db.Prepare("SELECT kernel_symbol FROM launch WHERE launch_id = ?1"));
  std::vector<std::pair<std::tuple<int64_t, int64_t, int64_t>, Launch>> launches;
  for (const int64_t id : ids) {
    row.Reset();
    row.BindInt64(0, id);
    symbol.Reset();
    symbol.BindInt64(0, id);
    XLATRACE_ASSIGN(const bool found, row.Step());
    if (!found) continue;
    XLATRACE_ASSIGN(const bool has_symbol, symbol.Step());
    Launch launch;
    launch.name = has_symbol && !symbol.IsNull(0) ? symbol.Text(0) : row.Text(2);
    launch.instruction = row.Text(3);
    launch.why = launch.instruction.empty() ? std::string(row.Text(6))
                                            : fmt::format("{}, {}", row.Text(4), row.Text(5));
    const auto doubt = static_cast<size_t>(id) <= doubts.size()
                           ? doubts[static_cast<size_t>(id) - 1]
                           : correlator::Doubt::kNone;
    if (doubt != correlator::Doubt::kNone && row.Text(5) != "exact") {
      launch.doubt = correlator::Text(doubt);
    }
    // As SQL orders: what is not known comes first.
    launches.emplace_back(std::tuple(row.OptionalInt64(0).value_or(INT64_MIN),
                                     row.OptionalInt64(1).value_or(INT64_MIN), id),
                          std::move(launch));
  }
  std::sort(launches.begin(), launches.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Launch> ordered;
  for (auto& [key, launch] : launches) ordered.push_back(std::move(launch));
  return ordered;
}

// The stored module, or a copy of the same program with better launch order. A copy with a thunk
// list is best, and one rebuilt from registered strings is worst.
Result<store::RunDb::ModuleBytes> BestCopy(store::RunDb& db, int64_t module_id) {
  XLATRACE_ASSIGN(
      const store::Table copies,
      db.Select("SELECT c.module_id FROM module m JOIN module c ON c.program_id = m.program_id AND "
                "c.name = m.name AND c.instruction_count = m.instruction_count AND "
                "(c.process_id = m.process_id OR c.process_id = 0) WHERE m.module_id = ?1 "
                "ORDER BY c.source = 'nvtx', c.module_id <> m.module_id, c.module_id",
                {module_id}));
  for (size_t row = 0; row < copies.rows.size(); ++row) {
    XLATRACE_ASSIGN(store::RunDb::ModuleBytes copy, db.ReadModule(copies.Int(row, "module_id")));
    if (!copy.thunk_sequence.empty()) return copy;
  }
  return db.ReadModule(copies.rows.empty() ? module_id : copies.Int(0, "module_id"));
}

class Sequence {
 public:
  Sequence(const model::HloModule& hlo, const correlator::ThunkProgram& program)
      : hlo_(hlo), program_(program) {}

  void Lay(const std::vector<Launch>& launches) {
    size_t next = 0;  // Token that is due.
    for (const Launch& launch : launches) {
      if (launch.instruction.empty()) {
        lines_.push_back({'+', "", launch.name, launch.why, launch.doubt});
        ++foreign_;
        continue;
      }
      const size_t at = Find(launch.instruction, next);
      if (at == kNoIndex) {
        // A further launch of the thunk before, a loop's next round, or one out of order.
        const bool again = !lines_.empty() && Before(launch.instruction, next);
        const size_t earlier = Find(launch.instruction, 0);
        if (again) {
          lines_.push_back({' ', "", Described(launch), launch.why, launch.doubt});
        } else if (earlier != kNoIndex) {
          Recorded(earlier);
          const bool loops = next > 0 && program_.Skipped(static_cast<uint32_t>(next - 1),
                                                          static_cast<uint32_t>(earlier)) >= 0;
          lines_.push_back(
              {loops ? '^' : '<', Thunk(earlier), Described(launch), launch.why, launch.doubt});
          if (loops) next = earlier + 1;
        } else {
          lines_.push_back({'+', "", Described(launch), launch.why, launch.doubt});
          ++foreign_;
        }
        continue;
      }
      Missing(next, at);
      lines_.push_back({' ', Thunk(at), Described(launch), launch.why, launch.doubt});
      next = at + 1;
    }
    Missing(next, program_.size());
  }

  std::string Text(int width) const {
    const auto wide = static_cast<size_t>(std::max(width, 60));
    const size_t why = 24;
    const size_t left = (wide - why - 6) / 2;
    std::string text = fmt::format("  {:<{}}  {:<{}}  {}\n", "thunk, in the order of the schedule",
                                   left, "launch, in the order it was made", left, "evidence");
    for (const Line& line : lines_) {
      text += fmt::format("{} {:<{}}  {:<{}}  {}\n", line.mark, Cut(line.thunk, left), left,
                          Cut(line.launch, left), left, line.why);
      if (!line.doubt.empty()) text += fmt::format("    why: {}\n", line.doubt);
    }
    return text;
  }

  size_t missing() const { return missing_at_.size(); }
  int foreign() const { return foreign_; }

 private:
  static constexpr size_t kNoIndex = SIZE_MAX;

  std::string_view Name(size_t token) const {
    return hlo_.instructions[program_.tokens()[token].instruction].name;
  }
  std::string Thunk(size_t token) const {
    return fmt::format("{} ({})", Name(token), Word(program_.tokens()[token].kind));
  }
  static std::string Described(const Launch& launch) { return launch.name; }

  size_t Find(std::string_view instruction, size_t from) const {
    for (size_t t = from; t < program_.size(); ++t) {
      if (Name(t) == instruction) return t;
    }
    return kNoIndex;
  }
  bool Before(std::string_view instruction, size_t next) const {
    return next > 0 && Name(next - 1) == instruction;
  }
  void Missing(size_t from, size_t to) {
    for (size_t t = from; t < to; ++t) {
      // An optional thunk may launch nothing, so it is not missing.
      if (program_.tokens()[t].optional) continue;
      lines_.push_back({'-', Thunk(t), "", "no record"});
      missing_at_[t] = lines_.size() - 1;
    }
  }
  // Launched late, after a later thunk of the schedule: it was not missing.
  void Recorded(size_t token) {
    const auto at = missing_at_.find(token);
    if (at == missing_at_.end()) return;
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at->second));
    for (auto& [other, line] : missing_at_) line -= line > at->second;
    missing_at_.erase(at);
  }

  const model::HloModule& hlo_;
  const correlator::ThunkProgram& program_;
  std::vector<Line> lines_;
  std::map<size_t, size_t> missing_at_;  // Lines of what has no record, by token.
  int foreign_ = 0;
};

}  // namespace

Result<std::string> ShowSequence(store::RunDb& db, std::string_view module,
                                 const SequenceOptions& options) {
  XLATRACE_ASSIGN(
      const store::Table found,
      db.Select("SELECT module_id, name, handle FROM module WHERE handle = ?1 OR name = "
                "?1 OR CAST(module_id AS TEXT) = ?1 ORDER BY handle <> ?1 LIMIT 1",
                {std::string(module)}));
  if (found.rows.empty()) {
    return MakeError(fmt::format("no module '{}' in '{}'", module, db.path()),
                     fmt::format("xlatrace modules {}", ShellWord(db.path())));
  }
  const int64_t module_id = found.Int(0, "module_id");
  XLATRACE_ASSIGN(const store::Table executions,
                  db.Select("SELECT execution_id, start_ns, end_ns, activities, complete FROM "
                            "execution WHERE module_id = ?1 ORDER BY execution_id",
                            {module_id}));
  if (executions.rows.empty()) {
    return MakeError(fmt::format("module '{}' did not run", found.Text(0, "name")));
  }
  size_t chosen = 0;
  while (chosen < executions.rows.size() &&
         (options.execution ? executions.Int(chosen, "execution_id") != *options.execution
                            : executions.Int(chosen, "complete") == 0)) {
    ++chosen;
  }
  if (chosen == executions.rows.size()) {
    if (options.execution) {
      return MakeError(
          fmt::format("module '{}' has no execution {}", found.Text(0, "name"), *options.execution),
          fmt::format(
              "xlatrace query {} \"SELECT execution_id FROM execution WHERE module_id = {}\"",
              ShellWord(db.path()), module_id));
    }
    chosen = 0;
  }
  const int64_t execution = executions.Int(chosen, "execution_id");

  XLATRACE_ASSIGN(store::RunDb::ModuleBytes stored, BestCopy(db, module_id));
  XLATRACE_ASSIGN(const model::HloModule hlo,
                  hlo::ReadAny(std::make_shared<const std::string>(std::move(stored.bytes))));
  std::vector<model::Thunk> thunks;
  if (!stored.thunk_sequence.empty()) {
    if (auto read = hlo::ReadThunks(stored.thunk_sequence, stored.thunk_metadata)) {
      thunks = std::move(*read);
    }
  }
  correlator::JoinThunkList(hlo, &thunks);
  const correlator::ThunkProgram program(hlo, thunks);
  XLATRACE_ASSIGN(const std::vector<Launch> launches, LaunchesOf(db, execution, options.why));
  Sequence sequence(hlo, program);
  sequence.Lay(launches);
  const std::string body = sequence.Text(options.width);
  return fmt::format(
      "{} ({}), execution {}, {} of {}: {} thunks ({}), {} launches; {} thunks without a record, "
      "{} "
      "launches of no thunk\n\n{}",
      found.Text(0, "name"), found.Text(0, "handle"), execution, chosen + 1, executions.rows.size(),
      program.size(), program.from_thunk_list() ? "from the thunk list" : "from the schedule",
      launches.size(), sequence.missing(), sequence.foreign(), body);
}

}  // namespace xlatrace::tools
