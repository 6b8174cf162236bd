// SPDX-License-Identifier: Apache-2.0

// Files of other tools that xlatrace does not read, detected by their content. For each format
// there is a description and the file to import instead.
//
// Thread-safety: pure function.

#ifndef XLATRACE_IMPORTERS_KNOWN_FORMATS_H_
#define XLATRACE_IMPORTERS_KNOWN_FORMATS_H_

#include <optional>
#include <string>
#include <string_view>

namespace xlatrace::importers {

struct KnownFormat {
  std::string what;  // "is a timeline of Horovod, which ...".
  std::string hint;
};

// A report of Nsight Systems, which only `nsys` reads.
bool LooksLikeNsightReport(const std::string& path, std::string_view head);

// `head`: the first bytes, decompressed. nullopt: none of these formats.
std::optional<KnownFormat> FindKnownFormat(const std::string& path, std::string_view head);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_KNOWN_FORMATS_H_
