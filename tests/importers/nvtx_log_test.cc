// SPDX-License-Identifier: Apache-2.0

// Modules from registered strings, compared with the dump of the same compilation. JAX's CUDA
// plugin registered the strings while it compiled a training step for sm_90 (a log of all NVTX
// calls). --xla_dump_to wrote the dump. Data: own/jax-sm90, skipped if absent.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/compress.h"
#include "base/file.h"
#include "hlo/text/text_reader.h"
#include "importers/recording/hlo_rebuild.h"
#include "importers/recording/recording_import.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/recording_builder.h"
#include "tests/shared_data.h"

namespace xlatrace::importers {
namespace {

// The texts given to nvtxDomainRegisterStringA: lines "PID REGSTR dom=TSL TEXT". TEXT may continue
// on lines that do not begin with a number and one of the log's words.
std::vector<std::string> RegisteredTexts(const std::string& log) {
  static const std::set<std::string> kWords = {"INJECT", "CORE",   "CORE2", "DOMAIN", "PUSH",
                                               "POP",    "REGSTR", "EXT",   "SCHEMA", "seg"};
  std::vector<std::string> texts;
  bool inside = false;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    at = end + 1;
    const size_t space = line.find(' ');
    const bool number =
        space != std::string::npos && space > 0 && line.find_first_not_of("0123456789") == space;
    const std::string word =
        number ? line.substr(space + 1, line.find(' ', space + 1) - space - 1) : std::string();
    if (number && kWords.contains(word)) {
      inside = word == "REGSTR";
      if (!inside) continue;
      const std::string head = line.substr(0, space) + " REGSTR dom=TSL ";
      texts.push_back(line.substr(std::min(head.size(), line.size())));
    } else if (inside) {
      texts.back() += "\n" + line;
    }
  }
  // The logger's own line end belongs to no text, and split removed it. A text that ended in a line
  // end is followed by an empty line.
  return texts;
}

class NvtxLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    XLATRACE_SHARED_OR_SKIP(log, "own/jax-sm90/fakegpu/nvtx-aot-compile.log.xz");
    XLATRACE_SHARED_OR_SKIP(
        dump,
        "own/jax-sm90/cmdbuf/module_0001.jit_train_step.sm_9.0a_gpu_after_optimizations.txt.xz");
    log_path_ = log.string();
    dump_path_ = dump.string();
    auto text = ReadFileInflated(dump_path_);
    ASSERT_TRUE(text);
    auto module = hlo::ReadText(std::make_shared<const std::string>(std::move(*text)));
    ASSERT_TRUE(module) << module.error().message;
    dump_ = std::make_unique<model::HloModule>(std::move(*module));
  }

  // A recording in which the process registered `texts` and ran the module once.
  model::HloModule Rebuilt(const std::vector<std::string>& texts) {
    TemporaryFolder folder;
    RecordingBuilder builder(folder / "a.rec");
    uint32_t title = 0;
    for (const std::string& text : texts) {
      const uint32_t id = builder.Register(text);
      if (title == 0) title = id;
    }
    builder.Run(title, 10, 20);
    builder.Finish();
    EXPECT_TRUE(ImportRecording(builder.path(), false, sink_));
    EXPECT_EQ(sink_.modules.size(), 1u);
    if (sink_.modules.empty()) return {};
    auto module = hlo::ReadText(std::make_shared<const std::string>(sink_.modules[0].bytes));
    EXPECT_TRUE(module) << module.error().message;
    return module ? std::move(*module) : model::HloModule();
  }

  static std::string CalleeNames(const model::HloModule& module, const model::Instruction& i) {
    std::string names;
    for (const uint32_t callee : module.CalledComputations(i)) {
      names += std::string(module.computations[callee].name) + " ";
    }
    return names;
  }

  static std::vector<std::string> Stack(const model::HloModule& module, uint32_t frame) {
    std::vector<std::string> lines;
    for (; frame != 0; frame = module.stack_frames[frame - 1].parent) {
      const model::StackFrame& f = module.stack_frames[frame - 1];
      lines.push_back(std::to_string(f.line) + ":" + std::to_string(f.column) + " " +
                      std::string(f.function));
    }
    return lines;
  }

  void ExpectSameAsDump(const model::HloModule& rebuilt, bool compare_roots) {
    EXPECT_EQ(rebuilt.name, dump_->name);
    EXPECT_EQ(rebuilt.computations.size(), dump_->computations.size());
    ASSERT_EQ(rebuilt.instructions.size(), dump_->instructions.size());
    const auto ours = model::IndexByName(rebuilt);
    int located = 0;
    for (const model::Instruction& theirs : dump_->instructions) {
      SCOPED_TRACE(std::string(theirs.name));
      const auto found = ours.find(theirs.name);
      ASSERT_NE(found, ours.end());
      const model::Instruction& mine = rebuilt.instructions[found->second];
      EXPECT_EQ(mine.opcode, theirs.opcode);
      EXPECT_EQ(mine.shape, theirs.shape);
      EXPECT_EQ(mine.metadata.op_name, theirs.metadata.op_name);
      EXPECT_EQ(mine.fusion_kind, theirs.fusion_kind);
      EXPECT_EQ(mine.backend_config, theirs.backend_config);
      EXPECT_EQ(CalleeNames(rebuilt, mine), CalleeNames(*dump_, theirs));
      EXPECT_EQ(rebuilt.Operands(mine).size(), dump_->Operands(theirs).size());
      for (size_t o = 0; o < rebuilt.Operands(mine).size(); ++o) {
        EXPECT_EQ(rebuilt.instructions[rebuilt.Operands(mine)[o]].name,
                  dump_->instructions[dump_->Operands(theirs)[o]].name);
      }
      const bool entry = dump_->computations[theirs.computation].is_entry;
      EXPECT_EQ(rebuilt.computations[mine.computation].is_entry, entry);
      if (!entry) {
        EXPECT_EQ(rebuilt.computations[mine.computation].name,
                  dump_->computations[theirs.computation].name);
      }
      if (compare_roots) {
        EXPECT_EQ(mine.is_root, theirs.is_root);
      }
      EXPECT_EQ(mine.metadata.source_line, theirs.metadata.source_line);
      // The log was made where the sources lie elsewhere: the last part of the path is the same.
      EXPECT_EQ(mine.metadata.source_file.substr(mine.metadata.source_file.rfind('/') + 1),
                theirs.metadata.source_file.substr(theirs.metadata.source_file.rfind('/') + 1));
      if (theirs.metadata.stack_frame == 0) continue;
      EXPECT_EQ(Stack(rebuilt, mine.metadata.stack_frame),
                Stack(*dump_, theirs.metadata.stack_frame));
      ++located;
    }
    EXPECT_GT(located, 1000);
  }

  std::string log_path_;
  std::string dump_path_;
  std::unique_ptr<model::HloModule> dump_;
  MemorySink sink_;
};

TEST_F(NvtxLogTest, ModuleFromStringsIsTheDumpedOne) {
  auto log = ReadFileInflated(log_path_);
  ASSERT_TRUE(log);
  const std::vector<std::string> texts = RegisteredTexts(*log);
  ASSERT_EQ(texts.size(), 9531u);  // 3 of the module, 4 for each of 2,382 instructions.
  ExpectSameAsDump(Rebuilt(texts), true);
}

// XLA cuts texts at 65,330 bytes; so could a computation's. Cut every called text to 2,000 bytes:
// the instructions behind the cut have their own lines.
TEST_F(NvtxLogTest, CutTextsAreCompletedFromTheLinesOfTheirInstructions) {
  auto log = ReadFileInflated(log_path_);
  ASSERT_TRUE(log);
  std::vector<std::string> texts = RegisteredTexts(*log);
  int cut = 0;
  for (std::string& text : texts) {
    if (!text.starts_with('\n') || text.size() <= 2000 || text.find(" {\n") == text.npos) continue;
    text = text.substr(0, 2000) + "\n[truncated]\n";
    ++cut;
  }
  ASSERT_GT(cut, 10);
  // Where the line of the root is cut away, which unused instruction it was is a guess.
  ExpectSameAsDump(Rebuilt(texts), false);
  EXPECT_GT(sink_.Stat("computation_text_cut"), 10);
  EXPECT_EQ(sink_.Stat("computation_not_told"), 0);
}

}  // namespace
}  // namespace xlatrace::importers
