// SPDX-License-Identifier: Apache-2.0

// Rules of importers/nsys/nsys_sqlite.h, on small databases made for them.

#include <unistd.h>

#include <filesystem>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/nsys/nsys_sqlite.h"
#include "store/sqlite.h"
#include "tests/importers/memory_sink.h"

namespace xlatrace::importers {
namespace {

using testing::ElementsAre;

constexpr int64_t kPid = int64_t{1} << 48 | int64_t{104} << 24;  // Process 104.
constexpr int64_t kTid = kPid | 311;

// A modern export, schema 3.24, as far as the importer looks at it.
constexpr char kSchema[] = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
  globalPid, demangledName, shortName, mangledName, registersPerThread, gridX, gridY, gridZ, blockX,
  blockY, blockZ, staticSharedMemory, dynamicSharedMemory, graphNodeId);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
INSERT INTO StringIds VALUES (1, 'void ns::k<int>(int)'), (2, 'k'), (3, '_ZN2ns1kIiEEvi'),
  (4, 'cuLaunchKernel'), (5, 'cuGraphLaunch'), (6, 'cuStreamSynchronize'), (7, 'cuMemAlloc'),
  (8, 'TSL'), (9, 'Thunk:#name=jit(f)/add,hlo_op=add.3#');
)";

class NsysTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("xlatrace_nsys_{}_{}.sqlite", info->name(), getpid());
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  MemorySink ImportSql(const std::string& sql, MemorySink sink = {}) {
    {
      auto db = store::Database::Create(path_);
      EXPECT_TRUE(db);
      const Status made = db->Execute(sql);
      EXPECT_TRUE(made) << (made ? "" : made.error().message);
    }
    const Status status = ImportNsysSqlite(path_, sink);
    EXPECT_TRUE(status) << (status ? "" : status.error().message);
    return sink;
  }

  static std::string Kernel(int64_t start, int64_t end, int64_t correlation, int64_t pid = kPid,
                            const std::string& node = "NULL") {
    return fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, 1, 7, {}, {}, 1, 2, 3, 32, 8, "
        "1, "
        "1, 128, 1, 1, 0, 1024, {});\n",
        start, end, correlation, pid, node);
  }
  static std::string Call(int64_t start, int64_t end, int64_t correlation, int name = 4,
                          int64_t tid = kTid) {
    return fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, {});\n",
                       start, end, tid, correlation, name);
  }
  static std::string Domain(const std::string& name = "TSL", int id = 2) {
    return fmt::format("INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, '{}', {}, NULL, {});\n", name,
                       kTid, id);
  }
  static std::string Push(int64_t start, int64_t end, const std::string& text, int domain = 2,
                          int64_t tid = kTid) {
    return fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, '{}', {}, NULL, {});\n", start,
                       end, text, tid, domain);
  }

  std::string path_;
};

TEST_F(NsysTest, KernelsHaveNamesGeometryProcessAndClock) {
  const MemorySink sink = ImportSql(kSchema + Kernel(1000, 1500, 11) + Call(100, 200, 11));
  EXPECT_EQ(sink.start_unix_ns(), 1'700'000'000'000'000'000);
  ASSERT_EQ(sink.activities.size(), 1u);
  const model::LaunchConfig& config = sink.Config(sink.activities[0]);
  EXPECT_EQ(config.symbol, "_ZN2ns1kIiEEvi");
  EXPECT_EQ(config.name, "k");
  EXPECT_EQ(config.registers_per_thread, 32);
  EXPECT_EQ(config.grid[0], 8);
  EXPECT_EQ(config.block[0], 128);
  EXPECT_EQ(config.shared_memory_dynamic_bytes, 1024);
  EXPECT_FALSE(config.cluster[0]);
  EXPECT_EQ(sink.processes.at(0).pid, 104);
  ASSERT_EQ(sink.calls.size(), 1u);
  EXPECT_EQ(sink.calls[0].name, "cuLaunchKernel");
  EXPECT_EQ(sink.calls[0].thread_id, 311);
  EXPECT_EQ(sink.activities[0].api_call_id, 1);
  EXPECT_EQ(sink.activities[0].hint_id, 0);
  EXPECT_EQ(sink.info.at("granularity"), "kernel");
}

TEST_F(NsysTest, SecondReportIsPlacedByItsClock) {
  MemorySink first;
  first.SetStart(1'699'999'999'999'000'000);  // 1 ms before this session.
  const MemorySink sink =
      ImportSql(kSchema + Kernel(1000, 1500, 11) + Call(100, 200, 11), std::move(first));
  EXPECT_EQ(sink.start_unix_ns(), 1'699'999'999'999'000'000);
  ASSERT_EQ(sink.activities.size(), 1u);
  EXPECT_EQ(sink.activities[0].start_ns, 1'001'000);
  EXPECT_EQ(sink.activities[0].end_ns, 1'001'500);
  ASSERT_EQ(sink.calls.size(), 1u);
  EXPECT_EQ(sink.calls[0].start_ns, 1'000'100);
}

TEST_F(NsysTest, SparseStringIdsTakeMemoryPerRow) {
  std::string strings;
  for (int k = 0; k < 24; ++k) {
    strings +=
        fmt::format("INSERT INTO StringIds VALUES ({}, 'name {}');\n", int64_t{1024} << k, k);
  }
  const MemorySink sink = ImportSql(
      kSchema + strings + Kernel(1000, 1500, 11) +
      fmt::format("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET shortName = {};\n", int64_t{1024} << 23));
  ASSERT_EQ(sink.activities.size(), 1u);
  EXPECT_EQ(sink.Config(sink.activities[0]).name, "name 23");
}

TEST_F(NsysTest, LaunchWithoutKernelIsLostIfLaterLaunchesHaveOne) {
  const MemorySink sink = ImportSql(
      kSchema + Call(100, 110, 11) + Kernel(1000, 1100, 11) + Call(120, 130, 12) +
      Call(140, 150, 13) + Kernel(1200, 1300, 13) + Call(160, 170, 14) + Call(180, 190, 15));
  EXPECT_EQ(sink.Stat("launch_without_activity"), 1);
  EXPECT_EQ(sink.Stat("launches_not_finished"), 2);
}

// A call that is captured into a graph does not run. Graph launches without any row are not
// recorded at all.
TEST_F(NsysTest, LaunchesThatHaveNoRecordAreNotCountedAsLost) {
  const MemorySink sink =
      ImportSql(std::string(kSchema) +
                "INSERT INTO StringIds VALUES (20, 'cudaStreamBeginCapture_v10000'), "
                "(21, 'cudaStreamEndCapture_v10000'), (22, 'cudaLaunchHostFunc_v10000');\n" +
                Call(10, 20, 1, 20) + Call(30, 40, 2) + Call(50, 60, 3, 21) + Call(70, 80, 4, 22) +
                Call(90, 95, 5, 5) + Call(100, 110, 11) + Kernel(1000, 1100, 11));
  EXPECT_EQ(sink.Stat("launch_without_activity"), 0);
  EXPECT_EQ(sink.Stat("launches_not_finished"), 0);
}

TEST_F(NsysTest, CorrelationIdsAreUniquePerProcessOnly) {
  constexpr int64_t kOther = kPid + (int64_t{1} << 24);
  const MemorySink sink =
      ImportSql(kSchema + Kernel(1000, 1500, 11) + Kernel(1000, 1500, 11, kOther) +
                Call(100, 200, 11) + Call(300, 400, 11, 4, kOther | 9));
  ASSERT_EQ(sink.calls.size(), 2u);
  EXPECT_NE(sink.activities.at(0).api_call_id, sink.activities.at(1).api_call_id);
  EXPECT_EQ(sink.processes.size(), 2u);
  EXPECT_EQ(sink.devices.size(), 2u);
}

TEST_F(NsysTest, RangesAroundTheLaunchCallAreTheHint) {
  const MemorySink sink = ImportSql(
      kSchema + Domain() +
      Push(100, 900, "XlaModule:#prefix=jit(f),hlo_module=jit_f,program_id=52#") +
      Push(200, 300, "Thunk:#name=add,hlo_op=add.3#") + Push(400, 800, "Thunk:#hlo_op=while.4#") +
      Push(500, 600, "Thunk:#name=einsum/...a,...b->ab,hlo_op=dot.5#") +
      Push(450, 460, "Thunk:#hlo_op=wrong_thread#", 2, kTid + 1) + Call(250, 260, 1) +
      Call(450, 455, 2) + Call(550, 560, 3) + Call(850, 860, 4) + Call(950, 960, 5) +
      Kernel(5000, 5100, 1) + Kernel(5200, 5300, 2) + Kernel(5400, 5500, 3) +
      Kernel(5600, 5700, 4) + Kernel(5800, 5900, 5));
  ASSERT_EQ(sink.activities.size(), 5u);
  std::vector<std::string> got;
  for (const model::Activity& a : sink.activities) {
    got.push_back(sink.HintOf(a).module_name + "|" + sink.HintOf(a).instruction);
  }
  EXPECT_THAT(got, ElementsAre("jit_f|add.3", "jit_f|while.4", "jit_f|dot.5", "jit_f|", "|"));
  const model::Hint hint = sink.HintOf(sink.activities[2]);
  EXPECT_EQ(hint.evidence, model::Evidence::kRange);
  EXPECT_EQ(hint.program_id, 52);
  EXPECT_EQ(hint.op_name, "jit(f)/einsum/...a,...b->ab");
  EXPECT_EQ(sink.activities[4].hint_id, 0);
  EXPECT_NE(sink.activities[0].run_key, 0);
  EXPECT_EQ(sink.activities[0].run_key, sink.activities[3].run_key);
  EXPECT_EQ(sink.activities[4].run_key, 0);
}

TEST_F(NsysTest, EachModuleRangeIsARun) {
  const std::string module = "XlaModule:#hlo_module=jit_f,program_id=52#";
  const MemorySink sink = ImportSql(kSchema + Domain() + Push(100, 200, module) +
                                    Push(300, 400, module) + Call(150, 160, 1) + Call(350, 360, 2) +
                                    Kernel(5000, 5100, 1) + Kernel(5200, 5300, 2));
  EXPECT_NE(sink.activities.at(0).run_key, sink.activities.at(1).run_key);
  EXPECT_EQ(sink.hints.size(), 1u);
}

TEST_F(NsysTest, RangeWithLaunchesOnTwoDevicesIsTwoRuns) {
  const MemorySink sink =
      ImportSql(kSchema + Domain() + Push(100, 200, "XlaModule:#hlo_module=jit_f,program_id=52#") +
                Call(110, 120, 1) + Call(130, 140, 2) + Call(150, 160, 3) + Kernel(5000, 5100, 1) +
                Kernel(5000, 5200, 2) + Kernel(5300, 5400, 3) +
                "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1 WHERE correlationId = 2;");
  ASSERT_EQ(sink.activities.size(), 3u);
  EXPECT_EQ(sink.DeviceOf(sink.activities[1]).ordinal, 1);
  EXPECT_NE(sink.activities[0].run_key, 0);
  EXPECT_NE(sink.activities[1].run_key, 0);
  EXPECT_NE(sink.activities[0].run_key, sink.activities[1].run_key);
  EXPECT_EQ(sink.activities[0].run_key, sink.activities[2].run_key);
}

TEST_F(NsysTest, GraphKernelHasTheRangeOfItsNodesCreation) {
  const std::string nodes =
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start, end, globalTid, graphNodeId, "
      "originalGraphNodeId);" +
      fmt::format(
          "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (150, 150, {0}, 70, NULL), "
          "(190, 190, {0}, 71, 70);",
          kTid);
  const MemorySink sink = ImportSql(
      kSchema + nodes + Domain() + Push(100, 900, "XlaModule:#hlo_module=jit_f,program_id=52#") +
      Push(140, 160, "Thunk:#hlo_op=add.3#") + Push(500, 600, "Thunk:#hlo_op=command_buffer_1#") +
      Call(550, 560, 1, 5) + Kernel(5000, 5100, 1, kPid, "71") + Kernel(5200, 5300, 1, kPid, "99"));
  const model::Hint made = sink.HintOf(sink.activities.at(0));
  EXPECT_EQ(made.instruction, "add.3");
  EXPECT_EQ(made.evidence, model::Evidence::kGraphNode);
  const model::Hint unknown = sink.HintOf(sink.activities.at(1));
  EXPECT_EQ(unknown.instruction, "");  // Not the command buffer: that is the launch's range.
  EXPECT_EQ(unknown.module_name, "jit_f");
  EXPECT_EQ(sink.activities[0].graph_node_id, 71);
}

TEST_F(NsysTest, RangesKeepDomainTextAndDepth) {
  const MemorySink sink = ImportSql(
      kSchema + Domain() + Domain("mine", 3) + Push(100, 900, "outer", 3) +
      Push(200, 300, "inner", 3) +
      fmt::format("INSERT INTO NVTX_EVENTS VALUES (400, 500, 59, NULL, {}, 9, 2);", kTid) +
      fmt::format("INSERT INTO NVTX_EVENTS VALUES (410, NULL, 59, 'open', {}, NULL, 0);", kTid) +
      fmt::format("INSERT INTO NVTX_EVENTS VALUES (410, NULL, 34, 'mark', {}, NULL, 0);", kTid));
  ASSERT_EQ(sink.ranges.size(), 3u);
  EXPECT_EQ(sink.ranges[0].domain, "mine");
  EXPECT_EQ(sink.ranges[1].text, "inner");
  EXPECT_EQ(sink.ranges[1].depth, 1);
  EXPECT_EQ(sink.ranges[2].text, "Thunk:#name=jit(f)/add,hlo_op=add.3#");
  EXPECT_EQ(sink.ranges[2].domain, "TSL");
  EXPECT_EQ(sink.ranges[2].thread_id, 311);
  EXPECT_EQ(sink.Stat("range_not_finished"), 1);
  EXPECT_EQ(sink.Stat("nvtx_row_not_kept"), 1);
  // Unfinished ranges and names of domains are available to queries for all rows.
  EXPECT_EQ(sink.ranges[1].domain_number, 3);
  ASSERT_EQ(sink.nvtx_rows.size(), 4U);
  EXPECT_THAT(sink.nvtx_rows[1], testing::HasSubstr(" 75 "));
  EXPECT_THAT(sink.nvtx_rows[1], testing::HasSubstr("'mine' 3"));
  EXPECT_EQ(sink.nvtx_rows[2], fmt::format("{} 59 410--1 'open' 0", kTid));
  EXPECT_EQ(sink.nvtx_rows[3], fmt::format("{} 34 410--1 'mark' 0", kTid));
}

TEST_F(NsysTest, CallsThatBlockAreKeptAndOtherCallsAreCounted) {
  const MemorySink sink = ImportSql(
      kSchema + Kernel(1000, 1500, 11) + "INSERT INTO StringIds VALUES (10, 'cuCtxGetCurrent');" +
      Call(100, 200, 11) + Call(300, 1300, 12, 6) + Call(2000, 2999, 13, 6) +
      Call(3000, 3999, 14, 7) + Call(9000, 10'000, 15, 7) + Call(20'000, 119'999, 16, 10) +
      Call(200'000, 300'000, 17, 10));
  ASSERT_EQ(sink.calls.size(), 4u);
  // A call that waits or allocates is kept if it is as long as the shortest gap.
  EXPECT_EQ(sink.calls[1].name, "cuStreamSynchronize");
  EXPECT_EQ(sink.Stat("api_call_not_kept: cuStreamSynchronize"), 1);
  EXPECT_EQ(sink.calls[2].name, "cuMemAlloc");
  EXPECT_EQ(sink.calls[2].start_ns, 9'000);
  EXPECT_EQ(sink.Stat("api_call_not_kept: cuMemAlloc"), 1);
  // Any other call is kept from 100 us on.
  EXPECT_EQ(sink.calls[3].start_ns, 200'000);
  EXPECT_EQ(sink.Stat("api_call_not_kept: cuCtxGetCurrent"), 1);
  // The store has all rows of the table.
  ASSERT_EQ(sink.unreferred_calls.size(), 3U);
  const MemorySink::Call& wait = sink.unreferred_calls[0];
  EXPECT_EQ(std::tuple(wait.process_id, wait.thread_id, wait.name, wait.correlation_id,
                       wait.start_ns, wait.end_ns),
            std::tuple(0, int64_t{kTid}, "cuStreamSynchronize", 13, 2000, 2999));
}

// Launchers and helpers call CUDA, too; the run is of who used a device.
TEST_F(NsysTest, UnreferencedCallMakesNoProcess) {
  const int64_t helper = (int64_t{99} << 24) + 1;
  const MemorySink sink =
      ImportSql(kSchema + Call(10, 20, 1, 7, helper) + Kernel(1000, 1500, 11) + Call(100, 200, 11));
  ASSERT_EQ(sink.processes.size(), 1U);
  ASSERT_EQ(sink.unreferred_calls.size(), 1U);
  EXPECT_EQ(sink.unreferred_calls[0].thread_id, helper);
}

// This holds for a call of any length: a launcher that counts devices creates a context.
TEST_F(NsysTest, UnreferencedLongCallMakesNoProcess) {
  const int64_t helper = (int64_t{99} << 24) + 1;
  const MemorySink slow = ImportSql(kSchema + Call(0, 200'000'000, 1, 7, helper) +
                                    Kernel(1000, 1500, 11) + Call(100, 200, 11));
  EXPECT_EQ(slow.processes.size(), 1U);
  EXPECT_EQ(slow.Stat("api_call_not_kept: cuMemAlloc"), 1);
  EXPECT_EQ(slow.unreferred_calls.size(), 1U);
}

TEST_F(NsysTest, AHugeTextKeepsItsBeginning) {
  const std::string text = std::string((64 << 10) - 1, 'x') + "\u00e9" + std::string(1 << 20, 'y');
  const MemorySink sink = ImportSql(kSchema + Push(100, 200, text) + Push(300, 400, "short"));
  ASSERT_EQ(sink.ranges.size(), 2U);
  EXPECT_EQ(sink.ranges[0].text, std::string((64 << 10) - 1, 'x')) << "no half of a character";
  EXPECT_EQ(sink.ranges[1].text, "short");
  EXPECT_EQ(sink.Stat("range_text_cut"), 1);
}

TEST_F(NsysTest, CopiesMemsetsAndGraphRowsAreImported) {
  const MemorySink sink = ImportSql(kSchema + std::string(R"(
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId,
  globalPid, bytes, copyKind);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId,
  globalPid, bytes);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, contextId, streamId,
  correlationId, globalPid, graphId, graphExecId);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 1, 7, 1, 0, 4096, 1), (3, 4, 0, 1, 7, 2, 0,
  8, 2), (5, 6, 0, 1, 7, 3, 0, 9, 10), (7, 8, 0, 1, 7, 3, 0, 9, 99);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (10, 12, 0, 1, 8, 4, 0, 64);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (20, 50, 0, 1, 7, 5, 0, 3, 4);
)"));
  std::vector<std::string> got;
  for (const model::Activity& a : sink.activities) {
    got.push_back(fmt::format("{} {}", sink.Config(a).symbol, a.bytes));
  }
  EXPECT_THAT(got, ElementsAre("MemcpyH2D 4096", "MemcpyD2H 8", "MemcpyP2P 9", "Memcpy 9",
                               "Memset 64", "CudaGraph -1"));
  EXPECT_EQ(sink.Config(sink.activities[5]).kind, model::ActivityKind::kGraph);
  EXPECT_EQ(sink.activities[5].graph_id, 3);
  EXPECT_EQ(sink.lanes.size(), 2u);
}

TEST_F(NsysTest, OldAndReducedTablesAreRead) {
  const MemorySink sink = ImportSql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, demangledName "
      "TEXT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 2, 7, 'void a::b<int>(int)');");
  ASSERT_EQ(sink.activities.size(), 1u);
  const model::LaunchConfig& config = sink.Config(sink.activities[0]);
  EXPECT_EQ(config.symbol, "void a::b<int>(int)");
  EXPECT_EQ(config.name, "a::b");
  EXPECT_FALSE(config.grid[0]);
  EXPECT_EQ(sink.devices.at(0).ordinal, 2);
  EXPECT_FALSE(sink.processes.at(0).pid);
  EXPECT_FALSE(sink.start_unix_ns());
}

TEST_F(NsysTest, DeviceFactsComeThroughTheProcessesOrdinal) {
  const MemorySink sink = ImportSql(
      kSchema + Kernel(1000, 1500, 11) +
      "CREATE TABLE TARGET_INFO_GPU (id, name, uuid, computeMajor, computeMinor, smCount, "
      "clockRate, "
      "memoryBandwidth, totalMemory, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm, "
      "maxShmemPerSm, maxShmemPerBlockOptin, threadsPerWarp);"
      "INSERT INTO TARGET_INFO_GPU VALUES (0, 'wrong', '', 8, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 32), "
      "(5, "
      "'NVIDIA H100', 'GPU-1', 9, 0, 132, 1980000000, 3352320000000, 85899345920, 64, 32, 65536, "
      "233472, 232448, 32);"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (5, 0, 104), (0, 0, 999);");
  const model::Device& device = sink.devices.at(0);
  EXPECT_EQ(device.name, "NVIDIA H100");
  EXPECT_EQ(device.ordinal, 0);
  EXPECT_EQ(device.compute_capability, "9.0");
  EXPECT_EQ(device.sm_count, 132);
  EXPECT_EQ(device.clock_hz, 1'980'000'000);
  EXPECT_EQ(device.memory_bandwidth_bytes_per_s, 3'352'320'000'000);
  EXPECT_EQ(device.memory_bytes, 85'899'345'920);
  EXPECT_EQ(device.warp_size, 32);
  EXPECT_EQ(device.max_blocks_per_sm, 32);
  EXPECT_EQ(device.shared_memory_per_sm_bytes, 233'472);
  EXPECT_EQ(device.max_threads_per_sm, 2048);
  EXPECT_EQ(device.registers_per_sm, 65536);
  EXPECT_EQ(device.shared_memory_per_block_optin_bytes, 232448);
  EXPECT_EQ(sink.info.at("gpu"), "NVIDIA H100");
}

TEST_F(NsysTest, PrioritiesAreOfTheProcesssOwnStreams) {
  const MemorySink sink =
      ImportSql(kSchema + Kernel(1000, 1500, 11) +
                "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId, processId, contextId, priority);"
                "INSERT INTO TARGET_INFO_CUDA_STREAM SELECT streamId, 999, contextId, -3 FROM "
                "CUPTI_ACTIVITY_KIND_KERNEL;"
                "INSERT INTO TARGET_INFO_CUDA_STREAM SELECT streamId, 104, contextId, -5 FROM "
                "CUPTI_ACTIVITY_KIND_KERNEL;");
  ASSERT_EQ(sink.lanes.size(), 1u);
  EXPECT_EQ(sink.lanes[0].priority, -5);
}

TEST_F(NsysTest, InvalidTimesAndNsysWarningsAreCounted) {
  const MemorySink sink = ImportSql(
      kSchema + Kernel(2000, 1500, 11) + Kernel(2000, 2000, 12) +
      "CREATE TABLE DIAGNOSTIC_EVENT (severity, text);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'fine'), (2, '512 CUDA events were lost'), (2, 'Not "
      "all NVTX events might have been collected: 3 were dropped'), (3, 'bad'), (3, 'Unable to "
      "configure the collection of CPU IP/backtrace samples');");
  EXPECT_EQ(sink.activities.size(), 1u);  // It has no duration, but is a launch.
  EXPECT_EQ(sink.Stat("event_time_invalid"), 1);
  EXPECT_EQ(sink.Stat("nsys: bad"), 1);
  EXPECT_EQ(sink.stats.at("nsys: bad").severity, model::Severity::kError);
  EXPECT_EQ(sink.Stat("nsys: fine"), 0);
  std::map<model::Severity, int64_t> told;
  for (const auto& [name, stat] : sink.stats) {
    if (name.starts_with("nsys: ")) told[stat.severity] += stat.value;
  }
  EXPECT_EQ(told[model::Severity::kDataLoss], 512);
  EXPECT_EQ(told[model::Severity::kNotice], 2);  // NVTX, CPU samples.
  EXPECT_EQ(told[model::Severity::kError], 1);
}

}  // namespace
}  // namespace xlatrace::importers
