// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.h"

#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(SubprocessTest, ExitStatusAndSignalsAreReported) {
  EXPECT_EQ(RunChild({"true"}, {})->status, 0);
  EXPECT_EQ(RunChild({"sh", "-c", "exit 7"}, {})->status, 7);
  const auto killed = RunChild({"sh", "-c", "kill -9 $$"}, {});
  EXPECT_EQ(killed->signal, SIGKILL);
  EXPECT_EQ(killed->status, 128 + SIGKILL);
}

TEST(SubprocessTest, CommandThatCannotRunIsDistinguishedFromAFailingOne) {
  const auto missing = RunChild({"/no/such/program"}, {});
  EXPECT_EQ(missing->status, kNotFoundStatus);
  EXPECT_EQ(missing->exec_error, ENOENT);
  const auto folder = RunChild({"/"}, {});
  EXPECT_EQ(folder->status, kCannotRunStatus);
  EXPECT_EQ(RunChild({"sh", "-c", "exit 127"}, {})->exec_error, 0);
}

TEST(SubprocessTest, TheEnvironmentReachesTheChild) {
  EXPECT_EQ(RunChild({"sh", "-c", "test \"$XLATRACE_X\" = 'a b'"}, {{"XLATRACE_X", "a b"}})->status,
            0);
}

TEST(SubprocessTest, TerminateIsPassedOnToTheChild) {
  // The child signals that it runs by terminating its parent, this process. It waits a bounded time
  // in case the signal does not come.
  const auto child = RunChild({"sh", "-c",
                               "trap 'exit 9' TERM; kill -TERM $PPID; i=0;"
                               "while [ $i -lt 2000000 ]; do i=$((i + 1)); done"},
                              {});
  EXPECT_EQ(child->status, 9);
}

TEST(SubprocessTest, SigpipeIsDefaultInTheChild) {
  signal(SIGPIPE, SIG_IGN);
  const auto child = RunChild({"sh", "-c", "kill -PIPE $$; exit 3"}, {});
  signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(child->signal, SIGPIPE);
}

TEST(SubprocessTest, OutputIsCapturedWithinLimits) {
  EXPECT_EQ(*CaptureOutput({"echo", "hello"}, 5000), "hello\n");
  EXPECT_FALSE(CaptureOutput({"sh", "-c", "exit 1"}, 5000));
  EXPECT_FALSE(CaptureOutput({"yes"}, 5000, 1000));
  EXPECT_FALSE(
      CaptureOutput({"sh", "-c", "i=0; while [ $i -lt 9000000 ]; do i=$((i + 1)); done"}, 50));
  EXPECT_FALSE(CaptureOutput({"/no/such/program"}, 5000));
}

TEST(SubprocessTest, CapturedCommandHasBothOutputsAndItsStatus) {
  const auto done = RunCaptured({"sh", "-c", "cat; echo out; echo $XLATRACE_X >&2; exit 3"},
                                {{"XLATRACE_X", "err"}}, 5000, 100);
  EXPECT_EQ(done->status, 3);
  EXPECT_EQ(done->out, "out\n");
  EXPECT_EQ(done->error, "err\n");
  EXPECT_TRUE(RunCaptured({"yes"}, {}, 5000, 1000)->too_long);
  EXPECT_EQ(RunCaptured({"yes"}, {}, 5000, 1000)->out.size(), 1000U);
  EXPECT_TRUE(RunCaptured({"sleep", "60"}, {}, 50, 1000)->timed_out);
  EXPECT_EQ(RunCaptured({"/no/such/program"}, {}, 5000, 1000)->status, kNotFoundStatus);
}

}  // namespace
}  // namespace xlatrace
