// SPDX-License-Identifier: Apache-2.0

// Every HLO file of the recorded dumps, those in archives too.

#ifndef XLATRACE_TESTS_HLO_RECORDED_FILES_H_
#define XLATRACE_TESTS_HLO_RECORDED_FILES_H_

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/compress.h"
#include "dumps/dump_name.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {

// Path (for archives: ARCHIVE/ENTRY) and inflated content of a file with a name of HLO.
using FileVisitor = std::function<void(const std::string& path, std::string bytes)>;

inline bool IsHloDump(const std::filesystem::path& path) {
  const auto name = dumps::ParseDumpName(path.filename().string());
  return name &&
         (name->kind == dumps::DumpKind::kHloText || name->kind == dumps::DumpKind::kHloProto);
}

// Whether a file is among one of `parts` equal parts of all, by a hash of its path. Text and proto
// of one module are in the same part.
inline bool IsInFirstPart(const std::string& path, int parts) {
  std::string_view stem = path;
  for (const std::string_view extension : {".xz", ".txt", ".hlo.pb"}) {
    if (stem.ends_with(extension)) stem.remove_suffix(extension.size());
  }
  uint32_t hash = 2166136261;  // FNV-1a.
  for (const char c : stem.substr(stem.rfind('/') + 1)) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  }
  return hash % static_cast<uint32_t>(parts) == 0;
}

inline void VisitArchive(const std::filesystem::path& path, const FileVisitor& visit, int parts) {
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                      archive_read_free);
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_tar(reader.get());
  ASSERT_EQ(archive_read_open_filename(reader.get(), path.c_str(), 1 << 16), ARCHIVE_OK) << path;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK) {
    const std::string name = archive_entry_pathname(entry);
    if (!IsHloDump(name) || !IsInFirstPart(name, parts)) continue;
    std::string bytes(static_cast<size_t>(archive_entry_size(entry)), '\0');
    ASSERT_EQ(archive_read_data(reader.get(), bytes.data(), bytes.size()),
              static_cast<la_ssize_t>(bytes.size()));
    auto inflated = Inflate(std::move(bytes), name);
    ASSERT_TRUE(inflated) << inflated.error().message;
    visit(path.string() + "/" + name, std::move(*inflated));
  }
}

// captures/, dumps/ and own/: what people dumped, as opposed to the feature samples of hlo/. With
// `parts`, only one of so many equal parts of the files.
inline void VisitRecordedDumps(const FileVisitor& visit, int parts = 1) {
  for (const char* folder : {"captures", "dumps", "own"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(SharedData() / folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = entry.path().string();
      if (path.ends_with("dumps.tar.xz")) {
        VisitArchive(path, visit, parts);
      } else if (IsHloDump(path) && IsInFirstPart(path, parts)) {
        auto bytes = ReadFileInflated(path);
        ASSERT_TRUE(bytes) << bytes.error().message;
        visit(path, std::move(*bytes));
      }
    }
  }
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_TESTS_HLO_RECORDED_FILES_H_
