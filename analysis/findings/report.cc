// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/findings/context.h"

namespace xlatrace::analysis::findings {
namespace {

// A finding repeats a larger one if that saves at least this share of its time.
constexpr double kSameSavingShare = 0.8;
constexpr size_t kTwoLines = 150;  // Characters, at 80 columns.
constexpr std::string_view kCatchAll = "dominant_op";

// Findings of a certain cause with at least this share rank first.
constexpr double kMinCertainShare = 0.03;

double WeightOf(Sure sure) { return sure == Sure::kHigh ? 1.0 : sure == Sure::kMedium ? 0.8 : 0.5; }

nlohmann::ordered_json Item(std::string_view text, std::string_view unit, std::string_view handle) {
  nlohmann::ordered_json item = {{"text", text}, {"value", nullptr}, {"unit", unit}};
  item["handle"] = handle.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(handle);
  return item;
}

// Drops `dominant_op` for ops that another rule reports.
void DropCatchAlls(int64_t least, std::vector<Finding>& findings) {
  std::vector<bool> known;
  for (const Finding& finding : findings) {
    known.push_back(false);
    if (finding.id != kCatchAll || finding.claims.empty()) continue;
    int64_t all = 0, told = 0;
    for (const auto& [handle, ns] : finding.claims) {
      all += ns;
      int64_t most = 0;
      for (const Finding& other : findings) {
        const auto claim = other.claims.find(handle);
        if (other.id == kCatchAll || claim == other.claims.end()) continue;
        // A finding without saving may still explain these ops.
        if (!other.saves_high_ns || *other.saves_high_ns >= least) {
          most = std::max(most, std::min(claim->second, ns));
        }
      }
      told += most;
    }
    known.back() = static_cast<double>(told) >= kSameSavingShare * static_cast<double>(all);
  }
  size_t i = 0;
  std::erase_if(findings, [&](const Finding&) { return known[i++]; });
}

model::FindingRow RowOf(const Finding& finding, bool of_whole_run) {
  const bool whole_run = of_whole_run || finding.of_run;
  model::FindingRow row;
  row.id = finding.id;
  row.title = finding.title;
  row.sentence = finding.sentence.Text();
  row.headline = finding.sentence.Headline();
  row.reason = finding.sentence.Reason();
  (whole_run ? row.saves_low_ns_per_run : row.saves_low_ns_per_step) = finding.saves_low_ns;
  (whole_run ? row.saves_high_ns_per_run : row.saves_high_ns_per_step) = finding.saves_high_ns;
  row.basis = Text(finding.basis);
  row.confidence = Text(finding.sure);
  row.where_op = finding.where_op;
  row.where_layer = finding.where_layer;
  row.where_source = finding.where_source;
  row.evidence_json = finding.evidence.Json();
  row.action = finding.action;
  row.how_to_check = finding.how_to_check;
  row.replay_error_milli_pct = finding.replay_error_milli_pct;
  return row;
}

// Makes equal titles of two findings of one rule unique: appends the instruction, or another
// difference.
void MakeTitlesUnique(std::vector<model::FindingRow>& rows) {
  std::map<std::string, std::vector<model::FindingRow*>> by_title;
  for (model::FindingRow& row : rows) by_title[row.title].push_back(&row);
  for (auto& [title, same] : by_title) {
    if (same.size() < 2) continue;
    for (const auto member : {&model::FindingRow::where_op, &model::FindingRow::where_layer,
                              &model::FindingRow::where_source}) {
      std::set<std::string_view> names;
      for (const model::FindingRow* row : same) names.insert(row->*member);
      if (names.size() < same.size() || names.contains("")) continue;
      for (model::FindingRow* row : same) {
        row->title = FillTitle("{title} ({name})", {{"title", title}, {"name", row->*member}}, "");
      }
      break;
    }
  }
}

}  // namespace

Evidence& Evidence::Add(std::string_view text, int64_t value, std::string_view unit,
                        std::string_view handle) {
  nlohmann::ordered_json item = Item(text, unit, handle);
  item["value"] = value;
  items_.push_back(std::move(item));
  return *this;
}

Evidence& Evidence::AddReal(std::string_view text, double value, std::string_view unit,
                            std::string_view handle) {
  nlohmann::ordered_json item = Item(text, unit, handle);
  const double digits = value == 0 ? 1 : std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  item["value"] = std::abs(value) >= 1e6 ? std::round(value) : std::round(value * digits) / digits;
  items_.push_back(std::move(item));
  return *this;
}

Evidence& Evidence::AddSum(std::string_view text, int64_t value, std::string_view unit,
                           const std::vector<std::string>& handles, size_t instructions) {
  Add(text, value, unit, handles.size() == 1 ? handles[0] : std::string());
  if (handles.size() > 1) items_.back()["handles"] = handles;
  if (instructions > 0) items_.back()["instructions"] = instructions;
  return *this;
}

std::string Evidence::Json() const {
  return items_.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Evidence& Evidence::As(std::string_view role) {
  items_.back()["role"] = role;
  return *this;
}

Evidence& Evidence::OfCause(model::GapCause cause) {
  items_.back()["cause"] = model::Text(cause);
  return *this;
}

Evidence& Evidence::OfDevice(std::string_view device) {
  items_.back()["device"] = device;
  return *this;
}

Evidence& Evidence::AddIdle(std::string_view text, int64_t ns) {
  idle_ = items_.size();
  return Add(text, ns, "ns");
}

bool Evidence::NameIdle(std::string_view text, model::GapCause cause) {
  if (!idle_) return false;
  items_[*idle_]["text"] = text;
  items_[*idle_]["cause"] = model::Text(cause);
  return true;
}

std::string_view Text(Basis basis) {
  return basis == Basis::kMeasured   ? "measured"
         : basis == Basis::kRoofline ? "roofline"
         : basis == Basis::kReplay   ? "replay"
                                     : "cost_model";
}

std::string_view Text(Sure sure) {
  return sure == Sure::kHigh ? "high" : sure == Sure::kMedium ? "medium" : "low";
}

Sure OneLower(Sure sure) { return sure == Sure::kHigh ? Sure::kMedium : Sure::kLow; }

bool Statement::IsTooLong() const {
  return what.size() + joint.size() + why.size() + place.size() > kTwoLines;
}

std::string Statement::Text() const {
  return fmt::format("{}{}{}{}", what, why.empty() ? "" : joint, why, IsTooLong() ? "" : place);
}

std::string Statement::Headline() const {
  return why.empty() && !IsTooLong() ? what + place : what;
}

std::string Statement::Reason() const {
  if (why.empty()) return {};
  return (reason.empty() ? why : reason) + (IsTooLong() ? "" : place);
}

std::string LookedAt::Text() const {
  return fmt::format("{}: {}{}{}", what, figure, more.empty() ? "" : "; ", more);
}

void Report::Add(Finding finding) {
  const FindingTexts texts = TextsOf(finding.id, finding.variant);
  if (finding.title.empty()) {
    const std::string place =
        PlaceInTitle(finding.where_source, finding.where_layer, finding.where_op);
    finding.title = FillTitle(texts.title, finding.values, place);
  }
  if (finding.action.empty()) finding.action = Fill(ActionOf(texts, framework_), finding.values);
  if (finding.how_to_check.empty()) finding.how_to_check = Fill(texts.check, finding.values);
  findings_.push_back(std::move(finding));
}

bool Report::Holds(std::string_view id) const {
  return std::any_of(findings_.begin(), findings_.end(),
                     [&](const Finding& finding) { return finding.id == id; });
}

void Report::Fine(std::string_view id, const LookedAt& looked_at, const Evidence& evidence,
                  std::string_view handle) {
  ruled_out_.push_back({.id = std::string(id),
                        .text = looked_at.Text(),
                        .what = looked_at.what,
                        .figure = looked_at.figure,
                        .evidence_json = evidence.empty() ? "" : evidence.Json()});
  fine_handles_.emplace_back(handle);
}

void Report::Withhold(std::string_view id, std::string text) {
  ruled_out_.push_back({.id = std::string(id), .withheld = true, .text = std::move(text)});
  fine_handles_.emplace_back();
}

std::vector<model::RuledOutRow> Report::RuledOut() const {
  std::vector<model::RuledOutRow> rows;
  for (size_t i = 0; i < ruled_out_.size(); ++i) {
    const model::RuledOutRow& row = ruled_out_[i];
    const bool found = std::find(found_ids_.begin(), found_ids_.end(), row.id) != found_ids_.end();
    const bool claimed = !fine_handles_[i].empty() && claimed_.contains(fine_handles_[i]);
    if (!row.withheld && (found || claimed)) continue;
    rows.push_back(row);
  }
  return rows;
}

// Records a finding whose time is long but hardly delays the step.
void Report::AddHidden(const Finding& finding) {
  Evidence evidence;
  evidence.Add("time of it, per step", *finding.at_most_ns, "ns")
      .Add("by which the step gets shorter, by replay", *finding.saves_high_ns, "ns");
  // The list of ruled-out causes contains no tasks.
  Fine(finding.id,
       {fmt::format("\"{}\" saves little", finding.title),
        fmt::format("the work takes {}, but a replay without it makes the step only {} shorter",
                    Time(*finding.at_most_ns), Time(*finding.saves_high_ns))},
       evidence);
}

// A saving within the error of its replay.
void Report::AddUncertain(const Finding& finding) {
  Withhold(finding.id,
           fmt::format("\"{}\": by replay it saves {}, but this may be wrong by {}", finding.title,
                       Time(*finding.saves_high_ns), Time(*finding.saves_error_ns)));
}

int64_t Report::LeastOf(const Basis& basis) {
  return std::max<int64_t>(
      kMinSavingNs, static_cast<int64_t>(kMinSavingShare * static_cast<double>(basis.least_of_ns)));
}

std::vector<model::FindingRow> Report::Ranked(const Basis& basis) {
  const int64_t whole_ns = basis.whole_ns;
  const int64_t least = LeastOf(basis);
  DropCatchAlls(least, findings_);
  // A saving of the run counts as the same share of the step.
  const auto saving = [&](const Finding& finding) {
    const auto ns = static_cast<double>(finding.saves_high_ns.value_or(0));
    if (!finding.of_run || finding.run_ns <= 0 || basis.whole_run) return ns;
    return ns / static_cast<double>(finding.run_ns) * static_cast<double>(whole_ns);
  };
  const auto key = [&](const Finding& finding) { return saving(finding) * WeightOf(finding.sure); };
  // An uncertain finding may have no real saving, even if the computed one is large. It does not
  // come before a certain finding that is worth its effort.
  const double pays =
      kMinCertainShare * static_cast<double>(std::max(basis.whole_ns, basis.least_of_ns));
  const auto saves_little = [&](const Finding& finding) {
    return saving(finding) < std::max(pays, 1.0);
  };
  const bool divided = std::any_of(findings_.begin(), findings_.end(),
                                   [](const Finding& finding) { return finding.before_small; });
  const auto tier = [&](const Finding& finding) {
    if (finding.about_data) return 0;
    if (finding.no_remedy) return 5;
    if (finding.sure != Sure::kLow && !saves_little(finding)) return 1;
    if (finding.before_small) return 3;
    return divided && saves_little(finding) ? 4 : 2;
  };
  std::stable_sort(findings_.begin(), findings_.end(), [&](const Finding& a, const Finding& b) {
    return tier(a) != tier(b) ? tier(a) < tier(b) : key(a) > key(b);
  });
  std::vector<int64_t> claimed_gaps;  // By position.
  std::vector<model::FindingRow> rows;
  const auto add = [&](const Finding& finding) {
    rows.push_back(RowOf(finding, basis.whole_run));
    found_ids_.push_back(finding.id);
    if (finding.at_most_ns) together_.Add(*finding.change);
  };
  for (Finding& finding : findings_) {
    // Sums over streams that run side by side can exceed the step they would shorten.
    if (whole_ns > 0 && finding.saves_high_ns && !finding.beyond_steps) {
      finding.saves_high_ns = std::min(*finding.saves_high_ns, whole_ns);
      if (finding.saves_low_ns) finding.saves_low_ns = std::min(*finding.saves_low_ns, whole_ns);
    }
    if (finding.about_data || !finding.saves_high_ns) {
      // Claims no saving. If other findings explain all of its time already, it adds nothing.
      const bool known =
          !finding.claims.empty() &&
          std::all_of(finding.claims.begin(), finding.claims.end(),
                      [&](const auto& claim) { return claimed_.contains(claim.first); });
      if (!known) add(finding);
      continue;
    }
    // A saving that may as well be none is not one.
    if (finding.saves_error_ns && *finding.saves_error_ns > *finding.saves_high_ns) {
      AddUncertain(finding);
      continue;
    }
    if (!finding.of_run && *finding.saves_high_ns < least) {
      if (finding.at_most_ns.value_or(0) >= least) AddHidden(finding);
      continue;
    }
    // Claims are recorded times, so they are compared with recorded times.
    const int64_t at_most = finding.at_most_ns.value_or(*finding.saves_high_ns);
    int64_t already = 0;
    for (const auto& [what, ns] : finding.claims) {
      const auto at = claimed_.find(what);
      if (at != claimed_.end()) already += std::min(ns, at->second);
    }
    int64_t in_gaps = 0;
    for (const auto& [gap, ns] : finding.gaps) {
      if (gap < claimed_gaps.size()) in_gaps += std::min(ns, claimed_gaps[gap]);
    }
    already = std::min(already + in_gaps / std::max<int64_t>(basis.count, 1), at_most);
    if (static_cast<double>(already) >= kSameSavingShare * static_cast<double>(at_most)) continue;
    if (already > 0)
      finding.evidence.Add("part of the saving that findings above also count", already, "ns");
    for (const auto& [what, ns] : finding.claims) {
      int64_t& sum = claimed_[what];
      sum = std::max(sum, ns);
    }
    for (const auto& [gap, ns] : finding.gaps) {
      if (gap >= claimed_gaps.size()) claimed_gaps.resize(gap + 1 + gap / 2, 0);
      claimed_gaps[gap] = std::max(claimed_gaps[gap], ns);
    }
    add(finding);
  }
  MakeTitlesUnique(rows);
  return rows;
}

}  // namespace xlatrace::analysis::findings
