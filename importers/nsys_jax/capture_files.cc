// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/capture_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/archive.h"
#include "base/compress.h"
#include "base/file.h"

namespace xlatrace::importers {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxTotalBytes = uint64_t{2} << 30;
// Limit for all files inside of files together: real captures inflate about 20 times.
constexpr uint64_t kMaxRatio = 100;
constexpr uint64_t kRatioFreeBytes = uint64_t{128} << 20;
constexpr int kMaxFolderDepth = 4;

std::string BaseName(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// Without ".xz" and the like.
std::string Uncompressed(std::string name) {
  for (const char* end : {".xz", ".gz", ".zst", ".bz2"}) {
    if (name.ends_with(end)) name.resize(name.size() - std::char_traits<char>::length(end));
  }
  return name;
}

bool IsDump(const dumps::DumpName& name) {
  return ((name.kind == dumps::DumpKind::kHloProto || name.kind == dumps::DumpKind::kHloText) &&
          name.stage == dumps::DumpStage::kAfter) ||
         name.kind == dumps::DumpKind::kThunkSequence ||
         name.kind == dumps::DumpKind::kThunkSequenceFinal ||
         name.kind == dumps::DumpKind::kThunkMetadata ||
         name.kind == dumps::DumpKind::kTargetConfig;
}

class Collector {
 public:
  bool Accepts(const std::string& name) const { return Target(name) != nullptr || DumpOf(name); }

  // Bytes on disk of what is taken: all files of a capture may inflate to so many times that.
  void AddStored(uint64_t bytes) { stored_ += bytes; }

  Status Take(std::string name, std::string content) {
    const uint64_t most =
        std::min(kMaxTotalBytes, std::max(kRatioFreeBytes, kMaxRatio * stored_)) - total_;
    XLATRACE_ASSIGN(std::string bytes,
                    Inflate(std::move(content), name, std::min(kMaxFileBytes, most)));
    if (bytes.size() > most) {
      return MakeError(fmt::format("with '{}' the capture is {} bytes, more than any real one",
                                   name, total_ + bytes.size()),
                       "import its report: nsys export --type sqlite");
    }
    total_ += bytes.size();
    if (std::string CaptureFiles::*target = Target(name)) {
      // The Parquet file is what was recorded; a CSV beside it is a copy.
      std::string& place = files.*target;
      if (place.empty() || bytes.starts_with("PAR1")) place = std::move(bytes);
      return {};
    }
    if (auto parsed = DumpOf(name)) {
      if (parsed->kind == dumps::DumpKind::kTargetConfig) {
        files.target_config = std::move(bytes);
        return {};
      }
      files.dump.push_back({std::move(name), std::move(*parsed), std::move(bytes)});
    }
    return {};
  }

  CaptureFiles files;

 private:
  static std::string CaptureFiles::*Target(const std::string& name) {
    const std::string base = Uncompressed(BaseName(name));
    if ((base == "trace.parquet" && name.find("nvtx_gpu_proj_trace/") != std::string::npos) ||
        base == "nvtx_gpu_proj_trace.csv") {
      return &CaptureFiles::projected_trace;
    }
    if (base == "device-metadata.parquet") return &CaptureFiles::device_metadata;
    if (base == "thread-metadata.parquet") return &CaptureFiles::thread_metadata;
    if (base.ends_with("nvtx_pushpop_trace.csv")) return &CaptureFiles::push_pop_trace;
    return nullptr;
  }
  static std::optional<dumps::DumpName> DumpOf(const std::string& name) {
    auto parsed = dumps::ParseDumpName(BaseName(name));
    return parsed && IsDump(*parsed) ? parsed : std::nullopt;
  }

  uint64_t stored_ = 0;
  uint64_t total_ = 0;  // Bytes taken so far; at most the limit.
};

}  // namespace

Result<CaptureFiles> ReadCaptureFiles(const std::string& path) {
  Collector collector;
  if (IsDirectory(path)) {
    std::error_code error;
    std::vector<std::string> names;
    for (auto it = fs::recursive_directory_iterator(path, error);
         !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      if (it.depth() >= kMaxFolderDepth) it.disable_recursion_pending();
      if (it->is_regular_file(error))
        names.push_back(fs::relative(it->path(), path, error).string());
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (!collector.Accepts(name)) continue;
      XLATRACE_ASSIGN(std::string bytes, ReadFile(path + "/" + name, kMaxFileBytes));
      collector.AddStored(bytes.size());
      XLATRACE_TRY(collector.Take(name, std::move(bytes)));
    }
  } else {
    std::error_code error;
    const uintmax_t size = fs::file_size(path, error);
    collector.AddStored(error ? 0 : size);
    XLATRACE_TRY(ForEachArchiveEntry(
        path, kMaxFileBytes, [&](const std::string& name) { return collector.Accepts(name); },
        [&](std::string name, std::string content) {
          return collector.Take(std::move(name), std::move(content));
        }));
  }
  std::sort(collector.files.dump.begin(), collector.files.dump.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  if (collector.files.projected_trace.empty()) {
    return MakeError(fmt::format("'{}' holds no nsys-jax capture: there is no "
                                 "nvtx_gpu_proj_trace inside",
                                 path),
                     "unpack it and import the .sqlite or .xplane.pb file inside");
  }
  return std::move(collector.files);
}

}  // namespace xlatrace::importers
