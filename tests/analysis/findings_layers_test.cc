// SPDX-License-Identifier: Apache-2.0

// Rules about layers, each from both sides: a case that has the problem, and a
// near case that has not.

#include <cstddef>
#include <initializer_list>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/finding_case.h"
#include "tests/analysis/finding_programs.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

// Products of equal layers, one of which may read another shape.
std::string Layers(int count, int odd = -1) {
  std::string body;
  for (int k = 0; k < count; ++k) {
    const std::string n = std::to_string(k);
    body += "  " + std::string(k + 1 == count ? "ROOT " : "") + "l" + n +
            " = f32[4096,4096]{1,0} " + (k == odd ? "sine" : "exponential") + "(y)" +
            At("jvp(Net)/layers_" + n + "/mlp/exp", 80);
  }
  return Entry(body);
}

FindingCase::Work LayerTimes(std::initializer_list<int64_t> times) {
  FindingCase::Work work = {{"y", 100}};
  int k = 0;
  for (const int64_t us : times) work.emplace_back("l" + std::to_string(k++), us);
  return work;
}

TEST(LayerRules, LayerSlowerThanItsSiblingsIsOdd) {
  FindingCase with(Layers(6));
  with.Steps(8, LayerTimes({100, 101, 100, 150, 99, 100}));
  ASSERT_NE(with.Find("odd_layer"), nullptr) << with.Ops();
  EXPECT_THAT(with.Find("odd_layer")->where_layer, HasSubstr("layers_3"));
  // 50 us over the median of 100 us.
  EXPECT_THAT(with.Find("odd_layer")->title, HasSubstr("layers_3"));
  EXPECT_EQ(with.Find("odd_layer")->saves_high_ns_per_step, 50'000);
  // Nine percent more is below ten.
  FindingCase near(Layers(6));
  near.Steps(8, LayerTimes({100, 101, 100, 109, 99, 100}));
  EXPECT_EQ(near.Find("odd_layer"), nullptr) << near.Ids();
  ASSERT_NE(near.FindRuledOut("odd_layer"), nullptr);
  EXPECT_FALSE(near.FindRuledOut("odd_layer")->withheld);
  // Where all differ, none is odd.
  FindingCase noisy(Layers(6));
  noisy.Steps(8, LayerTimes({60, 80, 100, 130, 150, 110}));
  EXPECT_EQ(noisy.Find("odd_layer"), nullptr) << noisy.Ids();
  ASSERT_NE(noisy.FindRuledOut("odd_layer"), nullptr);
  EXPECT_TRUE(noisy.FindRuledOut("odd_layer")->withheld);
  EXPECT_GOLDEN_TEXT(noisy.TextOfRuledOut("odd_layer"));  // From 60.0 to 150 us.
  // Three siblings do not make a rule.
  FindingCase three(Layers(3));
  three.Steps(8, LayerTimes({100, 150, 100}));
  EXPECT_EQ(three.Find("odd_layer"), nullptr) << three.Ids();
}

TEST(LayerRules, UpdatesOfParametersMakeNoLayerOdd) {
  // XLA fuses updates of several layers into one kernel, which then counts for one of them.
  std::string text = Layers(6);
  for (size_t at = text.find("jvp(Net)/"); at != text.npos; at = text.find("jvp(Net)/")) {
    text.replace(at, 9, "optimizer/Net/");
  }
  FindingCase updates(text);
  updates.Steps(8, LayerTimes({100, 101, 100, 150, 99, 100}));
  for (size_t i = 2; i < updates.b.attribution.instructions.size(); ++i) {
    EXPECT_EQ(updates.b.attribution.instructions[i].phase, model::Phase::kOptimizer);
  }
  EXPECT_EQ(updates.Find("odd_layer"), nullptr) << updates.Ops();
}

// The sentences of `odd_layer` for the fourth of six layers.
std::string WhyOdd(FindingCase& made) {
  made.Run();
  const model::FindingRow* row = made.Find("odd_layer");
  if (row == nullptr) return made.Ids();
  EXPECT_THAT(row->where_layer, HasSubstr("layers_3"));
  return TextOf(*row);
}

TEST(LayerRules, ActionNamesTheDifferenceFromTheSiblings) {
  const FindingCase::Work slow = LayerTimes({100, 101, 100, 150, 99, 100});
  FindingCase same(Layers(6));
  same.AddSteps(8, slow);
  EXPECT_GOLDEN_TEXT(WhyOdd(same));
  EXPECT_THAT(EvidenceFigures(same.Find("odd_layer")->evidence_json),
              testing::IsSupersetOf({"50000 ns", "100000 ns"}));

  FindingCase launch(Layers(6));
  launch.AddSteps(8, slow);
  for (int k = 0; k < 6; ++k) launch.SetLaunch("l" + std::to_string(k), k == 3 ? 64 : 512, 128, 32);
  EXPECT_GOLDEN_TEXT(WhyOdd(launch));  // A grid of 64 instead of 512 blocks.

  FindingCase often(Layers(6));
  FindingCase::Work twice = LayerTimes({100, 100, 100, 75, 100, 100});
  twice.emplace_back("l3", 75);
  often.AddSteps(8, twice);
  EXPECT_GOLDEN_TEXT(WhyOdd(often));  // Two calls instead of one.

  std::string text = Layers(6);
  const std::string shape = "l3 = f32[4096,4096]";
  text.replace(text.find(shape), shape.size(), "l3 = f32[4096,6144]");
  FindingCase wide(text);
  wide.AddSteps(8, slow);
  const std::string of_wide = WhyOdd(wide);
  EXPECT_THAT(of_wide, HasSubstr("f32[4096,6144]{1,0}"));
  EXPECT_THAT(of_wide, HasSubstr("f32[4096,4096]{1,0}"));
  EXPECT_GOLDEN_TEXT(of_wide);

  text = Layers(6);
  text.insert(text.rfind("}"),
              "  t3 = f32[4096,4096]{0,1} copy(l3)" + At("jvp(Net)/layers_3/mlp/transpose", 81));
  FindingCase extra(text);
  FindingCase::Work more = LayerTimes({100, 100, 100, 100, 100, 100});
  more.emplace_back("t3", 50);
  extra.AddSteps(8, more);
  EXPECT_GOLDEN_TEXT(WhyOdd(extra));
  EXPECT_EQ(extra.Find("odd_layer")->where_op, "t3");
}

TEST(LayerRules, OtherKernelOfALibraryIsADifference) {
  const auto make = [](model::Origin origin) {
    FindingCase made(Layers(6));
    made.AddSteps(8, LayerTimes({100, 101, 100, 150, 99, 100}));
    for (int k = 0; k < 6; ++k) {
      made.ConfigOf("l" + std::to_string(k)).symbol = k == 3 ? "sgemm_64x64" : "sgemm_128x128";
    }
    for (model::Label& label : made.b.attribution.labels) label.origin = origin;
    return made;
  };
  FindingCase library = make(model::Origin::kXlaLibrary);
  EXPECT_GOLDEN_TEXT(WhyOdd(library));
  // Fusions are numbered, so their names always differ.
  FindingCase fusions = make(model::Origin::kXla);
  const std::string of_fusions = WhyOdd(fusions);
  EXPECT_THAT(of_fusions, testing::Not(HasSubstr("sgemm_64x64")));
  EXPECT_GOLDEN_TEXT(of_fusions);
}

TEST(LayerRules, CollectiveInParallelIsADifference) {
  std::string text = Layers(6);
  text.insert(text.rfind("}"),
              "  g = f32[4096,4096]{1,0} all-reduce(x), to_apply=sum" + At("jvp(Net)/psum", 90));
  text.insert(text.find("ENTRY"),
              "sum { p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
              "  ROOT s = f32[] add(p, q) }\n");
  const auto make = [&](size_t before) {
    FindingCase made(text);
    FindingCase::Work work = LayerTimes({100, 101, 100, 150, 99, 100});
    work.insert(work.begin() + static_cast<std::ptrdiff_t>(before), {"+g", 100});
    made.AddSteps(8, work);
    return made;
  };
  // Work begins with `y`, so l3 is the fifth.
  FindingCase beside = make(4);
  EXPECT_GOLDEN_TEXT(WhyOdd(beside));  // 66.7 % of its time.
  FindingCase elsewhere = make(0);
  EXPECT_GOLDEN_TEXT(WhyOdd(elsewhere));
}

}  // namespace
}  // namespace xlatrace::analysis
