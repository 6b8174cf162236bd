// SPDX-License-Identifier: Apache-2.0
#include "importers/common/dropped_count.h"

#include <gtest/gtest.h>

namespace xlatrace::importers {
namespace {

TEST(DroppedIn, CountsInSentencesOfProfilersAreRead) {
  // xla/backends/profiler/gpu/cupti_collector.cc, ReportNumEventsIfDropped.
  EXPECT_EQ(
      DroppedIn("GPU events dropped on host: Profiler has collected 2097152 driver events and "
                "1048576 device events. 1204 events dropped because of buffer is full. 3 "
                "events dropped because of unknown kind."),
      1207);
  EXPECT_EQ(DroppedIn("CUDA profiling: 1,512 events were lost."), 1512);
  EXPECT_EQ(DroppedIn("dropped 12 activity records"), 12);
  EXPECT_EQ(DroppedIn("Some events were dropped"), 1);
}

TEST(DroppedIn, CountsOfSeveralStatementsAreSummed) {
  EXPECT_EQ(DroppedIn("512 events dropped, 20 records lost"), 532);
  EXPECT_EQ(DroppedIn("dropped 12 records and lost 3 events"), 15);
  EXPECT_EQ(DroppedIn("512 events dropped, some records lost"), 512);
}

TEST(DroppedIn, OtherSentencesHaveNoCount) {
  EXPECT_EQ(DroppedIn("Number of CUPTI events produced: 26,303, CUPTI buffers: 4"), 0);
  EXPECT_EQ(DroppedIn("droplet 12"), 0);
  EXPECT_EQ(DroppedIn("Not all CUDA events might have been collected"), 0);
  EXPECT_EQ(
      DroppedIn("Installed CUDA driver version (11.4) is not supported by this build of Nsight "
                "Systems. CUDA trace will be collected using libraries for driver version 11.2"),
      0);
  EXPECT_EQ(DroppedIn(""), 0);
  EXPECT_EQ(DroppedIn("99999999999999999999999 events dropped"), 1);
}

TEST(IsAboutOtherSource, MessagesAboutCpuSamplesConcernAnotherSource) {
  for (const char* text :
       {"Not all NVTX events might have been collected: 3 were dropped",
        "Unable to configure the collection of CPU IP/backtrace samples, context switch data",
        "No OS runtime libraries events collected. Does the process use OS runtime libraries?"}) {
    EXPECT_TRUE(IsAboutOtherSource(text)) << text;
  }
  for (const char* text : {"CUDA profiling: 1,512 events were lost.", "bad",
                           "CUPTI: unable to sample, 12 activity records dropped"}) {
    EXPECT_FALSE(IsAboutOtherSource(text)) << text;
  }
}

}  // namespace
}  // namespace xlatrace::importers
