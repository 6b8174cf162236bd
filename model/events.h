// SPDX-License-Identifier: Apache-2.0

// Rows that an importer adds to the store, before attribution.
//
// Ids: a sink numbers processes, devices, lanes, launch configurations, hints, modules and API
// calls when they are added; activities refer to those numbers. Ids start at 1; 0 means "none".
// Times: integer nanoseconds since EventSink::start_unix_ns() (may be negative). Picoseconds are
// floored, decimals parsed as text, never through a double.
//
// Ownership: string_views are borrowed for the duration of the Add call only.

#ifndef XLATRACE_MODEL_EVENTS_H_
#define XLATRACE_MODEL_EVENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/compile.h"
#include "model/words.h"

namespace xlatrace::model {

using Id = int64_t;

struct Process {
  std::string host;  // Empty: unknown. The same for all optionals below.
  std::optional<int64_t> pid;
  std::optional<int64_t> rank;
  std::optional<int64_t> local_rank;
  std::string command;               // Secrets masked already.
  std::optional<int64_t> source_id;  // The global id in the source (nsys: globalPid).
  std::optional<int64_t> clock_offset_ns;
  std::optional<int64_t> clock_error_ns;
  std::string name;  // Name of the program: "python3.11".
  // The recording began here. Set if that was before all device work of the process.
  std::optional<int64_t> recorded_from_ns;
};

// A host thread that has a name.
struct Thread {
  Id process_id = 0;
  int64_t thread_id = 0;  // As in ApiCall and Range.
  std::string_view name;
};

struct Device {
  Id process_id = 0;
  DeviceKind kind = DeviceKind::kGpu;
  int64_t ordinal = 0;  // Number in the source.
  std::string name;     // "NVIDIA H100 80GB HBM3".
  std::string uuid;
  std::string compute_capability;  // "9.0"; AMD: "gfx942".
  std::optional<int64_t> sm_count;
  std::optional<int64_t> clock_hz;
  std::optional<int64_t> memory_bandwidth_bytes_per_s;
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> max_threads_per_sm;
  std::optional<int64_t> max_blocks_per_sm;
  std::optional<int64_t> registers_per_sm;
  std::optional<int64_t> shared_memory_per_sm_bytes;
  std::optional<int64_t> shared_memory_per_block_optin_bytes;
  std::optional<int64_t> warp_size;
  std::optional<int64_t> shared_memory_per_block_bytes;           // Without opt-in to a larger
                                                                  // amount.
  std::optional<int64_t> shared_memory_reserved_per_block_bytes;  // Reserved by the system in each
                                                                  // block.
  std::optional<int64_t> max_threads_per_block;
  std::optional<int64_t> registers_per_block;
  std::optional<int64_t> l2_bytes;
};

// The lane of an activity: a stream of a GPU, a line of a TPU, a thread of a CPU run.
struct Lane {
  Id device_id = 0;
  int64_t stream_id = 0;  // Number in the source (CUDA stream id, line id).
  std::optional<int64_t> context_id;
  std::string name;  // "Stream #13(compute)", "tf_XLAEigen/…".
  std::optional<int64_t> priority;

  bool operator==(const Lane&) const = default;
};

// Additional columns of an Nsight Systems export, with CUPTI's numbers, for the columns of the
// views with Nsight's names.
struct NsightConfig {
  std::optional<int64_t> launch_type;
  std::optional<int64_t> cache_config;
  std::optional<int64_t> local_memory_total_bytes;
  std::optional<int64_t> shared_memory_executed_bytes;
  std::optional<int64_t> source_memory_kind;  // Copies only.
  std::optional<int64_t> memory_kind;         // Destination of a copy, or memory of a memset.
  std::optional<int64_t> memset_value;

  bool operator==(const NsightConfig&) const = default;
};

struct LaunchConfig {
  ActivityKind kind = ActivityKind::kKernel;
  std::string demangled;  // Full demangled name, if the source has it.
  std::string symbol;     // As recorded (mangled for C++ kernels). Op runs: the op's own name.
  std::string name;       // Demangled short name; equal to symbol if there is no other.
  CopyKind copy_kind = CopyKind::kUnknown;  // memcpy only.
  std::optional<int64_t> grid[3];
  std::optional<int64_t> block[3];
  std::optional<int64_t> cluster[3];
  std::optional<int64_t> registers_per_thread;
  std::optional<int64_t> shared_memory_static_bytes;
  std::optional<int64_t> shared_memory_dynamic_bytes;
  std::optional<int64_t> local_memory_per_thread_bytes;  // Spilled registers and stack.
  // Occupancy if the source has it, in thousandths of a percent so that it stays an integer.
  std::optional<int64_t> theoretical_occupancy_milli_pct;
  NsightConfig nsight;

  bool operator==(const LaunchConfig&) const = default;
};

// Information from the source on the instruction of an activity. The sink deduplicates.
struct Hint {
  // kAnnotation (on the record), kRange, kGraphNode, or kOpRange: the framework's own op, outside
  // any module, with op_name and op_type. A kOpRange without op_name means that ops of graphs were
  // annotated and that none was active.
  Evidence evidence = Evidence::kNone;
  // The module itself, if the source identifies it (handles of registered strings). Several modules
  // may share name and program id. 0: identified by name and program id only.
  Id module_id = 0;
  std::string module_name;  // Empty: not given. The same for all strings.
  std::optional<int64_t> program_id;
  std::string instruction;  // hlo_op, without '%'.
  std::string op_name;      // If the source has it (TPU: tf_op).
  // Enclosing thunks, outermost first, separated by '/'.
  std::string enclosing;
  std::string op_type;   // Type of the framework's op.
  std::string category;  // XProf's HLO category text.
  std::string hlo;       // The instruction's line of HLO text, if the source registers it.
  std::string source_file;
  std::optional<int64_t> source_line;
  std::optional<int64_t> flops;  // Per execution of the op.
  std::optional<int64_t> bytes_accessed;

  bool operator==(const Hint&) const = default;
};

// Which times of an activity the source has. CUPTI has records without times (CUDA 13.0 after some
// 25 million graph kernels; kernels that still run at the last flush have no end).
enum class Timing : uint8_t {
  kKnown = 0,
  kStartOnly = 1,
  kUnknown = 2,
};

struct Activity {
  Id lane_id = 0;
  Id config_id = 0;
  Id hint_id = 0;      // 0: the source has none.
  Id api_call_id = 0;  // 0: none.
  int64_t start_ns = 0;
  int64_t end_ns = 0;          // >= start_ns.
  int64_t self_ns = -1;        // -1: the whole duration. Less if other activities nest on the same
                               // lane.
  int64_t bytes = -1;          // -1: not applicable.
  int64_t correlation_id = 0;  // 0: none.
  int64_t graph_id = 0;        // CUDA graph, 0: none.
  int64_t graph_node_id = 0;
  // One run of one module on one device; unique within the sink's run. The importer numbers runs if
  // the source identifies them (run_id, XLA Modules line, XlaModule range). 0: not known.
  int64_t run_key = 0;
  // If it is not kKnown, start_ns = end_ns is the start, or only the position in the order. The
  // activity is kept and labelled, but is in no sum of times.
  Timing timing = Timing::kKnown;
};

struct ApiCall {
  Id process_id = 0;
  int64_t thread_id = 0;
  std::string_view name;
  int64_t correlation_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // From an Nsight Systems export: ENUM_NSYS_EVENT_CLASS_CUDA_API..., and the return value of the
  // call.
  std::optional<int32_t> event_class;
  std::optional<int32_t> return_value;
};

// Domain of a Range that is a call of a Python function or nn.Module (PyTorch's with_stack). It is
// a place in the code (view `python_call`) and not in the views of ranges.
inline constexpr std::string_view kPythonDomain = "torch.python_function";

struct Range {
  Id process_id = 0;
  int64_t thread_id = 0;
  std::string_view domain;  // Empty: default domain.
  std::string_view text;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t depth = 0;
  int64_t domain_number = -1;  // Number of the domain in the source; -1: it has none.
};

// A row of NVTX_EVENTS of an Nsight Systems export that is not a finished range. It is a mark, the
// name of a domain or category, or a range that never ended.
struct NvtxRow {
  int64_t global_tid = 0;  // As in the export; its process may be missing in the run.
  int64_t event_type = 0;  // ENUM_NSYS_EVENT_TYPE.
  std::optional<int64_t> start_ns;
  std::optional<int64_t> end_ns;
  std::string_view text;
  int64_t domain_number = -1;
};

// The framework's own step mark: steps of this process between start and end carry `number`.
struct StepMark {
  Id process_id = 0;
  int64_t number = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// One compiled module from the source.
struct ModuleBlob {
  Id process_id = 0;
  std::string_view name;  // Name in the source.
  std::optional<int64_t> program_id;
  ModuleSource source = ModuleSource::kProto;
  std::string_view file;  // Path of its file; empty: embedded in the run.
  enum class Format : uint8_t { kHloProto = 0, kHloText = 1 } format = Format::kHloProto;
  std::string_view bytes;           // HloProto or HLO text, uncompressed.
  std::string_view thunk_sequence;  // Text of the dump files, if there are any.
  std::string_view thunk_metadata;
};

// Name of a Compile in which TensorFlow traces a tf.function; XLA compiles the function afterwards.
inline constexpr std::string_view kTracing = "tf.function-graph_building";

// One stage or pass.
struct Compile {
  Id process_id = 0;
  Id module_id = 0;  // 0: unknown.
  std::string_view name;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  CompileStage stage = CompileStage::kCompile;
  std::shared_ptr<const CompileFacts> facts = {};  // Null: the source has none.
};

struct RunStat {
  std::string name;
  Severity severity = Severity::kInfo;
  std::string source;  // File or component that counted it.
  int64_t value = 0;
  std::string advice;  // Advice for the user; for kInfo at most an explanation.
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_EVENTS_H_
