// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/task_states.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <sys/syscall.h>

namespace xlatrace::collector {
namespace {

using model::ThreadState;

// About one tick of the scheduler. Shorter uses explain nothing.
constexpr int64_t kMinUseNs = 1'000'000;
// A process with more threads is read only so far.
constexpr size_t kMaxTasks = 1024;

// The content of a small file of /proc, or an empty string.
template <size_t kSize>
bool ReadSmall(const char* path, char (&buffer)[kSize]) {
  buffer[0] = '\0';
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = read(fd, buffer, kSize - 1);
  close(fd);
  buffer[size > 0 ? size : 0] = '\0';
  return size > 0;
}

void TaskPath(char (&path)[128], int64_t task, const char* file) {
  std::snprintf(path, sizeof(path), "/proc/self/task/%lld/%s", static_cast<long long>(task), file);
}

// The kind of file behind a descriptor of the task.
ThreadState StateOfDescriptor(int64_t task, unsigned long long descriptor) {
  char name[32];
  char link[128];
  std::snprintf(link, sizeof(link), "/proc/self/task/%lld/fd/%llu", static_cast<long long>(task),
                descriptor);
  const ssize_t size = readlink(link, name, sizeof(name));
  if (size <= 0) return ThreadState::kOther;
  return name[0] == '/' ? ThreadState::kFile : ThreadState::kNetwork;
}

ThreadState StateOfCall(int64_t task, long number, unsigned long long first) {
  switch (number) {
#ifdef SYS_nanosleep
    case SYS_nanosleep:
#endif
    case SYS_clock_nanosleep:
      return ThreadState::kSleep;
    case SYS_futex:
      return ThreadState::kLock;
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_ioctl:
      return StateOfDescriptor(task, first);
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_openat:
    case SYS_getdents64:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_sync:
    case SYS_msync:
    case SYS_sendfile:
    case SYS_renameat:
#ifdef SYS_open
    case SYS_open:
    case SYS_stat:
    case SYS_rename:
    case SYS_unlink:
#endif
    case SYS_unlinkat:
      return ThreadState::kFile;
#ifdef SYS_select
    case SYS_select:
      // time.sleep of Python 3.9 and 3.10 selects among no files.
      return first == 0 ? ThreadState::kSleep : ThreadState::kNetwork;
#endif
    case SYS_pselect6:
      return first == 0 ? ThreadState::kSleep : ThreadState::kNetwork;
#ifdef SYS_poll
    case SYS_poll:
    case SYS_epoll_wait:
#endif
    case SYS_ppoll:
    case SYS_epoll_pwait:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_connect:
    case SYS_accept:
    case SYS_accept4:
      return ThreadState::kNetwork;
    case SYS_wait4:
    case SYS_waitid:
      return ThreadState::kChild;
    default:
      return ThreadState::kOther;
  }
}

// "name:  12" of /proc/self/task/N/status and io.
int64_t FieldOf(const char* text, const char* name) {
  const char* at = std::strstr(text, name);
  return at == nullptr ? 0 : std::strtoll(at + std::strlen(name), nullptr, 10);
}

bool ReadTimes(int64_t task, TaskCounters* counters) {
  char path[128];
  char text[128];
  TaskPath(path, task, "schedstat");
  if (!ReadSmall(path, text)) return false;
  char* end = nullptr;
  counters->cpu_ns = std::strtoll(text, &end, 10);
  counters->run_delay_ns = std::strtoll(end, nullptr, 10);
  return true;
}

void ReadOthers(int64_t task, TaskCounters* counters) {
  char path[128];
  char text[4096];
  TaskPath(path, task, "status");
  if (ReadSmall(path, text)) {
    counters->voluntary_switches = FieldOf(text, "\nvoluntary_ctxt_switches:");
    counters->involuntary_switches = FieldOf(text, "\nnonvoluntary_ctxt_switches:");
  }
  TaskPath(path, task, "io");
  if (ReadSmall(path, text)) counters->read_bytes = FieldOf(text, "\nread_bytes:");
  TaskPath(path, task, "stat");
  if (ReadSmall(path, text)) {
    // The name of the thread may have blanks and brackets; faults are fields 10 and 12.
    const char* at = std::strrchr(text, ')');
    int64_t faults = 0;
    for (int field = 2; at != nullptr && field < 12; ++field) {
      at = std::strchr(at + 1, ' ');
      if (at != nullptr && (field + 1 == 10 || field + 1 == 12)) {
        faults += std::strtoll(at, nullptr, 10);
      }
    }
    counters->page_faults = faults;
  }
}

}  // namespace

ThreadState StateOfTask(int64_t task) {
  char path[128];
  char text[256];
  TaskPath(path, task, "syscall");
  if (!ReadSmall(path, text)) return ThreadState::kUnknown;
  if (std::strncmp(text, "running", 7) == 0) return ThreadState::kNative;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (number < 0) return ThreadState::kNative;  // In a page fault.
  return StateOfCall(task, number, std::strtoull(end, nullptr, 16));
}

int64_t CpuOfTask(int64_t task) {
  // As pthread_getcpuclockid: the clock of a thread is made of its number.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(task) << 3) | 6u);
  timespec time{};
  if (task <= 0 || clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::vector<TaskUse> TaskUses::Next() {
  std::vector<TaskUse> uses;
  std::map<int64_t, TaskCounters> now;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return uses;
  while (const dirent* entry = readdir(folder)) {
    const int64_t task = std::strtoll(entry->d_name, nullptr, 10);
    if (task <= 0 || now.size() >= kMaxTasks) continue;
    TaskCounters counters;
    if (!ReadTimes(task, &counters)) continue;
    const auto before = known_.find(task);
    const bool is_new = before == known_.end();
    TaskCounters base = is_new ? TaskCounters() : before->second;
    const int64_t used = counters.cpu_ns - base.cpu_ns + counters.run_delay_ns - base.run_delay_ns;
    if (!is_new && used < kMinUseNs) {
      now.emplace(task, base);
      continue;
    }
    ReadOthers(task, &counters);
    now.emplace(task, counters);
    if (is_new) continue;
    uses.push_back(
        {task,
         {counters.cpu_ns - base.cpu_ns, counters.run_delay_ns - base.run_delay_ns,
          counters.voluntary_switches - base.voluntary_switches,
          counters.involuntary_switches - base.involuntary_switches,
          counters.page_faults - base.page_faults, counters.read_bytes - base.read_bytes}});
  }
  closedir(folder);
  known_ = std::move(now);
  return uses;
}

MachineCounters ReadMachineCounters() {
  MachineCounters counters;
  char text[256];
  if (ReadSmall("/proc/stat", text)) {
    // cpu user nice system idle iowait irq softirq steal
    const int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
    char* at = text + 3;
    for (int field = 0; field < 8; ++field) {
      const int64_t value = std::strtoll(at, &at, 10);
      if (field != 3 && field != 4) counters.busy_ns += value * tick_ns;
    }
  }
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  counters.process_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  counters.cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return counters;
}

}  // namespace xlatrace::collector
