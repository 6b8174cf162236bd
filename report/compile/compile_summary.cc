// SPDX-License-Identifier: Apache-2.0
#include "report/compile/compile_summary.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_format.h"
#include "report/shown_words.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

using model::CompileStage;
using Json = nlohmann::ordered_json;

constexpr size_t kDefaultCompileRows = 15;
constexpr int kCompileSchemaVersion = 1;
// An import that takes less of all imports is not listed in the text.
constexpr double kMinImportShare = 0.03;
constexpr size_t kMaxImports = 6;

int64_t StageNs(const CompiledFunction& function, CompileStage stage) {
  return function.stage_ns[static_cast<size_t>(stage)];
}

std::string StageTime(int64_t ns) {
  return ns == 0 ? std::string("-") : Duration(static_cast<double>(ns));
}

std::string CallPlace(const std::string& file, const std::optional<int64_t>& line) {
  return SourceLine(file, line);
}

void AppendTable(std::string& text, const TextTable& table, const CompileTextOptions& options) {
  for (const std::string& line : table.Lines(options.width, options.ascii)) text += line + "\n";
}

constexpr std::string_view StageWords(CompileStage stage) {
  switch (stage) {
    case CompileStage::kTrace:
      return "JAX traced";
    case CompileStage::kLower:
      return "JAX lowered";
    default:
      return "XLA compiled";
  }
}

void AppendHead(std::string& text, const CompileFigures& figures) {
  text += fmt::format("{}: {} compilation{} of {} function{}\n",
                      Duration(static_cast<double>(figures.ns)), Thousands(figures.compilations),
                      figures.compilations == 1 ? "" : "s",
                      Thousands(static_cast<int64_t>(figures.functions.size())),
                      figures.functions.size() == 1 ? "" : "s");
  if (const UnfinishedStage& unfinished = figures.unfinished; !unfinished.function.empty()) {
    const std::string place = CallPlace(unfinished.source_file, unfinished.source_line);
    text +=
        fmt::format("The process ended while {} {}{}, after {}.\n", StageWords(unfinished.stage),
                    unfinished.function, place.empty() ? "" : fmt::format(" ({})", place),
                    Duration(static_cast<double>(unfinished.ns)));
  }
  if (figures.import_ns > 0) {
    std::string names;
    size_t listed = 0;
    for (const analysis::NamedTime& import : figures.imports) {
      const bool small =
          static_cast<double>(import.ns) < kMinImportShare * static_cast<double>(figures.import_ns);
      if (small || listed++ == kMaxImports) break;
      names += fmt::format("{}{} {}", names.empty() ? "" : ", ", import.name,
                           Duration(static_cast<double>(import.ns)));
    }
    text +=
        fmt::format("imports {}: {}\n", Duration(static_cast<double>(figures.import_ns)), names);
  }
  if (figures.backend_start_ns > 0) {
    text += fmt::format("start of the backend {}\n",
                        Duration(static_cast<double>(figures.backend_start_ns)));
  }
}

TextTable FunctionTable(const CompileFigures& figures, size_t rows) {
  TextTable table({{.heading = "function", .flexible = true},
                   {.heading = "compiled", .right = true},
                   {.heading = "time", .right = true},
                   {.heading = "called at"},
                   {.heading = "trace", .right = true},
                   {.heading = "lower", .right = true},
                   {.heading = "passes", .right = true},
                   {.heading = "codegen", .right = true},
                   {.heading = "autotune", .right = true},
                   {.heading = "cache", .right = true},
                   {.heading = "other", .right = true}});
  CompiledFunction others;
  size_t count = 0;
  const auto add = [&](const std::string& name, const CompiledFunction& function) {
    table.Add({name, Thousands(function.compilations), StageTime(function.ns),
               CallPlace(function.source_file, function.source_line),
               StageTime(StageNs(function, CompileStage::kTrace)),
               StageTime(StageNs(function, CompileStage::kLower)),
               StageTime(StageNs(function, CompileStage::kPasses)),
               StageTime(StageNs(function, CompileStage::kCodegen)),
               StageTime(StageNs(function, CompileStage::kAutotune)),
               StageTime(StageNs(function, CompileStage::kCache)),
               StageTime(StageNs(function, CompileStage::kCompile) +
                         StageNs(function, CompileStage::kLoad))});
  };
  for (const CompiledFunction& function : figures.functions) {
    if (count++ < rows) {
      add(function.is_operation ? function.name + " (operation)" : function.name, function);
      continue;
    }
    others.compilations += function.compilations;
    others.ns += function.ns;
    for (size_t s = 0; s < others.stage_ns.size(); ++s) {
      others.stage_ns[s] += function.stage_ns[s];
    }
  }
  if (count > rows) add(fmt::format("[{} others]", count - rows), others);
  return table;
}

TextTable AgainTable(const CompileFigures& figures, size_t rows) {
  TextTable table({{.heading = "compiled again", .at_most = 30},
                   {.heading = "times", .right = true},
                   {.heading = "time", .right = true},
                   {.heading = "called at"},
                   {.heading = "difference from an earlier compilation", .flexible = true}});
  for (const Recompilation& row : figures.recompilations) {
    if (rows-- == 0) break;
    table.Add({row.name, Thousands(row.compilations), StageTime(row.ns),
               CallPlace(row.source_file, row.source_line),
               row.text.empty() ? "not recorded" : row.text});
  }
  return table;
}

TextTable CauseTable(const CompileFigures& figures, size_t rows) {
  TextTable table({{.heading = "takes long", .at_most = 30},
                   {.heading = "time", .right = true},
                   {.heading = "at"},
                   {.heading = "because of", .flexible = true}});
  for (const CompileCause& cause : figures.causes) {
    if (rows-- == 0) break;
    table.Add({cause.function, StageTime(cause.ns), CallPlace(cause.source_file, cause.source_line),
               cause.text});
  }
  return table;
}

Json JsonOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json JsonOrNull(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::string CompileText(const CompileFigures& figures, const CompileTextOptions& options) {
  const size_t rows = options.rows == 0 ? kDefaultCompileRows : options.rows;
  if (figures.functions.empty() && figures.import_ns == 0) {
    return "The recording holds no compilation.\n";
  }
  std::string text;
  AppendHead(text, figures);
  if (!figures.functions.empty()) {
    text += "\n";
    AppendTable(text, FunctionTable(figures, rows), options);
  }
  if (!figures.recompilations.empty()) {
    text += "\n";
    AppendTable(text, AgainTable(figures, rows), options);
  }
  if (!figures.causes.empty()) {
    text += "\n";
    AppendTable(text, CauseTable(figures, rows), options);
  }
  return text;
}

std::string CompileJson(const CompileFigures& figures) {
  const UnfinishedStage& unfinished = figures.unfinished;
  const bool is_unfinished = !unfinished.function.empty();
  Json json = {{"schema_version", kCompileSchemaVersion},
               {"compilations", figures.compilations},
               {"ns", figures.ns},
               {"import_ns", figures.import_ns},
               {"backend_start_ns", figures.backend_start_ns},
               {"unfinished", JsonOrNull(unfinished.function)},
               {"unfinished_stage", is_unfinished ? Json(Text(unfinished.stage)) : Json()},
               {"unfinished_ns", is_unfinished ? Json(unfinished.ns) : Json()},
               {"unfinished_file", JsonOrNull(unfinished.source_file)},
               {"unfinished_line", JsonOrNull(unfinished.source_line)},
               {"functions", Json::array()},
               {"recompilations", Json::array()},
               {"causes", Json::array()},
               {"imports", Json::array()}};
  const auto stages = model::Texts<CompileStage>();
  for (const CompiledFunction& function : figures.functions) {
    Json row = {
        {"name", function.name},
        {"is_operation", function.is_operation},
        {"compilations", function.compilations},
        {"compiled_again", function.again},
        {"ns", function.ns},
        {"stage_ns", Json::object()},
        {"largest_part", JsonOrNull(function.top_part)},
        {"largest_part_ns", function.top_part.empty() ? Json() : Json(function.top_part_ns)},
        {"source_file", JsonOrNull(function.source_file)},
        {"source_line", JsonOrNull(function.source_line)},
        {"function_file", JsonOrNull(function.function_file)},
        {"function_line", JsonOrNull(function.function_line)}};
    for (size_t s = 0; s < stages.size(); ++s) {
      if (function.stage_ns[s] > 0) row["stage_ns"][std::string(stages[s])] = function.stage_ns[s];
    }
    json["functions"].push_back(std::move(row));
  }
  for (const Recompilation& row : figures.recompilations) {
    json["recompilations"].push_back({{"name", row.name},
                                      {"compilations", row.compilations},
                                      {"ns", row.ns},
                                      {"cause", JsonOrNull(row.cause)},
                                      {"argument", JsonOrNull(row.argument)},
                                      {"difference", JsonOrNull(row.text)},
                                      {"source_file", JsonOrNull(row.source_file)},
                                      {"source_line", JsonOrNull(row.source_line)}});
  }
  for (const CompileCause& cause : figures.causes) {
    json["causes"].push_back({{"kind", cause.kind},
                              {"function", cause.function},
                              {"argument", JsonOrNull(cause.argument)},
                              {"text", cause.text},
                              {"ns", cause.ns},
                              {"source_file", JsonOrNull(cause.source_file)},
                              {"source_line", JsonOrNull(cause.source_line)},
                              {"function_file", JsonOrNull(cause.function_file)},
                              {"function_line", JsonOrNull(cause.function_line)}});
  }
  for (const analysis::NamedTime& import : figures.imports) {
    json["imports"].push_back({{"name", import.name},
                               {"ns", import.ns},
                               {"source_file", JsonOrNull(import.source_file)},
                               {"source_line", JsonOrNull(import.source_line)}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::report
