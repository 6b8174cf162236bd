// SPDX-License-Identifier: Apache-2.0
#include "tools/fold.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/abandoned_files.h"
#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "dumps/dump_name.h"
#include "recording/control.h"
#include "recording/folder.h"
#include "store/run_db.h"
#include "store/run_db_mark.h"
#include "tools/console.h"
#include "tools/hook_fold.h"
#include "tools/trace_run.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";
constexpr uint64_t kMaxNoteBytes = 64 << 10;

// Held while a folder is being folded. A folder that cannot be written is read without: then
// run.db lies elsewhere.
class FoldLock {
 public:
  explicit FoldLock(const std::string& folder) {
    const std::string path = folder + "/" + kLockName;
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno == EWOULDBLOCK) Note("another xlatrace is folding this recording; waiting for it");
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  FoldLock(const FoldLock&) = delete;
  FoldLock& operator=(const FoldLock&) = delete;
  ~FoldLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  int fd_ = -1;
};

std::string NameOf(const std::string& path) { return fs::path(path).filename().string(); }

int64_t ModifiedNs(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return 0;
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

// The recording that a run.db was folded from.
struct Held {
  std::string token;  // Empty: from no recording.
  struct File {
    uint64_t bytes = 0;
    std::string state;
  };
  std::map<std::string, File> files;
};

Result<Held> ReadHeld(const std::string& database) {
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(database));
  Held held;
  XLATRACE_ASSIGN(const auto token, db.Info("recording_token"));
  XLATRACE_ASSIGN(const auto files, db.Info("recording_files"));
  held.token = token.value_or("");
  std::istringstream lines(files.value_or(""));
  std::string name;
  std::string state;
  uint64_t valid = 0;
  uint64_t bytes = 0;
  while (lines >> name >> valid >> bytes >> state) held.files[name] = {bytes, state};
  return held;
}

bool HoldsAll(const Held& held, const std::vector<recording::FolderEntry>& entries) {
  return std::all_of(entries.begin(), entries.end(), [&](const recording::FolderEntry& entry) {
    const auto file = held.files.find(NameOf(entry.path));
    if (file == held.files.end() || file->second.bytes < entry.bytes) return false;
    // A process that ended after the last fold needs a new fold.
    return entry.live || file->second.state != "live";
  });
}

// run.db holds files that are not in the folder any more.
bool HoldsGone(const Held& held, const std::vector<recording::FolderEntry>& entries) {
  std::set<std::string> names;
  for (const recording::FolderEntry& entry : entries) names.insert(NameOf(entry.path));
  return std::any_of(held.files.begin(), held.files.end(),
                     [&](const auto& file) { return !names.contains(file.first); });
}

// The entries of the token, or of the newest job if the token is empty.
std::vector<recording::FolderEntry> EntriesOf(const recording::Folder& folder, std::string* token,
                                              std::vector<std::string>* notes) {
  if (token->empty() && !folder.recordings.empty()) *token = folder.recordings.back().token;
  std::vector<recording::FolderEntry> entries;
  std::set<std::string> others;
  for (const recording::FolderEntry& entry : folder.recordings) {
    if (entry.token == *token) {
      entries.push_back(entry);
    } else {
      others.insert(entry.token);
    }
  }
  if (!others.empty()) {
    std::string names;
    for (const std::string& other : others) names += (names.empty() ? "" : ", ") + other;
    notes->push_back(
        fmt::format("the folder also holds recordings of other jobs, left alone: {}", names));
  }
  return entries;
}

std::string RecordingFolderOf(const std::string& database) {
  return fs::path(database).replace_extension(".rec").string();
}
std::string DatabaseOf(const std::string& folder) {
  std::string path = folder;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return fs::path(path).replace_extension(".db").string();
}

// Processes that the folder's `job` lists as ended (collector/recording_place.h) but that have no
// file in the folder. Such a file is on another disk, was deleted, or was not copied.
std::vector<std::pair<int64_t, int64_t>> EndedWithoutFile(
    const std::string& folder, const std::vector<recording::FolderEntry>& entries) {
  std::vector<std::pair<int64_t, int64_t>> missing;
  const auto text = ReadFile(folder + "/job", recording::kMaxJobFileBytes);
  if (!text || entries.empty()) return missing;
  std::istringstream lines(*text);
  std::string line;
  if (!std::getline(lines, line) || line != entries.front().token) return missing;
  std::set<int64_t> there;
  for (const recording::FolderEntry& entry : entries) there.insert(entry.pid);
  std::map<int64_t, int64_t> launches;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    int64_t pid = 0;
    int64_t count = 0;
    if (words >> word >> pid >> count && word == "ended" && !there.contains(pid)) {
      launches[pid] += count;
    }
  }
  missing.assign(launches.begin(), launches.end());
  return missing;
}

Status Build(const FoldRequest& request, const std::vector<recording::FolderEntry>& entries,
             bool other_job, FoldOutcome* outcome) {
  XLATRACE_TRY(CheckOutputPath(request.database, true));
  const auto without_file = EndedWithoutFile(request.folder, entries);
  BuildRequest build{.recordings = entries,
                     // Beside its place until the earlier run is out of the way.
                     .output = request.database + ".new",
                     .run_info = request.run_info,
                     .without_file = without_file,
                     .child = request.child};
  auto built = BuildRun(build);
  if (!built) {
    Error error = std::move(built).error();
    if (error.hint.empty()) {
      error.hint = fmt::format("write it elsewhere: xlatrace import {} -o /tmp/run.db",
                               ShellWord(request.folder));
    }
    return tl::unexpected<Error>(std::move(error));
  }
  // As private as the recording, because a run contains command lines and paths.
  chmod(build.output.c_str(), 0600);
  if (other_job) {
    auto moved = MoveAside(request.database);
    if (!moved) {
      std::remove(build.output.c_str());
      return tl::unexpected<Error>(std::move(moved).error());
    }
    if (!moved->empty()) {
      outcome->notes.push_back(
          fmt::format("the earlier {} is now {}", NameOf(request.database), NameOf(*moved)));
    }
  }
  if (std::rename(build.output.c_str(), request.database.c_str()) != 0) {
    const int error = errno;
    std::remove(build.output.c_str());
    return MakeError(fmt::format("cannot write '{}': {}", request.database, std::strerror(error)));
  }
  outcome->build = std::move(*built);
  return {};
}

void Describe(const std::vector<recording::FolderEntry>& entries, FoldOutcome* outcome) {
  outcome->folded = true;
  size_t complete = 0;
  for (const auto& [entry, import] : outcome->build.recordings) {
    outcome->live |= entry.live;
    const bool exec = import.ending.how == model::ProcessEnd::kExec && !import.damaged;
    complete += (import.complete || exec) && !entry.live ? 1 : 0;
    if (!import.complete && !exec && !entry.live && !import.damaged) {
      std::string missing = "the end of its work may be missing";
      if (import.ending.unrecorded_tail_ns) {
        missing = fmt::format("up to {} of its work may be missing",
                              Duration(static_cast<double>(*import.ending.unrecorded_tail_ns)));
      }
      if (import.missing_at_least > 0) {
        missing += fmt::format(", at least {} activities", Thousands(import.missing_at_least));
      }
      outcome->notes.push_back(fmt::format("process {} on {} was killed, or crashed: {}", entry.pid,
                                           entry.host, missing));
    }
    if (import.damaged) {
      outcome->notes.push_back(
          fmt::format("parts of {} cannot be read; the rest was used", NameOf(entry.path)));
    }
    for (const std::string& error : import.errors) {
      outcome->notes.push_back(fmt::format("process {}: {}", entry.pid, error));
    }
  }
  if (outcome->live) {
    outcome->notes.push_back(
        "the job is still running: this is what it has recorded so far; the same command later "
        "gives more");
  }
  outcome->whole = complete == entries.size() && outcome->build.skipped.empty();
}

// First line of a note: "reason: ...".
std::string ReasonIn(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kReason = "reason: ";
    if (line.starts_with(kReason)) return line.substr(kReason.size());
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

Result<std::string> MoveAside(const std::string& database) {
  if (!Exists(database)) return std::string();
  const fs::path path(database);
  for (int n = 1; n < 10000; ++n) {
    fs::path old = path;
    old.replace_extension(n == 1 ? ".old" + path.extension().string()
                                 : fmt::format(".old.{}{}", n, path.extension().string()));
    if (Exists(old.string())) continue;
    if (std::rename(database.c_str(), old.c_str()) == 0) return old.string();
    return MakeError(fmt::format("cannot rename '{}' to '{}': {}", database, old.string(),
                                 std::strerror(errno)));
  }
  return MakeError(fmt::format("too many earlier runs beside '{}'", database),
                   "remove the ones you do not need");
}

Error NothingInRecording(const std::string& folder, int exit_status) {
  if (!Exists(folder)) {
    return {fmt::format("nothing was recorded: '{}' was removed while the command ran", folder),
            "record again, and leave the folder alone until the command ends", ErrorCode::kFailed};
  }
  const auto listed = recording::ListFolder(folder);
  if (listed && !listed->notes.empty()) {
    const recording::FolderEntry& entry = listed->notes.back();
    const auto text = ReadFile(entry.path, kMaxNoteBytes);
    const std::string reason = text ? ReasonIn(*text) : std::string();
    // A process that did not come to its first computation is the reason only where it succeeded.
    const bool driver = reason.find("NVIDIA driver") != std::string::npos;
    if (!reason.empty() && !(driver && exit_status != 0)) {
      return {fmt::format("nothing was recorded: {} (process {})", reason, entry.pid),
              reason.find("without the NVIDIA driver") != std::string::npos
                  ? "without an NVIDIA GPU: xlatrace record -- python train.py"
                  : "xlatrace doctor",
              ErrorCode::kFailed};
    }
  }
  if (exit_status != 0) {
    return {fmt::format("nothing was recorded: the command failed with exit status {} before its "
                        "first computation on an NVIDIA GPU",
                        exit_status),
            "run the command without xlatrace until it succeeds, then record it",
            ErrorCode::kFailed};
  }
  return {"nothing was recorded: no process of the command used an NVIDIA GPU",
          "check that the command trains on the GPU: xlatrace doctor", ErrorCode::kFailed};
}

Result<FoldOutcome> Fold(const FoldRequest& request) {
  const FoldLock lock(request.folder);
  RemoveAbandonedFiles(request.database + ".new");
  FoldOutcome outcome;
  outcome.token = request.token;
  XLATRACE_ASSIGN(const recording::Folder folder, recording::ListFolder(request.folder));
  const std::vector<recording::FolderEntry> entries =
      EntriesOf(folder, &outcome.token, &outcome.notes);
  const bool there = Exists(request.database);
  if (entries.empty()) {
    if (there) return outcome;
    return tl::unexpected<Error>(NothingInRecording(request.folder));
  }
  bool other_job = false;
  if (there) {
    auto held = ReadHeld(request.database);
    if (!held && !store::LooksLikeRunDb(request.database)) {
      return MakeError(
          fmt::format("'{}' is in the way: {}", request.database, held.error().message),
          fmt::format("write the run elsewhere: xlatrace import {} -o FILE",
                      ShellWord(request.folder)));
    }
    // A run of another version is kept as an earlier one.
    other_job = !held || held->token != outcome.token;
    if (!other_job && HoldsAll(*held, entries)) return outcome;
    if (!other_job && HoldsGone(*held, entries)) {
      other_job = true;  // Not the same recording any more: what run.db has is kept.
    } else if (other_job && request.token.empty()) {
      // A recording that lay here before that run was made is no news.
      const bool newer =
          std::any_of(entries.begin(), entries.end(), [&](const recording::FolderEntry& entry) {
            return ModifiedNs(entry.path) > ModifiedNs(request.database);
          });
      if (!newer && !held) {  // No command can open it, and the recording is here.
        return MakeError(held.error().message,
                         fmt::format("make it again from the recording: xlatrace import {} -o FILE",
                                     ShellWord(request.folder)));
      }
      if (!newer) return outcome;
    }
  }
  XLATRACE_TRY(Build(request, entries, other_job, &outcome));
  Describe(entries, &outcome);
  return outcome;
}

namespace {

// By its name: module_0001.jit_f.after_optimizations.txt, step.hlo, step.hlo.pb.
bool IsDumpFile(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".hlo") || name.ends_with(".hlo.pb") || dumps::ParseDumpName(name);
}

// The error for a folder that is no recording and no capture: a run.db inside it, or a dump of XLA.
tl::unexpected<Error> NoRunInFolder(const std::string& folder) {
  constexpr int kMaxEntries = 2000;  // A dump of one program has hundreds of files.
  std::error_code error;
  int entries = 0;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (++entries > kMaxEntries) break;
    const std::string path = it->path().string();
    if (it->path().extension() == ".db" && store::LooksLikeRunDb(path)) {
      return MakeError(fmt::format("'{}' is a folder, not a run.db", folder),
                       fmt::format("name the run in it: {}", ShellWord(path)));
    }
    if (IsDumpFile(it->path())) {
      return MakeError(fmt::format("'{}' is a dump of XLA, not a run.db", folder),
                       fmt::format("xlatrace modules {}", ShellWord(folder)));
    }
  }
  return MakeError(fmt::format("'{}' is a folder without a run.db, recording or trace", folder),
                   fmt::format("check the folder: ls {}", ShellWord(folder)));
}

}  // namespace

Result<std::string> FoldedRun(const std::string& path) {
  const bool read_only = std::getenv(kReadOnlyVariable.data()) != nullptr;
  FoldRequest request;
  const std::string hook_folder = IsDirectory(path) ? path : RecordingFolderOf(path);
  const bool may_be_run = IsDirectory(path) || !Exists(path) || store::LooksLikeRunDb(path);
  if (may_be_run && LooksLikeHookFolder(hook_folder)) {
    const std::string database = IsDirectory(path) ? DatabaseOf(path) : path;
    XLATRACE_TRY(FoldHookFolder(hook_folder, database));
    return database;
  }
  if (recording::LooksLikeRecordingFolder(path)) {
    request.folder = path;
    request.database = DatabaseOf(path);
  } else if (!IsDirectory(path) && recording::LooksLikeRecordingFolder(RecordingFolderOf(path)) &&
             !recording::LooksLikeRecording(path)) {
    request.folder = RecordingFolderOf(path);
    request.database = path;
  } else if (Exists(path) && recording::LooksLikeRecording(path)) {
    return MakeError(fmt::format("'{}' is one process of a recording", path),
                     "name the folder it lies in, or: xlatrace import FILE -o run.db");
  } else if (!store::LooksLikeRunDb(path) && IsTrace(path)) {
    if (read_only) {
      return MakeError(
          fmt::format("'{}' is a trace without a run.db", path),
          fmt::format("make its run.db: xlatrace import {} -o run.db", ShellWord(path)));
    }
    return ImportTemporarily(path);
  } else if (IsDirectory(path)) {
    return NoRunInFolder(path);
  } else if (Exists(path) && !store::LooksLikeRunDb(path) && IsDumpFile(path)) {
    return MakeError(fmt::format("'{}' is a file of an XLA dump, not a run.db", path),
                     fmt::format("xlatrace explain {}", ShellWord(path)));
  } else {
    return path;
  }
  if (read_only) {
    if (Exists(request.database)) return request.database;
    return MakeError(fmt::format("'{}' is a recording without a run.db", path),
                     fmt::format("make its run.db: xlatrace summary {}", ShellWord(path)));
  }
  XLATRACE_ASSIGN(const FoldOutcome outcome, Fold(request));
  for (const std::string& note : outcome.notes) Note(note);
  for (const Error& error : outcome.build.skipped) Warn("skipped: " + error.message);
  if (outcome.folded) Note(BuildSentence(outcome.build, request.database));
  return request.database;
}

bool RemoveRecording(const std::string& folder, const std::string& token) {
  const auto listed = recording::ListFolder(folder);
  if (!listed) return false;
  for (const auto* entries : {&listed->recordings, &listed->notes}) {
    for (const recording::FolderEntry& entry : *entries) {
      if (entry.token == token && !entry.live) unlink(entry.path.c_str());
    }
  }
  const auto left = recording::ListFolder(folder);
  if (!left || !left->recordings.empty() || !left->notes.empty()) return false;
  // Names of ours; unlink takes a link itself, never what it points to, and no folder.
  if (listed->job == token) unlink((folder + "/job").c_str());
  unlink((folder + "/" + kLockName).c_str());
  unlink((folder + "/" + recording::kControlName).c_str());
  return rmdir(folder.c_str()) == 0;
}

}  // namespace xlatrace::tools
