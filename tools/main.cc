// SPDX-License-Identifier: Apache-2.0

// The `xlatrace` program: what holds for its process, whatever it was asked for.

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

// Ctrl-C during our own work: nothing half-written remains.
void OnInterrupt(int signal) {
  xlatrace::RemoveTemporaryFilesOnSignal();
  xlatrace::tools::ClearProgressOnSignal();
  _exit(128 + signal);
}

// Unless whoever started us has this signal ignored, as `nohup` does.
void EndTidily(int signal) {
  if (std::signal(signal, OnInterrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
}

// Whoever closed one of the three must not find our messages in the next file that we open. Open
// for reading only, so that a result that has no place is still an error; closed again for
// children.
void FillClosedDescriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (opened > 2) close(opened);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Columns of millions of rows grow by copies. By itself malloc soon takes even these from the
  // heap, where each smaller copy leaves a hole: a quarter of the peak of a large import.
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
