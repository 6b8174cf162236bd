// SPDX-License-Identifier: Apache-2.0

// Files that `xlatrace mcp` has opened, each with a handle (r1, r2, ...).
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_MCP_FILES_H_
#define XLATRACE_TOOLS_MCP_FILES_H_

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xlatrace::tools {

struct McpFile {
  std::string handle;
  std::string path;  // Absolute, links resolved.
  bool is_run = false;
};

class McpFiles {
 public:
  // Only files below `root` can be opened; empty: all.
  explicit McpFiles(std::string root) : root_(std::move(root)) {}

  // The file of a handle or path. A path gets a handle when it is opened first. Errors are
  // sentences for the result: the file does not exist, lies outside of the root, or is a recording
  // that was not imported.
  Result<McpFile> Open(const std::string& handle_or_path);

 private:
  std::string root_;
  std::vector<McpFile> files_;
};

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MCP_FILES_H_
