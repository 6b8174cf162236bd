// SPDX-License-Identifier: Apache-2.0
#include "collector/activity_decoder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <sys/uio.h>

namespace xlatrace::collector {
namespace {

using recording::ActivityRow;
using recording::ConfigRow;
using recording::LaneRow;
using recording::RowKind;

// CUpti_ActivityKind; the numbers never changed (cupti_activity.h of 11.2 to 13.5).
enum : uint32_t {
  kMemcpyKind = 1,
  kMemsetKind = 2,
  kKernelKind = 3,
  kDeviceKind = 8,
  kContextKind = 9,
  kConcurrentKernelKind = 10,
  kOverheadKind = 17,
  kPeerCopyKind = 22,
  kStreamKind = 37,
  kGraphTraceKind = 51,
};

uint32_t Unsigned(int32_t value) { return value < 0 ? 0 : static_cast<uint32_t>(value); }

}  // namespace

RecordIndex ActivityDecoder::Index(const CuptiApi& api, const ActivityBuffers::Buffer& buffer) {
  RecordIndex index;
  const uint8_t* end = buffer.data + buffer.valid_bytes;
  const uint8_t* before = nullptr;
  CUpti_Activity* record = nullptr;
  for (;;) {
    index.end = api.NextRecord(buffer.data, buffer.valid_bytes, &record);
    if (index.end != CUPTI_SUCCESS) return index;
    const uint8_t* at = reinterpret_cast<const uint8_t*>(record);
    if (at < buffer.data || at >= end || (before != nullptr && at <= before)) {
      index.left_the_buffer = true;
      return index;
    }
    index.starts.push_back(static_cast<uint32_t>(at - buffer.data));
    before = at;
  }
}

void ActivityDecoder::Decode(const ActivityBuffers::Buffer& buffer, const RecordIndex& index,
                             recording::Writer& writer) {
  joins_outside_ = false;  // Buffers of different threads have no known order.
  const std::vector<uint32_t>& starts = index.starts;
  if (!starts.empty() && starts[0] != 0) ++counts_.unknown;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    One(RecordView(buffer.data + starts[i], starts[i + 1] - starts[i]), writer);
  }
  if (index.left_the_buffer) {
    ++counts_.too_short;
    return;
  }
  const bool cut = index.end != CUPTI_ERROR_MAX_LIMIT_REACHED;
  if (!starts.empty()) {
    const RecordView last(buffer.data + starts.back(), buffer.valid_bytes - starts.back());
    const size_t usual = last.kind() < kKindCount ? sizes_[last.kind()] : 0;
    // Behind the last record of a cut buffer lies a part of the next one. An OVERHEAD record of
    // unknown size is skipped: it may end with a pointer for us to free.
    const bool usual_fits = cut && usual != 0 && usual <= last.bytes();
    if (!cut || usual_fits || last.kind() != kOverheadKind) {
      One(RecordView(last.data(), usual_fits ? usual : last.bytes()), writer);
    }
  }
  // Anything but "no more records" is a record of a kind that this CUPTI does not know, or one that
  // is not complete.
  if (cut) {
    ++counts_.unknown;
    ++counts_.cut_buffers;
  }
}

void ActivityDecoder::One(const RecordView& record, recording::Writer& writer) {
  const uint32_t kind = record.kind();
  if (kind < kKindCount) sizes_[kind] = static_cast<uint32_t>(record.bytes());
  size_t needed = 0;
  switch (kind) {
    case kKernelKind:
    case kConcurrentKernelKind:
      needed = kernel::kMinBytes;
      if (record.bytes() >= needed) Kernel(record, writer);
      break;
    case kMemcpyKind:
      needed = memcpy_record::kMinBytes;
      if (record.bytes() >= needed) Memcpy(record, writer);
      break;
    case kPeerCopyKind:
      needed = peer::kMinBytes;
      if (record.bytes() >= needed) PeerCopy(record, writer);
      break;
    case kMemsetKind:
      needed = memset_record::kMinBytes;
      if (record.bytes() >= needed) Memset(record, writer);
      break;
    case kGraphTraceKind:
      needed = graph_trace::kMinBytes;
      if (record.bytes() >= needed) GraphTrace(record, writer);
      break;
    case kDeviceKind:
      needed = device::kMinBytes;
      if (record.bytes() >= needed) Device(record, writer);
      break;
    case kContextKind:
      needed = context::kMinBytes;
      if (record.bytes() >= needed) {
        writer.Add(recording::ContextRow{record[context::kContext], record[context::kDevice],
                                         record[context::kNullStream]});
      }
      break;
    case kStreamKind:
      needed = stream::kMinBytes;
      if (record.bytes() >= needed) {
        writer.Add(recording::StreamRow{record[stream::kContext], record[stream::kStream],
                                        static_cast<int32_t>(record[stream::kPriority]),
                                        record[stream::kFlag]});
      }
      break;
    case kOverheadKind:
      needed = overhead::kMinBytes;
      if (record.bytes() >= needed) {
        writer.Add(recording::OverheadRow{record[overhead::kKind], record[overhead::kThread],
                                          Time(record[overhead::kStart]),
                                          Time(record[overhead::kEnd])});
        // "Client is responsible for freeing this memory" (cupti_activity.h, Overhead3).
        std::free(record[overhead::kData]);
      }
      break;
    default:
      ++counts_.unknown;
      return;
  }
  if (record.bytes() < needed) ++counts_.too_short;
}

void ActivityDecoder::CheckTimes(const ActivityRow& row) {
  if (row.start_ns == 0 || row.end_ns == 0 || row.end_ns < row.start_ns) ++counts_.invalid_time;
}

bool ActivityDecoder::OutsideWindow(const ActivityRow& row) {
  if (steering_ != nullptr && steering_->awaits_work()) steering_->OnWork(row.correlation);
  if (skipped_ == nullptr) return false;
  if (!skipped_->Skipped(row.correlation)) {
    joins_outside_ = false;
    return false;
  }
  ++counts_.outside_window;
  if (row.start_ns == 0 || row.end_ns < row.start_ns) return true;
  constexpr size_t kMaxIntervalCount = 1 << 12;  // Between two flushes; then they grow together.
  if ((joins_outside_ || outside_.size() >= kMaxIntervalCount) && !outside_.empty()) {
    outside_.back().start_ns = std::min(outside_.back().start_ns, row.start_ns);
    outside_.back().end_ns = std::max(outside_.back().end_ns, row.end_ns);
  } else {
    outside_.push_back({row.start_ns, row.end_ns});
  }
  joins_outside_ = true;
  return true;
}

std::vector<ActivityDecoder::Interval> ActivityDecoder::TakeOutside() {
  joins_outside_ = false;
  return std::exchange(outside_, {});
}

// A callback reports each clone of a node (GRAPHNODE_CLONED). From 13.4 on, records have the
// original node as well: for nodes whose callback did not come. Such a clone has no time of its
// own. If the original changes, the clone is of the time after the last launch with the earlier
// one.
void ActivityDecoder::NoteSource(const ActivityRow& row, uint64_t source,
                                 recording::Writer& writer) {
  if (source == 0 || row.graph_node == 0 || source == row.graph_node) return;
  constexpr size_t kMaxNodes = 1 << 20;
  if (sources_.size() >= kMaxNodes) sources_.clear();
  Source& known = sources_[row.graph_node];
  if (known.node != source) {
    recording::GraphNodeRow clone;
    clone.event = recording::NodeEvent::kCloned;
    clone.time_ns = known.node == 0 ? 0 : known.start_ns + 1;
    clone.node = row.graph_node;
    clone.original_node = source;
    clone.graph = row.graph;
    writer.Add(clone);
    known.node = source;
  }
  known.start_ns = row.start_ns;
}

// A record whose layout differs from its CUPTI version has no pointer where one is expected, and
// reading there would end the program. Checked once per page by a system call that fails with
// EFAULT. (Names lie close together, so single pointers would share a slot of the table and be
// checked at every launch.)
bool ActivityDecoder::CanBeRead(const char* text) {
  if (text == nullptr) return false;
  constexpr int kPageBits = 12;  // The smallest there is.
  const uintptr_t number = (reinterpret_cast<uintptr_t>(text) >> kPageBits) + 1;  // 0: nothing.
  // Fibonacci hashing spreads neighbours.
  uintptr_t& known = readable_[(number * 0x9E3779B97F4A7C15u) >> (64 - kReadableBits)];
  if (known == number) return true;
  char byte;
  const iovec here = {&byte, 1};
  const iovec there = {const_cast<char*>(text), 1};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT) {
    ++counts_.unknown;
    return false;
  }
  known = number;
  return true;
}

void ActivityDecoder::Kernel(const RecordView& record, recording::Writer& writer) {
  ActivityRow row;
  row.kind = RowKind::kKernel;
  row.start_ns = Time(record[kernel::kStart]);
  row.end_ns = Time(record[kernel::kEnd]);
  row.correlation = record[kernel::kCorrelation];
  row.graph = record[kernel::kGraph];
  row.graph_node = record[kernel::kGraphNode];
  ConfigRow config;
  config.kind = RowKind::kKernel;
  // The string belongs to CUPTI and lives as long as the process.
  if (const char* name = record[kernel::kName]; CanBeRead(name)) config.name = name;
  config.grid[0] = Unsigned(record[kernel::kGridX]);
  config.grid[1] = Unsigned(record[kernel::kGridY]);
  config.grid[2] = Unsigned(record[kernel::kGridZ]);
  config.block[0] = Unsigned(record[kernel::kBlockX]);
  config.block[1] = Unsigned(record[kernel::kBlockY]);
  config.block[2] = Unsigned(record[kernel::kBlockZ]);
  config.cluster[0] = record[kernel::kClusterX];
  config.cluster[1] = record[kernel::kClusterY];
  config.cluster[2] = record[kernel::kClusterZ];
  config.registers_per_thread = record[kernel::kRegisters];
  config.shared_memory_static_bytes = Unsigned(record[kernel::kStaticShared]);
  config.shared_memory_dynamic_bytes = Unsigned(record[kernel::kDynamicShared]);
  config.shared_memory_executed_bytes = record[kernel::kSharedExecuted];
  config.shared_memory_limit_config = record[kernel::kSharedLimit];
  config.local_memory_per_thread_bytes = record[kernel::kLocalPerThread];
  config.local_memory_total_bytes = record[kernel::kLocalTotal64];
  if (config.local_memory_total_bytes == 0) {
    config.local_memory_total_bytes = record[kernel::kLocalTotal];
  }
  config.launch_type = record[kernel::kLaunchType];
  config.max_active_clusters = record[kernel::kMaxActiveClusters];
  const LaneRow lane{record[kernel::kDevice], record[kernel::kContext], record[kernel::kStream]};
  NoteSource(row, record[kernel::kSourceNode], writer);
  if (OutsideWindow(row)) return;
  CheckTimes(row);
  ++counts_.kernels;
  writer.AddActivity(row, config, lane);
}

void ActivityDecoder::Memcpy(const RecordView& record, recording::Writer& writer) {
  using namespace memcpy_record;  // NOLINT: the field names of this one kind.
  ActivityRow row;
  row.kind = RowKind::kMemcpy;
  row.start_ns = Time(record[kStart]);
  row.end_ns = Time(record[kEnd]);
  row.correlation = record[kCorrelation];
  row.graph = record[kGraph];
  row.graph_node = record[kGraphNode];
  row.bytes = record[kBytes];
  ConfigRow config;
  config.kind = RowKind::kMemcpy;
  config.copy_kind = record[kCopyKind];
  config.source_kind = record[kSourceKind];
  config.destination_kind = record[kDestinationKind];
  config.flags = record[kFlags];
  NoteSource(row, record[kSourceNode], writer);
  if (OutsideWindow(row)) return;
  CheckTimes(row);
  ++counts_.copies;
  writer.AddActivity(row, config, LaneRow{record[kDevice], record[kContext], record[kStream]});
}

void ActivityDecoder::PeerCopy(const RecordView& record, recording::Writer& writer) {
  ActivityRow row;
  row.kind = RowKind::kMemcpyPeer;
  row.start_ns = Time(record[memcpy_record::kStart]);
  row.end_ns = Time(record[memcpy_record::kEnd]);
  row.correlation = record[peer::kCorrelation];
  row.graph = record[peer::kGraph];
  row.graph_node = record[peer::kGraphNode];
  row.bytes = record[memcpy_record::kBytes];
  ConfigRow config;
  config.kind = RowKind::kMemcpyPeer;
  config.copy_kind = record[memcpy_record::kCopyKind];
  config.source_kind = record[memcpy_record::kSourceKind];
  config.destination_kind = record[memcpy_record::kDestinationKind];
  config.flags = record[memcpy_record::kFlags];
  config.source_device = record[peer::kSourceDevice];
  config.destination_device = record[peer::kDestinationDevice];
  if (OutsideWindow(row)) return;
  CheckTimes(row);
  ++counts_.copies;
  writer.AddActivity(row, config,
                     LaneRow{record[memcpy_record::kDevice], record[memcpy_record::kContext],
                             record[memcpy_record::kStream]});
}

void ActivityDecoder::Memset(const RecordView& record, recording::Writer& writer) {
  using namespace memset_record;  // NOLINT
  ActivityRow row;
  row.kind = RowKind::kMemset;
  row.start_ns = Time(record[kStart]);
  row.end_ns = Time(record[kEnd]);
  row.correlation = record[kCorrelation];
  row.graph = record[kGraph];
  row.graph_node = record[kGraphNode];
  row.bytes = record[kBytes];
  ConfigRow config;
  config.kind = RowKind::kMemset;
  config.source_kind = record[kMemoryKind];
  NoteSource(row, record[kSourceNode], writer);
  if (OutsideWindow(row)) return;
  CheckTimes(row);
  ++counts_.memsets;
  writer.AddActivity(row, config, LaneRow{record[kDevice], record[kContext], record[kStream]});
}

void ActivityDecoder::GraphTrace(const RecordView& record, recording::Writer& writer) {
  using namespace graph_trace;  // NOLINT
  ActivityRow row;
  row.kind = RowKind::kGraph;
  row.start_ns = Time(record[kStart]);
  row.end_ns = Time(record[kEnd]);
  row.correlation = record[kCorrelation];
  row.graph = record[kGraph];
  ConfigRow config;
  config.kind = RowKind::kGraph;
  if (OutsideWindow(row)) return;
  CheckTimes(row);
  ++counts_.graph_rows;
  writer.AddActivity(row, config, LaneRow{record[kDevice], record[kContext], record[kStream]});
}

void ActivityDecoder::Device(const RecordView& record, recording::Writer& writer) {
  recording::DeviceRow row;
  row.device = record[device::kId];
  const char* name = record[device::kName];
  const std::string copy = name == nullptr ? std::string() : std::string(name);
  row.name = copy;
  uint8_t uuid[16];
  // nvidia-smi and NVML name a slice of a device by an UUID of its own.
  const bool mig = record[device::kIsMig] != 0 && record.bytes() >= device::kMigUuidEndOffset;
  std::memcpy(uuid, record.data() + (mig ? device::kMigUuidOffset : device::kUuidOffset),
              sizeof(uuid));
  char text[48] = "GPU-";
  if (mig) std::memcpy(text, "MIG", 3);
  size_t at = 4;
  for (size_t i = 0; i < sizeof(uuid); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    at += static_cast<size_t>(std::snprintf(text + at, sizeof(text) - at, "%02x", uuid[i]));
  }
  row.uuid = std::string_view(text, at);
  row.compute_major = record[device::kComputeMajor];
  row.compute_minor = record[device::kComputeMinor];
  row.sm_count = record[device::kSmCount];
  row.core_clock_khz = record[device::kClockKhz];
  row.memory_bandwidth_kb_per_s = record[device::kBandwidthKb];
  row.memory_bytes = record[device::kMemoryBytes];
  row.l2_bytes = record[device::kL2Bytes];
  row.warp_size = record[device::kWarpSize];
  row.max_warps_per_sm = record[device::kWarpsPerSm];
  row.max_blocks_per_sm = record[device::kBlocksPerSm];
  row.max_threads_per_block = record[device::kThreadsPerBlock];
  row.registers_per_sm = record[device::kRegistersPerSm];
  row.registers_per_block = record[device::kRegistersPerBlock];
  row.shared_memory_per_sm_bytes = record[device::kSharedPerSm];
  row.shared_memory_per_block_bytes = record[device::kSharedPerBlock];
  // The headers do not state who owns the name, so it is not freed: a few bytes per device.
  writer.Add(row);
}

}  // namespace xlatrace::collector
