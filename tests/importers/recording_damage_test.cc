// Recordings of which everything may be wrong but the checksums: the importer gives rows that keep
// the sink's rules, or an error.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/importers/fuzz/recording_input.h"
#include "tests/importers/recording_builder.h"

namespace xlatrace::importers {
namespace {

void RunInput(const std::string& bytes) {
  RunRecordingInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

TEST(RecordingDamage, CorpusIsHarmless) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(XLATRACE_RECORDING_CORPUS)) {
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

TEST(RecordingDamage, CutAnywhere) {
  const std::string whole = RichFile();
  for (size_t size = 0; size < whole.size(); size += 7) {
    RunInput(std::string(1, '\0') + whole.substr(0, size));
    RunInput("\x01" + whole.substr(0, size));
  }
}

TEST(RecordingDamage, AnyByteChanged) {
  const std::string whole = "\x01" + RichFile();
  std::mt19937_64 random(3);
  for (size_t at = 1; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(random());
    if (at % 3 == 0) bytes[1 + random() % (bytes.size() - 1)] = static_cast<char>(random());
    RunInput(bytes);
  }
}

}  // namespace
}  // namespace xlatrace::importers
