// SPDX-License-Identifier: Apache-2.0

// Replays the fuzzer's corpus as an ordinary test.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/importers/fuzz/chrome_trace_input.h"
#include "tests/importers/fuzz/nsys_input.h"
#include "tests/importers/fuzz/parquet_input.h"
#include "tests/importers/trace_json.h"
#include "tests/importers/xspace_builder.h"
#include "tests/source_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace xlatrace::importers {
namespace {

void Replay(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(XplaneFuzzCorpus, XplaneCorpusReplaysWithoutCrash) {
  Replay(MixedSpace());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           SourceFolder() + "/tests/importers/fuzz/xplane_corpus")) {
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    Replay(bytes.str());
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(ChromeTraceFuzzCorpus, ChromeTraceCorpusReplaysWithoutCrash) {
  const auto replay = [](const std::string& bytes) {
    RunChromeTraceInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  };
  replay(KinetoTrace());
  replay(XprofTrace());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           SourceFolder() + "/tests/importers/fuzz/chrome_trace_corpus")) {
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    replay(bytes.str());
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(NsysFuzzCorpus, NsysCorpusReplaysWithoutCrash) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceFolder() + "/tests/importers/fuzz/nsys_corpus")) {
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    RunNsysInput(reinterpret_cast<const uint8_t*>(bytes.str().data()), bytes.str().size());
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(ParquetFuzzCorpus, ParquetCorpusReplaysWithoutCrash) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           SourceFolder() + "/tests/importers/fuzz/parquet_corpus")) {
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    RunParquetInput(reinterpret_cast<const uint8_t*>(bytes.str().data()), bytes.str().size());
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace xlatrace::importers
