// SPDX-License-Identifier: Apache-2.0

// `--user-code PATH`: files that are the user's although they are installed like a package.
//
// The option sets the variable, so that it reaches every place that attributes a run, and the runs
// that a command makes of traces.

#ifndef XLATRACE_TOOLS_USER_CODE_OPTION_H_
#define XLATRACE_TOOLS_USER_CODE_OPTION_H_

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace xlatrace::tools {

inline constexpr const char* kUserCodeVariable = "XLATRACE_USER_CODE";
inline constexpr std::string_view kUserCodeKey = "user_code";  // In run_info.

inline void AddUserCodeOption(CLI::App* command) {
  const auto declare = [](const std::vector<std::string>& paths) {
    std::string declared;
    for (const std::string& path : paths) {
      const bool is_package = path.find('/') == std::string::npos;
      declared += declared.empty() ? "" : ":";
      declared += is_package ? path : std::filesystem::absolute(path).lexically_normal().string();
    }
    setenv(kUserCodeVariable, declared.c_str(), 1);
  };
  command
      ->add_option_function<std::vector<std::string>>(
          "--user-code", declare, "Folders, files or names of installed packages that are your own")
      ->type_name("PATH");
}

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_USER_CODE_OPTION_H_
