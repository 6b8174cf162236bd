#include "tools/passes_comparison.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "hlo/module_summary.h"
#include "report/text_table.h"
#include "tools/dump_text.h"

namespace xlatrace::tools {
namespace {

using dumps::Birth;
using dumps::Fate;
using model::HloModule;

constexpr size_t kMostLines = 12;
constexpr size_t kMostNames = 8;

struct Section {
  std::string title;
  std::vector<std::string> lines;
};

std::string NamesOf(const HloModule& module, const std::vector<uint32_t>& which, bool all) {
  std::string text;
  const size_t most = all ? which.size() : std::min(which.size(), kMostNames);
  for (size_t i = 0; i < most; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(module.instructions[which[i]].name);
  }
  if (most < which.size()) text += fmt::format(" and {} more", which.size() - most);
  return text;
}

std::string Described(const HloModule& module, uint32_t i) {
  const model::Instruction& instruction = module.instructions[i];
  return fmt::format("{} = {} {}", instruction.name, hlo::WithoutLayout(instruction.shape),
                     instruction.opcode);
}

// What is launched: not what is inside of fusions, and no constants, parameters, tuples and the
// like, which say little and are only counted.
class Launched {
 public:
  Launched(const HloModule& module, const std::vector<uint32_t>& containers)
      : module_(module), containers_(containers), inlined_(hlo::InlinedComputations(module)) {}

  bool IsOutside(uint32_t i) const {
    return containers_[i] == i && !inlined_[module_.instructions[i].computation];
  }
  bool operator()(uint32_t i) const {
    return IsOutside(i) && hlo::IsOperation(module_.instructions[i].opcode);
  }

 private:
  const HloModule& module_;
  const std::vector<uint32_t>& containers_;
  std::vector<bool> inlined_;
};

}  // namespace

std::string ComparisonText(const PassesView& view, bool all, int width) {
  const PassesView::Comparison& comparison = *view.comparison;
  const HloModule& before = comparison.before;
  const HloModule& after = comparison.after;
  const dumps::ModuleDiff& diff = comparison.diff;
  Section made{"made of several", {}};
  Section fused{"fused into what was there", {}};
  Section replaced{"replaced", {}};
  Section renamed{"renamed", {}};
  Section changed{"changed", {}};
  Section operands{"reading other operands", {}};
  Section copied{"copied", {}};
  Section added{"added", {}};
  Section removed{"removed", {}};
  const Launched launched_before(before, diff.container_before);
  const Launched launched_after(after, diff.container_after);
  size_t fused_count = 0;
  size_t kept = 0;
  size_t small = 0;
  for (uint32_t a = 0; a < after.instructions.size(); ++a) {
    const auto& birth = diff.births[a];
    if (!launched_after(a)) continue;
    switch (birth.kind) {
      case Birth::kMade:
        made.lines.push_back(fmt::format("{} of {}: {}", Described(after, a), birth.others.size(),
                                         NamesOf(before, birth.others, all)));
        break;
      case Birth::kCopied:
        copied.lines.push_back(
            fmt::format("{} of {}", Described(after, a), NamesOf(before, birth.others, all)));
        break;
      case Birth::kAdded:
        added.lines.push_back(Described(after, a));
        break;
      case Birth::kReplaces: {
        // Shown with what it replaces, unless that is still there.
        const bool lives = std::none_of(birth.others.begin(), birth.others.end(), [&](uint32_t b) {
          return diff.fates[b].kind == Fate::kReplaced;
        });
        if (lives) {
          added.lines.push_back(fmt::format("{} where {} was used", Described(after, a),
                                            NamesOf(before, birth.others, all)));
        }
        break;
      }
      default:
        break;
    }
  }
  for (uint32_t b = 0; b < before.instructions.size(); ++b) {
    const auto& fate = diff.fates[b];
    if (!launched_before(b)) {
      if (launched_before.IsOutside(b) && fate.kind != Fate::kKept) ++small;
      continue;
    }
    switch (fate.kind) {
      case Fate::kKept:
        ++kept;
        break;
      case Fate::kChanged: {
        const std::string text = dumps::ChangeText(before, before.instructions[b], after,
                                                   after.instructions[fate.others[0]]);
        // That something reads the successor of what it read before follows from the rest.
        (text.starts_with("operand ") ? operands : changed)
            .lines.push_back(fmt::format("{}  {}", before.instructions[b].name, text));
        break;
      }
      case Fate::kRenamed:
        renamed.lines.push_back(
            fmt::format("{} -> {}", before.instructions[b].name, NamesOf(after, fate.others, all)));
        break;
      case Fate::kFused: {
        ++fused_count;
        const bool into_old = std::any_of(fate.others.begin(), fate.others.end(), [&](uint32_t a) {
          return diff.births[a].kind == Birth::kKept || diff.births[a].kind == Birth::kChanged;
        });
        if (into_old) {
          fused.lines.push_back(
              fmt::format("{} into {}", Described(before, b), NamesOf(after, fate.others, all)));
        }
        break;
      }
      case Fate::kReplaced:
        replaced.lines.push_back(fmt::format("{} by {}", Described(before, b),
                                             fate.others.size() == 1
                                                 ? Described(after, fate.others[0])
                                                 : NamesOf(after, fate.others, all)));
        break;
      case Fate::kRemoved:
        removed.lines.push_back(Described(before, b));
        break;
    }
  }
  std::string out = fmt::format("{}  ->  {}\n\n", view.steps[comparison.from].Label(),
                                view.steps[comparison.to].Label());
  std::string summary = fmt::format("  {} kept", Thousands(static_cast<int64_t>(kept)));
  summary += fmt::format(", {} fused", Thousands(static_cast<int64_t>(fused_count)));
  for (const Section* section :
       {&made, &replaced, &renamed, &changed, &operands, &copied, &added, &removed}) {
    if (section->lines.empty()) continue;
    summary += fmt::format(", {} {}", Thousands(static_cast<int64_t>(section->lines.size())),
                           section->title);
  }
  for (const std::string& line : report::Wrap(summary, width - 2)) out += "  " + line + "\n";
  if (small > 0) {
    out +=
        fmt::format("  and {} constants, parameters, tuples and bitcasts that changed, not shown\n",
                    Thousands(static_cast<int64_t>(small)));
  }
  if (!diff.complete)
    out += "  the comparison was cut short: these modules have too little in common\n";
  for (const Section* section :
       {&made, &fused, &replaced, &renamed, &changed, &operands, &copied, &added, &removed}) {
    if (section->lines.empty()) continue;
    out += fmt::format("\n{} ({})\n", section->title, section->lines.size());
    const size_t limit = section == &operands ? kMostNames / 2 : kMostLines;
    const size_t most = all ? section->lines.size() : std::min(section->lines.size(), limit);
    for (size_t i = 0; i < most; ++i) {
      std::string_view start = "  ";
      for (const std::string& line : report::Wrap(Printable(section->lines[i]), width - 6)) {
        out += std::string(start) + line + "\n";
        start = "      ";
      }
    }
    if (most < section->lines.size()) {
      out += fmt::format("  {} more: --all\n", section->lines.size() - most);
    }
  }
  out += "\none instruction's life: --instruction NAME\n";
  return out;
}

}  // namespace xlatrace::tools
