// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/number_format.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "dumps/find_pattern.h"
#include "hlo/module_origin.h"
#include "hlo/module_summary.h"
#include "report/text_table.h"
#include "store/run_db_mark.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/dump_text.h"
#include "tools/find_search.h"

namespace xlatrace::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxFoundRows = 30;
// At most this many hits are printed with the lines around them.
constexpr size_t kMaxHitsWithContext = 3;
constexpr size_t kContextLines = 2;
constexpr size_t kMaxFindWarnings = 5;

struct FindWords {
  std::string pattern;
  std::vector<std::string> paths;
  std::vector<std::string> fields;
  std::string stage = "all";
  std::string module;
  std::optional<size_t> context;
  bool literal = false;
  bool all = false;
  std::string format = "table";
};

std::string ModuleName(const SearchedModule& module) {
  const hlo::ModuleOrigin origin = hlo::OriginOfModule(module.name);
  std::string name =
      origin.how == "tf.function" || origin.how == "cluster" ? origin.function : module.name;
  if (!module.handle.empty()) return fmt::format("{} ({})", name, module.handle);
  if (module.program_id) name += fmt::format(" ({})", *module.program_id);
  return name;
}

// "after", "72-after", "0-14", "before-after": where among the stages.
std::string StagesText(const SearchedModule& module, const std::vector<int32_t>& stages) {
  const auto brief = [&](int32_t stage) {
    const std::string& label = module.stages[static_cast<size_t>(stage)];
    if (label == "before_optimizations") return std::string("before");
    if (label == "after_optimizations") return std::string("after");
    return label.substr(0, label.find(' '));
  };
  if (stages.size() == 1) return brief(stages.front());
  return brief(stages.front()) + "-" + brief(stages.back());
}

std::string PlaceText(const Found& found) {
  if (found.source_file.empty()) return {};
  return found.source_line > 0
             ? fmt::format("{}:{}", BaseName(found.source_file), found.source_line)
             : std::string(BaseName(found.source_file));
}

void AppendContext(const Found& found, int width, std::string& out) {
  for (size_t i = 0; i < found.context.size(); ++i) {
    std::string line = (i == found.context_hit ? "    > " : "      ") + Printable(found.context[i]);
    if (DisplayWidth(line) > width) line = FitLeft(line, width);
    out += line + "\n";
  }
  if (found.line) out += Printable(fmt::format("      {}:{}", found.file, *found.line)) + "\n";
}

std::string AsText(const FindResult& result, const FindWords& options, const Terminal& terminal) {
  const int width = terminal.width;
  std::string out = fmt::format(
      "{} in {} of {}\n", Count(static_cast<int64_t>(result.found.size()), "instruction"),
      Count(static_cast<int64_t>(result.modules.size()), "module"),
      result.of_run
          ? Printable(result.path)
          : Printable(result.path) +
                fmt::format(" ({} searched)", Count(static_cast<int64_t>(result.files), "dump")));
  if (result.found.empty()) {
    out += "nothing matches; patterns are regular expressions, --literal takes them as they are\n";
    return out;
  }
  const bool several =
      std::any_of(result.found.begin(), result.found.end(),
                  [&](const Found& found) { return found.module != result.found.front().module; });
  const bool folders =
      several &&
      std::any_of(result.modules.begin(), result.modules.end(), [&](const SearchedModule& module) {
        return module.subfolder != result.modules.front().subfolder;
      });
  const bool stages =
      !result.of_run && std::any_of(result.modules.begin(), result.modules.end(),
                                    [](const auto& m) { return m.stages.size() > 1; });
  std::vector<report::TextColumn> columns = {
      {.heading = "instruction", .at_most = std::max(width / 4, 20)}};
  if (folders) {
    columns.push_back({.heading = "folder", .at_most = std::max(width / 6, 12), .path = true});
  }
  if (several) {
    columns.push_back({.heading = "module", .at_most = std::max(width / 5, 14), .path = true});
  }
  if (result.of_run) columns.push_back({.heading = "device ms", .right = true});
  columns.push_back({.heading = "opcode", .at_most = 20});
  if (stages) columns.push_back({.heading = "dumps", .at_most = 14});
  columns.push_back({.heading = "source", .at_most = 24});
  columns.push_back({.heading = "op_name, shape", .path = true, .flexible = true});
  report::TextTable table(std::move(columns));
  const size_t most =
      options.all ? result.found.size() : std::min(result.found.size(), kMaxFoundRows);
  for (size_t i = 0; i < most; ++i) {
    const Found& found = result.found[i];
    std::vector<std::string> row = {found.name};
    if (folders) row.push_back(result.modules[found.module].subfolder);
    if (several) row.push_back(ModuleName(result.modules[found.module]));
    if (result.of_run) {
      row.push_back(found.device_ns ? Milliseconds(static_cast<double>(*found.device_ns)) : "");
    }
    row.push_back(found.opcode);
    if (stages) row.push_back(StagesText(result.modules[found.module], found.stages));
    row.push_back(PlaceText(found));
    const bool by_shape = (found.fields & ~dumps::kFindShape) == 0;
    std::string last =
        by_shape || found.op_name.empty() ? hlo::WithoutLayout(found.shape) : found.op_name;
    if ((found.fields & dumps::kFindTarget) != 0) last = "target, " + last;
    row.push_back(std::move(last));
    table.Add(std::move(row));
  }
  const std::vector<std::string> lines = table.Lines(width, false);
  out += "\n";
  for (size_t i = 0; i < lines.size(); ++i) {
    out += lines[i] + "\n";
    if (i > 0) AppendContext(result.found[i - 1], width, out);
  }
  if (most < result.found.size()) {
    out += fmt::format("{} more: --all\n",
                       Thousands(static_cast<int64_t>(result.found.size() - most)));
  }
  if (!several)
    out += "\nall in " + Printable(ModuleName(result.modules[result.found.front().module])) + "\n";
  if (stages) {
    const SearchedModule& module = result.modules[result.found.front().module];
    if (module.stages.size() > 2) {
      out += fmt::format("{}life of one: xlatrace passes {} {} --instruction {}\n",
                         several ? "\n" : "", Printable(ShellWord(result.path)),
                         module.program_id ? std::to_string(*module.program_id)
                                           : ShellText(Printable(module.name)),
                         ShellText(Printable(result.found.front().name)));
    }
  }
  return out;
}

std::string AsJson(const FindResult& result, const FindWords& options) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  Json hits = Json::array();
  for (const Found& found : result.found) {
    const SearchedModule& module = result.modules[found.module];
    Json matched = Json::array();
    for (const std::string_view field :
         {"name", "op_name", "source", "shape", "opcode", "target"}) {
      if ((found.fields & dumps::FindFieldFromText(field)) != 0)
        matched.push_back(std::string(field));
    }
    Json stages = Json::array();
    for (const int32_t stage : found.stages)
      stages.push_back(module.stages[static_cast<size_t>(stage)]);
    hits.push_back({{"module", module.name},
                    {"handle", text(module.handle)},
                    {"program_id", module.program_id ? Json(*module.program_id) : Json()},
                    {"subfolder", text(module.subfolder)},
                    {"instruction", found.name},
                    {"opcode", found.opcode},
                    {"shape", found.shape},
                    {"op_name", text(found.op_name)},
                    {"source_file", text(found.source_file)},
                    {"source_line", found.source_line > 0 ? Json(found.source_line) : Json()},
                    {"computation", found.computation},
                    {"inside", text(found.inside)},
                    {"matched", std::move(matched)},
                    {"score", found.score},
                    {"dumps", std::move(stages)},
                    {"file", text(found.file)},
                    {"line", found.line ? Json(*found.line) : Json()},
                    {"device_ns", found.device_ns ? Json(*found.device_ns) : Json()},
                    {"context", found.context},
                    {"context_hit", found.context.empty() ? Json() : Json(found.context_hit)}});
  }
  const Json document = {{"schema_version", 1},
                         {"path", result.path},
                         {"pattern", options.pattern},
                         {"modules_searched", result.modules.size()},
                         {"dumps_searched", result.files},
                         {"hits", std::move(hits)},
                         {"warnings", result.warnings}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<int> RunFind(FindWords options) {
  // The other way round is as clear.
  if (options.paths.size() == 1 && !Exists(options.paths.front()) &&
      (IsDirectory(options.pattern) || store::LooksLikeRunDb(options.pattern))) {
    std::swap(options.pattern, options.paths.front());
  }
  XLATRACE_ASSIGN(const dumps::FindPattern pattern,
                  dumps::FindPattern::Make(options.pattern, options.literal));
  if (!pattern.why_plain().empty()) {
    Note(fmt::format("looking for '{}' as it is: no regular expression ({})", options.pattern,
                     pattern.why_plain()));
  }
  FindOptions find{.module = options.module};
  if (!options.fields.empty()) {
    find.fields = 0;
    for (const std::string& field : options.fields) {
      find.fields = static_cast<uint8_t>(find.fields | dumps::FindFieldFromText(field));
    }
  }
  find.stage = options.stage == "before"   ? FindStage::kBefore
               : options.stage == "after"  ? FindStage::kAfter
               : options.stage == "passes" ? FindStage::kPasses
                                           : FindStage::kAll;
  const bool json = options.format == "json";
  // By default, hits are read with context lines, which are removed if there are many hits.
  find.context = options.context.value_or(json ? 0 : kContextLines);
  XLATRACE_ASSIGN(FindResult result, FindIn(options.paths, pattern, find));
  if (!options.context && result.found.size() > kMaxHitsWithContext) {
    for (Found& found : result.found) {
      found.context.clear();
      if (!json) found.line.reset();
    }
  }
  XLATRACE_TRY(
      PrintResult(json ? AsJson(result, options) : AsText(result, options, DetectTerminal())));
  for (size_t i = 0; i < std::min(result.warnings.size(), kMaxFindWarnings); ++i)
    Warn(result.warnings[i]);
  if (result.warnings.size() > kMaxFindWarnings) {
    Warn(fmt::format("{} more files cannot be read: xlatrace explain lists them",
                     result.warnings.size() - kMaxFindWarnings));
  }
  return 0;
}

}  // namespace

void AddFindCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<FindWords>();
  CLI::App* command = app.add_subcommand(
      "find", "Find instructions by name, op_name, source line, shape or opcode");
  command->add_option("PATTERN", options->pattern, "A regular expression (RE2), or plain text")
      ->required();
  command
      ->add_option("PATH", options->paths,
                   "A run.db, or --xla_dump_to folders, archives of them, HLO files")
      ->required();
  command
      ->add_option("--in", options->fields,
                   "Where to look: name, op_name, source, shape, opcode, target")
      ->check(OneOf({"name", "op_name", "source", "shape", "opcode", "target"}))
      ->type_name("FIELD")
      ->delimiter(',');
  command->add_option("--stage", options->stage, "Dumps to search: all, before, after, passes")
      ->check(OneOf({"all", "before", "after", "passes"}))
      ->capture_default_str();
  command
      ->add_option("--module", options->module, "Only this module: its number, name, or part of it")
      ->type_name("NAME");
  command->add_option("-C,--context", options->context, "Lines around each hit")->type_name("N");
  command->add_flag("--literal", options->literal, "PATTERN is no regular expression");
  command->add_flag("--all", options->all, "Leave nothing out");
  command->add_option("--format", options->format, "table or json")
      ->check(OneOf({"table", "json"}))
      ->capture_default_str();
  command->footer(
      "Example:\n  xlatrace find 'train.py:105' dump/\n"
      "  xlatrace find 'attention.*softmax' run.db --in op_name");
  command->callback([options, selected] { *selected = [options] { return RunFind(*options); }; });
}

}  // namespace xlatrace::tools
