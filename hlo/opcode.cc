// SPDX-License-Identifier: Apache-2.0
#include "hlo/opcode.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace xlatrace::hlo {
namespace {

using model::OpKind;
using Table = std::unordered_map<std::string_view, OpcodeInfo>;

void Add(Table& table, OpWork work, OpKind kind, std::initializer_list<std::string_view> opcodes) {
  for (const std::string_view opcode : opcodes) table.emplace(opcode, OpcodeInfo{work, kind});
}

Table MakeTable() {
  Table t;
  Add(t, OpWork::kNone, OpKind::kOther,
      {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all",
       "add-dependency", "domain", "opt-barrier", "optimization-barrier", "generate-token", "trace",
       "partition-id", "replica-id", "get-dimension-size", "set-dimension-size", "token"});
  Add(t, OpWork::kElementwise, OpKind::kElementwiseFusion,
      {"abs",
       "add",
       "and",
       "atan2",
       "bitcast-convert",
       "ceil",
       "clamp",
       "clz",
       "count-leading-zeros",
       "compare",
       "complex",
       "convert",
       "divide",
       "equal-to",
       "floor",
       "greater-than",
       "greater-than-or-equal-to",
       "imag",
       "is-finite",
       "less-than",
       "less-than-or-equal-to",
       "map",
       "maximum",
       "minimum",
       "mulhi",
       "multiply",
       "negate",
       "not",
       "not-equal-to",
       "or",
       "popcnt",
       "real",
       "reduce-precision",
       "remainder",
       "round-nearest-afz",
       "round-nearest-even",
       "select",
       "shift-left",
       "shift-right-arithmetic",
       "shift-right-logical",
       "sign",
       "stochastic-convert",
       "subtract",
       "tuple-select",
       "xor"});
  Add(t, OpWork::kTranscendental, OpKind::kElementwiseFusion,
      {"acos", "acosh",        "asin",     "asinh", "atan",  "atanh",       "cbrt",
       "cos",  "cosine",       "cosh",     "erf",   "exp",   "exponential", "exponential-minus-one",
       "log",  "log-plus-one", "logistic", "power", "rsqrt", "sin",         "sine",
       "sinh", "sqrt",         "tan",      "tanh"});
  Add(t, OpWork::kMovement, OpKind::kElementwiseFusion, {"broadcast", "broadcast-dim-one", "iota"});
  Add(t, OpWork::kMovement, OpKind::kCopy,
      {"concatenate", "copy", "copy-start", "copy-done", "copy-update", "dynamic-reshape", "infeed",
       "outfeed", "pad", "reshape", "reverse", "slice"});
  Add(t, OpWork::kMovement, OpKind::kTranspose, {"transpose"});
  Add(t, OpWork::kDot, OpKind::kGemm, {"dot", "ragged-dot", "scaled-dot"});
  Add(t, OpWork::kConvolution, OpKind::kConvolution, {"convolution"});
  Add(t, OpWork::kReduction, OpKind::kReduction,
      {"batch-norm-grad", "batch-norm-inference", "batch-norm-training", "reduce", "reduce-window",
       "scan", "select-and-scatter"});
  Add(t, OpWork::kScatterGather, OpKind::kScatterGather,
      {"dynamic-pad", "dynamic-slice", "dynamic-update-slice", "gather", "scatter"});
  Add(t, OpWork::kSort, OpKind::kSort, {"sort", "topk", "top-k"});
  Add(t, OpWork::kRandom, OpKind::kRandom,
      {"rng", "rng-bit-generator", "rng-get-and-update-state"});
  Add(t, OpWork::kFft, OpKind::kFft, {"fft"});
  Add(t, OpWork::kCollective, OpKind::kCollective,
      {"all-gather", "all-reduce", "all-reduce-scatter", "all-to-all", "collective-broadcast",
       "collective-permute", "cross-replica-sum", "ragged-all-to-all", "recv", "reduce-scatter",
       "send"});
  Add(t, OpWork::kCall, OpKind::kControl, {"call", "conditional", "while"});
  Add(t, OpWork::kCall, OpKind::kElementwiseFusion, {"fusion"});
  Add(t, OpWork::kCall, OpKind::kCustomCall, {"custom-call"});
  Add(t, OpWork::kCall, OpKind::kOther, {"async-start", "async-update", "async-done"});
  Add(t, OpWork::kOther, OpKind::kCustomCall, {"cholesky", "triangular-solve"});
  return t;
}

}  // namespace

bool IsKnownOpcode(std::string_view opcode) {
  static const Table& table = *new Table(MakeTable());
  return table.count(BaseOpcode(opcode)) > 0;
}

OpcodeInfo InfoOf(std::string_view opcode) {
  static const Table& table = *new Table(MakeTable());
  const auto it = table.find(opcode);
  return it == table.end() ? OpcodeInfo{} : it->second;
}

bool IsView(std::string_view opcode) {
  static constexpr auto kViews = std::to_array<std::string_view>(
      {"bitcast", "broadcast", "dynamic-reshape", "dynamic-slice", "get-tuple-element", "reshape",
       "reverse", "slice", "tuple"});
  return std::find(kViews.begin(), kViews.end(), opcode) != kViews.end();
}

bool IsAsync(std::string_view opcode) { return BaseOpcode(opcode).size() != opcode.size(); }

std::string_view BaseOpcode(std::string_view opcode) {
  if (opcode.substr(0, 6) == "async-") return opcode;
  for (const std::string_view suffix : {"-start", "-update", "-done"}) {
    if (opcode.size() > suffix.size() && opcode.substr(opcode.size() - suffix.size()) == suffix) {
      return opcode.substr(0, opcode.size() - suffix.size());
    }
  }
  return opcode;
}

}  // namespace xlatrace::hlo
