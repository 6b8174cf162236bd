// SPDX-License-Identifier: Apache-2.0
#include "tools/launchers.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace xlatrace::tools {
namespace {

struct Launcher {
  std::string_view name;
  std::string_view what;  // After "'srun' ".
};

constexpr std::string_view kContainer = "starts the program in a container";
constexpr std::string_view kRemote = "starts the program by another process, maybe elsewhere";
constexpr std::string_view kBatch = "leaves the program to a batch system";
constexpr std::string_view kRights = "gives the program other rights and no LD_PRELOAD";

constexpr Launcher kLaunchers[] = {
    {"docker", kContainer},
    {"podman", kContainer},
    {"nerdctl", kContainer},
    {"docker-compose", kContainer},
    {"singularity", kContainer},
    {"apptainer", kContainer},
    {"enroot", kContainer},
    {"kubectl", kContainer},
    {"oc", kContainer},
    {"ssh", kRemote},
    {"srun", kRemote},
    {"pdsh", kRemote},
    {"sbatch", kBatch},
    {"bsub", kBatch},
    {"qsub", kBatch},
    {"sudo", kRights},
    {"doas", kRights},
    {"pkexec", kRights},
};

constexpr std::string_view kWrappers[] = {"env",    "nice",   "nohup",  "time",    "timeout",
                                          "stdbuf", "setsid", "ionice", "taskset", "exec"};

std::string BaseName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Options, variables and figures of a wrapper: "-n", "A=b", "30s", "0x3".
bool IsWrapperArgument(const std::string& word) {
  return word.empty() || word.front() == '-' || word.find('=') != std::string::npos ||
         std::isdigit(static_cast<unsigned char>(word.front())) != 0;
}

// The place of the program that wrappers in front start.
size_t SkipWrappers(const std::vector<std::string>& command) {
  size_t at = 0;
  while (at < command.size()) {
    const std::string name = BaseName(command[at]);
    if (std::find(std::begin(kWrappers), std::end(kWrappers), name) == std::end(kWrappers)) break;
    ++at;
    while (at < command.size() && IsWrapperArgument(command[at])) ++at;
  }
  return at;
}

// Does this look like the beginning of the command that the launcher starts?
bool LooksLikeProgram(const std::string& word) {
  const std::string name = BaseName(word);
  const std::string_view view = name;
  if (word.find(' ') != std::string::npos) return false;  // A command line for a shell elsewhere.
  if (view.ends_with(".py") || view.ends_with(".sh")) return true;
  for (const std::string_view program : {"bash", "sh", "torchrun", "uv", "conda", "poetry"}) {
    if (view == program) return true;
  }
  return view.starts_with("python") && view.find_first_not_of("0123456789.", 6) == view.npos;
}

std::string Quoted(const std::string& word) {
  constexpr std::string_view kPlain = "_-+=./:,@%^";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The command with ours inside; a general one where it is not clear where that is.
std::string Inside(const std::vector<std::string>& command, size_t launcher) {
  const auto program = std::find_if(command.begin() + static_cast<ptrdiff_t>(launcher) + 1,
                                    command.end(), LooksLikeProgram);
  std::string inside;
  for (auto word = command.begin(); word != command.end(); ++word) {
    if (word == program) inside += " xlatrace record --";
    inside += " " + Quoted(*word);
  }
  constexpr size_t kMaxCommandLength = 300;
  if (program == command.end() || inside.size() > kMaxCommandLength) {
    return fmt::format(" {} ... xlatrace record -- python train.py", BaseName(command[launcher]));
  }
  return inside;
}

}  // namespace

Status RefuseLaunchers(const std::vector<std::string>& command) {
  const size_t at = SkipWrappers(command);
  if (at == command.size()) return {};
  const std::string name = BaseName(command[at]);
  for (const Launcher& launcher : kLaunchers) {
    if (name != launcher.name) continue;
    return MakeError(fmt::format("'{}' {}, where this recorder cannot follow", name, launcher.what),
                     fmt::format("put xlatrace inside:{}", Inside(command, at)), ErrorCode::kUsage);
  }
  return {};
}

}  // namespace xlatrace::tools
