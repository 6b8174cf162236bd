// SPDX-License-Identifier: Apache-2.0

// The parts of the time as a bar, for a summary in a terminal.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/share_text.h"
#include "base/terminal.h"
#include "report/device_parts.h"
#include "report/shown_words.h"
#include "report/summary/summary_blocks.h"
#include "report/text_table.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxProgramLines = 6;

std::string_view Ansi(model::StepPart part) {
  using model::StepPart;
  switch (part) {
    case StepPart::kForward:
      return "34";
    case StepPart::kLoss:
      return "33";
    case StepPart::kBackward:
      return "38;5;208";
    case StepPart::kRecompute:
      return "35";
    case StepPart::kOptimizer:
      return "32";
    case StepPart::kExposedCollective:
      return "38;5;161";
    case StepPart::kExposedCopy:
      return "36";
    default:
      return "90";
  }
}

}  // namespace

std::string PartsBlock::Colored(model::StepPart part, const std::string& text) const {
  if (!options_.color || text.empty()) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", Ansi(part), text);
}

SummaryLines PartsBlock::Lines() const {
  using model::StepPart;
  if (view_.coverage.device_ns == 0) return {};
  const bool steps = view_.basis.steady && view_.has_step_parts;
  const int bar_width = width_ >= 100 ? 27 : 16;
  const std::string heading = view_.basis.steady ? "ms/step" : "ms";
  const int64_t whole = steps ? view_.steps.wall_ns : view_.coverage.device_ns;
  // No part is longer than the whole: a column as wide as that never cuts a number.
  const int numbers = std::max(8, 1 + DisplayWidth(Milliseconds(view_.PerStep(whole))));
  SummaryLines lines;
  lines.push_back(FitLeft(steps ? "part of step" : DevicePartsName(view_), 20) +
                  FitRight(heading, numbers) + FitRight("%", 6));
  if (!steps) {
    lines[0] += view_.basis.steady ? "  device time"
                : view_.StepsAreJobs()
                    ? fmt::format("  device time, launches of {}", KeptWords(view_.job))
                    : std::string("  device time, whole run");
  }
  const auto line = [&](StepPart part, std::string_view name, int64_t ns, const std::string& note) {
    std::string text = FitLeft(name, 20) + FitRight(Milliseconds(view_.PerStep(ns)), numbers) +
                       FitRight(ShareText(static_cast<double>(ns), static_cast<double>(whole)), 6);
    const std::string bar =
        Bar(static_cast<double>(ns), static_cast<double>(whole), bar_width, options_.ascii);
    text += "  " + Colored(part, bar);
    if (!note.empty()) {
      const int room = width_ - 20 - numbers - 6 - 2 - bar_width - 2;
      text.append(static_cast<size_t>(bar_width - DisplayWidth(bar) + 2), ' ');
      text += DisplayWidth(note) > room ? std::string() : note;
      text.erase(text.find_last_not_of(' ') + 1);
    }
    lines.push_back(std::move(text));
  };
  if (steps) {
    for (const StepPart part : kPartOrder) {
      const int64_t ns = view_.step_parts[static_cast<size_t>(part)];
      if (ns > 0) line(part, PartWords(part), ns, Note(part));
    }
  } else {
    for (const DevicePart& part : DeviceParts(view_)) line(part.part, part.words, part.ns, "");
  }
  lines.push_back(FitLeft(steps ? "step" : "all", 20) +
                  FitRight(Milliseconds(view_.PerStep(whole)), numbers) + FitRight("100", 6));
  if (!view_.basis.steady) {
    AppendLines(lines, Idle());
    AppendLines(lines, Calls());
  }
  return lines;
}

// Without steps: idle time in addition to the device time, between first and last activity.
SummaryLines PartsBlock::Idle() const {
  int64_t ns = 0;
  int64_t longest = 0;
  for (const GapFigure& gap : view_.gaps) {
    ns += gap.ns;
    longest = std::max(longest, gap.longest_ns);
  }
  if (view_.gap_count == 0) return {};
  const auto idle = static_cast<double>(ns);
  const auto span = static_cast<double>(view_.span.wall_ns);
  std::string text =
      fmt::format("  idle {} ({}% of {}) in {} gap{}, longest {}", Duration(idle),
                  ShareText(idle, span), Duration(span), Thousands(view_.gap_count),
                  view_.gap_count == 1 ? "" : "s", Duration(static_cast<double>(longest)));
  // As many causes as fit into the line.
  for (size_t k = 0; k < view_.gaps.size() && k < 3; ++k) {
    const auto cause = [&](std::string_view words) {
      return fmt::format("{}{}{} {}", text, k == 0 ? ": " : ", ", words,
                         Duration(static_cast<double>(view_.gaps[k].ns)));
    };
    std::string longer = cause(IdleCauseWords(view_.gaps[k]));
    if (DisplayWidth(longer) > width_) longer = cause(CauseWords(view_.gaps[k].cause));
    if (DisplayWidth(longer) > width_) break;
    text = std::move(longer);
  }
  return {DisplayWidth(text) > width_ ? FitLeft(text, width_) : text};
}

// Without steps: programs side by side, per call.
SummaryLines PartsBlock::Calls() const {
  SummaryLines lines;
  size_t shown = 0;
  size_t left = 0;
  for (const ModuleFigure& module : view_.modules) {
    if (module.executions == 0 || module.ns == 0) continue;
    if (shown == kMaxProgramLines || 200 * module.ns < view_.coverage.device_ns) {
      ++left;
      continue;
    }
    ++shown;
    std::string name = module.name;
    if (module.program_id) name += "#" + std::to_string(*module.program_id);
    const double mean = static_cast<double>(module.ns) / static_cast<double>(module.executions);
    std::string text = FitLeft("  " + FitName(name, 26), 29) +
                       fmt::format("{} call{} of {}", Thousands(module.executions),
                                   module.executions == 1 ? "" : "s", Duration(mean));
    if (module.executions > 1) {
      text += fmt::format(" ({} to {} long)", Duration(static_cast<double>(module.least_call_ns)),
                          Duration(static_cast<double>(module.most_call_ns)));
    }
    text += fmt::format("  {}%", ShareText(static_cast<double>(module.ns),
                                           static_cast<double>(view_.coverage.device_ns)));
    lines.push_back(DisplayWidth(text) > width_ ? FitLeft(text, width_) : text);
  }
  if (left > 0 && shown > 0)
    lines.push_back(fmt::format("  [{} more program{}]", left, left == 1 ? "" : "s"));
  return lines;
}

std::string PartsBlock::Note(model::StepPart part) const {
  if (part == model::StepPart::kIdle && view_.gap_count > 0) {
    int64_t longest = 0;
    for (const GapFigure& gap : view_.gaps) longest = std::max(longest, gap.longest_ns);
    const std::string gaps = GapCount(view_.PerStep(view_.gap_count));
    std::string text = fmt::format("{} gap{}/step, longest {}", gaps, gaps == "1" ? "" : "s",
                                   Duration(static_cast<double>(longest)));
    int64_t calls = 0;
    int64_t on_idle = 0;
    for (const LaunchQueueFigure& queue : view_.launch_queues) {
      if (queue.steady != view_.basis.steady) continue;
      calls += queue.calls;
      on_idle += queue.calls_on_idle;
    }
    // A note that is too long for its line is left out completely.
    if (calls > 0 && width_ >= 120) {
      text += fmt::format("; {}% of launches came late",
                          ShareText(static_cast<double>(on_idle), static_cast<double>(calls)));
    }
    return text;
  }
  if (part == model::StepPart::kExposedCollective) return "nothing computes meanwhile";
  for (const OpFigure& op : view_.ops) {  // By time.
    if (Text(op.phase) != Text(part) || op.op_kind == "collective" || op.op_kind == "copy") {
      continue;
    }
    const int64_t ns = view_.step_parts[static_cast<size_t>(part)];
    if (view_.sorted_otherwise || 2 * op.ns < ns || 10 * ns < view_.steps.wall_ns) break;
    return fmt::format("{} alone {}", op.handle, Milliseconds(view_.PerStep(op.ns)));
  }
  return {};
}

}  // namespace xlatrace::report
