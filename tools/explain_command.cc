// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/masking.h"
#include "base/ordered_work.h"
#include "base/terminal.h"
#include "dumps/explained_file.h"
#include "report/text_table.h"
#include "store/run_db_mark.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/dump_text.h"
#include "tools/explain_output.h"

namespace xlatrace::tools {
namespace {

// More files than this are a table with a line each.
constexpr size_t kMaxCards = 3;
// Files above it are read one at a time, so that the cores do not add up their memory.
constexpr uint64_t kMaxParallelFileBytes = uint64_t{64} << 20;

struct ExplainOptions {
  std::vector<std::string> files;
  std::string files_from;
  std::string format = "table";
  ExplainParts parts;
};

Status AddLines(std::istream& in, std::vector<std::string>& files) {
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) files.push_back(std::move(line));
  }
  return {};
}

Result<std::vector<std::string>> AllFiles(const ExplainOptions& options) {
  std::vector<std::string> files = options.files;
  if (options.files_from == "-") {
    XLATRACE_TRY(AddLines(std::cin, files));
  } else if (!options.files_from.empty()) {
    std::ifstream in(options.files_from);
    if (!in) {
      return MakeError(fmt::format("cannot read the list '{}'", options.files_from),
                       "a file with one path per line, or - for standard input");
    }
    XLATRACE_TRY(AddLines(in, files));
  }
  if (files.empty() && options.files_from.empty()) {
    return MakeError("which file?", "xlatrace explain FILE... or --files-from LIST",
                     ErrorCode::kUsage);
  }
  return files;
}

struct Done {
  bool ok = false;
  std::string text;  // JSON lines, or the card.
  ExplainRow row;
};

Done ExplainOne(const std::string& path, const ExplainOptions& options, bool json, bool cards,
                int width) {
  static std::mutex large;
  std::unique_lock lock(large, std::defer_lock);
  dumps::ExplainedFile file;
  if (FileSize(path) > kMaxParallelFileBytes) lock.lock();
  file = dumps::ExplainFile(path);
  if (file.ok() && file.note.kind == "profile") {
    const std::string word = MaskedCommand({path});  // Quoted for a shell.
    file.note.next = "xlatrace import " + word + " -o run.db";
    if (store::LooksLikeRunDb(path)) {
      file.note.what = file.note.brief = "run.db of xlatrace";
      file.note.purpose = "a recorded or imported run, with its modules";
      file.note.next = "xlatrace summary " + word;
    }
  }
  Done done{.ok = file.ok()};
  if (json) {
    done.text = ExplainJson(file, options.parts);
  } else if (cards) {
    done.text = ExplainCard(file, options.parts, width);
  } else {
    done.row = RowOf(file);
  }
  return done;
}

Result<int> RunExplain(const ExplainOptions& options) {
  XLATRACE_ASSIGN(const std::vector<std::string> files, AllFiles(options));
  const bool json = options.format == "json";
  const Terminal terminal = DetectTerminal();
  const bool cards = files.size() <= kMaxCards || options.parts.instructions || options.parts.cost;
  size_t failed = 0;
  std::vector<ExplainRow> rows;
  Status printed;
  OrderedWork<Done>(
      files.size(),
      [&](size_t i) { return ExplainOne(files[i], options, json, cards, terminal.width); },
      [&](size_t i, Done done) {
        if (!done.ok) ++failed;
        if (!json && !cards) {
          rows.push_back(std::move(done.row));
          return true;
        }
        if (cards && !json && i > 0) done.text.insert(0, "\n");
        printed = PrintResult(done.text);
        return printed.has_value();
      });
  XLATRACE_TRY(printed);
  if (!rows.empty()) XLATRACE_TRY(PrintResult(ExplainTable(rows, terminal)));
  if (failed > 0 && files.size() > 1) {
    Note(fmt::format("{} of {} could not be read", failed,
                     Count(static_cast<int64_t>(files.size()), "file")));
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace

void AddExplainCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "Describe files of an XLA dump, and suggest the next command");
  command->add_option("FILE", options->files, "Files of a dump, of any version of XLA");
  command
      ->add_option("--files-from", options->files_from,
                   "Read paths from LIST, one per line; - is standard input")
      ->type_name("LIST");
  command->add_flag("--instructions", options->parts.instructions,
                    "List the HLO instructions, with phase, layer, source and cost");
  command->add_flag("--cost", options->parts.cost,
                    "Add the figures of XLA's two cost models (plain and GPU)");
  command->add_option("--format", options->format, "table, or json: one object per line")
      ->check(OneOf({"table", "json"}))
      ->capture_default_str();
  command->footer(
      "Exit status: 0 when all files could be read, 1 otherwise.\n"
      "Example:\n  xlatrace explain dump/module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt\n"
      "  find dump -type f | xlatrace explain --files-from - --format json");
  command->callback(
      [options, selected] { *selected = [options] { return RunExplain(*options); }; });
}

}  // namespace xlatrace::tools
