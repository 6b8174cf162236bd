// SPDX-License-Identifier: Apache-2.0

// Recordings of which everything may be wrong but the checksums: the importer gives rows that keep
// the sink's rules, or an error.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "importers/recording/recording_import.h"
#include "tests/importers/fuzz/recording_input.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/recording_builder.h"
#include "tests/source_folder.h"
#include "tests/tiers.h"

namespace xlatrace::importers {
namespace {

void RunInput(const std::string& bytes) {
  RunRecordingInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(RecordingDamage, DamageCorpusDoesNotCrash) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           SourceFolder() + "/tests/importers/fuzz/recording_corpus")) {
    std::ifstream in(entry.path(), std::ios::binary);
    RunInput({std::istreambuf_iterator<char>(in), {}});
    ++files;
  }
  EXPECT_GE(files, 2);
}

// A file with all that the importer puts together.
std::string RichFile() {
  const TemporaryFolder folder;
  RecordingBuilder builder(folder / "a.rec");
  const auto titles = builder.RegisterModule(
      "jit_f", 7,
      {{.name = "p.1", .line = "p.1 = f32[8]{0} parameter(0)"},
       {.name = "q.1", .line = "q.1 = f32[8]{0} parameter(0)"},
       {.name = "mul.2",
        .line = "mul.2 = f32[8]{0} multiply(q.1, q.1), metadata={op_name=\"f/mul\" "
                "stack_frame_id=3}",
        .stack = "\n- /a/b.py:3:4[f]\n-- /a/c.py:5:6[g.&lt;locals&gt;]\n"},
       {.name = "fusion.9",
        .line = "fusion.9 = f32[8]{0} fusion(p.1), kind=kLoop, calls=fused, "
                "metadata={op_name=\"f/mul\" stack_frame_id=3}",
        .stack = "\n- /a/b.py:3:4[f] f/mul\n- /a/b.py:4:4[f] f/add\n",
        .called = "\nfused {\n  q.1 = f32[8]{0} parameter(0)\n  ROOT mul.2 = f32[8]{0} "
                  "multiply(q.1, q.1), metadata={op_name=\"f/mul\" stack_frame_id=3}\n} // fused\n",
        .op_name = "f/mul"}},
      "\n/a/train.py:1:2[&lt;module&gt;]\n");
  const uint64_t run = builder.Run(titles[0], 10, 900);
  builder.Kernel("a", builder.Call(307, 20, 25, titles[4], run), 100, 200);
  builder.Node(recording::NodeEvent::kCreated, 30, 5, 0, titles[4], titles[0]);
  builder.Node(recording::NodeEvent::kCloned, 31, 6, 5, titles[3], titles[0]);
  builder.Node(recording::NodeEvent::kUpdated, 32, 6, 0, titles[3], titles[0]);
  const uint32_t launch = builder.Call(514, 40, 45, 0, run);
  builder.Kernel("b", launch, 300, 400, 6, 2);
  builder.Copy(1, 64, launch, 400, 500, 7);
  builder.writer->Add(recording::DeviceRow{.device = 0, .name = "fake", .sm_count = 4});
  builder.writer->Add(recording::ContextRow{.context = 1, .null_stream = 7});
  builder.writer->Add(recording::ClockRow{1, 2, 3, 4});
  builder.writer->Add(recording::StatRow{.name = "write_errno", .value = 28});
  builder.Finish();
  std::ifstream in(builder.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Start and end of what ran, in the time of the world: where the process's own start is lost, the
// rows count from another instant. Names may have been in another block.
using Ran = std::vector<std::pair<int64_t, int64_t>>;

struct Imported {
  MemorySink sink;
  Result<RecordingImport> outcome = RecordingImport();
  Ran ran;
};

Imported Import(const std::string& bytes) {
  Imported imported;
  const int fd = memfd_create("recording", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  imported.outcome =
      ImportRecording("/proc/self/fd/" + std::to_string(fd), /*live=*/false, imported.sink);
  close(fd);
  for (const model::Activity& activity : imported.sink.activities) {
    const int64_t start = imported.sink.start_unix_ns().value_or(0);
    imported.ran.emplace_back(start + activity.start_ns, start + activity.end_ns);
  }
  std::sort(imported.ran.begin(), imported.ran.end());
  return imported;
}

// That something is lost, and what was read was written.
void ExpectSaid(const Imported& damaged, const Ran& whole) {
  if (!damaged.outcome) {
    EXPECT_FALSE(damaged.outcome.error().message.empty());
    return;
  }
  EXPECT_FALSE(damaged.outcome->complete);
  EXPECT_GT(damaged.sink.Stat("recording_damaged") + damaged.sink.Stat("process_killed") +
                damaged.sink.Stat("recording_blocks_missing"),
            0);
  EXPECT_TRUE(std::includes(whole.begin(), whole.end(), damaged.ran.begin(), damaged.ran.end()));
}

TEST(RecordingDamage, CutFileGivesItsRowsAndADataLoss) {
  const std::string bytes = RichFile();
  const Imported whole = Import(bytes);
  ASSERT_TRUE(whole.outcome) << whole.outcome.error().message;
  EXPECT_TRUE(whole.outcome->complete);
  ASSERT_EQ(whole.ran.size(), 3U);
  size_t read = 0, most = 0;
  // Nothing at all is what a process leaves that was killed before its first block.
  EXPECT_TRUE(Import("").outcome);
  for (size_t size = 1; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    const Imported cut = Import(bytes.substr(0, size));
    ExpectSaid(cut, whole.ran);
    if (!cut.outcome) {
      EXPECT_EQ(read, 0U) << "a longer piece gives less";
      continue;
    }
    ++read;
    EXPECT_GE(cut.ran.size(), most) << "a longer piece gives less";
    most = cut.ran.size();
  }
  EXPECT_GT(read, bytes.size() / 2);
  EXPECT_EQ(most, 3U) << "without its last byte it has lost no activity";
}

TEST(RecordingDamage, ChangedByteIsReportedAndLosesOnlyItsBlock) {
  const std::string bytes = RichFile();
  const Ran whole = Import(bytes).ran;
  size_t all_there = 0;
  for (size_t at = 0; at < bytes.size(); at += Stride(5)) {
    SCOPED_TRACE(at);
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const Imported damaged = Import(changed);
    ExpectSaid(damaged, whole);
    all_there += damaged.ran == whole;
  }
  // Strings, calls, nodes and facts are blocks of their own: most of the file is no activity.
  EXPECT_GT(all_there, bytes.size() / Stride(5) / 4);
}

TEST(RecordingDamage, CutAnywhereDoesNotCrash) {
  const std::string whole = RichFile();
  for (size_t size = 0; size < whole.size(); size += 7) {
    RunInput(std::string(1, '\0') + whole.substr(0, size));
    RunInput("\x01" + whole.substr(0, size));
  }
}

TEST(RecordingDamage, AnyChangedByteDoesNotCrash) {
  const std::string whole = "\x01" + RichFile();
  std::mt19937_64 random(3);
  for (size_t at = 1; at < whole.size(); at += Stride(7)) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(random());
    if (at % 3 == 0) bytes[1 + random() % (bytes.size() - 1)] = static_cast<char>(random());
    RunInput(bytes);
  }
}

}  // namespace
}  // namespace xlatrace::importers
