// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/host_stacks.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/user_code.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::HostFrame;
using model::Id;
using model::ThreadState;
using model::TreeKind;

// Library code and the kind of work that it does. The file is a part of the path.
struct LibraryPlace {
  std::string_view file;
  std::string_view function;  // Its beginning; empty: all functions of the file.
  TreeKind kind;
};

// From the sources of JAX 0.4 to 0.10, TensorFlow 2.20, PyTorch 2.9 and CPython 3.9 to 3.14.
constexpr LibraryPlace kLibraryPlaces[] = {
    {"jax/_src/compiler.py", "", TreeKind::kCompile},
    {"jax/_src/interpreters/mlir.py", "lower_jaxpr_to_module", TreeKind::kLower},
    {"jax/_src/interpreters/partial_eval.py", "trace_to_jaxpr", TreeKind::kTrace},
    {"jax/_src/array.py", "ArrayImpl.block_until_ready", TreeKind::kSync},
    {"jax/_src/array.py", "ArrayImpl._value", TreeKind::kSync},
    {"jax/_src/array.py", "_value", TreeKind::kSync},
    {"jax/_src/array.py", "block_until_ready", TreeKind::kSync},
    {"jax/_src/api.py", "block_until_ready", TreeKind::kSync},
    {"jax/_src/api.py", "device_get", TreeKind::kSync},
    {"tensorflow/python/framework/ops.py", "numpy", TreeKind::kSync},
    {"tensorflow/python/framework/ops.py", "_EagerTensorBase.numpy", TreeKind::kSync},
    {"tensorflow/python/data/", "", TreeKind::kInput},
    {"torch/utils/data/", "", TreeKind::kInput},
    {"/grain/", "", TreeKind::kInput},
    {"/multiprocessing/queues.py", "", TreeKind::kInput},
    {"/multiprocessing/connection.py", "", TreeKind::kInput},
    {"/multiprocessing/pool.py", "", TreeKind::kInput},
    {"/queue.py", "", TreeKind::kInput},
    {"/socket.py", "", TreeKind::kIo},
    {"/ssl.py", "", TreeKind::kIo},
    {"/subprocess.py", "", TreeKind::kIo},
    {"/threading.py", "", TreeKind::kLock},
    {"/concurrent/futures/", "", TreeKind::kLock},
};

// Programs run these; their own work is dispatch.
constexpr std::string_view kFrameworks[] = {"jax",   "jaxlib", "tensorflow",
                                            "keras", "flax",   "optax"};

TreeKind KindOfLibrary(const HostFrame& frame) {
  for (const LibraryPlace& place : kLibraryPlaces) {
    if (Has(frame.file, place.file) && frame.function.starts_with(place.function)) {
      return place.kind;
    }
  }
  return TreeKind::kHost;
}

// An environment may have the name of a framework: .venv/jax/lib/site-packages/numpy is NumPy.
bool IsFramework(const HostFrame& frame) {
  const std::string_view package = model::PackageOf(frame.file);
  return std::any_of(std::begin(kFrameworks), std::end(kFrameworks), [&](std::string_view name) {
    return package.empty() ? Has(frame.file, fmt::format("/{}/", name)) : package == name;
  });
}

TreeKind KindOfState(ThreadState state) {
  switch (state) {
    case ThreadState::kSleep:
      return TreeKind::kSleep;
    case ThreadState::kLock:
      return TreeKind::kLock;
    case ThreadState::kFile:
    case ThreadState::kNetwork:
    case ThreadState::kChild:
      return TreeKind::kIo;
    default:
      return TreeKind::kHost;
  }
}

}  // namespace

HostStacks::HostStacks(const model::HostSampleTables& tables) : tables_(tables) {
  NameFunctions();
  stacks_.resize(tables_.stacks.size());
  for (size_t s = 0; s < stacks_.size(); ++s) ClassifyStack(static_cast<Id>(s + 1));
}

// A function has one name, with the line that most of its samples have, so that its time is not
// spread over its lines.
void HostStacks::NameFunctions() {
  std::vector<int64_t> frame_ns(tables_.frames.size(), 0);
  for (const model::HostSample& sample : tables_.samples) {
    if (sample.stack_id == 0) continue;
    const model::HostStack& stack = tables_.stacks[static_cast<size_t>(sample.stack_id) - 1];
    if (stack.user_frame_id == 0) continue;
    frame_ns[static_cast<size_t>(stack.user_frame_id) - 1] += sample.until_ns - sample.time_ns;
  }
  std::map<std::pair<std::string_view, std::string_view>, size_t> most;  // File and function.
  for (size_t f = 0; f < tables_.frames.size(); ++f) {
    const HostFrame& frame = tables_.frames[f];
    const auto [known, is_new] = most.try_emplace({frame.file, frame.function}, f);
    if (!is_new && frame_ns[f] > frame_ns[known->second]) known->second = f;
  }
  for (const HostFrame& frame : tables_.frames) {
    const HostFrame& line = tables_.frames[most.at({frame.file, frame.function})];
    const std::string_view file = std::string_view(line.file).substr(line.file.rfind('/') + 1);
    frame_names_.push_back(fmt::format("{}({}): {}", file, line.line, line.function));
  }
}

void HostStacks::ClassifyStack(Id stack_id) {
  Known& known = stacks_[static_cast<size_t>(stack_id) - 1];
  const Id user = tables_.stacks[static_cast<size_t>(stack_id) - 1].user_frame_id;
  if (user != 0) known.user = frame_names_[static_cast<size_t>(user) - 1];
  bool framework = false;
  // Inner frames decide before outer ones: a wait for a lock inside a queue is the queue's.
  for (Id at = stack_id; at != 0;) {
    const model::HostStack& stack = tables_.stacks[static_cast<size_t>(at) - 1];
    if (stack.frame_id == user) break;
    const HostFrame& frame = tables_.frames[static_cast<size_t>(stack.frame_id) - 1];
    known.inner = frame.function;  // At the end that of the outermost library frame.
    const TreeKind kind = KindOfLibrary(frame);
    const bool open = known.by_library == TreeKind::kHost || known.by_library == TreeKind::kLock;
    if (kind != TreeKind::kHost && open) known.by_library = kind;
    framework = framework || IsFramework(frame);
    at = stack.parent_id;
  }
  if (framework && known.by_library == TreeKind::kHost) known.by_library = TreeKind::kDispatch;
}

StackMeaning HostStacks::Of(Id stack_id, ThreadState state) const {
  const Known& known = stacks_[static_cast<size_t>(stack_id) - 1];
  StackMeaning meaning{known.by_library, known.user, known.inner};
  const bool runs = state <= ThreadState::kNative;
  // Threads that run do not wait for a lock or a file.
  const bool waits = known.by_library == TreeKind::kLock || known.by_library == TreeKind::kIo;
  if (known.by_library == TreeKind::kHost || (waits && runs)) meaning.kind = KindOfState(state);
  return meaning;
}

}  // namespace xlatrace::analysis::time_tree
