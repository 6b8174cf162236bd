// Summary for a terminal: what the program prints when somebody wants the answer now.

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"
#include "hlo/module_origin.h"
#include "report/device_parts.h"
#include "report/labels.h"
#include "report/op_fold.h"
#include "report/summary/summary.h"
#include "report/summary/summary_rows.h"
#include "report/text_table.h"
#include "report/verdict.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMostLines = 45;
constexpr int kLeastWidth = 60;
constexpr size_t kLeastRows = 3;
constexpr size_t kAskedRows = 15;
constexpr size_t kMostFindings = 5;
constexpr size_t kMostNotKnown = 2;
constexpr size_t kMostRuledOutLines = 2;
constexpr size_t kMostTitleLines = 3;
constexpr size_t kMostPrograms = 6;

using Lines = std::vector<std::string>;

void Append(Lines& to, Lines from) {
  for (std::string& line : from) to.push_back(std::move(line));
}

class Summary {
 public:
  Summary(const RunView& view, const SummaryOptions& options)
      : view_(view),
        options_(options),
        width_(std::max(options.width, kLeastWidth)),
        verdict_(MakeVerdict(view)) {}

  std::string Make() {
    Lines head = Header();
    head.emplace_back();
    Append(head, Job());
    for (const std::string& line : Wrap(Clean(PlainText(verdict_.sentence)), width_ - 2)) {
      head.push_back("  " + Bold(line));
    }
    for (const std::string& line : Wrap(Clean(PlainText(verdict_.lede)), width_ - 2)) {
      head.push_back("  " + line);
    }
    Lines parts = options_.by == By::kPhase && !view_.has_step_parts ? Lines() : Parts();
    Lines findings = Findings();
    Lines ruled_out = RuledOut();
    Lines not_known = NotKnown();
    Lines footer = Footer();
    // The table takes what is left: heading, rows, others, what has no name, total, blank lines.
    const size_t blanks =
        2 + (parts.empty() ? 0 : 1) + (findings.empty() ? 0 : 1) + (not_known.empty() ? 0 : 1);
    size_t used = head.size() + parts.size() + findings.size() + not_known.size() + footer.size() +
                  blanks + 4;
    used += ruled_out.size();
    // Who asks for a table wants its rows more than what else there is to say.
    const size_t wanted = options_.rows > 0                                     ? options_.rows
                          : options_.by == By::kOp || options_.by == By::kPhase ? 0
                                                                                : kAskedRows;
    for (Lines* block : {&ruled_out, &not_known}) {
      if (block->empty() || used + wanted <= kMostLines) continue;
      used -= block->size() + (block == &not_known ? 1 : 0);
      block->clear();
    }
    while (!ruled_out.empty() && used + kLeastRows > kMostLines) {
      // By whole entries: half of one is a riddle.
      while (ruled_out.back().starts_with(' ')) {
        ruled_out.pop_back();
        --used;
      }
      ruled_out.pop_back();
      --used;
    }
    Append(findings, std::move(ruled_out));
    const bool letters = options_.by == By::kOp && !view_.ops.empty() && view_.filter.empty() &&
                         used + kLeastRows + 1 < kMostLines;
    if (letters) ++used;
    size_t rows = used + kLeastRows < kMostLines ? kMostLines - used : kLeastRows;
    if (options_.rows > 0) rows = std::min(rows, options_.rows);
    // Where nothing has an instruction, the names as recorded say more than one line "none".
    const By by = options_.by == By::kOp && view_.ops.empty() ? By::kKernel : options_.by;
    const RunView& of = options_.table != nullptr ? *options_.table : view_;
    Lines table = MakeSummaryTable(of, by, rows, width_).Lines(width_, options_.ascii);
    if (letters) table.push_back(Letters());
    if (view_.run_coverage.activities == 0) table.clear();  // The verdict has said so.

    Lines lines = std::move(head);
    for (Lines* block : {&parts, &findings, &not_known, &table, &footer}) {
      if (block->empty()) continue;
      lines.emplace_back();
      Append(lines, std::move(*block));
    }
    if (lines.size() > kMostLines) lines.resize(kMostLines);
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }

 private:
  std::string Clean(std::string_view text) const { return Safe(text, options_.ascii); }
  std::string Bold(const std::string& text) const {
    return options_.color ? "\x1b[1m" + text + "\x1b[0m" : text;
  }
  std::string Colored(model::StepPart part, const std::string& text) const {
    if (!options_.color || text.empty()) return text;
    return fmt::format("\x1b[{}m{}\x1b[0m", Ansi(part), text);
  }
  static std::string_view Ansi(model::StepPart part) {
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

  // Fields that fit, in order of importance.
  std::string Fields(const Lines& fields) const {
    std::string line;
    for (const std::string& field : fields) {
      if (field.empty()) continue;
      const std::string safe = Clean(field);
      const int room = width_ - DisplayWidth(line) - (line.empty() ? 0 : 2);
      if (DisplayWidth(safe) > room) {
        if (line.empty()) line = FitLeft(safe, width_);
        continue;
      }
      line += (line.empty() ? "" : "  ") + safe;
    }
    return line;
  }

  // Of a merged job the first thing is who everyone waits for, then through which ranks a step runs.
  Lines Job() const {
    Lines lines;
    for (const auto& [key, value] : view_.info) {
      if (key != "job" && key != "job_path") continue;
      const std::string text = (key == "job" ? "Job: " : "") + value + ".";
      for (const std::string& line : Wrap(Clean(text), width_ - 2)) {
        lines.push_back("  " + (key == "job" ? Bold(line) : line));
      }
    }
    return lines;
  }

  Lines Header() const {
    const std::string file = view_.path.substr(view_.path.find_last_of('/') + 1);
    Lines first{"xlatrace " XLATRACE_VERSION, FitName(file, 30)};
    if (view_.title != file) first.push_back(FitName(view_.title, 30));
    first.push_back(FitName(view_.DeviceText(), 40));
    if (const ModuleFigure* main = view_.MainModule()) {
      // TensorFlow's names of modules are made of the function's and a number of 60 characters.
      const hlo::ModuleOrigin origin = hlo::OriginOfModule(main->name);
      const bool function = origin.how == "tf.function" || origin.how == "cluster";
      first.push_back(FitName(function ? origin.function : main->name, 40));
    }
    first.push_back(view_.framework);
    const Coverage& coverage = view_.coverage;
    if (view_.basis.steady) {
      const double launches = view_.PerStep(coverage.activities);
      first.push_back(Thousands(static_cast<int64_t>(std::llround(launches))) + " " + Launches() +
                      "/step");
    } else if (coverage.activities > 0) {
      first.push_back(Thousands(coverage.activities) + " " + Launches());
    }

    Lines second;
    if (view_.basis.steady) {
      const StepsFigure& steps = view_.steps;
      const auto mean = static_cast<double>(steps.mean_ns);
      std::string text = "step " + Duration(mean);
      if (steps.steady_count >= kStepsForPercentiles) {
        text += fmt::format(" (p10 {}, p90 {}, {} steps)",
                            InUnitOf(static_cast<double>(StepPercentile(steps, 10)), mean),
                            InUnitOf(static_cast<double>(StepPercentile(steps, 90)), mean),
                            Thousands(steps.steady_count));
      } else if (steps.steady_count > 1) {
        text += fmt::format(
            " ({} to {}, {} steps)", InUnitOf(static_cast<double>(steps.min_ns), mean),
            InUnitOf(static_cast<double>(steps.max_ns), mean), Thousands(steps.steady_count),
            Thousands(static_cast<int64_t>(steps.all.size())));
      } else {
        text += " (1 step)";
      }
      second.push_back(std::move(text));
      second.push_back(
          "busy " +
          Percent(static_cast<double>(steps.busy_ns), static_cast<double>(steps.wall_ns)) + "%");
    } else {
      second.push_back("whole run  device time " +
                       Duration(static_cast<double>(coverage.device_ns)));
    }
    if (coverage.device_ns > 0) second.push_back("attributed " + AttributedPercent(coverage) + "%");
    // What may be missing has a line of its own: it is never the field that does not fit.
    const bool lacks = view_.losses.more_possible();
    if (!lacks) {
      second.push_back("lost " + view_.losses.Text());
      second.push_back(view_.losses.EndsText());
    }
    if (view_.errors > 0) second.push_back(Thousands(view_.errors) + " errors");
    const auto left_out = static_cast<int64_t>(view_.steps.all.size()) - view_.steps.steady_count;
    if (view_.basis.steady && left_out > 0) {
      second.push_back(fmt::format("{} not steady left out", Thousands(left_out)));
    }
    if (!lacks) return {Fields(first), Fields(second)};
    return {Fields(first), Fields(second),
            Fields({"lost " + view_.losses.Text(), view_.losses.EndsText()})};
  }

  std::string Launches() const { return view_.granularity == "kernel" ? "launches" : "ops"; }
  static std::string FitName(const std::string& name, int width) {
    const std::string safe = Safe(name, false);
    return DisplayWidth(safe) > width ? FitLeft(safe, width) : safe;
  }

  // The step bar as a table: wall time, sums to the step. Without steady steps, device time.
  Lines Parts() const {
    using model::StepPart;
    if (view_.coverage.device_ns == 0) return {};
    const bool steps = view_.basis.steady && view_.has_step_parts;
    const int bar_width = width_ >= 100 ? 27 : 16;
    const std::string heading = view_.basis.steady ? "ms/step" : "ms";
    const int64_t whole = steps ? view_.steps.wall_ns : view_.coverage.device_ns;
    // No part is longer than the whole: a column as wide as that never cuts a number.
    const int numbers = std::max(8, 1 + DisplayWidth(Milliseconds(view_.PerStep(whole))));
    Lines lines;
    lines.push_back(FitLeft(steps ? "part of step" : "phase", 20) + FitRight(heading, numbers) +
                    FitRight("%", 6));
    if (!steps) lines[0] += view_.basis.steady ? "  device time" : "  device time, whole run";
    const auto line = [&](StepPart part, std::string_view name, int64_t ns,
                          const std::string& note) {
      std::string text = FitLeft(name, 20) + FitRight(Milliseconds(view_.PerStep(ns)), numbers) +
                         FitRight(Percent(static_cast<double>(ns), static_cast<double>(whole)), 6);
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
      Append(lines, Idle());
      Append(lines, Calls());
    }
    return lines;
  }

  // Without steps: what was idle beside the device time, between first and last activity.
  Lines Idle() const {
    int64_t ns = 0;
    int64_t longest = 0;
    for (const GapFigure& gap : view_.gaps) {
      ns += gap.ns;
      longest = std::max(longest, gap.longest_ns);
    }
    if (view_.gap_count == 0) return {};
    std::string text =
        fmt::format("  idle {} in {} gap{}, longest {}", Duration(static_cast<double>(ns)),
                    Thousands(view_.gap_count), view_.gap_count == 1 ? "" : "s",
                    Duration(static_cast<double>(longest)));
    // As many causes as the line holds.
    for (size_t k = 0; k < view_.gaps.size() && k < 3; ++k) {
      const std::string cause =
          fmt::format("{}{} {}", k == 0 ? ": " : ", ", CauseWords(view_.gaps[k].cause),
                      Duration(static_cast<double>(view_.gaps[k].ns)));
      if (DisplayWidth(text + cause) > width_) break;
      text += cause;
    }
    return {DisplayWidth(text) > width_ ? FitLeft(text, width_) : text};
  }

  // Without steps: programs beside each other, per call.
  Lines Calls() const {
    Lines lines;
    size_t shown = 0;
    size_t left = 0;
    for (const ModuleFigure& module : view_.modules) {
      if (module.executions == 0 || module.ns == 0) continue;
      if (shown == kMostPrograms || 200 * module.ns < view_.coverage.device_ns) {
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
      text += fmt::format("  {}%", Percent(static_cast<double>(module.ns),
                                           static_cast<double>(view_.coverage.device_ns)));
      lines.push_back(DisplayWidth(text) > width_ ? FitLeft(text, width_) : text);
    }
    if (left > 0 && shown > 0)
      lines.push_back(fmt::format("  [{} more program{}]", left, left == 1 ? "" : "s"));
    return lines;
  }

  std::string Note(model::StepPart part) const {
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
      // A note too long for its line is left out as a whole.
      if (calls > 0 && width_ >= 120) {
        text += fmt::format("; {}% of launches came late",
                            Percent(static_cast<double>(on_idle), static_cast<double>(calls)));
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

  Lines Findings() const {
    if (view_.findings.empty()) {
      if (!view_.basis.steady) return {};
      return {"do this    nothing: no cause saves 1% of the step"};
    }
    constexpr int kWidestSource = 28;
    const size_t count = std::min(kMostFindings, view_.findings.size());
    // Where none of them was replayed, all are upper bounds.
    const bool any = std::any_of(view_.findings.begin(), view_.findings.end(),
                                 [](const FindingFigure& f) { return f.replayed(); });
    std::vector<Lines> rows;  // saves, sure, source
    int beside[] = {7, 4, 6};
    for (size_t i = 0; i < count; ++i) {
      const FindingFigure& finding = view_.findings[i];
      const std::string_view source = finding.where_source;
      rows.push_back(
          {finding.saves_high_ns ? (finding.replayed() || !any ? "" : "<=") +
                                       Duration(static_cast<double>(*finding.saves_high_ns))
                                 : "",
           finding.confidence, std::string(source.substr(source.find_last_of('/') + 1))});
      for (size_t c = 0; c < 3; ++c) beside[c] = std::max(beside[c], DisplayWidth(rows[i][c]));
    }
    beside[2] = std::min(beside[2], kWidestSource);
    // A title that is longer than the room beside these goes on in the next line.
    const int room = std::max(width_ - beside[0] - beside[1] - beside[2] - 3 - 2, 20);
    TextTable table({{.heading = "do this", .flexible = true},
                     {.heading = any ? "saves" : "saves<=", .right = true},
                     {.heading = "sure"},
                     {.heading = "source", .at_most = kWidestSource}});
    for (size_t i = 0; i < count; ++i) {
      const Lines title = Wrap(Clean(view_.findings[i].title), room);
      for (size_t k = 0; k < std::min(kMostTitleLines, title.size()); ++k) {
        if (k > 0) {
          table.Add({"  " + title[k]});
        } else {
          table.Add({fmt::format("{} {}", i + 1, title[0]), rows[i][0], rows[i][1], rows[i][2]});
        }
      }
    }
    Lines lines = table.Lines(width_, options_.ascii);
    const size_t more =
        view_.findings.size() > kMostFindings ? view_.findings.size() - kMostFindings : size_t{0};
    const std::string others = more > 0 ? fmt::format("; {} more", more) : "";
    const std::string words = AllTogether();
    lines.push_back(Clean(fmt::format("  {}{}; why: xlatrace show {} {}", words, others,
                                      view_.findings[0].handle, ShellWord(view_.path))));
    if (DisplayWidth(lines.back()) > width_) lines.back() = Clean("  " + words + others);
    if (DisplayWidth(lines.back()) > width_) lines.back() = Clean("  " + words);
    return lines;
  }

  // Savings overlap; of those that were replayed it is known what they save together.
  std::string AllTogether() const {
    if (!view_.replay.all_findings_step_ns) return "upper bounds that overlap: do not add them";
    const auto bound = [](const FindingFigure& f) { return f.saves_high_ns && !f.replayed(); };
    const bool bounds = std::any_of(view_.findings.begin(), view_.findings.end(), bound);
    return fmt::format("all {}together: step {} -> {}", bounds ? "but <= " : "of these ",
                       Duration(static_cast<double>(view_.replay.step_ns)),
                       Duration(static_cast<double>(*view_.replay.all_findings_step_ns)));
  }

  // What was looked at and is fine, and what the data could not decide, by their short names.
  Lines RuledOut() const {
    Lines lines;
    for (const std::string_view verdict : {"fine", "withheld"}) {
      const bool fine = verdict == "fine";
      Lines items;
      for (const RuledOutFigure& ruled_out : view_.ruled_out) {
        if (ruled_out.verdict != verdict) continue;
        // Fine: the name and its figure. Not judged: with what is missing.
        items.push_back(fine ? WithFigure(ruled_out.text) : ruled_out.text);
      }
      const Lines wrapped = WrapItems(items, fine ? ", " : "; ");
      for (size_t k = 0; k < wrapped.size(); ++k) {
        lines.push_back((k > 0               ? "           "
                         : verdict == "fine" ? "fine       "
                                             : "not judged ") +
                        wrapped[k]);
      }
    }
    return lines;
  }

  // "copies: 0.1% of the step is exposed copying" -> "copies (0.1% of the step is exposed
  // copying)".
  static std::string WithFigure(const std::string& text) {
    const size_t colon = text.find(": ");
    if (colon == std::string::npos) return text;
    std::string figure = text.substr(colon + 2);
    const size_t end = figure.find("; ");
    if (end != std::string::npos) figure.resize(end);
    return fmt::format("{} ({})", text.substr(0, colon), figure);
  }

  // As many of them as fit two lines, and how many do not.
  Lines WrapItems(const Lines& items, std::string_view between) const {
    Lines wrapped;
    for (size_t left_out = 0; left_out < items.size(); ++left_out) {
      std::string text;
      for (size_t i = 0; i + left_out < items.size(); ++i) {
        text += (i == 0 ? "" : std::string(between)) + items[i];
      }
      if (left_out > 0) text += fmt::format("{}{} more", between, left_out);
      wrapped = Wrap(Clean(text), width_ - 11);
      if (wrapped.size() <= kMostRuledOutLines) break;
    }
    if (wrapped.size() > kMostRuledOutLines) wrapped.resize(kMostRuledOutLines);
    return wrapped;
  }

  // What the letters of column P stand for.
  std::string Letters() const {
    Lines letters;
    for (const model::Phase phase : kPhaseOrder) {
      if (view_.phases[static_cast<size_t>(phase)] == 0) continue;
      letters.push_back(fmt::format("{} {}", PhaseLetter(phase), Text(phase)));
    }
    letters.insert(letters.begin(), "P:");
    return Fields(letters);
  }

  Lines NotKnown() const {
    Lines lines;
    for (size_t i = 0; i < std::min(kMostNotKnown, verdict_.not_known.size()); ++i) {
      const Lines wrapped = Wrap(Clean(PlainText(verdict_.not_known[i])), width_ - 11);
      for (size_t k = 0; k < std::min<size_t>(2, wrapped.size()); ++k) {
        lines.push_back((i == 0 && k == 0 ? "not known  " : "           ") + wrapped[k]);
      }
    }
    std::vector<std::string> ends = view_.losses.Sentences();
    constexpr size_t kMostEnds = 2;
    if (ends.size() > kMostEnds) {
      ends[kMostEnds - 1] = fmt::format(
          "{} more processes did not close their recording: xlatrace "
          "query {} \"SELECT * FROM process\"",
          ends.size() - kMostEnds + 1, ShellWord(view_.path));
      ends.resize(kMostEnds);
    }
    for (size_t i = 0; i < ends.size(); ++i) {
      const Lines wrapped = Wrap(Clean(ends[i]), width_ - 11);
      for (size_t k = 0; k < wrapped.size(); ++k) {
        lines.push_back((i == 0 && k == 0 ? "missing    " : "           ") + wrapped[k]);
      }
    }
    // Nobody looks for it there: the profile is the program's, the switch TensorFlow's.
    for (const StatFigure& stat : view_.stats) {
      if (stat.name != "own_profile_without_gpu" && stat.name != "tensorflow_ops_unannounced") {
        continue;
      }
      const Lines wrapped = Wrap(Clean(stat.advice), width_ - 11);
      for (size_t k = 0; k < wrapped.size(); ++k) {
        lines.push_back((k == 0 ? "note       " : "           ") + wrapped[k]);
      }
      break;
    }
    size_t shown = 0;
    for (const StatFigure& stat : view_.stats) {
      if (stat.severity < model::Severity::kDataLoss || shown++ == 2) break;
      const std::string text =
          fmt::format("{} {}: {}", Thousands(stat.value), stat.name, stat.advice);
      const Lines wrapped = Wrap(Clean(text), width_ - 11);
      for (size_t k = 0; k < std::min<size_t>(3, wrapped.size()); ++k) {
        lines.push_back((shown == 1 && k == 0 ? "lost       " : "           ") + wrapped[k]);
      }
    }
    return lines;
  }

  Lines Footer() const {
    const std::string file = ShellWord(view_.path);
    Lines fields{"xlatrace report " + file};
    const RunView& of = options_.table != nullptr ? *options_.table : view_;
    if (options_.by == By::kOp && !of.ops.empty()) {
      // The one whose row is first.
      const std::string& first = of.sorted_otherwise ? of.ops[0].handle : FoldOps(of)[0].op->handle;
      fields.push_back("xlatrace show " + first + " " + file);
    }
    if (options_.by == By::kOp && !view_.ops.empty()) {
      fields.push_back("xlatrace summary --by layer " + file);
    } else if (options_.by == By::kOp && !view_.kernels.empty()) {
      fields.push_back("xlatrace show k1 " + file);
    }
    fields.push_back("xlatrace summary --format json " + file);
    std::string line;
    for (const std::string& field : fields) {
      const std::string safe = Clean(field);
      if (DisplayWidth(line) + 5 + DisplayWidth(safe) > width_) continue;
      line += (line.empty() ? "" : "  |  ") + safe;
    }
    if (line.empty()) line = "xlatrace report RUN.db  |  xlatrace summary --help";
    return {line};
  }

  // A path that can be pasted into a shell.
  static std::string ShellWord(std::string_view path) {
    const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("/._-+,@%:=").find(c) != std::string_view::npos;
    });
    if (plain && !path.empty()) return std::string(path);
    std::string out = "'";
    for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }

  const RunView& view_;
  const SummaryOptions& options_;
  int width_;
  Verdict verdict_;
};

}  // namespace

std::string SummaryText(const RunView& view, const SummaryOptions& options) {
  return Summary(view, options).Make();
}

}  // namespace xlatrace::report
