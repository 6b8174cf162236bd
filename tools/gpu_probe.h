// SPDX-License-Identifier: Apache-2.0

// Looks for the CUDA driver and CUPTI in the same places as a program on this machine. They are
// loaded in a child process, because CUPTI 13.2 ends the process if there is no driver.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_GPU_PROBE_H_
#define XLATRACE_TOOLS_GPU_PROBE_H_

#include <string>
#include <vector>

namespace xlatrace::tools {

struct GpuProbe {
  bool answered = false;     // The child finished the probe.
  std::string driver_path;   // libcuda.so.1; empty: cannot be loaded.
  std::string driver_error;  // Why.
  int init_result = -1;      // cuInit
  int devices = 0;
  int driver_version = 0;  // 13000 = CUDA 13.0
  std::string cupti_path;  // Empty: none was found.
  int cupti_result = -1;   // cuptiGetVersion
  int cupti_version = 0;   // 18 to 28, or from 130000 on.
};

// `cupti_paths` are tried first, in order; then the name, then the place of the toolkit.
GpuProbe ProbeGpu(const std::vector<std::string>& cupti_paths);

// The program interpreter in an ELF file (/lib64/ld-linux-x86-64.so.2); empty for scripts and
// static programs.
std::string ElfInterpreter(const std::string& path);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_GPU_PROBE_H_
