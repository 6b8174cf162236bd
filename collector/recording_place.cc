// SPDX-License-Identifier: Apache-2.0
#include "collector/recording_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <sys/file.h>
#include <sys/stat.h>

#include "collector/preload_abi.h"

namespace xlatrace::collector {
namespace {

// How often a folder that others move away meanwhile is tried again.
constexpr int kMaxAttempts = 100;

std::string Get(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string Clean(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
    clean.push_back(good ? c : '-');
  }
  return clean;
}

bool EndsWith(const std::string& text, const char* end) {
  const size_t size = std::strlen(end);
  return text.size() >= size && text.compare(text.size() - size, size, end) == 0;
}

// The token that the folder belongs to; empty when no job has claimed it.
std::string Claimant(const std::string& folder) {
  const int fd = open((folder + "/job").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return {};
  char text[256];
  const ssize_t got = read(fd, text, sizeof(text));
  close(fd);
  std::string token(text, got > 0 ? static_cast<size_t>(got) : 0);
  return token.substr(0, token.find('\n'));
}

// Claims the folder atomically: the file appears with its content or not at all. Returns the token
// of the process that claimed the folder. `claimed`: true if this call claimed it.
std::string Claim(const std::string& folder, const std::string& token, bool* claimed) {
  *claimed = false;
  if (std::string claimant = Claimant(folder); !claimant.empty()) return claimant;
  const std::string temporary = folder + "/.job." + HostName() + "." + std::to_string(getpid());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return {};
  const std::string line = token + "\n";
  errno = 0;
  const bool written = write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  int why = written ? 0 : (errno != 0 ? errno : ENOSPC);
  close(fd);
  if (written) {
    *claimed = link(temporary.c_str(), (folder + "/job").c_str()) == 0;
    if (!*claimed) why = errno;
    // A file system without hard links.
    if (!*claimed && why == EPERM) {
      *claimed = rename(temporary.c_str(), (folder + "/job").c_str()) == 0;
    }
  }
  unlink(temporary.c_str());
  std::string claimant = Claimant(folder);
  if (claimant.empty() && why != 0) errno = why;
  return claimant;
}

// A process holds the lock of a recording file in the folder.
bool IsLive(const std::string& folder) {
  DIR* entries = opendir(folder.c_str());
  if (entries == nullptr) return false;
  bool live = false;
  while (const dirent* entry = readdir(entries)) {
    if (!EndsWith(entry->d_name, ".rec")) continue;
    const int fd =
        openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) live = true;
    close(fd);
  }
  closedir(entries);
  return live;
}

// The folder itself, locked while a process decides whose it is. So making, claiming, renaming and
// the first live file are one step for all processes. Without the lock (a file system that has
// none, or a holder that is stopped) claims are still atomic, and no folder is renamed.
class LockedFolder {
 public:
  explicit LockedFolder(const std::string& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) {
    // A lock is held for some system calls; a holder that takes longer is no longer waited for.
    for (int tries = 0; fd_ >= 0 && !locked_ && tries < kLockTries; ++tries) {
      locked_ = flock(fd_, LOCK_EX | LOCK_NB) == 0;
      if (!locked_ && errno != EWOULDBLOCK && errno != EINTR) break;
      if (!locked_) usleep(kLockWaitUs);
    }
  }
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;
  ~LockedFolder() {
    if (fd_ < 0) return;
    // Not left to close(): a child that another thread forked meanwhile shares the lock.
    if (locked_) flock(fd_, LOCK_UN);
    close(fd_);
  }

  bool locked() const { return locked_; }
  // Whether the path still names what was opened: another may have moved it before we had the lock.
  bool Is(const std::string& folder) const {
    struct stat opened {};
    struct stat named {};
    return fd_ >= 0 && fstat(fd_, &opened) == 0 && lstat(folder.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  }

 private:
  static constexpr int kLockTries = 1000;
  static constexpr useconds_t kLockWaitUs = 2000;

  int fd_;
  bool locked_ = false;
};

// run.rec -> run.old.rec, run.old.2.rec... The caller holds the folder's lock.
bool MoveAside(const std::string& folder) {
  const std::string base = EndsWith(folder, ".rec") ? folder.substr(0, folder.size() - 4) : folder;
  for (int n = 1; n < 1000; ++n) {
    const std::string old =
        base + ".old" + (n == 1 ? std::string() : "." + std::to_string(n)) + ".rec";
    struct stat there {};
    if (lstat(old.c_str(), &there) == 0) continue;
    return rename(folder.c_str(), old.c_str()) == 0;
  }
  return false;
}

// A process that execs another program keeps its pid, within the same second perhaps.
int OpenFile(const std::string& folder, const std::string& stem, unsigned long long start_unix_s,
             std::string* identity) {
  int fd = -1;
  for (unsigned long long later = 0; later < 100; ++later) {
    char start[32];
    std::snprintf(start, sizeof(start), "%llx", start_unix_s + later);
    *identity = stem + "." + start;
    const std::string path = folder + "/" + *identity + ".rec";
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != EEXIST) break;
  }
  // Held as long as the file is written; a reader sees by it that there may be more.
  if (fd >= 0) flock(fd, LOCK_EX | LOCK_NB);
  return fd;
}

// The job's folder at `wanted`, or beside it, and this process's file in it. Without a file: cannot
// be written, with errno.
void OpenIn(const std::string& wanted, const std::string& token, const std::string& stem,
            unsigned long long start_unix_s, RecordingPlace* place) {
  const std::string base = EndsWith(wanted, ".rec") ? wanted.substr(0, wanted.size() - 4) : wanted;
  for (int n = 1; n < 1000; ++n) {
    const std::string folder = n == 1 ? wanted : base + "." + std::to_string(n) + ".rec";
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return;
      struct stat status {};
      if (lstat(folder.c_str(), &status) != 0) continue;  // Moved aside this moment.
      if (!S_ISDIR(status.st_mode)) break;
      const LockedFolder lock(folder);
      if (lock.locked() && !lock.Is(folder)) continue;
      const std::string claimant = Claim(folder, token, &place->claimed);
      if (claimant == token) {
        place->folder = folder;
        place->fd = OpenFile(folder, stem, start_unix_s, &place->identity);
        return;
      }
      if (claimant.empty()) return;  // Not ours to write into.
      // Another job's. If it runs, ours goes to run.2.rec; if it has ended, its folder is renamed.
      if (IsLive(folder) || !lock.locked() || !MoveAside(folder)) break;
    }
  }
  errno = EEXIST;
}

}  // namespace

std::string JobToken() {
  const std::string given = Clean(Get(XLATRACE_ENV_JOB)).substr(0, 100);
  if (!given.empty()) return given;
  static char made[64] = "";
  if (made[0] == '\0') {
    std::snprintf(made, sizeof(made), "%llx-%x",
                  static_cast<unsigned long long>(std::time(nullptr)) * 1000,
                  static_cast<unsigned>(getpid()));
  }
  return made;
}

std::string HostName() {
  char host[65] = "";
  if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') return "host";
  return Clean(host);
}

RecordingPlace OpenRecordingPlace(unsigned long long start_unix_s) {
  RecordingPlace place;
  const std::string token = JobToken();
  const std::string stem = token + "." + HostName() + "." + std::to_string(getpid());

  std::string wanted = Get(XLATRACE_ENV_PLACE);
  if (wanted.empty() || wanted[0] != '/') {
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof(folder)) != nullptr) wanted = std::string(folder) + "/run.rec";
  }
  const std::string fallback = Get("XLATRACE_DIR");
  std::string temporary = Get("TMPDIR");
  if (temporary.empty() || temporary[0] != '/') temporary = "/tmp";
  temporary += "/xlatrace-" + std::to_string(getuid());
  const std::string candidates[] = {wanted, fallback.empty() ? "" : fallback + "/run.rec",
                                    temporary + "/run.rec"};
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate[0] != '/') continue;
    if (&candidate == &candidates[2]) mkdir(temporary.c_str(), 0700);
    errno = 0;
    OpenIn(candidate, token, stem, start_unix_s, &place);
    if (place.fd >= 0) break;
    const char* reason = std::strerror(errno == 0 ? EACCES : errno);
    if (!place.note.empty()) place.note += "; ";
    place.note += "cannot write to " + candidate + ": " + reason;
  }
  return place;
}

void AppendJobLine(const std::string& folder, const std::string& line) {
  const int fd =
      open((folder + "/job").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  const ssize_t written = write(fd, line.data(), line.size());
  static_cast<void>(written);  // Only the line at the end, or an answer, would miss it.
  close(fd);
}

void AppendEndLine(const std::string& folder, uint64_t launches, bool first) {
  AppendJobLine(folder, "ended " + std::to_string(getpid()) + " " + std::to_string(launches) +
                            (first ? " 1\n" : " 0\n"));
}

uint64_t JobBytes(const std::string& folder, const std::string& identity) {
  const std::string token = identity.substr(0, identity.find('.') + 1);
  DIR* entries = opendir(folder.c_str());
  if (entries == nullptr) return 0;
  uint64_t bytes = 0;
  while (const dirent* entry = readdir(entries)) {
    struct stat status {};
    if (std::strncmp(entry->d_name, token.c_str(), token.size()) == 0 &&
        EndsWith(entry->d_name, ".rec") &&
        fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
      bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    }
  }
  closedir(entries);
  return bytes;
}

void EndedProcesses(const std::string& folder, int* processes, uint64_t* launches) {
  *processes = 0;
  *launches = 0;
  const int fd = open((folder + "/job").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while (text.size() < (1 << 20) && (got = read(fd, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    int pid = 0;
    int first = 0;
    unsigned long long count = 0;
    if (std::sscanf(text.c_str() + at + 1, "ended %d %llu %d", &pid, &count, &first) != 3) continue;
    *processes += first != 0 ? 1 : 0;
    *launches += count;
  }
}

}  // namespace xlatrace::collector
