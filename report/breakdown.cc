// SPDX-License-Identifier: Apache-2.0
#include "report/breakdown.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using store::Cell;

Cell TextOrNull(const std::string& text) {
  return text.empty() ? Cell(std::monostate()) : Cell(text);
}

Cell IntOrNull(const std::optional<int64_t>& value) {
  return value ? Cell(*value) : Cell(std::monostate());
}

class Maker {
 public:
  explicit Maker(const RunView& view) : view_(view) {}

  Breakdown Make(By by) {
    breakdown_.name = Text(by);
    switch (by) {
      case By::kOp:
        Ops();
        break;
      case By::kPhase:
        Phases();
        break;
      case By::kLayer:
        Scopes(view_.layers, false);
        break;
      case By::kSource:
        Scopes(view_.sources, true);
        break;
      case By::kStack:
        Stacks();
        break;
      case By::kKernel:
        Kernels();
        break;
      case By::kModule:
        Modules();
        break;
      case By::kStep:
        Steps();
        break;
      case By::kOpKind:
        Named(view_.kinds, view_.coverage.none_ns, view_.coverage.none_activities);
        break;
      case By::kScope:
      case By::kOrigin:
      case By::kDevice:
      case By::kRank:
        Named(view_.slices, 0, 0);
        break;
    }
    for (const char* column : {"ns", "ns_per_step", "pct"}) breakdown_.columns.push_back(column);
    const size_t ns = breakdown_.columns.size() - 3;
    if (by == By::kStep || by == By::kStack || (by == By::kOp && view_.sorted_otherwise))
      return std::move(breakdown_);
    std::stable_sort(breakdown_.rows.begin(), breakdown_.rows.end(),
                     [ns](const auto& a, const auto& b) {
                       return std::get<int64_t>(a[ns]) > std::get<int64_t>(b[ns]);
                     });
    return std::move(breakdown_);
  }

 private:
  void Add(std::vector<Cell> cells, int64_t ns) {
    cells.emplace_back(ns);
    if (view_.basis.steady) {
      cells.emplace_back(static_cast<int64_t>(std::llround(view_.PerStep(ns))));
    } else {
      cells.emplace_back(std::monostate());
    }
    const int64_t whole = view_.coverage.device_ns;
    if (whole == 0) {
      cells.emplace_back(std::monostate());
    } else {
      const double pct = 100.0 * static_cast<double>(ns) / static_cast<double>(whole);
      cells.emplace_back(std::round(pct * 1000) / 1000);
    }
    breakdown_.rows.push_back(std::move(cells));
  }

  void Ops() {
    breakdown_.columns = {"handle",    "module",      "program_id",   "instruction",
                          "op_kind",   "phase",       "layer",        "layer_group",
                          "op_name",   "source_file", "source_line",  "confidence",
                          "estimated", "calls",       "library_file", "library_line"};
    for (const OpFigure& op : view_.ops) {
      Add({TextOrNull(op.handle), TextOrNull(op.module), IntOrNull(op.program_id), op.instruction,
           TextOrNull(op.op_kind), std::string(Text(op.phase)), TextOrNull(op.layer),
           TextOrNull(op.layer_group), TextOrNull(op.op_name), TextOrNull(op.source_file),
           IntOrNull(op.source_line), TextOrNull(op.confidence),
           static_cast<int64_t>(op.estimated ? 1 : 0),
           op.calls > 0 ? Cell(op.calls) : Cell(std::monostate()), TextOrNull(op.library_file),
           IntOrNull(op.library_line)},
          op.ns);
    }
    if (view_.coverage.none_activities > 0) {
      std::vector<Cell> cells(breakdown_.columns.size());
      cells[5] = std::string(Text(model::Phase::kUnknown));
      cells[11] = std::string(Text(model::Confidence::kNone));
      cells[12] = int64_t{0};
      cells[13] = view_.coverage.none_activities;
      Add(std::move(cells), view_.coverage.none_ns);
    }
  }

  void Phases() {
    breakdown_.columns = {"phase"};
    for (const model::Phase phase : kPhaseOrder) {
      const int64_t ns = view_.phases[static_cast<size_t>(phase)];
      if (ns != 0) Add({std::string(Text(phase))}, ns);
    }
  }

  void Scopes(const std::vector<ScopeFigure>& scopes, bool source) {
    breakdown_.columns = source ? std::vector<std::string>{"source_file", "source_line"}
                                : std::vector<std::string>{"layer_group"};
    for (const model::Phase phase : kPhaseOrder) {
      breakdown_.columns.push_back(std::string(Text(phase)) + "_ns");
    }
    breakdown_.columns.push_back("estimated_ns");
    if (source) {
      for (const char* column : {"function", "library_file", "library_line", "inclusive_ns"}) {
        breakdown_.columns.push_back(column);
      }
    }
    // Time without an instruction belongs to the row without a name.
    int64_t none_ns = view_.coverage.none_ns;
    const auto add = [&](const ScopeFigure& scope) {
      ScopeFigure figure = scope;
      if (figure.name.empty() && !figure.line) {
        figure.ns += none_ns;
        figure.inclusive_ns += none_ns;
        if (none_ns > 0) {
          for (size_t p = 0; p < kPhaseCount; ++p) figure.phases[p] += view_.none_phases[p];
        }
        none_ns = 0;
      }
      std::vector<Cell> cells{TextOrNull(figure.name)};
      if (source) cells.push_back(IntOrNull(figure.line));
      for (const model::Phase phase : kPhaseOrder) {
        cells.emplace_back(figure.phases[static_cast<size_t>(phase)]);
      }
      cells.emplace_back(figure.estimated_ns);
      if (source) {
        cells.push_back(TextOrNull(figure.function));
        cells.push_back(TextOrNull(figure.via_file));
        cells.push_back(IntOrNull(figure.via_line));
        cells.emplace_back(figure.inclusive_ns);
      }
      Add(std::move(cells), figure.ns);
    };
    for (const ScopeFigure& scope : scopes) add(scope);
    if (none_ns > 0) add(ScopeFigure());
  }

  // Own times sum to device time.
  void Stacks() {
    breakdown_.columns = {"depth",        "source_file",  "source_line", "function",
                          "library_file", "library_line", "inclusive_ns"};
    for (const StackFigure& node : view_.stacks) {
      Add({static_cast<int64_t>(node.depth), TextOrNull(node.file), IntOrNull(node.line),
           TextOrNull(node.function), TextOrNull(node.via_file), IntOrNull(node.via_line), node.ns},
          node.self_ns);
    }
    const int64_t none_ns = view_.coverage.none_ns;
    if (none_ns > 0) Add({int64_t{0}, {}, {}, {}, {}, {}, none_ns}, none_ns);
  }

  void Kernels() {
    breakdown_.columns = {"name", "calls"};
    for (const NamedFigure& kernel : view_.kernels) {
      Add({TextOrNull(kernel.name), kernel.calls}, kernel.ns);
    }
  }

  void Named(const std::vector<NamedFigure>& figures, int64_t none_ns, int64_t none_calls) {
    breakdown_.columns = {breakdown_.name, "calls"};
    for (const NamedFigure& figure : figures) {
      Add({TextOrNull(figure.name), figure.calls > 0 ? Cell(figure.calls) : Cell(std::monostate())},
          figure.ns);
    }
    if (none_ns > 0) Add({std::monostate(), none_calls}, none_ns);
  }

  void Modules() {
    breakdown_.columns = {"handle", "module", "program_id", "role", "executions"};
    int64_t rest = view_.coverage.device_ns;
    for (const ModuleFigure& module : view_.modules) {
      if (module.ns == 0) continue;
      rest -= module.ns;
      Add({TextOrNull(module.handle), TextOrNull(module.name), IntOrNull(module.program_id),
           TextOrNull(module.role), module.executions},
          module.ns);
    }
    if (rest > 0) Add({{}, {}, {}, {}, {}}, rest);
  }

  // Wall time, in the order of steps. Steps that are not steady are included, for comparison.
  void Steps() {
    breakdown_.columns = {"step", "steady", "wall_ns", "differs_in", "differs_ns"};
    for (const StepFigure& step : view_.steps.all) {
      std::vector<Cell> cells{step.step, static_cast<int64_t>(step.steady ? 1 : 0), step.wall_ns};
      cells.resize(breakdown_.columns.size());
      if (step.differs_in) {
        cells[3].emplace<std::string>(model::Text(*step.differs_in));
        cells[4].emplace<int64_t>(step.differs_ns);
      }
      Add(std::move(cells), step.wall_ns);
      // Wall time is no share of device time, because each row is one step.
      breakdown_.rows.back().end()[-1] = std::monostate();
      breakdown_.rows.back().end()[-2] = std::monostate();
    }
  }

  const RunView& view_;
  Breakdown breakdown_;
};

}  // namespace

Breakdown MakeBreakdown(const RunView& view, By by) { return Maker(view).Make(by); }

namespace {

constexpr std::string_view kByTexts[] = {"op",    "phase",  "layer",   "kernel", "source",
                                         "stack", "scope",  "op_kind", "origin", "module",
                                         "step",  "device", "rank"};

}  // namespace

std::string_view Text(By by) { return kByTexts[static_cast<size_t>(by)]; }

std::span<const std::string_view> ByTexts() { return kByTexts; }

std::optional<By> ByFromText(std::string_view text) {
  for (size_t i = 0; i < std::size(kByTexts); ++i) {
    if (kByTexts[i] == text) return static_cast<By>(i);
  }
  return std::nullopt;
}

std::optional<Sort> SortFromText(std::string_view text) {
  if (text == "time") return Sort::kTime;
  if (text == "calls") return Sort::kCalls;
  if (text == "average") return Sort::kAverage;
  if (text == "waste") return Sort::kWaste;
  return std::nullopt;
}

}  // namespace xlatrace::report
