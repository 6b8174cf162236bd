// SPDX-License-Identifier: Apache-2.0

// Rows of the view `time_tree` (docs/schema.md, "Time tree") and the words of its nodes.
//
// Thread-safety: plain data.

#ifndef XLATRACE_MODEL_TIME_TREE_H_
#define XLATRACE_MODEL_TIME_TREE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/events.h"
#include "model/words.h"

namespace xlatrace::model {

// Kind of a node. The texts are the contract of docs/schema.md; values are stored, so a value may
// be added at the end, never moved. `root`: all of the recorded time.
enum class TreeKind : uint8_t {
  kUnknown,
  kRoot,
  kStartup,
  kImport,
  kBackendStart,
  kData,
  kTrace,
  kLower,
  kPasses,
  kCompile,
  kCodegen,
  kAutotune,
  kCache,
  kLoad,
  kFirstExecution,
  kSteps,
  kStep,
  kCall,
  kBetweenCalls,
  kBetweenSteps,
  kComputation,
  kOp,
  kExposedCollective,
  kWait,
  kTransfer,
  kExposedCopy,
  kIdle,
  kLaunch,
  kDispatch,
  kDependency,
  kCopyWait,
  kSync,
  kAlloc,
  kHost,
  kInput,
  kIo,
  kLock,
  kGc,
  kSleep,
  kContention,
  kEvaluation,
  kCheckpoint,
  kRecompilation,
  kPause,
  kShutdown,
};

std::string_view Text(TreeKind v);
template <>
std::span<const std::string_view> Texts<TreeKind>();

// node_id = position + 1; parents come before their children.
struct TimeTreeRow {
  Id parent_id = 0;   // 0: a root.
  Id process_id = 0;  // 0: mean over the processes of the job.
  Id device_id = 0;   // 0: mean over the devices of the process.
  TreeKind kind = TreeKind::kRoot;
  std::string name;
  Id instruction_id = 0;  // Set for an attributed op.
  std::string source_file;
  std::optional<int64_t> source_line;
  int64_t ns = 0;
  // Set for steps and their parts: share of the typical step, quartiles over steady steps.
  std::optional<int64_t> per_step_ns = {};
  std::optional<int64_t> p25_ns = {};
  std::optional<int64_t> p75_ns = {};
};

// As Compile; the name is borrowed from the run.
struct NamedCompile {
  Id process_id = 0;
  Id module_id = 0;  // 0: not known.
  std::string_view name;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  CompileStage stage = CompileStage::kCompile;
  std::shared_ptr<const CompileFacts> facts = {};
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_TIME_TREE_H_
