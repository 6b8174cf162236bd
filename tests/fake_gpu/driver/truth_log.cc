// SPDX-License-Identifier: Apache-2.0
#include "driver/truth_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>

namespace fakegpu {
namespace {

constexpr size_t kWindow = 4 << 20;
constexpr char kHeader[] =
    "what\tthread\tcorrelation\tdevice\tcontext\tstream\tstart_ns\tend_ns\tgraph\tnode\t"
    "original_node\tcreated_node\tname\tgrid\tblock\tdynamic_smem\tstatic_smem\tregisters\tbytes\t"
    "copy_kind\tvalue\tapi\tlabel\n";

std::string LogPath(const char* suffix, const char* variable = "FAKE_GPU_LOG") {
  const char* prefix = std::getenv(variable);
  if (prefix == nullptr || *prefix == '\0') return "";
  return std::string(prefix) + "." + std::to_string(getpid()) + suffix;
}

// The lines, in a window of the file that moves on.
struct LogFile {
  int fd = -1;
  char* window = nullptr;
  uint64_t window_at = 0;  // offset of the window in the file
  size_t used = 0;
  pid_t owner = getpid();

  bool Open() {
    const std::string path = LogPath(".tsv");
    if (path.empty()) return false;
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
      std::fprintf(stderr, "fake GPU: cannot write %s\n", path.c_str());
      return false;
    }
    Map();
    Append(kHeader, sizeof kHeader - 1);
    return true;
  }

  void Map() {
    window = nullptr;
    if (ftruncate(fd, static_cast<off_t>(window_at + kWindow)) != 0) return;
    void* mapped = mmap(nullptr, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        static_cast<off_t>(window_at));
    if (mapped != MAP_FAILED) window = static_cast<char*>(mapped);
  }

  void Append(const char* text, size_t length) {
    while (length != 0 && window != nullptr) {
      const size_t part = std::min(length, kWindow - used);
      std::memcpy(window + used, text, part);
      used += part;
      text += part;
      length -= part;
      if (used == kWindow) {
        munmap(window, kWindow);
        window_at += kWindow;
        used = 0;
        Map();
      }
    }
  }
};

// Sums, as text of fixed width in a mapped file: always readable, also after a kill.
struct Counts {
  enum { kKernel, kMemcpy, kMemset, kBytes, kDeviceNs, kHowMany };
  static constexpr size_t kWidth = 32;  // "memcpy    00000000000000000000\n", padded
  char* text = nullptr;
  uint64_t values[kHowMany] = {};

  bool Open() {
    const std::string path = LogPath(".counts", "FAKE_GPU_COUNTS");
    if (path.empty()) return false;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, kHowMany * kWidth) != 0) return false;
    void* mapped = mmap(nullptr, kHowMany * kWidth, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED) return false;
    text = static_cast<char*>(mapped);
    static const char* const names[] = {"kernel", "memcpy", "memset", "bytes", "device_ns"};
    for (int i = 0; i < kHowMany; ++i) {
      char line[kWidth + 1];
      std::snprintf(line, sizeof line, "%-10s %020d\n", names[i], 0);
      std::memcpy(text + i * kWidth, line, kWidth);
    }
    return true;
  }

  void Add(int which, uint64_t amount) {
    uint64_t value = values[which] += amount;
    for (char* digit = text + which * kWidth + kWidth - 2; value != 0; --digit, value /= 10) {
      *digit = static_cast<char>('0' + value % 10);
    }
  }

  void Add(const FakeGpuActivity& a) {
    Add(a.what == FAKE_GPU_KERNEL ? kKernel : a.what == FAKE_GPU_MEMCPY ? kMemcpy : kMemset, 1);
    Add(kBytes, a.bytes);
    Add(kDeviceNs, a.end - a.start);
  }
};

Counts* counts = nullptr;
LogFile* log_file = nullptr;
std::atomic<const char* (*)()> label_source{nullptr};
bool log_opened = false;

char* PutNumber(char* to, uint64_t value) {
  char digits[20];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (n != 0) *to++ = digits[--n];
  return to;
}

char* PutColumn(char* to, uint64_t value) {
  to = PutNumber(to, value);
  *to++ = '\t';
  return to;
}

char* PutTriple(char* to, const uint32_t (&value)[3]) {
  to = PutNumber(to, value[0]);
  *to++ = 'x';
  to = PutNumber(to, value[1]);
  *to++ = 'x';
  to = PutNumber(to, value[2]);
  *to++ = '\t';
  return to;
}

char* PutText(char* to, const char* text, size_t room) {
  const size_t length = std::min(std::strlen(text), room);
  std::memcpy(to, text, length);
  return to + length;
}

// The rest of the last window is no part of the log.
__attribute__((destructor)) void CutLog() {
  if (log_file == nullptr || log_file->window == nullptr) return;
  if (log_file->owner != getpid()) return;  // a fork child ends; the file is its parent's
  if (ftruncate(log_file->fd, static_cast<off_t>(log_file->window_at + log_file->used)) != 0)
    return;
  // A thread that still launches kernels now runs after the end of the program.
  log_opened = true;
  log_file = nullptr;
}

}  // namespace

const char* Label() {
  const auto source = label_source.load(std::memory_order_acquire);
  return source != nullptr ? source() : "";
}

void SetLabelSource(const char* (*source)()) {
  label_source.store(source, std::memory_order_release);
}

void LogActivity(const FakeGpuActivity& a, uint32_t thread, const char* api, const char* label) {
  if (!log_opened) {
    log_opened = true;
    auto* file = new LogFile;
    if (file->Open()) log_file = file;
    auto* sums = new Counts;
    if (sums->Open()) counts = sums;
  }
  if (counts != nullptr) counts->Add(a);
  if (log_file == nullptr) return;
  char line[8192];
  char* to = line;
  to = PutText(to,
               a.what == FAKE_GPU_KERNEL   ? "kernel"
               : a.what == FAKE_GPU_MEMCPY ? "memcpy"
                                           : "memset",
               16);
  *to++ = '\t';
  to = PutColumn(to, thread);
  to = PutColumn(to, a.correlation);
  to = PutColumn(to, a.device);
  to = PutColumn(to, a.context_id);
  to = PutColumn(to, a.stream_id);
  to = PutColumn(to, a.start);
  to = PutColumn(to, a.end);
  to = PutColumn(to, a.graph);
  to = PutColumn(to, a.node);
  to = PutColumn(to, a.original_node);
  to = PutColumn(to, a.created_node);
  if (a.name != nullptr) to = PutText(to, a.name, 6000);
  *to++ = '\t';
  to = PutTriple(to, a.grid);
  to = PutTriple(to, a.block);
  to = PutColumn(to, a.dynamic_smem);
  to = PutColumn(to, a.static_smem);
  to = PutColumn(to, a.registers);
  to = PutColumn(to, a.bytes);
  to = PutColumn(to, static_cast<uint64_t>(a.copy_kind));
  to = PutColumn(to, a.value);
  to = PutText(to, api, 200);
  *to++ = '\t';
  to = PutText(to, label, 1000);
  *to++ = '\n';
  log_file->Append(line, static_cast<size_t>(to - line));
}

void Note(const char* format, ...) {
  static const bool verbose = [] {
    const char* value = std::getenv("FAKE_GPU_VERBOSE");
    return value != nullptr && *value == '1';
  }();
  static const std::string& path = *new std::string(LogPath(".notes"));  // outlives exit handlers
  if (!verbose && path.empty()) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = std::vsnprintf(text, sizeof text - 1, format, arguments);
  va_end(arguments);
  length = std::min(length, static_cast<int>(sizeof text) - 2);
  text[length++] = '\n';
  if (verbose) {
    std::fprintf(stderr, "fake GPU: %.*s", length, text);
  }
  if (path.empty()) return;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (write(fd, text, static_cast<size_t>(length)) < 0) return;
  close(fd);
}

}  // namespace fakegpu
