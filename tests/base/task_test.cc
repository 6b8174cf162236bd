// SPDX-License-Identifier: Apache-2.0
#include "base/task.h"

#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(Task, TaskRunsItsWorkOnce) {
  int done = 0;
  {
    Task task([&] { ++done; });
    task.Wait();
    EXPECT_EQ(done, 1);
    task.Wait();
  }
  EXPECT_EQ(done, 1);
}

TEST(Task, ExceptionIsThrownInTheWaitingThread) {
  Task task([] { throw std::bad_alloc(); });
  EXPECT_THROW(task.Wait(), std::bad_alloc);
  EXPECT_NO_THROW(task.Wait());
}

// As when the work beside it throws: the program goes on.
TEST(Task, TaskIsJoinedByItsDestructor) {
  int done = 0;
  try {
    Task task([&] { ++done; });
    throw std::runtime_error("beside");
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "beside");
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace xlatrace
