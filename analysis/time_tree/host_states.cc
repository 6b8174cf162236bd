// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/host_states.h"

#include <algorithm>
#include <utility>

#include "analysis/range_paths.h"
#include "base/text.h"
#include "model/user_code.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::TreeKind;

// "train.py(12): f" and "$train.py:12 f": a function of an installed package is a framework's.
bool IsPackageFrame(std::string_view text) {
  if (text.starts_with('$')) text.remove_prefix(1);
  const size_t end = text.find(".py");
  const model::FileKind kind =
      model::UserCode().KindOf(end == text.npos ? text : text.substr(0, end + 3));
  return kind == model::FileKind::kPackage || kind == model::FileKind::kMachinery;
}

}  // namespace

TreeKind ClassOfCall(std::string_view name) {
  if (HasAny(name, {"StreamWaitEvent"})) return TreeKind::kLaunch;
  if (HasAny(name, {"Synchronize", "EventQuery", "StreamQuery"})) return TreeKind::kSync;
  if (HasAny(name, {"Memcpy", "memcpy"})) return TreeKind::kCopyWait;
  if (HasAny(name, {"ModuleLoad", "LibraryLoad", "Link", "nvrtc", "hiprtc", "ModuleGetFunction",
                    "LibraryGet", "GraphInstantiate", "FuncLoad"})) {
    return TreeKind::kCompile;
  }
  if (HasAny(name, {"Malloc", "malloc", "MemAlloc", "Free", "MemCreate", "MemMap", "HostAlloc",
                    "MemHostAlloc", "HostRegister", "MemPool", "MemAddress", "MemSetAccess"})) {
    return TreeKind::kAlloc;
  }
  return TreeKind::kLaunch;
}

bool IsFrameworkRange(std::string_view text) {
  if (IsPythonFrame(text) || text.starts_with('$')) return IsPackageFrame(text);
  // C++ names, and names that XLA's TraceMe encodes as "Title:#key=value#".
  if (Has(text, "::") || Has(text, ":#") || text.starts_with("ThenExecuteCallback")) return true;
  for (const std::string_view start : {"PjitFunction(",
                                       "PmapFunction(",
                                       "XlaModule",
                                       "XlaCompile",
                                       "XlaPass",
                                       "Thunk:",
                                       "TSL:",
                                       "Optimizer.",
                                       "DevicePut",
                                       "ThunkExecute",
                                       "ParseArguments",
                                       "CopyToHost",
                                       "CopyToDevice",
                                       "TransferTo",
                                       "TransferFrom",
                                       "BufferFromHostBuffer",
                                       "BlockHostUntil",
                                       "ExecutorState",
                                       "EagerExecute",
                                       "EagerLocalExecute",
                                       "EagerKernelExecute",
                                       "FunctionRun",
                                       "Await",
                                       "PyArray",
                                       "AllocateOutputBuffers",
                                       "Handle input",
                                       "BatchedCopyToDevice",
                                       "batched_copy_array",
                                       "shard_args",
                                       "np.asarray(jax.Array)"}) {
    if (text.starts_with(start)) return true;
  }
  return HasAny(text, {"Executable", "ExecuteHelper", "ExecuteReplicated", "ExecuteOnLocal"});
}

HostThread::HostThread(std::vector<HostSpan> spans) : spans_(std::move(spans)) {
  std::stable_sort(spans_.begin(), spans_.end(), [](const HostSpan& a, const HostSpan& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

void HostThread::Restart() {
  next_ = 0;
  open_.clear();
}

HostState HostThread::StateAt(int64_t time_ns) const {
  HostState state;
  bool decided = false;
  for (size_t k = open_.size(); k > 0; --k) {
    const HostSpan& span = spans_[open_[k - 1]];
    if (span.end_ns <= time_ns) continue;
    switch (span.type) {
      case HostSpan::Type::kCall:
        if (!decided) {
          state.kind = span.of_call;
          state.inner = span.name;
        }
        decided = true;
        break;
      case HostSpan::Type::kFramework:
        if (!decided) {
          state.kind = TreeKind::kDispatch;
          state.inner = span.name;
        }
        decided = true;
        break;
      case HostSpan::Type::kUser:
        state.user = span.name;
        return state;
    }
  }
  return state;
}

void HostThread::Visit(int64_t start_ns, int64_t end_ns,
                       const std::function<void(const HostState&)>& visit) {
  int64_t now = start_ns;
  while (now < end_ns) {
    for (; next_ < spans_.size() && spans_[next_].start_ns <= now; ++next_) {
      if (spans_[next_].end_ns > now) open_.push_back(next_);
    }
    std::erase_if(open_, [&](size_t span) { return spans_[span].end_ns <= now; });
    int64_t until = end_ns;
    if (next_ < spans_.size()) until = std::min(until, spans_[next_].start_ns);
    for (const size_t span : open_) until = std::min(until, spans_[span].end_ns);
    HostState state = StateAt(now);
    state.start_ns = now;
    state.end_ns = until;
    visit(state);
    now = until;
  }
}

}  // namespace xlatrace::analysis::time_tree
