// SPDX-License-Identifier: Apache-2.0

// The messages of `xlatrace mcp`: JSON-RPC 2.0 of the Model Context Protocol, one message per line
// (https://modelcontextprotocol.io/specification, transport stdio). Both kinds of revisions are
// supported: those with `initialize`, and 2026-07-28, where each request states its version.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_MCP_SERVER_H_
#define XLATRACE_TOOLS_MCP_SERVER_H_

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

#include "tools/mcp_answer.h"
#include "tools/mcp_arguments.h"
#include "tools/mcp_tools.h"

namespace xlatrace::tools {

// Bytes of the result of one tool call: about 600 tokens for an agent.
inline constexpr size_t kMaxResultBytes = 2048;
// A longer line is an error of the request. SQL and patterns take a few hundred bytes.
inline constexpr size_t kMaxRequestBytes = size_t{256} << 10;

class McpServer {
 public:
  // `mark` is a random text for the marks of untrusted data.
  McpServer(std::string program, std::string root, std::string mark);

  // The response to a line, without a newline; empty if there is none (notifications).
  std::string Respond(std::string_view line);
  // The response to a line that is longer than kMaxRequestBytes.
  static std::string RespondToLongLine();

 private:
  using Reply = tl::expected<McpReply, RequestError>;

  McpReply RespondToMessage(const McpJson& message);
  Reply ResultOf(const std::string& method, const McpJson& params, bool modern);
  McpReply Introduction() const;
  Reply Initialize(const McpJson& params) const;
  Reply CallTool(const McpJson& params);

  McpContext context_;
  McpPages pages_;
};

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MCP_SERVER_H_
