/* SPDX-License-Identifier: Apache-2.0 */

/* xlatrace.h: calls from your program to xlatrace, from C, C++ or any language that calls C.
 *
 *   xlatrace_mark_step(step);   a training step begins; numbers from 0 up, used in reports as given
 *   xlatrace_pause();           launches that begin from here on are not recorded
 *   xlatrace_resume();          until here
 *   xlatrace_is_recording();    1 while they are
 *
 * No library to link (on a glibc before 2.34: -ldl). The functions are looked up in libxlatrace.so
 * if it is loaded (`xlatrace record`, or LD_PRELOAD); else they do nothing. Thread-safety: any
 * thread, at any time, also before CUDA is used. Cost without tracing: a load and a branch.
 *
 * From Python, with nothing installed: examples/mark_steps.py.
 *
 */
#ifndef XLATRACE_XLATRACE_H_
#define XLATRACE_XLATRACE_H_

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function in libxlatrace.so; looked up once, 0 where there is none. */
static inline size_t xlatrace_find_(void** found, const char* name) {
  void* function = __atomic_load_n(found, __ATOMIC_ACQUIRE);
  if (function == NULL) {
    function = dlsym((void*)0, name); /* RTLD_DEFAULT */
    if (function == NULL) function = (void*)found;
    __atomic_store_n(found, function, __ATOMIC_RELEASE);
  }
  return function == (void*)found ? 0 : (size_t)function; /* ISO C: no pointers to functions. */
}

static inline void xlatrace_mark_step(long long step) {
  static void* found = NULL;
  const size_t function = xlatrace_find_(&found, "xlatrace_mark_step");
  if (function != 0) ((void (*)(long long))function)(step);
}

static inline void xlatrace_pause(void) {
  static void* found = NULL;
  const size_t function = xlatrace_find_(&found, "xlatrace_pause");
  if (function != 0) ((void (*)(void))function)();
}

static inline void xlatrace_resume(void) {
  static void* found = NULL;
  const size_t function = xlatrace_find_(&found, "xlatrace_resume");
  if (function != 0) ((void (*)(void))function)();
}

static inline int xlatrace_is_recording(void) {
  static void* found = NULL;
  const size_t function = xlatrace_find_(&found, "xlatrace_is_recording");
  return function != 0 ? ((int (*)(void))function)() : 0;
}

#ifdef __cplusplus
}
#endif

#endif /* XLATRACE_XLATRACE_H_ */
