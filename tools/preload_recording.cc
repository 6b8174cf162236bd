// SPDX-License-Identifier: Apache-2.0
#include "tools/preload_recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "recording/folder.h"
#include "tools/console.h"
#include "tools/fold.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Initialises the driver in a child process and counts devices. This is correct on desktops, on
// servers, in WSL and in containers, with the library path of the command.
bool DriverHasDevice() {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    alarm(30);  // A driver that hangs is none.
    unsetenv("CUDA_INJECTION64_PATH");
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0) {
      dup2(nothing, STDOUT_FILENO);
      dup2(nothing, STDERR_FILENO);
    }
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver == nullptr) _exit(1);
    const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
    int devices = 0;
    const bool good = init != nullptr && count != nullptr && init(0) == 0 && count(&devices) == 0;
    _exit(good && devices > 0 ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A launcher that starts many processes gives all of them the same token; libxlatrace.so then finds
// it by itself, in the same variables.
bool LauncherGivesToken() {
  if (!Variable("SLURM_JOB_ID").empty() &&
      (!Variable("SLURM_STEP_ID").empty() || !Variable("SLURM_STEPID").empty())) {
    return true;
  }
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "TORCHELASTIC_RUN_ID"}) {
    const std::string value = Variable(name);
    if (!value.empty() && value != "none") return true;
  }
  return false;
}

std::string NewToken() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{:x}-{:x}", now.tv_sec * 1000 + now.tv_nsec / 1000000, getpid());
}

std::string Base(const std::string& database) {
  return fs::path(database).replace_extension().string();
}

// `run.db` -> `run.rec`, or `run.2.rec` when another recording lies there; made, for us alone.
Result<std::string> MakeFolder(const std::string& database) {
  const std::string base = Base(database);
  for (int n = 1; n < 10000; ++n) {
    const std::string folder = n == 1 ? base + ".rec" : fmt::format("{}.{}.rec", base, n);
    if (mkdir(folder.c_str(), 0700) == 0) return folder;
    if (errno != EEXIST) {
      return MakeError(fmt::format("cannot make the folder '{}': {}", folder, std::strerror(errno)),
                       "name a place you may write to: -o FILE");
    }
  }
  return MakeError(fmt::format("too many recordings beside '{}'", database),
                   "remove those you do not need: run.*.rec");
}

// The collector claims a folder by the file `job`; here it is claimed for it.
Status ClaimFolder(const std::string& folder, const std::string& token) {
  const std::string path = folder + "/job";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const std::string line = token + "\n";
  const bool written =
      fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return {};
  return MakeError(fmt::format("cannot write '{}': {}", path, std::strerror(error)),
                   "name a place you may write to: -o FILE");
}

bool HoldsJob(const std::string& folder, const std::string& token) {
  const auto listed = recording::ListFolder(folder);
  if (!listed) return false;
  for (const auto* entries : {&listed->recordings, &listed->notes}) {
    for (const recording::FolderEntry& entry : *entries) {
      if (token.empty() || entry.token == token) return true;
    }
  }
  return false;
}

// The folder that the collector wrote: the requested one, a numbered one, or the fallback for an
// unwritable folder (collector/recording_place.h).
std::string FindFolder(const PreloadPlaces& places) {
  std::vector<std::string> candidates = {places.recording};
  const std::string base = Base(places.database);
  for (int n = 2; n < 100 && !places.own; ++n) {
    candidates.push_back(fmt::format("{}.{}.rec", base, n));
    if (!IsDirectory(candidates.back())) break;
  }
  if (const std::string given = Variable("XLATRACE_DIR"); !given.empty()) {
    candidates.push_back(given + "/run.rec");
  }
  std::string temporary = Variable("TMPDIR");
  if (!temporary.starts_with('/')) temporary = "/tmp";
  candidates.push_back(fmt::format("{}/xlatrace-{}/run.rec", temporary, getuid()));
  for (const std::string& candidate : candidates) {
    if (!places.token.empty() && HoldsJob(candidate, places.token)) return candidate;
  }
  return places.recording;
}

}  // namespace

bool HasNvidiaDriver() {
  const std::string forced = Variable("XLATRACE_FORCE_COLLECTOR");
  if (forced == "1") return true;
  if (forced == "0") return false;
  return DriverHasDevice();
}

Result<PreloadPlaces> PreparePreload(const std::string& database) {
  PreloadPlaces places;
  places.database = database;
  places.token = Variable("XLATRACE_JOB");
  places.own = places.token.empty() && !LauncherGivesToken();
  if (!places.own) {
    places.recording = Base(database) + ".rec";
    return places;
  }
  places.token = NewToken();
  XLATRACE_ASSIGN(places.recording, MakeFolder(database));
  if (Status claimed = ClaimFolder(places.recording, places.token); !claimed) {
    rmdir(places.recording.c_str());
    return tl::unexpected<Error>(std::move(claimed).error());
  }
  return places;
}

std::vector<std::pair<std::string, std::string>> PreloadEnvironment(const PreloadPlaces& places,
                                                                    const std::string& library) {
  std::string preload = library;
  if (const std::string before = Variable("LD_PRELOAD"); !before.empty()) {
    preload += ":" + before;
  }
  std::vector<std::pair<std::string, std::string>> environment = {
      {"LD_PRELOAD", preload}, {"XLATRACE_REC", places.recording}, {"XLATRACE_QUIET", "1"}};
  if (places.own) environment.emplace_back("XLATRACE_JOB", places.token);
  return environment;
}

std::vector<std::pair<std::string, std::string>> InjectionEnvironment(const std::string& library,
                                                                      bool light) {
  // The preload decides beside JAX's profile-guided optimisation, which needs CUPTI for itself.
  if (!Variable("JAX_ENABLE_PGLE").empty()) return {};
  std::string collector = Variable("XLATRACE_COLLECTOR");
  if (collector.empty()) {
    // The same order as in preload.c: beside the name, else beside the file that a link leads to.
    std::error_code error;
    collector = fs::path(library).replace_filename("libxlatrace_collector.so").string();
    if (access(collector.c_str(), R_OK) != 0) {
      collector =
          fs::canonical(library, error).replace_filename("libxlatrace_collector.so").string();
    }
  }
  if (access(collector.c_str(), R_OK) != 0) return {};
  std::vector<std::pair<std::string, std::string>> environment;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    const bool nvtx = std::string_view(name).starts_with("NVTX");
    const std::string given = Variable(name);
    // Another tool stays. `none` is PyTorch's word for no tool.
    if ((given.empty() || given == "none") && !(nvtx && light)) {
      environment.emplace_back(name, collector);
    }
  }
  return environment;
}

Status FoldPreload(const PreloadPlaces& places, const std::string& command,
                   const std::string& shown_database, const ChildExit& child) {
  const std::string folder = FindFolder(places);
  if (folder != places.recording) {
    Note(fmt::format("'{}' could not be used; the recording is in {}", places.recording, folder));
    if (places.own) RemoveRecording(places.recording, places.token);
  }
  FoldRequest request{.folder = folder, .database = places.database};
  request.child = ChildEnd{child.pid, child.signal, child.ended_unix_ns};
  if (places.own) {
    request.token = places.token;
    request.run_info = {{"command", command}};
  }
  if (!IsDirectory(folder) || !HoldsJob(folder, request.token)) {
    Error nothing = NothingInRecording(folder, child.status);
    RemoveRecording(folder, places.token);
    return tl::unexpected<Error>(std::move(nothing));
  }
  auto outcome = Fold(request);
  if (!outcome) {
    Error error = std::move(outcome).error();
    // Without a recording, the error already contains the reason from the notes.
    const auto listed = recording::ListFolder(folder);
    if (listed && listed->recordings.empty()) {
      RemoveRecording(folder, places.token);
    } else {
      error.hint = fmt::format("the recording is kept in {}", folder);
    }
    return tl::unexpected<Error>(std::move(error));
  }
  for (const std::string& note : outcome->notes) Note(note);
  for (const Error& skipped : outcome->build.skipped) Warn("skipped: " + skipped.message);
  if (outcome->folded) Note(BuildSentence(outcome->build, shown_database));
  if (outcome->folded && outcome->build.activities == 0) {
    std::string why = fmt::format("{} has the known reasons", shown_database);
    for (const auto& [entry, import] : outcome->build.recordings) {
      if (!import.window.empty()) why = import.window;
    }
    Note("no device activity was recorded; " + why);
  }
  if (!outcome->whole || !places.own) {
    Note(fmt::format("the recording stays in {}", folder));
  } else if (!RemoveRecording(folder, places.token)) {
    Note(fmt::format("all of the recording is in {}; {} may go", shown_database, folder));
  }
  Note(
      fmt::format("next: xlatrace summary {0}  |  xlatrace report {0}", ShellWord(shown_database)));
  return {};
}

}  // namespace xlatrace::tools
