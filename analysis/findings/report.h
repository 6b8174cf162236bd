// SPDX-License-Identifier: Apache-2.0

// Output of rules: findings with their evidence, and causes that were ruled out.
//
// Times are per steady step of one device, in nanoseconds, unless a text states another basis.
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

#include "analysis/findings/catalogue.h"
#include "analysis/findings/evidence_roles.h"
#include "analysis/replay/what_if.h"
#include "model/derived.h"

namespace xlatrace::analysis::findings {

// Numbers that `show` and `query` also print: text, value, unit, and a handle ("o17") or none.
class Evidence {
 public:
  Evidence& Add(std::string_view text, int64_t value, std::string_view unit,
                std::string_view handle = {});
  // Values keep six digits, so that the first three are those of the exact value.
  Evidence& AddReal(std::string_view text, double value, std::string_view unit,
                    std::string_view handle = {});
  // A sum over several ops. `handles` lets readers repeat the sum. `instructions`: the number of
  // distinct instructions if several processes run the same ones; 0: as many as handles.
  Evidence& AddSum(std::string_view text, int64_t value, std::string_view unit,
                   const std::vector<std::string>& handles, size_t instructions = 0);
  // JSON array. Bytes of traced programs that are not UTF-8 are replaced.
  std::string Json() const;
  bool empty() const { return items_.empty(); }
  // The purpose of the last item, for programs that read it (evidence_roles.h).
  Evidence& As(std::string_view role);
  // Marks the last item as idle time of this cause. Pages link from it to the gaps.
  Evidence& OfCause(model::GapCause cause);
  // Marks the last item as that of this device ("GPU 1"), not the mean of all.
  Evidence& OfDevice(std::string_view device);
  // Idle time of the gaps that the finding claims. NameIdle adds the cause later (idle.h).
  Evidence& AddIdle(std::string_view text, int64_t ns);
  // Turns the item of AddIdle into idle time of one cause. Returns false if there is no such item.
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

// A fact as one sentence or as two: "A change of layout is 12.0% of the step: transpose.5
// takes 3.10 ms only to move data (model.py:88)".
struct Statement {
  std::string what;
  std::string why = {};      // Empty: `what` is a complete sentence.
  std::string place = {};    // " (model.py:88)"; dropped if the sentence is too long.
  std::string reason = {};   // `why` as a sentence that begins with a word, not a name.
  std::string joint = ": ";  // Between the two.

  bool IsTooLong() const;
  std::string Text() const;
  std::string Headline() const;
  std::string Reason() const;
};

struct Finding {
  std::string id;
  // Selects the texts of the finding, with `values` for their place holders (catalogue.h).
  std::string variant;
  Values values;
  // If these three are empty, Report::Add fills them from the catalogue.
  std::string title, action, how_to_check;
  // The fact for the first line of the screen: subject, place, and share with its whole. At most
  // 150 characters. Empty: the title is used.
  Statement sentence;
  std::optional<int64_t> saves_low_ns;
  std::optional<int64_t> saves_high_ns;
  Basis basis = Basis::kMeasured;
  Sure sure = Sure::kMedium;
  std::string where_op, where_layer, where_source;
  Evidence evidence;
  // The parts of the saving: handles of ops, or words for time outside of ops ("jitter"). Findings
  // with the same parts save the same time.
  std::map<std::string, int64_t, std::less<>> claims;
  // Claimed idle time: gaps, by position in AnalysisTables::gaps, and the claimed part of each (not
  // per step). Two findings save the same idle time only if they claim the same gaps.
  std::vector<std::pair<uint32_t, int64_t>> gaps;
  // Effect of the advice, if it does not follow from the claims. After pricing
  // (analysis/findings/replayed.h): the replayed change.
  std::optional<replay::Change> change;
  // False: the finding is about slow steps, which the replayed median step does not contain.
  bool of_median_step = true;
  // True: a replay may not promise more than `saves_high_ns`, because no other time exists.
  bool bounded = false;
  // After a replay: the rule's own saving, and the error of the replay.
  std::optional<int64_t> at_most_ns;
  std::optional<int64_t> replay_error_milli_pct;
  std::optional<int64_t> saves_error_ns;  // Possible error of the saving, in both directions.
  // Limits all other findings: ranks first, and has no saving.
  bool about_data = false;
  // The finding also has no saving, and ranks only before findings that save little (report.cc).
  // The recording lacks the data that its user needs.
  bool before_small = false;
  // Names the largest op for which no rule has advice. Has no saving, and ranks last.
  bool no_remedy = false;
  // The saving lies between the steady steps, so it may exceed one step.
  bool beyond_steps = false;
  // The saving is of the whole run, of which `run_ns` is recorded. Its share of the run is compared
  // with the shares of savings per step.
  bool of_run = false;
  int64_t run_ns = 0;
};

// A cause that was excluded, with its number: "copies: 0.1% of the step is exposed copying".
struct LookedAt {
  std::string what, figure;
  std::string more = {};  // Details too long for a list such as "copies (0.1% ...)".

  std::string Text() const;  // "warm-up: set apart; all steps average 12.1 ms"
};

class Report {
 public:
  // `framework` selects the advice.
  explicit Report(Framework framework = Framework::kJaxOrUnknown) : framework_(framework) {}

  // Fills the texts of the finding, and stores it.
  void Add(Finding finding);
  // Whether a finding of this id was added.
  bool Holds(std::string_view id) const;
  // Records a cause that was ruled out. `handle`: the op that was checked. If a finding claims that
  // op, the entry is dropped.
  void Fine(std::string_view id, const LookedAt& looked_at, const Evidence& evidence = {},
            std::string_view handle = {});
  // Records that a rule lacks data; `text` names the missing data.
  void Withhold(std::string_view id, std::string text);

  // Basis of savings: a steady step of one device, or the whole run on all devices.
  struct Basis {
    int64_t whole_ns = 0;     // The whole of all savings: their upper limit.
    int64_t least_of_ns = 0;  // Savings must be at least 1 % of this.
    int64_t count = 1;        // Steps and devices that gaps are divided by.
    bool whole_run = false;
  };
  // The smallest saving that is reported.
  static int64_t LeastOf(const Basis& basis);
  // Calls `price` for every finding, before Ranked.
  void ForEach(const std::function<void(Finding&)>& price) {
    for (Finding& finding : findings_) price(finding);
  }

  // Drops findings that save too little (1 % of the step and 20 us), or that repeat the saving of a
  // larger finding. Ranks by saving times certainty. Findings with a certain cause and at least 3 %
  // come before all others. Notes findings that save the same time.
  std::vector<model::FindingRow> Ranked(const Basis& basis);
  // Call after Ranked.
  std::vector<model::RuledOutRow> RuledOut() const;
  // Call after Ranked: all replayed changes of the ranked findings together.
  const replay::Change& Together() const { return together_; }

 private:
  void AddHidden(const Finding& finding);
  void AddUncertain(const Finding& finding);

  Framework framework_;
  std::vector<Finding> findings_;
  std::vector<model::RuledOutRow> ruled_out_;
  std::vector<std::string> fine_handles_;  // One handle per excluded cause; empty: none.
  std::vector<std::string> found_ids_;     // Ids of ranked findings; their ops: `claimed_`.
  std::map<std::string, int64_t, std::less<>> claimed_;
  replay::Change together_;
};

// The smallest share that is reported.
inline constexpr double kMinSavingShare = 0.01;
inline constexpr int64_t kMinSavingNs = 20'000;

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_REPORT_H_
