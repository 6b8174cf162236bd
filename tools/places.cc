// SPDX-License-Identifier: Apache-2.0
#include "tools/places.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/auxv.h>

#include "base/file.h"

namespace xlatrace::tools {
namespace {

// PREFIX of PREFIX/bin/xlatrace, links resolved. Without /proc (a bare chroot) the kernel still
// tells the path that was executed.
std::filesystem::path Prefix() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    const auto* executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    if (executed != nullptr) program = fs::canonical(executed, error);
  }
  return program.parent_path().parent_path();
}

}  // namespace

Result<std::string> HookFolder() {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string folder;
  if (const char* given = std::getenv("XLATRACE_HOOK_PATH"); given != nullptr && *given != '\0') {
    folder = fs::absolute(given, error).string();
  } else {
    folder = (Prefix() / "share" / "xlatrace" / "hook").string();
  }
  if (!Exists(folder + "/sitecustomize.py")) {
    return MakeError(
        fmt::format("the Python hook is missing: there is no '{}/sitecustomize.py'", folder),
        "install xlatrace again, or set XLATRACE_HOOK_PATH to the hook's folder");
  }
  return folder;
}

Result<std::string> PreloadLibrary() {
  namespace fs = std::filesystem;
  constexpr const char* kName = "libxlatrace.so";
  std::error_code error;
  std::vector<fs::path> candidates;
  if (const char* given = std::getenv("XLATRACE_LIB"); given != nullptr && *given != '\0') {
    candidates = {given, fs::path(given) / kName};
  } else {
    const fs::path prefix = Prefix();
    for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
      candidates.push_back(prefix / folder / kName);
    }
  }
  for (const fs::path& candidate : candidates) {
    if (!IsRegularFile(candidate.string())) continue;
    const fs::path library = fs::canonical(candidate, error);
    if (error) continue;
    // The loader knows no quotes (ld.so(8)): blanks and colons end a name.
    if (library.string().find_first_of(" :\t\n") != std::string::npos) {
      return MakeError(fmt::format("LD_PRELOAD cannot name '{}': there is a blank or a colon in it",
                                   library.string()),
                       "install xlatrace into a folder without one");
    }
    return library.string();
  }
  return MakeError(
      fmt::format("libxlatrace.so is missing: it is not at '{}'", candidates.front().string()),
      "install xlatrace again, or set XLATRACE_LIB to the library's place");
}

}  // namespace xlatrace::tools
