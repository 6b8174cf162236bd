// SPDX-License-Identifier: Apache-2.0

// Makes the smallest ELF that passes for a cubin: names, register counts and static shared memory
// of kernels, no code. A host of NVIDIA's tools would not run it; the fake driver reads it.
#ifndef FAKE_GPU_WORKLOAD_CUBIN_H_
#define FAKE_GPU_WORKLOAD_CUBIN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace fakegpu {

struct CubinKernel {
  std::string name;
  uint32_t registers = 32;
  uint32_t static_smem = 0;
};

std::string MakeCubin(const std::vector<CubinKernel>& kernels);

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_CUBIN_H_
