// SPDX-License-Identifier: Apache-2.0

// A table of descriptors for one thread.

#ifndef XLATRACE_COLLECTOR_DESCRIPTORS_H_
#define XLATRACE_COLLECTOR_DESCRIPTORS_H_

namespace xlatrace::collector {

// Gives the calling thread a table of its own, empty but for /dev/null as 0, 1 and 2: what the
// process opens and closes from now on is not seen here, and the other way round. False where the
// kernel does not let us (before Linux 5.9, or a sandbox); then nothing has changed.
bool UnshareDescriptors();

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_DESCRIPTORS_H_
