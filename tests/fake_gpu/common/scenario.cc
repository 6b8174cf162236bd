// SPDX-License-Identifier: Apache-2.0
#include "common/scenario.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fakegpu {
namespace {

[[noreturn]] void Refuse(const std::string& path, int line, const std::string& why) {
  std::fprintf(stderr, "fake GPU: scenario %s:%d: %s\n", path.c_str(), line, why.c_str());
  _exit(70);
}

// Words separated by blanks; "..." keeps blanks; # begins a comment.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  size_t i = 0;
  while (i < text.size()) {
    if (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
      ++i;
    } else if (text[i] == '#') {
      break;
    } else if (text[i] == '"') {
      const size_t end = text.find('"', i + 1);
      words.push_back(text.substr(i + 1, end - i - 1));
      i = end == std::string::npos ? text.size() : end + 1;
    } else {
      const size_t end = std::min(text.find_first_of(" \t\r", i), text.size());
      words.push_back(text.substr(i, end - i));
      i = end;
    }
  }
  return words;
}

// "cupti*" stands for every function that begins so.
bool Names(const Fault& fault, std::string_view function) {
  std::string_view name = fault.function;
  if (!name.ends_with('*')) return name == function;
  name.remove_suffix(1);
  return function.starts_with(name);
}

bool ParseNumber(const std::string& text, uint64_t* number) {
  char* end = nullptr;
  *number = std::strtoull(text.c_str(), &end, 0);
  return !text.empty() && *end == '\0';
}

}  // namespace

const Scenario& Scenario::Get() {
  static const Scenario* const scenario = [] {
    auto* made = new Scenario;
    const char* path = std::getenv("FAKE_GPU_SCENARIO");
    if (path != nullptr && *path != '\0') made->Read(path);
    return made;
  }();
  return *scenario;
}

void Scenario::Read(const std::string& path) {
  std::ifstream file(path);
  if (!file) Refuse(path, 0, "cannot be read");
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    Line line{number, Words(text)};
    const auto& words = line.words;
    if (words.empty()) continue;
    if (words[0] != "fail" && words[0] != "hang" && words[0] != "delay") {
      if (words[0] != "cupti" && words[0] != "driver" && words[0] != "nvtx" &&
          words[0] != "kernel" && words[0] != "noise") {
        Refuse(path, number, "unknown instruction '" + words[0] + "'");
      }
      lines_.push_back(std::move(line));
      continue;
    }
    if (words.size() < 2) Refuse(path, number, "names no function");
    auto fault = std::make_unique<Fault>();
    fault->function = words[1];
    fault->hang = words[0] == "hang";
    size_t at = 2;
    if (words[0] == "delay") {
      if (at >= words.size() || !ParseNumber(words[at++], &fault->delay_ms)) {
        Refuse(path, number, "delay needs milliseconds");
      }
    }
    uint64_t error = 0;
    for (; at + 1 < words.size(); at += 2) {
      uint64_t value = 0;
      if (!ParseNumber(words[at + 1], &value)) Refuse(path, number, "no number: " + words[at + 1]);
      if (words[at] == "call") {
        fault->first = value;
      } else if (words[at] == "times") {
        fault->times = value;
      } else if (words[at] == "error") {
        error = value;
      } else {
        Refuse(path, number, "unknown word '" + words[at] + "'");
      }
    }
    if (at != words.size()) Refuse(path, number, "no value for '" + words.back() + "'");
    if (words[0] == "fail" && error == 0) Refuse(path, number, "fail needs 'error CODE'");
    fault->error = static_cast<int>(error);
    faults_.push_back(std::move(fault));
  }
}

const Fault* Scenario::Hit(std::string_view function) const {
  for (const auto& fault : faults_) {
    if (!Names(*fault, function)) continue;
    const uint64_t call = ++fault->calls;
    if (call < fault->first || (fault->times != 0 && call >= fault->first + fault->times)) continue;
    if (fault->hang) {
      for (;;) pause();
    }
    if (fault->delay_ms != 0) usleep(static_cast<useconds_t>(fault->delay_ms * 1000));
    if (fault->error != 0) return fault.get();
  }
  return nullptr;
}

bool Scenario::Concerns(std::string_view function) const {
  for (const auto& fault : faults_) {
    if (Names(*fault, function)) return true;
  }
  return false;
}

bool Scenario::HasFaultsFor(std::string_view prefix) const {
  for (const auto& fault : faults_) {
    std::string_view name = fault->function;
    if (name.starts_with(prefix)) return true;
    if (name.ends_with('*') && prefix.starts_with(name.substr(0, name.size() - 1))) return true;
  }
  return false;
}

std::vector<std::vector<std::string>> Scenario::Lines(std::vector<std::string_view> words) const {
  std::vector<std::vector<std::string>> found;
  for (const Line& line : lines_) {
    if (line.words.size() < words.size()) continue;
    bool same = true;
    for (size_t i = 0; i < words.size(); ++i) same = same && line.words[i] == words[i];
    if (same)
      found.emplace_back(line.words.begin() + static_cast<long>(words.size()), line.words.end());
  }
  return found;
}

uint64_t Scenario::Number(std::vector<std::string_view> words, uint64_t otherwise) const {
  for (const auto& rest : Lines(words)) {
    uint64_t number = 0;
    if (!rest.empty() && ParseNumber(rest[0], &number)) return number;
  }
  return otherwise;
}

}  // namespace fakegpu
