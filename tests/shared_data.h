// SPDX-License-Identifier: Apache-2.0

// Where the recordings of real programs lie, for tests in C++; tests/shared_data.py is the same for
// Python.

#ifndef XLATRACE_TESTS_SHARED_DATA_H_
#define XLATRACE_TESTS_SHARED_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/source_folder.h"

namespace xlatrace {

// The folder that XLATRACE_SHARED_DATA names (empty: one that does not exist), else shared/data
// beside the checkout.
inline std::filesystem::path SharedData() {
  const char* given = std::getenv("XLATRACE_SHARED_DATA");
  if (given == nullptr) return std::filesystem::path(SourceFolder()) / "../shared/data";
  return *given != '\0' ? std::filesystem::path(given) : "/nonexistent";
}

// Why a test that needs `relative` is skipped; scripts/skips.py counts all of them together.
inline std::string NoRecordings(const std::filesystem::path& relative) {
  return "no recordings: XLATRACE_SHARED_DATA has no " + relative.string();
}

}  // namespace xlatrace

// The file or folder `relative` of the recordings, or a skip.
#define XLATRACE_SHARED_OR_SKIP(variable, relative)                             \
  const std::filesystem::path variable = ::xlatrace::SharedData() / (relative); \
  if (!std::filesystem::exists(variable)) GTEST_SKIP() << ::xlatrace::NoRecordings(relative)

#endif  // XLATRACE_TESTS_SHARED_DATA_H_
