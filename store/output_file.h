// SPDX-License-Identifier: Apache-2.0

// A file that grows under a temporary name beside its target and replaces the target when it is
// complete. Readers never see a partial file. If a signal ends the program, the file is removed.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_OUTPUT_FILE_H_
#define XLATRACE_STORE_OUTPUT_FILE_H_

#include <string>

#include "base/error.h"

namespace xlatrace::store {

class OutputFile {
 public:
  // Creates the temporary file, empty. Without `replace`, Place fails if a file exists at `path` by
  // then, and leaves it unchanged. If two writers have the same target, one succeeds.
  static Result<OutputFile> Create(const std::string& path, bool replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // Without Place: removes the temporary file.

  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }
  Status Place();

 private:
  OutputFile(std::string path, bool replace);

  std::string path_;
  std::string temporary_;  // Empty: placed, or moved from.
  bool replace_;
};

// "cannot write 'run.db': No space left on device", with a suggestion of another place.
tl::unexpected<Error> CannotWrite(const std::string& path, const std::string& why);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_OUTPUT_FILE_H_
