// SPDX-License-Identifier: Apache-2.0
#include "dumps/dumped_memory.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dumps/dump_files.h"

namespace xlatrace::dumps {
namespace {

// The file whose suffix ends with `end`; empty: none.
std::string FileOf(const DumpModule& dump, std::string_view end) {
  for (const DumpFile& file : dump.files) {
    if (file.name.suffix.ends_with(end)) return file.path;
  }
  return {};
}

template <typename Reader>
auto ReadWith(const std::string& path, Reader reader, std::vector<std::string>& warnings)
    -> std::optional<typename decltype(reader(std::string_view()))::value_type> {
  if (path.empty()) return std::nullopt;
  auto text = ReadDumpFile(path);
  if (!text) {
    warnings.push_back(text.error().message);
    return std::nullopt;
  }
  auto read = reader(std::string_view(*text));
  if (!read) {
    warnings.push_back(fmt::format("reading '{}': {}", path, read.error().message));
    return std::nullopt;
  }
  return std::move(*read);
}

}  // namespace

std::optional<hlo::ModuleMemory> ReadModuleMemory(const model::HloModule& module,
                                                  const DumpModule& dump,
                                                  const MemoryReader& memory_of,
                                                  std::vector<std::string>& warnings) {
  if (module.peak_memory_bytes >= 0) {
    const auto of_proto = hlo::BufferAssignmentOf(module);
    if (of_proto) return memory_of(module, *of_proto, nullptr);
  }
  const std::string path = FileOf(dump, "-buffer-assignment.txt");
  const auto assignment = ReadWith(path, hlo::ReadBufferAssignment, warnings);
  if (!assignment) return std::nullopt;
  std::string ranges_path = FileOf(dump, "-live-range.txt");
  if (ranges_path.empty()) {  // Until 2025, they were part of the same file.
    const auto text = ReadDumpFile(path);
    if (text && hlo::HoldsLiveRanges(*text)) ranges_path = path;
  }
  const auto ranges = ReadWith(ranges_path, hlo::ReadLiveRanges, warnings);
  return memory_of(module, *assignment, ranges ? &*ranges : nullptr);
}

}  // namespace xlatrace::dumps
