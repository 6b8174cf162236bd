// SPDX-License-Identifier: Apache-2.0

// Requests to a worker thread, each interleaving of the last work with a request forced.

#include "collector/work_requests.h"

#include <thread>

#include <gtest/gtest.h>

namespace xlatrace::collector {
namespace {

TEST(WorkRequests, RequestIsServedByLaterWork) {
  WorkRequests requests;
  const WorkRequests::Work before = requests.Next();
  EXPECT_FALSE(requests.IsRequested(before));
  const uint64_t request = requests.Add();
  requests.Done(before);
  EXPECT_FALSE(requests.Wait(request, 0));
  const WorkRequests::Work after = requests.Next();
  EXPECT_TRUE(requests.IsRequested(after));
  requests.Done(after);
  EXPECT_TRUE(requests.Wait(request, 0));
}

// The worker is awake for another reason and begins its last work before the request is added.
TEST(WorkRequests, FinalWorkServesARequestDuringIt) {
  WorkRequests requests;
  requests.MakeNextLast();
  const WorkRequests::Work last = requests.Next();
  EXPECT_TRUE(last.last);
  const uint64_t request = requests.Add();
  requests.Done(last);
  EXPECT_TRUE(requests.Wait(request, 0));
}

TEST(WorkRequests, FinalWorkServesARequestAfterIt) {
  WorkRequests requests;
  requests.MakeNextLast();
  requests.Done(requests.Next());
  EXPECT_TRUE(requests.Wait(requests.Add(), 0));
}

TEST(WorkRequests, WaitingThreadIsWokenWhenServed) {
  WorkRequests requests;
  std::thread worker([&requests] {
    while (!requests.Next().last) requests.Sleep(1000);
    requests.Done(requests.Next());
  });
  requests.MakeNextLast();
  EXPECT_TRUE(requests.Wait(requests.Add(), 60000));
  worker.join();
}

}  // namespace
}  // namespace xlatrace::collector
