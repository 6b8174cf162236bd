// SPDX-License-Identifier: Apache-2.0
#include "hlo/cost/cost_opcode.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace xlatrace::hlo {
namespace {

using Row = std::pair<std::string_view, CostClass>;
using enum CostClass;

// Sorted by name.
constexpr Row kRows[] = {
    {"abs", kElementwise},
    {"acos", kTranscendental},
    {"acosh", kTranscendental},
    {"add", kElementwise},
    {"add-dependency", kNothing},
    {"after-all", kNothing},
    {"all-gather", kAllGather},
    {"all-gather-done", kDefault},
    {"all-gather-start", kAllGatherStart},
    {"all-reduce", kAllReduce},
    {"all-reduce-done", kDefault},
    {"all-reduce-scatter", kReduceScatter},
    {"all-reduce-start", kAllReduceStart},
    {"all-to-all", kDefault},
    {"and", kElementwise},
    {"asin", kTranscendental},
    {"asinh", kTranscendental},
    {"async-done", kDefault},
    {"async-start", kAsyncStart},
    {"async-update", kDefault},
    {"atan2", kTranscendental},
    {"atanh", kTranscendental},
    {"batch-norm-grad", kDefault},
    {"batch-norm-inference", kDefault},
    {"batch-norm-training", kDefault},
    {"bitcast", kNothing},
    {"bitcast-convert", kElementwise},
    {"broadcast", kBroadcast},
    {"broadcast-dim-one", kBroadcast},
    {"call", kCall},
    {"cbrt", kTranscendental},
    {"ceil", kElementwise},
    {"cholesky", kCholesky},
    {"clamp", kElementwise},
    {"collective-broadcast", kDefault},
    {"collective-permute", kCollectivePermute},
    {"collective-permute-done", kDefault},
    {"collective-permute-start", kCollectivePermute},
    {"compare", kElementwise},
    {"complex", kElementwise},
    {"concatenate", kConcatenate},
    {"conditional", kConditional},
    {"constant", kNothing},
    {"convert", kElementwise},
    {"convolution", kConvolution},
    {"copy", kDefault},
    {"copy-done", kDefault},
    {"copy-start", kDefault},
    {"cosh", kTranscendental},
    {"cosine", kTranscendental},
    {"count-leading-zeros", kElementwise},
    {"cross-replica-sum", kAllReduce},
    {"custom-call", kCustomCall},
    {"divide", kElementwise},
    {"domain", kNothing},
    {"dot", kDot},
    {"dynamic-reshape", kDefault},
    {"dynamic-slice", kDynamicSlice},
    {"dynamic-update-slice", kDynamicUpdateSlice},
    {"equal-to", kElementwise},
    {"erf", kTranscendental},
    {"exponential", kTranscendental},
    {"exponential-minus-one", kTranscendental},
    {"fft", kFft},
    {"floor", kElementwise},
    {"fusion", kFusion},
    {"gather", kGather},
    {"generate-token", kNothing},
    {"get-dimension-size", kDefault},
    {"get-tuple-element", kNothing},
    {"greater-than", kElementwise},
    {"greater-than-or-equal-to", kElementwise},
    {"imag", kElementwise},
    {"infeed", kInfeed},
    {"iota", kDefault},
    {"is-finite", kElementwise},
    {"less-than", kElementwise},
    {"less-than-or-equal-to", kElementwise},
    {"log", kTranscendental},
    {"log-plus-one", kTranscendental},
    {"logistic", kTranscendental},
    {"map", kMap},
    {"maximum", kElementwise},
    {"minimum", kElementwise},
    {"mulhi", kElementwise},
    {"multiply", kElementwise},
    {"negate", kElementwise},
    {"not", kElementwise},
    {"not-equal-to", kElementwise},
    {"opt-barrier", kDefault},
    {"or", kElementwise},
    {"outfeed", kOutfeed},
    {"pad", kDefault},
    {"parameter", kNothing},
    {"partition-id", kDefault},
    {"popcnt", kElementwise},
    {"power", kTranscendental},
    {"ragged-all-to-all", kDefault},
    {"ragged-dot", kRaggedDot},
    {"real", kElementwise},
    {"recv", kDefault},
    {"recv-done", kDefault},
    {"reduce", kReduce},
    {"reduce-precision", kElementwise},
    {"reduce-scatter", kReduceScatter},
    {"reduce-window", kReduceWindow},
    {"remainder", kElementwise},
    {"replica-id", kDefault},
    {"reshape", kDefault},
    {"reverse", kDefault},
    {"rng", kRandom},
    {"rng-bit-generator", kRandom},
    {"rng-get-and-update-state", kDefault},
    {"round-nearest-afz", kElementwise},
    {"round-nearest-even", kElementwise},
    {"rsqrt", kTranscendental},
    {"scaled-dot", kDot},
    {"scan", kScan},
    {"scatter", kScatter},
    {"select", kElementwise},
    {"select-and-scatter", kSelectAndScatter},
    {"send", kDefault},
    {"send-done", kDefault},
    {"set-dimension-size", kDefault},
    {"shift-left", kElementwise},
    {"shift-right-arithmetic", kElementwise},
    {"shift-right-logical", kElementwise},
    {"sign", kElementwise},
    {"sine", kTranscendental},
    {"sinh", kTranscendental},
    {"slice", kSlice},
    {"sort", kSort},
    {"sqrt", kTranscendental},
    {"stochastic-convert", kElementwise},
    {"subtract", kElementwise},
    {"tan", kTranscendental},
    {"tanh", kTranscendental},
    {"topk", kDefault},
    {"trace", kDefault},
    {"transpose", kTranspose},
    {"triangular-solve", kTriangularSolve},
    {"tuple", kTuple},
    {"tuple-select", kDefault},
    {"while", kCall},
    {"xor", kElementwise},
};

constexpr bool IsSorted() {
  for (size_t i = 1; i < std::size(kRows); ++i) {
    if (!(kRows[i - 1].first < kRows[i].first)) return false;
  }
  return true;
}
static_assert(IsSorted());

}  // namespace

CostClass CostClassOf(std::string_view opcode) {
  const Row* const row =
      std::lower_bound(std::begin(kRows), std::end(kRows), opcode,
                       [](const Row& a, std::string_view name) { return a.first < name; });
  return row != std::end(kRows) && row->first == opcode ? row->second : kUnknown;
}

bool IsElementwiseOpcode(std::string_view opcode) {
  const CostClass cost_class = CostClassOf(opcode);
  return cost_class == kElementwise || cost_class == kTranscendental || cost_class == kMap ||
         opcode == "copy" || opcode == "rng";
}

}  // namespace xlatrace::hlo
