// SPDX-License-Identifier: Apache-2.0
#include "analysis/range_paths.h"

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

// Range names of PyTorch, Kineto, FSDP and JAX.
TEST(RangeWords, RangeNameOmitsNumbersThatDifferPerCall) {
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

TEST(RangeWords, RangeNameKeepsNumbersOfParts) {
  for (const char* text :
       {"aten::conv2d", "AddmmBackward0", "torch/nn/modules/module.py(1501): _call_impl",
        "PjitFunction(dot)", "load a, b", "conv_3x3", "x = 3, y", ""}) {
    const std::string_view view(text);
    EXPECT_EQ(RangeWords(view), view == "x = 3, y" ? "x = *, y" : view);
  }
}

TEST(IsRuntimeRange, CallsOfRuntimesAndDriversAreRuntimeRanges) {
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

TEST(ShownNames, PythonFunctionsAreListedBetweenTheirModules) {
  using Kept = std::vector<std::string_view>;
  EXPECT_EQ(
      ShownNames({"train.py(9): main", "nn.Module: Bert_0", "bert.py(100): forward",
                  "nn.Module: Attention_*", "hf/models/bert.py(364): forward",
                  "nn.Module: Linear_*", "aten::linear", "aten::addmm"}),
      (Kept{"Attention_*", "bert.py(364): forward", "Linear_*", "aten::linear", "aten::addmm"}));
}

TEST(IsPythonFrame, FileWithALineIsAPythonFrame) {
  EXPECT_TRUE(IsPythonFrame("a/train.py(12): main"));
  EXPECT_TRUE(IsPythonFrame("nn.Module: Linear_0"));
  for (const std::string_view text : {"train.py", "train.py(): f", "train.py(12)",
                                      "module.py(x): f", "aten::linear", "Module: Linear_0"}) {
    EXPECT_FALSE(IsPythonFrame(text)) << text;
  }
}

class RangePathsTest : public testing::Test {
 protected:
  struct Added {
    uint32_t thread;
    std::string text;
    int64_t start_ns, end_ns;
  };
  void Add(uint32_t thread, std::string_view text, int64_t start_ns, int64_t end_ns) {
    added_.push_back({thread, std::string(text), start_ns, end_ns});
  }
  // One query of many; earlier queries do not change its result.
  std::string At(uint32_t thread, int64_t time_ns) const {
    const std::string alone = Answers(thread, {time_ns})[0];
    std::vector<int64_t> times;
    for (int64_t time = 200; time >= -1; --time) times.push_back(time);
    times.push_back(time_ns);
    const std::vector<std::string> among = Answers(thread, times);
    EXPECT_EQ(alone, among.back());
    return alone;
  }
  std::vector<std::string> Answers(uint32_t thread, const std::vector<int64_t>& times) const {
    RangePaths paths;
    for (size_t i = 0; i < times.size(); ++i) {
      paths.AddQuestion(thread,
                        {.time_ns = times[i], .value_ns = -7, .what = static_cast<uint32_t>(i)});
    }
    const Status status = paths.Answer([&]() -> Status {
      for (const Added& a : added_) {
        if (!paths.AddRange(a.thread, paths.AddText(a.text), a.start_ns, a.end_ns)) break;
      }
      return {};
    });
    EXPECT_TRUE(status);
    std::vector<std::string> answers(times.size(), "not answered");
    paths.ForEachAnswer([&](const RangePaths::Question& question) {
      EXPECT_EQ(question.value_ns, -7);
      EXPECT_EQ(question.time_ns, times[question.what]);
      answers[question.what] = paths.Text(question.path);
    });
    return answers;
  }
  std::vector<Added> added_;
};

TEST_F(RangePathsTest, PathHasTheOpenRangesOfTheThread) {
  // Inner before outer, as NVTX writes them when they end.
  Add(0, "aten::addmm, op_id = 3", 20, 30);
  Add(0, "aten::linear, op_id = 2", 10, 40);
  Add(0, "cudaLaunchKernel", 24, 26);
  Add(0, "FSDP::forward", 0, 100);
  Add(1, "other", 0, 100);
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
  EXPECT_EQ(At(0, 15), "outer > inner");
  EXPECT_EQ(At(0, 20), "");
}

TEST_F(RangePathsTest, OverlappingRangesAreBothInThePath) {
  Add(0, "a", 0, 20);
  Add(0, "b", 10, 40);  // Outlives a.
  Add(0, "c", 15, 30);
  EXPECT_EQ(At(0, 16), "a > b > c");
  EXPECT_EQ(At(0, 20), "b > c");
  EXPECT_EQ(At(0, 30), "b");
  EXPECT_EQ(At(0, 40), "");
}

TEST_F(RangePathsTest, RepeatedCallsAreOnePath) {
  RangePaths paths;
  const auto ask = [&](int64_t time_ns) { paths.AddQuestion(0, {.time_ns = time_ns}); };
  for (const int64_t time_ns : {15, 9915, 9995}) ask(time_ns);
  ASSERT_TRUE(paths.Answer([&]() -> Status {
    for (int i = 0; i < 100; ++i) {
      paths.AddRange(0, paths.AddText("step " + std::to_string(i)), 100 * i, 100 * i + 90);
      paths.AddRange(0, paths.AddText("aten::mm, seq = " + std::to_string(i)), 100 * i + 10,
                     100 * i + 20);
    }
    return {};
  }));
  std::vector<uint32_t> answers;
  paths.ForEachAnswer([&](const RangePaths::Question& q) { answers.push_back(q.path); });
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(paths.Text(answers[1]), "step * > aten::mm");
  EXPECT_EQ(answers[2], 0U);
}

// The first out-of-order range of a thread is detected, independent of earlier queries.
TEST_F(RangePathsTest, RangeRecordedLateIsInItsPlace) {
  for (int i = 0; i < 10; ++i) Add(0, "step", 10 * i, 10 * i + 8);
  Add(0, "whole", -5, 300);
  Add(0, "tail", 250, 260);
  EXPECT_EQ(At(0, 12), "whole > step");
  EXPECT_EQ(At(0, 99), "whole");
  EXPECT_EQ(At(0, 255), "whole > tail");
  EXPECT_EQ(At(0, 300), "");
}

}  // namespace
}  // namespace xlatrace::analysis
