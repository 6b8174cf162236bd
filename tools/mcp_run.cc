// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/fold.h"
#include "tools/mcp_tools.h"

namespace xlatrace::tools {
namespace {

constexpr int kTimeLimitS = 60;
constexpr size_t kMaxOutputBytes = size_t{1} << 20;

// TEXT of `xlatrace: error: TEXT`. The answer begins with our own words instead.
std::string WithoutPrefix(std::string text) {
  constexpr std::string_view kPrefix = "xlatrace: error: ";
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  return text;
}

}  // namespace

Result<CapturedCommand> RunXlatrace(const McpContext& context, std::vector<std::string> command) {
  command.insert(command.begin(), context.program);
  return RunCaptured(command, {{std::string(kReadOnlyVariable), "1"}, {"NO_COLOR", "1"}},
                     kTimeLimitS * 1000, kMaxOutputBytes);
}

McpAnswer AnswerOf(const McpContext& context, std::string head, std::vector<std::string> command,
                   const std::vector<int>& results) {
  const std::string name = command.front();
  auto done = RunXlatrace(context, std::move(command));
  if (!done) return ErrorAnswer(done.error().message);
  if (done->timed_out) {
    return ErrorAnswer(fmt::format("xlatrace {} took longer than {} s", name, kTimeLimitS));
  }
  if (done->too_long) {
    return {head + fmt::format("; only the first {} bytes of the output, the rest is dropped",
                               kMaxOutputBytes),
            std::move(done->out)};
  }
  const bool is_result =
      done->status == 0 || std::find(results.begin(), results.end(), done->status) != results.end();
  if (!is_result) {
    std::string text = WithoutPrefix(std::move(done->error));
    if (!done->out.empty()) text += "\nOutput before the error:\n" + done->out;
    return ErrorAnswer(fmt::format("xlatrace {} failed with exit status {}:", name, done->status),
                       std::move(text));
  }
  if (done->status != 0) head += fmt::format(", exit status {}", done->status);
  return {std::move(head), std::move(done->out) + std::move(done->error)};
}

McpAnswer AnswerOfSql(const McpContext& context, std::string head, const McpFile& run,
                      const std::string& sql) {
  McpAnswer answer =
      AnswerOf(context, std::move(head), {"query", "--format=csv", "--", run.path, sql});
  return answer;
}

}  // namespace xlatrace::tools
