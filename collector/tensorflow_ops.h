// SPDX-License-Identifier: Apache-2.0

// TensorFlow's annotations of its ops: `dense_0/MatMul:MatMul` as NVTX ranges of domain TSL.
//
// XLA announces its thunks to NVTX always; TensorFlow its ops only while TSL's annotations are on,
// which its profiler does for its own purpose. The switch is exported by
// libtensorflow_framework.so.2 (2.15 to 2.21): AnnotationStack::Enable, a number whose lowest bit
// says "on". It is looked for in what the process has loaded; nothing is loaded for it.
//
// On while the window of the recording is open. Left alone where XLATRACE_TF_OPS is 0, and where
// they were on before: then the program's own profiler runs, and they are its. When that ends it
// switches them off, and Follow on again.
//
// Thread-safety: all functions from any thread.

#ifndef XLATRACE_COLLECTOR_TENSORFLOW_OPS_H_
#define XLATRACE_COLLECTOR_TENSORFLOW_OPS_H_

#include <pthread.h>

#include <atomic>

namespace xlatrace::collector {

class TensorFlowOps {
 public:
  // Looks for the switch where it has not been found, and switches. From the entry point of NVTX:
  // whoever calls it has just been loaded.
  void Find();
  // Switches with the window.
  void Follow(bool open);

 private:
  enum class State : int { kNotFound, kMissing, kLeftAlone, kFound };
  void Switch(bool on);  // With the lock held.

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<State> state_{State::kNotFound};
  void (*enable_)(bool) = nullptr;
  const std::atomic<int>* generation_ = nullptr;  // May be unknown.
  bool open_ = true;
  bool ours_ = false;  // They are on since we said so.
  bool told_ = false;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_TENSORFLOW_OPS_H_
