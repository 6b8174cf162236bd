// SPDX-License-Identifier: Apache-2.0

// Where an export goes: one file, or a folder of files. Both are written beside their place and
// renamed when they are whole, so that an error, a full disk or Ctrl-C leaves nothing there.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_OUTPUT_H_
#define XLATRACE_EXPORT_OUTPUT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace xlatrace::exporter {

class OutputFolder {
 public:
  // An existing folder that is not empty needs `force`; then files of the same names are replaced,
  // and others stay.
  static Result<OutputFolder> Create(const std::string& path, bool force);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();  // Without Commit: removes what was written.

  // `name`: without a folder. One file at a time.
  Result<AtomicFile> Open(const std::string& name);
  Status Close(AtomicFile file);
  Status Commit();
  size_t file_count() const { return names_.size(); }

 private:
  OutputFolder(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;  // Empty: committed.
  std::vector<std::string> names_;
};

// Numbers of what was written, for the line that a command prints.
struct ExportCount {
  int64_t rows = 0;
  int64_t files = 0;
  std::string note;  // Note for the reader of the output; mostly empty.
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_OUTPUT_H_
