// SPDX-License-Identifier: Apache-2.0
#include "tools/gpu_probe.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <sys/wait.h>

namespace xlatrace::tools {
namespace {

void WriteFact(int fd, const std::string& key, const std::string& value) {
  std::string line = key + "=" + value;
  for (char& c : line) c = c == '\n' ? ' ' : c;
  line += '\n';
  const ssize_t written = write(fd, line.data(), line.size());
  static_cast<void>(written);
}

std::string PathOf(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  char* resolved = realpath(map->l_name, nullptr);
  std::string path = resolved == nullptr ? map->l_name : resolved;
  free(resolved);
  return path;
}

void* OpenCupti(const std::vector<std::string>& paths) {
  std::vector<std::string> candidates;
  if (const char* given = std::getenv("XLATRACE_CUPTI"); given != nullptr && *given != '\0') {
    return dlopen(given, RTLD_LAZY);
  }
  candidates = paths;
  const char* home = std::getenv("CUDA_HOME");
  const std::string toolkit = home == nullptr || *home == '\0' ? "/usr/local/cuda" : home;
  for (const std::string& folder :
       {std::string(), toolkit + "/lib64/", toolkit + "/extras/CUPTI/lib64/"}) {
    for (const char* name :
         {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"}) {
      candidates.push_back(folder + name);
    }
  }
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_LAZY)) return handle;
  }
  return nullptr;
}

void Child(int fd, const std::vector<std::string>& cupti_paths) {
  alarm(30);  // A driver that hangs is none.
  unsetenv("CUDA_INJECTION64_PATH");
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
  }
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    const char* error = dlerror();
    WriteFact(fd, "driver_error", error == nullptr ? "" : error);
    WriteFact(fd, "done", "1");
    return;
  }
  WriteFact(fd, "driver_path", PathOf(driver));
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto version = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  const int result = init == nullptr ? -1 : init(0);
  WriteFact(fd, "init_result", std::to_string(result));
  int number = 0;
  if (version != nullptr && version(&number) == 0) {
    WriteFact(fd, "driver_version", std::to_string(number));
  }
  if (result == 0 && count != nullptr && count(&number) == 0) {
    WriteFact(fd, "devices", std::to_string(number));
  }
  if (void* cupti = OpenCupti(cupti_paths)) {
    WriteFact(fd, "cupti_path", PathOf(cupti));
    const auto get = reinterpret_cast<int (*)(uint32_t*)>(dlsym(cupti, "cuptiGetVersion"));
    uint32_t api = 0;
    WriteFact(fd, "cupti_result", std::to_string(get == nullptr ? -1 : get(&api)));
    WriteFact(fd, "cupti_version", std::to_string(api));
  }
  WriteFact(fd, "done", "1");
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || text.size() > 65536) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

GpuProbe ProbeGpu(const std::vector<std::string>& cupti_paths) {
  GpuProbe probe;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return probe;
  const pid_t child = fork();
  if (child == 0) {
    Child(ends[1], cupti_paths);
    _exit(0);
  }
  close(ends[1]);
  const std::string text = child < 0 ? std::string() : ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (key == "driver_path") probe.driver_path = value;
    if (key == "driver_error") probe.driver_error = value;
    if (key == "init_result") probe.init_result = std::atoi(value.c_str());
    if (key == "driver_version") probe.driver_version = std::atoi(value.c_str());
    if (key == "devices") probe.devices = std::atoi(value.c_str());
    if (key == "cupti_path") probe.cupti_path = value;
    if (key == "cupti_result") probe.cupti_result = std::atoi(value.c_str());
    if (key == "cupti_version") probe.cupti_version = std::atoi(value.c_str());
    if (key == "done") probe.answered = true;
  }
  return probe;
}

std::string ElfInterpreter(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(
        static_cast<std::streamoff>(header.e_phoff + sizeof(segment) * static_cast<size_t>(i)));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return {};
    if (segment.p_type != PT_INTERP || segment.p_filesz == 0 || segment.p_filesz > 4096) continue;
    std::string name(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(name.data(), static_cast<std::streamsize>(name.size()))) return {};
    return name.substr(0, name.find('\0'));
  }
  return {};
}

}  // namespace xlatrace::tools
