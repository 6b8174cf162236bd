// SPDX-License-Identifier: Apache-2.0

// Snappy's block format (https://github.com/google/snappy/blob/main/format_description.txt) by
// Google's library, with a limit on the decompressed size. Parquet files of pandas are compressed
// with it.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_SNAPPY_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_SNAPPY_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace xlatrace::importers {

// nullopt if the bytes are damaged or decompress to more than `max_bytes`.
std::optional<std::string> SnappyInflate(std::string_view bytes, size_t max_bytes);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_SNAPPY_H_
