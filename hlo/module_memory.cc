#include "hlo/module_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/number_format.h"

namespace xlatrace::hlo {
namespace {

constexpr size_t kMostAtPeak = 8;

// The file whose suffix ends in `end`; empty: none.
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
  auto text = ReadFileInflated(path);
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

ModuleMemory MemoryOf(const BufferAssignment& assignment, const LiveRanges* live_ranges) {
  ModuleMemory memory{.total_bytes = assignment.TotalBytes(),
                      .parameter_bytes = assignment.ParameterBytes(),
                      .output_bytes = assignment.OutputBytes(),
                      .constant_bytes = assignment.ConstantBytes(),
                      .temp_bytes = assignment.TempBytes()};
  MemoryPeak peak = PeakOf(assignment, live_ranges);
  memory.at_instruction = std::move(peak.at_instruction);
  if (peak.values.size() > kMostAtPeak) {
    memory.more_at_peak = peak.values.size() - kMostAtPeak;
    peak.values.resize(kMostAtPeak);
  }
  memory.at_peak = std::move(peak.values);
  return memory;
}

std::optional<ModuleMemory> ReadModuleMemory(const model::HloModule& module, const DumpModule& dump,
                                             std::vector<std::string>& warnings) {
  if (module.peak_memory_bytes >= 0) {
    const auto of_proto = BufferAssignmentOf(module);
    if (of_proto) return MemoryOf(*of_proto, nullptr);
  }
  const std::string path = FileOf(dump, "-buffer-assignment.txt");
  const auto assignment = ReadWith(path, ReadBufferAssignment, warnings);
  if (!assignment) return std::nullopt;
  std::string ranges_path = FileOf(dump, "-live-range.txt");
  if (ranges_path.empty()) {  // Until 2025 they were part of the same file.
    const auto text = ReadFileInflated(path);
    if (text && HoldsLiveRanges(*text)) ranges_path = path;
  }
  const auto ranges = ReadWith(ranges_path, ReadLiveRanges, warnings);
  return MemoryOf(*assignment, ranges ? &*ranges : nullptr);
}

std::string MemoryText(const ModuleMemory& memory) {
  std::string text = Bytes(static_cast<double>(memory.total_bytes));
  std::string parts;
  const auto add = [&](int64_t bytes, std::string_view what) {
    if (bytes <= 0) return;
    parts +=
        fmt::format("{}{} {}", parts.empty() ? "" : ", ", Bytes(static_cast<double>(bytes)), what);
  };
  add(memory.parameter_bytes, "parameters");
  add(memory.output_bytes, "results");
  add(memory.constant_bytes, "constants");
  add(memory.temp_bytes, "temporary");
  return parts.empty() ? text : text + ": " + parts;
}

}  // namespace xlatrace::hlo
