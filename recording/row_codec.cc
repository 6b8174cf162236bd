// SPDX-License-Identifier: Apache-2.0
#include "recording/row_codec.h"

#include <type_traits>

namespace xlatrace::recording {
namespace {

// First byte of an activity: its kind, and flags for fields equal to those of the previous row.
constexpr uint64_t kKindMask = 0x07;
constexpr uint64_t kSameLaneFlag = 0x08;
constexpr uint64_t kSameCorrelationFlag = 0x10;
constexpr uint64_t kHasNodeFlag = 0x20;        // A graph and a node follow...
constexpr uint64_t kGraphFromNodeFlag = 0x40;  // ...or only a node, whose upper half is the graph.

// First byte of an API call.
constexpr uint64_t kRuntimeFlag = 0x01;
constexpr uint64_t kSameThreadFlag = 0x02;
constexpr uint64_t kSameFunctionFlag = 0x04;
constexpr uint64_t kSameRunFlag = 0x08;
constexpr uint64_t kHasThunkFlag = 0x10;
constexpr uint64_t kFailedFlag = 0x20;
constexpr uint64_t kStartsNothingFlag = 0x40;

constexpr uint64_t kRangeSameThreadFlag = 0x01;
constexpr uint64_t kRangeSameDomainFlag = 0x02;
constexpr uint64_t kRangeHasRunFlag = 0x04;
constexpr uint64_t kRangeOpenFlag = 0x08;

bool Get32(Decoder& in, uint32_t* value) {
  const uint64_t number = in.Number();
  *value = static_cast<uint32_t>(number);
  return number <= UINT32_MAX;
}

// Common interface of writer and reader, so that a row lists its fields once.
struct Writing {
  Encoder& out;
  bool good = true;
  void operator()(uint32_t& value) { out.Number(value); }
  void operator()(int32_t& value) { out.Signed(value); }
  void operator()(uint64_t& value) { out.Number(value); }
  void operator()(std::string_view& value) { out.Text(value); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Kind(Enum& value, Enum) { out.Number(static_cast<uint64_t>(value)); }
};

struct Reading {
  Decoder& in;
  bool good = true;
  void operator()(uint32_t& value) { good = Get32(in, &value) && good; }
  void operator()(int32_t& value) {
    const int64_t number = in.Signed();
    value = static_cast<int32_t>(number);
    good = good && number == value;
  }
  void operator()(uint64_t& value) { value = in.Number(); }
  void operator()(std::string_view& value) { value = in.Text(); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Kind(Enum& value, Enum last) {
    const uint64_t number = in.Number();
    good = good && number <= static_cast<uint64_t>(last);
    if (good) value = static_cast<Enum>(number);
  }
};

template <typename Visit>
void List(Visit& f, ConfigRow& r) {
  f.Kind(r.kind, RowKind::kGraph);
  f(r.name);
  switch (r.kind) {
    case RowKind::kKernel:
      for (uint32_t& value : r.grid) f(value);
      for (uint32_t& value : r.block) f(value);
      for (uint32_t& value : r.cluster) f(value);
      f(r.registers_per_thread);
      f(r.shared_memory_static_bytes);
      f(r.shared_memory_dynamic_bytes);
      f(r.shared_memory_executed_bytes);
      f(r.shared_memory_limit_config);
      f(r.local_memory_per_thread_bytes);
      f(r.local_memory_total_bytes);
      f(r.launch_type);
      f(r.max_active_clusters);
      break;
    case RowKind::kMemcpy:
    case RowKind::kMemcpyPeer:
    case RowKind::kMemset:
      f(r.copy_kind);
      f(r.source_kind);
      f(r.destination_kind);
      f(r.flags);
      f(r.source_device);
      f(r.destination_device);
      break;
    case RowKind::kGraph:
      break;
  }
}

template <typename Visit>
void List(Visit& f, LaneRow& r) {
  f(r.device);
  f(r.context);
  f(r.stream);
}

template <typename Visit>
void List(Visit& f, StringRow& r) {
  f(r.id);
  f.Kind(r.role, StringRole::kRegistered);
  f(r.domain);
  f(r.thread);
  f(r.text);
  f(r.same_as);
  f(r.full_bytes);
}

template <typename Visit>
void List(Visit& f, SchemaRow& r) {
  f(r.schema);
  f(r.entry);
  f(r.name);
  f(r.type);
  f(r.flags);
  f(r.offset);
  f(r.extent);
}

template <typename Visit>
void List(Visit& f, PayloadRow& r) {
  f(r.string);
  f(r.schema);
  f(r.bytes);
}

template <typename Visit>
void List(Visit& f, DeviceRow& r) {
  f(r.device);
  f(r.name);
  f(r.uuid);
  f(r.compute_major);
  f(r.compute_minor);
  f(r.sm_count);
  f(r.core_clock_khz);
  f(r.memory_bandwidth_kb_per_s);
  f(r.memory_bytes);
  f(r.l2_bytes);
  f(r.warp_size);
  f(r.max_warps_per_sm);
  f(r.max_blocks_per_sm);
  f(r.max_threads_per_block);
  f(r.registers_per_sm);
  f(r.registers_per_block);
  f(r.shared_memory_per_sm_bytes);
  f(r.shared_memory_per_block_bytes);
  f(r.shared_memory_per_block_optin_bytes);
  f(r.shared_memory_reserved_per_block_bytes);
}

template <typename Visit>
void List(Visit& f, ContextRow& r) {
  f(r.context);
  f(r.device);
  f(r.null_stream);
}

template <typename Visit>
void List(Visit& f, StreamRow& r) {
  f(r.context);
  f(r.stream);
  f(r.priority);
  f(r.flags);
}

template <typename Visit>
void List(Visit& f, ThreadRow& r) {
  f(r.thread);
  f(r.name);
}

template <typename Visit>
void List(Visit& f, StreamNameRow& r) {
  f(r.context);
  f(r.stream);
  f(r.name);
}

template <typename Visit>
void List(Visit& f, CubinRow& r) {
  f(r.module);
  f(r.context);
  f(r.time_ns);
  f(r.bytes);
  f(r.hash);
}

template <typename Visit>
void List(Visit& f, ClockRow& r) {
  f(r.cupti_ns);
  f(r.realtime_ns);
  f(r.monotonic_ns);
  f(r.boottime_ns);
}

template <typename Visit>
void List(Visit& f, OverheadRow& r) {
  f(r.kind);
  f(r.thread);
  f(r.start_ns);
  f(r.end_ns);
}

template <typename Visit>
void List(Visit& f, StatRow& r) {
  f(r.name);
  f(r.value);
}

template <typename Visit>
void List(Visit& f, FactRow& r) {
  f(r.key);
  f(r.value);
}

template <typename Row>
void PutFields(Encoder& out, const Row& row) {
  Writing writing{out};
  List(writing, const_cast<Row&>(row));  // Writing does not modify the row.
}

template <typename Row>
bool GetFields(Decoder& in, Row* row) {
  Reading reading{in};
  List(reading, *row);
  return reading.good && in.ok();
}

}  // namespace

void Put(Encoder& out, const ActivityRow& row, BlockContext& before) {
  ActivityRow& last = before.activity;
  const bool has_node = row.graph_node != 0 || row.graph != 0;
  const bool graph_from_node = has_node && row.graph == row.graph_node >> 32;
  out.Number(static_cast<uint64_t>(row.kind) | (row.lane == last.lane ? kSameLaneFlag : 0) |
             (row.correlation == last.correlation ? kSameCorrelationFlag : 0) |
             (has_node ? kHasNodeFlag : 0) | (graph_from_node ? kGraphFromNodeFlag : 0));
  if (row.lane != last.lane) out.Number(row.lane);
  out.Number(row.config);
  out.Delta(row.start_ns, last.start_ns);
  out.Delta(row.end_ns, row.start_ns);
  if (row.correlation != last.correlation) out.Delta(row.correlation, last.correlation);
  if (has_node) {
    out.Delta(row.graph_node, last.graph_node);
    if (!graph_from_node) out.Number(row.graph);
  }
  if (row.kind != RowKind::kKernel && row.kind != RowKind::kGraph) out.Number(row.bytes);
  const uint64_t node = has_node ? row.graph_node : last.graph_node;
  last = row;
  last.graph_node = node;
}

bool Get(Decoder& in, ActivityRow* row, BlockContext& before) {
  ActivityRow& last = before.activity;
  *row = {};
  const uint64_t tag = in.Number();
  if (tag > 0x7F || (tag & kKindMask) > static_cast<uint64_t>(RowKind::kGraph)) return false;
  row->kind = static_cast<RowKind>(tag & kKindMask);
  row->lane = last.lane;
  if ((tag & kSameLaneFlag) == 0 && !Get32(in, &row->lane)) return false;
  if (!Get32(in, &row->config)) return false;
  row->start_ns = in.Delta(last.start_ns);
  row->end_ns = in.Delta(row->start_ns);
  row->correlation = last.correlation;
  if ((tag & kSameCorrelationFlag) == 0) {
    row->correlation = static_cast<uint32_t>(in.Delta(last.correlation));
  }
  uint64_t node = last.graph_node;
  if ((tag & kHasNodeFlag) != 0) {
    node = row->graph_node = in.Delta(last.graph_node);
    row->graph = static_cast<uint32_t>(row->graph_node >> 32);
    if ((tag & kGraphFromNodeFlag) == 0 && !Get32(in, &row->graph)) return false;
  }
  if (row->kind != RowKind::kKernel && row->kind != RowKind::kGraph) row->bytes = in.Number();
  last = *row;
  last.graph_node = node;
  return in.ok();
}

void Put(Encoder& out, const ApiCallRow& row, BlockContext& before) {
  ApiCallRow& last = before.api;
  out.Number((row.domain == ApiDomain::kRuntime ? kRuntimeFlag : 0) |
             (row.thread == last.thread ? kSameThreadFlag : 0) |
             (row.function == last.function ? kSameFunctionFlag : 0) |
             (row.module_run == last.module_run ? kSameRunFlag : 0) |
             (row.thunk != 0 ? kHasThunkFlag : 0) | (row.result != 0 ? kFailedFlag : 0) |
             (row.starts_nothing ? kStartsNothingFlag : 0));
  if (row.thread != last.thread) out.Number(row.thread);
  if (row.function != last.function) out.Number(row.function);
  out.Delta(row.correlation, last.correlation);
  out.Delta(row.start_ns, last.start_ns);
  out.Delta(row.end_ns, row.start_ns);
  if (row.thunk != 0) out.Delta(row.thunk, last.thunk);
  if (row.module_run != last.module_run) out.Delta(row.module_run, last.module_run);
  if (row.result != 0) out.Signed(row.result);
  const uint32_t thunk = row.thunk != 0 ? row.thunk : last.thunk;
  last = row;
  last.thunk = thunk;
}

bool Get(Decoder& in, ApiCallRow* row, BlockContext& before) {
  ApiCallRow& last = before.api;
  *row = {};
  const uint64_t tag = in.Number();
  if (tag > 0x7F) return false;
  row->starts_nothing = (tag & kStartsNothingFlag) != 0;
  row->domain = (tag & kRuntimeFlag) != 0 ? ApiDomain::kRuntime : ApiDomain::kDriver;
  row->thread = last.thread;
  if ((tag & kSameThreadFlag) == 0 && !Get32(in, &row->thread)) return false;
  row->function = last.function;
  if ((tag & kSameFunctionFlag) == 0 && !Get32(in, &row->function)) return false;
  row->correlation = static_cast<uint32_t>(in.Delta(last.correlation));
  row->start_ns = in.Delta(last.start_ns);
  row->end_ns = in.Delta(row->start_ns);
  if ((tag & kHasThunkFlag) != 0) row->thunk = static_cast<uint32_t>(in.Delta(last.thunk));
  row->module_run = last.module_run;
  if ((tag & kSameRunFlag) == 0) row->module_run = in.Delta(last.module_run);
  if ((tag & kFailedFlag) != 0) row->result = static_cast<int32_t>(in.Signed());
  const uint32_t thunk = (tag & kHasThunkFlag) != 0 ? row->thunk : last.thunk;
  last = *row;
  last.thunk = thunk;
  return in.ok();
}

void Put(Encoder& out, const RangeRow& row, BlockContext& before) {
  RangeRow& last = before.range;
  out.Number((row.thread == last.thread ? kRangeSameThreadFlag : 0) |
             (row.domain == last.domain ? kRangeSameDomainFlag : 0) |
             (row.module_run != 0 ? kRangeHasRunFlag : 0) | (row.end_ns == 0 ? kRangeOpenFlag : 0));
  if (row.thread != last.thread) out.Number(row.thread);
  if (row.domain != last.domain) out.Number(row.domain);
  out.Delta(row.text, last.text);
  out.Delta(row.start_ns, last.start_ns);
  if (row.end_ns != 0) out.Delta(row.end_ns, row.start_ns);
  out.Number(row.depth);
  if (row.module_run != 0) out.Delta(row.module_run, last.module_run);
  const uint64_t run = row.module_run != 0 ? row.module_run : last.module_run;
  last = row;
  last.module_run = run;
}

bool Get(Decoder& in, RangeRow* row, BlockContext& before) {
  RangeRow& last = before.range;
  *row = {};
  const uint64_t tag = in.Number();
  if (tag > 0x0F) return false;
  row->thread = last.thread;
  if ((tag & kRangeSameThreadFlag) == 0 && !Get32(in, &row->thread)) return false;
  row->domain = last.domain;
  if ((tag & kRangeSameDomainFlag) == 0 && !Get32(in, &row->domain)) return false;
  row->text = static_cast<uint32_t>(in.Delta(last.text));
  row->start_ns = in.Delta(last.start_ns);
  if ((tag & kRangeOpenFlag) == 0) row->end_ns = in.Delta(row->start_ns);
  if (!Get32(in, &row->depth)) return false;
  if ((tag & kRangeHasRunFlag) != 0) row->module_run = in.Delta(last.module_run);
  const uint64_t run = (tag & kRangeHasRunFlag) != 0 ? row->module_run : last.module_run;
  last = *row;
  last.module_run = run;
  return in.ok();
}

void Put(Encoder& out, const GraphNodeRow& row, BlockContext& before) {
  GraphNodeRow& last = before.node;
  out.Number(static_cast<uint64_t>(row.event));
  out.Delta(row.time_ns, last.time_ns);
  out.Delta(row.node, last.node);
  out.Delta(row.original_node, last.original_node);
  out.Delta(row.graph, last.graph);
  out.Delta(row.original_graph, last.original_graph);
  out.Number(row.type);
  out.Delta(row.thunk, last.thunk);
  out.Delta(row.module, last.module);
  last = row;
}

bool Get(Decoder& in, GraphNodeRow* row, BlockContext& before) {
  GraphNodeRow& last = before.node;
  *row = {};
  const uint64_t event = in.Number();
  if (event > static_cast<uint64_t>(NodeEvent::kUpdated)) return false;
  row->event = static_cast<NodeEvent>(event);
  row->time_ns = in.Delta(last.time_ns);
  row->node = in.Delta(last.node);
  row->original_node = in.Delta(last.original_node);
  row->graph = static_cast<uint32_t>(in.Delta(last.graph));
  row->original_graph = static_cast<uint32_t>(in.Delta(last.original_graph));
  if (!Get32(in, &row->type)) return false;
  row->thunk = static_cast<uint32_t>(in.Delta(last.thunk));
  row->module = static_cast<uint32_t>(in.Delta(last.module));
  last = *row;
  return in.ok();
}

void Put(Encoder& out, const ConfigRow& row) { PutFields(out, row); }
bool Get(Decoder& in, ConfigRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const LaneRow& row) { PutFields(out, row); }
bool Get(Decoder& in, LaneRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const StringRow& row) { PutFields(out, row); }
bool Get(Decoder& in, StringRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const SchemaRow& row) { PutFields(out, row); }
bool Get(Decoder& in, SchemaRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const PayloadRow& row) { PutFields(out, row); }
bool Get(Decoder& in, PayloadRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const DeviceRow& row) { PutFields(out, row); }
bool Get(Decoder& in, DeviceRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const ContextRow& row) { PutFields(out, row); }
bool Get(Decoder& in, ContextRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const StreamRow& row) { PutFields(out, row); }
bool Get(Decoder& in, StreamRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const ThreadRow& row) { PutFields(out, row); }
bool Get(Decoder& in, ThreadRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const StreamNameRow& row) { PutFields(out, row); }
bool Get(Decoder& in, StreamNameRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const CubinRow& row) { PutFields(out, row); }
bool Get(Decoder& in, CubinRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const ClockRow& row) { PutFields(out, row); }
bool Get(Decoder& in, ClockRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const OverheadRow& row) { PutFields(out, row); }
bool Get(Decoder& in, OverheadRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const StatRow& row) { PutFields(out, row); }
bool Get(Decoder& in, StatRow* row) { return GetFields(in, row); }
void Put(Encoder& out, const FactRow& row) { PutFields(out, row); }
bool Get(Decoder& in, FactRow* row) { return GetFields(in, row); }

}  // namespace xlatrace::recording
