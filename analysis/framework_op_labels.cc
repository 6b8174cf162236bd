// SPDX-License-Identifier: Apache-2.0
#include "analysis/framework_op_labels.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analysis/layer.h"
#include "analysis/op_name.h"
#include "analysis/phase.h"

namespace xlatrace::analysis {
namespace {

using model::InstructionRow;
using model::Phase;

bool AllDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// `stem`, `stem_3`.
bool IsNumbered(std::string_view text, std::string_view stem) {
  if (!text.starts_with(stem)) return false;
  text.remove_prefix(stem.size());
  return text.empty() || (text.size() > 1 && text.front() == '_' && AllDigits(text.substr(1)));
}

// `_12`: the number of a node inside an inlined function or the body of a loop.
bool IsNodeNumber(std::string_view text) {
  return text.size() > 1 && text.front() == '_' && AllDigits(text.substr(1));
}

std::vector<std::string_view> Split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// `ReorderCastLikeAndValuePreserving_float_Cast_1`: the op behind the name of the rewriting.
std::string_view WithoutRewriting(std::string_view leaf) {
  static constexpr std::array<std::string_view, 5> kRewritings = {
      "AddOpsRewrite_", "ReorderCastLikeAndValuePreserving_", "HoistCommonFactor_",
      "FoldMultiplyIntoConv_", "RemoveRedundantReshape_"};
  for (const std::string_view rewriting : kRewritings) {
    if (!leaf.starts_with(rewriting)) continue;
    leaf.remove_prefix(rewriting.size());
    for (const std::string_view type :
         {"float_", "double_", "half_", "bfloat16_", "int32_", "int64_", "bool_", "uint8_"}) {
      if (leaf.starts_with(type)) return leaf.substr(type.size());
    }
    return leaf;
  }
  return leaf;
}

// Copies between devices and hosts are named after the edge they serve: `IteratorGetNext/_3`.
bool IsTransfer(std::string_view op_type) {
  return op_type == "_Send" || op_type == "_Recv" || op_type == "_HostSend" ||
         op_type == "_HostRecv";
}

// Differentiated ops outside of every scope. The tape puts an op's gradient into a scope of the
// op's name (`gradient_tape/MatMul_2/MatMul`). If the gradient is one op, the tape names it after
// the type (`gradient_tape/TanhGrad`).
class Differentiated {
 public:
  void See(std::string_view name, std::string_view op_type) {
    constexpr std::string_view kTape = "gradient_tape/";
    if (!name.starts_with(kTape)) return;
    name.remove_prefix(kTape.size());
    const size_t slash = name.find('/');
    if (slash != name.npos) {
      names_.emplace(name.substr(0, slash));
    } else if (op_type.ends_with("Grad") && IsNumbered(name, op_type)) {
      types_.emplace(op_type.substr(0, op_type.size() - 4));
    }
  }
  bool Has(std::string_view leaf, std::string_view op_type) const {
    return names_.contains(leaf) || types_.contains(op_type);
  }

 private:
  std::set<std::string, std::less<>> names_, types_;
};

// Grappler's sum of equal gradients: once AddN, now a product.
bool IsSimplifiedSum(std::string_view op_name) {
  return op_name.find("/SimplifyAggregation_") != op_name.npos ||
         op_name.starts_with("SimplifyAggregation_");
}

bool IsInput(std::string_view leaf) {
  return leaf.starts_with("IteratorGetNext") || leaf.starts_with("PrefetchToDevice");
}

}  // namespace

std::string NameInModel(std::string_view op_name) {
  std::vector<std::string_view> parts = Split(op_name);
  if (parts.size() > 1 && parts.front() == "ConstantFolding") {
    parts.erase(parts.begin());
    std::string_view& leaf = parts.back();
    for (const std::string_view mark : {"-matshapes-", "-folded-", "-reduction_indices"}) {
      if (const size_t at = leaf.find(mark); at != leaf.npos) leaf = leaf.substr(0, at);
    }
  }
  while (parts.size() > 1 && (IsNumbered(parts.front(), "StatefulPartitionedCall") ||
                              IsNumbered(parts.front(), "PartitionedCall"))) {
    parts.erase(parts.begin());
  }
  // MirroredStrategy: ops of the first device have no such prefix.
  const size_t copy = parts.front() == "gradient_tape" ? 1 : 0;
  if (parts.size() > copy + 1 && parts[copy] != "replica" && IsNumbered(parts[copy], "replica")) {
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(copy));
  }
  // A loop that was lowered: `while/body/_12/while/dense/MatMul` was dense/MatMul in the body.
  for (size_t at = 0; at + 2 < parts.size(); ++at) {
    if (!IsNodeNumber(parts[at + 2]) || !(parts[at + 1] == "body" || parts[at + 1] == "cond" ||
                                          parts[at + 1] == "then" || parts[at + 1] == "else")) {
      continue;
    }
    const std::string_view loop = parts[at];
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(at);
    parts.erase(begin, begin + 3);
    if (at + 1 < parts.size() && parts[at] == loop) {
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
    }
    --at;  // The loop may be inside another loop's body.
  }
  std::string name;
  for (size_t at = 0; at < parts.size(); ++at) {
    const bool last = at + 1 == parts.size();
    if (!last && parts[at] == "ArithmeticOptimizer") continue;
    if (last && parts.size() > 1 && IsNodeNumber(parts[at])) break;
    if (!name.empty()) name += '/';
    name += last ? WithoutRewriting(parts[at]) : parts[at];
  }
  return name;
}

void LabelFrameworkOps(model::AttributionTables& attribution, size_t first_row) {
  std::vector<InstructionRow>& rows = attribution.instructions;
  std::vector<OpName> names;
  std::vector<std::string_view> op_types;
  Differentiated differentiated;
  for (size_t row = first_row; row < rows.size(); ++row) {
    const std::string name = NameInModel(rows[row].op_name);
    names.push_back(ParseOpName(name));
    op_types.push_back(rows[row].op_type);
    differentiated.See(name, rows[row].op_type);
  }
  ModuleStyle style = StyleOf("", names, op_types);
  style.framework = Framework::kTensorFlow;
  style.keras_numbered = IsKerasNumbered(names);
  const LayerFinder finder(style, names);
  LayerFolder folder;
  for (size_t row = first_row; row < rows.size(); ++row) {
    InstructionRow& op = rows[row];
    const OpName& name = names[row - first_row];
    const NameVerdict verdict = PhaseByName(name, op.op_type, style, {});
    op.phase = verdict.phase;
    if (verdict.certainty == Certainty::kNone || IsInput(name.leaf)) op.phase = Phase::kOther;
    if (op.phase == Phase::kOther && name.scopes.empty()) {
      if (IsSimplifiedSum(op.op_name)) {
        op.phase = Phase::kBackward;
      } else if (differentiated.Has(name.leaf, op.op_type)) {
        op.phase = Phase::kForward;
      }
    }
    const bool unscoped_copy = IsTransfer(op.op_type) && name.scopes.empty();
    if (unscoped_copy && op.phase != Phase::kBackward) op.phase = Phase::kOther;
    op.layer = finder.LayerOf(name, op.op_type, op.phase);
    folder.Add(op.layer);
  }
  folder.Finish();
  for (size_t row = first_row; row < rows.size(); ++row) {
    rows[row].layer_group = folder.Fold(rows[row].layer);
  }
}

}  // namespace xlatrace::analysis
