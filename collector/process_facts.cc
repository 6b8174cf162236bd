// SPDX-License-Identifier: Apache-2.0
#include "collector/process_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/masking.h"
#include "collector/recording_place.h"

namespace xlatrace::collector {
namespace {

std::vector<std::string> Arguments() {
  constexpr size_t kMaxBytes = 64 << 10;
  std::vector<std::string> arguments;
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return arguments;
  std::string bytes;
  char buffer[4096];
  ssize_t got = 0;
  while (bytes.size() < kMaxBytes && (got = read(fd, buffer, sizeof(buffer))) > 0) {
    bytes.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\0', at), bytes.size());
    arguments.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

// The first of these variables that is set.
std::string FirstSet(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

// First line of a small file; empty when it cannot be read.
std::string FirstLine(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[256];
  const ssize_t got = read(fd, text, sizeof(text));
  close(fd);
  const std::string_view read_text(text, got > 0 ? static_cast<size_t>(got) : 0);
  return std::string(read_text.substr(0, read_text.find('\n')));
}

// Where XLA is, if it is in the process: JAX's plugin or library, TensorFlow's.
std::string XlaLibrary() {
  std::string library;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        const std::string_view name = path.substr(path.rfind('/') + 1);
        for (const char* xla :
             {"xla_cuda_plugin", "libjax_common", "xla_extension", "libtensorflow"}) {
          if (name.substr(0, std::string_view(xla).size()) != xla) continue;
          *static_cast<std::string*>(found) = path;
          return 1;
        }
        return 0;
      },
      &library);
  return library;
}

// "0.10.2" of the package that is installed beside a library of XLA's: jaxlib-0.10.2.dist-info.
std::string InstalledVersion(const std::string& library, std::string_view package) {
  size_t end = std::string::npos;
  for (const char* folder : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = library.find(folder);
    if (at != std::string::npos) end = at + std::string_view(folder).size();
  }
  if (end == std::string::npos) return {};
  DIR* const folder = opendir(library.substr(0, end).c_str());
  if (folder == nullptr) return {};
  std::string version;
  constexpr std::string_view kSuffix = ".dist-info";
  while (const dirent* entry = readdir(folder)) {
    std::string_view name = entry->d_name;
    if (name.size() <= package.size() + 1 + kSuffix.size() ||
        name.substr(0, package.size()) != package || name[package.size()] != '-' ||
        name.substr(name.size() - kSuffix.size()) != kSuffix) {
      continue;
    }
    name.remove_suffix(kSuffix.size());
    version = name.substr(package.size() + 1);
    break;
  }
  closedir(folder);
  return version;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string ThreadName(uint32_t thread) {
  return FirstLine("/proc/self/task/" + std::to_string(thread) + "/comm");
}

bool IsUnderDebugger() {
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[2048];  // The line is among the first ten.
  const ssize_t got = read(fd, text, sizeof(text));
  close(fd);
  const std::string_view status(text, got > 0 ? static_cast<size_t>(got) : 0);
  constexpr std::string_view kTracer = "\nTracerPid:\t";
  const size_t at = status.find(kTracer);
  return at != std::string_view::npos && at + kTracer.size() < status.size() &&
         status[at + kTracer.size()] != '0';
}

void ReadProcessFacts(const FactSink& sink) {
  sink("pid", std::to_string(getpid()));
  sink("ppid", std::to_string(getppid()));
  sink("host", HostName());
  sink("token", JobToken());
  sink("command", MaskedCommand(Arguments()));
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size > 0) sink("executable", std::string_view(path, static_cast<size_t>(size)));
  // Set by the preload library if `record` requested dumps: a folder for each process.
  if (const char* dump = std::getenv("XLATRACE_DUMP"); dump != nullptr && *dump == '/') {
    sink("dump_folder", std::string(dump) + "/" + std::to_string(getpid()));
  }
  if (const std::string library = XlaLibrary(); !library.empty()) {
    sink("xla", "1");
    for (const char* package : {"jaxlib", "tensorflow"}) {
      const std::string version = InstalledVersion(library, package);
      if (version.empty()) continue;
      sink(std::string(package) + "_version", version);
      break;
    }
    const char* flags = std::getenv("XLA_FLAGS");
    sink("xla_flags", flags == nullptr || *flags == '\0' ? "none" : flags);
  }
  const std::string driver = FirstLine("/sys/module/nvidia/version");
  if (!driver.empty()) sink("nvidia_driver_version", driver);
  const std::string rank =
      FirstSet({"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK"});
  const std::string local_rank =
      FirstSet({"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK"});
  if (IsNumber(rank)) sink("rank", rank);
  if (IsNumber(local_rank)) sink("local_rank", local_rank);
}

}  // namespace xlatrace::collector
