// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/choices.h"
#include "tools/command_data.h"
#include "tools/commands.h"
#include "tools/completion_script.h"
#include "tools/console.h"

namespace xlatrace::tools {

void AddCompletionCommand(CLI::App& app, Command* selected) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print the completion script of a shell: bash, zsh, fish");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(OneOf({"bash", "zsh", "fish"}));
  command->footer(
      "Example:\n"
      "  xlatrace completion bash\n"
      "Packages and wheels install these scripts. To load one by hand:\n"
      "  eval \"$(xlatrace completion bash)\"           # in ~/.bashrc\n"
      "  source <(xlatrace completion zsh)            # in ~/.zshrc, after compinit\n"
      "  xlatrace completion fish | source            # in config.fish");
  command->callback([&app, shell, selected] {
    *selected = [&app, shell]() -> Result<int> {
      const ProgramData data = DescribeProgram(app);
      XLATRACE_TRY(PrintResult(*shell == "bash"  ? BashCompletion(data)
                               : *shell == "zsh" ? ZshCompletion(data)
                                                 : FishCompletion(data)));
      return 0;
    };
  });
}

}  // namespace xlatrace::tools
