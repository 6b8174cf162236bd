// SPDX-License-Identifier: Apache-2.0
/* Interface between the preload library and the collector in one process. C on both sides.
 *
 * libxlatrace.so exports xlatrace_preload_connect; the collector finds it with dlsym(RTLD_DEFAULT)
 * and hands over its functions. Either side works without the other. */
#ifndef XLATRACE_COLLECTOR_PRELOAD_ABI_H_
#define XLATRACE_COLLECTOR_PRELOAD_ABI_H_

#ifdef __cplusplus
extern "C" {
#endif

struct xlatrace_collector_functions {
  int size; /* sizeof(struct xlatrace_collector_functions) of the collector. */
  /* The process will end now, or maybe: everything that is complete goes to the file. Bounded in
   * time; does nothing in a forked child. `how`: XLATRACE_END_*, or 128 + the signal it dies of. */
  void (*before_end)(int how);
  /* xlatrace.h: a step begins; recording stops for a while or goes on; is anything recorded? */
  void (*mark_step)(long long step);
  void (*set_paused)(int paused);
  int (*is_recording)(void);
  /* The program writes its own profile. */
  void (*own_profile)(void);
};

/* If exec fails and returns, XLATRACE_END_NOT follows. */
#define XLATRACE_END_NOT (-1)
#define XLATRACE_END_EXEC 0
#define XLATRACE_END_EXIT 1
#define XLATRACE_END_ABORT 2
#define XLATRACE_END_MAYBE 3 /* A signal that a handler of the program will see, or that waits. */

void xlatrace_preload_connect(const struct xlatrace_collector_functions* functions);

/* Environment variables of the recording; the preload sets what is not set. */
#define XLATRACE_ENV_JOB "XLATRACE_JOB"   /* Token of the job. */
#define XLATRACE_ENV_PLACE "XLATRACE_REC" /* Absolute path of run.rec. */
#define XLATRACE_ENV_MAIN                                                                     \
  "XLATRACE_MAIN"                         /* Pid of the job's first process, which prints it. \
                                           */
#define XLATRACE_ENV_MODE "XLATRACE_MODE" /* `light`: no NVTX. */
#define XLATRACE_ENV_DUMP "XLATRACE_DUMP" /* Folder in which each process's XLA has one. */
#define XLATRACE_ENV_COLLECTOR "XLATRACE_COLLECTOR" /* Path of the collector; else beside us. */

#ifdef __cplusplus
}
#endif

#endif /* XLATRACE_COLLECTOR_PRELOAD_ABI_H_ */
