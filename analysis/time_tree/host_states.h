// SPDX-License-Identifier: Apache-2.0

// The state of a host thread at every instant of an interval (docs/schema.md, "Time tree"). The
// thread is inside an API call, inside a range of a framework, inside another range or function, or
// nothing is recorded. If several are open, the innermost counts.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_HOST_STATES_H_
#define XLATRACE_ANALYSIS_TIME_TREE_HOST_STATES_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "model/host_event.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

// The class of an API call: launch, copy_wait, sync, compile or alloc. Event and stream calls
// belong to launch.
model::TreeKind ClassOfCall(std::string_view name);

// A range that a framework or the runtime makes: JAX, XLA, TensorFlow, PyTorch.
bool IsFrameworkRange(std::string_view text);

// One call or range of a thread.
struct HostSpan {
  enum class Type : uint8_t { kCall, kFramework, kUser };

  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string_view name;
  Type type = Type::kUser;
  model::TreeKind of_call = model::TreeKind::kUnknown;  // kCall.
};

struct HostState {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  model::TreeKind kind = model::TreeKind::kHost;
  std::string_view user;   // Innermost user range or function; empty: none.
  std::string_view inner;  // API call or framework range; empty: none.
};

// Walks the calls and ranges of one thread. Intervals are visited by start.
class HostThread {
 public:
  // In any order; nested or not.
  explicit HostThread(std::vector<HostSpan> spans);

  // Calls `visit` for contiguous states from start to end. An interval must not start before the
  // last one.
  void Visit(int64_t start_ns, int64_t end_ns, const std::function<void(const HostState&)>& visit);
  // After this call, any interval may be visited.
  void Restart();

 private:
  HostState StateAt(int64_t time_ns) const;

  std::vector<HostSpan> spans_;  // By start, the longer first.
  size_t next_ = 0;
  std::vector<size_t> open_;  // Outermost first.
};

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_HOST_STATES_H_
