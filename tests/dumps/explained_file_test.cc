// SPDX-License-Identifier: Apache-2.0
#include "dumps/explained_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/dumps/dump_folder.h"
#include "tests/golden_text/golden_text.h"
#include "tests/unquoted_path.h"

namespace xlatrace::dumps {
namespace {

using ::testing::HasSubstr;

constexpr char kExplainedModule[] =
    "HloModule jit_f\n\nENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n";

class ExplainedFileTest : public DumpFolderTest {
 protected:
  ExplainedFile Explain(const std::string& file) { return ExplainFile((root_ / file).string()); }
};

TEST_F(ExplainedFileTest, HloIsReadUnderAnyName) {
  for (const char* name :
       {"module_0001.jit_f.before_optimizations.txt", "x.hlo", "x.txt", "noname"}) {
    Write(name, kExplainedModule);
    const ExplainedFile file = Explain(name);
    EXPECT_TRUE(file.ok()) << name << ": " << file.error;
    ASSERT_TRUE(file.module) << name;
    EXPECT_EQ(file.module->name, "jit_f");
  }
  // Its number is only in the file's name.
  EXPECT_EQ(Explain("module_0001.jit_f.before_optimizations.txt").module->program_id, 1);
}

TEST_F(ExplainedFileTest, ErrorsHaveLineAndColumn) {
  Write("bad.hlo", "HloModule m\n\nENTRY e {\n  ROOT a = f32[] negate(nowhere)\n}\n");
  const ExplainedFile file = Explain("bad.hlo");
  EXPECT_FALSE(file.ok());
  EXPECT_EQ(file.line, 4);
  EXPECT_EQ(file.column, 25);
  EXPECT_THAT(file.error, HasSubstr("nowhere"));
  EXPECT_THAT(file.error, ::testing::Not(HasSubstr("bad.hlo")));
}

TEST_F(ExplainedFileTest, OtherArtefactsAreRecognisedByNameOrContent) {
  Write("module_0001.jit_f.thunk_sequence.txt",
        "000: kKernel\t, kernel = k, launch dimensions = blocks: {1, 1, 1}, threads/block: {1, 1, "
        "1}\n");
  EXPECT_EQ(Explain("module_0001.jit_f.thunk_sequence.txt").thunks.size(), 1u);
  Write("module_0001.jit_f.ptx", ".version 8.0\n");
  EXPECT_TRUE(Explain("module_0001.jit_f.ptx").ok());
  Write("odd", "; ModuleID = 'x'\n");
  EXPECT_EQ(Explain("odd").note.kind, "llvm_ir");
  Write("elf", std::string("\x7f"
                           "ELF\x02\x01",
                           6));
  EXPECT_EQ(Explain("elf").note.kind, "object");
  Write("notes.md", "# notes\n");
  const ExplainedFile notes = Explain("notes.md");
  EXPECT_FALSE(notes.ok());
  EXPECT_GOLDEN_TEXT(notes.error + "\n" + notes.hint);
}

TEST_F(ExplainedFileTest, FifosFoldersAndEmptyFilesAreErrors) {
  ASSERT_EQ(mkfifo((root_ / "module_0001.jit_f.before_optimizations.txt").c_str(), 0600), 0);
  const ExplainedFile fifo = Explain("module_0001.jit_f.before_optimizations.txt");
  EXPECT_FALSE(fifo.ok());
  const ExplainedFile folder = Explain("");
  EXPECT_FALSE(folder.ok());
  EXPECT_THAT(folder.hint, HasSubstr("xlatrace modules"));
  EXPECT_FALSE(Explain("missing.txt").ok());
  Write("empty.hlo", "");
  EXPECT_FALSE(Explain("empty.hlo").ok());
  EXPECT_GOLDEN_TEXT("FIFO: " + fifo.error + "\nfolder: " + folder.error + "\n" +
                     WithUnquotedPath(folder.hint, root_.string() + "/"));
}

TEST(TakePlace, PlaceIsSplitFromTheMessage) {
  const auto take = [](std::string message) {
    std::optional<int64_t> line;
    std::optional<int64_t> column;
    TakePlace(message, line, column);
    return std::to_string(line.value_or(-1)) + "," + std::to_string(column.value_or(-1)) + "," +
           message;
  };
  EXPECT_EQ(take("12:7: no 'foo'"), "12,7,no 'foo'");
  EXPECT_EQ(take("damaged, byte 912"), "-1,-1,damaged, byte 912");
  EXPECT_EQ(take("12:7"), "-1,-1,12:7");
  EXPECT_EQ(take("12:x: y"), "-1,-1,12:x: y");
  EXPECT_EQ(take(""), "-1,-1,");
}

}  // namespace
}  // namespace xlatrace::dumps
