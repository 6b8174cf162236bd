// SPDX-License-Identifier: Apache-2.0

// Thunk order over modules read from text: loops, sorts, collectives, one program for several
// sizes.

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using ::testing::ElementsAre;

// Modules read from text, with hints of the source.
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

TEST_F(ToldModule, XlasCollectiveKernelBelongsToTheCollective) {
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

TEST_F(ToldModule, SortKernelsOfAFusionAreNamedAfterTheSort) {
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

TEST_F(ToldModule, TopKOfAThunkListMatchesItsTemplateKernel) {
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

// Two consecutive solves, in a list that names no instruction. If they are not kept together, the
// owner of each thunk is unknown.
TEST_F(ToldModule, UnnamedThunksOfAListAreKept) {
  for (const bool held : {true, false}) {
    SCOPED_TRACE(held);
    std::vector<model::Thunk> thunks;
    const auto add = [&](const char* kind, int depth, const char* kernel = "") {
      model::Thunk thunk;
      thunk.kind = kind;
      thunk.depth = depth;
      thunk.kernel = kernel;
      thunks.push_back(thunk);
    };
    add("kCustomKernel", 0, "first");
    for (int solve = 0; solve < 2; ++solve) {
      if (held) add("kSequential", 0);
      add("kCopy", held ? 1 : 0);
      add("kTriangularSolve", held ? 1 : 0);
    }
    add("kCustomKernel", 0, "last");
    const int64_t program_id = held ? 7 : 8;
    told_ = run_.Annotation("jit_f", program_id, "");
    run_.AddModule("jit_f", program_id, [thunks] {
      LoadedModule module;
      module.thunks = thunks;
      module.hlo =
          hlo::ReadText(std::make_shared<const std::string>(R"(HloModule jit_f, is_scheduled=true
fused { p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }
other { p = f32[8] parameter(0)
  ROOT n = f32[8] cosine(p) }
ENTRY e { p = f32[8] parameter(0)
  first = f32[8] fusion(p), kind=kLoop, calls=fused
  solve.1 = f32[8] custom-call(first), custom_call_target="__cublas$triangularSolve"
  solve.2 = f32[8] custom-call(solve.1), custom_call_target="__cublas$triangularSolve"
  ROOT last = f32[8] fusion(solve.2), kind=kLoop, calls=other }
)"))
              .value();
      return module;
    });
    std::vector<size_t> rows;
    for (const char* symbol : {"first", "copy", "trsm_kernel", "copy", "trsm_kernel", "last"}) {
      const bool copy = std::string_view(symbol) == "copy";
      const uint32_t config =
          copy ? run_.Config(model::ActivityKind::kMemcpy, "MemcpyD2D") : run_.Kernel(symbol);
      rows.push_back(run_.Activity(config, told_, held ? 1 : 2));
    }
    const auto tables = run_.Attribute();
    const char* const expected[] = {"first", "solve.1", "solve.1", "solve.2", "solve.2", "last"};
    for (size_t k = 0; k < rows.size(); ++k) {
      if (LabelOf(tables, rows[k]).confidence != Confidence::kExact) continue;
      EXPECT_EQ(Says(run_, tables, rows[k]), std::string("jit_f/") + expected[k]) << k;
    }
  }
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

TEST_F(Recompiled, LargerGridMeansTheLargerProgramButIsNeverExact) {
  AddModule(5, 4096);
  AddModule(6, 256);
  Launch(2);
  Launch(32);
  Launch(2);
  EXPECT_THAT(Programs(), ElementsAre(2, 2, 1, 1, 2, 2));
  EXPECT_EQ(exact_, 0);
}

TEST_F(Recompiled, GridOfAThunkListIsPreferred) {
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

TEST_F(Recompiled, DifferentNumberOfGridSizesGivesNoLabel) {
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

TEST_F(ToldModule, EqualLoopsEndAfterTheirTrips) {
  Module(TwoLoops("2", "3"));
  EXPECT_THAT(Launch({"before", "in_1", "in_1", "in_1", "in_1", "in_1", "before"}),
              ElementsAre("jit_f/before", "jit_f/in.1", "jit_f/in.1", "jit_f/in.2", "jit_f/in.2",
                          "jit_f/in.2", "jit_f/behind"));
}

TEST_F(ToldModule, EqualLoopsAreNotExactIfALaunchIsLost) {
  Module(TwoLoops("2", "3"));
  for (const std::string& said : Launch({"before", "in_1", "in_1", "in_1", "in_1", "before"})) {
    EXPECT_TRUE(said.find("/in.") == std::string::npos || said.ends_with(" ?")) << said;
  }
}

// XLA copies the operands of what comes next, too.
TEST_F(ToldModule, CopyAfterLibraryKernelsIsNotExact) {
  Module(R"(HloModule jit_f, is_scheduled=true
fused { p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }
other { p = f32[8] parameter(0)
  ROOT n = f32[8] sine(p) }
ENTRY e { p = f32[8] parameter(0)
  first = f32[8] fusion(p), kind=kLoop, calls=fused
  fft.1 = f32[8] fft(first), fft_type=FFT, fft_length={8}
  ROOT last = f32[8] fusion(fft.1), kind=kLoop, calls=other }
)");
  const auto launch = [&](uint32_t config) { return run_.Activity(config, told_, 1); };
  launch(run_.Kernel("first"));
  const size_t before = launch(run_.Config(model::ActivityKind::kMemcpy, "MemcpyD2D"));
  const size_t kernel = launch(run_.Kernel("void vector_fft<128>(float*)"));
  const size_t behind = launch(run_.Config(model::ActivityKind::kMemcpy, "MemcpyD2D"));
  launch(run_.Kernel("last"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, kernel), "jit_f/fft.1");
  EXPECT_EQ(LabelOf(tables, kernel).confidence, Confidence::kExact);
  EXPECT_EQ(Says(run_, tables, before), "jit_f/fft.1");
  EXPECT_NE(LabelOf(tables, behind).confidence, Confidence::kExact);
}

// Old thunk lists show a loop without its content: `first` is named once and runs
// again.
TEST_F(ToldModule, ThunkListWithoutALoopBodyIsRejected) {
  run_.AddModule("jit_f", 7, [] {
    LoadedModule module;
    module.hlo =
        hlo::ReadText(std::make_shared<const std::string>(R"(HloModule jit_f, is_scheduled=true
same { p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }
other { p = f32[8] parameter(0)
  ROOT n = f32[8] sine(p) }
condition { p = f32[8] parameter(0)
  ROOT go = pred[] constant(true) }
body { p = f32[8] parameter(0)
  ROOT inside = f32[8] fusion(p), kind=kLoop, calls=same }
ENTRY e { p = f32[8] parameter(0)
  first = f32[8] fusion(p), kind=kLoop, calls=same
  between = f32[8] fusion(first), kind=kLoop, calls=other
  w = f32[8] while(between), condition=condition, body=body, backend_config={"known_trip_count":{"n":"2"}}
  ROOT last = f32[8] fusion(w), kind=kLoop, calls=other }
)"))
            .value();
    for (const char* kernel : {"first", "between", "", "between"}) {
      model::Thunk thunk;
      thunk.kind = *kernel == 0 ? "kWhile" : "kKernel";
      thunk.kernel = kernel;
      module.thunks.push_back(thunk);
    }
    return module;
  });
  EXPECT_THAT(
      Launch({"first", "between", "first", "first", "between"}),
      ElementsAre("jit_f/first", "jit_f/between", "jit_f/inside", "jit_f/inside", "jit_f/last"));
}

// Two branches whose kernels are the same but for the last.
constexpr const char* kTwoBranches = R"(HloModule jit_f, is_scheduled=true
same { p = f32[8] parameter(0)
  ROOT n = f32[8] negate(p) }
sine { p = f32[8] parameter(0)
  ROOT n = f32[8] sine(p) }
root { p = f32[8] parameter(0)
  ROOT n = f32[8] sqrt(p) }
left { p = f32[8] parameter(0)
  a1 = f32[8] fusion(p), kind=kLoop, calls=same
  a2 = f32[8] fusion(a1), kind=kLoop, calls=same
  ROOT a3 = f32[8] fusion(a2), kind=kLoop, calls=sine }
right { p = f32[8] parameter(0)
  b1 = f32[8] fusion(p), kind=kLoop, calls=same
  b2 = f32[8] fusion(b1), kind=kLoop, calls=same
  ROOT b3 = f32[8] fusion(b2), kind=kLoop, calls=root }
ENTRY e { p = f32[8] parameter(0)
  which = pred[] parameter(1)
  ROOT c = f32[8] conditional(which, p, p), true_computation=left, false_computation=right }
)";

TEST_F(ToldModule, KernelOnlyInTheSecondBranchIdentifiesIt) {
  Module(kTwoBranches);
  EXPECT_THAT(Launch({"a1", "a1", "b3"}), ElementsAre("jit_f/b1", "jit_f/b2", "jit_f/b3"));
}

TEST_F(ToldModule, KernelOnlyInTheFirstBranchIdentifiesIt) {
  Module(kTwoBranches);
  EXPECT_THAT(Launch({"a1", "a1", "a3"}), ElementsAre("jit_f/a1", "jit_f/a2", "jit_f/a3"));
}

TEST_F(ToldModule, EqualLoopsOfUnknownLengthAreNotExact) {
  Module(TwoLoops("", "3"));
  for (const std::string& said : Launch({"before", "in_1", "in_1", "in_1", "in_1", "before"})) {
    EXPECT_TRUE(said.find("/in.") == std::string::npos || said.ends_with(" ?")) << said;
  }
}

// Two loops of five trips, each with a loop of unknown length in it, and one kernel between them.
TEST_F(ToldModule, NestedLoopsAreDistinguishedDespiteALostKernelBetweenThem) {
  const auto loop = [](const std::string& name) {
    return fmt::format(R"(inner_{0} {{ t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8] get-tuple-element(t), index=1
  again_{0} = f32[8] fusion(x), kind=kLoop, calls=fused_exponential
  ROOT o = (s32[], f32[8]) tuple(i, again_{0}) }}
outer_{0} {{ t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8] get-tuple-element(t), index=1
  once_{0} = f32[8] fusion(x), kind=kLoop, calls=fused_negate
  u = (s32[], f32[8]) tuple(i, once_{0})
  ROOT w_{0} = (s32[], f32[8]) while(u), condition=condition, body=inner_{0} }}
)",
                       name);
  };
  std::string text = "HloModule jit_f, is_scheduled=true\n";
  for (const std::string op : {"exponential", "negate", "abs"}) {
    text += fmt::format("fused_{0} {{ p = f32[8] parameter(0)\n  ROOT n = f32[8] {0}(p) }}\n", op);
  }
  text += R"(condition { t = (s32[], f32[8]) parameter(0)
  ROOT go = pred[] constant(true) }
)" + loop("a") +
          loop("b") + R"(ENTRY e { p = f32[8] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[8]) tuple(zero, p)
  wa = (s32[], f32[8]) while(t), condition=condition, body=outer_a, backend_config={"known_trip_count":{"n":"5"}}
  y = f32[8] get-tuple-element(wa), index=1
  between = f32[8] fusion(y), kind=kLoop, calls=fused_abs
  v = (s32[], f32[8]) tuple(zero, between)
  ROOT wb = (s32[], f32[8]) while(v), condition=condition, body=outer_b, backend_config={"known_trip_count":{"n":"5"}} }
)";
  Module(text);
  // Kernels are reused: loop b runs those of loop a. The inner loop runs k % 3 times in trip k.
  std::vector<std::string> launched;
  std::vector<std::string> truth;
  for (int trip = 0; trip < 10; ++trip) {
    const std::string loop_of_trip = trip < 5 ? "a" : "b";
    launched.push_back("once_a");
    truth.push_back("jit_f/once_" + loop_of_trip + " ?");
    for (int k = 0; k < trip % 3; ++k) {
      launched.push_back("again_a");
      truth.push_back("jit_f/again_" + loop_of_trip + " ?");
    }
  }
  EXPECT_EQ(Launch(launched), truth);
}

}  // namespace
}  // namespace xlatrace::correlator
