// SPDX-License-Identifier: Apache-2.0

// Keys of dictionary rows: their fields, length-prefixed, so that different rows have different
// keys. (Their hashes may be equal: dictionary_index.h.)
//
// Thread-safety: pure functions.

#ifndef XLATRACE_STORE_DICTIONARY_KEY_H_
#define XLATRACE_STORE_DICTIONARY_KEY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "model/events.h"

namespace xlatrace::store {

// In the order of the columns of x_config.
std::array<std::optional<int64_t>, 7> NsightColumns(const model::NsightConfig& config);

std::string KeyOf(const model::LaunchConfig& config);
std::string KeyOf(const model::Hint& hint);
std::string KeyOf(const model::Lane& lane);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_DICTIONARY_KEY_H_
