#include "compare/changes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/text.h"
#include "compare/causes.h"
#include "compare/circumstances.h"
#include "compare/common_ratio.h"
#include "compare/op_identity.h"
#include "model/gap_words.h"

namespace xlatrace::compare {
namespace {

// As findings, terminal and page say it.
std::string_view CauseWords(std::string_view cause) {
  const auto texts = model::Texts<model::GapCause>();
  const auto at = std::find(texts.begin(), texts.end(), cause);
  return at == texts.end() ? cause
                           : model::InWords(static_cast<model::GapCause>(at - texts.begin()));
}

using model::Phase;
using model::StepPart;

// Repetitions a second of two runs that differ by less are the same: a span begins and ends
// anywhere in a step.
constexpr double kSameRate = 0.05;
// Spans that differ by less are called equally long.
constexpr double kSameSpan = 0.02;
// What takes that much more or less in each execution (logarithm) is no mere repetition.
constexpr double kSameEach = 0.2;
// Executions of a longer recording differ by the steps at its borders; times of equal work by
// noise.
constexpr double kNearRepetition = 0.08;
constexpr double kNearFactor = 0.03;
// A step that moved by less is called the same.
constexpr double kEqual = 0.005;

size_t CountOf(const Run& run, Phase phase) {
  return static_cast<size_t>(std::count_if(run.ops.begin(), run.ops.end(), [&](const Op& op) {
    return op.phase == phase ||
           std::any_of(op.shares.begin(), op.shares.end(),
                       [&](const OpShare& share) { return share.phase == phase; });
  }));
}

int64_t PhaseNs(const Run& run, Phase phase) {
  int64_t sum = 0;
  for (const Op& op : run.ops) {
    if (op.shares.empty()) {
      if (op.phase == phase) sum += op.ns;
      continue;
    }
    for (const OpShare& share : op.shares) {
      if (share.phase == phase) sum += share.ns;
    }
  }
  return sum;
}

// "12.0% fewer times", "3.05 times as often".
std::string Often(double ratio) {
  if (ratio >= 2) return fmt::format("{} times as often", Significant(ratio));
  return ratio >= 1 ? fmt::format("{}% more often", Percent(ratio - 1, 1))
                    : fmt::format("{}% fewer times", Percent(1 - ratio, 1));
}

// What the same work does per execution.
std::string Long(double ratio) {
  if (std::abs(ratio - 1) < kEqual) return "takes as long";
  if (ratio >= 2) return fmt::format("takes {} times as long", Significant(ratio));
  return ratio > 1 ? fmt::format("is {}% longer", Percent(ratio - 1, 1))
                   : fmt::format("is {}% shorter", Percent(1 - ratio, 1));
}

std::string Plural(size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

// "layer_7" -> "layer_*": what numbered siblings have in common.
std::string Pattern(std::string_view component) {
  std::string text;
  for (const char c : component) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) {
      text += c;
    } else if (text.empty() || text.back() != '*') {
      text += '*';
    }
  }
  return text;
}

std::vector<std::string> Prefixes(std::string_view path) {
  std::vector<std::string> prefixes;
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    prefixes.emplace_back(path.substr(0, at));
  }
  prefixes.emplace_back(path);
  return prefixes;
}

class ChangeFinder {
 public:
  ChangeFinder(const Run& base, const Run& now, const Comparison& comparison)
      : base_(base), now_(now), comparison_(comparison) {}

  std::vector<Change> Find() {
    Inputs();
    Layers();
    Recompute();
    Repetitions();
    Rows();
    if (base_.steady && now_.steady) {
      Graphs();
      Parts();
    } else if (!base_.steady && !now_.steady) {
      IdleOfWhole();
    }
    Because();
    Uniform();
    Sort();
    return std::move(changes_);
  }

 private:
  // Another batch changes everything, and is one change.
  void Inputs() {
    if (comparison_.identity.other_inputs.empty()) return;
    Change change;
    change.id = "inputs";
    change.delta_ns = comparison_.delta();
    change.text =
        fmt::format("the program takes other arguments ({})", comparison_.identity.other_inputs);
    changes_.push_back(std::move(change));
  }

  // Layers that one side has and the other has not, but siblings of them.
  void Layers() {
    for (const bool more : {true, false}) {
      const Run& with = more ? now_ : base_;
      const Run& without = more ? base_ : now_;
      std::set<std::string> known, patterns;
      const auto each = [](const Run& run, const auto& use) {
        for (const Op& op : run.ops) {
          if (op.shares.empty() && !op.layer.empty()) use(op.layer, op.ns);
          for (const OpShare& share : op.shares) {
            if (!share.layer.empty()) use(share.layer, share.ns);
          }
        }
      };
      each(without, [&](const std::string& layer, int64_t) {
        for (const std::string& prefix : Prefixes(layer)) {
          known.insert(prefix);
          patterns.insert(Pattern(prefix));
        }
      });
      std::map<std::string, int64_t> added;
      each(with, [&](const std::string& layer, int64_t ns) {
        for (const std::string& prefix : Prefixes(layer)) {
          if (known.contains(prefix)) continue;
          const std::string pattern = Pattern(prefix);
          if (pattern.find('*') != std::string::npos && patterns.contains(pattern)) {
            added[prefix] += ns;
          }
          return;
        }
      });
      if (added.empty()) continue;
      Change change;
      change.id = "layers";
      int64_t ns = 0;
      for (const auto& [layer, time] : added) ns += time;
      change.delta_ns = more ? ns : -ns;
      std::string names = added.begin()->first;
      if (added.size() > 1) names += fmt::format(" to {}", added.rbegin()->first);
      change.text =
          fmt::format("{} {}: {}", Plural(added.size(), "layer"), more ? "more" : "fewer", names);
      for (const auto& [layer, time] : added) layers_.insert(layer);
      changes_.push_back(std::move(change));
    }
  }

  bool InAddedLayer(const Op& op) const {
    const std::vector<std::string> prefixes = Prefixes(op.layer);
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return layers_.contains(prefix); });
  }

  void Recompute() {
    const size_t ours = CountOf(base_, Phase::kRecompute);
    const size_t theirs = CountOf(now_, Phase::kRecompute);
    // A few more or less are other fusions of the same.
    const size_t more = std::max(ours, theirs);
    if (more == 0 || 4 * (more - std::min(ours, theirs)) < more) return;
    recompute_ = true;
    Change change;
    change.id = "recompute";
    change.delta_ns = PhaseNs(now_, Phase::kRecompute) - PhaseNs(base_, Phase::kRecompute);
    if (ours == 0) {
      change.text = fmt::format(
          "recomputation (remat) appeared: {} of the forward pass run again in the backward pass",
          Plural(theirs, "operation"));
    } else if (theirs == 0) {
      change.text = fmt::format("recomputation (remat) is gone: {} no longer run twice",
                                Plural(ours, "operation"));
    } else {
      change.text = fmt::format(
          "recomputation (remat): {} of the forward pass run again in the backward pass instead of "
          "{}",
          Plural(theirs, "operation"), ours);
    }
    changes_.push_back(std::move(change));
  }

  // Of whole runs: everything ran so many times as often, because one of them was longer.
  void Repetitions() {
    if (base_.steady && now_.steady) return;
    std::vector<WeighedRatio> ratios;
    for (const Row& row : comparison_.rows) {
      if (row.base_calls <= 0 || row.now_calls <= 0) continue;
      ratios.push_back({row.now_calls / row.base_calls, row.base_ns + row.now_ns});
    }
    const auto common = CommonRatio(std::move(ratios), kNearRepetition);
    if (!common || std::abs(*common - 1) < 0.01) return;
    repeated_ = *common;
    // Where it is most of both, it is one program for another number of steps.
    int64_t covered = 0;
    for (const Row& row : comparison_.rows) {
      if (IsRepetition(row)) covered += row.base_ns + row.now_ns;
    }
    if (covered * 2 < base_.device_ns + now_.device_ns) {
      repeated_ = 0;
      return;
    }
    Change change;
    change.id = "repetitions";
    // By each row's own count: with the common one, what ran a little more or less often than the
    // rest would look as if it took longer or shorter.
    double expected = 0, after = 0;
    for (size_t r = 0; r < comparison_.rows.size(); ++r) {
      const Row& row = comparison_.rows[r];
      if (!IsRepetition(row)) continue;
      change.rows.push_back(r);
      change.delta_ns += row.delta();
      expected += static_cast<double>(row.base_ns) * row.now_calls / row.base_calls;
      after += static_cast<double>(row.now_ns);
    }
    const double each = expected == 0 ? 1 : after / expected;
    change.pace = PaceOf(Long(each));
    change.text =
        change.pace ? fmt::format("everything ran {}, which is {}; per execution the same work {}",
                                  change.pace->often, change.pace->ratio < 1 ? "slower" : "faster",
                                  change.pace->each)
                    : fmt::format(
                          "everything ran about {}: another number of steps was recorded; per "
                          "execution the same work {}",
                          Often(repeated_), Long(each));
    changes_.push_back(std::move(change));
  }

  // Fewer in as much time are no shorter recording, but fewer a second: the device time is less and
  // nothing got faster. Nothing where as many a second were done, or that is not known.
  std::optional<Pace> PaceOf(std::string each) const {
    if (base_.span_ns <= 0 || now_.span_ns <= 0) return std::nullopt;
    const double ratio = repeated_ / Spans();
    if (std::abs(ratio - 1) < kSameRate) return std::nullopt;
    const std::string now = Duration(static_cast<double>(now_.span_ns));
    return Pace{ratio,
                SameSpan() ? fmt::format("about {} in the same {}", Often(repeated_), now)
                           : fmt::format("about {}: {} in a second, over {} instead of {}",
                                         Often(repeated_), Often(ratio), now,
                                         Duration(static_cast<double>(base_.span_ns))),
                std::move(each)};
  }

  double Spans() const {
    return static_cast<double>(now_.span_ns) / static_cast<double>(base_.span_ns);
  }
  bool SameSpan() const {
    return base_.span_ns > 0 && now_.span_ns > 0 && std::abs(Spans() - 1) < kSameSpan;
  }

  // Without steps the idle time of whole recordings can be compared where these are equally long.
  void IdleOfWhole() {
    if (!SameSpan()) return;
    const auto idle = [](const Run& run) {
      int64_t sum = 0;
      for (const Gap& gap : run.gaps) sum += gap.ns;
      return sum;
    };
    const int64_t before = idle(base_), after = idle(now_);
    const int64_t delta = after - before;
    if (static_cast<double>(std::abs(delta)) <
        kSameSpan * static_cast<double>(base_.device_ns + before)) {
      return;
    }
    Change change;
    change.id = "idle";
    change.wall = true;
    change.certain = false;
    change.delta_ns = delta;
    change.text = fmt::format("the devices together are idle for {} instead of {}{}",
                              Duration(static_cast<double>(after)),
                              Duration(static_cast<double>(before)), GapsThatGrew(delta));
    changes_.push_back(std::move(change));
  }

  // ": the host is late +34.9 ms, the host had waited for the device +13.3 ms"; causes that are a
  // good part of `delta`, which is more than 0, or nothing.
  std::string GapsThatGrew(int64_t delta) const {
    if (delta <= 0) return {};
    std::vector<std::pair<int64_t, std::string_view>> grew;
    for (const Gap& gap : now_.gaps) {
      const int64_t more = gap.ns - NsOf(base_.gaps, gap.cause);
      if (more * 10 >= delta) grew.emplace_back(more, gap.cause);
    }
    std::stable_sort(grew.begin(), grew.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (const auto& [more, cause] : grew) {
      text += fmt::format("{} {} +{}", text.empty() ? ":" : ",", CauseWords(cause),
                          Duration(static_cast<double>(more)));
    }
    return text;
  }

  static int64_t NsOf(const std::vector<Gap>& gaps, std::string_view cause) {
    for (const Gap& gap : gaps) {
      if (gap.cause == cause) return gap.ns;
    }
    return 0;
  }

  // The cause whose gaps grew most; none where nothing grew, or where nobody knows it.
  struct MoreGaps {
    std::string cause;
    int64_t ns = 0;
  };
  MoreGaps CauseOfMoreGaps() const {
    MoreGaps most;
    for (const Gap& gap : now_.gaps) {
      const int64_t more = gap.ns - NsOf(base_.gaps, gap.cause);
      if (more > most.ns) most = {gap.cause, more};
    }
    return most.cause == "unknown" ? MoreGaps{} : most;
  }

  bool IsRepetition(const Row& row) const {
    return repeated_ > 0 && row.base_calls > 0 && row.now_calls > 0 && !row.causes.empty() &&
           row.causes.front().kind == CauseKind::kExecutions &&
           std::abs(row.now_calls / row.base_calls - repeated_) <= kNearRepetition * repeated_ &&
           std::abs(std::log(std::max(EachRatio(row), 1e-9))) < kSameEach;
  }

  // Changes of one kind in one place are told together.
  void Rows() {
    std::map<std::string, Change> groups;
    struct Seen {
      int64_t largest = -1;
      const Op* op = nullptr;
      const Cause* cause = nullptr;
      std::set<std::string> layers;
    };
    std::map<std::string, Seen> seen;
    for (size_t r = 0; r < comparison_.rows.size(); ++r) {
      const Row& row = comparison_.rows[r];
      if (row.causes.empty() || IsRepetition(row)) continue;
      const Cause& cause = row.causes.front();
      const Op* op = LargestOf(now_, row.now);
      if (op == nullptr) op = LargestOf(base_, row.base);
      if (op == nullptr) continue;
      const bool one_sided = row.base.empty() || row.now.empty();
      if (one_sided && InAddedLayer(*op)) continue;
      if (one_sided && recompute_ && op->phase == Phase::kRecompute) continue;
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
      if (std::abs(row.delta()) > told.largest) {
        told.largest = std::abs(row.delta());
        told.op = op;
        told.cause = &cause;
        change.where = WhereOf(*op);
      }
    }
    for (auto& [key, change] : groups) {
      const Seen& told = seen[key];
      change.text = Told(*told.op, *told.cause, told.layers.size() > 1);
      if (change.rows.size() > 1) {
        change.text += fmt::format(" (and {} alike)", change.rows.size() - 1);
      }
      changes_.push_back(std::move(change));
    }
  }

  // `folded`: alike in several layers, so that the layer's group is named.
  static std::string Told(const Op& op, const Cause& cause, bool folded) {
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

  void Graphs() {
    if (!base_.graph_share || !now_.graph_share) return;
    const double a = *base_.graph_share;
    const double b = *now_.graph_share;
    if (std::abs(a - b) < 0.05) return;
    // Another mix of launches changes the share too: without a graph the host has more to call.
    if (a > 0 && b > 0 && base_.host_calls && now_.host_calls &&
        (b < a ? *now_.host_calls < 1.25 * *base_.host_calls
               : *base_.host_calls < 1.25 * *now_.host_calls)) {
      return;
    }
    Change change;
    change.id = "graphs";
    change.wall = true;
    // Graphs that are gone make the device wait; what goes the other way has another reason.
    const int64_t idle = Part(now_, StepPart::kIdle) - Part(base_, StepPart::kIdle);
    if ((b < a) == (idle > 0)) {
      change.delta_ns = idle;
      graphs_ = true;
    }
    const std::string_view what = b == 0   ? "CUDA graphs are gone"
                                  : a == 0 ? "CUDA graphs appeared"
                                  : b < a  ? "fewer launches are in CUDA graphs"
                                           : "more launches are in CUDA graphs";
    change.text = fmt::format("{}: {}% of the launches were in one, now {}%", what,
                              a == 0 ? "0" : Percent(a, 1), b == 0 ? "0" : Percent(b, 1));
    if (base_.host_calls && now_.host_calls) {
      change.text += fmt::format(", {} host calls a step instead of {}",
                                 Significant(*now_.host_calls), Significant(*base_.host_calls));
    }
    changes_.push_back(std::move(change));
  }

  static int64_t Part(const Run& run, StepPart part) {
    return run.parts[static_cast<size_t>(part)];
  }

  // What a step waits for.
  void Parts() {
    if (!base_.has_parts || !now_.has_parts) return;
    const auto add = [&](StepPart part, std::string id, std::string text) {
      const int64_t delta = Part(now_, part) - Part(base_, part);
      if (delta == 0) return;
      Change change;
      change.id = std::move(id);
      change.wall = true;
      change.certain = false;
      change.delta_ns = delta;
      change.text = std::move(text);
      changes_.push_back(std::move(change));
    };
    const auto both = [&](StepPart part) {
      return fmt::format("{} -> {} a step", Duration(static_cast<double>(Part(base_, part))),
                         Duration(static_cast<double>(Part(now_, part))));
    };
    if (!graphs_) {
      const bool more = Part(now_, StepPart::kIdle) > Part(base_, StepPart::kIdle);
      const std::string why = more ? CauseOfMoreGaps().cause : std::string();
      const std::string cause =
          why.empty() ? std::string() : fmt::format(", mostly because {}", CauseWords(why));
      add(StepPart::kIdle, "idle",
          fmt::format("the device {} ({}{})", more ? "waits longer" : "waits less",
                      both(StepPart::kIdle), cause));
    }
    const bool exposed =
        Part(now_, StepPart::kExposedCollective) > Part(base_, StepPart::kExposedCollective);
    add(StepPart::kExposedCollective, "exposed_collective",
        fmt::format("{} ({})",
                    exposed ? "communication is less hidden behind computation"
                            : "communication is better hidden behind computation",
                    both(StepPart::kExposedCollective)));
    const bool copies = Part(now_, StepPart::kExposedCopy) > Part(base_, StepPart::kExposedCopy);
    add(StepPart::kExposedCopy, "exposed_copy",
        fmt::format("{} ({})", copies ? "copies are less hidden" : "copies are better hidden",
                    both(StepPart::kExposedCopy)));
  }

  // Most of what does the same work takes longer by the same factor: not the program.
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
    const auto common = CommonRatio(std::move(ratios), kNearFactor);
    if (!common || std::abs(*common - 1) < 0.02) return;
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

  // What another compiler or other flags can have done, and what they cannot.
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

  // What goes the way of the whole comes before what goes against it, so that a slower step is
  // never led by a gain. Among those, what explains most; certain changes weigh more: measured
  // times move by themselves, a program does not.
  void Sort() {
    const int64_t whole = WholeOf(comparison_);
    const bool equal = AboutEqual(comparison_);
    const auto against = [&](const Change& change) {
      return !equal && (whole > 0 ? change.delta_ns <= 0 : change.delta_ns >= 0);
    };
    std::stable_sort(changes_.begin(), changes_.end(), [&](const Change& a, const Change& b) {
      return against(a) != against(b) ? against(b) : WeightOf(a) > WeightOf(b);
    });
    PutStructureSecond(&changes_, whole);
  }

  const Run& base_;
  const Run& now_;
  const Comparison& comparison_;
  std::vector<Change> changes_;
  std::set<std::string> layers_;
  bool recompute_ = false;
  bool graphs_ = false;  // They are the reason why the device waits.
  double repeated_ = 0;
};

}  // namespace

int64_t WholeOf(const Comparison& comparison) {
  return comparison.base_step_ns != 0 && comparison.now_step_ns != 0
             ? comparison.now_step_ns - comparison.base_step_ns
             : comparison.delta();
}

bool AboutEqual(const Comparison& comparison) {
  const int64_t base =
      comparison.base_step_ns != 0 ? comparison.base_step_ns : comparison.base_device_ns;
  return AboutEqual(base, base + WholeOf(comparison));
}

bool AboutEqual(int64_t base_ns, int64_t now_ns) {
  return std::abs(static_cast<double>(now_ns - base_ns)) <= kEqual * static_cast<double>(base_ns);
}

double WeightOf(const Change& change) {
  double value = static_cast<double>(std::abs(change.delta_ns));
  if (change.certain) value *= 4;
  // New work is the reason why what is around it was fused otherwise.
  if (change.id == "new" || change.id == "lost") value *= 1.5;
  // These say what the program does; the rows below them follow from it, whatever they took.
  if (IsStructure(change)) value = 4 * std::max(value, 1e4);
  return value;
}

void PutStructureSecond(std::vector<Change>* changes, int64_t whole) {
  if (changes->size() < 3 || IsStructure(changes->front())) return;
  const auto second = changes->begin() + 1;
  auto heaviest = changes->end();
  for (auto change = second; change != changes->end(); ++change) {
    if (!IsStructure(*change) || std::abs(change->delta_ns) * 20 < std::abs(whole)) continue;
    if (heaviest == changes->end() || WeightOf(*change) > WeightOf(*heaviest)) heaviest = change;
  }
  if (heaviest != changes->end()) std::rotate(second, heaviest, heaviest + 1);
}

bool IsStructure(const Change& change) {
  return change.id == "inputs" || change.id == "layers" || change.id == "recompute" ||
         change.id == "graphs";
}

std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison) {
  // What differs between runs that cannot be compared is no change.
  if (!comparison.identity.comparable()) return {};
  return ChangeFinder(base, now, comparison).Find();
}

}  // namespace xlatrace::compare
