// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "tools/commands.h"
#include "tools/console.h"
#include "tools/places.h"

namespace xlatrace::tools {

void AddLibCommand(CLI::App& app, Command* selected) {
  CLI::App* command =
      app.add_subcommand("lib", "Print the path of the library that records when it is preloaded");
  command->footer("Example:\n  LD_PRELOAD=$(xlatrace lib) python train.py");
  command->callback([selected] {
    *selected = []() -> Result<int> {
      XLATRACE_ASSIGN(const std::string library, PreloadLibrary());
      XLATRACE_ASSIGN(const std::string name, PreloadName(library));
      XLATRACE_TRY(PrintResult(name + "\n"));
      return 0;
    };
  });
}

}  // namespace xlatrace::tools
