// SPDX-License-Identifier: Apache-2.0

// The `xlatrace` program: signals, memory settings and descriptors of the process, for every
// command.

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "base/file.h"
#include "tools/command_line.h"
#include "tools/console.h"

namespace {

// Ctrl-C during our own work leaves no unfinished file.
void OnInterrupt(int signal) {
  xlatrace::RemoveTemporaryFilesOnSignal();
  xlatrace::tools::ClearProgressOnSignal();
  _exit(128 + signal);
}

// Does not handle the signal if the parent set it to be ignored, as `nohup` does.
void EndTidily(int signal) {
  if (std::signal(signal, OnInterrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
}

// If one of the first three descriptors is closed, the next opened file would get its number and
// receive our messages. /dev/null takes the number. It is opened for reading only, so that printing
// a result is still an error. Children do not inherit it.
void FillClosedDescriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (opened > 2) close(opened);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Columns of millions of rows grow by copies. By default, malloc soon allocates even these from
  // the heap, where each smaller copy leaves a hole. The holes are a quarter of the peak memory of
  // a large import.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  FillClosedDescriptors();
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) EndTidily(signal);
  try {
    return xlatrace::tools::RunCommandLine(argc, argv);
  } catch (const std::bad_alloc&) {
    xlatrace::tools::PrintError({"out of memory", "run it on a machine with more memory", {}});
  } catch (const std::exception& error) {
    xlatrace::tools::PrintError({fmt::format("internal error: {}", error.what()),
                                 "please report it with the command line",
                                 {}});
  }
  return 1;
}
