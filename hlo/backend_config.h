// SPDX-License-Identifier: Apache-2.0

// Reads single facts from an instruction's backend_config without parsing all of its JSON.
//
// XLA:GPU writes one JSON object per instruction (xla/service/gpu/backend_configs.proto); 64-bit
// numbers are strings in it. Custom calls of users hold any text. Thread-safety: pure.

#ifndef XLATRACE_HLO_BACKEND_CONFIG_H_
#define XLATRACE_HLO_BACKEND_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

// The list of numbers of the first key with this name; empty if there is no such key.
std::optional<std::vector<int64_t>> JsonNumbers(std::string_view json, std::string_view key);

// A number after `key` in a cost_estimate_json, with any escaping of its quotes.
std::optional<int64_t> CostEstimate(std::string_view config, std::string_view key);

// Number of iterations of a while loop, if XLA determined it: known_trip_count in its
// backend_config. Empty for other instructions.
std::optional<int64_t> TripCount(const model::HloModule& module,
                                 const model::Instruction& instruction);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_BACKEND_CONFIG_H_
