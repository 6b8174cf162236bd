// SPDX-License-Identifier: Apache-2.0

// The stack of open ranges and the calls on a thread: which instruction a launch belongs to.

#include "collector/thread_log.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::collector {
namespace {

OpenRange Range(const void* domain, uint32_t text, RangeKind kind) {
  OpenRange range{};
  range.domain = domain;
  range.text = text;
  range.kind = kind;
  return range;
}

class ThreadLogTest : public testing::Test {
 protected:
  // A thread of its own, so that every test starts with an empty stack.
  template <typename Body>
  static void OnThread(Body body) {
    std::thread([&] {
      ThreadLog* log = ThreadLog::Current();
      ASSERT_NE(log, nullptr);
      body(*log);
    }).join();
  }

  static bool Pop(ThreadLog& log, const void* domain, uint32_t* text = nullptr) {
    OpenRange range;
    uint32_t depth = 0;
    uint64_t run = 0;
    const bool popped = log.Pop(domain, &range, &depth, &run);
    if (popped && text != nullptr) *text = range.text;
    return popped;
  }

  const int tsl_ = 0;
  const int user_ = 0;
  const void* tsl = &tsl_;
  const void* user = &user_;
};

TEST_F(ThreadLogTest, InnermostThunkOfTheModuleCounts) {
  OnThread([&](ThreadLog& log) {
    log.Push(Range(tsl, 10, RangeKind::kModule), 77);
    EXPECT_EQ(log.module(), 10u);
    EXPECT_EQ(log.run(), 77u);
    EXPECT_EQ(log.thunk(), 0u);
    log.Push(Range(tsl, 20, RangeKind::kThunk), 0);
    log.Push(Range(tsl, 21, RangeKind::kThunk), 0);
    log.Push(Range(user, 30, RangeKind::kOther), 0);
    EXPECT_EQ(log.thunk(), 21u);
    EXPECT_TRUE(Pop(log, user));
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.thunk(), 20u);
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.thunk(), 0u);
    EXPECT_EQ(log.run(), 77u);
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.run(), 0u);
  });
}

TEST_F(ThreadLogTest, OutsideOfModulesTheInnermostOpCounts) {
  OnThread([&](ThreadLog& log) {
    log.Push(Range(tsl, 10, RangeKind::kOp), 0);
    log.Push(Range(tsl, 11, RangeKind::kOp), 0);
    EXPECT_EQ(log.thunk(), 11u);
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.thunk(), 10u);
    log.Push(Range(tsl, 20, RangeKind::kModule), 5);
    EXPECT_EQ(log.thunk(), 0u);
    log.Push(Range(tsl, 12, RangeKind::kOp), 0);
    EXPECT_EQ(log.thunk(), 0u);  // Work of XLA is identified by its thunks.
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.thunk(), 10u);
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.thunk(), 0u);
  });
}

TEST_F(ThreadLogTest, InnerModuleHidesTheThunkOfTheOuterModule) {
  OnThread([&](ThreadLog& log) {
    log.Push(Range(tsl, 10, RangeKind::kModule), 1);
    log.Push(Range(tsl, 20, RangeKind::kThunk), 0);
    log.Push(Range(tsl, 11, RangeKind::kModule), 2);
    EXPECT_EQ(log.thunk(), 0u);
    EXPECT_EQ(log.run(), 2u);
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.thunk(), 20u);
    EXPECT_EQ(log.run(), 1u);
  });
}

TEST_F(ThreadLogTest, EachDomainHasItsOwnStack) {
  OnThread([&](ThreadLog& log) {
    log.Push(Range(tsl, 20, RangeKind::kThunk), 0);
    log.Push(Range(user, 30, RangeKind::kOther), 0);
    log.Push(Range(tsl, 21, RangeKind::kThunk), 0);
    uint32_t text = 0;
    // Crossing pops: the user's range ends before the thunk inside it.
    EXPECT_TRUE(Pop(log, user, &text));
    EXPECT_EQ(text, 30u);
    EXPECT_EQ(log.thunk(), 21u);
    EXPECT_TRUE(Pop(log, tsl, &text));
    EXPECT_EQ(text, 21u);
    EXPECT_EQ(log.thunk(), 20u);
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.thunk(), 0u);
  });
}

TEST_F(ThreadLogTest, SurplusPopIsReportedAndChangesNothing) {
  OnThread([&](ThreadLog& log) {
    log.Push(Range(user, 30, RangeKind::kOther), 0);
    EXPECT_FALSE(Pop(log, tsl));
    EXPECT_EQ(log.depth(), 1u);
    EXPECT_TRUE(Pop(log, user));
    EXPECT_FALSE(Pop(log, user));
  });
}

TEST_F(ThreadLogTest, RangesDeeperThanTheStackAreBalanced) {
  OnThread([&](ThreadLog& log) {
    log.Push(Range(tsl, 20, RangeKind::kThunk), 0);
    for (int i = 0; i < 500; ++i) log.Push(Range(user, 30, RangeKind::kOther), 0);
    EXPECT_EQ(log.depth(), 501u);
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(Pop(log, user));
    EXPECT_EQ(log.thunk(), 20u);
    EXPECT_TRUE(Pop(log, tsl));
    EXPECT_EQ(log.depth(), 0u);
  });
}

TEST_F(ThreadLogTest, DriverCallInsideARuntimeCallCountsOnce) {
  OnThread([&](ThreadLog& log) {
    uint64_t start = 0;
    log.EnterCall(5, 100);  // cudaLaunchKernel
    log.EnterCall(5, 110);  // its cuLaunchKernel
    EXPECT_EQ(log.LeaveCall(5, &start), ThreadLog::CallEnd::kNested);
    EXPECT_EQ(log.LeaveCall(5, &start), ThreadLog::CallEnd::kRecord);
    EXPECT_EQ(start, 100u);
    EXPECT_EQ(log.LeaveCall(5, &start), ThreadLog::CallEnd::kUnknown);
  });
}

TEST_F(ThreadLogTest, NestedCallsWithIdsOfTheirOwnAreBothKept) {
  OnThread([&](ThreadLog& log) {
    uint64_t start = 0;
    log.EnterCall(5, 100);
    log.EnterCall(6, 110);
    EXPECT_EQ(log.LeaveCall(6, &start), ThreadLog::CallEnd::kRecord);
    EXPECT_EQ(start, 110u);
    EXPECT_EQ(log.LeaveCall(5, &start), ThreadLog::CallEnd::kRecord);
  });
}

TEST_F(ThreadLogTest, CallThatMadeAGraphNodeLaunchedNoWork) {
  OnThread([&](ThreadLog& log) {
    uint64_t start = 0;
    log.NodeCreated();  // cuGraphAddKernelNode: not one of the calls we watch.
    log.EnterCall(5, 100);
    EXPECT_EQ(log.LeaveCall(5, &start), ThreadLog::CallEnd::kRecord);
    log.EnterCall(6, 110);  // A launch on a stream that is being captured.
    log.NodeCreated();
    EXPECT_EQ(log.LeaveCall(6, &start), ThreadLog::CallEnd::kCaptured);
    log.EnterCall(7, 120);
    EXPECT_EQ(log.LeaveCall(7, &start), ThreadLog::CallEnd::kRecord);
  });
}

TEST_F(ThreadLogTest, ALaterThreadStartsWithAnEmptyStack) {
  OnThread([&](ThreadLog& log) { log.Push(Range(tsl, 20, RangeKind::kThunk), 0); });
  OnThread([&](ThreadLog& log) {
    EXPECT_EQ(log.thunk(), 0u);
    EXPECT_EQ(log.depth(), 0u);
  });
}

}  // namespace
}  // namespace xlatrace::collector
