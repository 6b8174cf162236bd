// SPDX-License-Identifier: Apache-2.0

// The modules that a program loads: cubin (ELF), fat binary, or PTX text. Only names and figures
// are read; no instruction is ever executed.
#ifndef FAKE_GPU_DRIVER_IMAGE_H_
#define FAKE_GPU_DRIVER_IMAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fakegpu {

struct KernelImage {
  std::string name;
  uint32_t registers = 32;
  uint32_t static_smem = 0;
  uint32_t local_per_thread = 0;
  uint32_t max_threads = 1024;
  struct Parameter {
    uint32_t offset, size;
  };
  std::vector<Parameter> parameters;  // empty if the image has no sizes
  uint32_t barriers = 1;
};

struct GlobalImage {
  std::string name;
  size_t size = 0;
  std::string content;  // initial bytes; rest is zero
};

struct Image {
  std::string bytes;  // the cubin or PTX text as loaded; what MODULE_LOADED shows
  std::vector<KernelImage> kernels;
  std::vector<GlobalImage> globals;
  bool opaque = false;  // could not be read (compressed fat binary): any kernel name is taken
};

// Reads `data`, whose length follows from its own headers. Never fails: what it cannot read is an
// opaque image.
std::shared_ptr<Image> ReadImage(const void* data);

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_IMAGE_H_
