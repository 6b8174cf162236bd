// SPDX-License-Identifier: Apache-2.0

// The tools of `xlatrace mcp`. Each runs a command of this program in a child process. If a file
// makes the command fail, hang or use too much memory, the server goes on.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_MCP_TOOLS_H_
#define XLATRACE_TOOLS_MCP_TOOLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/subprocess.h"
#include "tools/mcp_answer.h"
#include "tools/mcp_arguments.h"
#include "tools/mcp_files.h"

namespace xlatrace::tools {

struct McpContext {
  std::string program;  // Path of this program.
  McpFiles files;
};

struct McpTool {
  std::string_view name;
  std::string_view description;
  std::vector<McpParameter> parameters;
  McpAnswer (*answer)(McpContext& context, const McpArguments& arguments);
};

// At most 12: each costs an agent tokens in every conversation.
const std::vector<McpTool>& McpTools();

// --- for the tools ------------------------------------------------------------------------------

// Runs `xlatrace COMMAND...`, which writes no file.
Result<CapturedCommand> RunXlatrace(const McpContext& context, std::vector<std::string> command);

// The output of `xlatrace COMMAND...` below `head`, or an error with the reason. Exit statuses in
// `results` are no errors, as 0.
McpAnswer AnswerOf(const McpContext& context, std::string head, std::vector<std::string> command,
                   const std::vector<int>& results = {});

// Rows of one of our SQL statements as CSV, or an error with the reason.
McpAnswer AnswerOfSql(const McpContext& context, std::string head, const McpFile& run,
                      const std::string& sql);

McpAnswer AnswerTree(McpContext& context, const McpArguments& arguments);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MCP_TOOLS_H_
