// SPDX-License-Identifier: Apache-2.0

// Rules of importers/xplane/xplane.h, each on a profile made for it.

#include "importers/xplane/xplane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/xspace_builder.h"

namespace xlatrace::importers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kStart = 1'700'000'000'123'456'789;

MemorySink ImportSpace(const SpaceBuilder& space) {
  MemorySink sink;
  const Status status = ImportXplane(space.bytes(), "test.xplane.pb", sink);
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return sink;
}

MemorySink ImportPlane(const PlaneBuilder& plane) {
  return ImportSpace(SpaceBuilder().Plane(plane).Plane(TaskEnvironment(kStart)).Host("node7"));
}

StatList Op(const std::string& name, int64_t run_id = 1, int64_t program = 5, int64_t ordinal = 0) {
  return {{"hlo_op", Ref{name}},
          {"hlo_module", Ref{"jit_f"}},
          {"program_id", program},
          {"run_id", run_id},
          {"device_ordinal", ordinal}};
}

TEST(XplaneTime, PicosecondsAreFlooredAtBothEnds) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 5000);
  gpu.Event("a", 1'999, 1'000, {{"kernel_details", Ref{"grid:1,1,1"}}});  // 1.999 .. 2.999 ns
  gpu.Event("b", 2'999, 2'002, {{"kernel_details", Ref{"grid:1,1,1"}}});  // 2.999 .. 5.001 ns
  const MemorySink sink = ImportPlane(gpu);
  ASSERT_EQ(sink.activities.size(), 2u);
  EXPECT_EQ(sink.activities[0].start_ns, 5001);
  EXPECT_EQ(sink.activities[0].end_ns, 5002);
  EXPECT_EQ(sink.activities[1].start_ns, 5002);  // They touch in ps, so they touch in ns.
  EXPECT_EQ(sink.activities[1].end_ns, 5005);
}

TEST(XplaneTime, NegativeOffsetsAreFlooredToo) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0).Event("a", -1, 2);
  const MemorySink sink = ImportPlane(gpu);
  ASSERT_EQ(sink.activities.size(), 1u);
  EXPECT_EQ(sink.activities[0].start_ns, -1);
  EXPECT_EQ(sink.activities[0].end_ns, 0);
}

TEST(XplaneTime, TheProfileStartIsTheRunsStart) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0).Event("k", 0, 1'000);
  const MemorySink sink = ImportPlane(gpu);
  EXPECT_EQ(sink.start_unix_ns(), kStart);
  EXPECT_EQ(sink.info.at("end_unix_ns"), std::to_string(kStart + 1'000'000'000));
  EXPECT_EQ(sink.processes.at(0).host, "node7");
}

TEST(XplaneTime, AbsoluteLinesOfOldProfilersCountFromTheStart) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, kStart + 700).Event("a", 0, 1'000);
  EXPECT_EQ(ImportPlane(gpu).activities.at(0).start_ns, 700);
}

TEST(XplaneTime, WithoutAStartAbsoluteLinesCountFromTheEarliest) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, kStart + 700).Event("a", 0, 1'000);
  gpu.Line("Stream #2(Kernel)", 2, kStart).Event("b", 5'000, 1'000);
  const MemorySink sink = ImportSpace(SpaceBuilder().Plane(gpu));
  EXPECT_EQ(sink.start_unix_ns(), kStart);
  EXPECT_EQ(sink.activities.at(0).start_ns, 700);
  EXPECT_EQ(sink.activities.at(1).start_ns, 5);
}

TEST(XplaneTime, ASecondSourceIsShiftedToTheFirstOnesStart) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 100).Event("a", 0, 1'000);
  const SpaceBuilder space = SpaceBuilder().Plane(gpu).Plane(TaskEnvironment(kStart));
  MemorySink sink;
  sink.SetStart(kStart - 1'000);
  ASSERT_TRUE(ImportXplane(space.bytes(), "b", sink));
  EXPECT_EQ(sink.activities.at(0).start_ns, 1'100);
}

TEST(XplaneTime, ImpossibleTimesAreCountedAndLeftOut) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  gpu.Event("a", 0, -5).Event("a", INT64_MAX - 2, 100).Event("a", 0, 1'000);
  gpu.AggregatedEvent("a", 12);
  const MemorySink sink = ImportPlane(gpu);
  EXPECT_EQ(sink.activities.size(), 1u);
  EXPECT_EQ(sink.Stat("event_time_invalid"), 2);
  EXPECT_EQ(sink.stats.at("event_time_invalid").severity, model::Severity::kDataLoss);
  EXPECT_EQ(sink.Stat("event_without_time"), 1);
}

TEST(XplaneGpu, KernelDetailsBecomeTheLaunchConfiguration) {
  PlaneBuilder gpu("/device:GPU:3");
  gpu.Stat("device_vendor", Ref{"Nvidia"})
      .Stat("compute_cap_major", int64_t{9})
      .Stat("compute_cap_minor", int64_t{0})
      .Stat("clock_rate", int64_t{1'980'000})
      .Stat("core_count", int64_t{132})
      .Stat("memory_size", uint64_t{85'899'345'920})
      .Stat("memory_bandwidth", uint64_t{3'352'000'000'000});
  gpu.Line("Stream #13(Kernel)", 13, 0);
  gpu.Event("loop_add_fusion", 0, 1'000,
            {{"kernel_details", Ref{"regs:32 static_shared:256 dynamic_shared:1024 grid:8,2,1 "
                                    "block:128,1,1 occ_pct:62.5"}}});
  const MemorySink sink = ImportPlane(gpu);
  const model::Device& device = sink.devices.at(0);
  EXPECT_EQ(device.ordinal, 3);
  EXPECT_EQ(device.compute_capability, "9.0");
  EXPECT_EQ(device.clock_hz, 1'980'000'000);
  EXPECT_EQ(device.sm_count, 132);
  EXPECT_EQ(device.memory_bytes, 85'899'345'920);
  EXPECT_EQ(device.memory_bandwidth_bytes_per_s, 3'352'000'000'000);
  EXPECT_EQ(sink.lanes.at(0).stream_id, 13);
  const model::LaunchConfig& config = sink.Config(sink.activities.at(0));
  EXPECT_EQ(config.kind, model::ActivityKind::kKernel);
  EXPECT_EQ(config.registers_per_thread, 32);
  EXPECT_EQ(config.shared_memory_static_bytes, 256);
  EXPECT_EQ(config.shared_memory_dynamic_bytes, 1024);
  EXPECT_EQ(config.grid[0], 8);
  EXPECT_EQ(config.grid[1], 2);
  EXPECT_EQ(config.block[0], 128);
  EXPECT_EQ(config.theoretical_occupancy_milli_pct, 62'500);
  EXPECT_EQ(sink.activities[0].hint_id, 0);
  EXPECT_EQ(sink.info.at("granularity"), "kernel");
}

TEST(XplaneGpu, ImpossibleRegistersAlsoDiscardSharedMemory) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  const StatList stats = {{"kernel_details", Ref{"regs:2191500840 static_shared:32462 "
                                                 "dynamic_shared:0 grid:4,1,1 block:64,1,1"}}};
  gpu.Event("k", 0, 1'000, stats).Event("k", 2'000, 1'000, stats);
  const MemorySink sink = ImportPlane(gpu);
  const model::LaunchConfig& config = sink.Config(sink.activities.at(0));
  EXPECT_FALSE(config.registers_per_thread);
  EXPECT_FALSE(config.shared_memory_static_bytes);
  EXPECT_EQ(config.grid[0], 4);
  EXPECT_EQ(sink.Stat("impossible_registers"), 2);
}

TEST(XplaneGpu, AmdVariantOfTheDetailsIsRead) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #16(Kernel)", 16, 0);
  gpu.Event("loop_convert_fusion.kd", 0, 1'000,
            {{"kernel_details",
              Ref{" grid:65536,1,1 block:256,1,1 private_mem:0 group_mem:512 occ_pct:0"}}});
  const MemorySink sink = ImportPlane(gpu);
  const model::LaunchConfig& config = sink.Config(sink.activities.at(0));
  EXPECT_EQ(config.symbol, "loop_convert_fusion.kd");
  EXPECT_EQ(config.name, "loop_convert_fusion");
  EXPECT_EQ(config.shared_memory_static_bytes, 512);
  EXPECT_FALSE(config.registers_per_thread);
  EXPECT_FALSE(config.theoretical_occupancy_milli_pct);  // 0 = not computed.
}

TEST(XplaneGpu, CopiesAndMemsetsHaveKindAndBytes) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(MemcpyH2D)", 1, 0);
  gpu.Event("MemcpyH2D", 0, 1'000,
            {{"memcpy_details", Ref{"kind_src:pinned kind_dst:device size:4096 dest:0 async:1"}}});
  gpu.Event("MemcpyD2H", 2'000, 1'000, {{"memcpy_details", Ref{"size:16 dest:0 async:1"}}});
  gpu.Event("CopyDeviceToDevice", 4'000, 1'000,
            {{"memcpy_details", Ref{"kind:Unknown size:655360 dest:1 async:1"}}});
  gpu.Event("CopyDeviceToDevice", 6'000, 1'000,
            {{"memcpy_details", Ref{"kind:Unknown size:0 dest:512 async:1"}}});
  gpu.Event("Memset", 8'000, 1'000, {{"memset_details", Ref{"kind:device size:64 async:1"}}});
  const MemorySink sink = ImportSpace(
      SpaceBuilder().Plane(gpu).Plane(PlaneBuilder("/device:GPU:1")).Plane(TaskEnvironment(1)));
  std::vector<std::pair<model::CopyKind, int64_t>> got;
  for (const model::Activity& a : sink.activities) {
    got.emplace_back(sink.Config(a).copy_kind, a.bytes);
  }
  using model::CopyKind;
  EXPECT_THAT(got, ElementsAre(std::pair(CopyKind::kHostToDevice, 4096),
                               std::pair(CopyKind::kDeviceToHost, 16),
                               std::pair(CopyKind::kPeerToPeer, 655360),
                               std::pair(CopyKind::kDeviceToDevice, -1),  // Size not known.
                               std::pair(CopyKind::kUnknown, 64)));
  EXPECT_EQ(sink.Config(sink.activities[4]).kind, model::ActivityKind::kMemset);
}

TEST(XplaneGpu, AKernelNamedLikeACopyIsAKernel) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  gpu.Event("Memcpy32_post", 0, 1'000, {{"kernel_details", Ref{"regs:8 grid:1,1,1"}}});
  gpu.Event("__amd_rocclr_copyBuffer.kd", 0, 1'000, {{"kernel_details", Ref{"grid:1,1,1"}}});
  const MemorySink sink = ImportPlane(gpu);
  EXPECT_EQ(sink.Config(sink.activities.at(0)).kind, model::ActivityKind::kKernel);
  EXPECT_EQ(sink.Config(sink.activities.at(1)).kind, model::ActivityKind::kKernel);
}

TEST(XplaneGpu, DerivedLinesAreNotActivities) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0).Event("k", 0, 1'000);
  gpu.Line("XLA Modules", 900, 0).Event("jit_f", 0, 1'000);
  gpu.Line("XLA Ops", 901, 0).Event("add.1", 0, 1'000);
  gpu.Line("Launch Stats", 902, 0).Event("k", 0, 1'000);
  const MemorySink sink = ImportPlane(gpu);
  EXPECT_EQ(sink.activities.size(), 1u);
  EXPECT_EQ(sink.lanes.size(), 1u);
  EXPECT_EQ(sink.Stat("derived_line"), 3);
}

TEST(XplaneGpu, AnnotationsBecomeHintsWithPrefixedOpName) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  gpu.Event("k", 0, 1'000,
            {{"tf_op", Ref{"XlaModule:"}},
             {"prefix", Ref{"jit(f)/jit(main)"}},
             {"name", Ref{"mlp/dot_general"}},
             {"hlo_op", Ref{"dot.7"}},
             {"hlo_module", Ref{"jit_f"}},
             {"program_id", int64_t{52}}});
  gpu.Event("tf_kernel", 2'000, 1'000, {{"tf_op", Ref{"model/dense/MatMul:MatMul"}}});
  const MemorySink sink = ImportPlane(gpu);
  const model::Hint hint = sink.HintOf(sink.activities.at(0));
  EXPECT_EQ(hint.evidence, model::Evidence::kAnnotation);
  EXPECT_EQ(hint.module_name, "jit_f");
  EXPECT_EQ(hint.program_id, 52);
  EXPECT_EQ(hint.instruction, "dot.7");
  EXPECT_EQ(hint.op_name, "jit(f)/jit(main)/mlp/dot_general");
  const model::Hint eager = sink.HintOf(sink.activities.at(1));
  EXPECT_EQ(eager.evidence, model::Evidence::kOpRange);
  EXPECT_EQ(eager.op_name, "model/dense/MatMul");
  EXPECT_EQ(eager.op_type, "MatMul");
  EXPECT_EQ(eager.instruction, "");
}

TEST(XplaneHost, CommunicationOpsAreNamed) {
  PlaneBuilder host("/host:CPU");
  host.Line("tf_Compute", 1, 0);
  host.Event("sync/CollectiveReduceV2:CollectiveReduceV2", 0, 1'000);
  host.Event("dense/MatMul:MatMul", 2'000, 1'000);
  const MemorySink sink = ImportPlane(host);
  ASSERT_EQ(sink.hints.size(), 1u);
  EXPECT_EQ(sink.hints[0].evidence, model::Evidence::kOpRange);
  EXPECT_EQ(sink.hints[0].op_name, "sync/CollectiveReduceV2");
}

TEST(XplaneGpu, ProgramIdsAboveInt64KeepTheirBits) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  gpu.Event("k", 0, 1'000, {{"hlo_op", Ref{"a"}}, {"program_id", uint64_t{1} << 63}});
  EXPECT_EQ(ImportPlane(gpu).hints.at(0).program_id, INT64_MIN);
}

TEST(XplaneGpu, OnlyReferredApiCallsAndWaitsAreKept) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  gpu.Event("k", 50'000, 1'000, {{"correlation_id", int64_t{11}}});
  gpu.Event("k", 60'000, 1'000, {{"correlation_id", int64_t{12}}});
  PlaneBuilder host("/host:CPU");
  host.Line("Host Threads/3958", 3958, 0);
  host.Event("cuLaunchKernel", 0, 2'000, {{"correlation_id", int64_t{11}}});
  host.Event("cuMemAlloc", 3'000, 2'000, {{"correlation_id", int64_t{90}}});
  host.Event("cuStreamSynchronize", 6'000, 1'000'000, {{"correlation_id", int64_t{91}}});
  host.Event("cuStreamSynchronize", 7'000'000, 999'999, {{"correlation_id", int64_t{92}}});
  const MemorySink sink =
      ImportSpace(SpaceBuilder().Plane(gpu).Plane(host).Plane(TaskEnvironment(1)));
  ASSERT_EQ(sink.calls.size(), 2u);
  EXPECT_EQ(sink.calls[0].name, "cuLaunchKernel");
  EXPECT_EQ(sink.calls[0].thread_id, 3958);
  EXPECT_EQ(sink.calls[1].name, "cuStreamSynchronize");
  EXPECT_EQ(sink.activities.at(0).api_call_id, 1);
  EXPECT_EQ(sink.activities.at(1).api_call_id, 0);  // That call was not recorded.
  EXPECT_EQ(sink.Stat("api_call_not_kept: cuMemAlloc"), 1);
  EXPECT_EQ(sink.Stat("api_call_not_kept: cuStreamSynchronize"), 1);  // Shorter than a gap.
}

TEST(XplaneGpu, GraphLevelEventsAreGraphRows) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0);
  gpu.Event("CudaGraphExec:5", 0, 9'000, {{"cuda_graph_exec_id", uint64_t{5}}});
  gpu.Event("k", 10'000, 1'000,
            {{"kernel_details", Ref{"grid:1,1,1"}}, {"cuda_graph_exec_id", uint64_t{5}}});
  const MemorySink sink = ImportPlane(gpu);
  EXPECT_EQ(sink.Config(sink.activities.at(0)).kind, model::ActivityKind::kGraph);
  EXPECT_EQ(sink.activities[0].graph_id, 5);
  EXPECT_EQ(sink.Config(sink.activities.at(1)).kind, model::ActivityKind::kKernel);
}

TEST(XplaneCpu, NestedOpTimeIsSubtractedFromTheOuterOp) {
  PlaneBuilder host("/host:CPU");
  host.Line("tf_XLAEigen/1", 41, 0);
  host.Event("while.1", 0, 100'000, Op("while.1"));
  host.Event("add.2", 10'000, 20'000, Op("add.2"));
  host.Event("mul.3", 15'000, 5'000, Op("mul.3"));
  host.Event("add.4", 40'000, 10'000, Op("add.4"));
  host.Event("ThunkExecutor::Execute", 0, 100'000);  // A wrapper, no op.
  host.Line("tf_XLAEigen/2", 42, 0);
  host.Event("dot.5", 20'000, 50'000, Op("dot.5"));  // Another thread takes nothing away.
  const MemorySink sink = ImportPlane(host);
  std::map<std::string, int64_t> self;
  for (const model::Activity& a : sink.activities) {
    self[sink.Config(a).symbol] = MemorySink::SelfNs(a);
  }
  EXPECT_THAT(self,
              ElementsAre(std::pair("add.2", 15), std::pair("add.4", 10), std::pair("dot.5", 50),
                          std::pair("mul.3", 5), std::pair("while.1", 70)));
  EXPECT_EQ(sink.devices.size(), 1u);
  EXPECT_EQ(sink.devices[0].kind, model::DeviceKind::kCpu);
  EXPECT_EQ(sink.lanes.size(), 2u);
  EXPECT_EQ(sink.info.at("granularity"), "op");
}

TEST(XplaneCpu, EndMarkersAreSkipped) {
  PlaneBuilder host("/host:CPU");
  host.Line("t", 1, 0);
  host.Event("add.2", 0, 2'000, Op("add.2")).Event("end: add.2", 2'000, 300, {{"_c", int64_t{8}}});
  host.Event("end: mul.3", 3'000, 300, Op("mul.3"));  // The name of the op does not matter.
  const MemorySink sink = ImportPlane(host);
  EXPECT_EQ(sink.activities.size(), 1u);
  EXPECT_EQ(sink.Stat("host_event_not_kept"), 0);
}

TEST(XplaneCpu, RunIsIdentifiedByProgramRunIdAndDevice) {
  PlaneBuilder host("/host:CPU");
  host.Line("t", 1, 0);
  host.Event("a", 0, 1'000, Op("a", -227111190, 4, 0));
  host.Event("b", 2'000, 1'000, Op("b", -227111190, 4, 0));
  host.Event("a", 4'000, 1'000, Op("a", -227111190, 4, 1));  // Another device.
  host.Event("a", 6'000, 1'000, Op("a", -227111190, 5, 0));  // Another program.
  host.Event("a", 8'000, 1'000, Op("a", 7, 4, 0));           // Another run.
  host.Event("a", 9'000, 1'000, Op("a", -1, 4, -1));         // Unknown run: TensorFlow.
  const MemorySink sink = ImportPlane(host);
  ASSERT_EQ(sink.activities.size(), 6u);
  std::vector<int64_t> keys;
  for (const model::Activity& a : sink.activities) keys.push_back(a.run_key);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_NE(keys[0], 0);
  EXPECT_EQ(keys[5], 0);
  EXPECT_EQ(std::set<int64_t>(keys.begin(), keys.end()).size(), 5u);
  EXPECT_EQ(sink.devices.size(), 2u);
  EXPECT_EQ(sink.DeviceOf(sink.activities[5]).ordinal, 0);  // -1 is the only device.
}

TEST(XplaneCpu, StepAnnotationsBecomeMarksAndRanges) {
  PlaneBuilder host("/host:CPU");
  host.Line("python", 1, 10);
  host.Event("train", 1'000, 9'000, {{"step_num", int64_t{17}}, {"_r", int64_t{1}}});
  host.Event("PjitFunction(f)", 2'000, 3'000);
  host.Event("PjitFunction(f)", 2'500, 2'000);
  host.Event("$train.py:3 main", 0, 20'000);
  const MemorySink sink = ImportPlane(host);
  ASSERT_EQ(sink.steps.size(), 1u);
  EXPECT_EQ(sink.steps[0].number, 17);
  EXPECT_EQ(sink.steps[0].start_ns, 11);
  EXPECT_EQ(sink.steps[0].end_ns, 20);
  ASSERT_EQ(sink.ranges.size(), 3u);
  EXPECT_EQ(sink.ranges[0].text, "train");
  EXPECT_EQ(sink.ranges[0].depth, 0);
  EXPECT_EQ(sink.ranges[1].depth, 1);
  EXPECT_EQ(sink.ranges[2].depth, 2);
}

TEST(XplaneCpu, PythonCallsOfAMicrosecondAreRangesInsideTheirCallers) {
  PlaneBuilder host("/host:CPU");
  host.Line("python", 1, 0);
  host.Event("$train.py:3 main", 0, 50'000'000);
  host.Event("$train.py:9 step", 10'000'000, 1'000'000);
  host.Event("$train.py:12 tiny", 20'000'000, 999'999);
  host.Event("$builtins isinstance", 30'000'000, 2'000'000);
  host.Event("$<string>:2 __init__", 40'000'000, 2'000'000);
  const MemorySink sink = ImportPlane(host);
  ASSERT_EQ(sink.ranges.size(), 2u);
  EXPECT_EQ(sink.ranges[0].text, "$train.py:3 main");
  EXPECT_EQ(sink.ranges[1].text, "$train.py:9 step");
  EXPECT_EQ(sink.ranges[1].depth, 1);
  EXPECT_EQ(sink.Stat("python_call_folded"), 3);
  EXPECT_EQ(sink.Stat("host_event_not_kept"), 0);
}

// Without such a call the window of ImportPlane takes 1 s.
TEST(XplaneCpu, WindowEndsWhereTheProgramStopsTheProfiler) {
  for (const char* call : {"$profiler.py:226 stop_trace", "$profiler_v2.py:144 stop"}) {
    PlaneBuilder host("/host:CPU");
    host.Line("python", 1, 0);
    host.Event("$train.py:3 main", 0, 900'000'000'000);
    host.Event(call, 40'000'000, 800'000'000'000);
    const MemorySink sink = ImportPlane(host);
    ASSERT_EQ(sink.windows.size(), 1u);
    EXPECT_EQ(sink.windows[0].end_ns, 40'000);
  }
  PlaneBuilder host("/host:CPU");
  host.Line("python", 1, 0);
  host.Event("$my_profiler.py:1 stop_sign", 40'000'000, 800'000'000'000);
  const MemorySink sink = ImportPlane(host);
  ASSERT_EQ(sink.windows.size(), 1u);
  EXPECT_EQ(sink.windows[0].end_ns, 1'000'000'000);
}

TEST(XplaneCpu, ACompilationIsNamedByTheModuleCompiledInIt) {
  PlaneBuilder metadata("/host:metadata");
  metadata.Metadata("jit_f(2)", {{"Hlo Proto", Bytes{"x"}}});
  metadata.Metadata("jit_g(4)", {{"Hlo Proto", Bytes{"x"}}});
  metadata.Metadata("jit_g(6)", {{"Hlo Proto", Bytes{"x"}}});
  PlaneBuilder host("/host:CPU");
  host.Line("tf_PjRtCompilerThreadPool/1", 1, 0);
  host.Event("PjRtCpuClient::Compile", 0, 50'000);
  host.Event("CpuCompiler::RunBackend", 5'000, 40'000, {{"name", Ref{"jit_f"}}});
  host.Event("PjRtCpuClient::Compile", 60'000, 50'000);
  host.Event("CpuCompiler::RunBackend", 65'000, 40'000, {{"name", Ref{"jit_g"}}});
  host.Event("PjRtCpuClient::Compile", 200'000, 5'000);
  const MemorySink sink =
      ImportSpace(SpaceBuilder().Plane(metadata).Plane(host).Plane(TaskEnvironment(1)));
  ASSERT_EQ(sink.compiles.size(), 3u);
  EXPECT_EQ(sink.compiles[0].name, "jit_f");
  EXPECT_EQ(sink.compiles[0].module_id, 1);
  EXPECT_EQ(sink.compiles[0].end_ns, 50);
  EXPECT_EQ(sink.compiles[1].name, "jit_g");
  EXPECT_EQ(sink.compiles[1].module_id, 0);  // Two modules have that name.
  EXPECT_EQ(sink.compiles[2].name, "PjRtCpuClient::Compile");
}

// TensorFlow: no client around the compiler, and a function is traced before.
TEST(XplaneCpu, TensorFlowTracingAndCompilingIsACompilation) {
  PlaneBuilder metadata("/host:metadata");
  metadata.Metadata("a_f_1(2)", {{"Hlo Proto", Bytes{"x"}}});
  PlaneBuilder host("/host:CPU");
  host.Line("python", 1, 0);
  host.Event("tf.function-graph_building", 0, 20'000);
  host.Event("CpuCompiler::RunHloPasses", 30'000, 10'000, {{"name", Ref{"a_f_1"}}});
  host.Event("CpuCompiler::RunBackend", 45'000, 40'000, {{"name", Ref{"a_f_1"}}});
  host.Event("PjRtCpuClient::Compile", 100'000, 50'000);
  host.Event("CpuCompiler::RunBackend", 105'000, 40'000, {{"name", Ref{"jit_g"}}});
  host.Event("PjRtCpuClient::Compile", 160'000, 20'000);
  host.Event("CpuCompiler::RunBackend", 165'000, 10'000, {{"name", Ref{"jit_g"}}});
  host.Event("CpuCompiler::RunBackend", 200'000, 5'000, {{"name", Ref{"jit_h"}}});
  host.Event("CpuCompiler::RunBackend", 300'000, 5'000, {{"name", Ref{"jit_h"}}});
  const MemorySink sink =
      ImportSpace(SpaceBuilder().Plane(metadata).Plane(host).Plane(TaskEnvironment(1)));
  std::vector<std::string> found;
  for (const auto& compile : sink.compiles) {
    found.push_back(fmt::format("{} {}-{}", compile.name, compile.start_ns, compile.end_ns));
  }
  EXPECT_THAT(
      found, testing::ElementsAre("tf.function-graph_building 0-20", "a_f_1 30-85", "jit_g 100-150",
                                  "jit_g 160-180", "jit_h 200-205", "jit_h 300-305"));
  EXPECT_EQ(sink.compiles[1].module_id, 1);
}

// A client that wraps another one: the time to compile counts once.
TEST(XplaneCpu, ACompilationInsideAnotherIsPartOfIt) {
  PlaneBuilder host("/host:CPU");
  host.Line("tf_PjRtCompilerThreadPool/1", 1, 0);
  host.Event("OuterClient::Compile", 0, 50'000);
  host.Event("PjRtCpuClient::Compile", 10'000, 30'000);
  host.Event("PjRtCpuClient::Compile", 60'000, 5'000);
  const MemorySink sink = ImportPlane(host);
  ASSERT_EQ(sink.compiles.size(), 2u);
  EXPECT_EQ(sink.compiles[0].name, "OuterClient::Compile");
  EXPECT_EQ(sink.compiles[0].end_ns - sink.compiles[0].start_ns, 50);
  EXPECT_EQ(sink.compiles[1].end_ns - sink.compiles[1].start_ns, 5);
}

TEST(XplaneTpu, OpsGetRunAndModuleFromTheModulesLine) {
  const std::string loop = "%while.1 = f32[] while(f32[] %p), body=%b";
  const std::string add = "%add.2 = f32[8] add(f32[8] %x, f32[8] %y)";
  const uint64_t program = 9'646'411'105'960'254'074u;
  PlaneBuilder tpu("/device:TPU:2");
  tpu.Stat("device_type_string", Ref{"TPU v6 Lite"})
      .Stat("peak_hbm_bw_gigabytes_per_second", 1637.5);
  tpu.Line("XLA Ops", 3, 0);  // Before the modules line on purpose.
  tpu.Event(loop, 100'000, 50'000).Event(add, 110'000, 10'000);
  tpu.Event(loop, 200'000, 50'000);
  tpu.Line("XLA Modules", 2, 0);
  tpu.Event("jit_f(9646411105960254074)", 100'000, 60'000);
  tpu.Event("jit_f(9646411105960254074)", 200'000, 60'000);
  tpu.Line("Async XLA Ops", 4, 0).Event("%copy-start.1 = f32[] copy-start()", 100'000, 90'000);
  tpu.Metadata(loop, {{"program_id", program}}, "while.1");
  tpu.Metadata(add,
               {{"program_id", program},
                {"hlo_category", Ref{"loop fusion"}},
                {"tf_op", Ref{"jit(f)/mlp/add:"}},
                {"source", Ref{"dir/model.py:37"}},
                {"flops", uint64_t{64}},
                {"bytes_accessed", uint64_t{96}}},
               "add.2");
  const MemorySink sink = ImportPlane(tpu);
  EXPECT_EQ(sink.devices.at(0).kind, model::DeviceKind::kTpu);
  EXPECT_EQ(sink.devices[0].ordinal, 2);
  EXPECT_EQ(sink.devices[0].name, "TPU v6 Lite");
  EXPECT_EQ(sink.devices[0].memory_bandwidth_bytes_per_s, 1'637'500'000'000);
  ASSERT_EQ(sink.activities.size(), 3u);
  EXPECT_EQ(MemorySink::SelfNs(sink.activities[0]), 40);
  EXPECT_EQ(MemorySink::SelfNs(sink.activities[1]), 10);
  EXPECT_EQ(sink.activities[0].run_key, sink.activities[1].run_key);
  EXPECT_NE(sink.activities[0].run_key, sink.activities[2].run_key);
  const model::Hint hint = sink.HintOf(sink.activities[1]);
  EXPECT_EQ(hint.module_name, "jit_f");
  EXPECT_EQ(hint.program_id, static_cast<int64_t>(program));
  EXPECT_EQ(hint.instruction, "add.2");
  EXPECT_EQ(hint.op_name, "jit(f)/mlp/add");
  EXPECT_EQ(hint.category, "loop fusion");
  EXPECT_EQ(hint.source_file, "dir/model.py");
  EXPECT_EQ(hint.source_line, 37);
  EXPECT_EQ(hint.hlo, "add.2 = f32[8] add(f32[8] %x, f32[8] %y)");
  EXPECT_EQ(hint.flops, 64);
  EXPECT_EQ(hint.bytes_accessed, 96);
  EXPECT_EQ(sink.Stat("async_op_not_counted"), 1);
}

// One metadata of an op, without a program of its own, in two programs of one name.
TEST(XplaneTpu, SharedOpMetadataIsResolvedByTheRunningProgram) {
  const std::string add = "%add.2 = f32[8] add(f32[8] %x, f32[8] %y)";
  PlaneBuilder tpu("/device:TPU:0");
  tpu.Line("XLA Modules", 2, 0);
  tpu.Event("jit_f(1)", 100'000, 60'000).Event("jit_f(2)", 200'000, 60'000);
  tpu.Line("XLA Ops", 3, 0);
  tpu.Event(add, 110'000, 10'000).Event(add, 210'000, 10'000).Event(add, 230'000, 10'000);
  const MemorySink sink = ImportPlane(tpu);
  ASSERT_EQ(sink.activities.size(), 3u);
  EXPECT_EQ(sink.HintOf(sink.activities[0]).program_id, 1);
  EXPECT_EQ(sink.HintOf(sink.activities[1]).program_id, 2);
  EXPECT_EQ(sink.activities[1].hint_id, sink.activities[2].hint_id);
}

TEST(XplaneTpu, OpBetweenTwoProgramsBelongsToNeither) {
  const std::string add = "%add.2 = f32[8] add(f32[8] %x, f32[8] %y)";
  PlaneBuilder tpu("/device:TPU:0");
  tpu.Line("XLA Modules", 2, 0);
  tpu.Event("jit_f(1)", 100'000, 60'000).Event("jit_g(2)", 200'000, 60'000);
  tpu.Line("XLA Ops", 3, 0);
  tpu.Event(add, 150'000, 10'000).Event(add, 170'000, 10'000).Event(add, 210'000, 10'000);
  const MemorySink sink = ImportPlane(tpu);
  ASSERT_EQ(sink.activities.size(), 3u);
  EXPECT_EQ(sink.HintOf(sink.activities[0]).module_name, "jit_f");
  EXPECT_EQ(sink.activities[1].run_key, 0);
  EXPECT_EQ(sink.HintOf(sink.activities[1]).module_name, "");
  EXPECT_EQ(sink.HintOf(sink.activities[2]).module_name, "jit_g");
}

TEST(XplaneTpu, StepsLineMarksStepsWhenTheHostDoesNot) {
  PlaneBuilder tpu("/device:TPU:0");
  tpu.Line("Steps", 1, 0).Event("7", 1'000, 2'000).Event("8", 4'000, 2'000);
  const MemorySink sink = ImportPlane(tpu);
  ASSERT_EQ(sink.steps.size(), 2u);
  EXPECT_EQ(sink.steps[0].number, 7);
  EXPECT_EQ(sink.steps[1].start_ns, 4);

  PlaneBuilder host("/host:CPU");
  host.Line("python", 1, 0).Event("train", 0, 1'000, {{"step_num", int64_t{1}}});
  const MemorySink both =
      ImportSpace(SpaceBuilder().Plane(tpu).Plane(host).Plane(TaskEnvironment(1)));
  ASSERT_EQ(both.steps.size(), 1u);
  EXPECT_EQ(both.steps[0].number, 1);
}

TEST(XplaneModules, ProgramIdIsTheStatOrTheNameSuffix) {
  PlaneBuilder metadata("/host:metadata");
  metadata.Stat("jaxlib_version", Ref{"0.10.2"}).Stat("process_id", int64_t{8695});
  metadata.Metadata("jit_f(52)", {{"Hlo Proto", Bytes{"one"}}});
  metadata.Metadata("jit_g(7)", {{"Hlo Proto", Bytes{"two!"}}, {"program_id", uint64_t{8}}});
  metadata.Metadata("cluster_(odd)", {{"Hlo Proto", Bytes{"x"}}});
  metadata.Metadata("no_proto(9)", {});
  const MemorySink sink = ImportPlane(metadata);
  ASSERT_EQ(sink.modules.size(), 3u);
  EXPECT_EQ(sink.modules[0].name, "cluster_(odd)");
  EXPECT_FALSE(sink.modules[0].program_id);
  EXPECT_EQ(sink.modules[1].name, "jit_f");
  EXPECT_EQ(sink.modules[1].program_id, 52);
  EXPECT_EQ(sink.modules[1].bytes, "one");
  EXPECT_EQ(sink.modules[2].program_id, 8);
  EXPECT_EQ(sink.info.at("jaxlib_version"), "0.10.2");
  EXPECT_EQ(sink.processes.at(0).pid, 8695);
}

TEST(XplaneMessages, ErrorsAndWarningsOfTheProfilerAreCounted) {
  PlaneBuilder host("/host:CPU");
  host.Stat("dropped_traces", uint64_t{5});
  host.Line("python", 1, 0).Event("main", 0, 1'000);
  const MemorySink sink = ImportSpace(SpaceBuilder()
                                          .Plane(host)
                                          .Error("function Subscribe failed")
                                          .Warning("12 events dropped")
                                          .Warning("slow disk"));
  EXPECT_EQ(sink.stats.at("profiler_error").severity, model::Severity::kError);
  EXPECT_THAT(sink.stats.at("profiler_error").advice, HasSubstr("Subscribe failed"));
  EXPECT_EQ(sink.Stat("dropped_by_profiler"), 5 + 12);
  EXPECT_EQ(sink.stats.at("dropped_by_profiler").severity, model::Severity::kDataLoss);
  EXPECT_EQ(sink.Stat("profiler_warning"), 1);
  EXPECT_EQ(sink.Stat("no_device_activity"), 1);
}

TEST(XplaneDamage, OnlyTheDamagedEventIsLeftOut) {
  PlaneBuilder gpu("/device:GPU:0");
  gpu.Line("Stream #1(Kernel)", 1, 0).Event("k", 0, 1'000);
  gpu.RawEvent("\x08\xff");  // A varint that never ends.
  gpu.Event("k", 2'000, 1'000);
  gpu.Line("Stream #2(Kernel)", 2, 0).Event("k", 5'000, 1'000);
  const MemorySink sink = ImportPlane(gpu);
  EXPECT_EQ(sink.activities.size(), 3u);
  EXPECT_EQ(sink.Stat("damaged_event"), 1);
  EXPECT_EQ(sink.stats.at("damaged_event").severity, model::Severity::kDataLoss);
}

TEST(XplaneDamage, FileCutInItsFirstNameIsRefused) {
  const std::string whole = MixedSpace();
  MemorySink sink;
  const Status status = ImportXplane(whole.substr(0, 20), "m.xplane.pb", sink);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("'m.xplane.pb'"));
  EXPECT_GOLDEN_TEXT(status.error().message + "\n" + status.error().hint);
  EXPECT_TRUE(sink.processes.empty());
}

TEST(XplaneDamage, FileWithoutAnyEventIsRefused) {
  MemorySink sink;
  const std::string bytes = SpaceBuilder().Plane(TaskEnvironment(kStart)).bytes();
  const Status status = ImportXplane(bytes, "e.xplane.pb", sink);
  ASSERT_FALSE(status);
  EXPECT_GOLDEN_TEXT(status.error().message + "\n" + status.error().hint);
}

TEST(XplaneDamage, FileWithoutPlanesIsRefused) {
  MemorySink sink;
  const Status status = ImportXplane("", "e.xplane.pb", sink);
  ASSERT_FALSE(status);
  EXPECT_GOLDEN_TEXT(status.error().message + "\n" + status.error().hint);
}

}  // namespace
}  // namespace xlatrace::importers
