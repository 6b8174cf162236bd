// SPDX-License-Identifier: Apache-2.0
#include "workload/device_steps.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace fakegpu {
namespace {

constexpr size_t kMemory = 16 << 20;

}  // namespace

void DeviceSteps::NeedDevice(const Step& step) {
  std::lock_guard guard(program_.lock);
  if (!program_.ready) {
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) Fail(step, dlerror());
    CHECK(CU(cuInit)(0));
    int count = 0;
    CHECK(CU(cuDeviceGetCount)(&count));
    for (int i = 0; i < count; ++i) {
      CUcontext context = nullptr;
      CHECK(CU(cuDevicePrimaryCtxRetain)(&context, i));
      program_.contexts.push_back(context);
    }
    program_.ready = true;
  }
  if (place_.device >= static_cast<int>(program_.contexts.size())) Fail(step, "no such device");
  CHECK(CU(cuCtxSetCurrent)(program_.contexts[place_.device]));
}

// Every kernel that is not declared is one of 32 registers in a module of its own.
CUfunction DeviceSteps::Function(const Step& step, const std::string& name) {
  std::lock_guard guard(program_.lock);
  CUfunction& function = program_.functions[{place_.device, name}];
  if (function == nullptr) {
    CubinKernel kernel{name};
    if (const auto declared = program_.kernels.find(name); declared != program_.kernels.end()) {
      kernel = declared->second;
    }
    CUmodule module = nullptr;
    CHECK(CU(cuModuleLoadData)(&module, MakeCubin({kernel}).data()));
    CHECK(CU(cuModuleGetFunction)(&function, module, name.c_str()));
  }
  return function;
}

CUstream DeviceSteps::Stream(const Step& step, const std::string& name) {
  if (name.empty()) return nullptr;
  std::lock_guard guard(program_.lock);
  CUstream& stream = program_.streams[name + "@" + std::to_string(place_.device)];
  if (stream == nullptr) CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

CUdeviceptr DeviceSteps::Memory(const Step& step, int device, char which) {
  std::lock_guard guard(program_.lock);
  CUdeviceptr& memory = program_.memory[{device, which}];
  if (memory == 0) CHECK(CU(cuMemAlloc)(&memory, kMemory));
  return memory;
}

// Waits until this thread is not ahead of its rate.
void DeviceSteps::Pace() {
  if (place_.rate <= 0) return;
  if (place_.launched++ == 0) clock_gettime(CLOCK_MONOTONIC, &place_.begun);
  if (place_.launched % 16 != 0) return;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double passed = static_cast<double>(now.tv_sec - place_.begun.tv_sec) +
                        static_cast<double>(now.tv_nsec - place_.begun.tv_nsec) * 1e-9;
  const double due = static_cast<double>(place_.launched) / place_.rate;
  if (due > passed + 50e-6) usleep(static_cast<useconds_t>((due - passed) * 1e6));
}

void DeviceSteps::Launch(const Step& step) {
  NeedDevice(step);
  CUfunction function = Function(step, place_.Word(step, 1));
  CUstream stream = Stream(step, place_.Option(step, "on"));
  unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
  place_.Triple(step, "grid", grid);
  place_.Triple(step, "block", block);
  const auto smem = static_cast<unsigned>(place_.Option(step, "smem", 0));
  if (smem > 48 * 1024) {
    CHECK(CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(smem)));
  }
  const auto launch = CU(cuLaunchKernel);
  for (long i = place_.Option(step, "x", 1); i > 0; --i) {
    CHECK(launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], smem, stream,
                 nullptr, nullptr));
    Pace();
  }
}

void DeviceSteps::Copy(const Step& step) {
  NeedDevice(step);
  const std::string kind = place_.Word(step, 1);
  const auto bytes = static_cast<size_t>(place_.Number(step, 2));
  if (bytes > kMemory) Fail(step, "more than the workload's memory");
  CUstream stream = Stream(step, place_.Option(step, "on"));
  static std::vector<char>* const host = new std::vector<char>(kMemory);
  const CUdeviceptr a = Memory(step, place_.device, 'a'), b = Memory(step, place_.device, 'b');
  for (long i = place_.Option(step, "x", 1); i > 0; --i) {
    if (kind == "htod") {
      CHECK(CU(cuMemcpyHtoDAsync)(a, host->data(), bytes, stream));
    } else if (kind == "dtoh") {
      CHECK(CU(cuMemcpyDtoHAsync)(host->data(), a, bytes, stream));
    } else if (kind == "dtod") {
      CHECK(CU(cuMemcpyDtoDAsync)(b, a, bytes, stream));
    } else if (kind == "peer") {
      const int other = (place_.device + 1) % static_cast<int>(program_.contexts.size());
      CHECK(CU(cuCtxSetCurrent)(program_.contexts[other]));
      const CUdeviceptr there = Memory(step, other, 'a');
      CHECK(CU(cuCtxSetCurrent)(program_.contexts[place_.device]));
      CHECK(CU(cuMemcpyPeerAsync)(there, program_.contexts[other], a,
                                  program_.contexts[place_.device], bytes, stream));
    } else {
      Fail(step, "unknown kind of copy");
    }
    Pace();
  }
}

void DeviceSteps::Set(const Step& step) {
  NeedDevice(step);
  const CUdeviceptr a = Memory(step, place_.device, 'a');
  CUstream stream = Stream(step, place_.Option(step, "on"));
  for (long i = place_.Option(step, "x", 1); i > 0; --i) {
    CHECK(CU(cuMemsetD8Async)(a, 0, static_cast<size_t>(place_.Number(step, 1)), stream));
    Pace();
  }
}

void DeviceSteps::Declare(const Step& step) {
  std::lock_guard guard(program_.lock);
  const std::string name = place_.Word(step, 1);
  program_.kernels[name] = {name, static_cast<uint32_t>(place_.Option(step, "registers", 32)),
                            static_cast<uint32_t>(place_.Option(step, "smem", 0))};
}

void DeviceSteps::Synchronize(const Step& step) {
  NeedDevice(step);
  if (step.words.size() > 1) {
    CHECK(CU(cuStreamSynchronize)(Stream(step, place_.Word(step, 1))));
  } else {
    CHECK(CU(cuCtxSynchronize)());
  }
}

void DeviceSteps::Event(const Step& step) {
  NeedDevice(step);
  CUstream stream = Stream(step, place_.Option(step, "on"));
  CUevent event = nullptr;
  {
    std::lock_guard guard(program_.lock);
    CUevent& known = program_.events[place_.Word(step, 1)];
    if (known == nullptr) CHECK(CU(cuEventCreate)(&known, CU_EVENT_DISABLE_TIMING));
    event = known;
  }
  CHECK(step.words[0] == "record" ? CU(cuEventRecord)(event, stream)
                                  : CU(cuStreamWaitEvent)(stream, event, 0));
}

bool DeviceSteps::Run(const Step& step) {
  const std::string& what = step.words[0];
  if (what == "launch") {
    Launch(step);
  } else if (what == "copy") {
    Copy(step);
  } else if (what == "set") {
    Set(step);
  } else if (what == "kernel") {
    Declare(step);
  } else if (what == "init") {
    NeedDevice(step);
  } else if (what == "device") {
    place_.device = static_cast<int>(place_.Number(step, 1));
  } else if (what == "sync") {
    Synchronize(step);
  } else if (what == "record" || what == "wait-event") {
    Event(step);
  } else if (what == "host") {
    NeedDevice(step);
    CHECK(CU(cuLaunchHostFunc)(
        Stream(step, place_.Option(step, "on")), [](void*) {}, nullptr));
  } else {
    return RunGraph(step);
  }
  return true;
}

}  // namespace fakegpu
