// SPDX-License-Identifier: Apache-2.0
#include "collector/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <sys/syscall.h>

namespace xlatrace::collector {

bool UnshareDescriptors() {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer models one table per process, so the same number in two tables is a race for
  // it. Its report would be lost, since 2 is /dev/null here.
  return false;
#elif defined(SYS_close_range)
  constexpr unsigned kUnshare = 1u << 1;  // CLOSE_RANGE_UNSHARE (linux/close_range.h).
  // Copies that stayed open here would keep the program's pipes and sockets open.
  if (syscall(SYS_close_range, 0u, ~0u, kUnshare) != 0) return false;
  for (int fd = 0; fd <= 2; ++fd) {
    if (open("/dev/null", O_RDWR) < 0) break;  // Nothing may print here, but something might.
  }
  return true;
#else
  return false;
#endif
}

}  // namespace xlatrace::collector
