// SPDX-License-Identifier: Apache-2.0
// Fake libcufft.so.12: plans that remember size and type. A transform becomes one kernel per pass,
// as many passes as a radix-based transform of the size needs.
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "tests/fake_gpu/libraries/export.h"
#include "tests/fake_gpu/libraries/library_kernel.h"

namespace {

enum Result { kSuccess = 0, kInvalidPlan = 1, kExecFailed = 6 };

struct Plan {
  cudaStream_t stream = nullptr;
  long long elements = 1;  // one transform
  long long batch = 1;
  int type = 0;
};

struct Plans {
  std::mutex mutex;
  std::map<int, Plan> by_handle;
  int last = 0;
};
Plans& All() {
  static Plans* const plans = new Plans;
  return *plans;
}

int Change(int handle, auto&& change) {
  Plans& plans = All();
  const std::lock_guard<std::mutex> lock(plans.mutex);
  const auto found = plans.by_handle.find(handle);
  if (found == plans.by_handle.end()) return kInvalidPlan;
  change(found->second);
  return kSuccess;
}

template <typename Integer>
int Make(int handle, int rank, const Integer* sizes, int type, long long batch, size_t* work) {
  if (work != nullptr) *work = 0;
  return Change(handle, [&](Plan& plan) {
    plan.elements = 1;
    for (int i = 0; i < rank; ++i) plan.elements *= sizes[i];
    plan.type = type;
    plan.batch = batch;
  });
}

int Execute(int handle, const char* kind) {
  Plan plan;
  const int result = Change(handle, [&](const Plan& known) { plan = known; });
  if (result != kSuccess) return result;
  // A kernel of one block does up to 4,096 points; larger transforms take two passes.
  const int passes = plan.elements > 4096 ? 2 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    xlatrace::fake::LibraryKernel kernel;
    kernel.name = "_Z10vector_fftILj" + std::to_string(plan.elements) + "ELj" +
                  std::to_string(pass) + "E" + kind + "Evi18kernel_arguments_t";
    kernel.registers = 64;
    kernel.static_shared_bytes = 4096;
    kernel.grid = {xlatrace::fake::Blocks(plan.elements * plan.batch, 1024), 1, 1};
    kernel.block = {128, 1, 1};
    if (Launch(kernel, plan.stream) != cudaSuccess) return kExecFailed;
  }
  return kSuccess;
}

}  // namespace

FAKE_EXPORT int cufftGetVersion(int* version) {
  *version = 12'000;
  return kSuccess;
}
FAKE_EXPORT int cufftGetProperty(int which, int* value) {
  *value = which == 0 ? 12 : 0;
  return kSuccess;
}
FAKE_EXPORT int cufftCreate(int* handle) {
  Plans& plans = All();
  const std::lock_guard<std::mutex> lock(plans.mutex);
  *handle = ++plans.last;
  plans.by_handle[*handle] = Plan{};
  return kSuccess;
}
FAKE_EXPORT int cufftDestroy(int handle) {
  Plans& plans = All();
  const std::lock_guard<std::mutex> lock(plans.mutex);
  return plans.by_handle.erase(handle) == 1 ? kSuccess : kInvalidPlan;
}
FAKE_EXPORT int cufftSetStream(int handle, cudaStream_t stream) {
  return Change(handle, [&](Plan& plan) { plan.stream = stream; });
}
FAKE_EXPORT int cufftSetAutoAllocation(int, int) { return kSuccess; }
FAKE_EXPORT int cufftSetWorkArea(int, void*) { return kSuccess; }
FAKE_EXPORT int cufftGetSize(int, size_t* work) {
  *work = 0;
  return kSuccess;
}

FAKE_EXPORT int cufftMakePlanMany(int handle, int rank, int* sizes, int*, int, int, int*, int, int,
                                  int type, int batch, size_t* work) {
  return Make(handle, rank, sizes, type, batch, work);
}
FAKE_EXPORT int cufftMakePlanMany64(int handle, int rank, long long* sizes, long long*, long long,
                                    long long, long long*, long long, long long, int type,
                                    long long batch, size_t* work) {
  return Make(handle, rank, sizes, type, batch, work);
}
FAKE_EXPORT int cufftMakePlan1d(int handle, int x, int type, int batch, size_t* work) {
  return Make(handle, 1, &x, type, batch, work);
}
FAKE_EXPORT int cufftMakePlan2d(int handle, int x, int y, int type, size_t* work) {
  const int sizes[] = {x, y};
  return Make(handle, 2, sizes, type, 1, work);
}
FAKE_EXPORT int cufftMakePlan3d(int handle, int x, int y, int z, int type, size_t* work) {
  const int sizes[] = {x, y, z};
  return Make(handle, 3, sizes, type, 1, work);
}
FAKE_EXPORT int cufftPlanMany(int* handle, int rank, int* sizes, int*, int, int, int*, int, int,
                              int type, int batch) {
  cufftCreate(handle);
  return Make(*handle, rank, sizes, type, batch, nullptr);
}
FAKE_EXPORT int cufftPlan1d(int* handle, int x, int type, int batch) {
  cufftCreate(handle);
  return Make(*handle, 1, &x, type, batch, nullptr);
}

FAKE_EXPORT int cufftExecC2C(int handle, void*, void*, int) { return Execute(handle, "c2c"); }
FAKE_EXPORT int cufftExecR2C(int handle, void*, void*) { return Execute(handle, "r2c"); }
FAKE_EXPORT int cufftExecC2R(int handle, void*, void*) { return Execute(handle, "c2r"); }
FAKE_EXPORT int cufftExecZ2Z(int handle, void*, void*, int) { return Execute(handle, "z2z"); }
FAKE_EXPORT int cufftExecD2Z(int handle, void*, void*) { return Execute(handle, "d2z"); }
FAKE_EXPORT int cufftExecZ2D(int handle, void*, void*) { return Execute(handle, "z2d"); }
