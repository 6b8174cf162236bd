// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "tools/choices.h"
#include "tools/command_data.h"
#include "tools/command_pages.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/version.h"

namespace xlatrace::tools {
namespace {

struct ManOptions {
  std::string command;  // Empty: the program.
  std::string format = "man";
  std::string folder;
};

Status WritePage(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string path = (std::filesystem::path(folder) / (name + ".1")).string();
  XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(path));
  XLATRACE_TRY(file.Append(text));
  return file.Commit();
}

Result<int> RunMan(const ManOptions& options, const ProgramData& data) {
  if (!options.folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.folder, error);
    if (error) {
      return MakeError(fmt::format("cannot create '{}': {}", options.folder, error.message()));
    }
    XLATRACE_TRY(WritePage(options.folder, "xlatrace", ManPage(data, kVersion)));
    for (const CommandData& command : data.commands) {
      XLATRACE_TRY(
          WritePage(options.folder, "xlatrace-" + command.name, ManPage(command, kVersion)));
    }
    return 0;
  }
  if (options.format == "md") {
    XLATRACE_TRY(PrintResult(MarkdownPage(data)));
    return 0;
  }
  const auto found =
      std::find_if(data.commands.begin(), data.commands.end(),
                   [&](const CommandData& command) { return command.name == options.command; });
  XLATRACE_TRY(PrintResult(found == data.commands.end() ? ManPage(data, kVersion)
                                                        : ManPage(*found, kVersion)));
  return 0;
}

}  // namespace

void AddManCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ManOptions>();
  CLI::App* command = app.add_subcommand("man", "Print the manual page of a command");
  std::vector<std::string> names;
  for (const CLI::App* other : app.get_subcommands({})) names.push_back(other->get_name());
  command->add_option("COMMAND", options->command, "The command; default: xlatrace as a whole")
      ->check(OneOf(names));
  command->add_option("--format", options->format, "man: one page; md: all commands in Markdown")
      ->check(OneOf({"man", "md"}))
      ->capture_default_str();
  command
      ->add_option("-o,--output", options->folder,
                   "Write the pages of all commands into this folder")
      ->type_name("DIR");
  command->footer(
      "Example:\n"
      "  xlatrace man summary | man -l -\n"
      "  xlatrace man -o ~/.local/share/man/man1");
  command->callback([&app, options, selected] {
    *selected = [&app, options] { return RunMan(*options, DescribeProgram(app)); };
  });
}

}  // namespace xlatrace::tools
