// SPDX-License-Identifier: Apache-2.0

// Arguments of a tool of `xlatrace mcp`: their JSON schema, and the check of a call against it.
//
// Thread-safety: plain values.

#ifndef XLATRACE_TOOLS_MCP_ARGUMENTS_H_
#define XLATRACE_TOOLS_MCP_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

namespace xlatrace::tools {

using McpJson = nlohmann::json;
using McpReply = nlohmann::ordered_json;

// An error of a JSON-RPC request: https://www.jsonrpc.org/specification, section 5.1.
struct RequestError {
  int code;
  std::string message;
};
inline constexpr int kParseErrorCode = -32700;
inline constexpr int kInvalidRequestCode = -32600;
inline constexpr int kMethodNotFoundCode = -32601;
inline constexpr int kInvalidParamsCode = -32602;
inline constexpr int kInternalErrorCode = -32603;

enum class ArgumentType { kText, kTexts, kFlag, kInteger };

struct McpParameter {
  std::string_view name;
  ArgumentType type = ArgumentType::kText;
  bool required = false;
  std::string_view description;
};

class McpArguments {
 public:
  bool Has(std::string_view name) const { return values_.contains(std::string(name)); }
  std::string Text(std::string_view name) const;  // Empty without the argument.
  // A single text is returned as a list of one element.
  std::vector<std::string> Texts(std::string_view name) const;
  bool Flag(std::string_view name) const;
  int64_t Integer(std::string_view name) const;

 private:
  friend tl::expected<McpArguments, RequestError> CheckArguments(
      const std::vector<McpParameter>& parameters, const McpJson& arguments);
  std::map<std::string, std::vector<std::string>> values_;  // Flags and integers as text.
};

// The JSON schema of the parameters, with `continue`, which every tool has.
McpReply SchemaOf(const std::vector<McpParameter>& parameters);

// Checks `arguments` (an object): names and types must be valid, and all required arguments must be
// present unless `continue` is.
tl::expected<McpArguments, RequestError> CheckArguments(const std::vector<McpParameter>& parameters,
                                                        const McpJson& arguments);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MCP_ARGUMENTS_H_
