// SPDX-License-Identifier: Apache-2.0

// The fuzz targets' corpora as ordinary tests.

#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/hlo/fuzz/inputs.h"
#include "tests/source_folder.h"

namespace xlatrace::hlo {
namespace {

TEST(FuzzReplay, EveryCorpusFileKeepsTheInvariants) {
  int files = 0;
  for (const std::string input :
       {"text", "proto", "thunks", "dump_name", "text_proto", "reports", "wire", "archive"}) {
    const std::filesystem::path folder =
        std::filesystem::path(SourceFolder() + "/tests/hlo/fuzz/corpus") / input;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      auto bytes = ReadFile(entry.path().string());
      ASSERT_TRUE(bytes) << entry.path();
      RunFuzzInput(input, *bytes);
      ++files;
    }
  }
  EXPECT_GE(files, 20);
}

}  // namespace
}  // namespace xlatrace::hlo
