// SPDX-License-Identifier: Apache-2.0
// Fake of cuDNN's backend interface, as far as convolutions need it. Descriptors keep their values,
// and the heuristics propose two engines for any graph of operations. An executed plan launches the
// kernels that cuDNN launches for such a convolution. No number is computed.
//
// cuDNN's header is not used; the numbers are those of cudnn_graph.h 9.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/fake_gpu/libraries/cudnn_handle.h"
#include "tests/fake_gpu/libraries/export.h"
#include "tests/fake_gpu/libraries/library_kernel.h"

namespace {

using xlatrace::fake::CudnnHandle;
using xlatrace::fake::LibraryKernel;

enum Status { kSuccess = 0, kBadParameter = 2000, kExecutionFailed = 5000 };
enum DescriptorType {
  kEngine = 2,
  kEngineConfig = 3,
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
};
enum AttributeType { kInt64 = 3, kDescriptor = 15 };
enum AttributeName {
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kConfigEngine = 300,
  kPlanConfig = 401,
  kPlanWorkspaceSize = 402,
  kGraphOperations = 801,
  kGraphEngineCount = 802,
  kEngineGraph = 1300,
  kEngineIndex = 1301,
};

constexpr int64_t kEngines = 2;

// The content of a descriptor. A descriptor that others point to lives on when the program destroys
// its own.
struct Node {
  int type = 0;
  std::map<int, std::vector<int64_t>> numbers;
  std::map<int, std::vector<std::shared_ptr<Node>>> nodes;

  const Node* Child(int name) const {
    const auto found = nodes.find(name);
    return found == nodes.end() || found->second.empty() ? nullptr : found->second[0].get();
  }
};

struct Descriptor {
  std::shared_ptr<Node> node;
};

std::shared_ptr<Node> ConfigOf(const std::shared_ptr<Node>& graph, int64_t index) {
  auto engine = std::make_shared<Node>();
  engine->type = kEngine;
  engine->numbers[kEngineIndex] = {index};
  if (graph != nullptr) engine->nodes[kEngineGraph] = {graph};
  auto config = std::make_shared<Node>();
  config->type = kEngineConfig;
  config->nodes[kConfigEngine] = {engine};
  return config;
}

// The values that cuDNN derives when a descriptor is finalised.
void Derive(Node& node) {
  if (node.numbers.find(kPlanWorkspaceSize) == node.numbers.end() &&
      node.Child(kPlanConfig) != nullptr) {
    node.numbers[kPlanWorkspaceSize] = {0};
  }
  if (node.Child(kGraphOperations) != nullptr) node.numbers[kGraphEngineCount] = {kEngines};
  if (const auto graph = node.nodes.find(kHeuristicsGraph); graph != node.nodes.end()) {
    auto& results = node.nodes[kHeuristicsResults];
    results.clear();
    for (int64_t i = 0; i < kEngines; ++i) results.push_back(ConfigOf(graph->second[0], i));
  }
}

// Between the layouts of images: engine 0 works on channels that lie side by side.
const char* const kToNhwc =
    "_ZN5cudnn3ops16nchwToNhwcKernelIfffLb0ELb1EL21cudnnKernelDataType_t2EEEvNS0_17nchw2nhwc_"
    "params_tIfEEPKT_PT0_";
const char* const kToNchw =
    "_ZN5cudnn3ops16nhwcToNchwKernelIfffLb1ELb0EL21cudnnKernelDataType_t0EEEvNS0_17nhwc2nchw_"
    "params_tIfEEPKT_PT0_";

std::string ConvolutionKernel(int type, int64_t engine) {
  const std::string direction = type == kConvolutionForward          ? "fprop"
                                : type == kConvolutionBackwardFilter ? "wgrad"
                                                                     : "dgrad";
  const std::string tile = engine == 0 ? "128x128x16_stage4" : "64x64x16_stage5";
  return "sm80_xmma_" + direction +
         "_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize" + tile +
         "_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn";
}

int LaunchConvolution(int type, int64_t engine, cudaStream_t stream) {
  std::vector<LibraryKernel> kernels;
  if (engine == 0) kernels.push_back({.name = kToNhwc, .registers = 28, .grid = {16, 4, 1}});
  kernels.push_back({.name = ConvolutionKernel(type, engine),
                     .registers = 234,
                     .grid = {32, 1, 1},
                     .block = {128, 1, 1},
                     .dynamic_shared_bytes = 49'152});
  if (engine == 0) kernels.push_back({.name = kToNchw, .registers = 28, .grid = {16, 4, 1}});
  for (const LibraryKernel& kernel : kernels) {
    if (Launch(kernel, stream) != cudaSuccess) return kExecutionFailed;
  }
  return kSuccess;
}

}  // namespace

FAKE_EXPORT int cudnnBackendCreateDescriptor(int type, Descriptor** descriptor) {
  *descriptor = new Descriptor{std::make_shared<Node>()};
  (*descriptor)->node->type = type;
  return kSuccess;
}
FAKE_EXPORT int cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  delete descriptor;
  return kSuccess;
}
FAKE_EXPORT int cudnnBackendInitialize(Descriptor*) { return kSuccess; }
FAKE_EXPORT int cudnnBackendFinalize(Descriptor* descriptor) {
  if (descriptor == nullptr) return kBadParameter;
  Derive(*descriptor->node);
  return kSuccess;
}

// Types of data other than numbers and descriptors decide nothing here.
FAKE_EXPORT int cudnnBackendSetAttribute(Descriptor* descriptor, int name, int type, int64_t count,
                                         const void* elements) {
  if (descriptor == nullptr || elements == nullptr || count < 0) return kBadParameter;
  const auto size = static_cast<size_t>(count);
  if (type == kInt64) {
    std::vector<int64_t>& numbers = descriptor->node->numbers[name];
    numbers.resize(size);
    std::memcpy(numbers.data(), elements, size * sizeof(int64_t));
  } else if (type == kDescriptor) {
    const auto* others = static_cast<Descriptor* const*>(elements);
    auto& nodes = descriptor->node->nodes[name];
    nodes.clear();
    for (size_t i = 0; i < size; ++i) nodes.push_back(others[i]->node);
  }
  return kSuccess;
}

// Descriptors are filled in: the program made those that `elements` points to.
FAKE_EXPORT int cudnnBackendGetAttribute(Descriptor* descriptor, int name, int type, int64_t room,
                                         int64_t* count, void* elements) {
  if (descriptor == nullptr) return kBadParameter;
  const Node& node = *descriptor->node;
  int64_t there = 0;
  if (type == kInt64) {
    if (const auto found = node.numbers.find(name); found != node.numbers.end()) {
      there = static_cast<int64_t>(found->second.size());
      if (elements != nullptr) {
        std::memcpy(elements, found->second.data(),
                    static_cast<size_t>(std::min(room, there)) * sizeof(int64_t));
      }
    }
  } else if (type == kDescriptor) {
    if (const auto found = node.nodes.find(name); found != node.nodes.end()) {
      there = static_cast<int64_t>(found->second.size());
      const auto* others = static_cast<Descriptor* const*>(elements);
      for (int64_t i = 0; others != nullptr && i < std::min(room, there); ++i) {
        others[i]->node = found->second[static_cast<size_t>(i)];
      }
    }
  }
  if (count != nullptr) *count = elements == nullptr ? there : std::min(room, there);
  return kSuccess;
}

FAKE_EXPORT int cudnnBackendExecute(CudnnHandle* handle, Descriptor* plan, Descriptor*) {
  const Node* const config = plan != nullptr ? plan->node->Child(kPlanConfig) : nullptr;
  const Node* const engine = config != nullptr ? config->Child(kConfigEngine) : nullptr;
  const Node* const graph = engine != nullptr ? engine->Child(kEngineGraph) : nullptr;
  if (handle == nullptr || graph == nullptr) return kBadParameter;
  const auto operations = graph->nodes.find(kGraphOperations);
  const auto index = engine->numbers.find(kEngineIndex);
  if (operations == graph->nodes.end()) return kBadParameter;
  // Ops fused behind a convolution run in its kernel.
  for (const auto& operation : operations->second) {
    if (operation->type >= kConvolutionForward && operation->type <= kConvolutionBackwardData) {
      const int64_t number = index == engine->numbers.end() ? 0 : index->second[0];
      return LaunchConvolution(operation->type, number, handle->stream);
    }
  }
  return kBadParameter;
}
