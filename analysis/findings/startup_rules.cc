// SPDX-License-Identifier: Apache-2.0

// Time before the first step, in which the host runs code of the user or makes the device ready. If
// the run has no steps, it ends at the first work. Compilations and imports: compile_rules.cc.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/host_work.h"
#include "analysis/findings/rules.h"

namespace xlatrace::analysis::findings {
namespace {

using model::TimeTreeRow;
using model::TreeKind;

constexpr std::string_view kNothing = "nothing recorded";

// Rows of the job below `startup`, and the time of the whole run.
struct Startup {
  int64_t run_ns = 0;
  int64_t context_ns = 0;
  std::vector<const TimeTreeRow*> parts;  // Children of `startup`.
};

Startup StartupOf(const std::vector<TimeTreeRow>& tree) {
  Startup startup;
  for (const TimeTreeRow& row : tree) {
    if (row.device_id != 0 || row.process_id != 0) continue;
    if (row.kind == TreeKind::kRoot) startup.run_ns = row.ns;
    if (row.parent_id == 0) continue;
    const TreeKind parent = tree[static_cast<size_t>(row.parent_id) - 1].kind;
    // Host work of the first execution comes again in each step, but no context is created again.
    if (parent == TreeKind::kStartup) startup.parts.push_back(&row);
    const bool before = parent == TreeKind::kStartup || parent == TreeKind::kFirstExecution;
    if (before && row.kind == TreeKind::kBackendStart) startup.context_ns += row.ns;
  }
  return startup;
}

bool IsUserCode(TreeKind kind) {
  return kind == TreeKind::kHost || kind == TreeKind::kInput || kind == TreeKind::kIo ||
         kind == TreeKind::kLock || kind == TreeKind::kSleep || kind == TreeKind::kGc ||
         kind == TreeKind::kData;
}

bool IsMaterial(const Startup& startup, int64_t ns) {
  return ns > 0 && static_cast<double>(ns) >= kMinSavingShare * static_cast<double>(startup.run_ns);
}

Finding OfRun(const Startup& startup, const Context& context, std::string_view id, int64_t ns) {
  Finding finding;
  finding.id = id;
  finding.of_run = true;
  finding.run_ns = startup.run_ns;
  finding.beyond_steps = true;
  finding.saves_high_ns = ns;
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  return finding;
}

// The first calls of the driver create the context of the device and load code.
void ReportContextStart(const Startup& startup, const Context& context, Report& report) {
  const int64_t ns = startup.context_ns;
  if (!IsMaterial(startup, ns)) return;
  Finding finding = OfRun(startup, context, "context_start", ns);
  finding.claims["context start"] = ns;
  finding.evidence.Add("creating the context and loading modules", ns, "ns");
  report.Add(std::move(finding));
}

// The function or range of the user with the most time.
void ReportUserCode(const Startup& startup, const Context& context, Report& report) {
  std::map<std::string_view, std::pair<int64_t, const TimeTreeRow*>> by_name;
  for (const TimeTreeRow* row : startup.parts) {
    if (!IsUserCode(row->kind) || row->name.empty() || row->name == kNothing) continue;
    auto& [ns, first] = by_name[row->name];
    ns += row->ns;
    if (first == nullptr) first = row;
  }
  const auto most = std::max_element(
      by_name.begin(), by_name.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  if (most == by_name.end() || !IsMaterial(startup, most->second.first)) return;
  const auto& [ns, row] = most->second;
  const std::string name = FunctionOf(row->name);
  Finding finding = OfRun(startup, context, "startup_code", ns);
  finding.values["function"] = name;
  if (row->source_line) {
    finding.where_source = fmt::format("{}:{}", row->source_file, *row->source_line);
  }
  finding.claims["startup " + std::string(row->name)] = ns;
  finding.evidence.Add(fmt::format("time in {} before the first work", name), ns, "ns");
  report.Add(std::move(finding));
}

}  // namespace

void CheckStartup(const Context& context, Report& report) {
  const Startup startup = StartupOf(context.analysis.time_tree);
  if (startup.run_ns <= 0) return;
  if (context.on_gpu) ReportContextStart(startup, context, report);
  ReportUserCode(startup, context, report);
}

}  // namespace xlatrace::analysis::findings
