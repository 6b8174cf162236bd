// SPDX-License-Identifier: Apache-2.0

// Facts of a recording about its process: identity and command line. No environment; values of
// options that look like secrets are masked.

#ifndef XLATRACE_COLLECTOR_PROCESS_FACTS_H_
#define XLATRACE_COLLECTOR_PROCESS_FACTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace xlatrace::collector {

using FactSink = std::function<void(std::string_view key, std::string_view value)>;

// pid, host, command, executable, rank... Reads /proc and a few variables of launchers.
void ReadProcessFacts(const FactSink& sink);

// Name of a thread of this process in the kernel; empty if the thread has ended.
std::string ThreadName(uint32_t thread);

// A debugger (cuda-gdb, gdb, strace) traces this process.
bool IsUnderDebugger();

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_PROCESS_FACTS_H_
