// SPDX-License-Identifier: Apache-2.0

// TensorFlow's annotations of its ops: `dense_0/MatMul:MatMul` as NVTX ranges of domain TSL.
//
// XLA always announces its thunks to NVTX. TensorFlow announces its ops only while TSL's
// annotations are on; its profiler switches them on for its own purpose. The switch is
// AnnotationStack::Enable, a number whose lowest bit means "on". libtensorflow_framework.so.2
// exports it (2.15 to 2.21). It is looked up in loaded libraries only.
//
// On while the window of the recording is open. Unchanged if XLATRACE_TF_OPS is 0. Also unchanged
// if annotations were on before, because then the program's own profiler owns them. When that
// profiler ends, it switches them off, and Follow switches them on again.
//
// Thread-safety: all functions from any thread.

#ifndef XLATRACE_COLLECTOR_TENSORFLOW_OPS_H_
#define XLATRACE_COLLECTOR_TENSORFLOW_OPS_H_

#include <pthread.h>

#include <atomic>

namespace xlatrace::collector {

class TensorFlowOps {
 public:
  // Looks for the switch until it is found, and sets it. Called from the entry point of NVTX,
  // because its caller has just been loaded.
  void Find();
  // Switches with the window.
  void Follow(bool open);

 private:
  enum class State : int { kNotFound, kMissing, kLeftAlone, kFound };
  void Switch(bool on);  // Call it with the lock held.

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<State> state_{State::kNotFound};
  void (*enable_)(bool) = nullptr;
  const std::atomic<int>* generation_ = nullptr;  // May be unknown.
  bool open_ = true;
  bool ours_ = false;  // True: this object switched them on.
  bool told_ = false;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_TENSORFLOW_OPS_H_
