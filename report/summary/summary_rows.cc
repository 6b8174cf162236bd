// SPDX-License-Identifier: Apache-2.0
#include "report/summary/summary_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/device_parts.h"
#include "report/op_fold.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

// From this width on, the source line and longer names fit.
constexpr int kWideTableWidth = 120;
constexpr int kMediumTableWidth = 96;

class RowsMaker {
 public:
  RowsMaker(const RunView& view, size_t rows, int width)
      : view_(view), rows_(rows), width_(width) {}

  TextTable Make(By by) {
    switch (by) {
      case By::kPhase:
        return Phases();
      case By::kLayer:
        return Scopes(view_.layers, "layer", false);
      case By::kSource:
        return Scopes(view_.sources, "source line", true);
      case By::kStack:
        return Stacks();
      case By::kKernel:
        return Named(view_.kernels, "kernel", "[no name]");
      case By::kOpKind:
        return Kinds();
      case By::kScope:
        return Named(view_.slices, "scope", "[no scope]");
      case By::kOrigin:
        return Named(view_.slices, "origin", "[not known]");
      case By::kDevice:
        return Named(view_.slices, "device", "[not known]");
      case By::kRank:
        return Named(view_.slices, "rank", "[not known]");
      case By::kModule:
        return Modules();
      case By::kStep:
        return Steps();
      case By::kOp:
        break;
    }
    return Ops();
  }

 private:
  std::string All() const {
    return view_.filter.empty() ? "all device time" : "all of " + view_.filter;
  }
  std::string_view Unit() const { return view_.basis.steady ? "ms/step" : "ms"; }
  std::string Ms(int64_t ns) const { return Milliseconds(view_.PerStep(ns)); }
  std::string Pct(int64_t ns) const {
    return ShareText(static_cast<double>(ns), static_cast<double>(view_.coverage.device_ns));
  }
  std::string Calls(int64_t calls) const {
    if (calls == 0) return "-";
    const double per_step = view_.PerStep(calls);
    if (per_step < 0.5) return "<1";
    return Thousands(std::llround(per_step));
  }
  static std::string Average(int64_t ns, int64_t calls) {
    return calls == 0 ? "-" : Microseconds(static_cast<double>(ns) / static_cast<double>(calls));
  }

  // Columns of the table of ops, by its width and by the facts that the run has.
  struct OpColumns {
    bool medium = false;
    bool wide = false;
    bool rated = false;     // The rate of some op against a roof is known.
    bool replayed = false;  // How much of the op's time the step waits for.
  };

  OpColumns ColumnsFor(const std::vector<FoldedOp>& ops) const {
    OpColumns columns;
    columns.medium = width_ >= kMediumTableWidth;
    columns.wide = width_ >= kWideTableWidth;
    columns.rated =
        std::any_of(ops.begin(), ops.end(), [](const FoldedOp& op) { return op.rated_ns > 0; });
    columns.replayed = columns.wide && std::any_of(ops.begin(), ops.end(), [](const FoldedOp& op) {
                         return op.replayed_ns > 0;
                       });
    return columns;
  }

  std::vector<TextColumn> OpHeadings(const OpColumns& has) const {
    std::vector<TextColumn> columns{{.heading = "op"},
                                    {.heading = "instruction",
                                     .at_most = width_ >= 150 ? 44
                                                : has.wide    ? 32
                                                : has.medium  ? 24
                                                              : 20},
                                    {.heading = std::string(Unit()), .right = true},
                                    {.heading = "%", .right = true}};
    if (has.medium) columns.push_back({.heading = "cum%", .right = true});
    columns.push_back({.heading = "calls", .right = true});
    if (has.medium) columns.push_back({.heading = "avg us", .right = true});
    if (has.rated) columns.push_back({.heading = "%peak", .right = true});
    if (has.medium && has.rated) columns.push_back({.heading = "bound", .at_most = 8});
    if (has.medium && !has.rated) columns.push_back({.heading = "kind", .at_most = 12});
    if (has.replayed) columns.push_back({.heading = "path%", .right = true});
    columns.push_back({.heading = "P"});
    if (has.wide) columns.push_back({.heading = "source", .at_most = 24});
    columns.push_back({.heading = "scope", .path = true, .flexible = true});
    return columns;
  }

  // The cells of a row, shown or not.
  struct OpCells {
    std::string handle, name;
    int64_t ns = 0;
    std::string cum;
    int64_t calls = 0;
    std::string average, peak, bound, kind, path, phase, source, scope;
  };

  std::vector<std::string> OpRow(const OpColumns& has, OpCells cells) const {
    std::vector<std::string> row{std::move(cells.handle), std::move(cells.name), Ms(cells.ns),
                                 Pct(cells.ns)};
    if (has.medium) row.push_back(std::move(cells.cum));
    row.push_back(Calls(cells.calls));
    if (has.medium) row.push_back(std::move(cells.average));
    if (has.rated) row.push_back(std::move(cells.peak));
    if (has.medium) row.push_back(std::move(has.rated ? cells.bound : cells.kind));
    if (has.replayed) row.push_back(std::move(cells.path));
    row.push_back(std::move(cells.phase));
    if (has.wide) row.push_back(std::move(cells.source));
    row.push_back(std::move(cells.scope));
    return row;
  }

  // Names of instructions. If several modules have an instruction of one name, the module's name is
  // added, and the module's number if names of modules are equal too.
  class OpNames {
   public:
    OpNames(const std::vector<FoldedOp>& ops, bool one_process) : one_process_(one_process) {
      for (const FoldedOp& fold : ops) {
        modules_of_[fold.op->instruction].insert(fold.op->module_id);
        programs_of_[Program(*fold.op)].insert(fold.op->module_id);
      }
    }

    std::string Of(const OpFigure& op) const {
      if (modules_of_.at(op.instruction).size() < 2 || !one_process_) return op.instruction;
      const bool same = programs_of_.at(Program(op)).size() > 1;
      const std::string number =
          same && op.program_id ? "#" + std::to_string(*op.program_id) : std::string();
      return op.module + number + "/" + op.instruction;
    }

   private:
    static std::string Program(const OpFigure& op) { return op.instruction + "\n" + op.module; }

    bool one_process_;
    std::map<std::string, std::set<int64_t>> modules_of_;
    std::map<std::string, std::set<int64_t>> programs_of_;
  };

  // `sum`: total of this row and the rows before it.
  OpCells CellsOf(const FoldedOp& fold, const OpNames& names, int64_t sum) const {
    const OpFigure& op = *fold.op;
    OpCells cells;
    cells.handle = op.handle;
    // An instruction that was deduced, not known, wears a tilde.
    cells.name = (fold.exact ? "" : "~") + names.Of(op);
    if (fold.copies > 1) cells.name += fmt::format(" x{}", fold.copies);
    cells.ns = fold.ns;
    cells.cum = Pct(sum);
    cells.calls = fold.calls;
    cells.average = Average(fold.ns, fold.calls);
    cells.peak = PeakWords(fold);
    cells.bound = fold.bound_by.empty() ? "-" : fold.bound_by;
    cells.kind = KindWords(op.op_kind, true);
    cells.path = fold.replayed_ns == 0
                     ? "-"
                     : ShareText(fold.critical_ns, static_cast<double>(fold.replayed_ns));
    cells.phase = PhaseLetter(op.phase);
    cells.source = SourceLine(op.source_file, op.source_line);
    cells.scope = ScopeWords(op.layer_group, op.op_name);
    return cells;
  }

  TextTable Ops() {
    std::vector<FoldedOp> ops = FoldOps(view_);
    const OpColumns has = ColumnsFor(ops);
    const OpNames names(ops, view_.processes <= 1);
    TextTable table(OpHeadings(has));
    if (view_.sorted_otherwise) {
      // As in the view: ordered by the op that represents each row.
      std::stable_sort(ops.begin(), ops.end(),
                       [](const FoldedOp& a, const FoldedOp& b) { return a.op < b.op; });
    }
    int64_t sum = 0;
    int64_t shown = 0;
    int64_t others_calls = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (i >= rows_) {
        others_calls += ops[i].calls;
        continue;
      }
      sum += ops[i].ns;
      shown += ops[i].ops;
      table.Add(OpRow(has, CellsOf(ops[i], names, sum)));
    }
    const Coverage& coverage = view_.coverage;
    const int64_t left = static_cast<int64_t>(view_.ops.size()) - shown;
    if (left > 0) {
      OpCells others;
      others.name = fmt::format("[{} others]", Thousands(left));
      others.ns = coverage.device_ns - coverage.none_ns - sum;
      others.cum = Pct(sum + others.ns);
      others.calls = others_calls;
      table.Add(OpRow(has, std::move(others)));
    }
    if (coverage.none_activities > 0) {
      OpCells none;
      none.name = "[no instruction]";
      none.ns = coverage.none_ns;
      none.calls = coverage.none_activities;
      if (!coverage.reasons.empty()) none.scope = coverage.reasons[0].reason;
      table.Add(OpRow(has, std::move(none)));
    }
    OpCells all;
    all.name = All();
    all.ns = coverage.device_ns;
    all.calls = coverage.activities;
    all.scope = Sum();
    table.Add(OpRow(has, std::move(all)));
    return table;
  }

  // "= 123 busy + 9.40 side by side": device time compared with wall time.
  std::string Sum() const {
    const int64_t aside = view_.coverage.device_ns - view_.steps.busy_ns;
    if (!view_.basis.steady || !view_.filter.empty() || view_.steps.busy_ns <= 0 ||
        1000 * aside < view_.coverage.device_ns) {
      return {};
    }
    return fmt::format("= {} busy + {} side by side", Ms(view_.steps.busy_ns), Ms(aside));
  }

  // "64", "0.06"; "-": no roof is known.
  static std::string PeakWords(const FoldedOp& fold) {
    // An op that starts a copy and returns has no rate.
    if (fold.rated_ns == 0 || fold.ns < 100 * fold.calls) return "-";
    return PeakPercent(fold.peak_ns / static_cast<double>(fold.rated_ns));
  }

  TextTable Phases() {
    TextTable table({{.heading = "phase"},
                     {.heading = std::string(Unit()), .right = true},
                     {.heading = "% of device time", .right = true}});
    for (const model::Phase phase : kPhaseOrder) {
      const int64_t ns = view_.phases[static_cast<size_t>(phase)];
      if (ns > 0) table.Add({std::string(PhaseWords(phase)), Ms(ns), Pct(ns)});
      if (phase != model::Phase::kUnknown) continue;
      // The first screen and the page call this row "copies, no phase".
      for (const DevicePart& part : DeviceParts(view_)) {
        const bool copies = part.part == model::StepPart::kExposedCopy;
        if (!copies && part.part != model::StepPart::kExposedCollective) continue;
        table.Add({copies ? "  of it copies" : "  of it collectives", Ms(part.ns), Pct(part.ns)});
      }
    }
    table.Add({All(), Ms(view_.coverage.device_ns), "100"});
    return table;
  }

  TextTable Scopes(const std::vector<ScopeFigure>& scopes, const std::string& heading,
                   bool source) {
    std::vector<TextColumn> columns{{.heading = heading, .path = true, .flexible = true},
                                    {.heading = std::string(Unit()), .right = true},
                                    {.heading = "%", .right = true}};
    // Under a filter, some calls of a line may be missing.
    if (source) columns.push_back({.heading = "with calls", .right = true});
    std::vector<model::Phase> phases;
    for (const model::Phase phase : kPhaseOrder) {
      if (view_.phases[static_cast<size_t>(phase)] == 0) continue;
      phases.push_back(phase);
      columns.push_back({.heading = std::string(PhaseWords(phase)), .right = true});
    }
    TextTable table(std::move(columns));
    const auto add = [&](std::string name, int64_t ns, int64_t inclusive_ns,
                         const PhaseTimes& times) {
      std::vector<std::string> cells{std::move(name), Ms(ns), Pct(ns)};
      if (source) cells.push_back(inclusive_ns == 0 ? "" : Ms(inclusive_ns));
      for (const model::Phase phase : phases) {
        const int64_t part = times[static_cast<size_t>(phase)];
        cells.push_back(part == 0 ? "" : Ms(part));
      }
      table.Add(std::move(cells));
    };
    ScopeFigure others;
    int64_t other_count = 0;
    for (size_t i = 0; i < scopes.size(); ++i) {
      const ScopeFigure& scope = scopes[i];
      if (i >= rows_ && scope.ns == 0) continue;
      if (i < rows_) {
        std::string name = source ? SourceLine(scope.name, scope.line) : scope.name;
        if (name.empty()) name = source ? "[no source line]" : "[no layer]";
        name += Via(scope.via_file, scope.via_line);
        add(std::move(name), scope.ns, scope.inclusive_ns, scope.phases);
        continue;
      }
      ++other_count;
      others.ns += scope.ns;
      for (size_t p = 0; p < kPhaseCount; ++p) others.phases[p] += scope.phases[p];
    }
    if (other_count > 0) {
      add(fmt::format("[{} others]", Thousands(other_count)), others.ns, 0, others.phases);
    }
    if (view_.coverage.none_ns > 0) {
      add("[no instruction]", view_.coverage.none_ns, 0, view_.none_phases);
    }
    add(All(), view_.coverage.device_ns, 0, view_.phases);
    return table;
  }

  // " via linear.py:287": the library's line behind the user's.
  static std::string Via(const std::string& file, const std::optional<int64_t>& line) {
    return file.empty() ? std::string() : " via " + SourceLine(file, line);
  }

  // A flame graph as indented text: the nodes with the most time, callers above their callees.
  TextTable Stacks() {
    constexpr size_t kBarWidth = 20;
    std::vector<int64_t> times;
    for (const StackFigure& node : view_.stacks) times.push_back(node.ns);
    std::stable_sort(times.rbegin(), times.rend());
    // A node has at least the time of each node below it, so that callers of shown nodes are shown.
    const int64_t least = times.size() > rows_ && rows_ > 0 ? times[rows_ - 1] : 0;
    TextTable table({{.heading = "call stack", .flexible = true},
                     {.heading = std::string(Unit()), .right = true},
                     {.heading = "%", .right = true},
                     {.heading = "own", .right = true},
                     {.heading = ""}});
    int64_t hidden = 0;
    size_t shown = 0;
    const auto bar = [&](int64_t ns) {
      const double share =
          view_.coverage.device_ns == 0
              ? 0
              : static_cast<double>(ns) / static_cast<double>(view_.coverage.device_ns);
      return std::string(static_cast<size_t>(std::lround(share * kBarWidth)), '#');
    };
    for (const StackFigure& node : view_.stacks) {
      if (node.ns < least || shown == rows_) {
        ++hidden;
        continue;
      }
      ++shown;
      std::string name(2 * node.depth, ' ');
      name += node.file.empty() ? "[no source line]" : SourceLine(node.file, node.line);
      if (!node.function.empty()) name += " " + node.function;
      name += Via(node.via_file, node.via_line);
      table.Add({std::move(name), Ms(node.ns), Pct(node.ns),
                 node.self_ns == 0 ? "" : Ms(node.self_ns), bar(node.ns)});
    }
    if (hidden > 0) {
      table.Add({fmt::format("[{} smaller parts of these]", Thousands(hidden)), "", "", "", ""});
    }
    if (view_.coverage.none_ns > 0) {
      const int64_t ns = view_.coverage.none_ns;
      table.Add({"[no instruction]", Ms(ns), Pct(ns), Ms(ns), bar(ns)});
    }
    const int64_t all = view_.coverage.device_ns;
    table.Add({All(), Ms(all), Pct(all), "", ""});
    return table;
  }

  TextTable Named(const std::vector<NamedFigure>& figures, const std::string& heading,
                  const std::string& unnamed) {
    TextTable table({{.heading = heading, .flexible = true},
                     {.heading = std::string(Unit()), .right = true},
                     {.heading = "%", .right = true},
                     {.heading = "calls", .right = true},
                     {.heading = "avg us", .right = true}});
    NamedFigure others;
    for (size_t i = 0; i < figures.size(); ++i) {
      const NamedFigure& figure = figures[i];
      if (i < rows_) {
        table.Add({figure.name.empty() ? unnamed : figure.name, Ms(figure.ns), Pct(figure.ns),
                   Calls(figure.calls), Average(figure.ns, figure.calls)});
        continue;
      }
      others.ns += figure.ns;
      others.calls += figure.calls;
    }
    if (figures.size() > rows_) {
      table.Add(
          {fmt::format("[{} others]", Thousands(static_cast<int64_t>(figures.size() - rows_))),
           Ms(others.ns), Pct(others.ns), Calls(others.calls), ""});
    }
    table.Add({All(), Ms(view_.coverage.device_ns), "100", Calls(view_.coverage.activities), ""});
    return table;
  }

  TextTable Kinds() {
    std::vector<NamedFigure> kinds;
    for (const NamedFigure& kind : view_.kinds)
      kinds.push_back({KindWords(kind.name), kind.ns, kind.calls});
    if (view_.coverage.none_ns > 0) {
      kinds.push_back({"", view_.coverage.none_ns, view_.coverage.none_activities});
    }
    return Named(kinds, "kind of work", "[no instruction]");
  }

  TextTable Modules() {
    TextTable table({{.heading = "id"},
                     {.heading = "module", .flexible = true},
                     {.heading = "role"},
                     {.heading = "runs", .right = true},
                     {.heading = std::string(Unit()), .right = true},
                     {.heading = "%", .right = true}});
    int64_t rest = view_.coverage.device_ns;
    size_t shown = 0;
    for (const ModuleFigure& module : view_.modules) {
      if (module.ns == 0 || shown++ >= rows_) continue;
      rest -= module.ns;
      table.Add({module.handle, module.name, module.role, Thousands(module.executions),
                 Ms(module.ns), Pct(module.ns)});
    }
    if (rest > 0) table.Add({"", "[others, and what has no module]", "", "", Ms(rest), Pct(rest)});
    table.Add({"", All(), "", "", Ms(view_.coverage.device_ns), "100"});
    return table;
  }

  // The slowest steps first, because readers look for them. "backward +3.10 ms": the difference to
  // the mean step.
  static std::string Difference(const StepFigure& step) {
    std::string text;
    if (step.differs_in && 100 * std::abs(step.differs_ns) >= step.wall_ns) {
      text = fmt::format("{} {}{}", PartWords(*step.differs_in), step.differs_ns > 0 ? "+" : "",
                         Duration(static_cast<double>(step.differs_ns)));
    }
    if (step.steady) return text;
    return "not steady: left out of all figures" + (text.empty() ? "" : "; " + text);
  }

  TextTable Steps() {
    TextTable table({{.heading = "step", .right = true},
                     {.heading = "ms", .right = true},
                     {.heading = "to typical", .right = true},
                     {.heading = "", .flexible = true}});
    std::vector<StepFigure> steps = view_.steps.all;
    std::stable_sort(steps.begin(), steps.end(), [](const StepFigure& a, const StepFigure& b) {
      return a.wall_ns > b.wall_ns;
    });
    int64_t sum = 0;
    int64_t others = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      sum += steps[i].wall_ns;
      if (i >= rows_) {
        others += steps[i].wall_ns;
        continue;
      }
      const double mean = static_cast<double>(view_.steps.typical_ns);
      table.Add({std::to_string(steps[i].step), Milliseconds(static_cast<double>(steps[i].wall_ns)),
                 mean > 0 ? fmt::format("{:+.1f}%",
                                        100 * (static_cast<double>(steps[i].wall_ns) - mean) / mean)
                          : "-",
                 Difference(steps[i])});
    }
    if (steps.size() > rows_) {
      table.Add({fmt::format("[{} others]", Thousands(static_cast<int64_t>(steps.size() - rows_))),
                 Milliseconds(static_cast<double>(others)), "", ""});
    }
    table.Add({"all", Milliseconds(static_cast<double>(sum)), "", ""});
    return table;
  }

  const RunView& view_;
  size_t rows_;
  int width_;
};

}  // namespace

TextTable MakeSummaryTable(const RunView& view, By by, size_t rows, int width) {
  return RowsMaker(view, rows, width).Make(by);
}

}  // namespace xlatrace::report
