// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/pending_call.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "collector/stacks/python_api.h"

namespace xlatrace::collector {
namespace {

// The eval breaker is within the first 104 bytes of the state in Python 3.9 to 3.11 (64 bits).
constexpr size_t kWords = 64;
using Words = std::array<int, kWords>;

PyInterpreterState* g_interpreter = nullptr;
int g_minor_version = 0;
std::atomic<int*> g_eval_breaker{nullptr};
Words g_before;
Words g_requested;

int MinorVersion() {
  const char* version = Py_GetVersion();  // "3.11.7 (main, ..."
  return std::strncmp(version, "3.", 2) == 0 ? std::atoi(version + 2) : 0;
}

int* StateWords() { return reinterpret_cast<int*>(g_interpreter); }

Words ReadWords() {
  Words words;
  for (size_t i = 0; i < kWords; ++i)
    words[i] = __atomic_load_n(StateWords() + i, __ATOMIC_RELAXED);
  return words;
}

// A request from the main thread sets two words: the eval breaker and, behind it, whether there are
// pending calls. The interpreter clears both before it makes the call.
int ObserveCall(void*) {
  const Words called = ReadWords();
  int* first = nullptr;
  size_t count = 0;
  for (size_t i = 0; i < kWords; ++i) {
    if (g_before[i] != 0 || g_requested[i] != 1 || called[i] != 0) continue;
    if (count++ == 0) first = StateWords() + i;
  }
  if (count == 2) g_eval_breaker = first;
  return 0;
}

bool IsFinalizing() {
  if (Py_IsFinalizing != nullptr) return Py_IsFinalizing() != 0;
  return _Py_IsFinalizing != nullptr && _Py_IsFinalizing() != 0;
}

}  // namespace

bool PreparePendingCalls() {
  g_interpreter = PyInterpreterState_Get();
  g_minor_version = MinorVersion();
  if (g_minor_version >= 12 || g_eval_breaker != nullptr) return true;
  g_before = ReadWords();
  if (Py_AddPendingCall(ObserveCall, nullptr) != 0) return false;
  g_requested = ReadWords();
  return false;
}

bool RequestPendingCall(int (*function)(void*), void* argument, bool interrupt) {
  if (IsFinalizing()) return false;
  if (g_minor_version >= 12 && _PyEval_AddPendingCall != nullptr) {
    return _PyEval_AddPendingCall(g_interpreter, function, argument, 0) == 0;
  }
  if (Py_AddPendingCall(function, argument) != 0) return false;
  int* eval_breaker = g_eval_breaker;
  if (interrupt && eval_breaker != nullptr) __atomic_store_n(eval_breaker, 1, __ATOMIC_RELEASE);
  return true;
}

void EndInterruption() {
  int* eval_breaker = g_eval_breaker;
  if (eval_breaker != nullptr) __atomic_store_n(eval_breaker, 0, __ATOMIC_RELEASE);
}

}  // namespace xlatrace::collector
