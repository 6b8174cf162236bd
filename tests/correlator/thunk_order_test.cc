// SPDX-License-Identifier: Apache-2.0

// Thunk order: alignment, windows, reuse of kernels, lost records, graphs.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlator/thunk_order/align/launch_sequence.h"
#include "hlo/text/text_reader.h"
#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::ActivityKind;
using model::Confidence;
using model::Evidence;
using ::testing::ElementsAre;
using ::testing::Pair;

// f0, f2 and f4 have one body and run one kernel; f1, f3, f5, f6, f7 have bodies of their own.
model::HloModule Step(const std::string& name, bool with_gemms = false) {
  std::vector<Body> bodies;
  Body main{"main", {{"x", "parameter"}}};
  for (int i = 0; i < 8; ++i) {
    const std::string body = "b" + std::to_string(i);
    const bool same = i == 0 || i == 2 || i == 4;
    const std::string shape = same ? "f32[8]" : "f32[" + std::to_string(16 + i) + "]";
    bodies.push_back({body,
                      {{.name = "p", .opcode = "parameter", .shape = shape},
                       {.name = "a", .opcode = "add", .operands = {"p", "p"}, .shape = shape}}});
    main.ops.push_back({"f" + std::to_string(i), "fusion", "n", {"x"}, {body}});
    if (with_gemms && i == 1) main.ops.push_back({"dot.1", "fft", "n", {"x"}});
    if (with_gemms && i == 3) {
      main.ops.push_back({"dot.2", "fft", "n", {"x"}});
      main.ops.push_back({"copy.3", "copy", "n", {"x"}});
    }
  }
  bodies.push_back(main);
  return MakeModule(name, bodies);
}

// Kernel names of one execution.
const std::vector<std::string> kSymbols = {"f0", "f1", "f0", "f3", "f0", "f5", "f6", "f7"};

class ThunkOrderTest : public ::testing::Test {
 protected:
  ThunkOrderTest() {
    run_.AddDevice();
    run_.AddLane();
  }
  void Module(const std::string& name, int64_t program_id, bool with_gemms = false) {
    run_.AddModule(name, program_id, [=] { return LoadedModule{Step(name, with_gemms), {}}; });
  }
  void Launch(const std::vector<std::string>& symbols) {
    for (const std::string& symbol : symbols)
      launched_.push_back(run_.Activity(run_.Kernel(symbol)));
  }
  std::vector<std::string> Recorded(const model::AttributionTables& tables) {
    std::vector<std::string> said;
    for (const size_t i : launched_) said.push_back(Says(run_, tables, i));
    return said;
  }

  RunBuilder run_;
  std::vector<size_t> launched_;
};

TEST_F(ThunkOrderTest, ReusedKernelIsResolvedByItsNeighbours) {
  Module("jit_f", 5);
  Launch(kSymbols);
  Launch(kSymbols);
  const auto tables = run_.Attribute();
  std::vector<std::string> expected;
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < 8; ++i) expected.push_back("jit_f/f" + std::to_string(i));
  }
  EXPECT_EQ(Recorded(tables), expected);
  for (const size_t i : launched_) {
    EXPECT_EQ(LabelOf(tables, i).evidence, Evidence::kThunkOrder);
    EXPECT_EQ(LabelOf(tables, i).confidence, Confidence::kExact);
  }
  EXPECT_EQ(tables.executions.size(), 2u);
}

TEST_F(ThunkOrderTest, LostRecordOfAReusedKernelLeavesTheOthersInexact) {
  Module("jit_f", 5);
  Launch(kSymbols);
  launched_.clear();
  // One of the first two launches of f0's kernel is lost, and so is what lay between them.
  Launch({"f0", "f3", "f0", "f5", "f6", "f7"});
  Launch(kSymbols);
  const auto tables = run_.Attribute();
  EXPECT_NE(LabelOf(tables, launched_[0]).confidence, Confidence::kExact);
  EXPECT_EQ(Says(run_, tables, launched_[1]), "jit_f/f3");
  EXPECT_EQ(Says(run_, tables, launched_[2]), "jit_f/f4") << "the only thunk between f3 and f5";
}

TEST_F(ThunkOrderTest, ShortModuleWithoutAnnotationsIsNeverExact) {
  // Another module, which the run does not hold, may launch such a kernel just as well.
  run_.AddModule("jit_h", 6, [] {
    return LoadedModule{
        MakeModule(
            "jit_h",
            {{"b", {{"p", "parameter"}, {"a", "add", "", {"p"}}}},
             {"main", {{"x", "parameter"}, {"loop_add_fusion", "fusion", "n", {"x"}, {"b"}}}}}),
        {}};
  });
  Launch({"loop_add_fusion", "loop_add_fusion"});
  const auto tables = run_.Attribute();
  for (const size_t i : launched_) EXPECT_EQ(LabelOf(tables, i).confidence, Confidence::kInferred);
}

TEST_F(ThunkOrderTest, ModuleOfOneKernelManyTimesIsNotRecognised) {
  // As a cast of every parameter: the cast back, which the run does not hold, looks the same.
  run_.AddModule("jit_cast", 6, [] {
    Body main{"main", {{"x", "parameter"}}};
    std::vector<Body> bodies;
    for (int i = 0; i < 8; ++i) {
      const std::string body = "b" + std::to_string(i);
      bodies.push_back({body, {{"p", "parameter"}, {"a", "add", "", {"p"}}}});
      const std::string name = i == 0 ? "loop_add_fusion" : "loop_add_fusion." + std::to_string(i);
      main.ops.push_back({name, "fusion", "n", {"x"}, {body}});
    }
    bodies.push_back(main);
    return LoadedModule{MakeModule("jit_cast", bodies), {}};
  });
  Launch(std::vector<std::string>(8, "loop_add_fusion"));
  const auto tables = run_.Attribute();
  for (const size_t i : launched_) EXPECT_NE(LabelOf(tables, i).confidence, Confidence::kExact);
}

TEST_F(ThunkOrderTest, EqualModulesStayAmbiguous) {
  Module("jit_f", 5);
  Module("jit_g", 6);
  Launch(kSymbols);
  const auto tables = run_.Attribute();
  for (const size_t i : launched_) {
    EXPECT_NE(LabelOf(tables, i).confidence, Confidence::kExact);
  }
}

TEST_F(ThunkOrderTest, LibraryCallsAndCopiesLieBetweenTheirNeighbours) {
  Module("jit_f", 5, true);
  std::vector<size_t> between;
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < 8; ++i) {
      launched_.push_back(run_.Activity(run_.Kernel(kSymbols[static_cast<size_t>(i)])));
      if (i == 1) between.push_back(run_.Activity(run_.Kernel("void vector_fft<128>(float*)")));
      if (i == 3) {
        between.push_back(run_.Activity(run_.Kernel("void vector_fft<64>(float*)")));
        between.push_back(run_.Activity(run_.Kernel("void vector_fft<32>(float*)")));
        between.push_back(run_.Activity(run_.Config(ActivityKind::kMemcpy, "MemcpyD2D")));
      }
    }
  }
  const auto tables = run_.Attribute();
  std::vector<std::string> said;
  for (const size_t i : between) said.push_back(Says(run_, tables, i));
  EXPECT_THAT(said, ElementsAre("jit_f/dot.1", "jit_f/dot.2", "jit_f/dot.2", "jit_f/copy.3",
                                "jit_f/dot.1", "jit_f/dot.2", "jit_f/dot.2", "jit_f/copy.3"));
}

TEST_F(ThunkOrderTest, KernelsOfACommandBufferGetTheirInstruction) {
  Module("jit_f", 5);
  const auto hint = run_.Annotation("jit_f", 5, "command_buffer_1");
  for (const std::string& symbol : kSymbols) {
    launched_.push_back(run_.Activity(run_.Kernel(symbol), hint));
  }
  const auto tables = run_.Attribute();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(Says(run_, tables, launched_[static_cast<size_t>(i)]), "jit_f/f" + std::to_string(i));
  }
}

TEST_F(ThunkOrderTest, GraphRowIsDividedOverItsModule) {
  Module("jit_f", 5);
  const size_t row = run_.Activity(run_.Config(ActivityKind::kGraph, "graph"),
                                   run_.Annotation("jit_f", 5, "command_buffer_1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, row).confidence, Confidence::kInferred);
  int64_t sum = 0;
  for (const model::LabelShareRow& share : tables.label_shares) {
    EXPECT_EQ(share.label_id, tables.label_of[row]);
    sum += share.share_ppm;
  }
  EXPECT_EQ(sum, 1'000'000);
  EXPECT_EQ(tables.label_shares.size(), 8u);
}

TEST_F(ThunkOrderTest, ThunkListWithoutMetadataIsJoinedWithTheSchedule) {
  std::vector<model::Thunk> thunks;
  for (const std::string& symbol : kSymbols) {
    model::Thunk thunk;
    thunk.kind = "kKernel";
    thunk.kernel = symbol;
    thunk.grid[0] = thunk.grid[1] = thunk.grid[2] = 1;
    thunks.push_back(thunk);
  }
  run_.AddModule("jit_f", 5, [=] { return LoadedModule{Step("jit_f"), thunks}; });
  Launch(kSymbols);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, launched_[2]), "jit_f/f2");
  EXPECT_EQ(LabelOf(tables, launched_[2]).confidence, Confidence::kExact);
}

// Graph-level rows of a module that the source names, with only collectives beside them.
class GraphRows : public ::testing::Test {
 protected:
  GraphRows() {
    run_.AddDevice();
    run_.AddLane();
    graph_ = run_.Config(ActivityKind::kGraph, "graph");
    all_reduce_ = run_.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)");
    told_ = run_.Annotation("jit_f", 7, "");
  }

  void AddModule(int trips, bool collective) {
    const std::string text = fmt::format(
        R"(HloModule jit_f, is_scheduled=true
add {{ x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y) }}
fused {{ p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }}
condition {{ t = (s32[], f32[8]) parameter(0)
  ROOT go = pred[] constant(true) }}
body {{ t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8] get-tuple-element(t), index=1
  before = f32[8] fusion(x), kind=kLoop, calls=fused
  r = f32[8] {}
  after = f32[8] fusion(r), kind=kLoop, calls=fused
  ROOT o = (s32[], f32[8]) tuple(i, after) }}
ENTRY e {{ p = f32[8] parameter(0)
  first = f32[8] fusion(p), kind=kLoop, calls=fused
  zero = s32[] constant(0)
  t = (s32[], f32[8]) tuple(zero, first)
  w = (s32[], f32[8]) while(t), condition=condition, body=body, backend_config={{"known_trip_count":{{"n":"{}"}}}}
  y = f32[8] get-tuple-element(w), index=1
  ROOT last = f32[8] fusion(y), kind=kLoop, calls=fused }}
)",
        collective ? "all-reduce(before), replica_groups={}, to_apply=add" : "bitcast(before)",
        trips);
    run_.AddModule("jit_f", 7, [text] {
      LoadedModule module;
      module.hlo = hlo::ReadText(std::make_shared<const std::string>(text)).value();
      return module;
    });
  }

  RunBuilder run_;
  uint32_t graph_ = 0;
  uint32_t all_reduce_ = 0;
  uint32_t told_ = 0;
};

TEST_F(GraphRows, GraphRowsAreBetweenTheCollectivesOfEachTrip) {
  AddModule(2, true);
  const size_t opening = run_.Activity(graph_, told_, 1);
  run_.Activity(all_reduce_, told_, 1);
  const size_t middle = run_.Activity(graph_, told_, 1);
  run_.Activity(all_reduce_, told_, 1);
  const size_t closing = run_.Activity(graph_, told_, 1);
  const auto tables = run_.Attribute();
  // Four equal kernels: what starting them costs is nearly all of it.
  EXPECT_THAT(Shares(tables, opening),
              ElementsAre(Pair("before", 500'000), Pair("first", 500'000)));
  EXPECT_THAT(Shares(tables, middle), ElementsAre(Pair("after", 500'000), Pair("before", 500'000)));
  EXPECT_THAT(Shares(tables, closing), ElementsAre(Pair("after", 500'000), Pair("last", 500'000)));
  EXPECT_EQ(LabelOf(tables, middle).confidence, model::Confidence::kInferred);
}

TEST_F(GraphRows, LoopInAGraphCountsOncePerTrip) {
  AddModule(4, false);
  const size_t row = run_.Activity(graph_, told_, 1);
  const auto tables = run_.Attribute();
  // The row itself shows one of the largest.
  EXPECT_THAT(Says(run_, tables, row), ::testing::AnyOf("jit_f/after", "jit_f/before"));
  // Two kernels outside, two inside four times: ten.
  EXPECT_THAT(Shares(tables, row), ElementsAre(Pair("after", 400'000), Pair("before", 400'000),
                                               Pair("first", 100'000), Pair("last", 100'000)));
}

// A library's kernel in a run whose source marks nothing.
class LibraryKernels : public ::testing::Test {
 protected:
  LibraryKernels() {
    run_.AddDevice();
    run_.AddLane();
    product_ = run_.Kernel("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32");
  }

  void AddModuleWithProduct(const std::string& name) {
    run_.AddModule(name, {}, [name] {
      LoadedModule module;
      module.hlo =
          MakeModule(name, {{"main", {{"x", "parameter"}, {"dot." + name, "fft", "n", {"x"}}}}});
      return module;
    });
  }

  RunBuilder run_;
  uint32_t product_ = 0;
};

TEST_F(LibraryKernels, LibraryKernelOfSeveralModulesIsAmbiguous) {
  AddModuleWithProduct("jit_f");
  AddModuleWithProduct("jit_g");
  const size_t launch = run_.Activity(product_);
  EXPECT_EQ(Says(run_, run_.Attribute(), launch), "ambiguous_module");
}

TEST_F(LibraryKernels, LibraryKernelAmongUnknownKernelsHasNoModule) {
  AddModuleWithProduct("jit_f");
  AddModuleWithProduct("jit_g");
  const size_t stray = run_.Activity(run_.Kernel("loop_add_fusion_77"));
  const size_t launch = run_.Activity(product_);
  const auto tables = run_.Attribute();
  ASSERT_EQ(Says(run_, tables, stray), "no_module");
  EXPECT_EQ(Says(run_, tables, launch), "no_module");
}

TEST_F(LibraryKernels, LibraryKernelAmongUnknownKernelsIgnoresTheCallingModule) {
  AddModuleWithProduct("jit_f");
  run_.Activity(run_.Kernel("loop_add_fusion_77"));
  const size_t between = run_.Activity(product_);
  run_.Activity(run_.Kernel("loop_add_fusion_78"));
  EXPECT_EQ(Says(run_, run_.Attribute(), between), "no_module");
}

TEST_F(LibraryKernels, LibraryKernelOutsideOfAllRangesIsNotXlas) {
  AddModuleWithProduct("jit_f");
  AddModuleWithProduct("jit_g");
  run_.Activity(product_, run_.Annotation("jit_f", {}, "dot.jit_f"));
  const size_t launch = run_.Activity(product_);
  EXPECT_EQ(Says(run_, run_.Attribute(), launch), "not_xla");
}

TEST(LaunchSequence, CorrelationNumbersOrderBeforeStartTimes) {
  RunBuilder run;
  run.AddDevice();
  run.AddLane();
  run.AddLane(1, 8);
  const uint32_t kernel = run.Kernel("k");
  run.Activity(kernel, 0, 0, 1, 100);
  run.Activity(kernel, 0, 0, 2, 50);
  run.Activity(kernel, 0, 0, 1, 300);
  model::RunTables tables = run.run();
  EXPECT_THAT(LaunchSequences(tables)[0], ElementsAre(1, 0, 2));
  tables.activities.correlation = {7, 9, 8};
  EXPECT_THAT(LaunchSequences(tables)[0], ElementsAre(0, 2, 1));
}

TEST(LaunchSequence, NodesOfOneGraphKeepTheirOrderOfCreation) {
  RunBuilder run;
  run.AddDevice();
  run.AddLane();
  const uint32_t kernel = run.Kernel("k");
  for (int i = 0; i < 3; ++i) run.Activity(kernel);
  model::RunTables tables = run.run();
  tables.activities.correlation = {7, 7, 7};
  tables.activities.graph_node = {(int64_t{9} << 32) + 3, (int64_t{9} << 32) + 1,
                                  (int64_t{9} << 32) + 2};
  EXPECT_THAT(LaunchSequences(tables)[0], ElementsAre(1, 2, 0));
  // Nodes of a child graph have numbers of their own: they keep their places among the others.
  tables.activities.graph_node[1] = (int64_t{13} << 32) + 1;
  EXPECT_THAT(LaunchSequences(tables)[0], ElementsAre(2, 1, 0));
}

}  // namespace
}  // namespace xlatrace::correlator
