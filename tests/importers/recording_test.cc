// SPDX-License-Identifier: Apache-2.0

// Recordings of our own collector. The truth is the input of the builder.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "importers/importer.h"
#include "importers/recording/recording_import.h"
#include "recording/folder.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/recording_builder.h"

namespace xlatrace::importers {
namespace {

using model::Evidence;
using recording::NodeEvent;
using ::testing::HasSubstr;

// Two instructions of which the second calls a computation.
std::vector<RecordingBuilder::Instruction> AddAndFusion() {
  return {{.name = "p.1", .line = "p.1 = f32[8]{0} parameter(0)"},
          {.name = "q.1", .line = "q.1 = f32[8]{0} parameter(0)"},
          {.name = "add.3",
           .line = "add.3 = f32[8]{0} add(p.1, p.1), metadata={op_name=\"jit(f)/add\"}",
           .op_name = "jit(f)/add"},
          {.name = "mul.2", .line = "mul.2 = f32[8]{0} multiply(q.1, q.1)"},
          {.name = "fusion.9",
           .line = "fusion.9 = f32[8]{0} fusion(add.3), kind=kLoop, calls=fused, "
                   "metadata={op_name=\"jit(f)/mul\"}",
           .called = "\nfused {\n  q.1 = f32[8]{0} parameter(0)\n  ROOT mul.2 = f32[8]{0} "
                     "multiply(q.1, q.1)\n} // fused\n",
           .op_name = "jit(f)/mul"}};
}

constexpr size_t kAdd = 3;
constexpr size_t kFusion = 5;

class RecordingTest : public ::testing::Test {
 protected:
  RecordingImport Import(const RecordingBuilder& builder) {
    auto outcome = ImportRecording(builder.path(), false, sink_);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *outcome : RecordingImport{};
  }
  model::Hint HintOf(size_t activity) { return sink_.HintOf(sink_.activities[activity]); }

  TemporaryFolder folder_;
  MemorySink sink_;
};

TEST_F(RecordingTest, KernelHasCallHintAndRun) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  const uint64_t run = builder.Run(titles[0], 10, 90);
  builder.Kernel("loop_add", builder.Call(307, 20, 25, titles[kAdd], run), 1000, 1500);
  builder.Kernel("loop_mul", builder.Call(307, 30, 34, titles[kFusion], run), 1600, 1700);
  builder.Finish();
  const RecordingImport outcome = Import(builder);
  EXPECT_TRUE(outcome.complete);
  EXPECT_EQ(outcome.bytes, std::filesystem::file_size(builder.path()));

  ASSERT_EQ(sink_.activities.size(), 2u);
  const model::Activity& add = sink_.activities[0];
  EXPECT_EQ(add.start_ns, 1000);
  EXPECT_EQ(add.end_ns, 1500);
  EXPECT_EQ(sink_.start_unix_ns(), static_cast<int64_t>(RecordingBuilder::kStart));
  EXPECT_EQ(HintOf(0).evidence, Evidence::kRange);
  EXPECT_EQ(HintOf(0).instruction, "add.3");
  EXPECT_EQ(HintOf(0).module_name, "jit_f");
  EXPECT_EQ(HintOf(0).program_id, 7);
  EXPECT_EQ(HintOf(1).instruction, "fusion.9");
  EXPECT_NE(add.run_key, 0);
  EXPECT_EQ(add.run_key, sink_.activities[1].run_key);
  const MemorySink::Call& call = sink_.calls[static_cast<size_t>(add.api_call_id - 1)];
  EXPECT_EQ(call.name, "cuLaunchKernel");
  EXPECT_EQ(call.thread_id, 7);
  EXPECT_EQ(call.start_ns, 20);
  EXPECT_EQ(call.end_ns, 25);
  const model::LaunchConfig& config = sink_.Config(add);
  EXPECT_EQ(config.symbol, "loop_add");
  EXPECT_EQ(config.grid[1], 2);
  EXPECT_EQ(config.block[0], 128);
  EXPECT_EQ(config.cluster[0], std::nullopt);
  EXPECT_EQ(config.registers_per_thread, 32);
  EXPECT_EQ(config.shared_memory_dynamic_bytes, 1024);
}

TEST_F(RecordingTest, KernelOutsideOfModulesHasTheOpOfItsLaunch) {
  RecordingBuilder builder(folder_ / "a.rec");
  builder.Fact("tensorflow_ops", "on");
  const uint32_t op = builder.Text("dense_0/MatMul:MatMul");
  const uint32_t send = builder.Text("IteratorGetNext/_3:_Send#from=a,to=b#");
  builder.Kernel("sgemm", builder.Call(307, 20, 25, op, 0), 1000, 1500);
  builder.Copy(1, 64, builder.Call(279, 30, 34, send, 0), 1600, 1700);
  builder.Kernel("eager", builder.Call(307, 40, 44, 0, 0), 1800, 1900);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.activities.size(), 3u);
  EXPECT_EQ(HintOf(0).evidence, Evidence::kOpRange);
  EXPECT_EQ(HintOf(0).op_name, "dense_0/MatMul");
  EXPECT_EQ(HintOf(0).op_type, "MatMul");
  EXPECT_EQ(HintOf(1).op_name, "IteratorGetNext/_3");
  EXPECT_EQ(HintOf(1).op_type, "_Send");
  EXPECT_EQ(HintOf(2).evidence, Evidence::kOpRange);  // No op of a graph was under way.
  EXPECT_EQ(HintOf(2).op_name, "");
}

TEST_F(RecordingTest, CommunicationOpsAreNamedWithoutALaunch) {
  RecordingBuilder builder(folder_ / "a.rec");
  builder.Fact("tensorflow_ops", "on");
  builder.Text("CollectiveReduceV2_1:CollectiveReduceV2");
  builder.Text("ncclAllReduce#buffer_size=32768,collective_type=all_reduce#");
  builder.Text("dense_0/MatMul:MatMul");
  builder.Kernel("ncclDevKernel_AllReduce", builder.Call(307, 40, 44, 0, 0), 1800, 1900);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.hints.size(), 2u);  // The other hint means that the kernel is outside of ops.
  EXPECT_EQ(sink_.hints[0].op_name, "CollectiveReduceV2_1");
  EXPECT_EQ(sink_.hints[0].op_type, "CollectiveReduceV2");
  EXPECT_EQ(HintOf(0).op_name, "");
}

TEST_F(RecordingTest, KernelsOutsideOfOpsHaveNoHintWithoutAnnotations) {
  RecordingBuilder builder(folder_ / "a.rec");
  builder.Kernel("eager", builder.Call(307, 40, 44, 0, 0), 1800, 1900);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.activities.size(), 1u);
  EXPECT_EQ(sink_.activities[0].hint_id, 0);
}

TEST_F(RecordingTest, MissingOpNamesOfTensorFlowAreReported) {
  // The sink adds up.
  for (const char* const state : {"on", "off", "missing"}) {
    RecordingBuilder builder(folder_ / (std::string(state) + ".rec"));
    builder.Fact("tensorflow_ops", state);
    builder.Kernel("sgemm", builder.Call(307, 40, 44, 0, 0), 1800, 1900);
    builder.Finish();
    Import(builder);
    const int64_t told = std::string_view(state) == "missing" ? 1 : 0;
    EXPECT_EQ(sink_.Stat("tensorflow_ops_unannounced"), told) << state;
  }
}

TEST_F(RecordingTest, EveryRunOfAModuleIsItsOwn) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  for (uint64_t step = 0; step < 3; ++step) {
    const uint64_t run = builder.Run(titles[0], step * 100, step * 100 + 50);
    builder.Kernel("k", builder.Call(307, step * 100 + 1, step * 100 + 2, titles[kAdd], run),
                   step * 100 + 10, step * 100 + 20);
  }
  builder.Finish();
  Import(builder);
  EXPECT_NE(sink_.activities[0].run_key, sink_.activities[1].run_key);
  EXPECT_NE(sink_.activities[1].run_key, sink_.activities[2].run_key);
  EXPECT_EQ(sink_.activities[0].hint_id, sink_.activities[2].hint_id);
}

TEST_F(RecordingTest, GraphKernelHasItsNodesInstructionAndItsLaunchsRun) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  const uint32_t buffer = builder.Text("Thunk:#hlo_op=command_buffer_1#");
  // Recorded under the ranges of thunks, instantiated under the range of the command buffer, which
  // has no instruction.
  builder.Node(NodeEvent::kCreated, 10, 501, 0, titles[kAdd], titles[0]);
  builder.Node(NodeEvent::kCreated, 12, 502, 0, titles[kFusion], titles[0]);
  builder.Node(NodeEvent::kCloned, 20, 901, 501, buffer, titles[0]);
  builder.Node(NodeEvent::kCloned, 20, 902, 502, buffer, titles[0]);
  const uint64_t run = builder.Run(titles[0], 5, 90);
  const uint32_t launch = builder.Call(514, 30, 35, buffer, run);
  builder.Kernel("a", launch, 1000, 1100, 901, 3);
  builder.Copy(8, 4096, launch, 1100, 1200, 902);
  builder.Finish();
  Import(builder);
  EXPECT_EQ(HintOf(0).evidence, Evidence::kGraphNode);
  EXPECT_EQ(HintOf(0).instruction, "add.3");
  EXPECT_EQ(HintOf(0).program_id, 7);
  EXPECT_EQ(HintOf(1).evidence, Evidence::kGraphNode);
  EXPECT_EQ(HintOf(1).instruction, "fusion.9");
  EXPECT_EQ(sink_.activities[0].graph_node_id, 901);
  EXPECT_EQ(sink_.activities[0].graph_id, 3);
  EXPECT_NE(sink_.activities[0].run_key, 0);
  EXPECT_EQ(sink_.activities[0].run_key, sink_.activities[1].run_key);
  EXPECT_EQ(sink_.activities[1].bytes, 4096);
  EXPECT_EQ(sink_.Config(sink_.activities[1]).name, "MemcpyD2D");
}

TEST_F(RecordingTest, GraphUpdateAppliesFromItsTimeOn) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  builder.Node(NodeEvent::kCreated, 10, 501, 0, titles[kAdd], titles[0]);
  builder.Node(NodeEvent::kUpdated, 100, 501, 0, titles[kFusion], titles[0]);
  const uint64_t run = builder.Run(titles[0], 5, 300);
  builder.Kernel("a", builder.Call(514, 50, 55, 0, run), 1000, 1100, 501, 3);
  builder.Kernel("a", builder.Call(514, 150, 155, 0, run), 2000, 2100, 501, 3);
  builder.Finish();
  Import(builder);
  EXPECT_EQ(HintOf(0).instruction, "add.3");
  EXPECT_EQ(HintOf(1).instruction, "fusion.9");
}

TEST_F(RecordingTest, UpdateOfTheWholeGraphDoesNotRenameItsNodes) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  const uint32_t buffer = builder.Text("Thunk:#hlo_op=command_buffer_1#");
  builder.Node(NodeEvent::kCreated, 10, 501, 0, titles[kAdd], titles[0]);
  builder.Node(NodeEvent::kCloned, 20, 901, 501, buffer, titles[0]);
  builder.Node(NodeEvent::kUpdated, 40, 901, 0, buffer, titles[0]);
  const uint64_t run = builder.Run(titles[0], 5, 300);
  builder.Kernel("a", builder.Call(514, 50, 55, buffer, run), 1000, 1100, 901, 3);
  builder.Finish();
  Import(builder);
  EXPECT_EQ(HintOf(0).instruction, "add.3");
}

TEST_F(RecordingTest, NodeOutsideOfRangesHasOnlyItsModule) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  const uint64_t run = builder.Run(titles[0], 5, 300);
  const uint32_t buffer = builder.Text("Thunk:#hlo_op=command_buffer_1#");
  builder.Kernel("a", builder.Call(514, 50, 55, buffer, run), 1000, 1100, 901, 3);
  builder.Finish();
  Import(builder);
  EXPECT_EQ(HintOf(0).instruction, "");
  EXPECT_EQ(HintOf(0).module_name, "jit_f");
  EXPECT_EQ(sink_.Stat("graph_node_unknown"), 1);
}

TEST_F(RecordingTest, KilledProcessKeepsItsModuleThroughTheThunk) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  // The range of the run was open when the process was killed: no row of it.
  builder.Kernel("a", builder.Call(307, 50, 55, titles[kAdd], 99), 1000, 1100);
  builder.Call(307, 60, 65, titles[kAdd], 99);  // Its kernel did not come any more.
  builder.Kill();
  const RecordingImport outcome = Import(builder);
  EXPECT_FALSE(outcome.complete);
  EXPECT_EQ(HintOf(0).instruction, "add.3");
  EXPECT_EQ(HintOf(0).module_name, "jit_f");
  EXPECT_EQ(HintOf(0).program_id, 7);
  EXPECT_NE(sink_.activities[0].run_key, 0);
  EXPECT_EQ(sink_.Stat("process_killed"), 1);
  EXPECT_EQ(sink_.Stat("launch_without_activity"), 1);
  EXPECT_EQ(sink_.stats["launch_without_activity"].severity, model::Severity::kDataLoss);
}

// Compiled twice under one name and number: the handle identifies the module that ran.
TEST_F(RecordingTest, ModulesOfOneNameAreDistinguishedByHandles) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto first = builder.RegisterModule("jit_f", 7, AddAndFusion());
  const auto second = builder.RegisterModule("jit_f", 7, AddAndFusion());
  uint64_t run = builder.Run(first[0], 10, 90);
  builder.Kernel("a", builder.Call(307, 20, 25, first[kAdd], run), 1000, 1500);
  run = builder.Run(second[0], 110, 190);
  builder.Kernel("a", builder.Call(307, 120, 125, second[kAdd], run), 2000, 2500);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.modules.size(), 2u);
  EXPECT_EQ(HintOf(0).module_id, 1);
  EXPECT_EQ(HintOf(1).module_id, 2);
}

TEST_F(RecordingTest, LostLaunchOfACompleteRecordingIsDataLoss) {
  RecordingBuilder builder(folder_ / "a.rec");
  builder.Call(307, 60, 65, 0, 0);
  builder.Finish();
  Import(builder);
  EXPECT_EQ(sink_.stats["launch_without_activity"].severity, model::Severity::kDataLoss);
}

TEST_F(RecordingTest, ModuleIsRebuiltFromItsStrings) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  builder.RegisterModule("jit_never_run", 8, AddAndFusion());
  const uint64_t run = builder.Run(titles[0], 10, 90);
  builder.Kernel("a", builder.Call(307, 20, 25, titles[kAdd], run), 1000, 1500);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.modules.size(), 1u);
  EXPECT_EQ(sink_.modules[0].name, "jit_f");
  EXPECT_EQ(sink_.modules[0].program_id, 7);
  EXPECT_EQ(sink_.Stat("module_not_run"), 1);
  auto module = hlo::ReadText(std::make_shared<const std::string>(sink_.modules[0].bytes));
  ASSERT_TRUE(module) << module.error().message << "\n" << sink_.modules[0].bytes;
  ASSERT_EQ(module->computations.size(), 2u);
  EXPECT_EQ(module->instructions.size(), 5u);
  const auto names = model::IndexByName(*module);
  const model::Instruction& fusion = module->instructions[names.at("fusion.9")];
  EXPECT_TRUE(fusion.is_root);
  EXPECT_EQ(fusion.metadata.op_name, "jit(f)/mul");
  EXPECT_TRUE(module->computations[fusion.computation].is_entry);
  const model::Instruction& mul = module->instructions[names.at("mul.2")];
  EXPECT_EQ(module->computations[mul.computation].name, "fused");
  EXPECT_TRUE(mul.is_root);
}

TEST_F(RecordingTest, EachInstructionHasTheStackThatFollowsIt) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule(
      "jit_f", 7,
      {{.name = "p.1", .line = "p.1 = f32[8]{0} parameter(0)"},
       {.name = "neg.2",
        .line = "neg.2 = f32[8]{0} negate(p.1), metadata={op_name=\"jit(f)/neg\" "
                "stack_frame_id=4}",
        .stack = "\n- /train.py:20:3[f]\n"},
       {.name = "exp.3",
        .line = "exp.3 = f32[8]{0} exponential(neg.2), metadata={op_name=\"jit(f)/exp\" "
                "stack_frame_id=5}",
        .stack = "\n- /train.py:30:3[g]\n"}});
  const uint64_t run = builder.Run(titles[0], 10, 90);
  builder.Kernel("a", builder.Call(307, 20, 25, titles[2], run), 1000, 1500);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.modules.size(), 1u);
  auto module = hlo::ReadText(std::make_shared<const std::string>(sink_.modules[0].bytes));
  ASSERT_TRUE(module) << module.error().message << "\n" << sink_.modules[0].bytes;
  const auto names = model::IndexByName(*module);
  EXPECT_EQ(module->instructions[names.at("neg.2")].metadata.source_line, 20);
  EXPECT_EQ(module->instructions[names.at("exp.3")].metadata.source_line, 30);
}

TEST_F(RecordingTest, MissingComputationDoesNotBreakTheModule) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule(
      "jit_f", 7,
      {{.name = "add.3",
        .line = "add.3 = f32[8]{0} fusion(gone.1), kind=kLoop, calls=gone_computation, "
                "metadata={op_name=\"jit(f)/add\"}"}});
  const uint64_t run = builder.Run(titles[0], 10, 90);
  builder.Kernel("a", builder.Call(307, 20, 25, titles[1], run), 1000, 1500);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.modules.size(), 1u);
  auto module = hlo::ReadText(std::make_shared<const std::string>(sink_.modules[0].bytes));
  ASSERT_TRUE(module) << module.error().message << "\n" << sink_.modules[0].bytes;
  EXPECT_EQ(module->instructions[model::IndexByName(*module).at("add.3")].metadata.op_name,
            "jit(f)/add");
  EXPECT_EQ(sink_.Stat("instruction_not_told"), 1);
  EXPECT_EQ(sink_.Stat("computation_not_told"), 1);
}

TEST_F(RecordingTest, ImpossibleTimesAreUnknownAndCounted) {
  RecordingBuilder builder(folder_ / "a.rec");
  builder.Kernel("a", builder.Call(307, 10, 20, 0, 0), 1000, 1100);
  builder.Kernel("a", builder.Call(307, 30, 40, 0, 0), 2000, 1900);
  builder.writer->AddActivity({.start_ns = 0, .end_ns = 0, .correlation = 3}, {}, {0, 1, 13});
  // Runs still when CUPTI gives up its buffer: a start and no end.
  builder.writer->AddActivity({.start_ns = RecordingBuilder::kStart + 3000, .correlation = 4}, {},
                              {0, 1, 13});
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.activities.size(), 4u);
  EXPECT_EQ(sink_.activities[0].timing, model::Timing::kKnown);
  EXPECT_EQ(sink_.activities[1].timing, model::Timing::kUnknown);
  EXPECT_EQ(sink_.activities[2].timing, model::Timing::kUnknown);
  EXPECT_EQ(sink_.activities[3].timing, model::Timing::kStartOnly);
  for (const size_t i : {1, 2}) {  // A place in the order: behind the one before.
    EXPECT_EQ(sink_.activities[i].start_ns, 1100);
    EXPECT_EQ(sink_.activities[i].end_ns, 1100);
  }
  EXPECT_EQ(sink_.activities[3].start_ns, 3000);
  EXPECT_EQ(sink_.activities[3].end_ns, 3000);
  EXPECT_EQ(sink_.Stat("activity_times_unknown"), 2);
  EXPECT_EQ(sink_.Stat("activity_end_unknown"), 1);
}

TEST_F(RecordingTest, DevicesStreamsAndFactsAreImported) {
  RecordingBuilder builder(folder_ / "a.rec");
  builder.Fact("rank", "3");
  builder.Fact("local_rank", "1");
  builder.Fact("command", "python train.py --key=***");
  builder.Fact("driver_version", "13000");
  builder.writer->Add(recording::DeviceRow{.device = 0,
                                           .name = "Fake GPU",
                                           .uuid = "GPU-1",
                                           .compute_major = 9,
                                           .compute_minor = 0,
                                           .sm_count = 132,
                                           .core_clock_khz = 1980000,
                                           .warp_size = 32,
                                           .max_warps_per_sm = 64,
                                           .max_blocks_per_sm = 32,
                                           .registers_per_sm = 65536,
                                           .shared_memory_per_sm_bytes = 233472,
                                           .shared_memory_reserved_per_block_bytes = 1024});
  builder.writer->Add(recording::ContextRow{.context = 1, .device = 0, .null_stream = 13});
  builder.writer->Add(recording::ContextRow{.context = 1, .device = 0});  // The context of the
                                                                          // callback.
  builder.writer->Add(recording::StreamRow{.context = 1, .stream = 13, .priority = -5});
  builder.Kernel("a", builder.Call(307, 10, 20, 0, 0), 1000, 1100);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.devices.size(), 1u);
  const model::Device& device = sink_.devices[0];
  EXPECT_EQ(device.name, "Fake GPU");
  EXPECT_EQ(device.compute_capability, "9.0");
  EXPECT_EQ(device.sm_count, 132);
  EXPECT_EQ(device.clock_hz, 1980000000);
  EXPECT_EQ(device.max_threads_per_sm, 2048);
  EXPECT_EQ(device.shared_memory_reserved_per_block_bytes, 1024);
  EXPECT_EQ(device.l2_bytes, std::nullopt);
  EXPECT_EQ(sink_.lanes[0].priority, -5);
  EXPECT_EQ(sink_.lanes[0].context_id, 1);
  EXPECT_THAT(sink_.lanes[0].name, HasSubstr("default"));
  EXPECT_EQ(sink_.processes[0].rank, 3);
  EXPECT_EQ(sink_.processes[0].local_rank, 1);
  EXPECT_EQ(sink_.processes[0].pid, 41);
  EXPECT_EQ(sink_.info["cuda"], "13.0");
  EXPECT_EQ(sink_.info["command"], "python train.py --key=***");
}

TEST_F(RecordingTest, RangesAndCompilationsAreKept) {
  RecordingBuilder builder(folder_ / "a.rec");
  const auto titles = builder.RegisterModule("jit_f", 7, AddAndFusion());
  const uint64_t run = builder.Run(titles[0], 100, 190);
  const auto add = [&](const std::string& domain, const std::string& text, uint64_t start,
                       uint64_t end, uint32_t depth) {
    builder.writer->Add(recording::RangeRow{.thread = 7,
                                            .domain = domain.empty() ? 0 : builder.Text(domain),
                                            .text = builder.Text(text),
                                            .start_ns = RecordingBuilder::kStart + start,
                                            .end_ns = end == 0 ? 0 : RecordingBuilder::kStart + end,
                                            .depth = depth});
  };
  add("TSL", "XlaCompile:#module=jit_f,program_id=7#", 10, 90, 0);
  add("TSL", "XlaPass:#name=dce,module=jit_f,program_id=7#", 20, 30, 1);
  add("", "my range", 5, 0, 0);
  builder.Kernel("a", builder.Call(307, 110, 120, titles[kAdd], run), 1000, 1100);
  builder.Finish();
  Import(builder);
  ASSERT_EQ(sink_.ranges.size(), 4u);
  EXPECT_EQ(sink_.ranges[3].text, "my range");
  EXPECT_EQ(sink_.ranges[3].domain, "");
  EXPECT_EQ(sink_.ranges[3].end_ns, 1100);  // Open: to the end of what was recorded.
  EXPECT_EQ(sink_.ranges[2].depth, 1);
  ASSERT_EQ(sink_.compiles.size(), 2u);
  EXPECT_EQ(sink_.compiles[0].name, "XlaCompile");
  EXPECT_EQ(sink_.compiles[0].module_id, 1);
  EXPECT_EQ(sink_.compiles[1].name, "XlaPass: dce");
  EXPECT_EQ(sink_.compiles[1].start_ns, 20);
}

TEST_F(RecordingTest, CollectorsCountersHaveSeverity) {
  RecordingBuilder builder(folder_ / "a.rec");
  builder.writer->Add(recording::StatRow{.name = "records_dropped", .value = 3});
  builder.writer->Add(recording::StatRow{.name = "records_dropped", .value = 5});
  builder.writer->Add(recording::StatRow{.name = "kernels", .value = 9});
  builder.writer->Add(recording::StatRow{.name = "pops_unbalanced", .value = 0});
  builder.Fact("error", "cuptiSubscribe: 39");
  builder.Finish();
  Import(builder);
  EXPECT_EQ(sink_.Stat("records_dropped"), 5);  // Counters are cumulative.
  EXPECT_EQ(sink_.stats["records_dropped"].severity, model::Severity::kDataLoss);
  EXPECT_NE(sink_.stats["records_dropped"].advice, "");
  EXPECT_EQ(sink_.Stat("collector_kernels"), 9);
  EXPECT_FALSE(sink_.stats.contains("pops_unbalanced"));
  EXPECT_EQ(sink_.stats["collector: cuptiSubscribe: 39"].severity, model::Severity::kError);
}

TEST_F(RecordingTest, FolderGivesAllProcessesOfTheNewestToken) {
  for (const char* name : {"old.h.1.10.rec", "new.h1.2.20.rec", "new.h2.3.21.rec"}) {
    RecordingBuilder builder(folder_ / name);
    builder.Kernel(name, builder.Call(307, 10, 20, 0, 0), 1000, 1100);
    builder.Finish();
  }
  ASSERT_EQ(*Detect(folder_.str()), SourceKind::kRecording);
  ASSERT_TRUE(importers::Import(folder_.str(), sink_));
  ASSERT_EQ(sink_.activities.size(), 2u);
  EXPECT_EQ(sink_.processes.size(), 2u);
  EXPECT_EQ(sink_.Config(sink_.activities[0]).symbol, "new.h1.2.20.rec");
  EXPECT_NE(sink_.DeviceOf(sink_.activities[0]).process_id,
            sink_.DeviceOf(sink_.activities[1]).process_id);
}

}  // namespace
}  // namespace xlatrace::importers
