// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/attribute_words.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/text.h"

namespace xlatrace::hlo {
namespace {

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// dot_bf16_bf16_f32_x3, rng_philox
bool IsAlgorithm(std::string_view word) {
  return word.starts_with("dot_") || word.starts_with("rng_") || word == "unset";
}

// kLoop, kTransposeDot
bool IsFusionKind(std::string_view word) {
  return word.size() > 1 && word[0] == 'k' && word[1] >= 'A' && word[1] <= 'Z';
}

}  // namespace

bool TakesWord(std::string_view attribute, std::string_view word) {
  if (attribute == "kind") return IsFusionKind(word);
  // XLA compares the words of some enumerations in lower case.
  if (attribute == "algorithm") return IsAlgorithm(Lower(word));
  if (attribute == "direction" || attribute == "comparison_direction") {
    return IsOneOf(word, {"EQ", "NE", "GE", "GT", "LE", "LT"});
  }
  if (attribute == "type") {
    return IsOneOf(word, {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "PARTIALORDER"});
  }
  if (attribute == "fft_type") return IsOneOf(word, {"FFT", "IFFT", "RFFT", "IRFFT"});
  if (attribute == "distribution") {
    return IsOneOf(Lower(word), {"rng_uniform", "rng_normal", "rng_bernoulli", "rng_invalid"});
  }
  if (attribute == "operand_precision") {
    return IsOneOf(Lower(word), {"default", "high", "highest", "packed_nibble"});
  }
  if (attribute == "transpose_a") {
    return IsOneOf(word, {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", "TRANSPOSE_INVALID"});
  }
  if (attribute == "padding_type") {
    return IsOneOf(word, {"PADDING_SAME", "PADDING_VALID", "PADDING_INVALID"});
  }
  if (attribute == "schedule") {
    return IsOneOf(Lower(word), {"schedule_none", "schedule_latest", "schedule_earliest"});
  }
  if (attribute == "api_version") {
    return IsOneOf(Lower(word), {"api_version_original", "api_version_status_returning",
                                 "api_version_status_returning_unified", "api_version_typed_ffi"});
  }
  if (attribute == "conv_kind" || attribute == "convolution_kind") {
    return IsOneOf(word, {"fprop", "wgrad", "dgrad", "unset"});
  }
  if (attribute == "mode") {
    return IsOneOf(
        word, {"cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"});
  }
  if (attribute == "log_mode") return IsOneOf(word, {"default", "fusion_debugger"});
  return true;
}

}  // namespace xlatrace::hlo
