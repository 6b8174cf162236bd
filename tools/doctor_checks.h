// SPDX-License-Identifier: Apache-2.0

// The checks of `xlatrace doctor`, one function each. Each returns a finding, and a command to type
// if the finding prevents a recording.
//
// Thread-safety: one thread. The checks run programs and read the environment.

#ifndef XLATRACE_TOOLS_DOCTOR_CHECKS_H_
#define XLATRACE_TOOLS_DOCTOR_CHECKS_H_

#include <string>
#include <vector>

#include "tools/gpu_probe.h"

namespace xlatrace::tools {

struct Check {
  std::string what;
  enum class State { kFine, kNotice, kProblem } state = State::kFine;
  std::string found;
  std::string advice;  // A command to type; empty: none.
};

// Facts of the interpreter, read without importing a framework.
struct PythonFacts {
  bool ran = false;
  std::string version;
  std::string jax;  // Versions; empty: not installed.
  std::string jaxlib;
  std::string tensorflow;
  // The build has the switch that collector/tensorflow_ops.h uses.
  bool tensorflow_names_ops = true;
  int cuda_plugin = 0;  // 12 or 13; 0: none.
  std::string executable;
  std::vector<std::string> cupti;  // Paths in pip's wheels.
};
PythonFacts QueryPython(const std::string& python);

Check CheckPython(const std::string& python, const PythonFacts& facts);
Check CheckHook();
Check CheckFolder();
// Tests the flags on the installed XLA, because XLA ends a program with an unknown flag.
Check CheckFlags(const std::string& python, const PythonFacts& facts);

// With an NVIDIA driver.
Check CheckDriver(const GpuProbe& probe, const PythonFacts& facts);
Check CheckCupti(const GpuProbe& probe, const PythonFacts& facts);
// Checks that our libraries exist and that the interpreter can load them.
Check CheckLibraries(const PythonFacts& facts);
// Other profilers around this shell: Nsight, injection variables, NVTX, JAX's own.
std::vector<Check> CheckOtherTools();

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_DOCTOR_CHECKS_H_
