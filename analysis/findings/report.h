// SPDX-License-Identifier: Apache-2.0

// What rules write: findings with their evidence, and what they looked at and found fine.
//
// Times are per steady step of one device, in nanoseconds, unless a text says otherwise.
// Thread-safety: plain data, one thread.

#ifndef XLATRACE_ANALYSIS_FINDINGS_REPORT_H_
#define XLATRACE_ANALYSIS_FINDINGS_REPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/findings/evidence_roles.h"
#include "analysis/replay/what_if.h"
#include "model/derived.h"

namespace xlatrace::analysis::findings {

// Numbers that `show` and `query` give again: text, value, unit, handle ("o17") or none.
class Evidence {
 public:
  Evidence& Add(std::string_view text, int64_t value, std::string_view unit,
                std::string_view handle = {});
  // Values keep six digits, so that three of them are those of the value itself.
  Evidence& AddReal(std::string_view text, double value, std::string_view unit,
                    std::string_view handle = {});
  // A sum of several ops: `handles` lets a reader add them up again. `instructions`: how many these
  // are where several processes run the same ones; 0: as many as there are handles.
  Evidence& AddSum(std::string_view text, int64_t value, std::string_view unit,
                   const std::vector<std::string>& handles, size_t instructions = 0);
  // JSON array; bytes of traced programs that are no UTF-8 are replaced.
  std::string Json() const;
  bool empty() const { return items_.empty(); }
  // The purpose of the last item, for programs that read it (evidence_roles.h).
  Evidence& As(std::string_view role);
  // The last item is idle time of this cause: pages lead from it to the gaps.
  Evidence& OfCause(model::GapCause cause);
  // The last item is of this device ("GPU 1") and not the mean of all.
  Evidence& OfDevice(std::string_view device);
  // Idle time of the gaps that the finding claims; which cause they have is said later (idle.h).
  Evidence& AddIdle(std::string_view text, int64_t ns);
  // The item of AddIdle becomes idle time of one cause. Gives whether there is one.
  bool NameIdle(std::string_view text, model::GapCause cause);

 private:
  nlohmann::ordered_json items_ = nlohmann::ordered_json::array();
  std::optional<size_t> idle_;  // Position of the item of AddIdle.
};

enum class Basis : uint8_t { kMeasured, kRoofline, kCostModel, kReplay };
enum class Sure : uint8_t { kHigh, kMedium, kLow };

std::string_view Text(Basis basis);
std::string_view Text(Sure sure);
Sure OneLower(Sure sure);

// What to do, imperative, and why or how much: "Launch less: the device waits 3.1 ms per step".
struct Title {
  std::string advice;
  std::string figures = {};  // Empty: the advice says it all.

  std::string Text() const { return figures.empty() ? advice : advice + ": " + figures; }
};

// What is so, as one sentence and as two: "A change of layout is 12.0% of the step: transpose.5
// takes 3.10 ms only to move data (model.py:88)".
struct Statement {
  std::string what;
  std::string why = {};      // Empty: `what` is all.
  std::string place = {};    // " (model.py:88)"; gives way where the whole would be too long.
  std::string reason = {};   // `why` as a sentence, where it begins with a word and not a name.
  std::string joint = ": ";  // Between the two.

  bool IsTooLong() const;
  std::string Text() const;
  std::string Headline() const;
  std::string Reason() const;
};

struct Finding {
  std::string id;
  Title title;  // A line of a terminal at most.
  // What is so, for the first line of the screen: what, where, how much of what. At most 150
  // characters. Empty: the rule has nothing better than its title.
  Statement sentence;
  std::string action;  // How, in a sentence or two.
  std::string how_to_check;
  std::optional<int64_t> saves_low_ns;
  std::optional<int64_t> saves_high_ns;
  Basis basis = Basis::kMeasured;
  Sure sure = Sure::kMedium;
  std::string where_op, where_layer, where_source;
  Evidence evidence;
  // What the saving consists of: handles of ops, or words for time that is no op's ("jitter").
  // Findings that save the same time are told apart by it.
  std::map<std::string, int64_t, std::less<>> claims;
  // Idle time that it consists of: gaps, by position in AnalysisTables::gaps, and how much of each
  // (not per step). Two findings save the same idle time only where they claim the same gaps.
  std::vector<std::pair<uint32_t, int64_t>> gaps;
  // What its advice changes, where that does not follow from its claims; after pricing
  // (analysis/findings/replayed.h), what was replayed.
  std::optional<replay::Change> change;
  // False: it is about slow steps, of which the median step, which is replayed, tells nothing.
  bool of_median_step = true;
  // No replay of it may promise more than `saves_high_ns`: that is all there is.
  bool bounded = false;
  // Of what was replayed: what the rule had said, and the error of the replay.
  std::optional<int64_t> at_most_ns;
  std::optional<int64_t> replay_error_milli_pct;
  std::optional<int64_t> saves_error_ns;  // By how much the saving may be wrong either way.
  // Limits what the others can know: comes first, and has no saving.
  bool about_data = false;
  // Has no saving either, and is only worth saying before what saves little (report.cc): what the
  // run can tell was not what is to be known.
  bool before_small = false;
  // What it saves lies between the steady steps, so that it may be more than one of them.
  bool beyond_steps = false;
  // Its saving is of the whole run, of which `run_ns` is recorded. It is compared with savings per
  // step by the share that it saves.
  bool of_run = false;
  int64_t run_ns = 0;
};

// A cause that is none, with its number: "copies: 0.1% of the step is exposed copying".
struct LookedAt {
  std::string what, figure;
  std::string more = {};  // What a list, "copies (0.1% ...)", has no room for.

  std::string Text() const;  // "warm-up: set apart; all steps average 12.1 ms"
};

class Report {
 public:
  void Add(Finding finding) { findings_.push_back(std::move(finding)); }
  // Whether a finding of this id was added.
  bool Holds(std::string_view id) const;
  // Looked at, and no cause. `handle`: the op that it is about; where a finding claims that op,
  // nothing about it is said to be fine.
  void Fine(std::string_view id, const LookedAt& looked_at, const Evidence& evidence = {},
            std::string_view handle = {});
  // Not judged; `text` says what the data lacks.
  void Withhold(std::string_view id, std::string text);

  // Savings are of this: a steady step of one device, or the whole run of all.
  struct Basis {
    int64_t whole_ns = 0;     // What savings are a part of, and never more than.
    int64_t least_of_ns = 0;  // Of which they have to be 1 %.
    int64_t count = 1;        // Steps and devices that gaps are divided by.
    bool whole_run = false;
  };
  // The least saving that is worth a line.
  static int64_t LeastOf(const Basis& basis);
  // Of every finding, before they are ranked.
  void ForEach(const std::function<void(Finding&)>& price) {
    for (Finding& finding : findings_) price(finding);
  }

  // Drops what saves too little (1 % of the step and 20 us), or what a larger finding already
  // saves; ranks by the saving times how sure it is, with 3 % and more of which the cause is
  // certain (not of low confidence) before all others; says where two save the same time.
  std::vector<model::FindingRow> Ranked(const Basis& basis);
  // After Ranked.
  std::vector<model::RuledOutRow> RuledOut() const;
  // The same: all that is replayed of what Ranked gave, at once.
  const replay::Change& Together() const { return together_; }

 private:
  void SayHidden(const Finding& finding);
  void SayUncertain(const Finding& finding);

  std::vector<Finding> findings_;
  std::vector<model::RuledOutRow> ruled_out_;
  std::vector<std::string> fine_handles_;  // Of each of them; empty: none.
  std::vector<std::string> found_ids_;     // What Ranked gave, and which ops it claims.
  std::map<std::string, int64_t, std::less<>> claimed_;
  replay::Change together_;
};

// The least that is worth a line.
inline constexpr double kMinSavingShare = 0.01;
inline constexpr int64_t kLeastNs = 20'000;

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_REPORT_H_
