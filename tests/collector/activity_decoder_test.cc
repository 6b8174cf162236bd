// SPDX-License-Identifier: Apache-2.0

// CUPTI's records -> rows, for the record sizes of several CUDA releases. The buffers are made of
// NVIDIA's own structs; where the real libcupti is at hand, its iterator walks them.

#include "collector/activity_decoder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recording/reader.h"

namespace xlatrace::collector {
namespace {

using recording::ActivityRow;
using recording::ConfigRow;
using recording::LaneRow;

struct Seen {
  ActivityRow row;
  ConfigRow config;
  std::string name;
  LaneRow lane;
};

class Collect : public recording::RowSink {
 public:
  void OnActivity(const ActivityRow& row, const ConfigRow& config, const LaneRow& lane) override {
    activities.push_back({row, config, std::string(config.name), lane});
  }
  void OnDevice(const recording::DeviceRow& row) override {
    device = row;
    device_name = row.name;
    device_uuid = row.uuid;
  }
  void OnOverhead(const recording::OverheadRow& row) override { overheads.push_back(row); }
  void OnContext(const recording::ContextRow& row) override { contexts.push_back(row); }
  void OnGraphNode(const recording::GraphNodeRow& row) override { nodes.push_back(row); }

  std::vector<Seen> activities;
  std::vector<recording::OverheadRow> overheads;
  std::vector<recording::ContextRow> contexts;
  std::vector<recording::GraphNodeRow> nodes;
  recording::DeviceRow device;
  std::string device_name;
  std::string device_uuid;
};

// An iterator with record sizes from a table, as a CUPTI of another release has.
std::map<uint32_t, size_t> table_sizes;

CUptiResult CUPTIAPI TableNext(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  uint8_t* at = buffer;
  if (*record != nullptr) {
    at = reinterpret_cast<uint8_t*>(*record);
    at += table_sizes.at(static_cast<uint32_t>((*record)->kind));
  }
  if (at + 4 > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  uint32_t kind = 0;
  std::memcpy(&kind, at, 4);
  const auto found = table_sizes.find(kind);
  if (found == table_sizes.end()) return CUPTI_ERROR_INVALID_KIND;
  if (at + found->second > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

class DecoderTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/xlatrace_decoder_XXXXXX";
    const int fd = mkstemp(path);
    ASSERT_GE(fd, 0);
    path_ = path;
    writer_ = std::make_unique<recording::Writer>(fd, "test", uint64_t{1} << 30);
    api_.cuptiActivityGetNextRecord = &TableNext;
  }
  void TearDown() override { unlink(path_.c_str()); }

  // Appends a record as a CUPTI whose struct has `bytes` would: the struct's prefix or the struct
  // and fields that we do not know.
  template <typename Record>
  void Put(const Record& record, size_t bytes = sizeof(Record)) {
    const size_t at = buffer_.size();
    buffer_.resize(at + bytes, 0xEE);
    std::memcpy(buffer_.data() + at, &record, std::min(bytes, sizeof(Record)));
  }

  Collect Decode() {
    ActivityDecoder decoder(&api_);
    decoder.Decode({buffer_.data(), buffer_.size(), buffer_.size()}, *writer_);
    counts_ = decoder.counts();
    writer_->Finish();
    Collect collected;
    const auto outcome = recording::ReadRecording(path_, collected);
    EXPECT_TRUE(outcome.has_value());
    EXPECT_TRUE(outcome->complete);
    return collected;
  }

  static CUpti_ActivityKernel10 Kernel() {
    CUpti_ActivityKernel10 kernel = {};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.registersPerThread = 168;
    kernel.start = 1700000000000000001;
    kernel.end = 1700000000000002500;
    kernel.deviceId = 3;
    kernel.contextId = 7;
    kernel.streamId = 21;
    kernel.gridX = 132;
    kernel.gridY = 2;
    kernel.gridZ = 1;
    kernel.blockX = 384;
    kernel.blockY = 1;
    kernel.blockZ = 1;
    kernel.staticSharedMemory = 1024;
    kernel.dynamicSharedMemory = 229376;
    kernel.localMemoryPerThread = 8;
    kernel.localMemoryTotal = 4096;
    kernel.correlationId = 4242;
    kernel.name = "nvjet_hsh_128x256";
    kernel.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
    kernel.sharedMemoryExecuted = 233472;
    kernel.graphNodeId = (uint64_t{5} << 32) | 9;
    kernel.shmemLimitConfig = CUPTI_FUNC_SHMEM_LIMIT_OPTIN;
    kernel.graphId = 5;
    kernel.clusterX = 2;
    kernel.clusterY = 1;
    kernel.clusterZ = 1;
    kernel.localMemoryTotal_v2 = uint64_t{1} << 33;
    kernel.maxActiveClusters = 66;
    return kernel;
  }

  CuptiApi api_;
  std::string path_;
  std::unique_ptr<recording::Writer> writer_;
  std::vector<uint8_t> buffer_;
  DecodeCounts counts_;
};

TEST_F(DecoderTest, AKernelOfCuda13HasEveryDetail) {
  table_sizes = {{10, sizeof(CUpti_ActivityKernel10)}};
  Put(Kernel());
  const Collect got = Decode();
  ASSERT_EQ(got.activities.size(), 1u);
  const Seen& seen = got.activities[0];
  EXPECT_EQ(seen.name, "nvjet_hsh_128x256");
  EXPECT_EQ(seen.row.start_ns, 1700000000000000001u);
  EXPECT_EQ(seen.row.end_ns, 1700000000000002500u);
  EXPECT_EQ(seen.row.correlation, 4242u);
  EXPECT_EQ(seen.row.graph, 5u);
  EXPECT_EQ(seen.row.graph_node, (uint64_t{5} << 32) | 9);
  EXPECT_EQ(seen.lane, (LaneRow{3, 7, 21}));
  EXPECT_EQ(seen.config.grid[0], 132u);
  EXPECT_EQ(seen.config.grid[1], 2u);
  EXPECT_EQ(seen.config.block[0], 384u);
  EXPECT_EQ(seen.config.cluster[0], 2u);
  EXPECT_EQ(seen.config.registers_per_thread, 168u);
  EXPECT_EQ(seen.config.shared_memory_static_bytes, 1024u);
  EXPECT_EQ(seen.config.shared_memory_dynamic_bytes, 229376u);
  EXPECT_EQ(seen.config.shared_memory_executed_bytes, 233472u);
  EXPECT_EQ(seen.config.shared_memory_limit_config, 1u);
  EXPECT_EQ(seen.config.local_memory_per_thread_bytes, 8u);
  EXPECT_EQ(seen.config.local_memory_total_bytes, uint64_t{1} << 33);
  EXPECT_EQ(seen.config.max_active_clusters, 66u);
}

TEST_F(DecoderTest, ShorterRecordsOfOldReleasesAreRead) {
  // Size -> the last fields it has (facts of 16 releases: Kernel5 160 ... Kernel13 248).
  for (const size_t bytes : {160u, 168u, 176u, 200u, 208u, 216u, 224u, 232u, 248u}) {
    SCOPED_TRACE(bytes);
    SetUp();
    buffer_.clear();
    table_sizes = {{10, bytes}};
    for (int i = 0; i < 3; ++i) Put(Kernel(), bytes);
    const Collect got = Decode();
    ASSERT_EQ(got.activities.size(), 3u);
    for (const Seen& seen : got.activities) {
      EXPECT_EQ(seen.name, "nvjet_hsh_128x256");
      EXPECT_EQ(seen.row.correlation, 4242u);
      EXPECT_EQ(seen.row.graph, 5u);
      EXPECT_EQ(seen.config.cluster[0], bytes >= 200 ? 2u : 0u);
      EXPECT_EQ(seen.config.max_active_clusters, bytes >= 208 ? 66u : 0u);
      EXPECT_EQ(seen.config.local_memory_total_bytes, bytes >= 200 ? uint64_t{1} << 33 : 4096u);
    }
    unlink(path_.c_str());
  }
}

TEST_F(DecoderTest, GraphNodeSourceIsWrittenWhenItChanges) {
  constexpr size_t kKernel13Bytes = 248;
  constexpr size_t kSourceNodeOffset = 240;
  table_sizes = {{10, kKernel13Bytes}};
  for (const uint64_t source : {31, 31, 32, 0}) {
    Put(Kernel(), kKernel13Bytes);
    std::memcpy(&buffer_[buffer_.size() - kKernel13Bytes + kSourceNodeOffset], &source,
                sizeof(source));
  }
  const Collect got = Decode();
  EXPECT_EQ(got.activities.size(), 4u);
  ASSERT_EQ(got.nodes.size(), 2u);
  const recording::GraphNodeRow first{.event = recording::NodeEvent::kCloned,
                                      .node = Kernel().graphNodeId,
                                      .original_node = 31,
                                      .graph = Kernel().graphId};
  recording::GraphNodeRow second = first;
  second.original_node = 32;
  second.time_ns = Kernel().start + 1;  // After the last launch with the first source.
  EXPECT_EQ(got.nodes[0], first);
  EXPECT_EQ(got.nodes[1], second);
}

TEST_F(DecoderTest, CopiesAndMemsetsKeepTheirBytesAndKinds) {
  table_sizes = {{1, 96}, {2, 88}, {22, 96}};
  CUpti_ActivityMemcpy6 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  copy.bytes = uint64_t{5} << 32;
  copy.start = 10;
  copy.end = 20;
  copy.correlationId = 1;
  Put(copy);
  CUpti_ActivityMemcpyPtoP4 peer = {};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.bytes = 77;
  peer.start = 30;
  peer.end = 40;
  peer.deviceId = 0;
  peer.srcDeviceId = 0;
  peer.dstDeviceId = 1;
  peer.correlationId = 2;
  peer.graphNodeId = (uint64_t{3} << 32) | 4;
  peer.graphId = 3;
  Put(peer);
  CUpti_ActivityMemset4 set = {};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 1024;
  set.start = 50;
  set.end = 60;
  set.correlationId = 3;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  Put(set);
  const Collect got = Decode();
  ASSERT_EQ(got.activities.size(), 3u);
  EXPECT_EQ(got.activities[0].row.kind, recording::RowKind::kMemcpy);
  EXPECT_EQ(got.activities[0].row.bytes, uint64_t{5} << 32);
  EXPECT_EQ(got.activities[0].config.copy_kind, 1u);
  EXPECT_EQ(got.activities[0].config.source_kind, 2u);
  EXPECT_EQ(got.activities[0].config.flags, 1u);
  EXPECT_EQ(got.activities[1].row.kind, recording::RowKind::kMemcpyPeer);
  EXPECT_EQ(got.activities[1].config.destination_device, 1u);
  EXPECT_EQ(got.activities[1].row.graph_node, (uint64_t{3} << 32) | 4);
  EXPECT_EQ(got.activities[1].row.graph, 3u);
  EXPECT_EQ(got.activities[1].row.correlation, 2u);
  EXPECT_EQ(got.activities[2].row.kind, recording::RowKind::kMemset);
  EXPECT_EQ(got.activities[2].row.bytes, 1024u);
  EXPECT_EQ(counts_.copies, 2u);
  EXPECT_EQ(counts_.memsets, 1u);
}

TEST_F(DecoderTest, ImpossibleTimesAreKeptAndCounted) {
  table_sizes = {{10, sizeof(CUpti_ActivityKernel10)}};
  CUpti_ActivityKernel10 kernel = Kernel();
  kernel.start = kernel.end = 0;
  Put(kernel);
  kernel = Kernel();
  kernel.end = kernel.start - 1;
  Put(kernel);
  Put(Kernel());
  const Collect got = Decode();
  EXPECT_EQ(got.activities.size(), 3u);
  EXPECT_EQ(counts_.invalid_time, 2u);
}

// Otherwise fields behind its end would be read from the record that is not complete.
TEST_F(DecoderTest, LastRecordOfACutBufferHasTheUsualSize) {
  table_sizes = {{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)}};
  Put(Kernel());
  Put(Kernel());
  buffer_.resize(buffer_.size() + 64);  // Zero is CUPTI_ACTIVITY_KIND_INVALID.
  ActivityDecoder decoder(&api_);
  decoder.Decode({buffer_.data(), buffer_.size(), buffer_.size()}, *writer_);
  EXPECT_EQ(decoder.counts().kernels, 2u);
  EXPECT_EQ(decoder.counts().cut_buffers, 1u);
  EXPECT_EQ(decoder.record_bytes(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
            sizeof(CUpti_ActivityKernel10));
}

// OVERHEAD of CUDA 12.3 has 48 bytes; later ones have a pointer behind, which is freed.
TEST_F(DecoderTest, OverheadOfUnknownSizeInACutBufferIsSkipped) {
  constexpr size_t kBytesOf12_3 = 48;
  table_sizes = {{CUPTI_ACTIVITY_KIND_OVERHEAD, kBytesOf12_3}};
  CUpti_ActivityOverhead3 overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  Put(overhead, kBytesOf12_3);
  buffer_.resize(buffer_.size() + 4);         // CUPTI_ACTIVITY_KIND_INVALID,
  buffer_.resize(buffer_.size() + 12, 0xEE);  // and what is no pointer.
  ActivityDecoder decoder(&api_);
  decoder.Decode({buffer_.data(), buffer_.size(), buffer_.size()}, *writer_);
  EXPECT_EQ(decoder.record_bytes(CUPTI_ACTIVITY_KIND_OVERHEAD), 0u);
}

TEST_F(DecoderTest, UnknownKindEndsTheBufferAndIsCounted) {
  table_sizes = {{10, sizeof(CUpti_ActivityKernel10)}};
  Put(Kernel());
  Put(uint64_t{0x63});  // Kind 99.
  Put(Kernel());
  const Collect got = Decode();
  EXPECT_EQ(got.activities.size(), 1u);
  EXPECT_EQ(counts_.unknown, 1u);
}

TEST_F(DecoderTest, UnrequestedKindIsSkippedAndCounted) {
  table_sizes = {{10, sizeof(CUpti_ActivityKernel10)}, {36, 56}};
  Put(Kernel());
  CUpti_ActivityCudaEvent2 event = {};
  event.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  Put(event);
  Put(Kernel());
  const Collect got = Decode();
  EXPECT_EQ(got.activities.size(), 2u);
  EXPECT_EQ(counts_.unknown, 1u);
}

// Correlations 1 to 6, of which 2, 3 and 5 are of calls that were not recorded.
TEST_F(DecoderTest, TimesOfLeftOutActivitiesAreReported) {
  table_sizes = {{10, sizeof(CUpti_ActivityKernel10)}};
  SkippedCalls skipped;
  for (uint32_t correlation : {2, 3, 5}) skipped.Skip(correlation);
  const std::pair<uint64_t, uint64_t> times[] = {{100, 110}, {130, 140}, {120, 125},
                                                 {130, 135}, {200, 210}, {215, 220}};
  for (uint32_t i = 0; i < 6; ++i) {
    CUpti_ActivityKernel10 kernel = Kernel();
    kernel.correlationId = i + 1;
    kernel.start = times[i].first;  // (Packed: no reference to it.)
    kernel.end = times[i].second;
    Put(kernel);
  }
  ActivityDecoder decoder(&api_);
  decoder.SetSkipped(&skipped);
  decoder.Decode({buffer_.data(), buffer_.size(), buffer_.size()}, *writer_);
  EXPECT_EQ(decoder.counts().outside_window, 3u);
  const auto outside = decoder.TakeOutside();
  ASSERT_EQ(outside.size(), 2u);
  EXPECT_EQ(outside[0].start_ns, 120u);
  EXPECT_EQ(outside[0].end_ns, 140u);
  EXPECT_EQ(outside[1].start_ns, 200u);
  EXPECT_EQ(outside[1].end_ns, 210u);
  EXPECT_TRUE(decoder.TakeOutside().empty());
}

TEST_F(DecoderTest, TooShortRecordIsSkippedAndCounted) {
  table_sizes = {{10, 64}};
  Put(Kernel(), 64);
  const Collect got = Decode();
  EXPECT_TRUE(got.activities.empty());
  EXPECT_EQ(counts_.too_short, 1u);
}

TEST_F(DecoderTest, InvalidPointerDoesNotEndTheBuffer) {
  table_sizes = {{10, sizeof(CUpti_ActivityKernel10)}};
  CUpti_ActivityKernel10 kernel = Kernel();
  kernel.name = reinterpret_cast<const char*>(uintptr_t{0xdead0000});
  Put(kernel);
  Put(Kernel());
  const Collect got = Decode();
  ASSERT_EQ(got.activities.size(), 2u);
  EXPECT_EQ(got.activities[0].name, "");
  EXPECT_EQ(got.activities[1].name, "nvjet_hsh_128x256");
  EXPECT_EQ(counts_.unknown, 1u);
}

TEST_F(DecoderTest, ADeviceHasItsLimitsAndItsUuid) {
  table_sizes = {{8, sizeof(CUpti_ActivityDevice5)}};
  CUpti_ActivityDevice5 device = {};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.id = 2;
  device.name = const_cast<char*>("NVIDIA H200");
  device.numMultiprocessors = 132;
  device.maxWarpsPerMultiprocessor = 64;
  device.computeCapabilityMajor = 9;
  device.globalMemoryBandwidth = 4800000000;
  for (int i = 0; i < 16; ++i) device.uuid.bytes[i] = static_cast<char>(0x10 + i);
  Put(device);
  const Collect got = Decode();
  EXPECT_EQ(got.device.device, 2u);
  EXPECT_EQ(got.device_name, "NVIDIA H200");
  EXPECT_EQ(got.device_uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_EQ(got.device.sm_count, 132u);
  EXPECT_EQ(got.device.max_warps_per_sm, 64u);
  EXPECT_EQ(got.device.memory_bandwidth_kb_per_s, 4800000000u);
}

TEST_F(DecoderTest, SliceOfADeviceHasTheUuidOfTheSlice) {
  table_sizes = {{8, sizeof(CUpti_ActivityDevice5)}};
  CUpti_ActivityDevice5 device = {};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.name = const_cast<char*>("NVIDIA H200 MIG 1g.18gb");
  device.isMigEnabled = 1;
  for (int i = 0; i < 16; ++i) {
    device.uuid.bytes[i] = static_cast<char>(0x10 + i);
    device.migUuid.bytes[i] = static_cast<char>(0x20 + i);
  }
  Put(device);
  EXPECT_EQ(Decode().device_uuid, "MIG-20212223-2425-2627-2829-2a2b2c2d2e2f");
}

TEST_F(DecoderTest, CuptisOwnCostIsRead) {
  table_sizes = {{17, sizeof(CUpti_ActivityOverhead3)}};
  CUpti_ActivityOverhead3 overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 1234;
  overhead.start = 5;
  overhead.end = 9;
  Put(overhead);
  const Collect got = Decode();
  ASSERT_EQ(got.overheads.size(), 1u);
  EXPECT_EQ(got.overheads[0].kind, 1u << 16);
  EXPECT_EQ(got.overheads[0].thread, 1234u);
}

TEST_F(DecoderTest, NvidiasIteratorWalksTheSameBuffer) {
  void* cupti = dlopen(XLATRACE_REAL_CUPTI, RTLD_LAZY | RTLD_LOCAL);
  if (cupti == nullptr) GTEST_SKIP() << "no libcupti.so.13: " << dlerror();
  // The iterator is a pure function; it works without a driver up to CUPTI 13.1.
  api_.cuptiActivityGetNextRecord = reinterpret_cast<decltype(api_.cuptiActivityGetNextRecord)>(
      dlsym(cupti, "cuptiActivityGetNextRecord"));
  ASSERT_NE(api_.cuptiActivityGetNextRecord, nullptr);
  CUpti_ActivityMemcpy6 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.bytes = 9;
  copy.start = copy.end = 1;
  CUpti_ActivityMemset4 set = {};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 8;
  set.start = set.end = 1;
  CUpti_ActivityContext3 context = {};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 6;
  for (int i = 0; i < 50; ++i) {
    Put(Kernel());
    Put(copy);
    Put(context);
    Put(set);
  }
  const Collect got = Decode();
  EXPECT_EQ(got.activities.size(), 150u);
  EXPECT_EQ(got.contexts.size(), 50u);
  EXPECT_EQ(counts_.unknown, 0u);
  EXPECT_EQ(counts_.too_short, 0u);
}

TEST_F(DecoderTest, CutAndFlippedBuffersDoNotCrash) {
  void* cupti = dlopen(XLATRACE_REAL_CUPTI, RTLD_LAZY | RTLD_LOCAL);
  if (cupti == nullptr) GTEST_SKIP() << "no libcupti.so.13: " << dlerror();
  api_.cuptiActivityGetNextRecord = reinterpret_cast<decltype(api_.cuptiActivityGetNextRecord)>(
      dlsym(cupti, "cuptiActivityGetNextRecord"));
  for (int i = 0; i < 4; ++i) Put(Kernel());
  const std::vector<uint8_t> good = buffer_;
  ActivityDecoder decoder(&api_);
  for (size_t cut = 0; cut <= good.size(); ++cut) {
    buffer_ = good;
    decoder.Decode({buffer_.data(), buffer_.size(), cut}, *writer_);
  }
  // The damaged kinds are never kinds whose records have other pointers at these places, because
  // pointers of CUPTI are trusted.
  for (size_t record = 0; record < 4; ++record) {
    for (int bit = 0; bit < 32; ++bit) {
      buffer_ = good;
      buffer_[record * sizeof(CUpti_ActivityKernel10) + static_cast<size_t>(bit) / 8] ^=
          static_cast<uint8_t>(1 << (bit % 8));
      if (buffer_[record * sizeof(CUpti_ActivityKernel10)] == CUPTI_ACTIVITY_KIND_DEVICE) continue;
      decoder.Decode({buffer_.data(), buffer_.size(), buffer_.size()}, *writer_);
    }
  }
  EXPECT_GT(decoder.counts().kernels, 0u);
}

}  // namespace
}  // namespace xlatrace::collector
