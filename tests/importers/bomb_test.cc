// SPDX-License-Identifier: Apache-2.0

// Compression bombs: small files that hold or claim gigabytes are refused before much memory is
// used.

#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/compress.h"
#include "importers/importer.h"
#include "importers/nsys_jax/projected_trace.h"
#include "importers/nsys_jax/snappy.h"
#include "tests/golden_text/golden_text.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/parquet_builder.h"
#include "tests/importers/trace_json.h"
#include "tests/importers/xspace_builder.h"

namespace xlatrace::importers {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// xz of `{"traceEvents": [` and of 1 MB of blanks; xz files may be joined.
const std::string kXzHead = FromHex(
    "fd377a585a000004e6d6b446020021010c0000008f98419c0100107b2274726163654576656e7473223a205b00"
    "000000a435cc32048258d000012911320a700e1fb6f37d010000000004595a");
const std::string kXzBlanks = FromHex(
    "fd377a585a000004e6d6b4460200210116000000742fe5a3efffff00d95d00106ffbbffea3b15ee5f83fb2aa26"
    "55f868704170150f8dfd1e4c1b8a42b719f4691871ae66238a8a4d2fa30dd97fa6e38c231153e05918c5758ae2"
    "77f8b6947f0c6ac0de744964e2e95c53b204d8f7440cab5f0d6d46e9e5c37688b79657acb64de1691d6ffb4b88"
    "106c42cb883f5c008fd04eaf262894711f3d8f24e1709ea7235fec28cb85d195988a7e2a91f22775f719c00698"
    "4d98fdd8afd5900fc42553f8f591363105a5b0ee6fc1704d470cd19111aaad601dbaceb127185c5986e9665258"
    "bee976ac59e4e55b0508f9c7daadfcfb522af7e495250000000000f9d790f0dce8ece40001f501808040007997"
    "7f47b1c467fb020000000004595a");

std::string Deflate(std::string_view bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string LittleEndian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return out;
}

struct ZipEntry {
  std::string name;
  std::string stored;  // Bytes as stored in the archive.
  uint64_t size = 0;   // Inflated size in the archive.
  uint32_t crc = 0;
  bool deflated = false;
};

// A zip of these entries, sizes in front of the data (APPNOTE 4.3).
std::string Zip(const std::vector<ZipEntry>& entries) {
  std::string files;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    const std::string fields =
        LittleEndian(20, 2) + LittleEndian(0, 2) + LittleEndian(entry.deflated ? 8 : 0, 2) +
        LittleEndian(0, 4) + LittleEndian(entry.crc, 4) + LittleEndian(entry.stored.size(), 4) +
        LittleEndian(entry.size, 4) + LittleEndian(entry.name.size(), 2) + LittleEndian(0, 2);
    directory += "PK\1\2" + LittleEndian(20, 2) + fields + LittleEndian(0, 10) +
                 LittleEndian(files.size(), 4) + entry.name;
    files += "PK\3\4" + fields + entry.name + entry.stored;
  }
  return files + directory + "PK\5\6" + LittleEndian(0, 4) + LittleEndian(entries.size(), 2) +
         LittleEndian(entries.size(), 2) + LittleEndian(directory.size(), 4) +
         LittleEndian(files.size(), 4) + LittleEndian(0, 2);
}

ZipEntry Stored(const std::string& name, const std::string& bytes) {
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  return {.name = name,
          .stored = bytes,
          .size = bytes.size(),
          .crc = static_cast<uint32_t>(crc32(0, data, static_cast<uInt>(bytes.size())))};
}

class BombTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("xlatrace_bomb_" + std::string(info->name()) + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view bytes) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return (folder_ / name).string();
  }
  // The error and its hint; empty if the input is accepted.
  static std::string Refusal(const std::string& path) {
    MemorySink sink;
    const Status status = importers::Import(path, sink);
    return status ? std::string() : status.error().message + "\n" + status.error().hint;
  }
  fs::path folder_;
};

TEST_F(BombTest, ZipEntryThatInflatesAThousandTimesIsRefused) {
  const std::string zeros(size_t{80} << 20, '\0');
  const std::string name = "c/nvtx_gpu_proj_trace/trace.parquet";
  const std::string zip =
      Zip({{.name = name, .stored = Deflate(zeros), .size = zeros.size(), .deflated = true}});
  ASSERT_LT(zip.size(), size_t{200} << 10);
  const std::string refusal = Refusal(Write("c.zip", zip));
  EXPECT_THAT(refusal, HasSubstr("c.zip"));
  EXPECT_GOLDEN_TEXT(refusal);
}

TEST_F(BombTest, ZipEntryThatClaimsMoreThanItHasIsRefused) {
  ZipEntry entry = Stored("c/nvtx_gpu_proj_trace/trace.parquet", "PAR1");
  entry.size = 0xFFFFFFF0;
  EXPECT_NE(Refusal(Write("c.zip", Zip({entry}))), "");
}

// Each is within its own limit; together they are a hundred and eighty megabytes of a small file.
TEST_F(BombTest, ArchiveOfThreeBombsIsRejected) {
  const std::string bomb = ZstdCompress(std::string(size_t{60} << 20, '\0'));
  ASSERT_LT(bomb.size(), size_t{20} << 10);
  std::vector<ZipEntry> entries = {
      Stored("c/nvtx_gpu_proj_trace/trace.parquet", ProjectedTable(true, true))};
  for (const char* number : {"1", "2", "3"}) {
    entries.push_back(Stored(
        "c/dump/module_000" + std::string(number) + ".jit_f.sm_9.0_gpu_after_optimizations.hlo.pb",
        bomb));
  }
  const std::string whole = Zip(entries);
  const std::string refusal = Refusal(Write("c.zip", whole));
  EXPECT_THAT(refusal, HasSubstr("c.zip"));
  // The limit depends on the size of the archive, which depends on the version of zstd.
  EXPECT_GOLDEN_TEXT(std::regex_replace(refusal, std::regex(" [0-9]+ bytes"), " N bytes"));
  // Two of them are below the limit.
  entries.pop_back();
  EXPECT_EQ(Refusal(Write("two.zip", Zip(entries))), "");
}

TEST_F(BombTest, XzTraceOfBlanksIsRefused) {
  std::string bytes = kXzHead;
  for (int i = 0; i < 80; ++i) bytes += kXzBlanks;
  const std::string refusal = Refusal(Write("t.json.xz", bytes));
  EXPECT_THAT(refusal, HasSubstr("t.json.xz"));
  EXPECT_GOLDEN_TEXT(refusal);
}

TEST_F(BombTest, ZstdProfileWithALargeUnknownFieldIsRefused) {
  // A profile, and 80 MB of an unknown field (15, length-delimited).
  std::string space = MixedSpace() + "\x7a\x80\x80\x80\x28";
  space.append(size_t{80} << 20, '\0');
  const std::string refusal = Refusal(Write("h.xplane.pb", ZstdCompress(space)));
  EXPECT_THAT(refusal, HasSubstr("h.xplane.pb"));
  EXPECT_GOLDEN_TEXT(refusal);
}

TEST_F(BombTest, ParquetWithMoreRowsThanItsBytesAllowIsRefused) {
  const auto trace = ReadProjectedTrace(ParquetBuilder()
                                            .Text("Name", {"a"}, true, false)
                                            .Number("Projected Start", {1}, false, false)
                                            .Number("Projected Duration", {1}, false, false)
                                            .ClaimRows(20'000'000)
                                            .Build());
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("20000000"));
}

TEST_F(BombTest, SnappyBytesThatClaimAGigabyteAreRefused) {
  const std::string claim("\x80\x80\x80\x80\x04\x00a", 7);  // 1 << 30, then one letter.
  EXPECT_FALSE(SnappyInflate(claim, size_t{2} << 30));
}

}  // namespace
}  // namespace xlatrace::importers
