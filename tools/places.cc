// SPDX-License-Identifier: Apache-2.0
#include "tools/places.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"

namespace xlatrace::tools {
namespace {

// PREFIX of PREFIX/bin/xlatrace, links resolved. Without /proc (a bare chroot), the auxiliary
// vector has the executed path.
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

// The loader has no quotes (ld.so(8)), so blanks and colons end a path.
bool LoaderCanName(std::string_view path) {
  return path.find_first_of(" :\t\n") == std::string_view::npos;
}

std::string TemporaryFolder() {
  const char* given = std::getenv("TMPDIR");
  return given != nullptr && *given == '/' && LoaderCanName(given) ? given : "/tmp";
}

// The reason for which another user could replace a file in `folder`; empty if none can.
std::string WhyUnsafe(const std::string& temporary, const std::string& folder) {
  struct stat status {};
  if (stat(temporary.c_str(), &status) != 0) return std::strerror(errno);
  const bool shared = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if ((status.st_uid != 0 && status.st_uid != getuid()) ||
      (shared && (status.st_mode & S_ISVTX) == 0)) {
    return fmt::format("other users may rename what is in '{}'", temporary);
  }
  if (lstat(folder.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "it is not a folder";
  if (status.st_uid != getuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users may write to it";
  return {};
}

std::vector<std::filesystem::path> LibraryPlaces(const char* name) {
  const std::filesystem::path prefix = Prefix();
  std::vector<std::filesystem::path> places;
  for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    places.push_back(prefix / folder / name);
  }
  return places;
}

// Absolute, links resolved; empty: none is there.
std::string FirstLibrary(const std::vector<std::filesystem::path>& candidates) {
  for (const std::filesystem::path& candidate : candidates) {
    std::error_code error;
    if (!IsRegularFile(candidate.string())) continue;
    const std::filesystem::path library = std::filesystem::canonical(candidate, error);
    if (!error) return library.string();
  }
  return {};
}

}  // namespace

std::string StacksLibrary() { return FirstLibrary(LibraryPlaces("libxlatrace_stacks.so")); }

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
  std::vector<fs::path> candidates = LibraryPlaces(kName);
  if (const char* given = std::getenv("XLATRACE_LIB"); given != nullptr && *given != '\0') {
    candidates = {given, fs::path(given) / kName};
  }
  if (std::string library = FirstLibrary(candidates); !library.empty()) return library;
  return MakeError(
      fmt::format("libxlatrace.so is missing: it is not at '{}'", candidates.front().string()),
      "install xlatrace again, or set XLATRACE_LIB to the library's place");
}

Result<std::string> PreloadName(const std::string& library) {
  if (LoaderCanName(library)) return library;
  const std::string temporary = TemporaryFolder();
  const std::string folder = fmt::format("{}/xlatrace-{}", temporary, getuid());
  const auto error = [&](const std::string& why) {
    return MakeError(fmt::format("LD_PRELOAD cannot name '{}': there is a blank or a colon in it, "
                                 "and there can be no link to it in '{}': {}",
                                 library, folder, why),
                     "install xlatrace into a folder without one, or set TMPDIR to a folder of "
                     "your own");
  };
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return error(std::strerror(errno));
  if (const std::string why = WhyUnsafe(temporary, folder); !why.empty()) return error(why);
  // One folder per library, so that the link has the name by which users know the library.
  const std::string place = fmt::format("{}/preload-{}", folder, HashText(Hash(library)));
  if (mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) return error(std::strerror(errno));
  const std::string link = place + "/libxlatrace.so";
  std::error_code failed;
  if (std::filesystem::read_symlink(link, failed) == library) return link;
  // Another process may use or make the link at this moment, so it is replaced in one step.
  const std::string made = fmt::format("{}.{}", link, getpid());
  unlink(made.c_str());
  if (symlink(library.c_str(), made.c_str()) != 0 || rename(made.c_str(), link.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    unlink(made.c_str());
    return error(why);
  }
  return link;
}

}  // namespace xlatrace::tools
