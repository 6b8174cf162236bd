// SPDX-License-Identifier: Apache-2.0
#include "analysis/layer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

LayerFolder Folder(const std::vector<std::string>& layers) {
  LayerFolder folder;
  for (const std::string& layer : layers) folder.Add(layer);
  folder.Finish();
  return folder;
}

TEST(LayerFolder, FoldsNumberedSiblings) {
  const LayerFolder folder =
      Folder({"decoder/layer_0/attention", "decoder/layer_1/attention", "decoder/norm"});
  EXPECT_EQ(folder.Fold("decoder/layer_0/attention"), "decoder/layer_*/attention");
  EXPECT_EQ(folder.Fold("decoder/layer_1"), "decoder/layer_*");
  EXPECT_EQ(folder.Fold("decoder/norm"), "decoder/norm");
}

TEST(LayerFolder, SingleNumberedLayerIsNotFolded) {
  EXPECT_EQ(Folder({"lm/block_1/up", "lm/head"}).Fold("lm/block_1/up"), "lm/block_1/up");
}

TEST(LayerFolder, NumbersWithDotsAndAloneFoldToo) {
  EXPECT_EQ(Folder({"h.3/mlp", "h.4/mlp"}).Fold("h.3/mlp"), "h.*/mlp");
  EXPECT_EQ(Folder({"layers/0/mlp", "layers/11/mlp"}).Fold("layers/11/mlp"), "layers/*/mlp");
  EXPECT_EQ(Folder({"attn0", "attn1"}).Fold("attn1"), "attn*");
}

TEST(LayerFolder, ChildrenOfFoldedPathsAreSiblings) {
  const LayerFolder folder = Folder({"layer_0/dense_0", "layer_1/dense_1"});
  EXPECT_EQ(folder.Fold("layer_0/dense_0"), "layer_*/dense_*");
}

TEST(LayerFolder, StemsUnderDifferentParentsAreNoSiblings) {
  const LayerFolder folder = Folder({"encoder/dense_0", "decoder/dense_1"});
  EXPECT_EQ(folder.Fold("encoder/dense_0"), "encoder/dense_0");
}

TEST(LayerFolder, EmptyAndUnknownLayersAreLeftAlone) {
  const LayerFolder folder = Folder({"a_0", "a_1", ""});
  EXPECT_EQ(folder.Fold(""), "");
  EXPECT_EQ(folder.Fold("b_0/a_1"), "b_0/a_1");
}

// Layers of names of one module, by names alone.
class Module {
 public:
  explicit Module(const std::vector<std::string>& op_names) {
    for (const std::string& op_name : op_names) names_.push_back(ParseOpName(op_name));
    style_ = StyleOf("", names_, std::vector<std::string_view>(names_.size()));
  }

  std::string LayerOf(const std::string& op_name, std::string_view op_type = "") const {
    const OpName name = ParseOpName(op_name);
    const NameVerdict verdict = PhaseByName(name, op_type, style_, {});
    return LayerFinder(style_, names_).LayerOf(name, op_type, verdict.phase);
  }

 private:
  std::vector<OpName> names_;
  ModuleStyle style_;
};

TEST(Layer, KerasThreeSuffixesAreRemovedIfAllHaveThem) {
  const Module module({"lm_1/block_0_1/attn_1/query_1/MatMul", "lm_1/ln_f_1/moments/Mean",
                       "adam/Mul_9", "gradient_tape/lm_1/ln_f_1/moments/Tile"});
  EXPECT_EQ(module.LayerOf("lm_1/block_0_1/attn_1/query_1/MatMul"), "lm/block_0/attn/query");
  EXPECT_EQ(module.LayerOf("gradient_tape/lm_1/ln_f_1/moments/Tile"), "lm/ln_f");
}

TEST(Layer, KerasTwoSuffixesArePartOfTheName) {
  const Module module({"lm/block_1/attn/einsum/Einsum", "lm/block_0/add", "XLA_Args"});
  EXPECT_EQ(module.LayerOf("lm/block_1/attn/einsum/Einsum"), "lm/block_1/attn");
}

TEST(Layer, GradientHasTheLayerOfTheLongestForwardScope) {
  const Module module({"net/d1/MatMul", "net/d1/my/MatMul", "XLA_Args"});
  EXPECT_EQ(module.LayerOf("gradient_tape/net/d1/my/Wrapped/MatMul_1"), "net/d1/my");
  EXPECT_EQ(module.LayerOf("gradient_tape/net/d1/ReluGrad"), "net/d1");
}

TEST(Layer, FlaxMethodsAreNotLayers) {
  const Module module({"jit(f)/jvp(T)/decoder/x"});
  EXPECT_EQ(module.LayerOf("jit(f)/jvp(T)/decoder/attn/attn.kv_proj/key/dot_general"),
            "T/decoder/attn/key");
  EXPECT_EQ(module.LayerOf("jit(f)/jvp(T)/decoder/embed.setup/mul"), "T/decoder/embed");
  EXPECT_EQ(module.LayerOf("jit(f)/jvp(T)/h.3/mul"), "T/h.3");
}

}  // namespace
}  // namespace xlatrace::analysis
