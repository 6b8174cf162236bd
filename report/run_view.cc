// SPDX-License-Identifier: Apache-2.0
#include "report/run_view.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/time_tree/gap_part.h"
#include "base/number_format.h"
#include "model/gap_words.h"
#include "report/device_times.h"
#include "report/evidence_sentence.h"
#include "report/shown_words.h"
#include "store/activity_scan.h"

namespace xlatrace::report {
namespace {

using store::RunDb;
using store::Table;

std::optional<int64_t> OptionalInt(const Table& table, size_t row, std::string_view column) {
  if (table.IsNull(row, column)) return std::nullopt;
  return table.Int(row, column);
}

// True if the name of a device is not a product name.
std::string GenericNameSql(std::string_view table) {
  return fmt::format(
      "(coalesce({0}.name, '') = '' OR ({0}.name LIKE '%GPU (%' AND {0}.name NOT LIKE '% % GPU "
      "(%') OR"
      " ({0}.name LIKE '%GPU' AND {0}.name NOT LIKE '% % GPU'))",
      table);
}

Status LoadRunFacts(RunDb& db, RunView& view) {
  XLATRACE_ASSIGN(const Table info, db.Select("SELECT key, value FROM run_info ORDER BY key"));
  std::string jax;
  std::string tensorflow;
  for (size_t i = 0; i < info.rows.size(); ++i) {
    std::string key = info.Text(i, "key");
    std::string value = info.Text(i, "value");
    if (value.empty()) continue;
    if (key == "source") view.source = value;
    if (key == "granularity") view.granularity = value;
    if (key == "command") view.command = value;
    if (key == "jax_version" || (key == "jaxlib_version" && jax.empty())) jax = value;
    if (key == "tensorflow_version") tensorflow = value;
    if (key == "start_unix_ns") view.date = DateOf(value);
    view.info.emplace_back(std::move(key), std::move(value));
  }
  if (!jax.empty()) view.framework = "jax " + jax;
  if (!tensorflow.empty()) {
    view.framework += (jax.empty() ? "" : ", ") + ("tensorflow " + tensorflow);
  }

  XLATRACE_ASSIGN(const Table processes,
                  db.Select("SELECT command FROM process ORDER BY process_id"));
  view.processes = static_cast<int64_t>(processes.rows.size());
  for (size_t i = 0; i < processes.rows.size() && view.command.empty(); ++i) {
    view.command = processes.Text(i, "command");
  }
  view.path = db.path();
  view.title = TitleOf(view.command, view.path);

  XLATRACE_ASSIGN(
      const Table devices,
      db.Select(fmt::format(
          // A name like "GPU (170 SMs)" is replaced by the product name of the same GPU in another
          // row.
          "SELECT CASE WHEN gpu IS NOT NULL AND {0} THEN coalesce((SELECT o.name FROM device o "
          "WHERE"
          " o.gpu = d.gpu AND NOT {1} LIMIT 1), gpu) ELSE {2} END AS name, kind, count(*) AS count,"
          " count(b.device_id) AS worked FROM device d LEFT JOIN busy_time b USING (device_id)"
          " GROUP BY 1, 2 ORDER BY count(*) DESC, 1",
          GenericNameSql("d"), GenericNameSql("o"), kDeviceNameSql)));
  for (size_t i = 0; i < devices.rows.size(); ++i) {
    view.devices.push_back({devices.Text(i, "name"), devices.Text(i, "kind"),
                            devices.Int(i, "count"), devices.Int(i, "worked")});
    view.device_count += devices.Int(i, "count");
  }
  XLATRACE_ASSIGN(const Table span,
                  db.Select("SELECT coalesce(sum(end_ns - start_ns), 0) AS wall_ns,"
                            " coalesce(max(end_ns - start_ns), 0) AS longest_ns FROM busy_time"));
  view.span = {span.Int(0, "wall_ns"), span.Int(0, "longest_ns")};
  // As in the sentence of the run.
  XLATRACE_ASSIGN(const Table root,
                  db.Select("SELECT ns FROM time_tree"
                            " WHERE kind = 'root' AND process_id IS NULL AND device_id IS NULL"));
  if (!root.rows.empty()) view.span.longest_ns = root.Int(0, "ns");
  return {};
}

Status LoadStats(RunDb& db, RunView& view) {
  XLATRACE_ASSIGN(const Table stats,
                  db.Select("SELECT name, severity, source, value, advice FROM run_stat"));
  for (size_t i = 0; i < stats.rows.size(); ++i) {
    StatFigure stat{stats.Text(i, "name"), SeverityFromText(stats.Text(i, "severity")),
                    stats.Text(i, "source"), stats.Int(i, "value"), stats.Text(i, "advice")};
    if (stat.severity == model::Severity::kDataLoss) view.lost += stat.value;
    if (stat.severity == model::Severity::kError) ++view.errors;
    view.stats.push_back(std::move(stat));
  }
  XLATRACE_ASSIGN(view.losses, LoadLosses(db, view.lost));
  std::sort(view.stats.begin(), view.stats.end(), [](const StatFigure& a, const StatFigure& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return std::tie(a.name, a.source) < std::tie(b.name, b.source);
  });
  return {};
}

Status LoadSteps(RunDb& db, RunView& view) {
  XLATRACE_ASSIGN(
      const Table steps,
      db.Select("SELECT step, count(*) AS devices, sum(end_ns - start_ns) AS wall_ns,"
                " min(steady) AS steady, min(how = 'marked') AS marked, sum(typical) AS typical,"
                " sum(typical * (end_ns - start_ns)) AS typical_wall_ns,"
                " sum(typical * busy_ns) AS typical_busy_ns"
                " FROM step GROUP BY step, steady ORDER BY step"));
  StepsFigure& figure = view.steps;
  std::map<int64_t, int64_t> devices_of;
  for (size_t i = 0; i < steps.rows.size(); ++i) {
    const int64_t devices = steps.Int(i, "devices");
    const int64_t mean = steps.Int(i, "wall_ns") / devices;
    const bool steady = steps.Int(i, "steady") != 0;
    figure.marked = steps.Int(i, "marked") != 0;
    figure.all.push_back({steps.Int(i, "step"), mean, steady});
    if (!steady) continue;
    figure.min_ns = figure.steady_count == 0 ? mean : std::min(figure.min_ns, mean);
    figure.max_ns = std::max(figure.max_ns, mean);
    ++figure.steady_count;
    figure.wall_ns += steps.Int(i, "typical_wall_ns");
    figure.busy_ns += steps.Int(i, "typical_busy_ns");
    view.basis.step_devices += steps.Int(i, "typical");
  }
  view.basis.steady = view.basis.step_devices > 0;
  XLATRACE_ASSIGN(const Table typical,
                  db.Select("SELECT per_step_ns, p25_ns, p75_ns FROM time_tree"
                            " WHERE kind = 'steps' AND process_id IS NULL AND device_id IS NULL"));
  if (view.basis.steady && !typical.rows.empty()) {
    figure.typical_ns = typical.Int(0, "per_step_ns");
    figure.p25_ns = typical.Int(0, "p25_ns", figure.typical_ns);
    figure.p75_ns = typical.Int(0, "p75_ns", figure.typical_ns);
  }

  XLATRACE_ASSIGN(const Table parts,
                  db.Select("SELECT p.part, sum(p.wall_ns) AS wall_ns FROM step_part p"
                            " JOIN step s ON s.device_id = p.device_id AND s.step = p.step"
                            " WHERE s.typical GROUP BY p.part"));
  for (size_t i = 0; i < parts.rows.size(); ++i) {
    if (const auto part = StepPartFromText(parts.Text(i, "part"))) {
      view.step_parts[static_cast<size_t>(*part)] += parts.Int(i, "wall_ns");
    }
  }
  view.has_step_parts = !parts.rows.empty();
  return {};
}

// The part in which each step differs most from the mean steady step.
Status LoadStepDifferences(RunDb& db, RunView& view) {
  if (!view.basis.steady || !view.has_step_parts) return {};
  using Parts = std::array<int64_t, kStepPartCount>;
  // Mean over its devices. A step that is steady on only some of them has two figures.
  std::map<std::pair<int64_t, bool>, Parts> of_step;
  // Not a join: SQLite would go through all parts for each step.
  XLATRACE_ASSIGN(const Table steps, db.Select("SELECT device_id, step, steady FROM step"));
  std::map<std::pair<int64_t, int64_t>, bool> steady_of;  // By device and step.
  std::map<std::pair<int64_t, bool>, int64_t> devices;
  for (size_t i = 0; i < steps.rows.size(); ++i) {
    const bool steady = steps.Int(i, "steady") != 0;
    steady_of.emplace(std::pair(steps.Int(i, "device_id"), steps.Int(i, "step")), steady);
    ++devices[{steps.Int(i, "step"), steady}];
  }
  XLATRACE_ASSIGN(const Table rows, db.Select("SELECT device_id, step, part, sum(wall_ns) AS"
                                              " wall_ns FROM step_part GROUP BY 1, 2, 3"));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const auto part = StepPartFromText(rows.Text(i, "part"));
    const auto at = steady_of.find({rows.Int(i, "device_id"), rows.Int(i, "step")});
    if (!part || at == steady_of.end()) continue;
    const std::pair<int64_t, bool> key(at->first.second, at->second);
    of_step[key][static_cast<size_t>(*part)] += rows.Int(i, "wall_ns") / devices[key];
  }
  for (StepFigure& step : view.steps.all) {
    const auto parts = of_step.find({step.step, step.steady});
    if (parts == of_step.end()) continue;
    for (size_t p = 0; p < kStepPartCount; ++p) {
      const int64_t mean = view.step_parts[p] / view.basis.step_devices;
      const int64_t more = parts->second[p] - mean;
      if (std::abs(more) <= std::abs(step.differs_ns)) continue;
      step.differs_ns = more;
      step.differs_in = static_cast<model::StepPart>(p);
    }
  }
  return {};
}

// Gaps of the basis by cause. A gap belongs completely to the step in which it starts.
Status LoadGaps(RunDb& db, RunView& view) {
  using Span = std::pair<int64_t, int64_t>;
  std::map<int64_t, std::vector<Span>> steady;  // By device; sorted, not overlapping.
  XLATRACE_ASSIGN(const Table steps, db.Select("SELECT device_id, start_ns, end_ns FROM step"
                                               " WHERE typical ORDER BY device_id, start_ns"));
  for (size_t i = 0; i < steps.rows.size(); ++i) {
    steady[steps.Int(i, "device_id")].emplace_back(steps.Int(i, "start_ns"),
                                                   steps.Int(i, "end_ns"));
  }
  const auto in_basis = [&](int64_t device, int64_t start) {
    if (!view.basis.steady) return true;
    const std::vector<Span>& spans = steady[device];
    const auto after = std::upper_bound(spans.begin(), spans.end(), Span(start, INT64_MAX));
    return after != spans.begin() && start < std::prev(after)->second;
  };
  std::map<std::string_view, GapFigure> causes;
  XLATRACE_TRY(store::ScanGaps(db, [&](const store::ScannedGap& scanned) {
    if (!in_basis(scanned.device_id, scanned.start_ns)) return;
    const int64_t length = scanned.end_ns - scanned.start_ns;
    GapFigure& gap = causes[Text(scanned.cause)];
    gap.ns += length;
    ++gap.count;
    gap.longest_ns = std::max(gap.longest_ns, length);
    if (scanned.cause == model::GapCause::kUnknown &&
        length < analysis::time_tree::kMinExplainedGapNs) {
      gap.short_ns += length;
      ++gap.short_count;
    }
    ++view.gap_count;
  }));
  XLATRACE_ASSIGN(const Table launched,
                  db.Select("SELECT device_id, start_ns, end_ns FROM gap WHERE cause = 'unknown'"
                            " AND substr(evidence, 1, length(?1)) = ?1",
                            {std::string(model::kLaunchedInTime)}));
  for (size_t i = 0; i < launched.rows.size(); ++i) {
    if (!in_basis(launched.Int(i, "device_id"), launched.Int(i, "start_ns"))) continue;
    causes[Text(model::GapCause::kUnknown)].launched_ns +=
        launched.Int(i, "end_ns") - launched.Int(i, "start_ns");
  }
  for (auto& [cause, gap] : causes) {
    gap.cause = cause;
    view.gaps.push_back(std::move(gap));
  }
  std::stable_sort(view.gaps.begin(), view.gaps.end(),
                   [](const GapFigure& a, const GapFigure& b) { return a.ns > b.ns; });
  return {};
}

Status LoadLaunchQueues(RunDb& db, RunView& view) {
  XLATRACE_ASSIGN(const Table rows, db.Select("SELECT * FROM launch_queue ORDER BY device_id"));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    LaunchQueueFigure& queue = view.launch_queues.emplace_back();
    queue.device_id = rows.Int(i, "device_id");
    queue.steady = rows.Int(i, "steady") != 0;
    queue.calls = rows.Int(i, "calls");
    queue.calls_on_idle = rows.Int(i, "calls_on_idle");
    queue.call_p50_ns = rows.Int(i, "call_p50_ns");
    queue.latency_p50_ns = rows.Int(i, "latency_p50_ns");
    queue.latency_p90_ns = rows.Int(i, "latency_p90_ns");
    queue.queued_p50_ns = rows.Int(i, "queued_p50_ns");
    queue.queued_p90_ns = rows.Int(i, "queued_p90_ns");
    queue.outstanding_p50 = rows.Int(i, "outstanding_p50");
    queue.outstanding_p90 = rows.Int(i, "outstanding_p90");
    queue.outstanding_max = rows.Int(i, "outstanding_max");
  }
  return {};
}

Status LoadModules(RunDb& db, const DeviceTimes& times, RunView& view) {
  XLATRACE_ASSIGN(
      const Table modules,
      db.Select("SELECT m.module_id, m.handle, m.name, m.program_id, m.role, m.role_reason,"
                " m.instruction_count, m.source, coalesce(e.count, 0) AS executions,"
                " e.least, e.most FROM module m"
                " LEFT JOIN (SELECT module_id, count(*) AS count, min(end_ns - start_ns) AS least,"
                " max(end_ns - start_ns) AS most FROM execution"
                " GROUP BY module_id) e ON e.module_id = m.module_id"));
  for (size_t i = 0; i < modules.rows.size(); ++i) {
    ModuleFigure module;
    module.module_id = modules.Int(i, "module_id");
    module.handle = modules.Text(i, "handle");
    module.name = modules.Text(i, "name");
    module.role = modules.Text(i, "role");
    module.role_reason = modules.Text(i, "role_reason");
    module.source = modules.Text(i, "source");
    module.program_id = OptionalInt(modules, i, "program_id");
    module.instruction_count = OptionalInt(modules, i, "instruction_count");
    module.executions = modules.Int(i, "executions");
    module.least_call_ns = OptionalInt(modules, i, "least").value_or(0);
    module.most_call_ns = OptionalInt(modules, i, "most").value_or(0);
    if (const auto found = times.modules.find(module.module_id); found != times.modules.end()) {
      module.ns = found->second.basis_ns;
      module.run_ns = found->second.run_ns;
    }
    view.modules.push_back(std::move(module));
  }
  std::stable_sort(view.modules.begin(), view.modules.end(),
                   [](const ModuleFigure& a, const ModuleFigure& b) {
                     if ((a.role == "main") != (b.role == "main")) return a.role == "main";
                     return a.run_ns > b.run_ns;
                   });
  return {};
}

// A saving over the launches of all ranks in this file, per step of one rank.
std::optional<int64_t> PerJobStep(const RunView& view, const FindingFigure& finding) {
  if (!view.StepsAreJobs()) return std::nullopt;
  return view.job.PerStep(*finding.saves_high_ns);
}

Status LoadFindings(RunDb& db, RunView& view) {
  XLATRACE_ASSIGN(const Table rows, db.Select("SELECT * FROM finding ORDER BY rank"));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    FindingFigure finding;
    finding.handle = rows.Text(i, "handle");
    finding.id = rows.Text(i, "id");
    finding.title = rows.Text(i, "title");
    finding.sentence = rows.Text(i, "sentence");
    finding.headline = rows.Text(i, "headline");
    finding.reason = rows.Text(i, "reason");
    finding.basis = rows.Text(i, "basis");
    finding.confidence = rows.Text(i, "confidence");
    finding.where_op = rows.Text(i, "where_op");
    finding.where_layer = rows.Text(i, "where_layer");
    finding.where_source = rows.Text(i, "where_source");
    finding.action = rows.Text(i, "action");
    finding.how_to_check = rows.Text(i, "how_to_check");
    finding.saves_low_ns = OptionalInt(rows, i, "saves_low_ns_per_step");
    finding.saves_high_ns = OptionalInt(rows, i, "saves_high_ns_per_step");
    if (const auto high = OptionalInt(rows, i, "saves_high_ns_per_run")) {
      finding.of_run = true;
      finding.saves_low_ns = OptionalInt(rows, i, "saves_low_ns_per_run");
      finding.saves_high_ns = high;
      finding.saves_high_ns_per_job_step = PerJobStep(view, finding);
    }
    const nlohmann::json evidence =
        nlohmann::json::parse(rows.Text(i, "evidence"), nullptr, /*allow_exceptions=*/false);
    finding.evidence_sentence = EvidenceSentence(view, evidence, finding.saves_high_ns);
    if (evidence.is_array()) {
      for (const nlohmann::json& entry : evidence) {
        if (!entry.is_object()) continue;
        const auto text = entry.find("text");
        if (text == entry.end() || !text->is_string()) continue;
        std::string& words = finding.evidence.emplace_back(*text);
        const auto value = entry.find("value");
        if (value == entry.end() || !value->is_number()) continue;
        const auto unit = entry.find("unit");
        words += ": " + InUnit(value->get<double>(), unit != entry.end() && unit->is_string()
                                                         ? unit->get<std::string>()
                                                         : std::string());
      }
    }
    view.findings.push_back(std::move(finding));
  }
  XLATRACE_ASSIGN(const Table replay,
                  db.Select("SELECT step_ns, all_findings_step_ns FROM replay"));
  if (!replay.rows.empty()) {
    view.replay.step_ns = replay.Int(0, "step_ns");
    view.replay.all_findings_step_ns = OptionalInt(replay, 0, "all_findings_step_ns");
  }
  XLATRACE_ASSIGN(const Table ruled_out,
                  db.Select("SELECT id, verdict, text, what, figure FROM ruled_out"));
  // In a merged job, the job's own sentence covers waiting among all ranks.
  XLATRACE_ASSIGN(const auto job, db.Info("job"));
  for (size_t i = 0; i < ruled_out.rows.size(); ++i) {
    if (job && ruled_out.Text(i, "id") == "arrival_skew") continue;
    view.ruled_out.push_back({ruled_out.Text(i, "id"), ruled_out.Text(i, "verdict"),
                              ruled_out.Text(i, "text"), ruled_out.Text(i, "what"),
                              ruled_out.Text(i, "figure")});
  }
  return {};
}

}  // namespace

const ModuleFigure* RunView::MainModule() const {
  return !modules.empty() && modules[0].role == "main" ? &modules[0] : nullptr;
}

std::string RunView::DeviceText() const {
  std::string text;
  for (const DeviceFigure& device : devices) {
    if (!text.empty()) text += ", ";
    if (device.worked > 0 && device.worked < device.count) {
      text += fmt::format("{} of ", device.worked);
    }
    if (device.count > 1) text += fmt::format("{} x ", device.count);
    text += device.name.empty() ? device.kind : device.name;
  }
  return text;
}

std::string RunView::RankText() const {
  const std::string rank = job.ranks > 0 ? std::string() : Info("rank_of_job");
  return rank.empty() ? rank : "rank " + rank;
}

std::string RunView::Info(std::string_view key) const {
  const auto fact =
      std::find_if(info.begin(), info.end(), [&](const auto& each) { return each.first == key; });
  return fact == info.end() ? std::string() : fact->second;
}

bool RunView::OnFakeGpu() const {
  return std::any_of(devices.begin(), devices.end(), [](const DeviceFigure& device) {
    return device.name.find("xlatrace fake GPU") != std::string::npos;
  });
}

std::string RunView::HowToGetSteps() const {
  for (const RuledOutFigure& row : ruled_out) {
    // "everything per step: WHY; HOW"
    const size_t how = row.id == "steady_steps" ? row.text.rfind("; ") : row.text.npos;
    if (how != row.text.npos) return row.text.substr(how + 2);
  }
  return "run at least 20 steps";
}

bool RunView::IsPartial() const {
  // Lines of "file, bytes read, bytes there, state" (tools/pipeline.h, FoldedFiles).
  return std::any_of(info.begin(), info.end(), [](const auto& fact) {
    return fact.first == "recording_files" && fact.second.find(" live\n") != std::string::npos;
  });
}

int64_t StepPercentile(const StepsFigure& steps, int percent) {
  std::vector<int64_t> times;
  for (const StepFigure& step : steps.all) {
    if (step.steady) times.push_back(step.wall_ns);
  }
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  const size_t rank = (times.size() * static_cast<size_t>(percent) + 99) / 100;
  return times[rank == 0 ? 0 : rank - 1];
}

Result<RunView> LoadRunView(RunDb& db) {
  RunView view;
  XLATRACE_TRY(LoadRunFacts(db, view));
  XLATRACE_TRY(LoadStats(db, view));
  XLATRACE_ASSIGN(view.answer, LoadAnswer(db));
  XLATRACE_ASSIGN(view.job, LoadJob(db));
  XLATRACE_TRY(LoadSteps(db, view));
  XLATRACE_TRY(LoadStepDifferences(db, view));
  XLATRACE_ASSIGN(const DeviceTimes times, LoadDeviceTimes(db, view));
  XLATRACE_TRY(LoadModules(db, times, view));
  XLATRACE_TRY(LoadGaps(db, view));
  XLATRACE_TRY(LoadLaunchQueues(db, view));
  XLATRACE_TRY(LoadFindings(db, view));
  return view;
}

}  // namespace xlatrace::report
