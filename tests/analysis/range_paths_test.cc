#include "analysis/range_paths.h"

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

// What PyTorch, Kineto, FSDP and JAX write.
TEST(RangeWords, LosesWhatDiffersFromCallToCall) {
  EXPECT_EQ(RangeWords("aten::addmm, seq = 46185, op_id = 993813"), "aten::addmm");
  EXPECT_EQ(RangeWords("aten::addmm, op_id = 7, sizes = [[2, 3], [3]]"), "aten::addmm");
  EXPECT_EQ(RangeWords("ProfilerStep#6"), "ProfilerStep#*");
  EXPECT_EQ(RangeWords("FSDP::pre_forward (encoder.block.9.layer.1), op_id = 12"),
            "FSDP::pre_forward (encoder.block.*.layer.*)");
  EXPECT_EQ(RangeWords("nn.Module: BertLayer_3"), "nn.Module: BertLayer_*");
  EXPECT_EQ(RangeWords("iteration 12"), "iteration *");
  EXPECT_EQ(RangeWords("step=12"), "step=*");
  EXPECT_EQ(RangeWords("<Tensor at 0x7f8a00>"), "<Tensor at *>");
  EXPECT_EQ(RangeWords("Tensor at 0x7f8a00"), "Tensor at *");
}

TEST(RangeWords, KeepsNumbersThatAreParts) {
  for (const char* text :
       {"aten::conv2d", "AddmmBackward0", "torch/nn/modules/module.py(1501): _call_impl",
        "PjitFunction(dot)", "load a, b", "conv_3x3", "x = 3, y", ""}) {
    const std::string_view view(text);
    EXPECT_EQ(RangeWords(view), view == "x = 3, y" ? "x = *, y" : view);
  }
}

TEST(IsRuntimeRange, CallsOfRuntimesAndDrivers) {
  EXPECT_TRUE(IsRuntimeRange("cudaLaunchKernel"));
  EXPECT_TRUE(IsRuntimeRange("cuLaunchKernelEx"));
  EXPECT_TRUE(IsRuntimeRange("hipModuleLaunchKernel"));
  EXPECT_TRUE(IsRuntimeRange("hsa_signal_wait"));
  EXPECT_FALSE(IsRuntimeRange("cumsum"));
  EXPECT_FALSE(IsRuntimeRange("cuda"));
  EXPECT_FALSE(IsRuntimeRange("cudagraph_step"));
  EXPECT_FALSE(IsRuntimeRange("hip_model"));
  EXPECT_FALSE(IsRuntimeRange("aten::addmm"));
}

TEST(ShownNames, LongPathsKeepModulesAndTheEndsOfTheOps) {
  using Kept = std::vector<std::string_view>;
  EXPECT_EQ(ShownNames({"a", "b", "c", "d"}), (Kept{"a", "b", "c", "d"}));
  EXPECT_EQ(ShownNames({"ProfilerStep#*", "a", "b", "c", "d"}), (Kept{"a", "b", "c", "d"}));
  EXPECT_EQ(ShownNames({"ProfilerStep#*"}), (Kept{"ProfilerStep#*"}));
  EXPECT_EQ(ShownNames({"aten::to", "aten::to", "aten::copy_"}), (Kept{"aten::to", "aten::copy_"}));
  EXPECT_EQ(ShownNames({"Model", "Encoder", "Layer", "Linear", "aten::linear", "aten::matmul",
                        "aten::mm"}),
            (Kept{"Layer", "Linear", "aten::linear", "aten::mm"}));
  // One module: the ops have the rest, from outside.
  EXPECT_EQ(ShownNames({"FSDP::forward", "aten::a", "aten::b", "aten::c", "aten::d"}),
            (Kept{"FSDP::forward", "aten::a", "aten::b", "aten::d"}));
  EXPECT_EQ(ShownNames({}), Kept());
}

class RangePathsTest : public testing::Test {
 protected:
  void Add(uint32_t thread, std::string_view text, int64_t start_ns, int64_t end_ns) {
    paths_.AddRange(thread, paths_.AddText(text), start_ns, end_ns);
  }
  std::string At(uint32_t thread, int64_t time_ns) const {
    return paths_.Text(paths_.At(thread, time_ns));
  }
  RangePaths paths_;
};

TEST_F(RangePathsTest, RangesOfTheSameThreadThatAreOpen) {
  // Inner before outer, as NVTX writes them when they end.
  Add(0, "aten::addmm, op_id = 3", 20, 30);
  Add(0, "aten::linear, op_id = 2", 10, 40);
  Add(0, "cudaLaunchKernel", 24, 26);
  Add(0, "FSDP::forward", 0, 100);
  Add(1, "other", 0, 100);
  paths_.Finish();
  EXPECT_EQ(At(0, 25), "FSDP::forward > aten::linear > aten::addmm");
  EXPECT_EQ(At(0, 20), "FSDP::forward > aten::linear > aten::addmm");
  EXPECT_EQ(At(0, 30), "FSDP::forward > aten::linear");  // It has ended.
  EXPECT_EQ(At(0, 50), "FSDP::forward");
  EXPECT_EQ(At(0, 100), "");
  EXPECT_EQ(At(0, -1), "");
  EXPECT_EQ(At(1, 25), "other");
  EXPECT_EQ(At(7, 25), "");
}

TEST_F(RangePathsTest, SameTimesNestInTheOrderTheyWereRecorded) {
  Add(0, "outer", 10, 20);
  Add(0, "inner", 10, 20);
  Add(0, "empty", 15, 15);
  Add(0, "backwards", 18, 12);
  paths_.Finish();
  EXPECT_EQ(At(0, 15), "outer > inner");
  EXPECT_EQ(At(0, 20), "");
}

TEST_F(RangePathsTest, RangesThatOverlapWithoutNesting) {
  Add(0, "a", 0, 20);
  Add(0, "b", 10, 40);  // Outlives a.
  Add(0, "c", 15, 30);
  paths_.Finish();
  EXPECT_EQ(At(0, 16), "a > b > c");
  EXPECT_EQ(At(0, 20), "b > c");
  EXPECT_EQ(At(0, 30), "b");
  EXPECT_EQ(At(0, 40), "");
}

TEST_F(RangePathsTest, RepeatedCallsAreOnePath) {
  for (int i = 0; i < 100; ++i) {
    Add(0, "step " + std::to_string(i), 100 * i, 100 * i + 90);
    Add(0, "aten::mm, seq = " + std::to_string(i), 100 * i + 10, 100 * i + 20);
  }
  paths_.Finish();
  EXPECT_EQ(paths_.At(0, 15), paths_.At(0, 9915));
  EXPECT_EQ(At(0, 9915), "step * > aten::mm");
  EXPECT_EQ(At(0, 9995), "");
}

}  // namespace
}  // namespace xlatrace::analysis
