// SPDX-License-Identifier: Apache-2.0

// Preloaded by failing_calls.py: the N-th call that writes to a file or changes a folder fails.
//   FAIL_AT     which one, from 1; 0: none
//   FAIL_ERRNO  with which error
//   FAIL_ALWAYS 1: all after it, too, as on a disk that is full
//   FAIL_COUNT  a file that gets the number of such calls when the process ends
// Standard streams are left out: tests/e2e/test_output_places.py has those.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static atomic_long calls;
static long fail_at;
static int fail_errno, fail_always;

__attribute__((constructor)) static void Begin(void) {
  const char* const at = getenv("FAIL_AT");
  const char* const error = getenv("FAIL_ERRNO");
  const char* const always = getenv("FAIL_ALWAYS");
  fail_at = at ? atol(at) : 0;
  fail_errno = error ? atoi(error) : EIO;
  fail_always = always && *always == '1';
}

__attribute__((destructor)) static void End(void) {
  const char* const path = getenv("FAIL_COUNT");
  if (path == NULL) return;
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, text, size);
  syscall(SYS_close, fd);
}

static int Fails(void) {
  const long call = atomic_fetch_add(&calls, 1) + 1;
  if (fail_at == 0 || (fail_always ? call < fail_at : call != fail_at)) return 0;
  errno = fail_errno;
  return 1;
}

// Pipes and terminals are not files.
static int IsFile(int fd) {
  struct stat about;
  return fd > 2 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* bytes, size_t size) {
  return IsFile(fd) && Fails() ? -1 : NEXT(write)(fd, bytes, size);
}
ssize_t writev(int fd, const struct iovec* parts, int count) {
  return IsFile(fd) && Fails() ? -1 : NEXT(writev)(fd, parts, count);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  return IsFile(fd) && Fails() ? -1 : NEXT(pwrite)(fd, bytes, size, at);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  return IsFile(fd) && Fails() ? -1 : NEXT(pwrite64)(fd, bytes, size, at);
}
int ftruncate(int fd, off_t size) { return Fails() ? -1 : NEXT(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return Fails() ? -1 : NEXT(ftruncate64)(fd, size); }
int fsync(int fd) { return Fails() ? -1 : NEXT(fsync)(fd); }
int fdatasync(int fd) { return Fails() ? -1 : NEXT(fdatasync)(fd); }
int rename(const char* from, const char* to) { return Fails() ? -1 : NEXT(rename)(from, to); }
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  return Fails() ? -1 : NEXT(renameat2)(a, from, b, to, flags);
}
int link(const char* from, const char* to) { return Fails() ? -1 : NEXT(link)(from, to); }
int mkdir(const char* path, mode_t mode) { return Fails() ? -1 : NEXT(mkdir)(path, mode); }

static int OpenFails(int flags) { return (flags & O_ACCMODE) != O_RDONLY && Fails(); }

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return OpenFails(flags) ? -1 : NEXT(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return OpenFails(flags) ? -1 : NEXT(open64)(path, flags, mode);
}
