// SPDX-License-Identifier: Apache-2.0

// A separate table of descriptors for one thread.

#ifndef XLATRACE_COLLECTOR_DESCRIPTORS_H_
#define XLATRACE_COLLECTOR_DESCRIPTORS_H_

namespace xlatrace::collector {

// Gives the calling thread its own table, empty except for /dev/null as 0, 1 and 2. Later changes
// of the process's table are not visible here, and vice versa. False if the kernel refuses (before
// Linux 5.9, or a sandbox); then nothing has changed.
bool UnshareDescriptors();

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_DESCRIPTORS_H_
