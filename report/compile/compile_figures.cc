// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "report/answer/time_nodes.h"
#include "report/compile/compile_summary.h"

namespace xlatrace::report {
namespace {

using analysis::Compilation;
using model::CompileStage;

std::string CellText(const store::Table& table, size_t row, std::string_view column) {
  return table.IsNull(row, column) ? std::string() : table.Text(row, column);
}

std::optional<int64_t> CellInt(const store::Table& table, size_t row, std::string_view column) {
  if (table.IsNull(row, column)) return std::nullopt;
  return table.Int(row, column);
}

CompileStage StageOfWord(const std::string& text) {
  const auto texts = model::Texts<CompileStage>();
  const auto known = std::find(texts.begin(), texts.end(), text);
  return known == texts.end() ? CompileStage::kCompile
                              : static_cast<CompileStage>(known - texts.begin());
}

struct CompileRows {
  model::RunTables run;  // Processes and names of modules.
  std::deque<std::string> names;
  std::vector<model::NamedCompile> compiles;
};

Result<CompileRows> LoadRows(store::RunDb& db) {
  CompileRows rows;
  XLATRACE_ASSIGN(const store::Table details,
                  db.Select("SELECT process_id, compilation, kind, name, before, after, value,"
                            " source_file, source_line, is_difference FROM compile_detail"));
  std::map<std::pair<int64_t, int64_t>, std::vector<model::CompileDetail>> details_of;
  for (size_t i = 0; i < details.rows.size(); ++i) {
    details_of[{details.Int(i, "process_id"), details.Int(i, "compilation")}].push_back(
        {.kind = details.Text(i, "kind"),
         .name = CellText(details, i, "name"),
         .before = CellText(details, i, "before"),
         .after = CellText(details, i, "after"),
         .value = CellInt(details, i, "value"),
         .source_file = CellText(details, i, "source_file"),
         .source_line = CellInt(details, i, "source_line"),
         .is_difference = details.Int(i, "is_difference") != 0});
  }
  XLATRACE_ASSIGN(const store::Table counts,
                  db.Select("SELECT (SELECT max(process_id) FROM process) AS processes"));
  rows.run.processes.resize(static_cast<size_t>(CellInt(counts, 0, "processes").value_or(0)));
  XLATRACE_ASSIGN(const store::Table modules,
                  db.Select("SELECT module_id, name FROM module ORDER BY module_id"));
  for (size_t i = 0; i < modules.rows.size(); ++i) {
    const auto id = static_cast<size_t>(modules.Int(i, "module_id"));
    if (rows.run.modules.size() < id) rows.run.modules.resize(id);
    rows.run.modules[id - 1].name = CellText(modules, i, "name");
  }
  XLATRACE_ASSIGN(
      const store::Table compiles,
      db.Select("SELECT process_id, module_id, name, stage, compilation, source_file, source_line,"
                " function_file, function_line, is_library, is_operation, is_again,"
                " is_unfinished, start_ns, end_ns FROM compile"));
  for (size_t i = 0; i < compiles.rows.size(); ++i) {
    rows.names.push_back(compiles.Text(i, "name"));
    model::NamedCompile& row = rows.compiles.emplace_back();
    row.process_id = compiles.Int(i, "process_id");
    row.module_id = CellInt(compiles, i, "module_id").value_or(0);
    row.name = rows.names.back();
    row.start_ns = compiles.Int(i, "start_ns");
    row.end_ns = compiles.Int(i, "end_ns");
    row.stage = StageOfWord(compiles.Text(i, "stage"));
    if (compiles.IsNull(i, "is_unfinished")) continue;
    auto facts = std::make_shared<model::CompileFacts>();
    facts->compilation = CellInt(compiles, i, "compilation").value_or(0);
    facts->source_file = CellText(compiles, i, "source_file");
    facts->source_line = CellInt(compiles, i, "source_line");
    facts->function_file = CellText(compiles, i, "function_file");
    facts->function_line = CellInt(compiles, i, "function_line");
    facts->is_library = compiles.Int(i, "is_library") != 0;
    facts->is_operation = compiles.Int(i, "is_operation") != 0;
    facts->is_again = compiles.Int(i, "is_again") != 0;
    facts->is_unfinished = compiles.Int(i, "is_unfinished") != 0;
    if (row.stage == CompileStage::kCompile) {
      const auto known = details_of.find({row.process_id, facts->compilation});
      if (known != details_of.end()) facts->details = known->second;
    }
    row.facts = std::move(facts);
  }
  return rows;
}

// A function is one definition; an operation of JAX, or a module, is one name.
using FunctionKey = std::tuple<std::string, std::string, int64_t>;

FunctionKey KeyOf(const Compilation& compilation) {
  if (!compilation.facts) return {compilation.name, "", 0};
  return {compilation.name, compilation.facts->function_file,
          compilation.facts->function_line.value_or(0)};
}

void AddTo(CompiledFunction& function, const Compilation& compilation) {
  function.name = compilation.name;
  function.compilations += compilation.is_compiled ? 1 : 0;
  function.again += compilation.is_again ? 1 : 0;
  function.ns += compilation.ns;
  for (size_t s = 0; s < function.stage_ns.size(); ++s) {
    function.stage_ns[s] += compilation.stage_ns[s];
  }
  if (compilation.top_part_ns > function.top_part_ns) {
    function.top_part = compilation.top_part;
    function.top_part_ns = compilation.top_part_ns;
  }
  if (!compilation.facts) return;
  function.is_operation = compilation.facts->is_operation;
  function.function_file = compilation.facts->function_file;
  function.function_line = compilation.facts->function_line;
}

constexpr std::array<std::string_view, 8> kKindsOfHostCode = {
    "host", "input", "io", "sleep", "lock", "gc", "data", "checkpoint"};

void CollectHostCode(const TimeNodes& tree, size_t position, std::vector<CompileCause>& causes) {
  for (const size_t child : tree.nodes[position].children) {
    const TimeNode& node = tree.nodes[child];
    if (std::find(kKindsOfHostCode.begin(), kKindsOfHostCode.end(), node.kind) ==
        kKindsOfHostCode.end()) {
      CollectHostCode(tree, child, causes);
      continue;
    }
    if (node.source_file.empty()) continue;
    causes.push_back({.kind = std::string(node.kind),
                      .function = std::string(FunctionOf(node)),
                      .text = node.kind == "host" ? "code of the program outside of steps"
                                                  : fmt::format("{} outside of steps", node.kind),
                      .source_file = std::string(node.source_file),
                      .source_line = node.source_line,
                      .ns = node.ns});
  }
}

// Code that reads data or computes before and between steps, by the time tree.
Status AddHostCode(store::RunDb& db, int64_t least_ns, std::vector<CompileCause>& causes) {
  XLATRACE_ASSIGN(const TimeNodes tree, LoadTimeNodes(db));
  if (tree.nodes.empty()) return {};
  std::vector<CompileCause> found;
  for (const size_t child : tree.nodes[0].children) {
    const std::string_view kind = tree.nodes[child].kind;
    if (kind == "startup" || kind == "between_steps") CollectHostCode(tree, child, found);
  }
  std::map<std::tuple<std::string, std::string, std::string>, CompileCause> by_function;
  for (CompileCause& cause : found) {
    const auto [known, is_new] =
        by_function.try_emplace({cause.kind, cause.function, cause.source_file}, cause);
    if (!is_new) known->second.ns += cause.ns;
  }
  for (auto& [key, cause] : by_function) {
    if (cause.ns >= least_ns) causes.push_back(std::move(cause));
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CompileCause& a, const CompileCause& b) { return a.ns > b.ns; });
  return {};
}

// Stages of a compilation do not overlap, so the last open one is that in which the process ended.
void SetUnfinished(const std::vector<model::NamedCompile>& compiles, CompileFigures& figures) {
  int64_t latest_ns = INT64_MIN;
  for (const model::NamedCompile& row : compiles) {
    if (!row.facts || !row.facts->is_unfinished || row.start_ns < latest_ns) continue;
    latest_ns = row.start_ns;
    figures.unfinished = {.function = std::string(row.name),
                          .stage = row.stage,
                          .source_file = row.facts->source_file,
                          .source_line = row.facts->source_line,
                          .ns = row.end_ns - row.start_ns};
  }
}

// Code generation that takes most of a compilation is that of the largest fusion, as far as the
// modules show.
Status AddFusions(store::RunDb& db, const analysis::Compilations& all,
                  std::vector<CompileCause>& causes) {
  constexpr int64_t kMinFusedInstructions = 100;
  std::map<std::string, const Compilation*> longest;  // By function.
  for (const Compilation& compilation : all.compilations) {
    const int64_t codegen_ns = compilation.stage_ns[static_cast<size_t>(CompileStage::kCodegen)];
    if (!compilation.facts || compilation.facts->is_operation || compilation.module_id == 0 ||
        2 * codegen_ns < compilation.ns) {
      continue;
    }
    const Compilation*& known = longest[compilation.name];
    if (known == nullptr || compilation.ns > known->ns) known = &compilation;
  }
  for (const auto& [name, compilation] : longest) {
    XLATRACE_ASSIGN(
        const store::Table rows,
        db.Select("SELECT computation, count(*) AS instructions, source_file, source_line"
                  " FROM instruction WHERE module_id = ?1 AND computation LIKE '%fus%'"
                  " GROUP BY computation ORDER BY 2 DESC LIMIT 1",
                  {std::to_string(compilation->module_id)}));
    if (rows.rows.empty() || rows.Int(0, "instructions") < kMinFusedInstructions) continue;
    const std::string computation = CellText(rows, 0, "computation");
    CompileCause& cause = causes.emplace_back();
    cause.kind = "fusion";
    cause.function = name;
    cause.argument = computation;
    cause.text = fmt::format("code generation; the largest fusion, {}, has {} instructions",
                             computation, rows.Int(0, "instructions"));
    cause.source_file = CellText(rows, 0, "source_file");
    cause.source_line = CellInt(rows, 0, "source_line");
    cause.function_file = compilation->facts->function_file;
    cause.function_line = compilation->facts->function_line;
    cause.ns = compilation->stage_ns[static_cast<size_t>(CompileStage::kCodegen)];
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const CompileCause& a, const CompileCause& b) { return a.ns > b.ns; });
  return {};
}

}  // namespace

Result<std::optional<CompileTotals>> LoadCompileTotals(store::RunDb& db) {
  XLATRACE_ASSIGN(const CompileRows rows, LoadRows(db));
  const analysis::Compilations all = analysis::CompilationsOf(rows.run, rows.compiles);
  if (all.compilations.empty()) return std::optional<CompileTotals>();
  CompileTotals totals;
  for (const Compilation& compilation : all.compilations) {
    totals.ns += compilation.ns;
    if (!compilation.facts) continue;
    totals.is_explained = true;
    totals.recompilations += compilation.is_again && !compilation.facts->is_operation ? 1 : 0;
  }
  return std::optional(totals);
}

Result<CompileFigures> LoadCompileFigures(store::RunDb& db) {
  XLATRACE_ASSIGN(const CompileRows rows, LoadRows(db));
  analysis::Compilations all = analysis::CompilationsOf(rows.run, rows.compiles);
  std::vector<CompileCause> causes = CompileCausesOf(all);
  XLATRACE_TRY(AddFusions(db, all, causes));
  XLATRACE_TRY(AddHostCode(db, LeastCauseNs(all), causes));
  CompileFigures figures{.causes = std::move(causes),
                         .imports = std::move(all.imports),
                         .import_ns = all.import_ns,
                         .backend_start_ns = all.backend_start_ns};
  SetUnfinished(rows.compiles, figures);
  std::map<FunctionKey, CompiledFunction> functions;
  using Place = std::pair<std::string, std::optional<int64_t>>;
  std::map<FunctionKey, std::map<Place, int64_t>> calls;
  std::map<std::tuple<FunctionKey, std::string, std::string, Place>, Recompilation> again;
  for (const Compilation& compilation : all.compilations) {
    const FunctionKey key = KeyOf(compilation);
    AddTo(functions[key], compilation);
    figures.ns += compilation.ns;
    figures.compilations += compilation.is_compiled ? 1 : 0;
    const Place place = compilation.facts
                            ? Place(compilation.facts->source_file, compilation.facts->source_line)
                            : Place();
    calls[key][place] += compilation.ns;
    if (!compilation.is_again) continue;
    const auto differences = analysis::DifferencesOf(compilation);
    const std::string cause = differences.empty() ? std::string() : differences[0]->kind;
    const std::string argument = differences.empty() ? std::string() : differences[0]->name;
    Recompilation& recompilation = again[{key, cause, argument, place}];
    if (recompilation.compilations++ == 0) {
      recompilation.name = compilation.name;
      recompilation.cause = cause;
      recompilation.argument = argument;
      if (!differences.empty()) recompilation.text = analysis::DifferenceText(*differences[0]);
      recompilation.source_file = place.first;
      recompilation.source_line = place.second;
    }
    recompilation.ns += compilation.ns;
  }
  for (auto& [key, function] : functions) {
    const auto& of = calls[key];
    const auto most = std::max_element(
        of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    function.source_file = most->first.first;
    function.source_line = most->first.second;
    figures.functions.push_back(std::move(function));
  }
  for (auto& [key, recompilation] : again) {
    figures.recompilations.push_back(std::move(recompilation));
  }
  const auto by_time = [](const auto& a, const auto& b) { return a.ns > b.ns; };
  std::stable_sort(figures.functions.begin(), figures.functions.end(), by_time);
  std::stable_sort(figures.recompilations.begin(), figures.recompilations.end(), by_time);
  return figures;
}

}  // namespace xlatrace::report
