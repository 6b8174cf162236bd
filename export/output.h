// SPDX-License-Identifier: Apache-2.0

// The output of an export: one file, or a folder of files. It is written beside its final place and
// renamed when it is complete. An error, a full disk or Ctrl-C therefore leaves no partial output.
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
  // An existing folder that is not empty needs `force`. Files with the same names are replaced
  // then; other files are unchanged.
  static Result<OutputFolder> Create(const std::string& path, bool force);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();  // Without Commit: removes the written files.

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

// Numbers of written files and bytes, for the message of the command.
struct ExportCount {
  int64_t rows = 0;
  int64_t files = 0;
  std::string note;  // Note for the reader of the output; mostly empty.
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_OUTPUT_H_
