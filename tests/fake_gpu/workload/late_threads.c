// SPDX-License-Identifier: Apache-2.0
// A pthread_create for LD_PRELOAD after libxlatrace.so. All threads of a process begin up to
// XLATRACE_TEST_LATE_THREADS_MS late, each process by its own time, as on a busy machine. A test
// that passes only with a quick collector thread fails with it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct start {
  void* (*run)(void*);
  void* argument;
};

static void* late(void* given) {
  const struct start start = *(struct start*)given;
  free(given);
  const char* most = getenv("XLATRACE_TEST_LATE_THREADS_MS");
  const unsigned most_ms = most == NULL ? 0 : (unsigned)atoi(most);
  // Five steps, selected by a mix of the number that differs least between neighbours.
  const unsigned step = (unsigned)getpid() * 2654435761u >> 16;
  usleep(step % 5 * most_ms * 1000 / 4);
  return start.run(start.argument);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*run)(void*), void* argument) {
  typedef int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  const create next = (create)(unsigned long)dlsym(RTLD_NEXT, "pthread_create");
  struct start* start = malloc(sizeof(*start));
  if (start == NULL) return next(thread, attributes, run, argument);
  start->run = run;
  start->argument = argument;
  const int result = next(thread, attributes, late, start);
  if (result != 0) free(start);
  return result;
}
