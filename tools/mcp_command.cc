// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/random.h>

#include "base/file.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/mcp_server.h"

namespace xlatrace::tools {
namespace {

// The random part of the marks of untrusted data, which no trace can contain on purpose.
Result<std::string> RandomMark() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    return MakeError(fmt::format("no random number: {}", std::strerror(errno)));
  }
  return fmt::format("{:016x}", number);
}

// InputLines of standard input, each at most kMaxRequestBytes.
class InputLines {
 public:
  // False at the end. A line that is too long is skipped, and `too_long` set.
  bool Next(std::string* line, bool* too_long) {
    line->clear();
    *too_long = false;
    while (true) {
      if (at_ == size_ && !Fill()) return !line->empty() || *too_long;
      const char* const begin = buffer_.data() + at_;
      const auto* end = static_cast<const char*>(std::memchr(begin, '\n', size_ - at_));
      const size_t count = end != nullptr ? static_cast<size_t>(end - begin) : size_ - at_;
      *too_long = *too_long || line->size() + count > kMaxRequestBytes;
      if (*too_long) {
        line->clear();
      } else {
        line->append(begin, count);
      }
      at_ += count + (end != nullptr ? 1 : 0);
      if (end != nullptr) return true;
    }
  }

 private:
  bool Fill() {
    ssize_t got = 0;
    do {
      got = read(STDIN_FILENO, buffer_.data(), buffer_.size());
    } while (got < 0 && errno == EINTR);
    at_ = 0;
    size_ = got > 0 ? static_cast<size_t>(got) : 0;
    return size_ > 0;
  }

  std::string buffer_ = std::string(size_t{64} << 10, '\0');
  size_t at_ = 0;
  size_t size_ = 0;
};

Result<int> RunMcp(const std::string& root_option) {
  std::error_code error;
  std::string root;
  if (!root_option.empty()) {
    root = std::filesystem::canonical(root_option, error).string();
    if (error || !IsDirectory(root))
      return MakeError(fmt::format("'{}' is not a folder", root_option));
  }
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return MakeError(fmt::format("reading /proc/self/exe: {}", error.message()));
  XLATRACE_ASSIGN(std::string mark, RandomMark());
  McpServer server(program, std::move(root), std::move(mark));
  if (isatty(STDIN_FILENO) != 0) {
    Note("reading JSON-RPC lines from standard input; an agent starts this command");
  }
  InputLines lines;
  std::string line;
  bool too_long = false;
  while (lines.Next(&line, &too_long)) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() && !too_long) continue;
    const std::string response = too_long ? McpServer::RespondToLongLine() : server.Respond(line);
    if (response.empty()) continue;
    XLATRACE_TRY(PrintResult(response + "\n"));
    if (std::ferror(stdout) != 0) break;  // The client is gone.
  }
  return 0;
}

}  // namespace

void AddMcpCommand(CLI::App& app, Command* selected) {
  auto root = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "mcp",
      "Serve runs to an agent, read only: Model Context Protocol on standard input and output");
  command->add_option("--root", *root, "Open only files below this folder")->type_name("DIR");
  command->footer("Example, for an agent's configuration:\n  xlatrace mcp --root runs");
  command->callback([root, selected] { *selected = [root] { return RunMcp(*root); }; });
}

}  // namespace xlatrace::tools
