// SPDX-License-Identifier: Apache-2.0
#include "analysis/device_lag.h"

#include <functional>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

constexpr int64_t kComputes = 1000;

// Steps of devices that compute `more` than kComputes and leave a collective of 10 together; their
// numbers begin at 10.
DeviceSteps Steps(int64_t devices, int64_t steps,
                  const std::function<int64_t(int64_t, int64_t)>& more, bool coupled = true) {
  DeviceSteps made;
  for (int64_t s = 0; s < steps; ++s) {
    int64_t longest = 0;
    for (int64_t d = 0; d < devices; ++d) longest = std::max(longest, kComputes + more(d, s));
    for (int64_t d = 0; d < devices; ++d) {
      made.Add(d + 1, 10 + s, coupled ? longest + 10 : kComputes + more(d, s));
    }
    for (int64_t d = 0; d < devices && coupled; ++d) {
      made.AddExposed(d + 1, 10 + s, longest + 10 - kComputes - more(d, s));
    }
  }
  return made;
}

TEST(DeviceLag, NamesTheDeviceThatIsSlowInEveryStep) {
  for (const int64_t devices : {4, 9}) {
    const auto lag =
        FindDeviceLag(Steps(devices, 8, [](int64_t d, int64_t) { return d == 3 ? 100 : d % 3; }));
    ASSERT_TRUE(lag);
    EXPECT_EQ(lag->device, 4);
    EXPECT_DOUBLE_EQ(lag->excess_ns, 99);  // The median device has 1 more than kComputes.
    EXPECT_DOUBLE_EQ(lag->cost_ns, 98);    // The longest of the others 2.
    EXPECT_TRUE(lag->all_along);
    EXPECT_EQ(lag->last, 8);
    EXPECT_EQ(lag->of, 8);
  }
}

TEST(DeviceLag, ExcessIsTheDifferenceOfMeansThatATableShows) {
  // 90, 60 and 0 more in turn: the mean of the steps is 50 more, their median 60.
  const auto lag = FindDeviceLag(Steps(4, 9, [](int64_t d, int64_t s) {
    return d != 1 ? 0 : s % 3 == 0 ? 90 : s % 3 == 1 ? 60 : 0;
  }));
  ASSERT_TRUE(lag);
  EXPECT_DOUBLE_EQ(lag->excess_ns, 50);
  EXPECT_EQ(lag->last, 6);
}

TEST(DeviceLag, LateLagHasItsFirstStep) {
  const auto lag =
      FindDeviceLag(Steps(4, 12, [](int64_t d, int64_t s) { return d == 1 && s >= 5 ? 200 : 0; }));
  ASSERT_TRUE(lag);
  EXPECT_EQ(lag->device, 2);
  EXPECT_EQ(lag->since, 15);
  EXPECT_FALSE(lag->all_along);
  EXPECT_EQ(lag->of, 7);
  EXPECT_DOUBLE_EQ(lag->cost_ns, 200);
  EXPECT_NEAR(lag->excess_ns, 200.0 * 7 / 12, 1e-6);
}

TEST(DeviceLag, SmallOrAlternatingLagNamesNoDevice) {
  const auto none = [](int64_t devices, int64_t steps,
                       const std::function<int64_t(int64_t, int64_t)>& more, bool coupled = true) {
    return !FindDeviceLag(Steps(devices, steps, more, coupled)).has_value();
  };
  const auto second = [](int64_t d, int64_t) { return d == 1 ? 200 : 0; };
  EXPECT_TRUE(none(4, 8, [](int64_t d, int64_t) { return d * 2; }));  // Less than 2 %.
  EXPECT_TRUE(none(4, 8, [](int64_t d, int64_t s) { return s % 4 == d ? 200 : 0; }));  // In turn.
  EXPECT_TRUE(none(4, 2, second));
  EXPECT_TRUE(none(1, 8, second));
  // Without a collective no device waits, however much steps differ.
  EXPECT_TRUE(none(4, 8, second, false));
  EXPECT_FALSE(none(4, 8, second));
}

TEST(DeviceLag, MissingStepsOfADeviceAreIgnored) {
  DeviceSteps steps = Steps(3, 8, [](int64_t d, int64_t) { return d == 2 ? 150 : 0; });
  steps.Add(4, 10, kComputes + 160);
  steps.AddExposed(4, 10, 160);
  steps.AddExposed(4, 99, 5'000'000);  // Step 99 does not exist.
  const auto lag = FindDeviceLag(steps);
  ASSERT_TRUE(lag);
  EXPECT_EQ(lag->device, 3);
}

}  // namespace
}  // namespace xlatrace::analysis
