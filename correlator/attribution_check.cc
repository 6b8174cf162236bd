// SPDX-License-Identifier: Apache-2.0
#include "correlator/attribution_check.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "correlator/fusion_shares.h"
#include "model/derived.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using model::Id;

// A broken table has a million wrong rows; the first ones are sufficient.
constexpr size_t kMaxSentenceCount = 20;

class Checker {
 public:
  Checker(const model::RunTables& run, const model::AttributionTables& tables)
      : run_(run), tables_(tables) {}

  std::vector<std::string> Run() {
    CheckSizes();
    if (!sentences_.empty()) return sentences_;  // Indices below would be out of range.
    CheckLabels();
    CheckShares();
    CheckLabelShares();
    CheckActivities();
    CheckExecutions();
    return sentences_;
  }

 private:
  template <typename... Args>
  void Require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (holds || sentences_.size() >= kMaxSentenceCount) return;
    sentences_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  static bool IsRow(Id id, size_t size) { return id >= 0 && static_cast<size_t>(id) <= size; }

  void CheckSizes() {
    const size_t n = run_.activities.size();
    Require(tables_.label_of.size() == n, "{} labels for {} activities", tables_.label_of.size(),
            n);
    Require(tables_.execution_of.size() == n, "{} execution numbers for {} activities",
            tables_.execution_of.size(), n);
    const size_t modules = run_.modules.size() + tables_.added_modules.size();
    Require(tables_.modules.size() == modules, "{} module facts for {} modules",
            tables_.modules.size(), modules);
    for (size_t i = 0; i < tables_.label_of.size(); ++i) {
      const uint32_t label = tables_.label_of[i];
      Require(label > 0 && label <= tables_.labels.size(), "activity {} has label {} of {}", i + 1,
              label, tables_.labels.size());
    }
    for (size_t i = 0; i < tables_.execution_of.size(); ++i) {
      Require(tables_.execution_of[i] <= tables_.executions.size(),
              "activity {} is in execution {} of {}", i + 1, tables_.execution_of[i],
              tables_.executions.size());
    }
    for (size_t i = 0; i < tables_.labels.size(); ++i) {
      const model::Label& label = tables_.labels[i];
      Require(IsRow(label.module_id, tables_.modules.size()), "label {} names module {}", i + 1,
              label.module_id);
      Require(IsRow(label.instruction_id, tables_.instructions.size()),
              "label {} names instruction {}", i + 1, label.instruction_id);
    }
    for (const model::ShareRow& share : tables_.shares) {
      Require(share.instruction_id > 0 && IsRow(share.instruction_id, tables_.instructions.size()),
              "a share names instruction {}", share.instruction_id);
    }
  }

  void CheckLabels() {
    for (size_t i = 0; i < tables_.labels.size(); ++i) {
      const model::Label& label = tables_.labels[i];
      const bool known = label.instruction_id != 0;
      Require(known == (label.confidence != Confidence::kNone),
              "label {}: confidence {} with instruction {}", i + 1, model::Text(label.confidence),
              label.instruction_id);
      Require(known == (label.evidence != model::Evidence::kNone),
              "label {}: evidence {} with instruction {}", i + 1, model::Text(label.evidence),
              label.instruction_id);
      if (!known) continue;
      const bool op = label.evidence == model::Evidence::kOpRange;
      Require((label.module_id == 0) == op, "label {}: instruction {} in module {} by {}", i + 1,
              label.instruction_id, label.module_id, model::Text(label.evidence));
      const Id owner =
          tables_.instructions[static_cast<size_t>(label.instruction_id - 1)].module_id;
      Require(owner == label.module_id, "label {}: instruction {} is of module {}, not {}", i + 1,
              label.instruction_id, owner, label.module_id);
    }
  }

  void CheckLabelShares() {
    std::map<Id, int64_t> sums;
    for (const model::LabelShareRow& share : tables_.label_shares) {
      Require(share.share_ppm > 0, "label {} has a share of {}", share.label_id, share.share_ppm);
      Require(share.label_id > 0 && IsRow(share.label_id, tables_.labels.size()),
              "a share is of label {}", share.label_id);
      Require(share.instruction_id > 0 && IsRow(share.instruction_id, tables_.instructions.size()),
              "a share of label {} names instruction {}", share.label_id, share.instruction_id);
      sums[share.label_id] += share.share_ppm;
    }
    for (const auto& [label, sum] : sums) {
      Require(sum == model::kWholeSharePpm, "shares of label {} sum to {}", label, sum);
    }
  }

  void CheckShares() {
    Id open = 0;
    int64_t sum = 0;
    const auto close = [&] {
      Require(open == 0 || sum == model::kWholeSharePpm, "shares of instruction {} sum to {}", open,
              sum);
    };
    for (const model::ShareRow& share : tables_.shares) {
      Require(share.share_ppm > 0, "instruction {} has a share of {}", share.instruction_id,
              share.share_ppm);
      Require(share.instruction_id >= open, "shares of instruction {} come after those of {}",
              share.instruction_id, open);
      if (share.instruction_id != open) {
        close();
        open = share.instruction_id;
        sum = 0;
      }
      sum += share.share_ppm;
    }
    close();
  }

  void CheckActivities() {
    int64_t device_ns = 0;
    std::vector<int64_t> by_label(tables_.labels.size() + 1, 0);
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      device_ns += run_.activities.self_ns[i];
      by_label[tables_.label_of[i]] += run_.activities.self_ns[i];
    }
    int64_t labelled_ns = 0;
    for (const int64_t ns : by_label) labelled_ns += ns;
    Require(labelled_ns == device_ns, "labels sum to {} ns of {} ns", labelled_ns, device_ns);
  }

  void CheckExecutions() {
    std::vector<int64_t> members(tables_.executions.size() + 1, 0);
    for (size_t i = 0; i < run_.activities.size(); ++i) {
      const uint32_t number = tables_.execution_of[i];
      if (number == 0) continue;
      ++members[number];
      const model::Execution& execution = tables_.executions[number - 1];
      const Id module_id = tables_.labels[tables_.label_of[i] - 1].module_id;
      Require(module_id == 0 || module_id == execution.module_id,
              "activity {} of module {} is in execution {} of module {}", i + 1, module_id, number,
              execution.module_id);
      Require(run_.LaneOf(i).device_id == execution.device_id,
              "activity {} is in execution {} of another device", i + 1, number);
      Require(!run_.activities.timed(i) || (run_.activities.start_ns[i] >= execution.start_ns &&
                                            run_.activities.end_ns(i) <= execution.end_ns),
              "activity {} lies outside execution {}", i + 1, number);
    }
    for (size_t e = 0; e < tables_.executions.size(); ++e) {
      const model::Execution& execution = tables_.executions[e];
      Require(execution.module_id > 0 && IsRow(execution.module_id, tables_.modules.size()),
              "execution {} refers to module {}", e + 1, execution.module_id);
      Require(members[e + 1] == execution.activities && execution.activities > 0,
              "execution {} declares {} activities and has {}", e + 1, execution.activities,
              members[e + 1]);
    }
  }

  const model::RunTables& run_;
  const model::AttributionTables& tables_;
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> CheckAttribution(const model::RunTables& run,
                                          const model::AttributionTables& tables) {
  return Checker(run, tables).Run();
}

}  // namespace xlatrace::correlator
