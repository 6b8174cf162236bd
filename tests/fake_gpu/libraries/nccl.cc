// SPDX-License-Identifier: Apache-2.0
// Fake libnccl.so.2, for several devices of one process: communicators, groups, and collectives
// that become one device kernel per communicator and group, as in NCCL. No bytes are moved. NCCL's
// header is not used; prototypes and numbers are those of nccl.h 2.28.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/fake_gpu/libraries/export.h"
#include "tests/fake_gpu/libraries/library_kernel.h"

namespace {

enum Result { kSuccess = 0, kUnhandledCudaError = 1, kInvalidArgument = 4 };

struct UniqueId {
  char bytes[128];
};

struct Communicator {
  int ranks, rank, device;
};

struct Work {
  Communicator* communicator;
  cudaStream_t stream;
  std::string kernel;
  size_t bytes;
};

thread_local int group_depth = 0;
thread_local std::vector<Work> group;

const char* TypeName(int type) {
  static const char* const kNames[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                       "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  return type >= 0 && type < 12 ? kNames[type] : "unknown";
}
size_t TypeBytes(int type) {
  static const size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? kBytes[type] : 1;
}
const char* OperationName(int operation) {
  static const char* const kNames[] = {"Sum", "Prod", "MinMax", "MinMax", "SumPostDiv"};
  return operation >= 0 && operation < 5 ? kNames[operation] : "PreMulSum";
}

int LaunchWork(const Work& work) {
  int before = 0;
  cudaGetDevice(&before);
  if (before != work.communicator->device) cudaSetDevice(work.communicator->device);
  xlatrace::fake::LibraryKernel kernel;
  kernel.name = "_Z" + std::to_string(work.kernel.size()) + work.kernel +
                "24ncclDevKernelArgsStorageILm4096EE";
  kernel.registers = 96;
  // One block per channel; more channels for more bytes.
  kernel.grid = {work.bytes >= (1U << 20) ? 16U : work.bytes >= (1U << 16) ? 8U : 2U, 1, 1};
  kernel.block = {544, 1, 1};
  const cudaError_t error = Launch(kernel, work.stream);
  if (before != work.communicator->device) cudaSetDevice(before);
  return error == cudaSuccess ? kSuccess : kUnhandledCudaError;
}

// Work of one group on one communicator and stream goes in one kernel, named after the first.
int Enqueue(Communicator* communicator, cudaStream_t stream, const std::string& kernel,
            size_t bytes) {
  if (communicator == nullptr) return kInvalidArgument;
  const Work work = {communicator, stream, kernel, bytes};
  if (group_depth == 0) return LaunchWork(work);
  for (Work& known : group) {
    if (known.communicator == communicator && known.stream == stream) {
      known.bytes += bytes;
      return kSuccess;
    }
  }
  group.push_back(work);
  return kSuccess;
}

int Join(Communicator** communicator, int ranks, int rank) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return kUnhandledCudaError;
  *communicator = new Communicator{ranks, rank, device};
  return kSuccess;
}

}  // namespace

FAKE_EXPORT int ncclGetVersion(int* version) {
  *version = 22'803;
  return kSuccess;
}
FAKE_EXPORT const char* ncclGetErrorString(int result) {
  return result == kSuccess ? "no error" : "error of the NCCL stand-in";
}
FAKE_EXPORT const char* ncclGetLastError(Communicator*) { return ""; }
FAKE_EXPORT int ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> count{0};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "xlatrace-fake-%d", ++count);
  return kSuccess;
}

FAKE_EXPORT int ncclCommInitRankConfig(Communicator** communicator, int ranks, UniqueId, int rank,
                                       void*) {
  return Join(communicator, ranks, rank);
}
FAKE_EXPORT int ncclCommInitRank(Communicator** communicator, int ranks, UniqueId, int rank) {
  return Join(communicator, ranks, rank);
}
FAKE_EXPORT int ncclCommInitRankScalable(Communicator** communicator, int ranks, int rank, int,
                                         UniqueId*, void*) {
  return Join(communicator, ranks, rank);
}
// Every rank of a colour is taken: XLA splits by colour only to get a copy of the whole clique.
FAKE_EXPORT int ncclCommSplit(Communicator* communicator, int colour, int key,
                              Communicator** result, void*) {
  *result = colour < 0 ? nullptr : new Communicator{communicator->ranks, key, communicator->device};
  return kSuccess;
}
FAKE_EXPORT int ncclCommDestroy(Communicator* communicator) {
  delete communicator;
  return kSuccess;
}
FAKE_EXPORT int ncclCommAbort(Communicator* communicator) { return ncclCommDestroy(communicator); }
FAKE_EXPORT int ncclCommFinalize(Communicator*) { return kSuccess; }
FAKE_EXPORT int ncclCommGetAsyncError(Communicator*, int* error) {
  *error = kSuccess;
  return kSuccess;
}
FAKE_EXPORT int ncclCommCount(Communicator* communicator, int* count) {
  *count = communicator->ranks;
  return kSuccess;
}
FAKE_EXPORT int ncclCommUserRank(Communicator* communicator, int* rank) {
  *rank = communicator->rank;
  return kSuccess;
}
FAKE_EXPORT int ncclCommCuDevice(Communicator* communicator, int* device) {
  *device = communicator->device;
  return kSuccess;
}
FAKE_EXPORT int ncclCommRegister(Communicator*, void* buffer, size_t, void** handle) {
  *handle = buffer;
  return kSuccess;
}
FAKE_EXPORT int ncclCommDeregister(Communicator*, void*) { return kSuccess; }
FAKE_EXPORT int ncclMemAlloc(void** pointer, size_t bytes) {
  return cudaMalloc(pointer, bytes) == cudaSuccess ? kSuccess : kUnhandledCudaError;
}
FAKE_EXPORT int ncclMemFree(void* pointer) {
  return cudaFree(pointer) == cudaSuccess ? kSuccess : kUnhandledCudaError;
}

FAKE_EXPORT int ncclGroupStart() {
  ++group_depth;
  return kSuccess;
}
FAKE_EXPORT int ncclGroupEnd() {
  if (group_depth == 0) return kInvalidArgument;
  if (--group_depth > 0) return kSuccess;
  std::vector<Work> ready;
  ready.swap(group);
  for (const Work& work : ready) {
    const int result = LaunchWork(work);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

FAKE_EXPORT int ncclAllReduce(const void*, void*, size_t count, int type, int operation,
                              Communicator* communicator, cudaStream_t stream) {
  return Enqueue(communicator, stream,
                 std::string("ncclDevKernel_AllReduce_") + OperationName(operation) + "_" +
                     TypeName(type) + "_RING_LL",
                 count * TypeBytes(type));
}
FAKE_EXPORT int ncclReduceScatter(const void*, void*, size_t count, int type, int operation,
                                  Communicator* communicator, cudaStream_t stream) {
  return Enqueue(communicator, stream,
                 std::string("ncclDevKernel_ReduceScatter_") + OperationName(operation) + "_" +
                     TypeName(type) + "_RING_LL",
                 count * TypeBytes(type));
}
FAKE_EXPORT int ncclAllGather(const void*, void*, size_t count, int type,
                              Communicator* communicator, cudaStream_t stream) {
  return Enqueue(communicator, stream, "ncclDevKernel_AllGather_RING_LL", count * TypeBytes(type));
}
// Since 2.28.
FAKE_EXPORT int ncclAlltoAll(const void*, void*, size_t count, int type, Communicator* communicator,
                             cudaStream_t stream) {
  return Enqueue(communicator, stream, "ncclDevKernel_SendRecv", count * TypeBytes(type));
}
FAKE_EXPORT int ncclBroadcast(const void*, void*, size_t count, int type, int,
                              Communicator* communicator, cudaStream_t stream) {
  return Enqueue(communicator, stream, "ncclDevKernel_Broadcast_RING_LL", count * TypeBytes(type));
}
FAKE_EXPORT int ncclSend(const void*, size_t count, int type, int, Communicator* communicator,
                         cudaStream_t stream) {
  return Enqueue(communicator, stream, "ncclDevKernel_SendRecv", count * TypeBytes(type));
}
FAKE_EXPORT int ncclRecv(void*, size_t count, int type, int, Communicator* communicator,
                         cudaStream_t stream) {
  return Enqueue(communicator, stream, "ncclDevKernel_SendRecv", count * TypeBytes(type));
}
