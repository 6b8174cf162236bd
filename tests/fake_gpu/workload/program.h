// SPDX-License-Identifier: Apache-2.0

// Common state of the workload's threads, and their path to the driver: by dlsym on a handle, as in
// frameworks.
#ifndef FAKE_GPU_WORKLOAD_PROGRAM_H_
#define FAKE_GPU_WORKLOAD_PROGRAM_H_

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "workload/cubin.h"
#include "workload/words.h"

namespace fakegpu {

inline void* library = nullptr;  // libcuda.so.1, opened when it is first needed

template <typename F>
F* Find(const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "fake_workload: no %s in libcuda.so.1\n", name);
    std::exit(3);
  }
  return reinterpret_cast<F*>(found);
}
// Resolved once per place; the macro takes the name that cuda.h gives this version.
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define CU(name)                                                     \
  ([]() -> decltype(&name) {                                         \
    static const auto resolved = Find<decltype(name)>(STRING(name)); \
    return resolved;                                                 \
  }())

inline void Check(const Step& step, CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) Fail(step, std::string(what) + " returned " + std::to_string(result));
}
#define CHECK(call) Check(step, call, #call)

struct Graph {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  std::vector<CUgraphNode> nodes;
};

// State that all threads share.
struct Program {
  std::mutex lock;
  std::map<std::string, CubinKernel> kernels;  // as declared
  std::map<std::pair<int, std::string>, CUfunction> functions;
  std::map<std::string, CUstream> streams;
  std::map<std::string, CUevent> events;
  std::map<std::string, Graph> graphs;
  std::map<std::pair<int, char>, CUdeviceptr> memory;
  std::vector<std::string> images;
  std::vector<pid_t> children;
  std::vector<std::string> arguments;
  bool ready = false;
  std::vector<CUcontext> contexts;
};

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_PROGRAM_H_
