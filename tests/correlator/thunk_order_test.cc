// Thunk order: alignment, windows, reuse of kernels, lost records, graphs.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlator/launch_sequence.h"
#include "correlator/window_assignment.h"
#include "hlo/text_reader.h"
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

// What the kernels of one execution are called.
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
  std::vector<std::string> Said(const model::AttributionTables& tables) {
    std::vector<std::string> said;
    for (const size_t i : launched_) said.push_back(Says(run_, tables, i));
    return said;
  }

  RunBuilder run_;
  std::vector<size_t> launched_;
};

TEST_F(ThunkOrderTest, ReusedKernelIsResolvedByItsPlaceAmongTheOthers) {
  Module("jit_f", 5);
  Launch(kSymbols);
  Launch(kSymbols);
  const auto tables = run_.Attribute();
  std::vector<std::string> expected;
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < 8; ++i) expected.push_back("jit_f/f" + std::to_string(i));
  }
  EXPECT_EQ(Said(tables), expected);
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
  EXPECT_EQ(Says(run_, tables, launched_[2]), "jit_f/f4") << "between f3 and f5 there is one";
}

TEST_F(ThunkOrderTest, ShortHelperIsNeverExactWithoutAWordFromTheSource) {
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

TEST_F(ThunkOrderTest, ModulesThatLookAlikeAreNotToldApart) {
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

TEST_F(ThunkOrderTest, GraphLevelRowIsSharedOverItsModule) {
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

std::vector<uint32_t> Chosen(const std::vector<ThunkKind>& thunks,
                             const std::vector<LaunchKind>& launches, bool* unique) {
  std::vector<WindowToken> tokens(thunks.size());
  for (size_t t = 0; t < thunks.size(); ++t) tokens[t].thunk.kind = thunks[t];
  std::vector<WindowActivity> activities(launches.size());
  for (size_t a = 0; a < launches.size(); ++a) activities[a].kind = launches[a];
  std::vector<uint32_t> chosen;
  *unique = true;
  for (const WindowChoice& choice : AssignWindow(tokens, activities)) {
    chosen.push_back(choice.token);
    *unique &= choice.unique;
  }
  return chosen;
}

TEST(WindowAssignment, AsManyProductsAsCallsAreOneEach) {
  bool unique = false;
  EXPECT_THAT(
      Chosen({ThunkKind::kGemm, ThunkKind::kGemm}, {LaunchKind::kGemm, LaunchKind::kGemm}, &unique),
      ElementsAre(0, 1));
  EXPECT_TRUE(unique);
}

TEST(WindowAssignment, SplitReductionBelongsToTheProductBeforeIt) {
  bool unique = false;
  EXPECT_THAT(Chosen({ThunkKind::kGemm, ThunkKind::kGemm},
                     {LaunchKind::kGemm, LaunchKind::kGemmPart, LaunchKind::kGemm}, &unique),
              ElementsAre(0, 0, 1));
  EXPECT_TRUE(unique);
}

TEST(WindowAssignment, OneKernelForTwoCallsIsNotUnique) {
  bool unique = true;
  Chosen({ThunkKind::kGemm, ThunkKind::kGemm}, {LaunchKind::kGemm}, &unique);
  EXPECT_FALSE(unique);
}

TEST(WindowAssignment, CollectivesTakeTheirOwnKind) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = tokens[1].thunk.kind = ThunkKind::kCollective;
  tokens[0].thunk.collective = CollectiveKind::kAllGather;
  tokens[1].thunk.collective = CollectiveKind::kReduceScatter;
  const std::vector<WindowActivity> activities = {
      {LaunchKind::kCollective,
       CollectiveOfSymbol("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL")}};
  const auto choices = AssignWindow(tokens, activities);
  EXPECT_EQ(choices[0].token, 1u);
}

TEST(WindowAssignment, KernelsOfOneLibraryAreNoCallsOfAnother) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = tokens[1].thunk.kind = ThunkKind::kLibrary;
  tokens[0].thunk.library = LibraryOf("triangular-solve");
  tokens[1].thunk.library = LibraryOf("cusolver_potrf_ffi");
  std::vector<WindowActivity> activities;
  for (const char* symbol : {"trsm_left_kernel", "trsm_left_kernel", "potrf_alg2", "potrf_alg2"}) {
    activities.push_back({LaunchKind::kLibrary, CollectiveKind::kAny, LibraryOf(symbol)});
  }
  const auto choices = AssignWindow(tokens, activities);
  EXPECT_EQ(choices[0].token, 0u);
  EXPECT_TRUE(choices[0].unique);
  EXPECT_EQ(choices[3].token, 1u);
  EXPECT_TRUE(choices[3].unique);
  // A factorization solves triangles as well.
  EXPECT_FALSE(choices[1].unique);
}

TEST(WindowAssignment, CopyThatMayStandForALostOneIsNotUnique) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = tokens[1].thunk.kind = ThunkKind::kCopy;
  const std::vector<WindowActivity> one = {{LaunchKind::kDeviceCopy}};
  const std::vector<WindowActivity> two = {{LaunchKind::kDeviceCopy}, {LaunchKind::kDeviceCopy}};
  EXPECT_TRUE(AssignWindow(tokens, two)[0].unique);
  tokens[0].thunk.optional = true;  // In a branch, say.
  const auto choices = AssignWindow(tokens, one);
  EXPECT_EQ(choices[0].token, 1u);
  EXPECT_FALSE(choices[0].unique);
}

TEST(WindowAssignment, CopiesOnTheDeviceTakeNothingToTheHost) {
  std::vector<WindowToken> tokens(2);
  tokens[0].thunk.kind = ThunkKind::kCopy;
  tokens[1].thunk.kind = ThunkKind::kHostCopy;
  tokens[1].thunk.optional = true;
  for (const LaunchKind kind : {LaunchKind::kHostCopy, LaunchKind::kPredicate}) {
    const std::vector<WindowActivity> activities = {{LaunchKind::kDeviceCopy}, {kind}};
    const auto choices = AssignWindow(tokens, activities);
    EXPECT_EQ(choices[0].token, 0u);
    EXPECT_EQ(choices[1].token, 1u);
    EXPECT_TRUE(choices[1].unique);
  }
}

TEST(LaunchKindOf, KernelsThatReadPredicatesInGraphs) {
  for (const char* symbol : {"set_case_condition", "set_while_condition", "set_if_condition"}) {
    model::LaunchConfig config;
    config.kind = ActivityKind::kKernel;
    config.symbol = symbol;
    EXPECT_EQ(LaunchKindOf(config), LaunchKind::kPredicate) << symbol;
  }
}

// Modules read from text, told by the source.
class ToldModule : public ::testing::Test {
 protected:
  ToldModule() {
    run_.AddDevice();
    run_.AddLane();
    told_ = run_.Annotation("jit_f", 7, "");
  }
  void Module(const std::string& text) {
    run_.AddModule("jit_f", 7, [text] {
      LoadedModule module;
      module.hlo = hlo::ReadText(std::make_shared<const std::string>(text)).value();
      return module;
    });
  }
  // One execution.
  std::vector<std::string> Launch(const std::vector<std::string>& symbols) {
    std::vector<size_t> rows;
    for (const std::string& symbol : symbols) {
      rows.push_back(run_.Activity(run_.Kernel(symbol), told_, 1));
    }
    const auto tables = run_.Attribute();
    std::vector<std::string> said;
    for (const size_t row : rows) {
      const model::Label& label = LabelOf(tables, row);
      said.push_back(Says(run_, tables, row) +
                     (label.confidence == Confidence::kExact ? "" : " ?"));
    }
    return said;
  }

  RunBuilder run_;
  uint32_t told_ = 0;
};

TEST_F(ToldModule, XlasOwnKernelOfACollectiveIsTheCollectives) {
  Module(R"(HloModule jit_f, is_scheduled=true
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y) }
fused { p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }
ENTRY e { p = f32[8] parameter(0)
  first = f32[8] fusion(p), kind=kLoop, calls=fused
  all-reduce-start.2 = f32[8] all-reduce-start(first), replica_groups={}, to_apply=add
  ROOT done = f32[8] all-reduce-done(all-reduce-start.2) }
)");
  EXPECT_THAT(Launch({"first", "all_reduce_start_2_fusion"}),
              ElementsAre("jit_f/first", "jit_f/all-reduce-start.2"));
}

TEST_F(ToldModule, KernelsOfASortInAFusionAreCalledAfterTheSort) {
  Module(R"(HloModule jit_f, is_scheduled=true
less { x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT z = pred[] compare(x, y), direction=LT }
fused { p = s32[8] parameter(0)
  ROOT sort.3.1 = s32[8] sort(p), dimensions={0}, to_apply=less }
other { p = s32[8] parameter(0)
  ROOT n = s32[8] negate(p) }
ENTRY e { p = s32[8] parameter(0)
  first = s32[8] fusion(p), kind=kLoop, calls=other
  fusion.11 = s32[8] fusion(first), kind=kCustom, calls=fused
  ROOT last = s32[8] fusion(fusion.11), kind=kLoop, calls=other }
)");
  EXPECT_THAT(Launch({"first", "sort_3_1", "sort_3_1__1", "first"}),
              ElementsAre("jit_f/first", "jit_f/fusion.11", "jit_f/fusion.11", "jit_f/last"));
}

TEST_F(ToldModule, TopKOfAThunkListIsTheTemplateThatRuns) {
  std::vector<model::Thunk> thunks(2);
  thunks[0].kind = thunks[1].kind = "kCustomKernel";
  thunks[0].kernel = thunks[0].instruction = "first";
  thunks[1].kernel = "topk";
  thunks[1].instruction = "custom-call.1";
  run_.AddModule("jit_f", 7, [thunks] {
    LoadedModule module;
    module.thunks = thunks;
    module.hlo =
        hlo::ReadText(std::make_shared<const std::string>(R"(HloModule jit_f, is_scheduled=true
fused { p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }
ENTRY e { p = f32[8] parameter(0)
  first = f32[8] fusion(p), kind=kLoop, calls=fused
  ROOT custom-call.1 = f32[2] custom-call(first), custom_call_target="__gpu$TopK" }
)"))
            .value();
    return module;
  });
  EXPECT_THAT(Launch({"first", "_ZN15stream_executor4cuda3RunILm16EfjEEvPT0_iS3_Pji"}),
              ElementsAre("jit_f/first", "jit_f/custom-call.1"));
}

// A program compiled for several sizes, and launches without a word from the source.
class Recompiled : public ::testing::Test {
 protected:
  Recompiled() {
    run_.AddDevice();
    run_.AddLane();
  }
  void AddModule(int64_t program_id, int size, const std::vector<model::Thunk>& thunks = {}) {
    std::string bodies;
    std::string entry;
    std::string before = "p";
    for (const std::string& op : ops_) {
      bodies += fmt::format("{0} {{ p = f32[{1}] parameter(0)\n  ROOT n = f32[{1}] {0}(p) }}\n", op,
                            size);
      const bool last = op == ops_.back();
      entry += fmt::format("  {}loop_{}_fusion = f32[{}] fusion({}), kind=kLoop, calls={}\n",
                           last ? "ROOT " : "", op, size, before, op);
      before = "loop_" + op + "_fusion";
    }
    const std::string text = fmt::format(
        "HloModule jit_eval, is_scheduled=true\n{}ENTRY e {{ p = f32[{}] parameter(0)\n{}}}\n",
        bodies, size, entry);
    run_.AddModule("jit_eval", program_id, [text, thunks] {
      LoadedModule module;
      module.thunks = thunks;
      module.hlo = hlo::ReadText(std::make_shared<const std::string>(text)).value();
      return module;
    });
  }
  void Launch(int64_t blocks) {
    for (const std::string& op : ops_) {
      rows_.push_back(run_.Activity(run_.Kernel("loop_" + op + "_fusion", blocks, 128)));
    }
  }
  // Program ids; 0: no instruction.
  std::vector<int64_t> Programs() {
    const auto tables = run_.Attribute();
    std::vector<int64_t> programs;
    for (const size_t row : rows_) {
      const model::Label& label = LabelOf(tables, row);
      exact_ += label.confidence == Confidence::kExact;
      programs.push_back(label.instruction_id == 0 ? 0 : label.module_id);
    }
    return programs;
  }

  RunBuilder run_;
  std::vector<std::string> ops_ = {"negate", "cosine"};
  std::vector<size_t> rows_;
  int exact_ = 0;
};

TEST_F(Recompiled, TheLargerGridIsTheLargerProgramsButNeverForSure) {
  AddModule(5, 4096);
  AddModule(6, 256);
  Launch(2);
  Launch(32);
  Launch(2);
  EXPECT_THAT(Programs(), ElementsAre(2, 2, 1, 1, 2, 2));
  EXPECT_EQ(exact_, 0);
}

TEST_F(Recompiled, GridThatAThunkListTellsIsTheBetterOne) {
  ops_ = {"negate", "cosine", "sine", "tanh", "exponential", "abs"};
  std::vector<model::Thunk> thunks;
  for (const std::string& op : ops_) {
    model::Thunk thunk;
    thunk.kind = "kKernel";
    thunk.kernel = thunk.instruction = "loop_" + op + "_fusion";
    thunk.grid[0] = 32;
    thunk.block[0] = 128;
    thunk.grid[1] = thunk.grid[2] = thunk.block[1] = thunk.block[2] = 1;
    thunks.push_back(thunk);
  }
  AddModule(5, 256);
  AddModule(6, 4096, thunks);
  Launch(32);
  Launch(2);
  EXPECT_THAT(Programs(), ElementsAre(2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1));
  // The small ones can be nothing else.
  EXPECT_EQ(exact_, 6);
}

TEST_F(Recompiled, GridsOfAnotherNumberOfSizesTellNothing) {
  AddModule(5, 4096);
  AddModule(6, 256);
  Launch(2);
  EXPECT_THAT(Programs(), ElementsAre(0, 0));
}

// Two loops, one behind the other, whose bodies run the same kernel.
std::string TwoLoops(const std::string& first_trips, const std::string& second_trips) {
  const auto config = [](const std::string& trips) {
    return trips.empty() ? trips
                         : ", backend_config={\"known_trip_count\":{\"n\":\"" + trips + "\"}}";
  };
  return fmt::format(
      R"(HloModule jit_f, is_scheduled=true
fused {{ p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }}
other {{ p = f32[8] parameter(0)
  ROOT n = f32[8] cosine(p) }}
condition {{ t = (s32[], f32[8]) parameter(0)
  ROOT go = pred[] constant(true) }}
body.1 {{ t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8] get-tuple-element(t), index=1
  in.1 = f32[8] fusion(x), kind=kLoop, calls=fused
  ROOT o = (s32[], f32[8]) tuple(i, in.1) }}
body.2 {{ t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8] get-tuple-element(t), index=1
  in.2 = f32[8] fusion(x), kind=kLoop, calls=fused
  ROOT o = (s32[], f32[8]) tuple(i, in.2) }}
ENTRY e {{ p = f32[8] parameter(0)
  before = f32[8] fusion(p), kind=kLoop, calls=other
  zero = s32[] constant(0)
  t = (s32[], f32[8]) tuple(zero, before)
  w = (s32[], f32[8]) while(t), condition=condition, body=body.1{}
  v = (s32[], f32[8]) while(w), condition=condition, body=body.2{}
  y = f32[8] get-tuple-element(v), index=1
  ROOT behind = f32[8] fusion(y), kind=kLoop, calls=other }}
)",
      config(first_trips), config(second_trips));
}

TEST_F(ToldModule, LoopsWithTheSameKernelEndAfterTheirTrips) {
  Module(TwoLoops("2", "3"));
  EXPECT_THAT(Launch({"before", "in_1", "in_1", "in_1", "in_1", "in_1", "before"}),
              ElementsAre("jit_f/before", "jit_f/in.1", "jit_f/in.1", "jit_f/in.2", "jit_f/in.2",
                          "jit_f/in.2", "jit_f/behind"));
}

TEST_F(ToldModule, LoopsWithTheSameKernelAreNotExactWhenALaunchIsLost) {
  Module(TwoLoops("2", "3"));
  for (const std::string& said : Launch({"before", "in_1", "in_1", "in_1", "in_1", "before"})) {
    EXPECT_TRUE(said.find("/in.") == std::string::npos || said.ends_with(" ?")) << said;
  }
}

TEST_F(ToldModule, LoopsOfUnknownLengthWithTheSameKernelAreNotExact) {
  Module(TwoLoops("", "3"));
  for (const std::string& said : Launch({"before", "in_1", "in_1", "in_1", "in_1", "before"})) {
    EXPECT_TRUE(said.find("/in.") == std::string::npos || said.ends_with(" ?")) << said;
  }
}

// Graph-level rows of a module that the source tells, and nothing beside them but collectives.
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

  std::map<std::string, int64_t> Shares(const model::AttributionTables& tables, size_t row) {
    std::map<std::string, int64_t> shares;
    for (const model::LabelShareRow& share : tables.label_shares) {
      if (share.label_id != tables.label_of[row]) continue;
      shares[tables.instructions[static_cast<size_t>(share.instruction_id) - 1].name] +=
          share.share_ppm;
    }
    return shares;
  }

  RunBuilder run_;
  uint32_t graph_ = 0;
  uint32_t all_reduce_ = 0;
  uint32_t told_ = 0;
};

TEST_F(GraphRows, LieBetweenTheCollectivesOfEveryTrip) {
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

TEST_F(GraphRows, CountALoopInsideAsOftenAsItRuns) {
  AddModule(4, false);
  const size_t row = run_.Activity(graph_, told_, 1);
  // Two kernels outside, two inside four times: ten.
  EXPECT_THAT(Shares(run_.Attribute(), row),
              ElementsAre(Pair("after", 400'000), Pair("before", 400'000), Pair("first", 100'000),
                          Pair("last", 100'000)));
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

TEST_F(LibraryKernels, OfSeveralModulesThatCallItIsNotOutsideOfXla) {
  AddModuleWithProduct("jit_f");
  AddModuleWithProduct("jit_g");
  const size_t launch = run_.Activity(product_);
  EXPECT_EQ(Says(run_, run_.Attribute(), launch), "ambiguous_module");
}

TEST_F(LibraryKernels, AmongKernelsOfAMissingModuleMissesItsModuleToo) {
  AddModuleWithProduct("jit_f");
  AddModuleWithProduct("jit_g");
  const size_t stray = run_.Activity(run_.Kernel("loop_add_fusion_77"));
  const size_t launch = run_.Activity(product_);
  const auto tables = run_.Attribute();
  ASSERT_EQ(Says(run_, tables, stray), "no_module");
  EXPECT_EQ(Says(run_, tables, launch), "no_module");
}

TEST_F(LibraryKernels, OutsideOfEveryMarkIsNotXlas) {
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

TEST(LaunchSequence, NodesOfOneGraphComeInTheOrderInWhichTheyWereMade) {
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
  // Nodes of a child graph have numbers of their own.
  tables.activities.graph_node[1] = (int64_t{13} << 32) + 1;
  EXPECT_THAT(LaunchSequences(tables)[0], ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace xlatrace::correlator
