// SPDX-License-Identifier: Apache-2.0

// A file that grows under a temporary name beside its final place and replaces it when it is whole,
// so that whoever finds the file finds a whole one. A signal that ends the program takes it away.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_OUTPUT_FILE_H_
#define XLATRACE_STORE_OUTPUT_FILE_H_

#include <string>

#include "base/error.h"

namespace xlatrace::store {

class OutputFile {
 public:
  // Makes the temporary file, empty. Without `replace` Place fails where a file has come to lie at
  // `path` in the meantime, and leaves that as it is: of two writers of one output one succeeds.
  static Result<OutputFile> Create(const std::string& path, bool replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // Without Place: removes what was written.

  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }
  Status Place();

 private:
  OutputFile(std::string path, bool replace);

  std::string path_;
  std::string temporary_;  // Empty: placed, or moved from.
  bool replace_;
};

// "cannot write 'run.db': No space left on device", and where else it could go.
tl::unexpected<Error> CannotWrite(const std::string& path, const std::string& why);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_OUTPUT_FILE_H_
