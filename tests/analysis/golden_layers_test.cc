// SPDX-License-Identifier: Apache-2.0

// Layer trees of two public captures, written by hand from the models' configurations.
//
// MaxText, default model of 2024-05 (MaxText/configs/base.yml, layers/llama2.py): token embedding,
// scanned decoder layers, final norm. A layer has pre-norm attention with rotary positions and a
// gated MLP (mlp_activations silu and linear: wi_0, wi_1, wo). Logits use the embedding again.
// PaxML, xformer_lm (praxis/layers/transformer_models.py): position embedding, twelve unrolled
// layers x_layers_0..11, final norm, softmax. A layer has attention with combined_qkv and a
// two-layer feed-forward.

#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/module_labels.h"
#include "base/compress.h"
#include "hlo/proto/proto_reader.h"
#include "tests/shared_data.h"

namespace xlatrace::analysis {
namespace {

std::set<std::string> LayersOf(const std::string& file) {
  auto bytes = ReadFileInflated(file);
  EXPECT_TRUE(bytes.has_value()) << file;
  const auto module = hlo::ReadProto(std::make_shared<const std::string>(std::move(*bytes)));
  EXPECT_TRUE(module.has_value()) << file;
  const ModuleLabels labels = LabelModule(*module);
  std::set<std::string> layers;
  for (uint32_t i = 0; i < module->instructions.size(); ++i) {
    if (!labels.LayerOf(i).empty()) layers.insert(labels.LayerOf(i));
  }
  return layers;
}

// All ancestors of the leaves, and the leaves.
std::set<std::string> Tree(const std::vector<std::string>& leaves) {
  std::set<std::string> tree;
  for (std::string node : leaves) {
    while (!node.empty()) {
      tree.insert(node);
      const size_t slash = node.find_last_of('/');
      node.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  return tree;
}

void ExpectTree(const std::set<std::string>& found, const std::vector<std::string>& leaves) {
  const std::set<std::string> tree = Tree(leaves);
  for (const std::string& layer : found)
    EXPECT_TRUE(tree.contains(layer)) << "not expected: " << layer;
  for (const std::string& leaf : leaves) EXPECT_TRUE(found.contains(leaf)) << "missing: " << leaf;
}

TEST(GoldenLayers, MaxTextLayersEqualTheListedPaths) {
  XLATRACE_SHARED_OR_SKIP(file,
                          "captures/nsys-jax-maxtext-fsdp4-h100/dump/"
                          "module_0016.jit_train_step.sm_9.0_gpu_after_optimizations.hlo.pb.xz");
  const std::string decoder = "Transformer/decoder/";
  const std::string attention = decoder + "layers/self_attention/";
  ExpectTree(
      LayersOf(file),
      {decoder + "token_embedder", decoder + "layers/pre_self_attention_norm", attention + "query",
       attention + "key", attention + "value", attention + "query_rotary", attention + "key_rotary",
       attention + "AttentionOp_0", attention + "out", decoder + "layers/mlp/wi_0",
       decoder + "layers/mlp/wi_1", decoder + "layers/mlp/wo", decoder + "decoder_norm"});
}

TEST(GoldenLayers, PaxLayersEqualTheListedPaths) {
  XLATRACE_SHARED_OR_SKIP(
      file,
      "captures/nsys-jax-pax-fsdp4-a100/proc0/dump/"
      "module_0040.pjit__wrapped_step_fn.sm_8.0_gpu_after_optimizations.hlo.pb.xz");
  const std::string lm = "xformer_lm/lm/";
  std::vector<std::string> leaves = {lm + "position_emb/einsum", lm + "final_ln",
                                     lm + "softmax/logits_ffn/linear/einsum",
                                     lm + "softmax/einsum"};
  for (int k = 0; k < 12; ++k) {
    const std::string layer = lm + "transformer/x_layers_" + std::to_string(k) + "/";
    for (const char* part :
         {"layer_norm", "self_attention/combined_qkv/einsum", "self_attention/post/einsum",
          "self_attention/qk_einsum", "self_attention/pv_einsum", "ff_layer/layer_norm",
          "ff_layer/ffn_layer1/linear/einsum", "ff_layer/ffn_layer1/bias",
          "ff_layer/ffn_layer1/activation", "ff_layer/ffn_layer2/linear/einsum",
          "ff_layer/ffn_layer2/bias"}) {
      leaves.push_back(layer + part);
    }
  }
  ExpectTree(LayersOf(file), leaves);
}

}  // namespace
}  // namespace xlatrace::analysis
