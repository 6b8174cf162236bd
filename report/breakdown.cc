#include "report/breakdown.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/labels.h"

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
      case By::kKernel:
        Kernels();
        break;
    }
    for (const char* column : {"ns", "ns_per_step", "pct"}) breakdown_.columns.push_back(column);
    const size_t ns = breakdown_.columns.size() - 3;
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
    breakdown_.columns = {"handle",      "module",     "program_id",  "instruction", "op_kind",
                          "phase",       "layer",      "layer_group", "op_name",     "source_file",
                          "source_line", "confidence", "estimated",   "calls"};
    for (const OpFigure& op : view_.ops) {
      Add({TextOrNull(op.handle), TextOrNull(op.module), IntOrNull(op.program_id), op.instruction,
           TextOrNull(op.op_kind), std::string(Text(op.phase)), TextOrNull(op.layer),
           TextOrNull(op.layer_group), TextOrNull(op.op_name), TextOrNull(op.source_file),
           IntOrNull(op.source_line), TextOrNull(op.confidence),
           static_cast<int64_t>(op.estimated ? 1 : 0),
           op.calls > 0 ? Cell(op.calls) : Cell(std::monostate())},
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
    // What has no instruction belongs to the row without a name.
    int64_t none_ns = view_.coverage.none_ns;
    const auto add = [&](const ScopeFigure& scope) {
      ScopeFigure figure = scope;
      if (figure.name.empty() && !figure.line) {
        figure.ns += none_ns;
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
      Add(std::move(cells), figure.ns);
    };
    for (const ScopeFigure& scope : scopes) add(scope);
    if (none_ns > 0) add(ScopeFigure());
  }

  void Kernels() {
    breakdown_.columns = {"name", "calls"};
    for (const NamedFigure& kernel : view_.kernels) {
      Add({TextOrNull(kernel.name), kernel.calls}, kernel.ns);
    }
  }

  const RunView& view_;
  Breakdown breakdown_;
};

}  // namespace

Breakdown MakeBreakdown(const RunView& view, By by) { return Maker(view).Make(by); }

std::string_view Text(By by) {
  switch (by) {
    case By::kPhase:
      return "phase";
    case By::kLayer:
      return "layer";
    case By::kKernel:
      return "kernel";
    case By::kSource:
      return "source";
    case By::kOp:
      break;
  }
  return "op";
}

std::optional<By> ByFromText(std::string_view text) {
  for (const By by : {By::kOp, By::kPhase, By::kLayer, By::kKernel, By::kSource}) {
    if (Text(by) == text) return by;
  }
  return std::nullopt;
}

}  // namespace xlatrace::report
