// SPDX-License-Identifier: Apache-2.0
#include "correlator/annotated_rows.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "correlator/thunk_order/program/launch_kind.h"
#include "hlo/op_category.h"
#include "hlo/opcode.h"
#include "hlo/text/hlo_line.h"
#include "model/joined_names.h"

namespace xlatrace::correlator {
namespace {

using model::OpKind;

// `input_reduce_fusion` for `input_reduce_fusion.2.clone.1`.
std::string_view StemOf(std::string_view name) {
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view tail : {".clone", ".remat", ".sunk", "_spmd"}) {
      if (name.size() > tail.size() && name.ends_with(tail)) {
        name.remove_suffix(tail.size());
        cut = true;
      }
    }
    size_t end = name.size();
    while (end > 0 && IsDigit(name[end - 1])) --end;
    if (end > 1 && end < name.size() && name[end - 1] == '.') {
      name = name.substr(0, end - 1);
      cut = true;
    }
  }
  return name;
}

// Kinds of the words in XLA's names, the heaviest work first (hlo/op_category.h).
struct Word {
  std::string_view text;
  OpKind kind;
};

constexpr auto kWords = std::to_array<Word>({
    {"all-reduce", OpKind::kCollective},
    {"all-gather", OpKind::kCollective},
    {"all-to-all", OpKind::kCollective},
    {"reduce-scatter", OpKind::kCollective},
    {"collective-", OpKind::kCollective},
    {"all_reduce", OpKind::kCollective},
    {"all_gather", OpKind::kCollective},
    {"all_to_all", OpKind::kCollective},
    {"reduce_scatter", OpKind::kCollective},
    {"collective_", OpKind::kCollective},
    {"fmha", OpKind::kAttention},
    {"attention", OpKind::kAttention},
    {"fused_attn", OpKind::kAttention},
    {"cudnn-conv", OpKind::kConvolution},
    {"convolution", OpKind::kConvolution},
    {"conv_general", OpKind::kConvolution},
    {"gemm", OpKind::kGemm},
    {"cublas", OpKind::kGemm},
    {"dot", OpKind::kGemm},
    {"matmul", OpKind::kGemm},
    {"rng", OpKind::kRandom},
    {"threefry", OpKind::kRandom},
    {"fft", OpKind::kFft},
    {"sort", OpKind::kSort},
    {"topk", OpKind::kSort},
    {"top_k", OpKind::kSort},
    {"softmax", OpKind::kReduction},
    {"reduce", OpKind::kReduction},
    {"scatter", OpKind::kScatterGather},
    {"gather", OpKind::kScatterGather},
    {"dynamic_update_slice", OpKind::kScatterGather},
    {"dynamic-update-slice", OpKind::kScatterGather},
    {"dynamic_slice", OpKind::kScatterGather},
    {"dynamic-slice", OpKind::kScatterGather},
    {"transpose", OpKind::kTranspose},
});

OpKind KindOfWords(std::string_view text) {
  for (const Word& word : kWords) {
    if (Has(text, word.text)) return word.kind;
  }
  return OpKind::kOther;
}

std::string OperandNames(const hlo::HloLineParts& line) {
  std::string names;
  for (const std::string_view operand : hlo::OperandsOf(line)) {
    if (!names.empty()) names += ", ";
    names += operand;
  }
  return names;
}

OpKind KindOfOpcode(std::string_view opcode) {
  if (opcode == "fusion" || opcode == "custom-call") return OpKind::kOther;
  return hlo::InfoOf(hlo::BaseOpcode(opcode)).kind;
}

// By its kernels and copies.
OpKind KindOfLaunches(const model::RunTables& run, const AnnotatedInstruction& instruction) {
  OpKind kind = OpKind::kOther;
  for (const uint32_t number : instruction.configs) {
    switch (LaunchKindOf(run.configs[number - 1])) {
      case LaunchKind::kCollective:
        return OpKind::kCollective;
      case LaunchKind::kGemm:
        kind = OpKind::kGemm;
        break;
      case LaunchKind::kConvolution:
        return OpKind::kConvolution;
      case LaunchKind::kDeviceCopy:
      case LaunchKind::kHostCopy:
        if (instruction.configs.size() == 1) kind = OpKind::kCopy;
        break;
      case LaunchKind::kMemset:
        if (instruction.configs.size() == 1) kind = OpKind::kMemset;
        break;
      default:
        break;
    }
  }
  return kind;
}

}  // namespace

OpKind KindOfName(std::string_view instruction) {
  const std::string_view stem = StemOf(instruction);
  if (IsThunkOnly(stem)) return OpKind::kControl;
  const OpKind words = KindOfWords(stem);
  if (words != OpKind::kOther) return words;
  if (stem.ends_with("fusion")) {
    return stem == "copy_fusion" || stem == "loop_copy_fusion" ? OpKind::kCopy
                                                               : OpKind::kElementwiseFusion;
  }
  std::string_view opcode = stem;
  if (opcode.starts_with("wrapped_")) opcode.remove_prefix(std::string_view("wrapped_").size());
  const OpKind kind = KindOfOpcode(opcode);
  if (kind != OpKind::kOther) return kind;
  return stem.starts_with("custom-call") ? OpKind::kCustomCall : OpKind::kOther;
}

OpKind KindOfCategory(std::string_view category) {
  if (category.empty()) return OpKind::kOther;
  const OpKind words = KindOfWords(category);
  if (words != OpKind::kOther) return words;
  if (category == "data formatting") return OpKind::kCopy;
  if (category == "non-fusion elementwise") return OpKind::kElementwiseFusion;
  return KindOfOpcode(category);  // XProf uses the opcode if it has no better word.
}

OpKind KindOfOpName(std::string_view op_name) {
  op_name = model::FirstOfJoined(op_name);
  // Parameters of a primitive may contain slashes.
  op_name = op_name.substr(0, op_name.find('['));
  const size_t slash = op_name.rfind('/');
  const std::string_view leaf =
      slash == std::string_view::npos ? op_name : op_name.substr(slash + 1);
  for (const std::string_view collective : {"psum", "ppermute", "pmax", "pmin", "pmean"}) {
    if (leaf.starts_with(collective)) return OpKind::kCollective;
  }
  if (leaf == "MatMul" || leaf == "BatchMatMulV2" || leaf == "einsum") return OpKind::kGemm;
  if (leaf.starts_with("Conv2D") || leaf.starts_with("Conv3D")) return OpKind::kConvolution;
  return KindOfWords(leaf);
}

model::InstructionRow RowOf(const model::RunTables& run, const AnnotatedInstruction& instruction) {
  model::InstructionRow row;
  row.name = instruction.name;
  // If annotations differ (several programs of one name), the one with the most time wins.
  int64_t most = -1;
  int64_t longest = -1;
  for (const auto& [number, ns] : instruction.hints) {
    const model::Hint& hint = run.hints[number - 1];
    if (!hint.op_name.empty() && ns > most) {
      most = ns;
      row.op_name = hint.op_name;
      row.op_name_method = model::OpNameMethod::kOwn;
    }
    if (row.category.empty()) row.category = hint.category;
    if (row.op_type.empty()) row.op_type = hint.op_type;
    if (row.source_file.empty()) {
      row.source_file = hint.source_file;
      row.source_line = hint.source_line;
    }
    if (!hint.hlo.empty() && ns > longest) {
      longest = ns;
      const auto line = hlo::SplitHloLine(hint.hlo).value_or(hlo::HloLineParts());
      row.opcode = line.opcode;
      row.shape = line.shape;
      row.operands = OperandNames(line);
    }
    if (hint.flops) row.flops = hint.flops;
    if (hint.bytes_accessed) row.bytes = hint.bytes_accessed;
  }
  row.op_kind = OpKind::kOther;
  const auto take = [&](OpKind kind) {
    if (row.op_kind == OpKind::kOther) row.op_kind = kind;
  };
  take(KindOfLaunches(run, instruction));
  take(KindOfCategory(row.category));
  if (!row.opcode.empty()) take(KindOfOpcode(row.opcode));
  take(KindOfName(instruction.name));
  take(KindOfOpName(row.op_name));
  return row;
}

}  // namespace xlatrace::correlator
