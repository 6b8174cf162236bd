// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "base/terminal.h"
#include "compare/gate.h"
#include "report/compare/gate_output.h"
#include "report/compare/load_run.h"
#include "report/run_view.h"
#include "store/run_db.h"
#include "tools/baseline_folder.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"

namespace xlatrace::tools {
namespace {

constexpr int kRegressedStatus = 3;
constexpr int kNotComparableStatus = 4;
constexpr int kNotEstablishedStatus = 5;

struct GateOptions {
  std::vector<std::string> base, now;
  std::string max_regress = "3%";
  std::string by = "step";
  std::string format = "text";
  std::string baseline, history, label, accept, junit;
  std::vector<std::string> ignored;
  int64_t floor_ns = 0;
  bool strict_noise = false;
  bool read_only = false;
  bool ascii = false;
};

// "3%" or "0.03".
std::optional<double> PartOf(std::string text) {
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text.pop_back();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1000) {
    return std::nullopt;
  }
  return percent ? value / 100 : value;
}

Result<std::vector<compare::RunRecord>> Load(const std::vector<std::string>& paths,
                                             const std::string& label) {
  std::vector<compare::RunRecord> records;
  for (const std::string& path : paths) {
    XLATRACE_ASSIGN(const std::string run, FoldedRun(path));
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
    XLATRACE_ASSIGN(const report::RunView view, report::LoadRunView(db));
    XLATRACE_ASSIGN(const compare::Run loaded, report::LoadCompareRun(db, view));
    compare::RunRecord record = compare::RecordOf(loaded);
    record.label = label;
    record.unix_seconds = static_cast<int64_t>(std::time(nullptr));
    records.push_back(std::move(record));
  }
  return records;
}

Result<int> RunGate(GateOptions options) {
  const Terminal terminal = DetectTerminal();
  const bool ascii = options.ascii || !terminal.utf8;
  if (!options.history.empty()) {
    if (options.format != "text") {
      return MakeError(fmt::format("gate --history has no format '{}'", options.format),
                       "use --format text", ErrorCode::kUsage);
    }
    XLATRACE_ASSIGN(const Baseline baseline, ReadBaseline(options.history));
    if (baseline.skipped_lines > 0) {
      Warn(fmt::format("{} lines of the baseline cannot be read", baseline.skipped_lines));
    }
    XLATRACE_TRY(PrintResult(report::HistoryText(baseline.records, ascii)));
    return 0;
  }
  const auto limit = PartOf(options.max_regress);
  if (!limit) {
    return MakeError(fmt::format("'{}' is no part of a time", options.max_regress),
                     "--max-regress 3%", ErrorCode::kUsage);
  }
  if (options.baseline.empty() && options.now.empty() && options.base.size() == 2) {
    options.now = {options.base[1]};
    options.base.resize(1);
  } else if (!options.baseline.empty() && options.now.empty()) {
    options.now = std::move(options.base);
    options.base.clear();
  }
  if (options.now.empty() || (options.base.empty() && options.baseline.empty())) {
    return MakeError("gate takes the runs of both sides, or new runs and a baseline",
                     "xlatrace gate BASE... -- NEW..., or xlatrace gate NEW --baseline DIR",
                     ErrorCode::kUsage);
  }
  if (!options.accept.empty() && options.baseline.empty()) {
    return MakeError("--accept writes into a baseline", "add --baseline DIR", ErrorCode::kUsage);
  }
  XLATRACE_ASSIGN(std::vector<compare::RunRecord> base, Load(options.base, {}));
  XLATRACE_ASSIGN(std::vector<compare::RunRecord> now, Load(options.now, options.label));
  if (!options.baseline.empty()) {
    XLATRACE_ASSIGN(const Baseline baseline, ReadBaseline(options.baseline));
    if (baseline.skipped_lines > 0) {
      Warn(fmt::format("{} lines of the baseline cannot be read", baseline.skipped_lines));
    }
    for (compare::RunRecord& record : baseline.Current()) {
      const bool same = std::any_of(now.begin(), now.end(), [&](const auto& run) {
        return !run.content_id.empty() && run.content_id == record.content_id;
      });
      if (!same) base.push_back(std::move(record));
    }
  }
  compare::GateOptions gate;
  gate.max_regress = *limit;
  gate.by = options.by == "op"      ? compare::GateBy::kOp
            : options.by == "phase" ? compare::GateBy::kPhase
                                    : compare::GateBy::kStep;
  gate.floor_ns = options.floor_ns;
  gate.ignored.insert(options.ignored.begin(), options.ignored.end());
  const compare::GateResult result = compare::EvaluateGate(base, now, gate);
  const std::string text = options.format == "json" ? report::GateJson(result)
                           : options.format == "md"
                               ? report::GateMarkdown(result)
                               : report::GateText(result, ascii, terminal.width);
  XLATRACE_TRY(PrintResult(text));
  if (!options.junit.empty()) {
    XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(options.junit));
    XLATRACE_TRY(file.Append(report::GateJunit(result, options.strict_noise)));
    XLATRACE_TRY(file.Commit());
  }
  const bool accepted = !options.accept.empty() && result.outcome == compare::Outcome::kRegression;
  if (accepted) Note(fmt::format("accepted: {}", options.accept));
  const bool keep = result.outcome == compare::Outcome::kPass ||
                    result.outcome == compare::Outcome::kNotEstablished || accepted;
  if (!options.baseline.empty() && !options.read_only && keep) {
    // The expected times begin with the first accepted run (Baseline::Current).
    if (accepted) now.front().accepted = options.accept;
    for (const compare::RunRecord& record : now) {
      XLATRACE_TRY(AppendToBaseline(options.baseline, record));
    }
  }
  switch (result.outcome) {
    case compare::Outcome::kPass:
      return 0;
    case compare::Outcome::kRegression:
      return accepted ? 0 : kRegressedStatus;
    case compare::Outcome::kNotComparable:
      return kNotComparableStatus;
    case compare::Outcome::kNotEstablished:
      return options.strict_noise ? kNotEstablishedStatus : 0;
  }
  return 0;
}

}  // namespace

void AddGateCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = app.add_subcommand("gate", "For CI: fail if a run is slower than allowed");
  command->add_option(
      "BASE", options->base,
      "Runs: BASE... -- NEW...; with --baseline or one of each, without the dashes");
  command->add_option("--new", options->now, "The new runs, as after --")->type_name("NEW...");
  command->add_option("--max-regress", options->max_regress, "How much slower is too slow")
      ->type_name("PART")
      ->capture_default_str();
  command->add_option("--by", options->by, "Besides the step, its phases or ops")
      ->check(OneOf({"step", "phase", "op"}))
      ->capture_default_str();
  command
      ->add_option("--baseline", options->baseline,
                   "Folder of earlier runs to compare with; the new run is added")
      ->type_name("DIR");
  command->add_flag("--read-only", options->read_only,
                    "Add nothing to the baseline (pull requests)");
  command->add_option("--history", options->history, "Only print the runs of a baseline")
      ->type_name("DIR");
  command->add_option("--label", options->label, "A name of the run, such as the commit")
      ->type_name("NAME");
  command
      ->add_option("--accept", options->accept,
                   "Accept a regression for this reason; later runs are compared from here on")
      ->type_name("WHY");
  command->add_option("--junit", options->junit, "Also write JUnit XML")->type_name("FILE");
  command->add_option("--format", options->format, "text, md or json")
      ->check(OneOf({"text", "md", "json"}))
      ->capture_default_str();
  std::vector<std::string> facts;
  for (const std::string_view name : compare::FactNames()) facts.emplace_back(name);
  command
      ->add_option("--ignore", options->ignored,
                   "A fact not to judge: launches, fusions, bytes, flops, compilations,"
                   " recompilations, compile_ns, peak_memory_bytes, exposed_collective_bytes, "
                   "attributed; repeatable")
      ->type_name("FACT")
      ->check(OneOfDescribed(facts))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--floor-ns", options->floor_ns,
                   "Ops and phases that moved by less a step pass; default: a thousandth of it")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000'000}));
  command->add_flag("--strict-noise", options->strict_noise,
                    "Exit 5 instead of 0 if the noise hides the answer");
  command->add_flag("--ascii", options->ascii, "No block characters");
  command->footer(
      "Exit status: 0 pass, 3 regression, 4 not comparable, 5 not established\n"
      "(with --strict-noise, else 0).\n"
      "Examples:\n  xlatrace gate b1.db b2.db b3.db b4.db -- n1.db n2.db n3.db n4.db\n"
      "  xlatrace gate run.db --baseline perf/ --label $(git rev-parse --short HEAD)\n"
      "  xlatrace gate --history perf/");
  command->callback([options, selected] { *selected = [options] { return RunGate(*options); }; });
}

}  // namespace xlatrace::tools
