#include "tools/places.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file.h"

namespace xlatrace::tools {

Result<std::string> HookFolder() {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string folder;
  if (const char* given = std::getenv("XLATRACE_HOOK_PATH"); given != nullptr && *given != '\0') {
    folder = fs::absolute(given, error).string();
  } else {
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    folder = (program.parent_path().parent_path() / "share" / "xlatrace" / "hook").string();
  }
  if (!Exists(folder + "/sitecustomize.py")) {
    return MakeError(
        fmt::format("the Python hook is missing: there is no '{}/sitecustomize.py'", folder),
        "install xlatrace again, or set XLATRACE_HOOK_PATH to the hook's folder");
  }
  return folder;
}

}  // namespace xlatrace::tools
