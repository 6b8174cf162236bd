// SPDX-License-Identifier: Apache-2.0
#include "tools/unknown_command.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "store/run_db_mark.h"

namespace xlatrace::tools {
namespace {

// Letters to insert, remove or replace (Levenshtein).
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

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
  word = word.substr(0, word.find('='));
  std::string nearest;
  size_t distance = 3;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const size_t d = Distance(word, "--" + name);
      if (d < distance) nearest = "--" + name, distance = d;
    }
  }
  return nearest;
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
  } else if (word.size() >= 3 && word.size() <= 20) {
    const auto nearest = std::min_element(commands.begin(), commands.end(),
                                          [&](const std::string& a, const std::string& b) {
                                            return Distance(word, a) < Distance(word, b);
                                          });
    if (nearest != commands.end() && Distance(word, *nearest) <= 2) {
      error.hint = fmt::format("xlatrace {}", *nearest);
      for (size_t i = 1; i < words.size() && i < 8; ++i) error.hint += " " + words[i];
    }
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
    if (const std::string example = FirstExample(*command); !example.empty()) {
      result.hint = fmt::format("for instance: {}; all options: {}", example, help);
    }
    return result;
  }
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return result;
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("--")) continue;
    if (const std::string option = NearestOption(*command, word); !option.empty()) {
      result.hint = fmt::format("{} is an option; all: {}", option, help);
    }
    break;
  }
  return result;
}

}  // namespace xlatrace::tools
