// SPDX-License-Identifier: Apache-2.0
#include "tools/command_pages.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xlatrace::tools {
namespace {

// A footer is a list of parts: remarks, and blocks of commands under a heading "Examples:".
struct FooterPart {
  bool is_example = false;
  bool is_block = false;  // Lines that keep their layout.
  std::vector<std::string> lines;
};

std::vector<FooterPart> FooterParts(const std::string& footer) {
  std::vector<FooterPart> parts;
  bool example = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool block = line.starts_with("  ");
    if (!block && line.starts_with("Example")) {
      example = true;
      continue;
    }
    if (!block) example = false;
    if (parts.empty() || parts.back().is_block != block || parts.back().is_example != example) {
      parts.push_back({example, block, {}});
    }
    parts.back().lines.push_back(block ? line.substr(2) : line);
  }
  return parts;
}

// --- roff ---

// A line of text: a hyphen stays a hyphen, and no line is taken for a request.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string RoffOption(const OptionData& option) {
  std::string left;
  for (const std::string& name : option.names) {
    left += (left.empty() ? "" : ", ") + std::string(option.is_argument ? "\\fI" : "\\fB") +
            Roff(name) + "\\fR";
  }
  if (!option.value.empty()) left += " \\fI" + Roff(option.value) + "\\fR";
  left += option.dots();
  std::string out = ".TP\n" + left + "\n" + Roff(option.text) + "\n";
  const std::string shown = option.value + " " + option.text;
  const bool lists_all =
      std::all_of(option.choices.begin(), option.choices.end(),
                  [&](const std::string& word) { return shown.find(word) != std::string::npos; });
  if (!lists_all) {
    out +=
        fmt::format("\nAccepted: {}.\n", Roff(fmt::format("{}", fmt::join(option.choices, ", "))));
  }
  return out;
}

std::string RoffOptions(const char* heading, const std::vector<OptionData>& options) {
  if (options.empty()) return {};
  std::string out = fmt::format(".SH {}\n", heading);
  for (const OptionData& option : options) out += RoffOption(option);
  return out;
}

std::string RoffFooter(const std::string& footer) {
  std::string out;
  std::string_view heading;
  for (const FooterPart& part : FooterParts(footer)) {
    const std::string_view wanted = part.is_example ? "EXAMPLES" : "NOTES";
    if (heading != wanted) out += fmt::format(".SH {}\n", wanted);
    heading = wanted;
    out += part.is_block ? ".PP\n.nf\n.RS 4\n" : ".PP\n";
    for (const std::string& line : part.lines) out += Roff(line) + "\n";
    if (part.is_block) out += ".RE\n.fi\n";
  }
  return out;
}

std::string RoffExitStatuses() {
  std::string out = ".SH EXIT STATUS\n";
  for (const ExitStatusData& exit : SharedExitStatuses()) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", exit.status, Roff(exit.text));
  }
  return out;
}

std::string RoffHead(const CommandData& command, const std::string& version) {
  const std::string name = command.name.empty() ? "xlatrace" : "xlatrace-" + command.name;
  std::string title;
  for (const char c : name) {
    title += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return fmt::format(
      ".TH \"{}\" \"1\" \"\" \"xlatrace {}\" \"xlatrace\"\n"
      ".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
      Roff(title), version, Roff(name), Roff(command.text), Roff(command.usage));
}

// --- Markdown ---

std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

std::string MarkdownOptions(const char* heading, const std::vector<OptionData>& options) {
  if (options.empty()) return {};
  std::string out = fmt::format("| {} | meaning |\n|---|---|\n", heading);
  for (const OptionData& option : options) {
    std::string left;
    for (const std::string& name : option.names) {
      left += (left.empty() ? "`" : ", `") + name;
      if (&name == &option.names.back() && !option.value.empty()) left += " " + option.value;
      if (&name == &option.names.back()) left += option.dots();
      left += "`";
    }
    out += fmt::format("| {} | {} |\n", left, Cell(option.text));
  }
  return out + "\n";
}

std::string MarkdownFooter(const std::string& footer) {
  std::string out;
  for (const FooterPart& part : FooterParts(footer)) {
    if (part.is_block) out += part.is_example ? "```sh\n" : "```text\n";
    for (const std::string& line : part.lines) out += line + "\n";
    out += part.is_block ? "```\n\n" : "\n";
  }
  return out;
}

}  // namespace

std::string ManPage(const CommandData& command, const std::string& version) {
  return RoffHead(command, version) + RoffOptions("ARGUMENTS", command.arguments) +
         RoffOptions("OPTIONS", command.options) + RoffFooter(command.footer) + RoffExitStatuses() +
         ".SH SEE ALSO\n.BR xlatrace (1)\n";
}

std::string ManPage(const ProgramData& data, const std::string& version) {
  std::string out = RoffHead(data.program, version) + ".SH COMMANDS\n";
  for (const CommandData& command : data.commands) {
    out +=
        fmt::format(".TP\n\\fBxlatrace\\-{}\\fR(1)\n{}\n", Roff(command.name), Roff(command.text));
  }
  out += RoffOptions("OPTIONS", data.program.options) + RoffFooter(data.program.footer) +
         RoffExitStatuses() + ".SH SEE ALSO\n";
  for (const CommandData& command : data.commands) {
    const bool last = &command == &data.commands.back();
    out += fmt::format(".BR xlatrace\\-{} (1){}\n", Roff(command.name), last ? "" : ",");
  }
  return out;
}

std::string MarkdownPage(const ProgramData& data) {
  std::string out =
      "# Commands and options\n\n"
      "`xlatrace man --format md` prints this page. `xlatrace COMMAND --help` and\n"
      "`man xlatrace-COMMAND` have the same text.\n\n"
      "| command | purpose |\n|---|---|\n";
  for (const CommandData& command : data.commands) {
    out += fmt::format("| [{}](#{}) | {} |\n", command.name, command.name, Cell(command.text));
  }
  out += "\n" + MarkdownOptions("option", data.program.options);
  out += "| exit status | meaning |\n|---|---|\n";
  for (const ExitStatusData& exit : SharedExitStatuses()) {
    out += fmt::format("| {} | {} |\n", exit.status, Cell(exit.text));
  }
  for (const CommandData& command : data.commands) {
    out += fmt::format("\n## {}\n\n{}\n\n```text\n{}\n```\n\n", command.name, command.text,
                       command.usage);
    out += MarkdownOptions("argument", command.arguments);
    out += MarkdownOptions("option", command.options);
    out += MarkdownFooter(command.footer);
    while (out.ends_with("\n\n")) out.pop_back();
  }
  return out;
}

}  // namespace xlatrace::tools
