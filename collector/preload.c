// SPDX-License-Identifier: Apache-2.0
/* libxlatrace.so: the library that users preload. It sets the injection variables with which the
 * CUDA driver and NVTX load the collector. If a process ends without running exit handlers, this
 * library notifies the collector before the end. It starts, opens and prints nothing itself, so a
 * preloaded `ls` leaves no trace.
 *
 * C and libc only, because every program that the user's shell starts loads it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "collector/preload_abi.h"

/* The library loads with glibc 2.17 and later, independent of the glibc of its build. Newer ones
 * have dlsym in libc, not in libdl, so it is requested under its first version. It may be missing
 * (an old glibc, in a program without libdl). Loading libdl for it would cost every program. */
extern void* dlsym(void*, const char*) __attribute__((weak));
extern void* dlopen(const char*, int) __attribute__((weak));
extern char* dlerror(void) __attribute__((weak));
#if defined(__x86_64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlerror,dlerror@GLIBC_2.17");
#endif

#define EXPORT __attribute__((visibility("default")))

extern char** environ;

static const struct xlatrace_collector_functions* collector;
static pid_t collector_pid; /* Identifies vfork children, which run in our memory. */
static pid_t constructor_pid;
static int paused;                 /* By xlatrace_pause. */
static long long step_before = -1; /* By xlatrace_mark_step. */

EXPORT void xlatrace_preload_connect(const struct xlatrace_collector_functions* functions) {
  collector_pid = getpid();
  __atomic_store_n(&collector, functions, __ATOMIC_RELEASE);
  if (__atomic_load_n(&paused, __ATOMIC_SEQ_CST)) functions->set_paused(1);
  const long long step = __atomic_load_n(&step_before, __ATOMIC_SEQ_CST);
  if (step >= 0) functions->mark_step(step);
}

/* ---- What include/xlatrace.h finds here. ---- */

static const struct xlatrace_collector_functions* own_collector(void) {
  const struct xlatrace_collector_functions* functions =
      __atomic_load_n(&collector, __ATOMIC_ACQUIRE);
  return functions != NULL && getpid() == collector_pid ? functions : NULL;
}

void xlatrace_mark_step(long long step);
void xlatrace_pause(void);
void xlatrace_resume(void);
int xlatrace_is_recording(void);

EXPORT void xlatrace_mark_step(long long step) {
  const struct xlatrace_collector_functions* functions = own_collector();
  if (functions != NULL) {
    functions->mark_step(step);
  } else {
    __atomic_store_n(&step_before, step, __ATOMIC_SEQ_CST); /* The collector may come later. */
  }
}

static void set_paused(int on) {
  /* Kept: the collector may come later. */
  __atomic_store_n(&paused, on, __ATOMIC_SEQ_CST);
  const struct xlatrace_collector_functions* functions = own_collector();
  if (functions != NULL) functions->set_paused(on);
}

EXPORT void xlatrace_pause(void) { set_paused(1); }
EXPORT void xlatrace_resume(void) { set_paused(0); }

EXPORT int xlatrace_is_recording(void) {
  const struct xlatrace_collector_functions* functions = own_collector();
  return functions != NULL ? functions->is_recording() : 0;
}

static void before_end(int how) {
  const struct xlatrace_collector_functions* functions =
      __atomic_load_n(&collector, __ATOMIC_ACQUIRE);
  if (functions == NULL || getpid() != collector_pid) return;
  const int saved = errno;
  functions->before_end(how);
  errno = saved;
}

static void print_line(void);

/* ---- Ways out that run no exit handler. ---- */

/* libc's own functions. Looked up by the constructor: after a fork of a process with threads the
 * loader's lock may be held for ever. */
static void (*next_exit[3])(int); /* _exit, _Exit, quick_exit */
static int (*next_kill)(pid_t, int);
static int (*next_raise)(int);
static int (*next_pthread_kill)(pthread_t, int);
static void (*next_abort)(void);
static void (*next_assert_fail)(const char*, const char*, unsigned, const char*);
static int (*next_execve)(const char*, char* const[], char* const[]);
static int (*next_execvpe)(const char*, char* const[], char* const[]);
static int (*next_fexecve)(int, char* const[], char* const[]);
static int (*next_mkdir)(const char*, mode_t);

static void find_next(void) {
  if (dlsym == NULL) return;
  next_exit[0] = (void (*)(int))(uintptr_t)dlsym(RTLD_NEXT, "_exit");
  next_exit[1] = (void (*)(int))(uintptr_t)dlsym(RTLD_NEXT, "_Exit");
  next_exit[2] = (void (*)(int))(uintptr_t)dlsym(RTLD_NEXT, "quick_exit");
  next_kill = (int (*)(pid_t, int))(uintptr_t)dlsym(RTLD_NEXT, "kill");
  next_raise = (int (*)(int))(uintptr_t)dlsym(RTLD_NEXT, "raise");
  next_pthread_kill = (int (*)(pthread_t, int))(uintptr_t)dlsym(RTLD_NEXT, "pthread_kill");
  next_abort = (void (*)(void))(uintptr_t)dlsym(RTLD_NEXT, "abort");
  next_assert_fail = (void (*)(const char*, const char*, unsigned, const char*))(uintptr_t)dlsym(
      RTLD_NEXT, "__assert_fail");
  next_execve =
      (int (*)(const char*, char* const[], char* const[]))(uintptr_t)dlsym(RTLD_NEXT, "execve");
  next_execvpe =
      (int (*)(const char*, char* const[], char* const[]))(uintptr_t)dlsym(RTLD_NEXT, "execvpe");
  next_fexecve = (int (*)(int, char* const[], char* const[]))(uintptr_t)dlsym(RTLD_NEXT, "fexecve");
  next_mkdir = (int (*)(const char*, mode_t))(uintptr_t)dlsym(RTLD_NEXT, "mkdir");
}

/* Where libc's own cannot be found: the system call (without the search of PATH: it is left to the
 * shells, which have done it). */
static int system_execve(const char* path, char* const argv[], char* const envp[]) {
  return (int)syscall(SYS_execve, path, argv, envp);
}

__attribute__((noreturn)) static void leave(int which, int status) {
  before_end(XLATRACE_END_EXIT);
  if (__atomic_load_n(&collector, __ATOMIC_ACQUIRE) == NULL) print_line(); /* dash leaves so. */
  if (next_exit[which] == NULL) find_next(); /* Called by a constructor older than ours. */
  if (next_exit[which] != NULL) next_exit[which](status);
  for (;;) syscall(SYS_exit_group, status);
}

EXPORT __attribute__((noreturn)) void _exit(int status) { leave(0, status); }
EXPORT __attribute__((noreturn)) void _Exit(int status) { leave(1, status); }
EXPORT __attribute__((noreturn)) void quick_exit(int status) { leave(2, status); }

/* A signal that this process sends to itself and dies of by default. CPython ends itself so on
 * Ctrl-C. Handlers are the program's: none is installed here, so what comes from outside, and what
 * the processor raises, comes unseen. */
static void before_signal(int signal_number) {
  if (signal_number == SIGKILL) {
    before_end(128 + SIGKILL);
    return;
  }
  if (signal_number != SIGINT && signal_number != SIGTERM && signal_number != SIGHUP &&
      signal_number != SIGQUIT && signal_number != SIGABRT && signal_number != SIGSEGV &&
      signal_number != SIGBUS && signal_number != SIGFPE && signal_number != SIGILL &&
      signal_number != SIGXCPU && signal_number != SIGUSR1 && signal_number != SIGUSR2) {
    return;
  }
  struct sigaction action;
  sigset_t blocked;
  if (sigaction(signal_number, NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
      action.sa_handler != SIG_DFL || sigprocmask(SIG_BLOCK, NULL, &blocked) != 0) {
    return;
  }
  /* A blocked signal may never come. */
  before_end(sigismember(&blocked, signal_number) == 0 ? 128 + signal_number : XLATRACE_END_MAYBE);
}

/* While we use CUPTI, it refuses XLA's own profiler. That one then writes a profile without a GPU
 * and logs it only. Its folder has this name (tsl/profiler/rpc/client/save_profile.cc). */
EXPORT int mkdir(const char* path, mode_t mode) {
  const struct xlatrace_collector_functions* functions =
      __atomic_load_n(&collector, __ATOMIC_ACQUIRE);
  const char* volatile given = path; /* Declared as never NULL; a program may err. */
  const char* folder = given;
  if (functions != NULL && getpid() == collector_pid && folder != NULL &&
      functions->size >= (int)sizeof(*functions) && strstr(folder, "/plugins/profile/") != NULL) {
    const int saved = errno;
    functions->own_profile();
    errno = saved;
  }
  if (next_mkdir == NULL) find_next();
  return next_mkdir == NULL ? (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode)
                            : next_mkdir(path, mode);
}

EXPORT int kill(pid_t pid, int signal_number) {
  if (pid == getpid()) before_signal(signal_number);
  if (next_kill == NULL) find_next();
  return next_kill == NULL ? (int)syscall(SYS_kill, pid, signal_number)
                           : next_kill(pid, signal_number);
}

EXPORT int raise(int signal_number) {
  before_signal(signal_number);
  if (next_raise == NULL) find_next();
  return next_raise == NULL
             ? (int)syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), signal_number)
             : next_raise(signal_number);
}

EXPORT int pthread_kill(pthread_t thread, int signal_number) {
  if (next_pthread_kill == NULL) find_next();
  if (next_pthread_kill == NULL) return ENOSYS; /* Threads without libpthread. */
  /* The signals that another thread blocks are unknown. */
  if (thread == pthread_self()) before_signal(signal_number);
  return next_pthread_kill(thread, signal_number);
}

/* A handler of the program may not return, or not end the process. */
static void before_abort(void) {
  struct sigaction action;
  const int plain = sigaction(SIGABRT, NULL, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
                    (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
  before_end(plain ? XLATRACE_END_ABORT : XLATRACE_END_MAYBE);
}

EXPORT __attribute__((noreturn)) void abort(void) {
  before_abort();
  if (next_abort == NULL) find_next();
  if (next_abort != NULL) next_abort();
  for (;;) {
    syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGABRT);
    syscall(SYS_exit_group, 127);
  }
}

/* glibc's version calls its own abort, which cannot be intercepted. */
EXPORT __attribute__((noreturn)) void __assert_fail(const char* assertion, const char* file,
                                                    unsigned line, const char* function) {
  before_abort();
  if (next_assert_fail == NULL) find_next();
  if (next_assert_fail != NULL) next_assert_fail(assertion, file, line, function);
  abort();
}

/* exec may fail and come back: what is complete is written, recording goes on. */
static int come_back(int result) {
  before_end(XLATRACE_END_NOT);
  return result;
}

EXPORT int execve(const char* path, char* const argv[], char* const envp[]) {
  before_end(XLATRACE_END_EXEC);
  if (next_execve == NULL) find_next();
  return come_back((next_execve == NULL ? system_execve : next_execve)(path, argv, envp));
}

EXPORT int execv(const char* path, char* const argv[]) { return execve(path, argv, environ); }

EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) {
  before_end(XLATRACE_END_EXEC);
  if (next_execvpe == NULL) find_next();
  return come_back((next_execvpe == NULL ? system_execve : next_execvpe)(file, argv, envp));
}

EXPORT int execvp(const char* file, char* const argv[]) { return execvpe(file, argv, environ); }

EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) {
  before_end(XLATRACE_END_EXEC);
  if (next_fexecve == NULL) find_next();
  if (next_fexecve != NULL) return come_back(next_fexecve(fd, argv, envp));
  errno = ENOSYS;
  return come_back(-1);
}

/* execl and similar: glibc's versions call its own execve, which cannot be intercepted. The
 * arguments are copied to the stack, because a child of vfork may not allocate. */
#define ARGUMENTS_OF(arg, list)                               \
  va_list list;                                               \
  size_t count = 1;                                           \
  va_start(list, arg);                                        \
  while (va_arg(list, char*) != NULL) ++count;                \
  va_end(list);                                               \
  char** argv = __builtin_alloca((count + 1) * sizeof *argv); \
  va_start(list, arg);                                        \
  argv[0] = (char*)(uintptr_t)(arg);                          \
  for (size_t i = 1; i <= count; ++i) argv[i] = va_arg(list, char*)

EXPORT int execl(const char* path, const char* arg, ...) {
  ARGUMENTS_OF(arg, list);
  va_end(list);
  return execve(path, argv, environ);
}

EXPORT int execlp(const char* file, const char* arg, ...) {
  ARGUMENTS_OF(arg, list);
  va_end(list);
  return execvpe(file, argv, environ);
}

EXPORT int execle(const char* path, const char* arg, ...) {
  ARGUMENTS_OF(arg, list);
  char* const* envp = va_arg(list, char* const*); /* Behind the NULL. */
  va_end(list);
  return execve(path, argv, envp);
}

/* ---- Environment variables of this process and its children. ---- */

static int is_unset(const char* name) {
  const char* value = getenv(name);
  /* Empty and `none` (PyTorch's "off") are not a tool. */
  return value == NULL || *value == '\0' || strcmp(value, "none") == 0;
}

/* JAX's profile-guided latency estimator profiles the program and needs CUPTI and XLA's
 * annotations. The collector would change its results. */
static int pgle_is_on(void) {
  const char* value = getenv("JAX_ENABLE_PGLE");
  if (value == NULL) return 0;
  static const char* const kOn[] = {"1", "y", "yes", "t", "true", "on", NULL};
  for (const char* const* on = kOn; *on != NULL; ++on) {
    if (strcasecmp(value, *on) == 0) return 1;
  }
  return 0;
}

/* The object that holds an address. (dladdr is in libdl too.) */
struct own_path {
  uintptr_t address;
  const char* path;
};

static int look_for_own_path(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct own_path* own = data;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_LOAD && own->address >= start &&
        own->address < start + header->p_memsz) {
      own->path = info->dlpi_name;
      return 1;
    }
  }
  return 0;
}

/* Beside this library, wherever it was loaded from. */
static int collector_path(char* path, size_t size) {
  const char* given = getenv(XLATRACE_ENV_COLLECTOR);
  if (given != NULL && *given != '\0') return snprintf(path, size, "%s", given) < (int)size;
  struct own_path own = {(uintptr_t)xlatrace_preload_connect, NULL};
  dl_iterate_phdr(look_for_own_path, &own);
  if (own.path == NULL) return 0;
  /* Beside the name it was loaded by; else (a link, a relative name) beside what that leads to. */
  const char* end = strrchr(own.path, '/');
  if (*own.path == '/' && end != NULL &&
      snprintf(path, size, "%.*s/libxlatrace_collector.so", (int)(end - own.path), own.path) <
          (int)size &&
      access(path, R_OK) == 0) {
    return 1;
  }
  char resolved[PATH_MAX];
  if (realpath(own.path, resolved) == NULL) return 0;
  char* slash = strrchr(resolved, '/');
  if (slash == NULL) return 0;
  slash[1] = '\0';
  return snprintf(path, size, "%slibxlatrace_collector.so", resolved) < (int)size;
}

static const char* first_set(const char* const* names) {
  for (; *names != NULL; ++names) {
    const char* value = getenv(*names);
    if (value != NULL && *value != '\0') return value;
  }
  return NULL;
}

/* Letters that are good in a file name. */
static void append_clean(char* to, size_t size, const char* text) {
  size_t at = strlen(to);
  for (; *text != '\0' && at + 1 < size; ++text) {
    const char c = *text;
    const int good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_';
    to[at++] = good ? c : '-';
  }
  to[at] = '\0';
}

/* Processes of one job find the same token without talking to each other. */
static void make_token(char* token, size_t size) {
  static const char* const kStep[] = {"SLURM_STEP_ID", "SLURM_STEPID", NULL};
  static const char* const kLauncher[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
                                          "TORCHELASTIC_RUN_ID", NULL};
  token[0] = '\0';
  const char* slurm = getenv("SLURM_JOB_ID");
  const char* step = first_set(kStep);
  if (slurm != NULL && *slurm != '\0' && step != NULL) {
    append_clean(token, size, "slurm-");
    append_clean(token, size, slurm);
    append_clean(token, size, "-");
    append_clean(token, size, step);
    const char* restart = getenv("SLURM_RESTART_COUNT");
    if (restart != NULL && *restart != '\0') {
      append_clean(token, size, "-");
      append_clean(token, size, restart);
    }
    return;
  }
  const char* launcher = first_set(kLauncher);
  if (launcher != NULL && strcmp(launcher, "none") != 0) {
    append_clean(token, size, "job-");
    append_clean(token, size, launcher);
    if (strlen(token) > 60) token[60] = '\0';
    return;
  }
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(token, size, "%llx-%x",
           (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000,
           (unsigned)getpid());
}

static void set_place(void) {
  if (!is_unset(XLATRACE_ENV_PLACE)) return;
  char folder[PATH_MAX];
  char place[PATH_MAX + 16];
  if (getcwd(folder, sizeof folder) == NULL) return; /* The collector falls back. */
  snprintf(place, sizeof place, "%s%srun.rec", folder, strcmp(folder, "/") == 0 ? "" : "/");
  setenv(XLATRACE_ENV_PLACE, place, 1);
}

/* `record --dump`, XLATRACE_DUMP: sets XLA's flags for a dump into a folder of this process. The
 * user's flags are kept; a folder that a parent process has set is replaced, one that the user gave
 * is left. Text is dumped too, because only it names the instruction of each thunk in the list.
 * The flags are as old as XLA_FLAGS itself (2019). */
static void set_dump(int light) {
  const char* dump = getenv(XLATRACE_ENV_DUMP);
  const char* place = getenv(XLATRACE_ENV_PLACE);
  char beside[PATH_MAX + 16];
  /* `on`, or unset in light mode: the folder beside the recording, as for `record`. */
  const int on = dump == NULL || *dump == '\0' ? light : strcmp(dump, "on") == 0;
  if (on && place != NULL && *place == '/') {
    const size_t length = strlen(place);
    const int stem =
        (int)(length > 4 && strcmp(place + length - 4, ".rec") == 0 ? length - 4 : length);
    if (snprintf(beside, sizeof beside, "%.*s.dump", stem, place) >= (int)sizeof beside) return;
    setenv(XLATRACE_ENV_DUMP, beside, 1);
    dump = beside;
  }
  if (dump == NULL || *dump != '/' || strchr(dump, ' ') != NULL) return;
  const char* before = getenv("XLA_FLAGS");
  if (before == NULL) before = "";
  char ours[PATH_MAX + 32];
  if (snprintf(ours, sizeof ours, "--xla_dump_to=%s/", dump) >= (int)sizeof ours) return;
  const char* parent = strstr(before, ours);
  if (parent == NULL && strstr(before, "--xla_dump_to") != NULL) return;
  const size_t head = parent == NULL ? strlen(before) : (size_t)(parent - before);
  const char* tail = parent == NULL ? "" : parent + strcspn(parent, " ");
  const size_t size = strlen(before) + strlen(ours) + 96;
  char* flags = malloc(size);
  if (flags == NULL) return;
  snprintf(flags, size, "%.*s%s%s%d%s%s", (int)head, before,
           head > 0 && before[head - 1] != ' ' ? " " : "", ours, (int)getpid(),
           parent == NULL ? " --xla_dump_hlo_as_proto --xla_dump_hlo_as_text" : "", tail);
  setenv("XLA_FLAGS", flags, 1);
  free(flags);
}

__attribute__((constructor)) static void start(void) {
  constructor_pid = getpid();
  find_next();
  const char* off = getenv("XLATRACE_DISABLE");
  if (off != NULL && strcmp(off, "1") == 0) return;
  /* A child of a process that has been here finds all of it set. */
  const char* mode = getenv(XLATRACE_ENV_MODE);
  const int light = mode != NULL && strcmp(mode, "light") == 0;
  const int new_place = is_unset("CUDA_INJECTION64_PATH") || is_unset(XLATRACE_ENV_MAIN) ||
                        (!light && is_unset("NVTX_INJECTION64_PATH"));
  char path[PATH_MAX];
  if (new_place && (!collector_path(path, sizeof path) || access(path, R_OK) != 0)) return;
  /* Another tool's injection is left alone; the collector is then not loaded by that door. */
  if (!pgle_is_on()) {
    if (is_unset("CUDA_INJECTION64_PATH")) setenv("CUDA_INJECTION64_PATH", path, 1);
    if (!light && is_unset("NVTX_INJECTION64_PATH")) setenv("NVTX_INJECTION64_PATH", path, 1);
  }
  if (is_unset(XLATRACE_ENV_MAIN)) {
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv(XLATRACE_ENV_MAIN, pid, 1);
  }
  if (is_unset(XLATRACE_ENV_JOB)) {
    char token[96];
    make_token(token, sizeof token);
    setenv(XLATRACE_ENV_JOB, token, 1);
  }
  set_place();
  set_dump(light);
}

/* ---- A training process that never came to CUDA leaves a note, so that an empty recording can be
 * explained. Only processes that have XLA in memory do. ---- */

struct loaded {
  int xla;
  int driver;
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct loaded* found = data;
  const char* name = info->dlpi_name;
  if (name == NULL || *name == '\0') return 0;
  const char* slash = strrchr(name, '/');
  const char* base = slash == NULL ? name : slash + 1;
  if (strncmp(base, "libjax_common", 13) == 0 || strncmp(base, "xla_extension", 13) == 0 ||
      strncmp(base, "xla_cuda_plugin", 15) == 0 || strncmp(base, "libtensorflow", 13) == 0) {
    found->xla = 1;
  }
  if (strncmp(base, "libcuda.so", 10) == 0) found->driver = 1;
  return 0;
}

/* True for the process that makes the folder: the first of the job to leave something. */
static int write_note(const char* reason) {
  const char* place = getenv(XLATRACE_ENV_PLACE);
  const char* token = getenv(XLATRACE_ENV_JOB);
  if (place == NULL || token == NULL || *place != '/') return 0;
  char host[65] = "";
  char raw_host[65] = "";
  gethostname(raw_host, sizeof raw_host - 1);
  append_clean(host, sizeof host, raw_host);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char path[PATH_MAX + 256];
  /* A folder that another job has claimed (another token in `job`) is not written into. */
  const int first = mkdir(place, 0700) == 0;
  if (!first) {
    if (errno != EEXIST) return 0;
    char job[128] = "";
    snprintf(path, sizeof path, "%s/job", place);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
      const ssize_t got = read(fd, job, sizeof job - 1);
      close(fd);
      if (got <= 0) return 0;
      job[strcspn(job, "\n")] = '\0';
      if (strcmp(job, token) != 0) return 0;
    }
  }
  snprintf(path, sizeof path, "%s/%s.%s.%d.%llx.note", place, token, host, (int)getpid(),
           (unsigned long long)now.tv_sec);
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return 0;
  char text[512];
  const int size =
      snprintf(text, sizeof text, "reason: %s\npid: %d\nhost: %s\n", reason, (int)getpid(), host);
  const ssize_t written = write(fd, text, (size_t)size);
  (void)written;
  close(fd);
  return first;
}

/* The job's first process (a shell script, a launcher) may not use CUDA itself. Then it prints the
 * line that the collector prints elsewhere, if its children have left a recording. */
static void print_line(void) {
  const char* main_pid = getenv(XLATRACE_ENV_MAIN);
  const char* quiet = getenv("XLATRACE_QUIET");
  const char* place = getenv(XLATRACE_ENV_PLACE);
  const char* token = getenv(XLATRACE_ENV_JOB);
  if (main_pid == NULL || place == NULL || token == NULL || atoi(main_pid) != (int)getpid()) return;
  if (quiet != NULL && *quiet != '\0' && *quiet != '0') return;
  char path[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s/job", place);
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  /* Not freed: the process ends. The token, then "ended PID LAUNCHES FIRST" of every process. */
  const size_t most = 1 << 16;
  char* text = malloc(most);
  const ssize_t got = text == NULL ? 0 : read(fd, text, most - 1);
  close(fd);
  if (got <= 0) {
    free(text);
    return;
  }
  text[got] = '\0';
  char* line = text + strcspn(text, "\n");
  if (*line == '\0') return;
  *line++ = '\0';
  if (strcmp(text, token) != 0) return;
  unsigned long long launches = 0;
  int processes = 0;
  for (; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
    int pid = 0;
    int first = 0;
    unsigned long long count = 0;
    if (sscanf(line, "ended %d %llu %d", &pid, &count, &first) != 3) continue;
    launches += count;
    processes += first != 0;
  }
  if (processes == 0) return;
  const char* slash = strrchr(place, '/');
  const char* name = slash == NULL ? place : slash + 1;
  char here[PATH_MAX];
  const int beside = getcwd(here, sizeof here) != NULL && strlen(here) == (size_t)(slash - place) &&
                     strncmp(here, place, strlen(here)) == 0;
  const char* shown = beside ? name : place;
  const int stem = (int)strlen(shown) - (int)strlen(".rec");
  fprintf(stderr, "xlatrace: %llu launch%s, %d process%s -> %s; next: xlatrace report %.*s.db\n",
          launches, launches == 1 ? "" : "es", processes, processes == 1 ? "" : "es", shown,
          stem > 0 ? stem : 0, shown);
}

static void print_reason(const char* reason) {
  const char* quiet = getenv("XLATRACE_QUIET");
  if (quiet == NULL || *quiet == '\0' || *quiet == '0') {
    fprintf(stderr, "xlatrace: nothing is recorded: %s\n", reason);
  }
}

static void stay_out(const char* reason) {
  write_note(reason);
  print_reason(reason);
}

__attribute__((destructor)) static void finish(void) {
  if (getpid() != constructor_pid) return; /* A forked child: its parent speaks for it. */
  if (__atomic_load_n(&collector, __ATOMIC_ACQUIRE) != NULL) return;
  print_line();
  const char* injected = getenv("CUDA_INJECTION64_PATH");
  struct loaded found = {0, 0};
  dl_iterate_phdr(look, &found);
  if (found.driver && pgle_is_on()) {
    stay_out("JAX_ENABLE_PGLE is on, and its profiler needs CUPTI for itself");
    return;
  }
  if (injected == NULL) return;
  char path[PATH_MAX];
  if (found.driver && collector_path(path, sizeof path) && strcmp(path, injected) != 0) {
    char reason[PATH_MAX + 64];
    snprintf(reason, sizeof reason, "another CUDA tool is injected: %.*s", PATH_MAX, injected);
    stay_out(reason);
    return;
  }
  if (found.driver && dlopen != NULL && dlerror != NULL && collector_path(path, sizeof path)) {
    /* The driver reports nothing when it cannot load the collector, for example with an older
     * glibc. */
    void* loaded = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded == NULL) loaded = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (loaded == NULL) {
      const char* why = dlerror();
      char reason[PATH_MAX + 64];
      snprintf(reason, sizeof reason, "the collector cannot be loaded: %s",
               why == NULL ? path : why);
      stay_out(reason);
      return;
    }
  }
  if (!found.xla) return;
  /* Without a driver a framework tries to load it; before the first computation it does not. */
  const char* reason = found.driver ? "this process loaded the NVIDIA driver and did not start it"
                                    : "this process ended without the NVIDIA driver (libcuda.so.1)";
  if (write_note(reason)) print_reason(reason);
}
