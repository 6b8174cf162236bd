// SPDX-License-Identifier: Apache-2.0

// Functions that the static parts of GCC's runtime need and an older glibc lacks. They are here,
// inside the collector and the program only. These therefore load with glibc 2.28 if the link used
// .glibc (scripts/glibc_stubs), and with 2.34 otherwise.
//
// Not linked into sanitizer builds, which bring a runtime of their own.

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

// As struct dl_find_object of glibc 2.35 (dlfcn.h), which the unwinder of GCC 12 and later reads.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct Search {
  uintptr_t address;
  FoundObject* found;
};

int Look(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool inside = false;
  uintptr_t first = UINTPTR_MAX;
  uintptr_t last = 0;
  uintptr_t eh_frame = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) eh_frame = start;
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t end = start + header.p_memsz;
    inside = inside || (search->address >= start && search->address < end);
    first = start < first ? start : first;
    last = end > last ? end : last;
  }
  if (!inside || eh_frame == 0) return 0;
  search->found->flags = 0;
  search->found->map_start = reinterpret_cast<void*>(first);
  search->found->map_end = reinterpret_cast<void*>(last);
  search->found->map = nullptr;
  search->found->eh_frame = reinterpret_cast<void*>(eh_frame);
  return 1;
}

// A function of this process's glibc, if that is new enough. The names of this file are not
// exported, so that the search does not find them.
template <typename Function>
struct Later {
  explicit Later(const char* name)
      : function(reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name))) {}
  Function* function;
};

// The time of CLOCK_REALTIME that is as far away as `until` is on `clock`.
timespec OnRealClock(clockid_t clock, const timespec& until) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  timespec real_now{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real_now);
  const int64_t wait_ns = (until.tv_sec - now.tv_sec) * kNsPerSecond + until.tv_nsec - now.tv_nsec;
  const int64_t real_ns = real_now.tv_sec * kNsPerSecond + real_now.tv_nsec + wait_ns;
  if (real_ns < 0) return {};
  return {.tv_sec = real_ns / kNsPerSecond, .tv_nsec = real_ns % kNsPerSecond};
}

}  // namespace

extern "C" {

// glibc 2.32. libstdc++ then counts references without atomic instructions. 0 is always right.
char single_threaded __asm__("__libc_single_threaded") = 0;

// glibc 2.30: std::condition_variable::wait_until with a steady clock. Without it, the wait ends by
// the real clock, as with an earlier libstdc++.
using WaitOnClockFunction = int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
WaitOnClockFunction WaitOnClock __asm__("pthread_cond_clockwait");
int WaitOnClock(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                const timespec* until) {
  static const Later<WaitOnClockFunction> later("pthread_cond_clockwait");
  if (later.function != nullptr) return later.function(condition, mutex, clock, until);
  const timespec real_until = OnRealClock(clock, *until);
  return pthread_cond_timedwait(condition, mutex, &real_until);
}

// glibc 2.30: the sampler of stacks.
using WaitForSemaphoreFunction = int(sem_t*, clockid_t, const timespec*);
WaitForSemaphoreFunction WaitForSemaphore __asm__("sem_clockwait");
int WaitForSemaphore(sem_t* semaphore, clockid_t clock, const timespec* until) {
  static const Later<WaitForSemaphoreFunction> later("sem_clockwait");
  if (later.function != nullptr) return later.function(semaphore, clock, until);
  const timespec real_until = OnRealClock(clock, *until);
  return sem_timedwait(semaphore, &real_until);
}

// glibc 2.35. Only the unwinder calls it, when memory is out: the slow way is good enough.
// (By an asm label: a new glibc's header declares it with its own type.)
int FindObject(void* address, FoundObject* found) __asm__("_dl_find_object");
int FindObject(void* address, FoundObject* found) {
  Search search = {reinterpret_cast<uintptr_t>(address), found};
  return dl_iterate_phdr(&Look, &search) == 1 ? 0 : -1;
}

// glibc 2.36. std::random_device, which nothing here uses, would call it.
uint32_t RandomNumber() __asm__("arc4random");
uint32_t RandomNumber() {
  uint32_t value = 0;
  if (getentropy(&value, sizeof(value)) != 0) std::abort();
  return value;
}
}
