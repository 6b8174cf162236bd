// SPDX-License-Identifier: Apache-2.0
#include "correlator/framework_ops.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace xlatrace::correlator {
namespace {

using model::Id;
using model::InstructionRow;
using model::OpKind;

// The first substring of the type that matches decides.
constexpr auto kKinds = std::to_array<std::pair<std::string_view, OpKind>>({
    {"Collective", OpKind::kCollective},
    {"Nccl", OpKind::kCollective},
    {"_FusedConv", OpKind::kConvolution},
    {"Conv2D", OpKind::kConvolution},
    {"Conv3D", OpKind::kConvolution},
    {"DepthwiseConv", OpKind::kConvolution},
    {"Attention", OpKind::kAttention},
    {"MatMul", OpKind::kGemm},
    {"Einsum", OpKind::kGemm},
    {"FFT", OpKind::kFft},
    {"Random", OpKind::kRandom},
    {"Multinomial", OpKind::kRandom},
    {"Transpose", OpKind::kTranspose},
    {"Scatter", OpKind::kScatterGather},
    {"Gather", OpKind::kScatterGather},
    {"SparseApply", OpKind::kScatterGather},
    {"UnsortedSegment", OpKind::kScatterGather},
    {"SparseSegment", OpKind::kScatterGather},
    {"TopK", OpKind::kSort},
    {"Sort", OpKind::kSort},
    {"Unique", OpKind::kSort},
    {"BiasAddGrad", OpKind::kReduction},
    {"Softmax", OpKind::kReduction},
    {"ArgMax", OpKind::kReduction},
    {"ArgMin", OpKind::kReduction},
    {"Pool", OpKind::kReduction},
    {"BatchNorm", OpKind::kReduction},
    {"L2Loss", OpKind::kReduction},
    {"AddN", OpKind::kElementwiseFusion},
    {"Concat", OpKind::kCopy},
    {"Slice", OpKind::kCopy},
    {"Pad", OpKind::kCopy},
    {"Tile", OpKind::kCopy},
    {"Split", OpKind::kCopy},
    {"Cumsum", OpKind::kReduction},
});

constexpr auto kExact = std::to_array<std::pair<std::string_view, OpKind>>({
    {"Sum", OpKind::kReduction},
    {"Mean", OpKind::kReduction},
    {"Max", OpKind::kReduction},
    {"Min", OpKind::kReduction},
    {"Prod", OpKind::kReduction},
    {"All", OpKind::kReduction},
    {"Any", OpKind::kReduction},
    {"EuclideanNorm", OpKind::kReduction},
    {"_Send", OpKind::kCopy},
    {"_Recv", OpKind::kCopy},
    {"_HostSend", OpKind::kCopy},
    {"_HostRecv", OpKind::kCopy},
    {"Pack", OpKind::kCopy},
    {"Unpack", OpKind::kCopy},
    {"Identity", OpKind::kCopy},
    {"Fill", OpKind::kElementwiseFusion},
    {"ZerosLike", OpKind::kElementwiseFusion},
    {"OnesLike", OpKind::kElementwiseFusion},
    {"While", OpKind::kControl},
    {"If", OpKind::kControl},
    {"StatelessWhile", OpKind::kControl},
    {"StatelessIf", OpKind::kControl},
});

constexpr auto kElementwise = std::to_array<std::string_view>({
    "Add",
    "AddV2",
    "Sub",
    "Mul",
    "Div",
    "RealDiv",
    "DivNoNan",
    "Neg",
    "Exp",
    "Expm1",
    "Log",
    "Log1p",
    "Sqrt",
    "Rsqrt",
    "Square",
    "Pow",
    "Abs",
    "Sign",
    "Tanh",
    "Sigmoid",
    "Relu",
    "Relu6",
    "Elu",
    "Selu",
    "Erf",
    "Erfc",
    "Sin",
    "Cos",
    "Maximum",
    "Minimum",
    "Cast",
    "Select",
    "Where",
    "Equal",
    "NotEqual",
    "Less",
    "LessEqual",
    "Greater",
    "GreaterEqual",
    "SelectV2",
    "LogicalAnd",
    "LogicalOr",
    "LogicalNot",
    "FloorDiv",
    "FloorMod",
    "Floor",
    "Round",
    "BiasAdd",
    "TanhGrad",
    "SigmoidGrad",
    "ReluGrad",
    "RsqrtGrad",
    "SqrtGrad",
    "EluGrad",
    "SeluGrad",
    "LeakyRelu",
    "LeakyReluGrad",
    "SquaredDifference",
    "Reciprocal",
    "Inv",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "BroadcastTo",
    "Mod",
    "Softplus",
    "SoftplusGrad",
    "OneHot",
    "Range",
    "ClipByValue",
    "IsFinite",
});

template <typename Texts>
bool IsOneOf(const Texts& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

OpKind KindOfOpType(std::string_view op_type) {
  for (const auto& [text, kind] : kExact) {
    if (op_type == text) return kind;
  }
  if (IsOneOf(kElementwise, op_type) || op_type.starts_with("ResourceApply")) {
    return OpKind::kElementwiseFusion;
  }
  for (const auto& [part, kind] : kKinds) {
    if (Has(op_type, part)) return kind;
  }
  return OpKind::kOther;
}

std::string_view WithoutCalls(std::string_view op_name) {
  for (;;) {
    const size_t slash = op_name.find('/');
    if (slash == op_name.npos || slash + 1 == op_name.size()) return op_name;
    std::string_view call = op_name.substr(0, slash);
    const size_t end = call.find_last_not_of("0123456789");
    if (end != call.npos && end + 1 < call.size() && call[end] == '_') call = call.substr(0, end);
    if (call != "StatefulPartitionedCall" && call != "PartitionedCall") return op_name;
    op_name.remove_prefix(slash + 1);
  }
}

bool IsCall(const model::Hint& hint) {
  static constexpr auto kCalls = std::to_array<std::string_view>(
      {"_XlaRun", "_XlaCompile", "_XlaMerge", "XlaLaunch", "XlaLaunchV2", "PartitionedCall",
       "StatefulPartitionedCall"});
  return IsOneOf(kCalls, hint.op_type) || hint.op_type.starts_with("__inference_") ||
         hint.op_type.starts_with("__forward_") || hint.op_type.starts_with("__backward_");
}

FrameworkOps::FrameworkOps(const model::RunTables& run, const CollectiveOps& collectives,
                           model::AttributionTables* out) {
  const size_t first_row = out->instructions.size();
  Rows by_name;
  // In the order of the first run, so that numbers do not depend on the order of hints.
  for (const uint32_t hint_id : run.activities.hint) {
    if (hint_id == 0) continue;
    const model::Hint& hint = run.hints[hint_id - 1];
    if (hint.evidence == model::Evidence::kOpRange && !hint.op_name.empty()) {
      Add(hint, &by_name, out);
    }
  }
  for (const model::Hint* hint : collectives.found()) Add(*hint, &by_name, out);
  std::vector<InstructionRow>& rows = out->instructions;
  std::unordered_map<std::string, int> short_names;
  const auto short_name = [](const InstructionRow& row) {
    return std::string(WithoutCalls(row.op_name)) + ":" + row.op_type;
  };
  for (size_t i = first_row; i < rows.size(); ++i) ++short_names[short_name(rows[i])];
  for (size_t i = first_row; i < rows.size(); ++i) {
    std::string name = short_name(rows[i]);
    if (short_names[name] == 1) rows[i].name = std::move(name);
  }
}

void FrameworkOps::Add(const model::Hint& hint, Rows* by_name, model::AttributionTables* out) {
  if (rows_.contains(&hint)) return;
  std::string name = hint.op_name + ":" + hint.op_type;
  const auto next = static_cast<Id>(out->instructions.size() + 1);
  const auto [at, fresh] = by_name->try_emplace(name, next);
  rows_.emplace(&hint, at->second);
  if (!fresh) return;
  InstructionRow row;
  row.name = std::move(name);
  row.op_kind = KindOfOpType(hint.op_type);
  row.op_name = hint.op_name;
  row.op_name_method = model::OpNameMethod::kOwn;
  row.op_type = hint.op_type;
  row.source_file = hint.source_file;
  row.source_line = hint.source_line;
  out->instructions.push_back(std::move(row));
}

Id FrameworkOps::RowOf(const model::Hint& hint) const {
  const auto at = rows_.find(&hint);
  return at == rows_.end() ? 0 : at->second;
}

}  // namespace xlatrace::correlator
