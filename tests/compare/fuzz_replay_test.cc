// SPDX-License-Identifier: Apache-2.0

// The corpus of the fuzz target as an ordinary test, with every file cut and changed.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/source_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace xlatrace::compare {
namespace {

void RunTarget(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(FuzzReplay, BaselinesOfTheCorpusAreReadWithoutCrash) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           SourceFolder() + "/tests/compare/fuzz/run_record_corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ++files;
    RunTarget(bytes);
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 200) {
      RunTarget(bytes.substr(0, at));
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0x11);
      RunTarget(changed);
    }
  }
  EXPECT_GE(files, 4u);
}

}  // namespace
}  // namespace xlatrace::compare
