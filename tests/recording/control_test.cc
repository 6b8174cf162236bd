// SPDX-License-Identifier: Apache-2.0

// Orders to a running recording, and the processes' answers.

#include "recording/control.h"

#include <gtest/gtest.h>

namespace xlatrace::recording {
namespace {

TEST(Control, OrderRoundTrips) {
  for (const bool on : {true, false}) {
    const ControlOrder order = ParseControl(FormatControl({12, on, on}));
    EXPECT_EQ(order.number, 12u);
    EXPECT_EQ(order.recording, on);
    EXPECT_EQ(order.flush, on);
  }
}

TEST(Control, InvalidOrderIsIgnored) {
  for (const char* text : {"", "stop", "stop 3", "stop\n", "stop 3x\n", "stop -3\n", "halt 3\n",
                           "stop 3 \n", "stop 3 x\n", "stop flush\n", "flush 3\n", "stop  3\n",
                           "stop 18446744073709551616\n", "\n"}) {
    EXPECT_EQ(ParseControl(text).number, 0u) << text;
    EXPECT_TRUE(ParseControl(text).recording) << text;
  }
}

TEST(Control, LastOrderOfEachProcessCounts) {
  const std::string job = "token\nended 7 100 1\n" +
                          FormatState("token.a.host.7.1f", 1, ProcessState::kStopped) +
                          FormatState("token.b.8.1f", 1, ProcessState::kStopped) +
                          FormatState("token.a.host.7.1f", 2, ProcessState::kRecording) +
                          "state token.c.9.1f x stopped\nstate\nstate token.d.9.1f 3";
  const auto states = ParseStates(job);
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states.at("token.a.host.7.1f").order, 2u);
  EXPECT_EQ(states.at("token.a.host.7.1f").word, "recording");
  EXPECT_EQ(states.at("token.b.8.1f").word, "stopped");
}

}  // namespace
}  // namespace xlatrace::recording
