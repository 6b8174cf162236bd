// SPDX-License-Identifier: Apache-2.0
#include "collector/activity_buffers.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::collector {
namespace {

constexpr size_t kBudget = size_t{256} << 20;  // What the whole collector may take.

bool AllZero(const ActivityBuffers::Buffer& buffer) {
  return std::all_of(buffer.data, buffer.data + buffer.bytes, [](uint8_t b) { return b == 0; });
}

TEST(ActivityBuffersTest, ABufferComesAlignedZeroedAndLarge) {
  ActivityBuffers buffers;
  const auto buffer = buffers.Request();
  ASSERT_NE(buffer.data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data) % 8, 0u);
  EXPECT_EQ(buffer.bytes, size_t{4} << 20);
  EXPECT_TRUE(AllZero(buffer));
}

TEST(ActivityBuffersTest, ThousandThreadsStayBelowTheLimit) {
  ActivityBuffers buffers;
  buffers.Configure(true);
  size_t bytes = 0;
  std::set<uint8_t*> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto buffer = buffers.Request();
    ASSERT_NE(buffer.data, nullptr) << i;
    EXPECT_TRUE(seen.insert(buffer.data).second);
    bytes += buffer.bytes;
  }
  EXPECT_LT(bytes, kBudget);
}

TEST(ActivityBuffersTest, ARecycledBufferIsZeroAgain) {
  ActivityBuffers buffers;
  auto buffer = buffers.Request();
  std::memset(buffer.data, 0xAB, 1000);
  buffers.Completed(buffer.data, buffer.bytes, 1000);
  ActivityBuffers::Buffer taken;
  ASSERT_TRUE(buffers.Take(&taken));
  EXPECT_EQ(taken.data, buffer.data);
  EXPECT_EQ(taken.valid_bytes, 1000u);
  buffers.Recycle(taken);
  buffer = buffers.Request();
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

TEST(ActivityBuffersTest, AValidSizeBeyondTheBufferIsNotBelieved) {
  ActivityBuffers buffers;
  const auto buffer = buffers.Request();
  buffers.Completed(buffer.data, buffer.bytes, buffer.bytes * 10);
  ActivityBuffers::Buffer taken;
  ASSERT_TRUE(buffers.Take(&taken));
  EXPECT_EQ(taken.valid_bytes, buffer.bytes);
}

TEST(ActivityBuffersTest, PastTheLimitCuptiIsRefusedOnlyWhereItCanTakeIt) {
  ActivityBuffers buffers;
  buffers.Configure(true);
  bool refused = false;
  for (int i = 0; i < 20000 && !refused; ++i) refused = buffers.Request().data == nullptr;
  EXPECT_TRUE(refused);
  EXPECT_GT(buffers.refused(), 0u);
  EXPECT_LT(buffers.mapped_bytes(), kBudget);
}

}  // namespace
}  // namespace xlatrace::collector
