// SPDX-License-Identifier: Apache-2.0
#include "store/host_event_list.h"

#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::store {
namespace {

std::vector<uint32_t> Ids(const std::vector<HostEventList::Event>& events) {
  std::vector<uint32_t> ids;
  for (const auto& event : events) ids.push_back(event.range_id);
  return ids;
}

TEST(HostEventList, EventsThatOverlapTheIntervalAreReturned) {
  HostEventList list;
  list.Add({.start_ns = 0, .end_ns = 10'000, .range_id = 1});
  list.Add({.start_ns = 10'000, .end_ns = 20'000, .range_id = 2});
  list.Add({.start_ns = 5'000, .end_ns = 95'000, .range_id = 3});
  list.Add({.start_ns = 40'000, .end_ns = 50'000, .range_id = 4});
  // Ends are exclusive.
  EXPECT_EQ(Ids(list.Within({{10'000, 15'000}, {50'000, 60'000}})), (std::vector<uint32_t>{2, 3}));
  EXPECT_TRUE(list.Within({}).empty());
}

TEST(HostEventList, ShortestEventsAreDroppedBeyondTheLimit) {
  HostEventList list(3);
  for (uint32_t k = 1; k <= 6; ++k) {
    list.Add({.start_ns = 0, .end_ns = 1'000 * k, .range_id = k});
  }
  // The limit of 1 us doubled to 2, then to 4 us.
  EXPECT_EQ(list.shortest_ns(), 4'000);
  EXPECT_EQ(Ids(list.Within({{0, 1}})), (std::vector<uint32_t>{4, 5, 6}));
}

}  // namespace
}  // namespace xlatrace::store
