// SPDX-License-Identifier: Apache-2.0
#include "export/lake.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/hash.h"
#include "export/exported_views.h"
#include "export/parquet_view.h"
#include "store/schema.h"

namespace xlatrace::exporter {
namespace {

namespace fs = std::filesystem;
using store::RunDb;
using store::Statement;
using store::Table;

constexpr int64_t kLakeRowsPerProgress = 1 << 16;

// Views for questions about many runs; the rows of launches stay in run.db.
constexpr std::string_view kRunViews[] = {
    "run_info",
    "process",
    "device",
    "module",
    "step",
    "step_part",
    "phase_time",
    "op_time",
    "scope_time",
    "gap",
    "busy_time",
    "launch_queue",
    "late_rank",
    "collective",
    "compile",
    "finding",
    "replay",
    "ruled_out",
    "run_stat",
    "rank",
    "rank_step",
    "job_collective",
    "job_critical_path",
};
// Views of a merged job. The other views are those of its ranks, each of which has its own run.db.
constexpr std::string_view kJobViews[] = {
    "run_info", "process", "device",    "finding",        "ruled_out",
    "run_stat", "rank",    "rank_step", "job_collective", "job_critical_path"};

// One row of facts about the run; parameters as in Lake::WriteRows.
constexpr std::string_view kRunRow = R"(
SELECT ?1 AS run_id, ?2 AS generation, ?3 AS fingerprint, ?4 AS schema_version,
  ?5 AS start_unix_ns,
  (SELECT value FROM run_info WHERE key = 'source') AS source,
  (SELECT min(host) FROM process) AS host,
  (SELECT name FROM module WHERE role = 'main' ORDER BY module_id LIMIT 1) AS program,
  (SELECT value FROM run_info WHERE key = 'jaxlib_version') AS jaxlib_version,
  (SELECT value FROM run_info WHERE key = 'tensorflow_version') AS tensorflow_version,
  (SELECT value FROM run_info WHERE key = 'tool_version') AS tool_version,
  (SELECT min(name) FROM device) AS gpu,
  coalesce((SELECT nullif(count(DISTINCT coalesce(host, '')), 0) FROM rank),
           (SELECT count(DISTINCT coalesce(host, '')) FROM process)) AS hosts,
  coalesce((SELECT nullif(count(*), 0) FROM rank), (SELECT count(*) FROM device)) AS devices,
  (SELECT count(*) FROM rank) AS merged_ranks,
  coalesce((SELECT sum(device_ns) FROM rank),
           (SELECT sum(self_ns) FROM phase_time)) AS device_ns,
  (SELECT value FROM run_info WHERE key = 'job_cause') AS job_cause,
  (SELECT value FROM run_info WHERE key = 'job_waited_for') AS job_waited_for,
  (SELECT CAST(value AS INTEGER) FROM run_info WHERE key = 'job_cost_ns_per_step')
    AS job_cost_ns_per_step,
  (SELECT value FROM run_info WHERE key = 'job') AS job_answer)";

tl::unexpected<Error> CannotWrite(const std::string& path, const std::error_code& error) {
  return MakeError(fmt::format("cannot write '{}': {}", path, error.message()),
                   "name a folder you may write to with -o FOLDER/");
}

// Parts of paths that every engine takes as they are.
std::string PathWord(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    word += plain ? c : '_';
  }
  // Readers leave out names that begin so.
  if (!word.empty() && (word[0] == '.' || word[0] == '_')) word.insert(0, "x");
  return word.substr(0, 100);
}

Result<std::string> DateOf(const LakeRequest& request, int64_t start_unix_ns,
                           const std::string& run) {
  if (request.date) {
    int year = 0;
    unsigned month = 0, day = 0;
    const std::string& text = *request.date;
    const auto number = [&](size_t at, size_t size, auto* value) {
      const char* end = text.data() + at + size;
      return std::from_chars(text.data() + at, end, *value).ptr == end;
    };
    const bool read = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                      number(0, 4, &year) && number(5, 2, &month) && number(8, 2, &day);
    if (!read || !std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month),
                                              std::chrono::day(day))
                      .ok()) {
      return MakeError(fmt::format("--date '{}' is no date", text), "--date 2026-11-23",
                       ErrorCode::kUsage);
    }
    return text;
  }
  if (start_unix_ns <= 0) {
    return MakeError(fmt::format("'{}' has no time of recording", run),
                     "give the day of the recording: --date 2026-11-23");
  }
  const std::time_t seconds = start_unix_ns / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

// "RUN_ID-123.parquet" -> 123.
std::optional<int64_t> GenerationOf(std::string_view file, std::string_view run_id) {
  if (!file.starts_with(run_id) || !file.ends_with(".parquet")) return std::nullopt;
  file.remove_prefix(run_id.size());
  file.remove_suffix(std::string_view(".parquet").size());
  if (file.size() < 2 || file.front() != '-') return std::nullopt;
  int64_t generation = 0;
  const char* end = file.data() + file.size();
  if (std::from_chars(file.data() + 1, end, generation).ptr != end) return std::nullopt;
  return generation;
}

class Lake {
 public:
  Lake(RunDb& db, const LakeRequest& request, int64_t start_unix_ns)
      : db_(db), request_(request), start_unix_ns_(start_unix_ns) {
    root_ = request.folder;
    while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
  }
  Lake(const Lake&) = delete;
  Lake& operator=(const Lake&) = delete;
  ~Lake() {
    std::error_code ignored;
    if (writing_.empty()) return;
    fs::remove_all(writing_, ignored);
    fs::remove(root_ + "/_writing", ignored);  // Fails if another process writes.
  }

  Result<LakeCount> Write() {
    XLATRACE_ASSIGN(result_.date, DateOf(request_, start_unix_ns_, db_.path()));
    XLATRACE_TRY(Identify());
    XLATRACE_ASSIGN(const std::vector<std::string> views, Views());
    XLATRACE_TRY(Prepare());
    for (const std::string& view : views) XLATRACE_TRY(WriteView(view));
    XLATRACE_TRY(WriteRows("run", std::string(kRunRow)));
    for (const std::string& view : views) XLATRACE_TRY(Place(view));
    XLATRACE_TRY(Place("run"));  // From here on the run is there.
    RemoveOlder();
    return std::move(result_);
  }

 private:
  // The same run has the same id in every export. A recording is identified by its token and first
  // process, because it may grow later. An imported run is identified by its content, a merged job
  // by its ranks.
  Status Identify() {
    XLATRACE_ASSIGN(const auto token, db_.Info("recording_token"));
    XLATRACE_ASSIGN(const Table process,
                    db_.Select("SELECT host, pid, rank FROM process ORDER BY process_id LIMIT 1"));
    XLATRACE_ASSIGN(const Table all,
                    db_.Select("SELECT (SELECT count(*) FROM rank) AS ranks, (SELECT"
                               " group_concat(fingerprint, ' ') FROM (SELECT DISTINCT fingerprint"
                               " FROM module WHERE role = 'main' ORDER BY 1)) AS programs, (SELECT"
                               " name FROM module WHERE role = 'main' ORDER BY module_id LIMIT 1)"
                               " AS program, (SELECT sum(self_ns) FROM phase_time) AS device_ns"));
    merged_ = all.Int(0, "ranks") > 0;
    const std::string programs = all.Text(0, "programs");
    fingerprint_ = programs.find(' ') == std::string::npos ? programs : HashText(Hash(programs));
    std::string identity = merged_ ? "job" : "run";
    if (merged_) {
      XLATRACE_TRY(db_.ForEach(
          "SELECT rank, ordinal, host, device_ns FROM \"rank\" ORDER BY rank_id",
          [&](const Statement& row) {
            identity +=
                fmt::format("\n{} {} {} {}", row.Int64(0), row.Int64(1), row.Text(2), row.Int64(3));
            return true;
          }));
    } else if (!process.rows.empty()) {
      identity += fmt::format("\n{}\n{}\n{}", process.Text(0, "host"), process.Int(0, "pid", -1),
                              process.Int(0, "rank", -1));
    }
    if (token && !token->empty()) {
      identity += "\ntoken " + *token;
    } else {
      identity += fmt::format("\n{}", start_unix_ns_);
      if (!merged_) identity += fmt::format("\n{}\n{}", all.Int(0, "device_ns"), programs);
    }
    result_.run_id = HashText(Hash(identity)) + HashText(Hash(identity, 1)).substr(0, 8);
    std::string job = request_.job.value_or(token.value_or(""));
    if (job.empty() && !request_.job) job = all.Text(0, "program");
    if (job.empty() && !request_.job) job = fs::path(db_.path()).stem().string();
    result_.job = PathWord(job);
    if (result_.job.empty()) {
      return MakeError("--job has no letters", "--job llama-70b", ErrorCode::kUsage);
    }
    return {};
  }

  Result<std::vector<std::string>> Views() {
    // Names from the command line are checked there.
    XLATRACE_TRY(ExportedViews(db_, request_.views));
    std::vector<std::string> views;
    if (merged_) {
      views.assign(std::begin(kJobViews), std::end(kJobViews));
    } else {
      views.assign(std::begin(kRunViews), std::end(kRunViews));
    }
    for (const std::string& view : request_.views) {
      if (std::find(views.begin(), views.end(), view) == views.end()) views.push_back(view);
    }
    return views;
  }

  Status Prepare() {
    if (Exists(root_) && !IsDirectory(root_)) {
      return MakeError(fmt::format("output '{}' is a file; a lake is a folder", root_),
                       "-o FOLDER/", ErrorCode::kUsage);
    }
    generation_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
    // A clock that is behind must not make the new data older than what is there.
    ForFiles("run", [&](const fs::path& file) {
      const std::string name = file.filename().string();
      const auto generation = GenerationOf(name, result_.run_id);
      const auto compacted = GenerationOf(name, "compact");
      generation_ = std::max({generation_, generation.value_or(0) + 1, compacted.value_or(0) + 1});
    });
    writing_ = fmt::format("{}/_writing/{}-{}.{}", root_, result_.run_id, generation_, getpid());
    std::error_code error;
    fs::create_directories(writing_, error);
    if (!error) return {};
    writing_.clear();
    return CannotWrite(root_, error);
  }

  // The process of a row, by the first key that the view has.
  static std::string RankOf(const std::vector<std::string>& columns) {
    const auto has = [&](std::string_view name) {
      return std::find(columns.begin(), columns.end(), name) != columns.end();
    };
    constexpr std::string_view kOf = "(SELECT p.rank FROM process p WHERE p.process_id = {})";
    if (has("rank_id")) return "(SELECT r.rank FROM \"rank\" r WHERE r.rank_id = v.rank_id)";
    if (has("process_id")) return fmt::format(kOf, "v.process_id");
    for (const auto& [key, view] :
         {std::pair("device_id", "device"), {"module_id", "module"}, {"activity_id", "activity"}}) {
      if (has(key)) {
        return fmt::format(
            kOf, fmt::format("(SELECT k.process_id FROM {} k WHERE k.{} = v.{})", view, key, key));
      }
    }
    return "";
  }

  Status WriteView(const std::string& view) {
    XLATRACE_ASSIGN(const Statement statement,
                    db_.Prepare(fmt::format("SELECT * FROM \"{}\"", view)));
    std::vector<std::string> columns;
    for (int i = 0; i < statement.ColumnCount(); ++i) columns.emplace_back(statement.ColumnName(i));
    const auto add = [&, first = columns](std::string_view name, const std::string& value,
                                          std::string& sql) {
      if (std::find(first.begin(), first.end(), name) == first.end() && !value.empty()) {
        sql += fmt::format(", {} AS {}", value, name);
      }
    };
    std::string sql = "SELECT ?1 AS run_id, ?2 AS generation";
    add("fingerprint", "?3", sql);
    add("schema_version", "?4", sql);
    add("rank", RankOf(columns), sql);
    return WriteRows(view, sql + fmt::format(", v.* FROM \"{}\" v", view));
  }

  Status WriteRows(const std::string& view, const std::string& sql) {
    XLATRACE_ASSIGN(Statement rows, db_.Prepare(sql));
    rows.BindText(0, result_.run_id);
    rows.BindInt64(1, generation_);
    if (rows.ParameterCount() > 2) rows.BindTextOrNull(2, fingerprint_);
    if (rows.ParameterCount() > 3) rows.BindInt64(3, store::kSchemaVersion);
    if (rows.ParameterCount() > 4) {
      rows.BindOptional(4, start_unix_ns_ > 0 ? std::optional(start_unix_ns_) : std::nullopt);
    }
    XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(fmt::format("{}/{}", writing_, view)));
    XLATRACE_TRY(WriteParquetView(
        view, std::move(rows),
        {{"xlatrace.schema_version", std::to_string(store::kSchemaVersion)},
         {"xlatrace.run_id", result_.run_id}},
        [&] {
          int64_t& count = result_.count.rows;
          if (++count % kLakeRowsPerProgress == 0 && request_.progress) request_.progress(count, 0);
        },
        file));
    return file.Commit();
  }

  Status Place(const std::string& view) {
    const std::string folder =
        fmt::format("{}/{}/dt={}/job={}", root_, view, result_.date, result_.job);
    const std::string path = fmt::format("{}/{}-{}.parquet", folder, result_.run_id, generation_);
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) fs::rename(fmt::format("{}/{}", writing_, view), path, error);
    if (error) return CannotWrite(path, error);
    ++result_.count.files;
    return {};
  }

  // Files of VIEW/dt=*/job=*/.
  template <typename Function>
  void ForFiles(const std::string& view, const Function& function) const {
    std::error_code error;
    for (fs::directory_iterator dates(root_ + "/" + view, error), end; !error && dates != end;
         dates.increment(error)) {
      std::error_code inner;
      for (fs::directory_iterator jobs(dates->path(), inner); !inner && jobs != end;
           jobs.increment(inner)) {
        std::error_code last;
        for (fs::directory_iterator files(jobs->path(), last); !last && files != end;
             files.increment(last)) {
          function(files->path());
        }
      }
    }
  }

  // Rows of an earlier export of this run no longer count; a file that remains does no harm.
  void RemoveOlder() const {
    std::vector<std::string> views = {"run"};
    std::error_code error;
    for (fs::directory_iterator at(root_, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name != "run" && name.front() != '_' && name.front() != '.') views.push_back(name);
    }
    std::vector<fs::path> older;
    for (const std::string& view : views) {
      ForFiles(view, [&](const fs::path& file) {
        const auto generation = GenerationOf(file.filename().string(), result_.run_id);
        if (generation && *generation < generation_) older.push_back(file);
      });
    }
    for (const fs::path& file : older) fs::remove(file, error);
  }

  RunDb& db_;
  const LakeRequest& request_;
  int64_t start_unix_ns_;
  std::string root_, writing_, fingerprint_;
  int64_t generation_ = 0;
  bool merged_ = false;
  LakeCount result_;
};

}  // namespace

Result<LakeCount> WriteLake(RunDb& db, const LakeRequest& request) {
  if (request.folder.find("://") != std::string::npos) {
    return MakeError(
        fmt::format("'{}' is no folder: xlatrace writes to file systems only", request.folder),
        "write a folder and copy it, `run/` last (docs/how-to/lake.md, Object stores)",
        ErrorCode::kUsage);
  }
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, {}, {}));
  return Lake(db, request, run.start_unix_ns()).Write();
}

}  // namespace xlatrace::exporter
