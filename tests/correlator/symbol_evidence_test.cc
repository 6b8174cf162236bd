// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/correlator/test_builders.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using model::Evidence;

model::Thunk KernelThunk(std::string kernel, std::string instruction, int64_t grid_x = 0) {
  model::Thunk thunk;
  thunk.kind = "kKernel";
  thunk.kernel = std::move(kernel);
  thunk.instruction = std::move(instruction);
  thunk.grid[0] = grid_x;
  return thunk;
}

// Two fusions with one body, which run one kernel; a third with another body; a sort.
model::HloModule Fusions(const std::string& name) {
  return MakeModule(name, {{"b1", {{"p", "parameter"}, {"a", "add", "n", {"p", "p"}}}},
                           {"b2", {{"p", "parameter"}, {"a", "add", "n", {"p", "p"}}}},
                           {"b3", {{"p", "parameter"}, {"a", "multiply", "n", {"p", "p"}}}},
                           {"main",
                            {{"q", "parameter"},
                             {"loop_add_fusion", "fusion", "n1", {"q"}, {"b1"}},
                             {"loop_add_fusion.1", "fusion", "n2", {"q"}, {"b2"}},
                             {"loop_multiply_fusion", "fusion", "n3", {"q"}, {"b3"}},
                             {"sort.3", "sort", "n4", {"q"}}}}});
}

class SymbolEvidenceTest : public ::testing::Test {
 protected:
  SymbolEvidenceTest() {
    run_.AddDevice();
    run_.AddLane();
  }
  void Module(std::string name, int64_t program_id, std::vector<model::Thunk> thunks = {}) {
    run_.AddModule(name, program_id, [=] { return LoadedModule{Fusions(name), thunks}; });
  }
  RunBuilder run_;
};

TEST_F(SymbolEvidenceTest, NameAloneIsInferred) {
  Module("jit_f", 5);
  const auto hint = run_.Annotation("jit_f", {}, "");  // A dump's module: joined by name.
  run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 5, ""));
  const size_t a = run_.Activity(run_.Kernel("loop_multiply_fusion"), hint);
  const size_t sort = run_.Activity(run_.Kernel("sort_3"), hint);
  const size_t later = run_.Activity(run_.Kernel("sort_3__4"), hint);
  const size_t amd = run_.Activity(run_.Kernel("loop_multiply_fusion.kd"), hint);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_f/loop_multiply_fusion");
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kInferred);
  EXPECT_EQ(Says(run_, tables, sort), "jit_f/sort.3");
  EXPECT_EQ(Says(run_, tables, later), "jit_f/sort.3");
  EXPECT_EQ(Says(run_, tables, amd), "jit_f/loop_multiply_fusion");
}

TEST_F(SymbolEvidenceTest, EqualBodiesAreAmbiguousIfALaunchIsLost) {
  Module("jit_f", 5);
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion"), run_.Annotation("jit_f", 5, ""));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "ambiguous_symbol") << "a guess would be one of two";
  EXPECT_EQ(LabelOf(tables, a).module_id, 1);
}

TEST_F(SymbolEvidenceTest, SingleUserInTheThunkListIsExact) {
  // The list shows that each of the equal fusions has a kernel of its own after all.
  Module("jit_f", 5,
         {KernelThunk("loop_add_fusion", "loop_add_fusion"),
          KernelThunk("loop_add_fusion_1", "loop_add_fusion.1")});
  const auto hint = run_.Annotation("jit_f", 5, "");
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion"), hint);
  const size_t b = run_.Activity(run_.Kernel("loop_add_fusion_1"), hint);
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_f/loop_add_fusion");
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
  EXPECT_EQ(Says(run_, tables, b), "jit_f/loop_add_fusion.1");
  EXPECT_EQ(LabelOf(tables, b).confidence, Confidence::kExact);
}

TEST_F(SymbolEvidenceTest, ReusedKernelOfTheThunkListIsAmbiguous) {
  Module("jit_f", 5,
         {KernelThunk("loop_add_fusion", "loop_add_fusion"),
          KernelThunk("loop_add_fusion", "loop_add_fusion.1")});
  const size_t a = run_.Activity(run_.Kernel("loop_add_fusion"), run_.Annotation("jit_f", 5, ""));
  EXPECT_EQ(Says(run_, run_.Attribute(), a), "ambiguous_symbol");
}

TEST_F(SymbolEvidenceTest, ThunkListWithoutMetadataNamesSingleUsersOnly) {
  // jaxlib before 0.8.0: kernels without their instructions. The kernel cache serves two thunks.
  Module("jit_f", 5,
         {KernelThunk("loop_add_fusion", ""), KernelThunk("loop_add_fusion", ""),
          KernelThunk("loop_multiply_fusion", "")});
  const auto hint = run_.Annotation("jit_f", 5, "");
  const size_t shared = run_.Activity(run_.Kernel("loop_add_fusion"), hint);
  const size_t single = run_.Activity(run_.Kernel("loop_multiply_fusion"), hint);
  const size_t unlisted = run_.Activity(run_.Kernel("sort_3"), hint);
  const auto tables = run_.Attribute();
  EXPECT_NE(LabelOf(tables, shared).confidence, Confidence::kExact) << "the other launch is lost";
  EXPECT_EQ(Says(run_, tables, single), "jit_f/loop_multiply_fusion");
  EXPECT_EQ(LabelOf(tables, single).confidence, Confidence::kExact);
  EXPECT_EQ(Says(run_, tables, unlisted), "no_annotation") << "the list has no such kernel";
}

TEST_F(SymbolEvidenceTest, KernelOfAnotherSizeIsNotOfTheModule) {
  Module("jit_f", 5, {KernelThunk("loop_multiply_fusion", "loop_multiply_fusion", 64)});
  const auto hint = run_.Annotation("jit_f", 5, "");
  const size_t same = run_.Activity(run_.Kernel("loop_multiply_fusion", 64), hint);
  const size_t other = run_.Activity(run_.Kernel("loop_multiply_fusion", 65), hint);
  const auto tables = run_.Attribute();
  EXPECT_EQ(LabelOf(tables, same).confidence, Confidence::kExact);
  EXPECT_EQ(Says(run_, tables, other), "no_annotation");
}

TEST_F(SymbolEvidenceTest, UnknownModuleIsInferredWhenOnlyOneCanOwnIt) {
  Module("jit_f", 5);
  run_.AddModule("jit_g", 6, [] {
    return LoadedModule{MakeModule("jit_g", {{"main", {{"sort.3", "sort"}, {"sort.9", "sort"}}}}),
                        {}};
  });
  const size_t one = run_.Activity(run_.Kernel("loop_multiply_fusion"));
  const size_t two = run_.Activity(run_.Kernel("sort_3"));
  const size_t g = run_.Activity(run_.Kernel("sort_9"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, one), "jit_f/loop_multiply_fusion");
  EXPECT_EQ(LabelOf(tables, one).evidence, Evidence::kSymbolAcross);
  EXPECT_EQ(LabelOf(tables, one).confidence, Confidence::kInferred);
  EXPECT_EQ(Says(run_, tables, two), "ambiguous_module");
  EXPECT_EQ(Says(run_, tables, g), "jit_g/sort.9");
}

TEST_F(SymbolEvidenceTest, LaunchDimensionsDistinguishModules) {
  Module("jit_f", 5, {KernelThunk("loop_multiply_fusion", "loop_multiply_fusion", 64)});
  Module("jit_g", 6, {KernelThunk("loop_multiply_fusion", "loop_multiply_fusion", 128)});
  const size_t a = run_.Activity(run_.Kernel("loop_multiply_fusion", 128));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_g/loop_multiply_fusion");
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kInferred) << "never exact across modules";
  EXPECT_EQ(LabelOf(tables, a).evidence, Evidence::kSymbolAcross) << "symbol and size suffice";
}

TEST_F(SymbolEvidenceTest, KernelOfAMissingModuleHasNoLabel) {
  Module("jit_f", 5);
  run_.Activity(run_.Kernel("k"), run_.Annotation("jit_f", 5, "sort.3"));
  const size_t a =
      run_.Activity(run_.Kernel("loop_multiply_fusion"), run_.Annotation("jit_gone", 9, ""));
  EXPECT_EQ(Says(run_, run_.Attribute(), a), "no_annotation");
}

TEST_F(SymbolEvidenceTest, SymbolOfAnotherProcessIsNoEvidence) {
  Module("jit_f", 5);
  const auto lane = run_.AddLane(run_.AddDevice(run_.AddProcess()));
  const size_t a = run_.Activity(run_.Kernel("loop_multiply_fusion"), 0, 0, lane);
  const size_t b = run_.Activity(run_.Kernel("sort_3"), 0, 0, lane);
  const auto tables = run_.Attribute();
  // A fusion belongs to XLA, in an unknown module; then other kernels of that process may belong to
  // it, too.
  EXPECT_EQ(Says(run_, tables, a), "no_module");
  EXPECT_EQ(Says(run_, tables, b), "no_module");
}

TEST_F(SymbolEvidenceTest, KernelWithoutSignsOfXlaIsNotAttributed) {
  Module("jit_f", 5);
  const auto lane = run_.AddLane(run_.AddDevice(run_.AddProcess()));
  const size_t a = run_.Activity(run_.Kernel("my_kernel"), 0, 0, lane);
  EXPECT_EQ(Says(run_, run_.Attribute(), a), "not_xla");
}

TEST_F(SymbolEvidenceTest, SymbolIdentifiesTheInstructionInACommandBuffer) {
  Module("jit_f", 5);
  const size_t a = run_.Activity(run_.Kernel("loop_multiply_fusion"),
                                 run_.Annotation("jit_f", 5, "command_buffer_1"));
  const auto tables = run_.Attribute();
  EXPECT_EQ(Says(run_, tables, a), "jit_f/loop_multiply_fusion");
  EXPECT_EQ(LabelOf(tables, a).evidence, Evidence::kThunkOrder);
  EXPECT_EQ(LabelOf(tables, a).confidence, Confidence::kExact);
}

}  // namespace
}  // namespace xlatrace::correlator
