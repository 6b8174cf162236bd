// SPDX-License-Identifier: Apache-2.0
#include "cupti/layout.h"

#include <cstdlib>
#include <iterator>

namespace fakegpu::cupti {
namespace {

constexpr uint32_t kVersions[] = {18, 22, 26, 28, 130001, 130101, 130301, 130401};

struct Row {
  uint32_t kind;
  uint16_t size[std::size(kVersions)];
};

// CUDA         11.8 12.4 12.8 12.9 13.0 13.1 13.3 13.4
constexpr Row kSizes[] = {
    {1, {88, 88, 96, 96, 96, 96, 96, 112}},          // MEMCPY.
    {2, {88, 88, 88, 88, 88, 88, 88, 104}},          // MEMSET.
    {3, {200, 208, 208, 208, 216, 224, 232, 248}},   // KERNEL.
    {4, {40, 40, 40, 40, 40, 40, 40, 40}},           // DRIVER.
    {5, {40, 40, 40, 40, 40, 40, 40, 40}},           // RUNTIME.
    {8, {176, 184, 184, 184, 184, 184, 192, 192}},   // DEVICE.
    {9, {16, 24, 32, 32, 32, 40, 40, 40}},           // CONTEXT.
    {10, {200, 208, 208, 208, 216, 224, 232, 248}},  // CONCURRENT_KERNEL.
    {11, {32, 32, 32, 32, 32, 32, 32, 32}},          // NAME.
    {12, {56, 56, 56, 56, 56, 56, 56, 56}},          // MARKER.
    {13, {32, 32, 32, 32, 40, 40, 40, 40}},          // MARKER_DATA.
    {17, {40, 56, 56, 56, 56, 56, 56, 56}},          // OVERHEAD.
    {18, {144, 144, 144, 144, 144, 144, 144, 144}},  // CDP_KERNEL.
    {20, {40, 40, 40, 40, 40, 40, 40, 40}},          // ENVIRONMENT.
    {22, {96, 96, 96, 96, 96, 96, 96, 96}},          // MEMCPY2.
    {25, {64, 64, 104, 104, 104, 104, 104, 104}},    // UNIFIED_MEMORY_COUNTER.
    {26, {32, 32, 32, 32, 32, 32, 32, 32}},          // FUNCTION.
    {27, {24, 24, 24, 24, 24, 24, 24, 24}},          // MODULE.
    {28, {24, 24, 24, 24, 24, 24, 24, 24}},          // DEVICE_ATTRIBUTE.
    {36, {24, 24, 56, 56, 56, 56, 56, 56}},          // CUDA_EVENT.
    {37, {24, 24, 24, 24, 24, 24, 24, 24}},          // STREAM.
    {38, {40, 40, 56, 56, 56, 56, 56, 56}},          // SYNCHRONIZATION.
    {39, {24, 24, 24, 24, 24, 24, 24, 24}},          // EXTERNAL_CORRELATION.
    {45, {80, 80, 80, 80, 80, 80, 80, 80}},          // MEMORY.
    {46, {168, 168, 168, 168, 168, 168, 168, 168}},  // PCIE.
    {48, {40, 40, 40, 40, 40, 40, 40, 40}},          // INTERNAL_LAUNCH_API.
    {49, {120, 120, 128, 128, 128, 128, 128, 128}},  // MEMORY2.
    {50, {72, 72, 72, 72, 80, 80, 80, 80}},          // MEMORY_POOL.
    {51, {48, 56, 56, 56, 56, 56, 56, 56}},          // GRAPH_TRACE.
    {52, {64, 72, 72, 72, 72, 72, 72, 72}},          // JIT.
    {53, {0, 0, 56, 56, 56, 56, 56, 56}},            // DEVICE_GRAPH_TRACE.
    {54, {0, 0, 64, 64, 64, 64, 64, 64}},            // MEM_DECOMPRESS.
};

int Column() {
  static const int column = [] {
    const char* text = std::getenv("FAKE_CUPTI_API");
    const long wanted = text != nullptr && *text != '\0' ? std::atol(text) : 130001;
    // The newest layout that is not newer than the requested release.
    int found = 0;
    for (int i = 0; i < static_cast<int>(std::size(kVersions)); ++i) {
      if (kVersions[i] <= wanted) found = i;
    }
    return found;
  }();
  return column;
}

}  // namespace

uint32_t ApiVersion() {
  static const uint32_t version = [] {
    const char* text = std::getenv("FAKE_CUPTI_API");
    return text != nullptr && *text != '\0' ? static_cast<uint32_t>(std::atol(text)) : 130001u;
  }();
  return version;
}

size_t RecordSize(uint32_t kind) {
  static const auto* const by_kind = [] {
    auto* sizes = new uint16_t[64]{};
    for (const Row& row : kSizes) sizes[row.kind] = row.size[Column()];
    return sizes;
  }();
  return kind < 64 ? by_kind[kind] : 0;
}

}  // namespace fakegpu::cupti
