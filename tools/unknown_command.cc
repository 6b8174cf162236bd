// SPDX-License-Identifier: Apache-2.0
#include "tools/unknown_command.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/nearest_word.h"
#include "base/shell_word.h"
#include "store/run_db_mark.h"
#include "tools/choices.h"
#include "tools/command_data.h"

namespace xlatrace::tools {
namespace {

// Words of other tools for what is done otherwise here.
std::string KnownElsewhere(std::string_view word) {
  if (word == "compare") {
    return "xlatrace diff base.db new.db";
  }
  if (word == "profile" || word == "run" || word == "trace" || word == "launch") {
    return "xlatrace record -- python train.py";
  }
  if (word == "stats" || word == "analyze" || word == "top") return "xlatrace summary run.db";
  if (word == "sql") return "xlatrace query run.db SQL";
  if (word == "join" || word == "combine") return "xlatrace merge rank*/run.db -o job.db";
  if (word == "version") return "xlatrace --version";
  return {};
}

// An option whose name is nearly that; empty: none.
std::string NearestOption(const CLI::App& command, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return NearestWord(word.substr(0, word.find('=')), names);
}

// The first command in the examples at the end of a command's help, without its comment.
std::string FirstExample(const CLI::App& command) {
  const std::string footer = command.get_footer();
  const size_t begin = footer.find("\n  xlatrace ");
  if (begin == std::string::npos) return {};
  std::string line = footer.substr(begin + 3, footer.find('\n', begin + 1) - begin - 3);
  if (const size_t comment = line.find("  #"); comment != std::string::npos) line.erase(comment);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The argument without which the command line is incomplete. CLI11 fills arguments in their order;
// a file in the place of a name is the file, and the name is missing.
const CLI::Option* MissingArgument(const CLI::App& command) {
  const CLI::Option* missing = nullptr;
  const CLI::Option* misplaced = nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional() || !option->get_required()) continue;
    if (option->count() == 0) {
      if (missing == nullptr) missing = option;
    } else if (!DescribeOption(*option).takes_file() && Exists(option->results().front())) {
      misplaced = option;
    }
  }
  const bool swapped =
      missing != nullptr && misplaced != nullptr && DescribeOption(*missing).takes_file();
  return swapped ? misplaced : missing;
}

// "RUN is required" and its meaning, with an example that has the file which was given.
Error MissingArgumentError(const CLI::App& command, const std::string& text,
                           const std::string& help) {
  Error result{text, help, ErrorCode::kUsage};
  std::string example = FirstExample(command);
  if (const CLI::Option* missing = MissingArgument(command)) {
    const OptionData data = DescribeOption(*missing);
    std::string meaning = data.text;
    // "A handle" begins a sentence in help; names such as HLO and run.db keep their letters.
    if (meaning.size() > 1 &&
        (std::islower(static_cast<unsigned char>(meaning[1])) != 0 || meaning[1] == ' ')) {
      meaning[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning[0])));
    }
    result.message = fmt::format("{} is required: {}", data.names.front(), meaning);
    for (const CLI::Option* option : command.get_options()) {
      if (option->nonpositional() || option->count() == 0) continue;
      const std::string given = option->results().front();
      const size_t at = example.find(" run.db");
      if (at != std::string::npos && Exists(given)) {
        example.replace(at + 1, 6, ShellWord(given));
        break;
      }
    }
  }
  if (!example.empty()) {
    result.hint = fmt::format("for instance: {}; all options: {}", example, help);
  }
  return result;
}

// The accepted word that was probably meant by a refused value, as it is typed: "--by op".
std::string MeantValue(const CLI::App& command, std::string_view message) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (!message.starts_with(name + ":")) continue;
    const std::vector<std::string> words = ChoicesOf(*option);
    for (const std::string& given : option->results()) {
      if (std::find(words.begin(), words.end(), given) != words.end()) continue;
      const std::string nearest = NearestWord(given, words);
      if (nearest.empty()) return {};
      return option->nonpositional() ? name + " " + nearest : nearest;
    }
  }
  return {};
}

}  // namespace

Error UnknownCommand(const std::vector<std::string>& words,
                     const std::vector<std::string>& commands) {
  const std::string& word = words.front();
  Error error{fmt::format("there is no command '{}'", word), "xlatrace --help", ErrorCode::kUsage};
  if (const std::string known = KnownElsewhere(word); !known.empty()) {
    error.hint = known;
  } else if (word.ends_with(".py")) {
    error.hint = "xlatrace record -- python " + word;
  } else if (store::LooksLikeRunDb(word)) {
    error.hint = "xlatrace summary " + word;
  } else if (Exists(word)) {
    error.hint = fmt::format("to import a trace: xlatrace import {}", ShellWord(word));
  } else if (word.starts_with("python")) {
    error.hint = "xlatrace record -- python train.py";
  } else if (const std::string nearest = NearestWord(word, commands);
             word.size() >= 3 && !nearest.empty()) {
    error.hint = fmt::format("xlatrace {}", nearest);
    for (size_t i = 1; i < words.size() && i < 8; ++i) error.hint += " " + words[i];
  }
  return error;
}

Error UsageError(const CLI::App& app, const CLI::Error& error) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) {
    command = sub;
    name += " " + sub->get_name();
  }
  const std::string help = name + " --help";
  Error result{error.what(), help, ErrorCode::kUsage};
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
    return MissingArgumentError(*command, error.what(), help);
  }
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ValidationError)) {
    if (const std::string meant = MeantValue(*command, error.what()); !meant.empty()) {
      result.hint = fmt::format("{}; all: {}", meant, help);
    }
    return result;
  }
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return result;
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("--") || word == "--") continue;
    result.message = fmt::format("{} has no option {}", name, word.substr(0, word.find('=')));
    if (const std::string option = NearestOption(*command, word); !option.empty()) {
      result.hint = fmt::format("{} is an option; all: {}", option, help);
    } else if (command->get_name() == "record" && word == "--force") {
      result.hint = "leave it out: record keeps an earlier run.db as run.old.db";
    }
    break;
  }
  return result;
}

}  // namespace xlatrace::tools
