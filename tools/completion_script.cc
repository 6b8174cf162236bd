// SPDX-License-Identifier: Apache-2.0
#include "tools/completion_script.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xlatrace::tools {
namespace {

// `text` between single quotes, for bash and zsh.
std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// Between single quotes, fish escapes only the backslash and the quote.
std::string FishQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// In a specification of zsh's _arguments, brackets and colons end a description.
std::string ZshText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> CommandNames(const ProgramData& data) {
  std::vector<std::string> names;
  for (const CommandData& command : data.commands) names.push_back(command.name);
  names.emplace_back("help");
  return names;
}

std::vector<std::string> OptionNames(const CommandData& command) {
  std::vector<std::string> names;
  for (const OptionData& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

bool StartsProgram(const CommandData& command) {
  return command.arguments.size() == 1 && command.arguments.front().names.front() == "CMD";
}

// --- bash ---

std::string BashCommand(const CommandData& command) {
  std::string out = fmt::format("    {})\n      options={}\n", Quoted(command.name),
                                Quoted(fmt::format("{}", fmt::join(OptionNames(command), " "))));
  std::string values;
  for (const OptionData& option : command.options) {
    if (option.value.empty()) continue;
    const std::string names = fmt::format("{}", fmt::join(option.names, "|"));
    if (!option.choices.empty()) {
      values += fmt::format("        {}) words={} ;;\n", names,
                            Quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    } else {
      values +=
          fmt::format("        {}) kind={} ;;\n", names, option.takes_file() ? "file" : "other");
    }
  }
  if (!values.empty()) out += "      case $before in\n" + values + "      esac\n";
  std::string choices;
  bool file = false;
  for (const OptionData& argument : command.arguments) {
    file = file || argument.takes_file();
    for (const std::string& word : argument.choices) choices += word + " ";
  }
  if (!choices.empty()) out += fmt::format("      arguments={}\n", Quoted(choices));
  if (!file) out += "      files=\n";
  if (StartsProgram(command)) out += "      starts_program=yes\n";
  return out + "      ;;\n";
}

// --- zsh ---

std::string ZshValue(const OptionData& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return option.takes_file() ? "_files" : " ";
}

std::string ZshOption(const OptionData& option) {
  const std::string text = "[" + ZshText(option.text) + "]";
  const std::string all = fmt::format("{}", fmt::join(option.names, " "));
  std::string out;
  for (const std::string& name : option.names) {
    // A list may be given once more; other options exclude their own names.
    std::string spec = option.is_list ? "*" : "(" + all + ")";
    spec += name;
    if (!option.value.empty() && name.starts_with("--")) spec += "=";
    spec += text;
    if (!option.value.empty()) spec += ":" + ZshText(option.value) + ":" + ZshValue(option);
    out += "        " + Quoted(spec) + " \\\n";
  }
  return out;
}

std::string ZshCommand(const CommandData& command) {
  std::string out = fmt::format("      {})\n        _arguments -S \\\n", Quoted(command.name));
  for (const OptionData& option : command.options) out += ZshOption(option);
  if (StartsProgram(command)) {
    out += "        '*:::command:_normal'\n";
  } else {
    for (const OptionData& argument : command.arguments) {
      const std::string name = ZshText(argument.names.front());
      const std::string spec = (argument.is_list ? "*:" : argument.is_required ? ":" : "::") + name;
      out += "        " + Quoted(spec + ":" + ZshValue(argument)) + " \\\n";
    }
    out += "        && return 0\n";
  }
  return out + "        ;;\n";
}

// --- fish ---

std::string FishCommand(const CommandData& command) {
  const std::string when = command.name.empty()
                               ? "__fish_use_subcommand"
                               : fmt::format("__fish_seen_subcommand_from {}", command.name);
  const std::string begin = fmt::format("complete -c xlatrace -n {} ", FishQuoted(when));
  std::string out;
  bool file = false;
  for (const OptionData& argument : command.arguments) {
    file = file || argument.takes_file();
    if (argument.choices.empty()) continue;
    out += fmt::format("{}-f -a {}\n", begin,
                       FishQuoted(fmt::format("{}", fmt::join(argument.choices, " "))));
  }
  if (!file) out += begin + "-f\n";
  for (const OptionData& option : command.options) {
    out += begin;
    for (const std::string& name : option.names) {
      out += name.starts_with("--") ? fmt::format("-l {} ", name.substr(2))
                                    : fmt::format("-s {} ", name.substr(1));
    }
    if (!option.choices.empty()) {
      out +=
          fmt::format("-x -a {} ", FishQuoted(fmt::format("{}", fmt::join(option.choices, " "))));
    } else if (!option.value.empty()) {
      out += option.takes_file() ? "-r -F " : "-x ";
    }
    out += fmt::format("-d {}\n", FishQuoted(option.text));
  }
  return out;
}

}  // namespace

std::string BashCompletion(const ProgramData& data) {
  std::string out =
      "# bash completion of xlatrace, written by `xlatrace completion bash`.\n"
      "_xlatrace() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local command= options= words= kind= arguments= files=yes starts_program= i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]} && break; }\n"
      "  done\n"
      "  # bash splits --by=op into three words.\n"
      "  [[ $current != = ]] || current=\n"
      "  [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  case $command in\n";
  out += BashCommand(data.program);
  for (const CommandData& command : data.commands) out += BashCommand(command);
  out += "  esac\n";
  out += fmt::format("  [[ -n $command && $command != help ]] || arguments={}\n",
                     Quoted(fmt::format("{}", fmt::join(CommandNames(data), " "))));
  out +=
      "  if [[ -n $starts_program && \" ${COMP_WORDS[*]:0:COMP_CWORD} \" == *' -- '* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -c -- \"$current\"; compgen -f -- \"$current\")\n"
      "  elif [[ -n $words ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  elif [[ $kind == other ]]; then\n"
      "    return\n"
      "  elif [[ -z $kind && $current == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
      "  else\n"
      "    [[ -n $kind || -z $arguments ]] ||\n"
      "      mapfile -t COMPREPLY < <(compgen -W \"$arguments\" -- \"$current\")\n"
      "    if [[ -n $kind || -n $files ]]; then\n"
      "      mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$current\")\n"
      "      compopt -o filenames 2>/dev/null\n"
      "    fi\n"
      "  fi\n"
      "}\n"
      "complete -F _xlatrace xlatrace\n";
  return out;
}

std::string ZshCompletion(const ProgramData& data) {
  std::string out =
      "#compdef xlatrace\n"
      "# zsh completion of xlatrace, written by `xlatrace completion zsh`.\n"
      "_xlatrace() {\n"
      "  local curcontext=$curcontext state line\n"
      "  typeset -A opt_args\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CommandData& command : data.commands) {
    out += "    " + Quoted(command.name + ":" + ZshText(command.text)) + "\n";
  }
  out +=
      "  )\n"
      "  _arguments -C \\\n";
  for (const OptionData& option : data.program.options) out += ZshOption(option);
  out +=
      "        '1:command:->command' '*::argument:->argument' && return 0\n"
      "  case $state in\n"
      "  command) _describe command commands ;;\n"
      "  argument)\n"
      "    case $words[1] in\n";
  for (const CommandData& command : data.commands) out += ZshCommand(command);
  out +=
      "      help) _describe command commands ;;\n"
      "    esac\n"
      "    ;;\n"
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _xlatrace ]; then\n"
      "  _xlatrace \"$@\"\n"
      "else\n"
      "  compdef _xlatrace xlatrace\n"
      "fi\n";
  return out;
}

std::string FishCompletion(const ProgramData& data) {
  std::string out = "# fish completion of xlatrace, written by `xlatrace completion fish`.\n";
  out += FishCommand(data.program);
  for (const CommandData& command : data.commands) {
    out += fmt::format("complete -c xlatrace -n __fish_use_subcommand -f -a {} -d {}\n",
                       command.name, FishQuoted(command.text));
  }
  for (const CommandData& command : data.commands) out += FishCommand(command);
  out += fmt::format("complete -c xlatrace -n '__fish_seen_subcommand_from help' -f -a {}\n",
                     FishQuoted(fmt::format("{}", fmt::join(CommandNames(data), " "))));
  return out;
}

}  // namespace xlatrace::tools
