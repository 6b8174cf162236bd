// SPDX-License-Identifier: Apache-2.0

// NVTX ranges as XLA makes them: domain TSL, registered strings, payloads with registered schemas
// (facts seen with jaxlib 0.10.2: XlaModule and XlaKernel, strings at the offsets of a C++ object).
#ifndef FAKE_GPU_WORKLOAD_RANGES_H_
#define FAKE_GPU_WORKLOAD_RANGES_H_

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fakegpu {

struct ThunkText {
  std::string op;      // "fusion.1"
  std::string title;   // "Thunk:#name=jit(step)/layer,hlo_op=fusion.1#"
  std::string hlo;     // the HLO line
  std::string source;  // Python stack
  std::string called;  // the computation it calls
};

// A plain range, ASCII message, in domain TSL or, `domain` empty, in the default domain.
void PushRange(const std::string& domain, const std::string& text);
void PopRange(const std::string& domain);

// Names as XLA gives them to what it uses.
void NameThread(const std::string& name);
void NameStream(CUstream stream, const std::string& name);
void NameDevice(CUdevice device, const std::string& name);

// Registers all strings of an executable at once, as XLA does when it creates one. These are three
// of the module, then title, HLO line, source and called computation of each op. Every string has
// its own handle. If called again for the same name and id, it makes a new executable.
void RegisterExecutable(const std::string& name, int id, const std::vector<ThunkText>& ops);

// Ranges with registered strings and payload. They use the handles of the executable, and of its op
// with the same title's hlo_op, if there is one. Otherwise strings are registered once per text.
void PushModule(const std::string& name, int id);
void PushThunk(const ThunkText& text);
void PopModule();
void PopThunk();

// A collective as NCCL announces it (src/include/nvtx.h since 2.18). It has the domain NCCL, the
// function's name as a registered string, and a payload. The payload's schema has a number that
// NCCL has chosen. PopRange ends it.
void PushNccl(const std::string& function, uint64_t bytes);

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_RANGES_H_
