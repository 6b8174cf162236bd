// SPDX-License-Identifier: Apache-2.0

// Which source files are the user's own, and which frame of a call stack is the user's line.
//
// The one place that decides this. A file of a package lies in a folder of installers
// (site-packages, dist-packages, a wheel or egg) or in the interpreter's library folder. The third
// kind of place is the folder of a framework that was installed elsewhere. Such a folder is
// recognised by a file that only this framework has (flax/linen/module.py). Its name decides
// nothing: a project may be called keras.
//
// Thread-safety: const functions may run in parallel.

#ifndef XLATRACE_MODEL_USER_CODE_H_
#define XLATRACE_MODEL_USER_CODE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::model {

enum class FileKind : uint8_t {
  kUser,
  kWithoutFile,  // Code of `python -c` or exec ("<string>"): the user's if nothing else is.
  kPackage,      // An installed package that is no framework, such as a library of models.
  kMachinery,    // A framework, a launcher of scripts, or Python's own library.
};

// "flax" of ".../site-packages/flax/linen/module.py", "python" of the interpreter's library; empty:
// the file is in no folder of packages.
std::string_view PackageOf(std::string_view file);

class UserCode {
 public:
  // `declared`: folders and files that are the user's although they are installed, or names of
  // packages ("mylib"), separated by colons as in --user-code and XLATRACE_USER_CODE.
  explicit UserCode(std::string_view declared);
  UserCode() = default;

  // Learns the folders of frameworks outside of package folders. Call it with all files of a
  // program before KindOf.
  void AddFile(std::string_view file);

  FileKind KindOf(std::string_view file) const;
  bool IsUser(std::string_view file) const;

 private:
  bool IsDeclared(std::string_view file) const;

  std::vector<std::string> declared_;
  std::vector<std::string> framework_folders_;  // With a slash at the end.
};

// The position of the user's line among the frames of a stack, innermost first. It is the user's
// innermost frame, else the innermost frame of code without a file. If a stack has neither, it is
// the outermost frame of a package other than machinery, else the innermost frame of all.
// `frames` is not empty.
struct UserFrame {
  size_t position = 0;
  bool is_library = false;  // No frame is the user's.
};
UserFrame FindUserFrame(std::span<const FileKind> frames);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_USER_CODE_H_
