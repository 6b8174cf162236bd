// SPDX-License-Identifier: Apache-2.0

// The base run of `report --base`: its ops, matched by content, and their descriptions.

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "compare/changes.h"
#include "compare/comparison.h"
#include "compare/verdict.h"
#include "report/compare/compare_output.h"
#include "report/compare/load_run.h"
#include "report/glyphs.h"
#include "report/page/page_compare.h"
#include "report/page/page_context.h"

namespace xlatrace::report {
namespace {

using store::Statement;
using store::Table;
using Json = nlohmann::ordered_json;

struct ModuleName {
  std::string name, fingerprint;
};

Result<std::unordered_map<int64_t, ModuleName>> ModuleNames(store::RunDb& db) {
  XLATRACE_ASSIGN(const Table rows, db.Select("SELECT module_id, name, fingerprint FROM module"));
  std::unordered_map<int64_t, ModuleName> names;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    names.emplace(rows.Int(i, "module_id"),
                  ModuleName{rows.Text(i, "name"), rows.Text(i, "fingerprint")});
  }
  return names;
}

struct PageOpFacts {
  std::string fingerprint;  // The module's; empty: unknown.
  std::string module;
  std::string instruction;
  std::string op_name;
  std::string op_kind;
};

// Identifies one op for component compare/: the same instruction in all processes of the program.
std::string KeyOf(const std::string& fingerprint, const std::string& module,
                  const std::string& instruction) {
  return (fingerprint.empty() ? "name " + module : fingerprint) + '\n' + instruction;
}

// For every op of `base`: the matching op of the page, and the level of matching.
struct PageMatch {
  std::vector<std::optional<size_t>> op;
  std::vector<std::string_view> how;
  // `ppm` millionths of op `of` belong to `op`, for a function that was one program and became
  // several. The op of each program has a part, and so has `of`.
  struct Part {
    size_t op, of;
    int64_t ppm;
  };
  std::vector<Part> parts;
};

// Several ops of a row, each of another program.
bool OfSeveralPrograms(const compare::Run& run, const std::vector<size_t>& ops) {
  std::set<size_t> modules;
  for (const size_t op : ops) modules.insert(run.ops[op].module);
  return ops.size() > 1 && modules.size() == ops.size();
}

void AddParts(const compare::Run& now, const std::vector<size_t>& ops,
              const std::vector<size_t>& targets, const PageRowsOf& rows_of, PageMatch& match) {
  int64_t all = 0;
  for (const size_t op : ops) all += now.ops[op].ns;
  if (all <= 0) return;
  for (const size_t op : ops) {
    const std::vector<size_t> rows = rows_of(now.ops[op]);
    for (size_t k = 0; k < std::min(rows.size(), targets.size()); ++k) {
      match.parts.push_back({rows[k], targets[k], now.ops[op].ns * 1'000'000 / all});
    }
  }
}

// Rows of the page's ops for ops of component compare/.
PageRowsOf RowsOf(const compare::Run& run, const std::vector<PageOpFacts>& ops) {
  std::unordered_map<std::string, std::vector<size_t>> by_key;
  for (size_t i = 0; i < ops.size(); ++i) {
    by_key[KeyOf(ops[i].fingerprint, ops[i].module, ops[i].instruction)].push_back(i);
  }
  return [&run, by_key = std::move(by_key)](const compare::Op& op) {
    if (op.instruction.empty()) return std::vector<size_t>();
    const compare::Module& module = run.modules[op.module];
    const auto found = by_key.find(KeyOf(module.fingerprint, module.name, op.instruction));
    return found == by_key.end() ? std::vector<size_t>() : found->second;
  };
}

PageMatch MatchPageOps(const RunPair& pair, const compare::Comparison& comparison, size_t base_ops,
                       const PageRowsOf& ours, const PageRowsOf& theirs) {
  PageMatch match;
  match.op.resize(base_ops);
  match.how.resize(base_ops);
  for (const compare::Row& row : comparison.rows) {
    // The largest op represents a group.
    const compare::Op* target = compare::LargestOf(pair.now, row.now);
    if (target == nullptr) continue;
    const std::vector<size_t> to = theirs(*target);
    if (to.empty()) continue;
    if (!row.base.empty() && OfSeveralPrograms(pair.now, row.now)) {
      AddParts(pair.now, row.now, to, theirs, match);
    }
    for (const size_t b : row.base) {
      const std::vector<size_t> from = ours(pair.base.ops[b]);
      for (size_t k = 0; k < from.size(); ++k) {
        match.op[from[k]] = to[std::min(k, to.size() - 1)];
        match.how[from[k]] = Text(row.level);
      }
    }
  }
  return match;
}

// The instructions of `page`, in the order of its ops; further ops have none.
Result<std::vector<PageOpFacts>> OpsToMatch(PageContext& page, const RunView& view) {
  XLATRACE_ASSIGN(const auto modules, ModuleNames(page.db));
  std::unordered_map<std::string, const OpFigure*> figures;
  for (const OpFigure& op : view.ops) figures.emplace(op.handle, &op);
  XLATRACE_ASSIGN(const Table rows, page.db.Select("SELECT handle, op_name, op_kind FROM op_time"
                                                   " WHERE op IS NOT NULL"));
  std::unordered_map<std::string, size_t> row_of;
  for (size_t i = 0; i < rows.rows.size(); ++i) row_of.emplace(rows.Text(i, "handle"), i);
  std::vector<PageOpFacts> ops;
  for (const PageOp& op : page.ops) {
    if (op.row_in_sql < 0) break;
    const size_t row = row_of.at(op.handle);
    const auto module = modules.find(op.module_id);
    const ModuleName name = module == modules.end() ? ModuleName() : module->second;
    ops.push_back({name.fingerprint, name.name, op.instruction, rows.Text(row, "op_name"),
                   rows.Text(row, "op_kind")});
  }
  return ops;
}

// Twice the standard error of the difference of two means of steps; nothing with under 3 steps.
std::optional<int64_t> StepNoise(const RunView& a, const RunView& b) {
  double sum = 0;
  for (const RunView* view : {&a, &b}) {
    double n = 0, mean = 0, squares = 0;
    for (const StepFigure& step : view->steps.all) {
      if (!step.steady) continue;
      const auto ns = static_cast<double>(step.wall_ns);
      n += 1;
      const double delta = ns - mean;
      mean += delta / n;
      squares += delta * (ns - mean);
    }
    if (n < 3) return std::nullopt;
    sum += squares / (n - 1) / n;
  }
  return static_cast<int64_t>(std::llround(2 * std::sqrt(sum)));
}

Json Notes(const RunView& base, const RunView& view, const RunPair& pair,
           const compare::Verdict& verdict) {
  Json notes = Json::array();
  notes.push_back(WithGlyphs(verdict.changed));
  if (std::string facts = FactsSentence(pair.base, pair.now); !facts.empty()) {
    notes.push_back(WithGlyphs(facts));
  }
  const auto differ = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) notes.push_back(fmt::format("{}: {} before, {} now.", what, a, b));
  };
  differ("Devices", base.DeviceText(), view.DeviceText());
  differ("Framework", base.framework, view.framework);
  differ("Command", base.command, view.command);
  if (base.basis.steady != view.basis.steady) {
    notes.push_back("Only one of the runs has steady steps: their times cannot be compared.");
  }
  return notes;
}

Status WriteSteps(PageContext& base) {
  PageTable steps("base_steps", base.blocks.strings());
  steps.Declare(
      "step device start_ns:delta end_ns:delta device_ns busy_ns steady how:word typical");
  XLATRACE_TRY(
      FillTable(base.db,
                "SELECT step, device_id, start_ns, end_ns, device_ns, busy_ns, steady, how,"
                " typical"
                " FROM step ORDER BY device_id, start_ns",
                steps));
  base.blocks.Write(steps);
  // Parts of the wall time of its steps, for comparison with the parts of this run.
  PageTable parts("base_step_parts", base.blocks.strings());
  parts.Declare("step device part:word wall_ns");
  XLATRACE_TRY(FillTable(base.db,
                         "SELECT step, device_id, part, wall_ns FROM step_part"
                         " ORDER BY device_id, step, part",
                         parts));
  base.blocks.Write(parts);
  return {};
}

}  // namespace

Status WriteBaseTables(PageContext& page) {
  if (page.options.base == nullptr || page.options.base_view == nullptr) return {};
  const RunView& view = *page.options.base_view;
  PageContext base{
      .db = *page.options.base, .view = view, .options = page.options, .blocks = page.blocks};
  XLATRACE_TRY(LoadPageOps(base));
  XLATRACE_ASSIGN(const std::vector<PageOpFacts> before, OpsToMatch(base, view));
  XLATRACE_ASSIGN(const std::vector<PageOpFacts> now, OpsToMatch(page, page.view));
  XLATRACE_ASSIGN(const RunPair pair, LoadRunPair(*page.options.base, view, page.db, page.view));
  const compare::Comparison comparison = compare::Compare(pair.base, pair.now);
  const std::vector<compare::Change> changes =
      compare::FindChanges(pair.base, pair.now, comparison);
  const compare::Verdict verdict =
      compare::ComputeVerdict(pair.base, pair.now, comparison, changes, {&pair.base}, {&pair.now});
  const PageRowsOf base_rows = RowsOf(pair.base, before);
  const PageRowsOf now_rows = RowsOf(pair.now, now);
  const PageMatch matches = MatchPageOps(pair, comparison, before.size(), base_rows, now_rows);
  std::unordered_map<std::string, const OpFigure*> figures;
  for (const OpFigure& op : view.ops) figures.emplace(op.handle, &op);

  PageTable table("base_ops", page.blocks.strings());
  table.Declare(
      "op>ops how:word handle:text module_name:text instruction:text op_kind:word phase:word"
      " layer:text layer_group:text op_name:text source_file:text source_line ns calls"
      " unattributed_reason:word theoretical_occupancy_pct:real");
  std::unordered_map<std::string, double> occupancy;
  XLATRACE_TRY(
      base.db.ForEach("SELECT module_id, op, theoretical_occupancy_pct FROM op_time"
                      " WHERE theoretical_occupancy_pct IS NOT NULL",
                      [&](const Statement& row) {
                        occupancy.emplace(OpKey(row.Int64(0), row.Text(1)), row.Real(2));
                        return true;
                      }));
  int64_t matched_ns = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const PageOp& op = base.ops[i];
    if (matches.op[i]) {
      table.Set(0, static_cast<int64_t>(*matches.op[i]));
      table.SetText(1, matches.how[i]);
      matched_ns += op.ns;
    }
    table.SetText(2, op.handle);
    table.SetText(3, before[i].module);
    table.SetText(4, before[i].instruction);
    table.SetText(5, before[i].op_kind);
    const auto figure = figures.find(op.handle);
    if (figure != figures.end()) {
      const OpFigure& f = *figure->second;
      table.SetText(6, Text(f.phase));
      table.SetText(7, f.layer);
      table.SetText(8, f.layer_group);
      table.SetText(10, f.source_file);
      table.Set(11, f.source_line);
      table.Set(13, f.calls);
    } else {
      table.Set(13, int64_t{0});
    }
    table.SetText(9, before[i].op_name);
    table.Set(12, op.ns);
    const auto known = occupancy.find(OpKey(op.module_id, op.instruction));
    if (known != occupancy.end()) table.SetReal(15, known->second);
    table.EndRow();
  }
  // Time without an instruction, by reason.
  for (const ReasonFigure& reason : view.coverage.reasons) {
    PageOp op;
    op.ns = reason.ns;
    op.reason = reason.reason;
    op.phase = reason.reason == Text(model::Reason::kAutotuning) ? "other" : "unknown";
    table.SetText(5, "other");
    table.SetText(6, op.phase);
    table.Set(12, op.ns);
    table.Set(13, reason.activities);
    table.SetText(14, op.reason);
    table.EndRow();
    base.ops.push_back(std::move(op));
  }
  page.blocks.Write(table);
  PageTable parts("base_parts", page.blocks.strings());
  parts.Declare("op>ops of>ops ppm");
  for (const PageMatch::Part& part : matches.parts) {
    parts.Set(0, static_cast<int64_t>(part.op));
    parts.Set(1, static_cast<int64_t>(part.of));
    parts.Set(2, part.ppm);
    parts.EndRow();
  }
  page.blocks.Write(parts);
  XLATRACE_TRY(WriteShareTable(base, "base_op_shares", "base_ops"));
  XLATRACE_TRY(WriteSteps(base));
  const std::optional<int64_t> noise = StepNoise(view, page.view);
  Json compared = WriteCompareTables(
      {pair.base, pair.now, comparison, changes, verdict, base_rows, now_rows}, page.blocks);
  page.meta["base"] = {{"run", RunMeta(view)},
                       {"basis", BasisMeta(view)},
                       {"coverage", CoverageMeta(view.coverage)},
                       {"step_noise_ns", noise ? Json(*noise) : Json()},
                       {"matched_ns", matched_ns},
                       {"notes", Notes(view, page.view, pair, verdict)},
                       {"compare", std::move(compared)}};
  return {};
}

}  // namespace xlatrace::report
