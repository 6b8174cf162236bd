// SPDX-License-Identifier: Apache-2.0

// Rows of a recording. The collector fills them, the importer reads them.
//
// Times: nanoseconds of CLOCK_REALTIME (cuptiGetTimestamp returns them on Linux), 0 = not known.
// Ids of strings: permanent within the file, from 1; 0 = none. A string id is also the NVTX handle
// in the traced program, so the handles inside payload bytes are string ids. A string_view is
// borrowed: from the caller when writing, from the block when reading (until the next block is
// read).

#ifndef XLATRACE_RECORDING_ROWS_H_
#define XLATRACE_RECORDING_ROWS_H_

#include <cstdint>
#include <string_view>

namespace xlatrace::recording {

enum class RowKind : uint8_t {
  kKernel = 0,
  kMemcpy = 1,
  kMemcpyPeer = 2,
  kMemset = 3,
  kGraph = 4,  // A whole graph launch as one row (CUPTI GRAPH_TRACE).
};

// Properties that repeat from launch to launch. Numbers are CUPTI's (CUpti_ActivityKernel*,
// *Memcpy*, *Memset*); 0 if a kind lacks the property.
struct ConfigRow {
  RowKind kind = RowKind::kKernel;
  std::string_view name;  // Kernel: symbol from CUPTI (mangled for C++).
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t cluster[3] = {};
  uint32_t registers_per_thread = 0;
  uint32_t shared_memory_static_bytes = 0;
  uint32_t shared_memory_dynamic_bytes = 0;
  uint32_t shared_memory_executed_bytes = 0;  // Size that the driver chose.
  uint32_t shared_memory_limit_config = 0;    // CUpti_FuncShmemLimitConfig: 1 = opt-in.
  uint32_t local_memory_per_thread_bytes = 0;
  uint64_t local_memory_total_bytes = 0;
  uint32_t launch_type = 0;  // CUpti_ActivityLaunchType: regular, cooperative...
  uint32_t max_active_clusters = 0;
  // Copies: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind of both sides, flags (1 = async).
  uint32_t copy_kind = 0;
  uint32_t source_kind = 0;  // Memset: kind of the destination memory.
  uint32_t destination_kind = 0;
  uint32_t flags = 0;
  // Peer copies: the devices at both ends (CUPTI ids).
  uint32_t source_device = 0;
  uint32_t destination_device = 0;

  bool operator==(const ConfigRow&) const = default;
};

struct LaneRow {
  uint32_t device = 0;  // CUPTI's device id.
  uint32_t context = 0;
  uint32_t stream = 0;

  bool operator==(const LaneRow&) const = default;
};

struct ActivityRow {
  RowKind kind = RowKind::kKernel;
  uint32_t lane = 0;    // Index of a LaneRow of the segment, from 0.
  uint32_t config = 0;  // Index of a ConfigRow of the segment, from 0.
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint32_t correlation = 0;
  uint32_t graph = 0;       // CUPTI's graph id (of the exec), 0 outside graphs.
  uint64_t graph_node = 0;  // CUPTI's id of the exec's node, 0 outside graphs.
  uint64_t bytes = 0;       // Copies and memsets.

  bool operator==(const ActivityRow&) const = default;
  // CUPTI gives 0 where it has no time (cupti_activity.h: "the time could not be collected").
  bool timed() const { return start_ns != 0 && end_ns >= start_ns; }
};

enum class ApiDomain : uint8_t { kDriver = 0, kRuntime = 1 };

// A host call that starts device work, made by `thread` under the ranges that were open there.
struct ApiCallRow {
  uint32_t thread = 0;  // Linux thread id.
  ApiDomain domain = ApiDomain::kDriver;
  uint32_t function = 0;  // CUPTI callback id (cbid).
  uint32_t correlation = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  int32_t result = 0;           // CUresult or cudaError_t.
  uint32_t thunk = 0;           // String id of the innermost `Thunk:` or op range; 0: none.
  uint64_t module_run = 0;      // Number of the enclosing `XlaModule:` range; 0: none.
  bool starts_nothing = false;  // A copy of no bytes, which has no activity.

  bool operator==(const ApiCallRow&) const = default;
};

// One NVTX range. Thunk ranges have no rows, because the API calls inside contain their string ids.
struct RangeRow {
  uint32_t thread = 0;
  uint32_t domain = 0;  // String id of the domain's name, 0 = default domain.
  uint32_t text = 0;    // String id.
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;  // 0: still open at the end of the recording.
  uint32_t depth = 0;
  uint64_t module_run = 0;  // For `XlaModule:` ranges: their number, unique in the process; else 0.

  bool operator==(const RangeRow&) const = default;
};

enum class NodeEvent : uint8_t { kCreated = 0, kCloned = 1, kUpdated = 2 };

// A CUDA graph node that is created, cloned by instantiation, or updated with new parameters.
struct GraphNodeRow {
  NodeEvent event = NodeEvent::kCreated;
  uint64_t time_ns = 0;
  uint64_t node = 0;           // CUPTI's node id.
  uint64_t original_node = 0;  // kCloned: the original node.
  uint32_t graph = 0;
  uint32_t original_graph = 0;
  uint32_t type = 0;    // CUgraphNodeType.
  uint32_t thunk = 0;   // String id of the innermost `Thunk:` or op range at that time.
  uint32_t module = 0;  // String id of the enclosing `XlaModule:` range.

  bool operator==(const GraphNodeRow&) const = default;
};

// Role of a string; it determines how the importer uses it.
enum class StringRole : uint8_t { kText = 0, kRegistered = 1 };

struct StringRow {
  uint32_t id = 0;
  StringRole role = StringRole::kText;
  uint32_t domain = 0;  // Registered strings: id of the domain's name.
  uint32_t thread = 0;  // Registered strings: the registering thread; the order of rows is the
                        // order of the calls.
  // Every registration has its own id. A text that was written before is not repeated: `text` is
  // empty and `same_as` is the id of the earlier string.
  std::string_view text;
  uint32_t same_as = 0;
  uint64_t full_bytes = 0;  // Length before the text was cut; text.size() if it was not cut.

  bool operator==(const StringRow&) const = default;
};

// nvtxPayloadSchemaEntry_t, one row per entry; entry 0xFFFFFFFF is the schema itself.
struct SchemaRow {
  uint64_t schema = 0;
  uint32_t entry = 0;
  std::string_view name;
  uint64_t type = 0;  // NVTX_PAYLOAD_ENTRY_TYPE_*; for the schema NVTX_PAYLOAD_SCHEMA_TYPE_*.
  uint64_t flags = 0;
  uint64_t offset = 0;
  uint64_t extent = 0;  // For the schema: static size of the payload.

  bool operator==(const SchemaRow&) const = default;
};

struct PayloadRow {
  uint32_t string = 0;  // The registered string with which it was pushed.
  uint64_t schema = 0;
  std::string_view bytes;

  bool operator==(const PayloadRow&) const = default;
};

struct DeviceRow {
  uint32_t device = 0;  // CUPTI's id = CUDA ordinal.
  std::string_view name;
  std::string_view uuid;  // "GPU-xxxxxxxx-xxxx-...".
  uint32_t compute_major = 0;
  uint32_t compute_minor = 0;
  uint32_t sm_count = 0;
  uint64_t core_clock_khz = 0;
  uint64_t memory_bandwidth_kb_per_s = 0;
  uint64_t memory_bytes = 0;
  uint64_t l2_bytes = 0;
  uint32_t warp_size = 0;
  uint32_t max_warps_per_sm = 0;
  uint32_t max_blocks_per_sm = 0;
  uint32_t max_threads_per_block = 0;
  uint64_t registers_per_sm = 0;
  uint64_t registers_per_block = 0;
  uint64_t shared_memory_per_sm_bytes = 0;
  uint64_t shared_memory_per_block_bytes = 0;
  uint64_t shared_memory_per_block_optin_bytes = 0;
  uint64_t shared_memory_reserved_per_block_bytes = 0;

  bool operator==(const DeviceRow&) const = default;
};

struct ContextRow {
  uint32_t context = 0;
  uint32_t device = 0;
  uint32_t null_stream = 0;

  bool operator==(const ContextRow&) const = default;
};

struct StreamRow {
  uint32_t context = 0;
  uint32_t stream = 0;
  int32_t priority = 0;
  uint32_t flags = 0;

  bool operator==(const StreamRow&) const = default;
};

struct ThreadRow {
  uint32_t thread = 0;
  std::string_view name;

  bool operator==(const ThreadRow&) const = default;
};

// The program's name of a stream (NVTX): "Compute", "Host-to-device".
struct StreamNameRow {
  uint32_t context = 0;
  uint32_t stream = 0;
  std::string_view name;

  bool operator==(const StreamNameRow&) const = default;
};

// A module that the driver loaded.
struct CubinRow {
  uint32_t module = 0;  // CUPTI's module id.
  uint32_t context = 0;
  uint64_t time_ns = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;  // XXH3-64 of the cubin.

  bool operator==(const CubinRow&) const = default;
};

// Several clocks at one moment, to align processes and to detect jumps of the wall clock.
struct ClockRow {
  uint64_t cupti_ns = 0;
  uint64_t realtime_ns = 0;
  uint64_t monotonic_ns = 0;
  uint64_t boottime_ns = 0;

  bool operator==(const ClockRow&) const = default;
};

// CUPTI's own cost: CUpti_ActivityOverhead.
struct OverheadRow {
  uint32_t kind = 0;  // CUpti_ActivityOverheadKind.
  uint32_t thread = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;

  bool operator==(const OverheadRow&) const = default;
};

struct StatRow {
  std::string_view name;
  uint64_t value = 0;

  bool operator==(const StatRow&) const = default;
};

struct FactRow {
  std::string_view key;
  std::string_view value;

  bool operator==(const FactRow&) const = default;
};

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_ROWS_H_
