// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/host_work.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/findings/host_waits.h"
#include "analysis/findings/time_words.h"
#include "analysis/gap_host.h"
#include "analysis/gap_words.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

using model::TimeTreeRow;
using model::TreeKind;

constexpr size_t kMaxFindings = 3;

// Idle time inside one function or range of the user, per step, or of the whole run.
struct HostWork {
  std::string_view name;
  int64_t ns = 0;
  bool launches =
      false;           // A range around launches is a part of the model, and no work of the host.
  std::string source;  // "train.py:12"; empty: not known.
};

// Waiting for the device and for earlier work are not work.
bool IsHostWork(TreeKind kind) {
  return kind == TreeKind::kHost || kind == TreeKind::kDispatch || kind == TreeKind::kInput ||
         kind == TreeKind::kIo || kind == TreeKind::kLock || kind == TreeKind::kSleep;
}

bool LoadsInput(std::string_view name) {
  const model::HostEvent range{.name = name, .range_id = 1};
  return (ActsOf(range) & static_cast<uint8_t>(HostAct::kLoadsInput)) != 0;
}

// The largest first, from the rows of the job.
std::vector<HostWork> HostWorkOf(const Context& context) {
  const std::vector<TimeTreeRow>& tree = context.analysis.time_tree;
  std::map<std::string_view, HostWork> by_name;
  for (const TimeTreeRow& row : tree) {
    if (row.device_id != 0 || row.process_id != 0 || row.parent_id == 0) continue;
    const TimeTreeRow& parent = tree[static_cast<size_t>(row.parent_id) - 1];
    if (parent.kind != TreeKind::kIdle) continue;
    if (row.name.empty() || row.name == "nothing recorded") continue;
    HostWork& work = by_name[row.name];
    work.launches = work.launches || row.kind == TreeKind::kLaunch;
    if (!IsHostWork(row.kind)) continue;
    work.name = row.name;
    work.ns += context.whole_run ? row.ns : row.per_step_ns.value_or(0);
    if (work.source.empty() && row.source_line) {
      work.source = fmt::format("{}:{}", row.source_file, *row.source_line);
    }
  }
  std::vector<HostWork> sorted;
  for (const auto& [name, work] : by_name) {
    if (work.ns > 0 && (!work.launches || LoadsInput(name))) sorted.push_back(work);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const HostWork& a, const HostWork& b) { return a.ns > b.ns; });
  if (sorted.size() > kMaxFindings) sorted.resize(kMaxFindings);
  return sorted;
}

// The text begins with the name: "env.step: 2 ms after a".
bool Names(std::string_view text, std::string_view name) {
  return text.starts_with(name) &&
         (text.size() == name.size() ||
          std::string_view(": ,;").find(text[name.size()]) != std::string_view::npos);
}

Finding FindingAbout(const Context& context, const HostWork& work, int64_t claimed_ns) {
  Finding finding;
  const std::string name = FunctionOf(work.name);
  const bool input = LoadsInput(work.name);
  finding.id = input ? "input_bound" : "host_gap";
  finding.saves_high_ns = std::min(work.ns, claimed_ns);
  finding.saves_low_ns = 0;
  finding.sure = context.Allowed(Sure::kMedium);
  finding.where_source = work.source;
  finding.variant = "function";
  finding.values["function"] = name;
  finding.sentence = {fmt::format("The device waits for {} for {} of the {}", name,
                                  Percent(context.ShareOfSpan(work.ns)), context.words.whole),
                      fmt::format("{} of {}", Time(work.ns), Time(context.span_ns))};
  finding.evidence.AddIdle(IdleInGaps(context), claimed_ns)
      .AddReal(fmt::format("of the {}", context.words.whole), 100 * context.ShareOfSpan(work.ns),
               "%");
  return finding;
}

}  // namespace

std::string FunctionOf(std::string_view name) {
  const size_t end = name.find(".py");
  const size_t space = name.rfind(' ');
  const bool frame =
      end != std::string_view::npos && space != std::string_view::npos && space > end;
  return ShortHostName(frame ? name.substr(space + 1) : name);
}

GapClaims ReportHostWork(const Context& context, const std::vector<Gap>& gaps, Report& report) {
  GapClaims all;
  if (context.on_cpu || context.options.lost_records > 0) return all;
  const auto& evidence = context.analysis.gap_evidence;
  for (const HostWork& work : HostWorkOf(context)) {
    const std::string name = ShortHostName(work.name);
    GapClaims claims;
    int64_t claimed_ns = 0;
    for (const Gap& gap : gaps) {
      const auto position = static_cast<uint32_t>(gap.row - context.analysis.gaps.data());
      const auto at = std::lower_bound(
          evidence.begin(), evidence.end(), position,
          [](const model::GapEvidenceRow& row, uint32_t wanted) { return row.gap < wanted; });
      if (at == evidence.end() || at->gap != position || !Names(at->text, name)) continue;
      const model::GapCause cause = gap.row->cause;
      if (cause != model::GapCause::kHost && cause != model::GapCause::kInput &&
          cause != model::GapCause::kLaunchBound) {
        continue;
      }
      Claim(context, gap, claims);
      claimed_ns += gap.ns;
    }
    // Otherwise the time lies in many short gaps, which are a matter of launching.
    if (2 * context.PerStep(claimed_ns) < work.ns || claimed_ns == 0) continue;
    // Memory, modules and contexts have other advice.
    if (2 * SetUpCallsIn(context, claims).ns >= claimed_ns) continue;
    Finding finding = FindingAbout(context, work, context.PerStep(claimed_ns));
    finding.gaps = claims;
    all.insert(all.end(), claims.begin(), claims.end());
    report.Add(std::move(finding));
  }
  return all;
}

}  // namespace xlatrace::analysis::findings
