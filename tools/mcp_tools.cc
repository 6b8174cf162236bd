// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp_tools.h"

#include <utility>

#include <fmt/format.h>

namespace xlatrace::tools {
namespace {

using CommandWords = std::vector<std::string>;

constexpr std::string_view kRun = "Handle (r1) or path of a run.db";
// Commands print for a terminal of this width, without block characters, which take 3 bytes each.
constexpr std::string_view kWidth = "--width=100";
constexpr std::string_view kAscii = "--ascii";

// Rows of 100 columns that fit one answer.
constexpr int kRowsOfOnePage = 15;

void AddOption(const McpArguments& arguments, std::string_view name, CommandWords* command) {
  std::string option(name);
  for (char& c : option) c = c == '_' ? '-' : c;
  for (const std::string& value : arguments.Texts(name)) {
    command->push_back(fmt::format("--{}={}", option, value));
  }
}

void AddFlag(const McpArguments& arguments, std::string_view name, CommandWords* command) {
  std::string option(name);
  for (char& c : option) c = c == '_' ? '-' : c;
  if (arguments.Flag(name)) command->push_back("--" + option);
}

// Answers with the output of a command on the run of argument `run`.
McpAnswer OnRun(McpContext& context, const McpArguments& arguments, CommandWords command,
                std::string_view title, CommandWords before_run = {}, CommandWords after_run = {}) {
  const auto run = context.files.Open(arguments.Text("run"));
  if (!run) return ErrorAnswer(run.error().message);
  command.emplace_back("--");  // No later word is an option.
  command.insert(command.end(), before_run.begin(), before_run.end());
  command.push_back(run->path);
  command.insert(command.end(), after_run.begin(), after_run.end());
  return AnswerOf(context, fmt::format("{} of {}", title, run->handle), std::move(command));
}

McpAnswer AnswerOpen(McpContext& context, const McpArguments& arguments) {
  const auto file = context.files.Open(arguments.Text("path"));
  if (!file) return ErrorAnswer(file.error().message);
  if (!file->is_run) {
    return {fmt::format("{} is not a run.db; modules and find read HLO dumps and HLO files",
                        file->handle),
            {}};
  }
  constexpr std::string_view kFacts =
      "SELECT key, substr(value, 1, 200) AS value FROM run_info WHERE key IN ('command', 'host', "
      "'source', 'granularity', 'framework', 'jax_version', 'tensorflow_version', 'xla_flags', "
      "'rank_of_job') "
      "UNION ALL SELECT 'steps', count(DISTINCT step) FROM step "
      "UNION ALL SELECT 'steady steps', count(DISTINCT step) FROM step WHERE steady "
      "UNION ALL SELECT 'devices', count(*) FROM device "
      "UNION ALL SELECT 'modules', count(*) FROM module "
      "UNION ALL SELECT 'findings', count(*) FROM finding";
  return AnswerOfSql(context,
                     fmt::format("{} is open; next: summary, findings, tree", file->handle), *file,
                     std::string(kFacts));
}

McpAnswer AnswerSummary(McpContext& context, const McpArguments& arguments) {
  CommandWords command = {"summary", std::string(kWidth), std::string(kAscii)};
  for (const std::string_view name : {"by", "phase", "scope"}) AddOption(arguments, name, &command);
  // With `by` the answer is that table. The summary around it would fill the first page.
  if (arguments.Has("by")) command.emplace_back("--table");
  if (arguments.Has("top")) {
    command.push_back(fmt::format("--top={}", arguments.Integer("top")));
  } else if (arguments.Has("by")) {
    command.push_back(fmt::format("--top={}", kRowsOfOnePage));
  }
  return OnRun(context, arguments, std::move(command), "summary");
}

McpAnswer AnswerFindings(McpContext& context, const McpArguments& arguments) {
  const auto run = context.files.Open(arguments.Text("run"));
  if (!run) return ErrorAnswer(run.error().message);
  constexpr std::string_view kFindings =
      "SELECT handle, title, round(coalesce(saves_high_ns_per_step, saves_high_ns_per_run) / 1e6, "
      "3) "
      "AS saves_at_most_ms, iif(saves_high_ns_per_step IS NULL, 'run', 'step') AS per, basis, "
      "confidence, where_source FROM finding ORDER BY rank";
  return AnswerOfSql(
      context,
      fmt::format("findings of {}, best first; upper bounds overlap; show HANDLE has the "
                  "evidence",
                  run->handle),
      *run, std::string(kFindings));
}

McpAnswer AnswerShow(McpContext& context, const McpArguments& arguments) {
  CommandWords command = {"show", std::string(kWidth), std::string(kAscii)};
  AddFlag(arguments, "hlo", &command);
  if (arguments.Has("base")) {
    const auto base = context.files.Open(arguments.Text("base"));
    if (!base) return ErrorAnswer(base.error().message);
    command.push_back("--base=" + base->path);
  }
  return OnRun(context, arguments, std::move(command), "details", {arguments.Text("what")});
}

McpAnswer AnswerQuery(McpContext& context, const McpArguments& arguments) {
  return OnRun(context, arguments, {"query", "--format=csv", "--time-limit=30"}, "rows", {},
               {arguments.Text("sql")});
}

// `BASE... -- NEW...` for diff and gate.
McpAnswer Comparison(McpContext& context, const McpArguments& arguments, CommandWords command,
                     const std::vector<int>& results) {
  std::string title = command.front();
  for (const std::string_view side : {"base", "new"}) {
    if (side == "new") command.emplace_back("--");
    for (const std::string& text : arguments.Texts(side)) {
      const auto run = context.files.Open(text);
      if (!run) return ErrorAnswer(run.error().message);
      command.push_back(run->path);
      title += " " + run->handle;
    }
    if (side == "base") title += " ->";
  }
  return AnswerOf(context, std::move(title), std::move(command), results);
}

McpAnswer AnswerDiff(McpContext& context, const McpArguments& arguments) {
  CommandWords command = {"diff", std::string(kWidth), std::string(kAscii)};
  AddOption(arguments, "by", &command);
  return Comparison(context, arguments, std::move(command), {});
}

McpAnswer AnswerGate(McpContext& context, const McpArguments& arguments) {
  CommandWords command = {"gate", std::string(kAscii)};
  for (const std::string_view name : {"by", "max_regress"}) AddOption(arguments, name, &command);
  return Comparison(context, arguments, std::move(command), {3, 4, 5});
}

McpAnswer AnswerWhatIf(McpContext& context, const McpArguments& arguments) {
  CommandWords command = {"what-if", std::string(kWidth)};
  for (const std::string_view name :
       {"op", "kernel", "without", "collective_bandwidth", "copies"}) {
    AddOption(arguments, name, &command);
  }
  for (const std::string_view name :
       {"no_gaps", "early_collectives", "one_launch", "no_recompute"}) {
    AddFlag(arguments, name, &command);
  }
  return OnRun(context, arguments, std::move(command), "replay");
}

McpAnswer AnswerModules(McpContext& context, const McpArguments& arguments) {
  const CommandWords module =
      arguments.Has("module") ? CommandWords{arguments.Text("module")} : CommandWords();
  return OnRun(context, arguments, {"modules"}, "modules", {}, module);
}

McpAnswer AnswerFind(McpContext& context, const McpArguments& arguments) {
  CommandWords command = {"find"};
  AddOption(arguments, "in", &command);
  AddFlag(arguments, "literal", &command);
  return OnRun(context, arguments, std::move(command), "instructions", {arguments.Text("pattern")});
}

McpAnswer AnswerDoctor(McpContext& context, const McpArguments& arguments) {
  if (!arguments.Has("run")) return AnswerOf(context, "checks of this machine", {"doctor"}, {1});
  const auto run = context.files.Open(arguments.Text("run"));
  if (!run) return ErrorAnswer(run.error().message);
  return AnswerOf(context, fmt::format("possible secrets in {}", run->handle),
                  {"doctor", "--secrets=" + run->path}, {3});
}

}  // namespace

const std::vector<McpTool>& McpTools() {
  using enum ArgumentType;
  static const std::vector<McpTool> tools = {
      {"open",
       "Open a run.db of xlatrace (or a folder of HLO dumps) and get its handle and main facts.",
       {{"path", kText, true, "Path of the file or folder"}},
       AnswerOpen},
      {"summary",
       "Where the device time of a run goes: step time, parts of a step, best findings, largest "
       "ops.",
       {{"run", kText, true, kRun},
        {"by", kText, false,
         "Only this table: op, phase, layer, scope, source, stack, kernel, op_kind, origin, "
         "module, "
         "step, device, rank (device time); compile (compilations, causes, imports), host (code "
         "that "
         "devices waited for), memory (owners at the peak), tree"},
        {"phase", kText, false, "Only this phase: forward, backward, ..."},
        {"scope", kText, false, "Only layers or source files that match, such as layer_*"},
        {"top", kInteger, false, "Rows of the table; with by: 15 unless given"}},
       AnswerSummary},
      {"tree",
       "All recorded time as a tree: startup, steps, computation, communication, idle and its "
       "causes.",
       {{"run", kText, true, kRun}, {"node", kInteger, false, "Number of a node: its children"}},
       AnswerTree},
      {"findings",
       "Possible savings, the largest first.",
       {{"run", kText, true, kRun}},
       AnswerFindings},
      {"show",
       "Details of one thing: an op, kernel, module, finding, layer or source line.",
       {{"run", kText, true, kRun},
        {"what", kText, true, "Handle (o17, k3, m2, f1), layer, FILE:LINE, or name"},
        {"hlo", kFlag, false, "All of the HLO"},
        {"base", kText, false, "Another run: the same thing in it, side by side"}},
       AnswerShow},
      {"query",
       "Rows of one read-only SELECT over the views of a run, as CSV. Views: SELECT name FROM "
       "sqlite_master WHERE type='view'. Columns: SELECT * FROM op_time LIMIT 1.",
       {{"run", kText, true, kRun}, {"sql", kText, true, "One SELECT of SQLite; use LIMIT"}},
       AnswerQuery},
      {"diff",
       "Changes between two runs or two dumps, with causes.",
       {{"base", kTexts, true, "Handles or paths before the change"},
        {"new", kTexts, true, "Handles or paths after the change"},
        {"by", kText, false, "Table by op, phase, layer, op_kind, source, kernel or module"}},
       AnswerDiff},
      {"gate",
       "Is the new code slower? Exit status 0: no; 3: yes; 4: not comparable. At least 4 runs of "
       "each "
       "side give a definite result.",
       {{"base", kTexts, true, "Handles or paths before the change"},
        {"new", kTexts, true, "Handles or paths after the change"},
        {"by", kText, false, "Besides the step, its phases or ops: step, phase, op"},
        {"max_regress", kText, false, "How much slower is too slow, such as 3%"}},
       AnswerGate},
      {"what-if",
       "Replay a step with changes: the new step time with a range, and its critical path.",
       {{"run", kText, true, kRun},
        {"op", kTexts, false, "OP=FACTOR: o17=0.5x, kind:gemm=0.8x, phase:backward=0.9x"},
        {"kernel", kTexts, false, "KERNEL=FACTOR: k3=0.5x"},
        {"without", kTexts, false, "Ops, kernels or phases to leave out: o17"},
        {"no_gaps", kFlag, false, "The device never waits for the host"},
        {"collective_bandwidth", kText, false, "Factor for collectives: 2x"},
        {"copies", kText, false, "hidden or gone"},
        {"early_collectives", kFlag, false, "Collectives begin as soon as their operands exist"},
        {"one_launch", kFlag, false, "One launch per execution, as with a CUDA graph"},
        {"no_recompute", kFlag, false, "Nothing is computed a second time"}},
       AnswerWhatIf},
      {"modules",
       "Compiled modules of a run or dump, and the main program; or one module in detail.",
       {{"run", kText, true, "Handle or path of a run.db or dump"},
        {"module", kText, false, "Handle (m1), id or name of one module"}},
       AnswerModules},
      {"find",
       "Find HLO instructions by name, op_name, source line, shape or opcode.",
       {{"run", kText, true, "Handle or path of a run.db or dump"},
        {"pattern", kText, true, "Regular expression (RE2)"},
        {"in", kTexts, false, "Where to search: name, op_name, source, shape, opcode, target"},
        {"literal", kFlag, false, "The pattern is plain text"}},
       AnswerFind},
      {"doctor",
       "Can this machine record runs? With a run: what in it looks like a secret.",
       {{"run", kText, false, kRun}},
       AnswerDoctor},
  };
  return tools;
}

}  // namespace xlatrace::tools
