// SPDX-License-Identifier: Apache-2.0
#include "compare/changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/layer.h"
#include "base/number_format.h"
#include "base/text.h"
#include "compare/causes.h"
#include "compare/change_order.h"
#include "compare/circumstances.h"
#include "compare/common_ratio.h"
#include "compare/op_identity.h"
#include "compare/repeated_work.h"
#include "compare/structure_changes.h"
#include "compare/waiting_changes.h"

namespace xlatrace::compare {
namespace {

using model::Phase;

// Tolerance of the factor for equal work.
constexpr double kFactorTolerance = 0.03;
// On a CPU, other programs delay ops by different factors.
constexpr double kCpuFactorTolerance = 0.2;

// Smaller parts of the difference of the time per iteration are not its cause.
constexpr double kMinDifferenceShare = 0.05;
constexpr double kMinOpVariation = 0.01;  // Between runs, on a dedicated GPU.
constexpr double kMinStepShare = 0.01;    // Share of device time, for one op.

constexpr size_t kMinGroupRows = 12;  // Number of rows of one cause that one op cannot represent.

class ChangeFinder {
 public:
  ChangeFinder(const Run& base, const Run& now, const Comparison& comparison,
               const TimeChange& time)
      : base_(base), now_(now), comparison_(comparison), time_(time) {}

  std::vector<Change> Find() {
    structure_ = StructureChanges(base_, now_, comparison_);
    Add(structure_.changes);
    repeated_ = RepetitionRatio(base_, now_, comparison_);
    if (auto repetition = RepetitionChange(base_, now_, comparison_, repeated_)) {
      changes_.push_back(*std::move(repetition));
    }
    Rows();
    Add(WaitingChanges(base_, now_));
    CopiesOnce();
    Because();
    Uniform();
    LeaveOutNoise();
    const bool equal = time_.word != ResultWord::kUnknown && !time_.different();
    SortChanges(comparison_, equal, &changes_);
    ShowHeaviest(&changes_, kMaxShownChanges);
    return std::move(changes_);
  }

 private:
  void Add(const std::vector<Change>& changes) {
    changes_.insert(changes_.end(), changes.begin(), changes.end());
  }

  // Changes of one kind in one place are one change.
  void Rows() {
    std::map<std::string, Change> groups;
    struct Seen {
      const Op* op = nullptr;
      const Cause* cause = nullptr;
      std::set<std::string> layers;
    };
    std::map<std::string, Seen> seen;
    for (size_t r = 0; r < comparison_.rows.size(); ++r) {
      const Row& row = comparison_.rows[r];
      if (row.causes.empty() || IsRepetition(row, repeated_)) continue;
      const Cause& cause = row.causes.front();
      const Op* op = LargestOf(now_, row.now);
      if (op == nullptr) op = LargestOf(base_, row.base);
      if (op == nullptr) continue;
      const bool one_sided = row.base.empty() || row.now.empty();
      if (one_sided && structure_.InAddedLayer(*op)) continue;
      if (one_sided && structure_.recompute && op->phase == Phase::kRecompute) continue;
      std::string key(Text(cause.kind));
      switch (cause.kind) {
        case CauseKind::kPrecision:
        case CauseKind::kKernel:
        case CauseKind::kLaunch:
          key += '\n' + cause.text;
          break;
        case CauseKind::kShapes:
        case CauseKind::kLayoutCopy:
        case CauseKind::kLayout:
          break;
        default:
          key += fmt::format("\n{}\n{}\n{}", op->layer_group, model::Text(op->phase), op->op_kind);
          if (cause.kind != CauseKind::kLost && cause.kind != CauseKind::kNew) {
            const std::string_view leaf = LeafOf(op->op_name);
            key += fmt::format("\n{}", leaf.empty() ? std::string_view(op->instruction) : leaf);
          }
      }
      Change& change = groups[key];
      change.id = Text(cause.kind);
      change.delta_ns += row.delta();
      change.certain = cause.certain;
      change.rows.push_back(r);
      Seen& told = seen[key];
      told.layers.insert(op->layer);
      if (told.op == nullptr) {  // Rows are sorted by change, largest first.
        told.op = op;
        told.cause = &cause;
        change.where = WhereOf(*op);
      }
    }
    for (auto& [key, change] : groups) {
      const Seen& told = seen[key];
      if (change.rows.size() >= kMinGroupRows) {
        FormatManyLayers(*told.cause, change);
      } else {
        change.text = FormatCause(*told.op, *told.cause, told.layers.size() > 1);
        if (change.rows.size() > 1) {
          change.text += fmt::format(" (and {} alike)", change.rows.size() - 1);
        }
      }
      changes_.push_back(std::move(change));
    }
  }

  // "270 ops of block_*/selective_scan: f64 where it was f32", of lines 61 to 67. The largest op
  // does not represent so many. Layer and lines are those of four fifths of their time.
  void FormatManyLayers(const Cause& cause, Change& change) const {
    struct Part {
      int64_t ns = 0;
      const Op* op = nullptr;
    };
    std::vector<Part> parts;
    int64_t all = 0;
    for (const size_t r : change.rows) {
      const Row& row = comparison_.rows[r];
      const Op* op = LargestOf(now_, row.now);
      if (op == nullptr) op = LargestOf(base_, row.base);
      if (op == nullptr) continue;
      parts.push_back({std::max(row.base_ns, row.now_ns), op});
      all += parts.back().ns;
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.ns > b.ns; });
    std::optional<std::string> layer;
    std::string file;
    int64_t first = 0, last = 0, told = 0;
    for (const Part& part : parts) {
      if (5 * told >= 4 * all) break;
      told += part.ns;
      const std::string& group = part.op->layer_group;
      layer = layer ? analysis::CommonLayer(*layer, group) : group;
      if (part.op->source_file.empty() || !part.op->source_line) continue;
      const std::string_view name = LastPart(part.op->source_file);
      if (file.empty()) file = name;
      if (file != name) continue;
      first = first == 0 ? *part.op->source_line : std::min(first, *part.op->source_line);
      last = std::max(last, *part.op->source_line);
    }
    change.text =
        fmt::format("{} ops{}{}: {}", change.rows.size(), layer.value_or("").empty() ? "" : " of ",
                    layer.value_or(""), cause.text);
    change.where = file.empty()    ? std::string()
                   : first == last ? fmt::format("{}:{}", file, first)
                                   : fmt::format("{}:{} to {}", file, first, last);
  }

  // `folded`: equal in several layers, so that the group of layers is named.
  static std::string FormatCause(const Op& op, const Cause& cause, bool folded) {
    const std::string name = NameOf(op, folded);
    return name.empty() ? cause.text : name + ": " + cause.text;
  }

  static std::string NameOf(const Op& op, bool folded) {
    if (op.instruction.empty()) {
      return op.kernels.empty() || op.kernels[0].name.empty() ? std::string(op.reason)
                                                              : op.kernels[0].name;
    }
    std::string text(op.layer.empty() ? LeafOf(op.op_name) : std::string_view(op.layer));
    if (folded && !op.layer_group.empty()) text = op.layer_group;
    if (op.phase != Phase::kUnknown && op.phase != Phase::kOther && !text.empty()) {
      text += fmt::format(" {}", model::Text(op.phase));
    }
    return text.empty() ? op.instruction : fmt::format("{} ({})", text, op.instruction);
  }

  static std::string WhereOf(const Op& op) {
    if (op.source_file.empty()) return {};
    return op.source_line ? fmt::format("{}:{}", LastPart(op.source_file), *op.source_line)
                          : std::string(LastPart(op.source_file));
  }

  // Most of the equal work takes longer by one factor: the cause is not the program.
  void Uniform() {
    std::vector<WeighedRatio> ratios;
    int64_t delta = 0;
    std::vector<size_t> rows;
    for (size_t r = 0; r < comparison_.rows.size(); ++r) {
      const Row& row = comparison_.rows[r];
      if (row.base_ns <= 0 || row.now_ns <= 0) continue;
      if (!row.causes.empty() && row.causes.front().kind != CauseKind::kTime) continue;
      ratios.push_back(
          {static_cast<double>(row.now_ns) / static_cast<double>(row.base_ns), row.base_ns});
      delta += row.delta();
      rows.push_back(r);
    }
    const bool on_cpu = base_.cpu && now_.cpu;
    const auto common =
        CommonRatio(std::move(ratios), on_cpu ? kCpuFactorTolerance : kFactorTolerance);
    if (!common || std::abs(*common - 1) < (on_cpu ? 0.1 : 0.02)) return;
    const bool slower = *common > 1;
    Change change;
    change.id = "uniform";
    change.certain = false;
    change.delta_ns = delta;
    change.rows = std::move(rows);
    change.because = DeviceReason(base_, now_);
    change.text = fmt::format(
        "everything is {} by about {}x at equal work{}", slower ? "slower" : "faster",
        Significant(slower ? *common : 1 / *common),
        change.because.empty() ? ": clocks, power or other load, none of which was recorded" : "");
    std::erase_if(changes_, [](const Change& other) { return other.id == "time"; });
    changes_.push_back(std::move(change));
  }

  // Removed (or added) copies shorten (or extend) the waiting of the step.
  void CopiesOnce() {
    int64_t delta = 0;
    for (const Change& change : changes_) {
      if (change.wall) continue;
      for (const size_t r : change.rows) {
        const Row& row = comparison_.rows[r];
        const Op* op = row.base.empty() ? LargestOf(now_, row.now) : LargestOf(base_, row.base);
        if ((row.base.empty() || row.now.empty()) && op->op_kind == "copy") delta += row.delta();
      }
    }
    std::erase_if(changes_, [&](const Change& change) {
      return change.id == "exposed_copy" && (change.delta_ns > 0) == (delta > 0) &&
             2 * std::abs(delta) >= std::abs(change.delta_ns);
    });
  }

  void LeaveOutNoise() {
    if (time_.word == ResultWord::kUnknown) return;
    const double whole = std::abs(static_cast<double>(WholeOf(comparison_)));
    std::erase_if(changes_, [&](const Change& change) {
      if (change.certain || IsSignificant(change)) return false;
      if (change.id == "idle" && HostCallsChanged(base_, now_, change.delta_ns > 0)) return false;
      // Without steps, changes are sums over the recordings, and not parts of an iteration.
      return !time_.different() ||
             (!time_.of_calls &&
              std::abs(static_cast<double>(change.delta_ns)) < kMinDifferenceShare * whole);
    });
  }

  // On a dedicated GPU, the time of an op varies between runs as that of the step does. A larger
  // change of an op is significant, even if the variation of the step hides it.
  bool IsSignificant(const Change& change) const {
    if (base_.cpu || now_.cpu || change.wall || change.rows.empty()) return false;
    constexpr double kMinSigmas = 5;
    const double error = std::sqrt(2) * std::max(time_.usual_variation, kMinOpVariation);
    return std::any_of(change.rows.begin(), change.rows.end(), [&](size_t r) {
      const auto before = static_cast<double>(comparison_.rows[r].base_ns);
      const auto after = static_cast<double>(comparison_.rows[r].now_ns);
      return before > 0 && after > 0 && std::abs(std::log(after / before)) > kMinSigmas * error &&
             std::abs(after - before) > kMinStepShare * static_cast<double>(base_.device_ns);
    });
  }

  // Adds possible reasons: changes that another compiler or other flags can cause.
  void Because() {
    const std::string compiled = CompilerReason(base_, now_);
    const std::string device = DeviceReason(base_, now_);
    static const std::set<std::string_view> kCompiled = {
        "split", "merged", "regrouped", "kernel",    "launch", "layout",     "layout_copy",
        "lost",  "new",    "precision", "recompute", "graphs", "collective", "work"};
    for (Change& change : changes_) {
      if (kCompiled.contains(change.id)) {
        change.because = compiled;
      } else if (change.id == "time") {
        change.because = device;
      }
    }
  }

  const Run& base_;
  const Run& now_;
  const Comparison& comparison_;
  const TimeChange& time_;
  std::vector<Change> changes_;
  Structure structure_;
  double repeated_ = 0;  // Ratio of repetitions, which are reported once.
};

}  // namespace

std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison,
                                const TimeChange& time) {
  // Differences between runs that cannot be compared are not changes.
  if (!comparison.identity.comparable()) return {};
  return ChangeFinder(base, now, comparison, time).Find();
}

std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison) {
  return FindChanges(base, now, comparison,
                     ChangeOfTime(std::vector<const Run*>{&base}, std::vector<const Run*>{&now}));
}

std::vector<bool> RowsOfUsualVariation(const Comparison& comparison,
                                       const std::vector<Change>& changes) {
  std::vector<bool> usual(comparison.rows.size());
  if (!comparison.identity.comparable()) return usual;
  for (size_t r = 0; r < usual.size(); ++r) {
    const std::vector<Cause>& causes = comparison.rows[r].causes;
    usual[r] = std::none_of(causes.begin(), causes.end(),
                            [](const Cause& cause) { return cause.certain; });
  }
  for (const Change& change : changes) {
    for (const size_t r : change.rows) usual[r] = false;
  }
  return usual;
}

}  // namespace xlatrace::compare
