// SPDX-License-Identifier: Apache-2.0

// Damage of profiles whose content is known: sound parts are read, the others are counted, and no
// sum changes without a run stat.

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "importers/xplane/xplane.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/xspace_builder.h"

namespace xlatrace::importers {
namespace {

constexpr int kDevices = 3;
constexpr int kStreams = 2;
constexpr int kKernels = 12;

// Device, stream, start, duration, name.
using Row = std::tuple<int64_t, int64_t, int64_t, int64_t, std::string>;

PlaneBuilder GpuPlane(int device, std::vector<int> order = {}) {
  if (order.empty()) {
    for (int i = 0; i < kKernels; ++i) order.push_back(i);
  }
  PlaneBuilder gpu("/device:GPU:" + std::to_string(device));
  gpu.Stat("core_count", int64_t{132});
  for (int stream = 1; stream <= kStreams; ++stream) {
    gpu.Line("Stream #" + std::to_string(stream) + "(Kernel)", stream, 1000);
    for (const int i : order) {
      gpu.Event("kernel_" + std::to_string(i % 3), 1'000'000 * (i + 1),
                1'000 * (100 + 7 * i + stream),
                {{"correlation_id", int64_t{1000 * device + 100 * stream + i}},
                 {"kernel_details", Ref{"regs:32 grid:8,1,1 block:128,1,1"}}});
    }
  }
  return gpu;
}

std::vector<Row> RowsOf(int device) {
  std::vector<Row> rows;
  for (int stream = 1; stream <= kStreams; ++stream) {
    for (int i = 0; i < kKernels; ++i) {
      rows.emplace_back(device, stream, 1000 + 1000 * (i + 1), 100 + 7 * i + stream,
                        "kernel_" + std::to_string(i % 3));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> RowsOf(const MemorySink& sink, int device) {
  std::vector<Row> rows;
  for (const model::Activity& a : sink.activities) {
    if (sink.DeviceOf(a).ordinal != device) continue;
    const model::Lane& lane = sink.lanes[static_cast<size_t>(a.lane_id - 1)];
    rows.emplace_back(device, lane.stream_id, a.start_ns, a.end_ns - a.start_ns,
                      sink.Config(a).symbol);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

int64_t Lost(const MemorySink& sink) {
  int64_t lost = 0;
  for (const auto& [name, stat] : sink.stats) {
    if (stat.severity == model::Severity::kDataLoss) lost += stat.value;
  }
  return lost;
}

// Bytes of a profile, and where the plane of each device lies.
struct Profile {
  std::string bytes;
  std::array<std::pair<size_t, size_t>, kDevices> planes;
};
Profile MakeProfile() {
  Profile profile;
  SpaceBuilder space;
  space.Plane(TaskEnvironment(1'700'000'000'000'000'000));
  for (int device = 0; device < kDevices; ++device) {
    const size_t begin = space.bytes().size();
    space.Plane(GpuPlane(device));
    profile.planes[static_cast<size_t>(device)] = {begin, space.bytes().size()};
  }
  profile.bytes = space.Host("node7").bytes();
  return profile;
}

// Planes outside of the damage [begin, end) are whole. If a row of the others is missing or wrong,
// something was counted.
void ExpectOnlyDamageIsMissing(const Profile& profile, const MemorySink& sink, size_t begin,
                               size_t end) {
  bool all_there = true;
  for (int device = 0; device < kDevices; ++device) {
    const auto [first, last] = profile.planes[static_cast<size_t>(device)];
    const std::vector<Row> rows = RowsOf(sink, device);
    const std::vector<Row> truth = RowsOf(device);
    if (end <= first || begin >= last) {
      ASSERT_EQ(rows, truth) << "device " << device << ", damage " << begin << " to " << end;
    }
    all_there = all_there && rows == truth;
  }
  if (!all_there) {
    ASSERT_GT(Lost(sink), 0) << "damage " << begin << " to " << end;
  }
}

TEST(XplaneCorruption, FileCutAnywhereKeepsThePlanesBeforeTheCut) {
  const Profile profile = MakeProfile();
  for (size_t size = profile.planes[0].second; size < profile.bytes.size(); ++size) {
    MemorySink sink;
    ASSERT_TRUE(ImportXplane(std::string_view(profile.bytes).substr(0, size), "t", sink));
    for (int device = 0; device < kDevices; ++device) {
      const auto [first, last] = profile.planes[static_cast<size_t>(device)];
      const std::vector<Row> rows = RowsOf(sink, device);
      const std::vector<Row> truth = RowsOf(device);
      if (last <= size) {
        ASSERT_EQ(rows, truth) << "cut at " << size;
      }
      ASSERT_TRUE(std::includes(truth.begin(), truth.end(), rows.begin(), rows.end()));
      if (first < size && size < last) {
        ASSERT_GT(Lost(sink), 0) << "cut at " << size;
      }
    }
  }
}

TEST(XplaneCorruption, ZeroedBytesLoseTheirPlaneOnly) {
  const Profile profile = MakeProfile();
  std::mt19937 random(20261130);
  for (int round = 0; round < 3000; ++round) {
    const size_t begin = 64 + random() % (profile.bytes.size() - 64);
    const size_t end = std::min<size_t>(begin + 1 + random() % 900, profile.bytes.size());
    std::string bytes = profile.bytes;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
              bytes.begin() + static_cast<std::ptrdiff_t>(end), '\0');
    MemorySink sink;
    const Status status = ImportXplane(bytes, "t", sink);
    ASSERT_TRUE(status || begin <= profile.planes[0].second);
    if (status) ExpectOnlyDamageIsMissing(profile, sink, begin, end);
  }
}

TEST(XplaneCorruption, ZeroedEventLosesOneRow) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  for (int i = 0; i < 5; ++i) {
    if (i == 2) {
      gpu.RawEvent(std::string(30, '\0'));
    } else {
      gpu.Event("k", 1'000'000 * i, 500'000);
    }
  }
  MemorySink sink;
  ASSERT_TRUE(ImportXplane(SpaceBuilder().Plane(gpu).bytes(), "t", sink));
  EXPECT_EQ(sink.activities.size(), 4u);
  EXPECT_EQ(sink.Stat("damaged_event"), 1);
}

TEST(XplaneCorruption, RepeatedPlaneLineOrEventIsReadOnce) {
  SpaceBuilder planes;
  planes.Plane(GpuPlane(0)).Plane(GpuPlane(1)).Plane(GpuPlane(0)).Plane(GpuPlane(2));
  SpaceBuilder events;
  for (int device = 0; device < kDevices; ++device) {
    events.Plane(GpuPlane(device, {0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2}));
  }
  for (const std::string& bytes : {planes.bytes(), events.bytes()}) {
    MemorySink sink;
    ASSERT_TRUE(ImportXplane(bytes, "t", sink));
    for (int device = 0; device < kDevices; ++device)
      EXPECT_EQ(RowsOf(sink, device), RowsOf(device));
    EXPECT_EQ(sink.devices.size(), static_cast<size_t>(kDevices));
    EXPECT_GT(sink.Stat("repeated_row"), 0);
    EXPECT_EQ(Lost(sink), 0);
  }
}

TEST(XplaneCorruption, OrderOfPlanesAndEventsDoesNotMatter) {
  std::mt19937 random(7);
  std::vector<int> order;
  for (int i = 0; i < kKernels; ++i) order.push_back(i);
  std::shuffle(order.begin(), order.end(), random);
  SpaceBuilder space;
  for (const int device : {2, 0, 1}) space.Plane(GpuPlane(device, order));
  MemorySink sink;
  ASSERT_TRUE(ImportXplane(space.bytes(), "t", sink));
  for (int device = 0; device < kDevices; ++device) EXPECT_EQ(RowsOf(sink, device), RowsOf(device));
  EXPECT_EQ(Lost(sink), 0);
  EXPECT_EQ(sink.Stat("repeated_row"), 0);
}

// For all bytes, every row can be referred to and every interval is sane.
void ExpectTablesAreSane(const MemorySink& sink) {
  for (const model::Activity& a : sink.activities) {
    ASSERT_LE(a.start_ns, a.end_ns);
    ASSERT_LE(MemorySink::SelfNs(a), a.end_ns - a.start_ns);
    ASSERT_GE(MemorySink::SelfNs(a), 0);
    ASSERT_GT(a.lane_id, 0);
    ASSERT_LE(static_cast<size_t>(a.lane_id), sink.lanes.size());
    ASSERT_GT(a.config_id, 0);
    ASSERT_LE(static_cast<size_t>(a.config_id), sink.configs.size());
    ASSERT_LE(static_cast<size_t>(a.hint_id), sink.hints.size());
  }
}

TEST(XplaneCorruption, MixedProfileCutAnywhereHasSaneRows) {
  const std::string whole = MixedSpace();
  for (size_t size = 0; size < whole.size(); ++size) {
    MemorySink sink;
    const Status status = ImportXplane(std::string_view(whole).substr(0, size), "t", sink);
    if (!status) {
      ASSERT_FALSE(status.error().message.empty());
      ASSERT_TRUE(sink.processes.empty());  // Refused before the first row.
    }
    ExpectTablesAreSane(sink);
  }
}

TEST(XplaneCorruption, FlippedBitsDoNotCrash) {
  const std::string whole = MixedSpace();
  std::mt19937 random(20260117);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    for (int flips = 1 + round % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    MemorySink sink;
    const Status status = ImportXplane(bytes, "t", sink);
    ASSERT_TRUE(status || !status.error().message.empty());
    ExpectTablesAreSane(sink);
  }
}

TEST(XplaneCorruption, IntactProfileIsRead) {
  MemorySink sink;
  ASSERT_TRUE(ImportXplane(MixedSpace(), "t", sink));
  EXPECT_EQ(sink.activities.size(), 2u * 9 + 2 + 6);
  EXPECT_EQ(sink.modules.size(), 1u);
  EXPECT_EQ(sink.calls.size(), 8u);
  EXPECT_EQ(sink.steps.size(), 1u);
  EXPECT_EQ(sink.compiles.size(), 1u);
  EXPECT_EQ(Lost(sink), 0);
}

}  // namespace
}  // namespace xlatrace::importers
