// SPDX-License-Identifier: Apache-2.0
#include "collector/tensorflow_ops.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "collector/collector.h"
#include "collector/lock.h"

namespace xlatrace::collector {
namespace {

constexpr const char* kLibrary = "libtensorflow_framework.so.2";
// tsl::profiler::AnnotationStack::Enable(bool), ::generation_.
constexpr const char* kEnable = "_ZN3tsl8profiler15AnnotationStack6EnableEb";
constexpr const char* kGeneration = "_ZN3tsl8profiler15AnnotationStack11generation_E";

}  // namespace

void TensorFlowOps::Find() {
  if (state_.load(std::memory_order_acquire) != State::kNotFound) return;
  // The handle stays open: it pins a library that is not unloaded anyway.
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;  // No TensorFlow, or not yet.
  const Lock lock(&mutex_);
  if (state_.load(std::memory_order_relaxed) != State::kNotFound) return;
  Collector& collector = Collector::Get();
  const char* const asked = std::getenv("XLATRACE_TF_OPS");
  if (asked != nullptr && std::strcmp(asked, "0") == 0) {
    collector.Fact("tensorflow_ops", "off");
    state_.store(State::kLeftAlone, std::memory_order_release);
    return;
  }
  enable_ = reinterpret_cast<void (*)(bool)>(dlsym(library, kEnable));
  generation_ = static_cast<const std::atomic<int>*>(dlsym(library, kGeneration));
  if (enable_ == nullptr) {
    collector.Fact("tensorflow_ops", "missing");
    state_.store(State::kMissing, std::memory_order_release);
    return;
  }
  Switch(open_);
  state_.store(State::kFound, std::memory_order_release);
}

void TensorFlowOps::Follow(bool open) {
  if (state_.load(std::memory_order_acquire) != State::kFound) return;
  const Lock lock(&mutex_);
  open_ = open;
  Switch(open);
}

void TensorFlowOps::Switch(bool on) {
  const bool are_on =
      generation_ != nullptr && (generation_->load(std::memory_order_acquire) & 1) != 0;
  if (on) {
    // If another component switched them on, it uses them and will switch them off.
    if (!are_on || generation_ == nullptr) {
      enable_(true);
      ours_ = true;
    }
    if (!told_) Collector::Get().Fact("tensorflow_ops", "on");
    told_ = true;
    return;
  }
  if (ours_) enable_(false);
  ours_ = false;
}

}  // namespace xlatrace::collector
