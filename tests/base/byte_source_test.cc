// SPDX-License-Identifier: Apache-2.0
#include "base/byte_source.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/compress.h"

namespace xlatrace {
namespace {

namespace fs = std::filesystem;

// Bytes that hardly compress: no bomb.
std::string Noise(size_t size) {
  std::mt19937_64 random(7);
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(random());
  return bytes;
}

class ByteSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("xlatrace_source_" + std::to_string(getpid()) + "_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Write(const std::string& bytes) const {
    const std::string path = (folder_ / "file").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  fs::path folder_;
};

void ExpectBytes(const ByteSource& source, const std::string& want) {
  ASSERT_EQ(source.size(), want.size());
  for (const auto& [offset, count] :
       {std::pair<size_t, size_t>{0, want.size()}, {want.size() / 2, 1000}, {3, 5}}) {
    std::string got(count, '\0');
    got.resize(source.ReadAt(offset, got.data(), got.size()));
    EXPECT_TRUE(got == want.substr(offset, count)) << "from " << offset;
  }
  char byte = 0;
  EXPECT_EQ(source.ReadAt(want.size(), &byte, 1), 0u);
  EXPECT_EQ(source.ReadAt(want.size() - 1, &byte, 1), 1u);
  EXPECT_EQ(byte, want.back());
}

TEST_F(ByteSourceTest, PlainFileIsReadAtAnyOffset) {
  const std::string bytes = Noise(3'000'000);
  const auto source = ByteSource::Open(Write(bytes));
  ASSERT_TRUE(source);
  ExpectBytes(*source, bytes);
}

TEST_F(ByteSourceTest, BytesInMemoryAreReadAtAnyOffset) {
  const std::string bytes = Noise(10'000);
  ExpectBytes(ByteSource::OfBytes(bytes), bytes);
}

TEST_F(ByteSourceTest, CompressedFileIsReadAtAnyOffset) {
  const std::string bytes = Noise(3'500'000);
  const std::string path = Write(GzipCompress(bytes, 1));
  for (const size_t held : {size_t{64} << 20, size_t{1'000}}) {
    const auto source = ByteSource::Open(path, held);
    ASSERT_TRUE(source);
    ExpectBytes(*source, bytes);
  }
}

TEST_F(ByteSourceTest, ACompressedFileThatIsCutOffIsRefused) {
  std::string bytes = GzipCompress(Noise(3'500'000), 1);
  bytes.resize(bytes.size() / 2);
  const std::string path = Write(bytes);
  EXPECT_FALSE(ByteSource::Open(path));
  EXPECT_FALSE(ByteSource::Open(path, 1'000));
}

TEST_F(ByteSourceTest, FileTruncatedDuringReadingEndsEarly) {
  const std::string path = Write(Noise(100'000));
  const auto source = ByteSource::Open(path);
  ASSERT_TRUE(source);
  fs::resize_file(path, 40'000);
  std::string got(100'000, '\0');
  EXPECT_EQ(source->ReadAt(0, got.data(), got.size()), 40'000u);
  EXPECT_EQ(source->ReadAt(50'000, got.data(), 10), 0u);
}

TEST_F(ByteSourceTest, FoldersAndMissingFilesAreRejected) {
  EXPECT_FALSE(ByteSource::Open(folder_.string()));
  EXPECT_FALSE(ByteSource::Open((folder_ / "absent").string()));
}

}  // namespace
}  // namespace xlatrace
