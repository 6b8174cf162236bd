// SPDX-License-Identifier: Apache-2.0
#include "collector/activity_buffers.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::collector {
namespace {

constexpr uint64_t kMsNs = 1000000;
constexpr uint64_t kPeriodMs = 1000;
constexpr uint64_t kDay = uint64_t{86400} * 1000 * kMsNs;

bool AllZero(const ActivityBuffers::Buffer& buffer) {
  return std::all_of(buffer.data, buffer.data + buffer.bytes, [](uint8_t b) { return b == 0; });
}

// A thread that writes `bytes_per_ms` for `ms`, one record after the other; size and duration of
// the last buffer that it filled. Full buffers are given back at once.
struct Filled {
  size_t bytes = 0;
  double ms = 0;
};
Filled Fill(ActivityBuffers& buffers, uintptr_t thread, uint64_t from_ms, uint64_t ms,
            double bytes_per_ms) {
  Filled last;
  double now = static_cast<double>(from_ms);
  while (now < static_cast<double>(from_ms + ms)) {
    const auto buffer = buffers.Request(thread, kDay + static_cast<uint64_t>(now * kMsNs));
    if (buffer.data == nullptr) break;
    last = {buffer.bytes, static_cast<double>(buffer.bytes) / bytes_per_ms};
    now += last.ms;
    buffers.Completed(buffer.data, buffer.bytes, buffer.bytes);
    ActivityBuffers::Buffer taken;
    while (buffers.Take(&taken)) buffers.Recycle(taken);
  }
  return last;
}

TEST(ActivityBuffersTest, FirstBufferOfAThreadIsAlignedZeroedAndSmall) {
  ActivityBuffers buffers;
  const auto buffer = buffers.Request();
  ASSERT_NE(buffer.data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data) % 8, 0u);
  EXPECT_GE(buffer.bytes, size_t{32} << 10);
  EXPECT_LE(buffer.bytes, size_t{64} << 10);
  EXPECT_TRUE(AllZero(buffer));
}

// Half of the flush period is what a kill costs besides, so a buffer may take no longer than that.
TEST(ActivityBuffersTest, BuffersFillInHalfAPeriodAtEveryRate) {
  for (const double records_per_s : {100.0, 500.0, 1000.0, 10000.0, 100000.0}) {
    ActivityBuffers buffers;
    buffers.Configure(true, kPeriodMs, 0);
    const Filled last = Fill(buffers, 1, 0, 20000, records_per_s * 216 / 1000);
    EXPECT_LT(last.ms, kPeriodMs / 2.0) << records_per_s;
    // At most a hundred buffers per second, if the smallest size allows that.
    if (last.bytes > ActivityBuffers::kMinBytes) {
      EXPECT_GT(last.ms, 10) << records_per_s;
    }
  }
}

TEST(ActivityBuffersTest, SlowThreadGetsSmallBuffersBesideAFastOne) {
  ActivityBuffers buffers;
  buffers.Configure(true, kPeriodMs, 0);
  for (uint64_t second = 0; second < 5; ++second) {
    const uint64_t at = second * 1000;
    EXPECT_GT(Fill(buffers, 1, at, 1000, 10000).bytes, size_t{256} << 10);
    if (second > 1) {
      EXPECT_LE(Fill(buffers, 1 << 12, at, 1000, 100).bytes, size_t{16} << 10);
    }
    Fill(buffers, 1 << 12, at, 1000, 100);
  }
}

TEST(ActivityBuffersTest, BuffersShrinkWithinASecondAfterABurst) {
  ActivityBuffers buffers;
  buffers.Configure(true, kPeriodMs, 0);
  EXPECT_GE(Fill(buffers, 1, 0, 2000, 20000).bytes, size_t{1} << 20);
  EXPECT_LE(buffers.Request(1, kDay + 3500 * kMsNs).bytes, size_t{32} << 10);
}

// A flush returns a buffer that is hardly filled, so its size is no measure of the rate.
TEST(ActivityBuffersTest, FrequentFlushesDoNotMakeBuffersGrow) {
  ActivityBuffers buffers;
  buffers.Configure(true, kPeriodMs, 0);
  for (uint64_t ms = 0; ms < 1000; ms += 20) {
    const auto buffer = buffers.Request(1, kDay + ms * kMsNs);
    EXPECT_LE(buffer.bytes, size_t{32} << 10);
    buffers.Completed(buffer.data, buffer.bytes, 216);
  }
}

TEST(ActivityBuffersTest, ThousandThreadsStayBelowTheLimit) {
  ActivityBuffers buffers;
  buffers.Configure(true, kPeriodMs, size_t{64} << 20);
  size_t bytes = 0;
  std::set<uint8_t*> seen;
  for (uintptr_t i = 0; i < 1000; ++i) {
    const auto buffer = buffers.Request(i << 12, kDay);
    ASSERT_NE(buffer.data, nullptr) << i;
    EXPECT_TRUE(seen.insert(buffer.data).second);
    bytes += buffer.bytes;
  }
  EXPECT_LT(bytes, size_t{64} << 20);
}

// 8 devices with 32 executions ahead of 2,400 graph nodes, each with a record of 248 bytes that
// takes its place at the launch.
TEST(ActivityBuffersTest, RecordsOfEightDevicesInFlightFitBelowTheLimit) {
  ActivityBuffers buffers;
  buffers.Configure(true, kPeriodMs, 0);
  buffers.SetDevices(8);
  size_t bytes = 0;
  while (bytes < size_t{8} * 32 * 2400 * 248) {
    const auto buffer = buffers.Request(1 + bytes % 8, kDay + bytes);
    ASSERT_NE(buffer.data, nullptr) << bytes;
    bytes += buffer.bytes;
  }
  EXPECT_EQ(buffers.refused(), 0u);
}

TEST(ActivityBuffersTest, MemoryOfABurstIsGivenBack) {
  ActivityBuffers buffers;
  buffers.Configure(true, kPeriodMs, 0);
  std::vector<ActivityBuffers::Buffer> out;
  for (uint64_t i = 0; i < 400; ++i) out.push_back(buffers.Request(1, kDay + i));
  const size_t most = buffers.mapped_bytes();
  for (const auto& buffer : out) buffers.Completed(buffer.data, buffer.bytes, buffer.bytes);
  ActivityBuffers::Buffer taken;
  while (buffers.Take(&taken)) buffers.Recycle(taken);
  EXPECT_LT(buffers.mapped_bytes(), size_t{20} << 20);
  EXPECT_GT(most, buffers.mapped_bytes());
  EXPECT_EQ(buffers.most_mapped_bytes(), most);
}

TEST(ActivityBuffersTest, ARecycledBufferIsZeroAgain) {
  ActivityBuffers buffers;
  auto buffer = buffers.Request(1, kDay);
  std::memset(buffer.data, 0xAB, 1000);
  buffers.Completed(buffer.data, buffer.bytes, 1000);
  ActivityBuffers::Buffer taken;
  ASSERT_TRUE(buffers.Take(&taken));
  EXPECT_EQ(taken.data, buffer.data);
  EXPECT_EQ(taken.valid_bytes, 1000u);
  buffers.Recycle(taken);
  buffer = buffers.Request(1 << 12, kDay);
  EXPECT_EQ(buffer.data, taken.data);
  EXPECT_TRUE(AllZero(buffer));
}

TEST(ActivityBuffersTest, CompletedBuffersComeInOrder) {
  ActivityBuffers buffers;
  std::vector<uint8_t*> order;
  for (int i = 0; i < 5; ++i) order.push_back(buffers.Request().data);
  for (uint8_t* data : order) buffers.Completed(data, 1, 1);
  ActivityBuffers::Buffer taken;
  for (uint8_t* data : order) {
    ASSERT_TRUE(buffers.Take(&taken));
    EXPECT_EQ(taken.data, data);
  }
  EXPECT_FALSE(buffers.Take(&taken));
}

TEST(ActivityBuffersTest, SizeBeyondTheBufferIsRejected) {
  ActivityBuffers buffers;
  const auto buffer = buffers.Request();
  buffers.Completed(buffer.data, buffer.bytes, buffer.bytes * 10);
  ActivityBuffers::Buffer taken;
  ASSERT_TRUE(buffers.Take(&taken));
  EXPECT_EQ(taken.valid_bytes, buffer.bytes);
}

TEST(ActivityBuffersTest, RequestsPastTheLimitAreRefusedWhereCuptiAllowsIt) {
  constexpr size_t kLimit = size_t{16} << 20;
  for (const bool may_refuse : {true, false}) {
    ActivityBuffers buffers;
    buffers.Configure(may_refuse, kPeriodMs, kLimit);
    bool refused = false;
    for (int i = 0; i < 3000 && !refused; ++i) refused = buffers.Request().data == nullptr;
    EXPECT_EQ(refused, may_refuse);
    EXPECT_EQ(buffers.refused() > 0, may_refuse);
    if (may_refuse) {
      EXPECT_LE(buffers.mapped_bytes(), kLimit);
    }
  }
}

}  // namespace
}  // namespace xlatrace::collector
