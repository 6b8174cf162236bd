#include "compare/changes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::compare {
namespace {

using model::Phase;
using model::StepPart;

constexpr double kSameCount = 0.005;

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

std::string_view FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
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

class Finder {
 public:
  Finder(const Run& base, const Run& now, const Comparison& comparison)
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
    }
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
    const int64_t ours = PhaseNs(base_, Phase::kRecompute);
    const int64_t theirs = PhaseNs(now_, Phase::kRecompute);
    if ((ours == 0) == (theirs == 0)) return;
    recompute_ = true;
    const Run& with = theirs != 0 ? now_ : base_;
    size_t ops = 0;
    for (const Op& op : with.ops) ops += op.phase == Phase::kRecompute;
    Change change;
    change.id = "recompute";
    change.delta_ns = theirs - ours;
    change.text = theirs != 0
                      ? fmt::format(
                            "recomputation (remat) appeared: {} of the forward pass run again in "
                            "the backward pass",
                            Plural(ops, "operation"))
                      : fmt::format("recomputation (remat) is gone: {} no longer run twice",
                                    Plural(ops, "operation"));
    changes_.push_back(std::move(change));
  }

  // Of whole runs: everything ran so many times as often, because one of them was longer.
  void Repetitions() {
    if (base_.steady && now_.steady) return;
    std::vector<std::pair<double, int64_t>> ratios;
    int64_t all = 0;
    for (const Row& row : comparison_.rows) {
      if (row.base_calls <= 0 || row.now_calls <= 0) continue;
      ratios.emplace_back(row.now_calls / row.base_calls, row.base_ns + row.now_ns);
      all += ratios.back().second;
    }
    if (ratios.size() < 8) return;
    std::sort(ratios.begin(), ratios.end());
    int64_t below = 0;
    double middle = 1;
    for (const auto& [ratio, ns] : ratios) {
      below += ns;
      if (2 * below >= all) {
        middle = ratio;
        break;
      }
    }
    int64_t near = 0;
    for (const auto& [ratio, ns] : ratios) {
      if (std::abs(ratio - middle) <= 0.08 * middle) near += ns;
    }
    if (std::abs(middle - 1) < 0.01 || static_cast<double>(near) < 0.8 * static_cast<double>(all)) {
      return;
    }
    repeated_ = middle;
    Change change;
    change.id = "repetitions";
    for (size_t r = 0; r < comparison_.rows.size(); ++r) {
      if (!IsRepetition(comparison_.rows[r])) continue;
      change.rows.push_back(r);
      change.delta_ns += comparison_.rows[r].delta();
    }
    int64_t before = 0, after = 0;
    for (const size_t r : change.rows) {
      before += comparison_.rows[r].base_ns;
      after += comparison_.rows[r].now_ns;
    }
    change.text = fmt::format(
        "everything ran about {:.2f} times as often: another number of steps was recorded; per "
        "execution the same work takes {:.2f} times as long",
        middle,
        before == 0 ? 1 : static_cast<double>(after) / static_cast<double>(before) / middle);
    changes_.push_back(std::move(change));
  }

  bool IsRepetition(const Row& row) const {
    return repeated_ > 0 && row.base_calls > 0 && row.now_calls > 0 && !row.causes.empty() &&
           row.causes.front().kind == CauseKind::kExecutions &&
           std::abs(row.now_calls / row.base_calls - repeated_) <= 0.08 * repeated_;
  }

  // Changes of one kind in one place are told together.
  void Rows() {
    std::map<std::string, Change> groups;
    struct Seen {
      int64_t largest = -1;
      std::string text;
      std::set<std::string> wheres;
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
            key += '\n' + op->op_name;
          }
      }
      Change& change = groups[key];
      change.id = Text(cause.kind);
      change.delta_ns += row.delta();
      change.certain = cause.certain;
      change.rows.push_back(r);
      Seen& told = seen[key];
      told.wheres.insert(WhereOf(*op));
      if (std::abs(row.delta()) > told.largest) {
        told.largest = std::abs(row.delta());
        told.text = Told(*op, cause);
        change.where = WhereOf(*op);
      }
    }
    for (auto& [key, change] : groups) {
      const Seen& told = seen[key];
      change.text = told.text;
      if (change.rows.size() > 1) {
        change.text += fmt::format(" (and {} alike)", change.rows.size() - 1);
      }
      changes_.push_back(std::move(change));
    }
  }

  static std::string Told(const Op& op, const Cause& cause) {
    const std::string name = NameOf(op);
    return name.empty() ? cause.text : name + ": " + cause.text;
  }

  static std::string NameOf(const Op& op) {
    if (op.instruction.empty()) {
      return op.kernels.empty() || op.kernels[0].name.empty() ? std::string(op.reason)
                                                              : op.kernels[0].name;
    }
    const size_t slash = op.op_name.rfind('/');
    const std::string leaf = slash == std::string::npos ? op.op_name : op.op_name.substr(slash + 1);
    std::string text = op.layer.empty() ? leaf : op.layer;
    if (op.phase != Phase::kUnknown && op.phase != Phase::kOther && !text.empty()) {
      text += fmt::format(" {}", model::Text(op.phase));
    }
    return text.empty() ? op.instruction : fmt::format("{} ({})", text, op.instruction);
  }

  static std::string WhereOf(const Op& op) {
    if (op.source_file.empty()) return {};
    return op.source_line ? fmt::format("{}:{}", FileName(op.source_file), *op.source_line)
                          : std::string(FileName(op.source_file));
  }

  void Graphs() {
    if (!base_.graph_share || !now_.graph_share) return;
    const double a = *base_.graph_share;
    const double b = *now_.graph_share;
    if (std::abs(a - b) < 0.05) return;
    Change change;
    change.id = "graphs";
    change.wall = true;
    change.delta_ns = Part(now_, StepPart::kIdle) - Part(base_, StepPart::kIdle);
    const std::string_view what = b == 0   ? "CUDA graphs are gone"
                                  : a == 0 ? "CUDA graphs appeared"
                                  : b < a  ? "fewer launches are in CUDA graphs"
                                           : "more launches are in CUDA graphs";
    change.text = fmt::format("{}: {} % of the launches were in one, now {} %", what,
                              a == 0 ? "0" : Percent(a, 1), b == 0 ? "0" : Percent(b, 1));
    if (base_.host_calls && now_.host_calls) {
      change.text += fmt::format(", {} host calls a step instead of {}",
                                 Significant(*now_.host_calls), Significant(*base_.host_calls));
    }
    graphs_ = true;
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
      std::string why;
      int64_t largest = 0;
      for (const Gap& gap : now_.gaps) {
        int64_t before = 0;
        for (const Gap& other : base_.gaps) {
          if (other.cause == gap.cause) before = other.ns;
        }
        if (gap.ns - before > largest) {
          largest = gap.ns - before;
          why = gap.cause;
        }
      }
      const bool more = Part(now_, StepPart::kIdle) > Part(base_, StepPart::kIdle);
      const std::string cause = more && !why.empty() && why != "unknown"
                                    ? fmt::format(", mostly gaps of cause '{}'", why)
                                    : std::string();
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
    std::vector<std::pair<double, int64_t>> ratios;
    int64_t all = 0;
    int64_t delta = 0;
    std::vector<size_t> rows;
    for (size_t r = 0; r < comparison_.rows.size(); ++r) {
      const Row& row = comparison_.rows[r];
      if (row.base_ns <= 0 || row.now_ns <= 0) continue;
      if (!row.causes.empty() && row.causes.front().kind != CauseKind::kTime) continue;
      ratios.emplace_back(static_cast<double>(row.now_ns) / static_cast<double>(row.base_ns),
                          row.base_ns);
      all += row.base_ns;
      delta += row.delta();
      rows.push_back(r);
    }
    if (ratios.size() < 8) return;
    std::sort(ratios.begin(), ratios.end());
    int64_t below = 0;
    double middle = 1;
    for (const auto& [ratio, ns] : ratios) {
      below += ns;
      if (2 * below >= all) {
        middle = ratio;
        break;
      }
    }
    int64_t near = 0;
    for (const auto& [ratio, ns] : ratios) {
      if (std::abs(ratio - middle) <= 0.03 * middle) near += ns;
    }
    if (std::abs(middle - 1) < 0.02 || static_cast<double>(near) < 0.8 * static_cast<double>(all)) {
      return;
    }
    const double factor = middle > 1 ? middle : 1 / middle;
    Change change;
    change.id = "uniform";
    change.certain = false;
    change.delta_ns = delta;
    change.rows = std::move(rows);
    change.text = fmt::format(
        "everything is {} by about {:.2f}x at equal work: clocks, power or other load, none of "
        "which was recorded",
        middle > 1 ? "slower" : "faster", factor);
    std::erase_if(changes_, [](const Change& other) { return other.id == "time"; });
    changes_.push_back(std::move(change));
  }

  // What explains most comes first. Certain changes weigh more: measured times move by themselves,
  // a program does not. What goes the other way than the whole comes behind.
  void Sort() {
    const int64_t whole = comparison_.now_step_ns != comparison_.base_step_ns
                              ? comparison_.now_step_ns - comparison_.base_step_ns
                              : comparison_.delta();
    const auto weight = [&](const Change& change) {
      double value = static_cast<double>(std::abs(change.delta_ns));
      if (change.certain) value *= 4;
      // These say what the program does; the rows below them follow from it.
      if (change.id == "inputs" || change.id == "layers" || change.id == "recompute" ||
          change.id == "graphs")
        value *= 4;
      if ((change.delta_ns > 0) != (whole > 0) && !change.certain) value /= 4;
      return value;
    };
    std::stable_sort(changes_.begin(), changes_.end(),
                     [&](const Change& a, const Change& b) { return weight(a) > weight(b); });
  }

  const Run& base_;
  const Run& now_;
  const Comparison& comparison_;
  std::vector<Change> changes_;
  std::set<std::string> layers_;
  bool recompute_ = false;
  bool graphs_ = false;
  double repeated_ = 0;
};

}  // namespace

std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison) {
  return Finder(base, now, comparison).Find();
}

}  // namespace xlatrace::compare
