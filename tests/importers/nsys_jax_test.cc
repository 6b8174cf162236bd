// SPDX-License-Identifier: Apache-2.0

// Captures of nsys-jax: what becomes of projected ranges, Parquet of all shapes, damage.

#include "importers/nsys_jax/nsys_jax.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "importers/common/range_sorter.h"
#include "importers/importer.h"
#include "importers/nsys_jax/capture_machine.h"
#include "importers/nsys_jax/parquet.h"
#include "importers/nsys_jax/projected_trace.h"
#include "importers/nsys_jax/snappy.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/parquet_builder.h"

namespace xlatrace::importers {
namespace {

namespace fs = std::filesystem;

class NsysJaxTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("xlatrace_nsys_jax_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "nvtx_gpu_proj_trace");
    fs::create_directories(folder_ / "dump");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  MemorySink Import() {
    MemorySink sink;
    const Status status = importers::Import(folder_.string(), sink);
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
    return sink;
  }
  fs::path folder_;
};

void ExpectTheTwoThunks(const MemorySink& sink) {
  ASSERT_EQ(sink.activities.size(), 4u);
  // In order of launch: the measurement comes first in any order of the table.
  EXPECT_EQ(sink.Config(sink.activities[0]).symbol, "XlaAutotunerMeasurement");
  EXPECT_EQ(sink.activities[0].hint_id, 0);
  const model::Activity& loop = sink.activities[1];
  EXPECT_EQ(loop.start_ns, 1000);
  EXPECT_EQ(loop.end_ns, 1500);
  EXPECT_EQ(loop.self_ns, 200);  // 500 less the 300 of the thunk inside.
  const model::Activity& fusion = sink.activities[2];
  EXPECT_EQ(sink.Config(fusion).kind, model::ActivityKind::kRange);
  EXPECT_EQ(sink.HintOf(fusion).instruction, "fusion.2");
  EXPECT_EQ(sink.HintOf(fusion).op_name, "jit(f)/add");
  EXPECT_EQ(sink.HintOf(fusion).module_name, "jit_f");
  EXPECT_EQ(sink.HintOf(fusion).program_id, 4);
  EXPECT_EQ(sink.HintOf(fusion).evidence, model::Evidence::kRange);
  EXPECT_EQ(fusion.run_key, loop.run_key);
  EXPECT_NE(fusion.run_key, 0);
  EXPECT_EQ(sink.Stat("projected_operations_outside_ranges"), 3);
  // The one operation of the loop is that of the thunk inside: what is left of it is idle.
  EXPECT_EQ(sink.Stat("loop_time_without_operations_ns"), 200);
}

TEST_F(NsysJaxTest, ThunkRangesBecomeActivities) {
  for (const bool dictionary : {false, true}) {
    for (const bool snappy : {false, true}) {
      Write("nvtx_gpu_proj_trace/trace.parquet", ProjectedTable(dictionary, snappy));
      ExpectTheTwoThunks(Import());
    }
  }
}

TEST_F(NsysJaxTest, DumpRangesAndCompilationsAreImported) {
  Write("nvtx_gpu_proj_trace/trace.parquet", ProjectedTable(true, true));
  Write("dump/module_0004.jit_f.sm_9.0_gpu_after_optimizations.txt", "HloModule jit_f");
  Write("dump/module_0004.jit_f.before_optimizations.txt", "HloModule jit_f");
  Write("dump/module_0004.jit_f.gpu_target_config.pbtxt",
        "gpu_device_info { core_count: 132 cuda_compute_capability { major: 9 } }\n"
        "platform_name: \"CUDA\"\ndevice_description_str: \"NVIDIA H100\"\n");
  Write("report_nvtx_pushpop_trace.csv",
        "Start (ns),End (ns),Name,PID,TID,Lvl\n"
        "1,9,TSL:XlaCompile:#module=jit_f#,7,8,0\n"
        "2,3,\"with \"\"quotes\"\", and a comma\",7,8,1\n"
        "2,3,cut off\n");
  const MemorySink sink = Import();
  EXPECT_EQ(sink.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(sink.devices[0].compute_capability, "9.0");
  EXPECT_EQ(sink.devices[0].sm_count, 132);
  ASSERT_EQ(sink.modules.size(), 1u);
  EXPECT_EQ(sink.modules[0].name, "jit_f");
  EXPECT_EQ(sink.modules[0].program_id, 4);
  ASSERT_EQ(sink.ranges.size(), 2u);
  EXPECT_EQ(sink.ranges[0].domain, "TSL");
  EXPECT_EQ(sink.ranges[1].text, "with \"quotes\", and a comma");
  ASSERT_EQ(sink.compiles.size(), 1u);
  EXPECT_EQ(sink.compiles[0].name, "jit_f");
  EXPECT_EQ(sink.Stat("csv_row_damaged"), 1);
}

TEST_F(NsysJaxTest, ThunkListAfterPassesIsPreferred) {
  Write("nvtx_gpu_proj_trace/trace.parquet", ProjectedTable(true, true));
  const std::string stem = "dump/module_0004.jit_f.";
  Write(stem + "sm_9.0_gpu_after_optimizations.txt", "HloModule jit_f");
  Write(stem + "thunk_sequence.txt", "before");
  Write(stem + "thunk_metadata.pb", "metadata");
  MemorySink sink = Import();
  ASSERT_EQ(sink.modules.size(), 1u);
  EXPECT_EQ(sink.modules[0].thunk_sequence, "before");
  EXPECT_EQ(sink.modules[0].thunk_metadata, "metadata");
  Write(stem + "thunk_sequence_after_thunk_passes.txt", "after");
  sink = Import();
  ASSERT_EQ(sink.modules.size(), 1u);
  EXPECT_EQ(sink.modules[0].thunk_sequence, "after");
}

TEST_F(NsysJaxTest, DamageIsAnErrorOrARunStat) {
  const std::string whole = ProjectedTable(true, true);
  std::mt19937 random(5);
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 200) {
    EXPECT_FALSE(ReadProjectedTrace(whole.substr(0, size)));
  }
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int flips = 1 + round % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    const auto trace = ReadProjectedTrace(bytes);
    ASSERT_TRUE(trace || !trace.error().message.empty());
    if (!trace) continue;
    for (const ProjectedRange& range : (*trace)->ranges) {
      ASSERT_LE(range.name.size(), bytes.size());
    }
  }
}

// So a capture that is read has a range, and with it a process.
TEST_F(NsysJaxTest, ATableWithoutARangeIsRefused) {
  const std::string columns =
      "Name,Projected Start,Projected Duration,Orig Start,Orig Duration,PID,TID,NumGPUOps,RangeId,"
      "ParentId\n";
  EXPECT_FALSE(ReadProjectedTrace(columns));
  EXPECT_FALSE(ReadProjectedTrace(columns + "range,,,,,7,8,1,,\n"));
  EXPECT_TRUE(ReadProjectedTrace(columns + "range,10,20,,,7,8,1,,\n"));
  ParquetBuilder table;
  table.Text("Name", {}, false, false);
  for (const char* name : {"Projected Start", "Projected Duration"}) {
    table.Number(name, {}, false, false);
  }
  EXPECT_FALSE(ReadProjectedTrace(table.Build()));
}

TEST(ProjectedTrace, LastLineNeedsNoLineEnd) {
  const auto trace = ReadProjectedTrace(
      "Name,Projected Start,Projected Duration,Orig Start,Orig Duration,PID,TID,NumGPUOps,RangeId,"
      "ParentId\nfirst,10,20,,,7,8,1,,\nlast,40,5,,,7,8,1,3,2");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ((*trace)->ranges.size(), 2u);
  EXPECT_EQ((*trace)->ranges[1].name, "last");
  EXPECT_EQ((*trace)->ranges[1].start_ns, 40);
  EXPECT_EQ((*trace)->ranges[1].parent_id, 2);
}

// With CUDA_VISIBLE_DEVICES=1,0 the machine's first GPU is the program's second.
TEST(CaptureMachine, DevicesAreFoundByTheirNumberInTheProgram) {
  ParquetBuilder table;
  table.Text("('TARGET_INFO_GPU', 'name')", {"first GPU", "second GPU"}, false, false);
  table.Number("cuDevice", {1, 0}, false, false);
  CaptureFiles files;
  files.device_metadata = table.Build();
  const CaptureMachine machine = ReadCaptureMachine(files);
  ASSERT_EQ(machine.devices.size(), 2u);
  EXPECT_EQ(machine.DeviceOf(0).name, "second GPU");
  EXPECT_EQ(machine.DeviceOf(1).name, "first GPU");
}

TEST_F(NsysJaxTest, FolderWithoutATableIsNotACapture) {
  MemorySink sink;
  const Status status = importers::Import(folder_.string(), sink);
  ASSERT_FALSE(status);
  EXPECT_TRUE(sink.processes.empty());
}

TEST(Snappy, LiteralsAndCopiesAreDecompressed) {
  // "abcd", then a copy of 8 bytes from 4 back (overlapping), then a copy of 4 from 12 back.
  const std::string bytes = std::string("\x10\x0c") + "abcd" + "\x11\x04" + "\x01\x0c";
  EXPECT_EQ(SnappyInflate(bytes, 100), "abcdabcdabcdabcd");
  EXPECT_FALSE(SnappyInflate(bytes, 15));
  EXPECT_FALSE(SnappyInflate(bytes.substr(0, bytes.size() - 1), 100));
  EXPECT_FALSE(SnappyInflate("\x04\x01\x09", 100));  // A copy from before the start.
}

TEST(RangeSorter, DepthIsTheNumberOfOpenRanges) {
  for (const size_t held : {size_t{1}, size_t{3}, size_t{1000}}) {
    std::vector<std::pair<std::string, int>> got;
    RangeSorter sorter([&](const RangeSorter::Row& row,
                           int32_t depth) { got.emplace_back(std::string(row.text), depth); },
                       held);
    static const std::string kDomain;
    sorter.Add({1, 0, 100, "a", &kDomain});
    sorter.Add({1, 10, 50, "b", &kDomain});
    sorter.Add({1, 12, 500, "start/end", &kDomain, false});
    sorter.Add({1, 20, 30, "c", &kDomain});
    sorter.Add({1, 50, 60, "d", &kDomain});
    sorter.Add({1, 100, 110, "e", &kDomain});
    sorter.Finish();
    const std::vector<std::pair<std::string, int>> want = {{"a", 0}, {"b", 1}, {"start/end", -1},
                                                           {"c", 2}, {"d", 1}, {"e", 0}};
    EXPECT_EQ(got, want) << held;
  }
}

TEST(RangeSorter, TablesOutOfOrderAreSorted) {
  std::vector<std::pair<std::string, int>> got;
  RangeSorter sorter([&](const RangeSorter::Row& row,
                         int32_t depth) { got.emplace_back(std::string(row.text), depth); },
                     3);
  static const std::string kDomain;
  sorter.Add({1, 10, 50, "inner", &kDomain});
  sorter.Add({1, 0, 100, "outer", &kDomain});
  for (int i = 0; i < 5; ++i) sorter.Add({1, 200 + i * 10, 205 + i * 10, "x", &kDomain});
  sorter.Finish();
  ASSERT_EQ(got.size(), 7u);
  EXPECT_EQ(got[0], std::pair(std::string("outer"), 0));
  EXPECT_EQ(got[1], std::pair(std::string("inner"), 1));
}

}  // namespace
}  // namespace xlatrace::importers
