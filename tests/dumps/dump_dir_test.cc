// SPDX-License-Identifier: Apache-2.0
#include "dumps/dump_dir.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/golden_text/golden_text.h"
#include "tests/hlo/test_data.h"
#include "tests/tiers.h"

namespace xlatrace::dumps {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kModule[] = "HloModule jit_f\n\nENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n";
constexpr char kThunks[] = "001: kCopy [source | sink] kCopy\n";

class DumpDirTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "xlatrace_dump_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  DumpDir List() {
    auto dir = ListDumpDir(root_.string());
    EXPECT_TRUE(dir) << dir.error().message;
    return dir ? *dir : DumpDir();
  }

  fs::path root_;
};

TEST_F(DumpDirTest, GroupsFilesByNumberAndName) {
  Write("module_0003.jit_f.before_optimizations.txt", kModule);
  Write("module_0003.jit_f.sm_9.0_gpu_after_optimizations.txt", kModule);
  Write("module_0003.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt", "x");
  Write("module_0003.jit_f.thunk_sequence.txt", kThunks);
  Write("module_0003.jit_f.some.new.file", "x");
  Write("module_0011.jit_f.before_optimizations.txt", kModule);
  Write("notes.txt", "x");
  const DumpDir dir = List();
  ASSERT_EQ(dir.modules.size(), 2u);
  EXPECT_EQ(dir.modules[0].program_id, 3);
  EXPECT_EQ(dir.modules[0].files.size(), 5u);
  EXPECT_THAT(dir.modules[0].after_text, EndsWith("gpu_after_optimizations.txt"));
  EXPECT_EQ(dir.modules[0].after_proto, "");
  EXPECT_EQ(dir.modules[1].program_id, 11);
  EXPECT_THAT(dir.others, ElementsAre(EndsWith("notes.txt")));

  auto loaded = LoadDumpModule(dir.modules[0]);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->module.program_id, 3);
  EXPECT_EQ(loaded->module.platform, "gpu");
  EXPECT_EQ(loaded->thunks.size(), 1u);
}

TEST_F(DumpDirTest, SubfoldersKeepProcessesApart) {
  Write("jit_f/host_17/module_0001.jit_f.before_optimizations.txt", kModule);
  Write("jit_f/host_18/module_0001.jit_f.before_optimizations.txt", kModule);
  const DumpDir dir = List();
  ASSERT_EQ(dir.modules.size(), 2u);
  EXPECT_EQ(dir.modules[0].subfolder, "jit_f/host_17");
  EXPECT_EQ(dir.modules[1].subfolder, "jit_f/host_18");
}

TEST_F(DumpDirTest, OnlyRegularFilesAreOpened) {
  Write("module_0001.jit_f.before_optimizations.txt", kModule);
  Write("module_0001.jit_f/module.mlir", "x");
  ASSERT_EQ(mkfifo((root_ / "module_0002.jit_g.before_optimizations.txt").c_str(), 0600), 0);
  fs::create_directory_symlink(root_, root_ / "loop");
  fs::create_symlink(root_ / "nowhere", root_ / "module_0003.jit_h.before_optimizations.txt");
  const DumpDir dir = List();
  ASSERT_EQ(dir.modules.size(), 1u);
  EXPECT_EQ(dir.modules[0].name, "jit_f");
  EXPECT_EQ(dir.modules[0].files.size(), 2u);  // With PJRT's MLIR, which is listed, not read.
}

// XLA:CPU writes files for each kernel; their names are between the module's and the suffix.
TEST_F(DumpDirTest, FilesOfKernelsBelongToTheirModule) {
  Write("module_0010.jit_f.cpu_after_optimizations.txt", kModule);
  Write("module_0010.jit_f.add_fusion.1_kernel_module.ir-no-opt.ll", "x");
  Write("module_0010.jit_f.obj-file.add_fusion.1_kernel_module.o", "x");
  Write("module_0010.jit_f/compile_options.textproto", "x");
  Write("module_0011.jit_f.add.before_optimizations.txt", kModule);
  Write("module_0011.jit_f.add.ptx", "x");
  const DumpDir dir = List();
  ASSERT_EQ(dir.modules.size(), 2u);
  EXPECT_EQ(dir.modules[0].name, "jit_f");
  EXPECT_EQ(dir.modules[0].files.size(), 4u);
  EXPECT_EQ(dir.modules[1].name, "jit_f.add");
  EXPECT_EQ(dir.modules[1].files.size(), 2u);
  for (const DumpFile& file : dir.modules[0].files) {
    EXPECT_EQ(file.name.module_name, "jit_f");
    EXPECT_THAT(file.path, EndsWith(file.name.suffix));
  }
}

// jit_step wrote HLO, jit_step_fn of the same number something else only.
TEST_F(DumpDirTest, ModuleExcludesFilesOfALongerModuleName) {
  Write("module_0003.jit_step.before_optimizations.txt", kModule);
  Write("module_0003.jit_step.ptx", "x");
  Write("module_0003.jit_step_fn.ptx", "x");
  const DumpDir dir = List();
  ASSERT_EQ(dir.modules.size(), 2u);
  EXPECT_EQ(dir.modules[0].name, "jit_step");
  EXPECT_EQ(dir.modules[0].files.size(), 2u);
  EXPECT_EQ(dir.modules[1].name, "jit_step_fn");
  EXPECT_EQ(dir.modules[1].files.size(), 1u);
}

// Compiled for two targets: "gpu" sorts before "sm". Compiled twice: by the time in the name.
TEST_F(DumpDirTest, NewestOfSeveralFilesIsRead) {
  Write("module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt", kModule);
  Write("module_0001.jit_f.gpu_after_optimizations.txt", kModule);
  Write("1700000000000002.module_0002.jit_g.gpu_after_optimizations.txt", kModule);
  Write("1700000000000001.module_0002.jit_g.sm_9.0_gpu_after_optimizations.txt", kModule);
  const DumpDir dir = List();
  ASSERT_EQ(dir.modules.size(), 2u);
  EXPECT_THAT(dir.modules[0].after_text, EndsWith("jit_f.gpu_after_optimizations.txt"));
  EXPECT_THAT(dir.modules[1].after_text, EndsWith("jit_g.gpu_after_optimizations.txt"));
}

TEST_F(DumpDirTest, DamagedProtoIsReplacedByItsText) {
  Write("module_0001.jit_f.cpu_after_optimizations.hlo.pb", "\x0a\xff\xff\xff");
  Write("module_0001.jit_f.cpu_after_optimizations.txt", kModule);
  auto loaded = LoadDumpModule(List().modules.at(0));
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->file, EndsWith(".txt"));
  ASSERT_EQ(loaded->warnings.size(), 1u);
  EXPECT_THAT(loaded->warnings[0], HasSubstr("hlo.pb"));
}

// XLA was killed while it wrote the only file, so the text has no end.
TEST_F(DumpDirTest, TruncatedTextIsUsedUpToItsEnd) {
  std::string text = kModule;
  text.resize(text.rfind('}'));
  Write("module_0001.jit_f.cpu_after_optimizations.txt", text);
  auto loaded = LoadDumpModule(List().modules.at(0));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->module.instructions.empty());
  ASSERT_EQ(loaded->warnings.size(), 2u);
  EXPECT_GOLDEN_TEXT(loaded->warnings[0] + "\n" + loaded->warnings[1]);
}

// A million-element constant is a few bytes of model; a folder of many files, a list.
TEST_F(DumpDirTest, LargeConstantsAndManyFilesAreRead) {
  std::string values = "{0";
  for (int i = 1; i < 1'000'000; ++i) values += ", 1";
  Write("module_0001.jit_f.before_optimizations.txt",
        "HloModule m\nENTRY e { ROOT c = f32[1000000]{0} constant(" + values + "}) }\n");
  const int passes = Repetitions(500, 3000);
  for (int i = 0; i < passes; ++i) {
    Write(fmt::format("module_0001.jit_f.{:04}.pipeline.after_pass-{}.before_next.txt", i, i), "x");
  }
  const DumpDir dir = List();
  ASSERT_EQ(dir.modules.size(), 1u);
  EXPECT_EQ(dir.modules[0].files.size(), static_cast<size_t>(passes) + 1);
  auto loaded = LoadDumpModule(dir.modules[0]);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->module.instructions.size(), 1u);
  EXPECT_LE(loaded->module.arena->size(), 1u);  // The platform; nothing of the constant is copied.
}

TEST_F(DumpDirTest, ModuleWithoutHloIsAnError) {
  Write("module_0001.jit_f.ptx", "x");
  auto loaded = LoadDumpModule(List().modules.at(0));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("'jit_f'"));
  EXPECT_GOLDEN_TEXT(loaded.error().message + "\n" + loaded.error().hint);
}

TEST_F(DumpDirTest, AFileWithoutHloHoldsNoModules) {
  Write("x.txt", "y");
  auto dir = ListDumpDir((root_ / "x.txt").string());
  ASSERT_TRUE(dir);
  EXPECT_TRUE(dir->modules.empty());
  EXPECT_EQ(dir->others.size(), 1u);
  EXPECT_FALSE(ListDumpDir((root_ / "nothing").string()));
}

// Seven modules of sixteen files each, by ls; thunk lines by wc -l.
TEST(DumpDirRecorded, ReadsACompleteDump) {
  XLATRACE_SHARED_OR_SKIP(folder, "dumps/mi300x-2026-08");
  auto dir = ListDumpDir(folder.string());
  ASSERT_TRUE(dir);
  ASSERT_EQ(dir->modules.size(), 7u);
  size_t thunks = 0;
  for (const DumpModule& module : dir->modules) {
    EXPECT_EQ(module.files.size(), 16u) << module.name;
    auto loaded = LoadDumpModule(module);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->module.name, module.name);
    EXPECT_TRUE(loaded->warnings.empty());
    for (const model::Thunk& thunk : loaded->thunks) {
      EXPECT_NE(thunk.instruction, "") << module.name;
      // Every executed item of the list is an instruction of the module.
      const auto index = model::IndexByName(loaded->module);
      EXPECT_TRUE(index.count(thunk.instruction)) << thunk.instruction;
    }
    thunks += loaded->thunks.size();
  }
  EXPECT_EQ(thunks, 23u);
}

}  // namespace
}  // namespace xlatrace::dumps
