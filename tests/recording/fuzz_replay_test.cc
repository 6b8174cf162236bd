// SPDX-License-Identifier: Apache-2.0

// The corpus of the fuzz target as an ordinary test, and the files a corpus is made of.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/recording/row_log.h"
#include "tests/recording/sample_rows.h"
#include "tests/source_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace xlatrace::recording {
namespace {

void RunTarget(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(FuzzReplay, EveryCorpusFileIsReadWithoutHarm) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceFolder() + "/tests/recording/fuzz/corpus")) {
    std::ifstream in(entry.path(), std::ios::binary);
    RunTarget({std::istreambuf_iterator<char>(in), {}});
    ++files;
  }
  EXPECT_GE(files, 4);
}

// Random damage behind valid checksums.
TEST(FuzzReplay, DamageBehindRepairedChecksumsIsHarmless) {
  const TestFile file;
  {
    SampleRows samples(11);
    Writer writer(file.Open(), "token.host.7.1f", UINT64_MAX);
    for (const AnyRow& row : samples.AllAt(300, "name")) WriteRow(row, writer);
    std::vector<AnyRow> rows;
    for (int i = 0; i < 20; ++i) samples.AddLaunch(&rows);
    for (const AnyRow& row : rows) WriteRow(row, writer);
    writer.Finish();
  }
  const std::string whole = "\x01" + file.Bytes();
  std::mt19937_64 random(12);
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = whole;
    for (int change = 0; change <= i % 3; ++change) {
      bytes[1 + random() % (bytes.size() - 1)] = static_cast<char>(random());
    }
    RunTarget(bytes);
  }
}

}  // namespace
}  // namespace xlatrace::recording
