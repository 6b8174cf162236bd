// SPDX-License-Identifier: Apache-2.0

// Inputs of all layouts: folders, archives, files of any name, several inputs at once, and harmful
// inputs. Each arrangement is a line of a table with the modules that it holds.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/compress.h"
#include "dumps/dump_dir.h"
#include "tests/golden_text/golden_text.h"
#include "tests/tiers.h"

namespace xlatrace::dumps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kHlo[] = "HloModule jit_f\n\nENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n";
constexpr char kAfter[] = "module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt";
constexpr char kBefore[] = "module_0001.jit_f.before_optimizations.txt";

// Types in the header of a tar file: file, link, folder, FIFO.
struct Entry {
  std::string name;
  std::string content;
  char type = '0';
};

// One header of a tar; `size` as it claims.
std::string TarHeader(const Entry& entry, uint64_t size) {
  std::string header(512, '\0');
  header.replace(0, entry.name.size(), entry.name);
  header.replace(100, 8, std::string("0000644\0", 8));
  header.replace(108, 16,
                 std::string("0000000\0"
                             "0000000\0",
                             16));
  header.replace(124, 12, fmt::format("{:011o}", size) + '\0');
  header.replace(136, 12, std::string("00000000000\0", 12));
  header[156] = entry.type;
  if (entry.type == '2') header.replace(157, entry.content.size(), entry.content);
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header;
}

std::string Tar(const std::vector<Entry>& entries) {
  std::string tar;
  for (const Entry& entry : entries) {
    const bool is_file = entry.type == '0';
    tar += TarHeader(entry, is_file ? entry.content.size() : 0);
    if (!is_file) continue;
    tar += entry.content;
    tar.resize((tar.size() + 511) / 512 * 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

std::string Little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

// Stored, not deflated.
std::string Zip(const std::vector<Entry>& entries) {
  std::string zip;
  std::string directory;
  for (const Entry& entry : entries) {
    const std::string middle = Little(20, 2) + Little(0, 8) + Little(Crc32(entry.content), 4) +
                               Little(entry.content.size(), 4) + Little(entry.content.size(), 4) +
                               Little(entry.name.size(), 2) + Little(0, 2);
    directory += "PK\1\2" + Little(20, 2) + middle + Little(0, 6) + Little(0, 4) +
                 Little(zip.size(), 4) + entry.name;
    zip += "PK\3\4" + middle + entry.name + entry.content;
  }
  return zip + directory + "PK\5\6" + Little(0, 4) + Little(entries.size(), 2) +
         Little(entries.size(), 2) + Little(directory.size(), 4) + Little(zip.size(), 4) +
         Little(0, 2);
}

class ArrangementsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "xlatrace_places_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }
  void Write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file, std::ios::binary) << text;
  }
  // The extension of `name` is the format: .zip, .tar, .tar.gz, .tgz, .tar.xz, .tar.zst, .tar.bz2.
  void WriteArchive(const std::string& name, const std::vector<Entry>& entries) {
    if (name.ends_with(".zip")) return Write(name, Zip(entries));
    const std::string tar = Tar(entries);
    if (name.ends_with("gz")) return Write(name, GzipCompress(tar));
    if (name.ends_with("zst")) return Write(name, ZstdCompress(tar));
    const std::string tool = name.ends_with("xz") ? "xz" : name.ends_with("bz2") ? "bzip2" : "cat";
    Write(name + ".plain", tar);
    const std::string command =
        fmt::format("{} < '{}' > '{}'", tool, Path(name + ".plain"), Path(name));
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    fs::remove(Path(name + ".plain"));
  }

  // "jit_f(1) in sub: after before" in the order of the list; then " | " and how many entries were
  // skipped for each reason.
  static std::string Found(const DumpDir& dir) {
    std::string text;
    for (const DumpModule& module : dir.modules) {
      text += text.empty() ? "" : "; ";
      text += module.name;
      if (module.program_id >= 0) text += fmt::format("({})", module.program_id);
      if (!module.subfolder.empty()) text += " in " + module.subfolder;
      text += ":";
      if (!module.after_proto.empty() || !module.after_text.empty()) text += " after";
      if (!module.before_proto.empty() || !module.before_text.empty()) text += " before";
      auto loaded = LoadDumpModule(module);
      if (!loaded || loaded->module.instructions.empty()) text += " unreadable";
    }
    for (const auto& [reason, count] : dir.skipped) {
      text += fmt::format("{}{}", text.find('|') == std::string::npos ? " | skipped " : "+", count);
    }
    return text;
  }
  static std::string Reasons(const DumpDir& dir) {
    std::string text;
    for (const auto& [reason, count] : dir.skipped) text += fmt::format("  {} {}\n", count, reason);
    return text;
  }

  fs::path root_;
};

struct Arrangement {
  const char* name;
  std::function<void()> make;
  std::vector<std::string> paths;  // Arguments, below the test's folder.
  std::string found;               // Expected.
};

TEST_F(ArrangementsTest, ModulesOfEveryLayoutAreFound) {
  const std::vector<Entry> dump = {{kAfter, kHlo}, {kBefore, kHlo}};
  const std::vector<Entry> nested = {{"run/dump/", "", '5'},
                                     {std::string("run/dump/") + kAfter, kHlo},
                                     {"run/dump/module_0001.jit_f.ir-no-opt.ll", "; ModuleID"},
                                     {"run/notes.txt", "nothing"}};
  const std::string both = "jit_f(1): after before";
  const std::string in_run = "jit_f(1) in run/dump: after | skipped 1";
  const auto files = [&](const std::string& folder) {
    for (const Entry& entry : dump) Write(folder + "/" + entry.name, entry.content);
  };
  const Arrangement table[] = {
      {"dump folder", [&] { files("a1"); }, {"a1"}, both},
      {"its parent", [&] { files("a2/xla_dump"); }, {"a2"}, "jit_f(1) in xla_dump: after before"},
      {"grandparent folder",
       [&] { files("a3/profile/xla_dump"); },
       {"a3"},
       "jit_f(1) in profile/xla_dump: after before"},
      {"nine levels of folders",
       [&] { files("a4/b/c/d/e/f/g/h/i/j"); },
       {"a4"},
       "jit_f(1) in b/c/d/e/f/g/h/i/j: after before"},
      {"one folder for each process",
       [&] { files("a5/rank_0"), files("a5/rank_1"); },
       {"a5"},
       "jit_f(1) in rank_0: after before; jit_f(1) in rank_1: after before"},
      {"to_subfolder",
       [&] { files("a6/jit_f/host_17"); },
       {"a6"},
       "jit_f(1) in jit_f/host_17: after before"},
      {"HLO with a free name",
       [&] { Write("a7/materialised.hlo.txt", kHlo); },
       {"a7"},
       "materialised: after"},
      {"HLO without an extension", [&] { Write("a8/step", kHlo); }, {"a8"}, "step: after"},
      {"single HLO file", [&] { Write("a9/x.hlo", kHlo); }, {"a9/x.hlo"}, "x: after"},
      {"profile folder of XProf",
       [&] { Write("a10/plugins/profile/1/jit_g(12).hlo_proto.pb", kHlo); },
       {"a10"},
       "jit_g(12) in plugins/profile/1: after"},
      {"unoptimised HLO, recognised by its file name",
       [&] { Write("a11/my_before_opt.txt", kHlo); },
       {"a11"},
       "my_before_opt: before"},
      {"compressed files",
       [&] {
         Write(std::string("a12/") + kAfter + ".gz", GzipCompress(kHlo));
         Write("a12/other.hlo.zst", ZstdCompress(kHlo));
       },
       {"a12"},
       "other: after; jit_f(1): after"},
      {"a tar", [&] { WriteArchive("a13.tar", dump); }, {"a13.tar"}, both},
      {"a tar.xz", [&] { WriteArchive("a14.tar.xz", nested); }, {"a14.tar.xz"}, in_run},
      {"a tgz", [&] { WriteArchive("a15.tgz", nested); }, {"a15.tgz"}, in_run},
      {"a zip", [&] { WriteArchive("a16.zip", nested); }, {"a16.zip"}, in_run},
      {"a tar.zst without its extension",
       [&] {
         WriteArchive("tmp.tar.zst", dump);
         fs::rename(Path("tmp.tar.zst"), Path("a17.bin"));
       },
       {"a17.bin"},
       both},
      {"HLO with a free name in a tar.bz2",
       [&] {
         WriteArchive("a18.tar.bz2", {{"x/step.hlo", kHlo}, {"x/a.gz", GzipCompress(kHlo)}});
       },
       {"a18.tar.bz2"},
       "a in x: after; step in x: after"},
      {"paths outside the archive",
       [&] {
         WriteArchive("a19.tar", {{std::string("../../etc/") + kAfter, kHlo},
                                  {std::string("/abs/") + kAfter, kHlo}});
       },
       {"a19.tar"},
       "jit_f(1) in abs: after; jit_f(1) in etc: after"},
      {"archived links",
       [&] {
         WriteArchive("a20.tar", {{kAfter, kHlo}, {"l", "/etc/passwd", '2'}, {"fifo", "", '6'}});
       },
       {"a20.tar"},
       "jit_f(1): after | skipped 1+1"},
      {"several folders",
       [&] { files("b1/x"), files("b1/y"); },
       {"b1/x", "b1/y"},
       "jit_f(1) in x: after before; jit_f(1) in y: after before"},
      {"folders with equal names",
       [&] { files("b2/x/dump"), files("b2/y/dump"); },
       {"b2/x/dump", "b2/y/dump"},
       "jit_f(1) in x/dump: after before; jit_f(1) in y/dump: after before"},
      {"folder, archive and file",
       [&] { files("b3/x"), WriteArchive("b3/y.zip", dump), Write("b3/z.hlo", kHlo); },
       {"b3/x", "b3/y.zip", "b3/z.hlo"},
       "jit_f(1) in x: after before; jit_f(1) in y.zip: after before; z: after"},
      {"missing folder beside another one",
       [&] { files("b4/x"); },
       {"b4/x", "b4/nothing"},
       "jit_f(1) in x: after before"},
      {"archive below a folder",
       [&] { files("b5"), WriteArchive("b5/in/y.zip", dump); },
       {"b5"},
       "jit_f(1): after before | skipped 1"},
      {"links",
       [&] {
         files("b6/dump");
         Write("b6_outside.hlo", kHlo);
         fs::create_symlink(Path("b6/dump"), Path("b6/dump/loop"));
         fs::create_symlink(Path("b6_outside.hlo"), Path("b6/dump/out.hlo"));
         fs::create_symlink("nowhere", Path("b6/dump/dangling"));
         fs::create_symlink(kAfter, Path("b6/dump/inside.hlo"));
       },
       {"b6"},
       "inside in dump: after; jit_f(1) in dump: after before | skipped 1+1+1"},
      {"FIFOs and sockets",
       [&] {
         files("b7");
         ASSERT_EQ(
             mkfifo(Path("b7/module_0002.jit_g.sm_9.0_gpu_after_optimizations.txt").c_str(), 0600),
             0);
       },
       {"b7"},
       "jit_f(1): after before | skipped 1"},
      {"damaged archive: entries before the damage",
       [&] {
         WriteArchive("b8.tar", {{kAfter, kHlo}, {kBefore, kHlo}});
         fs::resize_file(Path("b8.tar"), 1536);
       },
       {"b8.tar"},
       "jit_f(1): after"},
      {"nothing", [&] { fs::create_directories(Path("b9")); }, {"b9"}, ""},
  };
  std::string reasons;
  for (const Arrangement& one : table) {
    SCOPED_TRACE(one.name);
    one.make();
    std::vector<std::string> paths;
    for (const std::string& path : one.paths) paths.push_back(Path(path));
    auto dir = ListDumpDirs(paths);
    ASSERT_TRUE(dir) << dir.error().message;
    EXPECT_EQ(Found(*dir), one.found);
    if (!dir->skipped.empty()) reasons += fmt::format("{}\n{}", one.name, Reasons(*dir));
  }
  EXPECT_GOLDEN_TEXT(reasons);
}

TEST_F(ArrangementsTest, LimitsAreEnforcedAndReported) {
  // Entries.
  for (int i = 0; i < 50; ++i) Write(fmt::format("many/{}.txt", i), "x");
  auto dir = ListDumpDir(Path("many"), {.entries = 20});
  ASSERT_TRUE(dir);
  ASSERT_EQ(dir->warnings.size(), 1u);
  EXPECT_THAT(dir->warnings.front(), HasSubstr(" 20 "));
  std::string reports = dir->warnings.front() + "\n";
  // Depth.
  std::string deep = "deep";
  for (int i = 0; i < 12; ++i) deep += "/d";
  Write(deep + "/" + kAfter, kHlo);
  dir = ListDumpDir(Path("deep"), {.depth = 4});
  ASSERT_TRUE(dir);
  EXPECT_EQ(Found(*dir), " | skipped 1");
  reports += Reasons(*dir);
  // Entries of an archive.
  std::vector<Entry> entries;
  for (int i = 0; i < 50; ++i) entries.push_back({fmt::format("{}.txt", i), ""});
  WriteArchive("many.zip", entries);
  dir = ListDumpDir(Path("many.zip"), {.entries = 20});
  ASSERT_TRUE(dir);  // The first entries are listed.
  ASSERT_FALSE(dir->warnings.empty());
  EXPECT_THAT(dir->warnings.front(), HasSubstr(" 20 "));
  reports += dir->warnings.front() + "\n";
  // The compressed size of the kept entries has a limit.
  std::string noise(1 << 16, ' ');
  uint32_t state = 1;
  for (char& c : noise) c = static_cast<char>('a' + (state = state * 1664525 + 1013904223) % 26);
  WriteArchive("large.zip", {{kAfter, std::string(kHlo) + "// " + noise}});
  auto kept = ListDumpDir(Path("large.zip"), {.kept_bytes = 1000});
  ASSERT_FALSE(kept);
  EXPECT_GOLDEN_TEXT(reports + kept.error().message);
}

// A truncated or changed archive gives its readable entries, or an error that names the archive.
TEST_F(ArrangementsTest, DamagedArchivesGiveTheirReadablePartOrAnError) {
  const std::vector<Entry> entries = {{std::string("d/") + kAfter, kHlo}, {"d/step", kHlo}};
  for (const char* name : {"c.tar", "c.tar.gz", "c.tar.xz", "c.tar.zst", "c.zip"}) {
    WriteArchive(name, entries);
    std::ifstream in(Path(name), std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    uint32_t state = 7;
    const auto random = [&state] { return state = state * 1664525 + 1013904223; };
    for (int i = 0; i < 150; i += Stride(5)) {
      std::string damaged = whole;
      if (i < 50) {
        damaged.resize(whole.size() * static_cast<size_t>(i) / 50);
      } else {
        for (int k = 0; k < 1 + i % 3; ++k) {
          damaged[(random() >> 8) % damaged.size()] ^= static_cast<char>(1 << (random() >> 29));
        }
      }
      Write("damaged", damaged);
      auto dir = ListDumpDir(Path("damaged"));
      if (!dir) {
        EXPECT_THAT(dir.error().message, HasSubstr("damaged")) << name << " " << i;
        continue;
      }
      for (const DumpModule& module : dir->modules) {
        auto loaded = LoadDumpModule(module);
        EXPECT_TRUE(loaded || !loaded.error().message.empty()) << name << " " << i;
      }
    }
  }
}

// Entries beyond the memory limit are stored in an unnamed file.
TEST_F(ArrangementsTest, EntriesBeyondTheMemoryLimitAreReadBackFromDisk) {
  std::vector<Entry> entries;
  uint32_t state = 1;
  for (int i = 0; i < 3; ++i) {
    std::string noise(50 << 20, ' ');  // Shrinks to six tenths: 90 MiB are kept.
    for (char& c : noise) c = static_cast<char>('a' + (state = state * 1664525 + 1013904223) % 26);
    entries.push_back({fmt::format("step{}.hlo", i), std::string(kHlo) + "// " + noise + "\n"});
  }
  WriteArchive("large.tar", entries);
  auto dir = ListDumpDir(Path("large.tar"));
  ASSERT_TRUE(dir) << dir.error().message;
  EXPECT_EQ(Found(*dir), "step0: after; step1: after; step2: after");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("xlatrace_entries_"));
  }
}

// Three gigabytes of zeros in a few kilobytes, in a file that is read and in one that is skipped.
TEST_F(ArrangementsTest, CompressionBombsAreRefused) {
  for (const char* name : {kAfter, "module_0001.jit_f.ptx"}) {
    // It claims more than is there; what it claims would be inflated.
    Write("bomb.tar.zst",
          ZstdCompress(TarHeader({name, ""}, uint64_t{3} << 30) + std::string(64 << 20, '\0')));
    auto dir = ListDumpDir(Path("bomb.tar.zst"));
    ASSERT_FALSE(dir) << name;
    EXPECT_GOLDEN_TEXT(dir.error().message + "\n" + dir.error().hint);
  }
}

}  // namespace
}  // namespace xlatrace::dumps
