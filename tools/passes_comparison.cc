// SPDX-License-Identifier: Apache-2.0
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

constexpr size_t kMaxChangeLines = 12;
constexpr size_t kMaxChangeNames = 8;

struct Section {
  std::string title;
  std::vector<std::string> lines;
};

std::string NamesOf(const HloModule& module, const std::vector<uint32_t>& which, bool all) {
  std::string text;
  const size_t most = all ? which.size() : std::min(which.size(), kMaxChangeNames);
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

// True for launched operations. Instructions inside fusions are excluded. Constants, parameters and
// tuples are excluded, because they are only counted.
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

// The changes of instructions between two dumps, as lines under headings.
class Sections {
 public:
  Sections(const PassesView::Comparison& comparison, bool all)
      : before_(comparison.before), after_(comparison.after), diff_(comparison.diff), all_(all) {
    const Launched launched_after(after_, diff_.container_after);
    for (uint32_t a = 0; a < after_.instructions.size(); ++a) {
      if (launched_after(a)) AddBirth(a);
    }
    const Launched launched_before(before_, diff_.container_before);
    for (uint32_t b = 0; b < before_.instructions.size(); ++b) {
      if (launched_before(b)) {
        AddFate(b);
      } else if (launched_before.IsOutside(b) && diff_.fates[b].kind != Fate::kKept) {
        ++small_;
      }
    }
  }

  // How many of each kind, in a sentence.
  std::string Counts() const {
    std::string text = fmt::format("  {} kept", Thousands(static_cast<int64_t>(kept_)));
    text += fmt::format(", {} fused", Thousands(static_cast<int64_t>(fused_count_)));
    for (const Section* section :
         {&made_, &replaced_, &renamed_, &changed_, &operands_, &copied_, &added_, &removed_}) {
      if (section->lines.empty()) continue;
      text += fmt::format(", {} {}", Thousands(static_cast<int64_t>(section->lines.size())),
                          section->title);
    }
    return text;
  }

  // Constants, parameters and the like that changed, which have no lines.
  size_t small() const { return small_; }

  std::string Text(int width) const {
    std::string out;
    for (const Section* section : {&made_, &fused_, &replaced_, &renamed_, &changed_, &operands_,
                                   &copied_, &added_, &removed_}) {
      AppendSection(*section, section == &operands_ ? kMaxChangeNames / 2 : kMaxChangeLines, width,
                    out);
    }
    return out;
  }

 private:
  // Sorts an instruction of the later dump under what it came from.
  void AddBirth(uint32_t a) {
    const auto& birth = diff_.births[a];
    switch (birth.kind) {
      case Birth::kMade:
        made_.lines.push_back(fmt::format("{} of {}: {}", Described(after_, a), birth.others.size(),
                                          NamesOf(before_, birth.others, all_)));
        break;
      case Birth::kCopied:
        copied_.lines.push_back(
            fmt::format("{} of {}", Described(after_, a), NamesOf(before_, birth.others, all_)));
        break;
      case Birth::kAdded:
        added_.lines.push_back(Described(after_, a));
        break;
      case Birth::kReplaces: {
        // Shown with what it replaces, unless that is still there.
        const bool lives = std::none_of(birth.others.begin(), birth.others.end(), [&](uint32_t b) {
          return diff_.fates[b].kind == Fate::kReplaced;
        });
        if (lives) {
          added_.lines.push_back(fmt::format("{} where {} was used", Described(after_, a),
                                             NamesOf(before_, birth.others, all_)));
        }
        break;
      }
      default:
        break;
    }
  }

  // Sorts an instruction of the earlier dump under what became of it.
  void AddFate(uint32_t b) {
    const auto& fate = diff_.fates[b];
    switch (fate.kind) {
      case Fate::kKept:
        ++kept_;
        break;
      case Fate::kChanged: {
        const std::string text = dumps::ChangeText(before_, before_.instructions[b], after_,
                                                   after_.instructions[fate.others[0]]);
        // That something reads the successor of what it read before follows from the rest.
        (text.starts_with("operand ") ? operands_ : changed_)
            .lines.push_back(fmt::format("{}  {}", before_.instructions[b].name, text));
        break;
      }
      case Fate::kRenamed:
        renamed_.lines.push_back(fmt::format("{} -> {}", before_.instructions[b].name,
                                             NamesOf(after_, fate.others, all_)));
        break;
      case Fate::kFused: {
        ++fused_count_;
        const bool into_old = std::any_of(fate.others.begin(), fate.others.end(), [&](uint32_t a) {
          return diff_.births[a].kind == Birth::kKept || diff_.births[a].kind == Birth::kChanged;
        });
        if (into_old) {
          fused_.lines.push_back(
              fmt::format("{} into {}", Described(before_, b), NamesOf(after_, fate.others, all_)));
        }
        break;
      }
      case Fate::kReplaced:
        replaced_.lines.push_back(fmt::format("{} by {}", Described(before_, b),
                                              fate.others.size() == 1
                                                  ? Described(after_, fate.others[0])
                                                  : NamesOf(after_, fate.others, all_)));
        break;
      case Fate::kRemoved:
        removed_.lines.push_back(Described(before_, b));
        break;
    }
  }

  void AppendSection(const Section& section, size_t limit, int width, std::string& out) const {
    const size_t lines = section.lines.size();
    if (lines == 0) return;
    out += fmt::format("\n{} ({})\n", section.title, lines);
    const size_t most = all_ ? lines : std::min(lines, limit);
    for (size_t i = 0; i < most; ++i) {
      std::string_view start = "  ";
      for (const std::string& line : report::Wrap(Printable(section.lines[i]), width - 6)) {
        out += std::string(start) + line + "\n";
        start = "      ";
      }
    }
    if (most < lines) out += fmt::format("  {} more: --all\n", lines - most);
  }

  const HloModule& before_;
  const HloModule& after_;
  const dumps::ModuleDiff& diff_;
  bool all_;
  Section made_{"made of several", {}};
  Section fused_{"fused into what was there", {}};
  Section replaced_{"replaced", {}};
  Section renamed_{"renamed", {}};
  Section changed_{"changed", {}};
  Section operands_{"reading other operands", {}};
  Section copied_{"copied", {}};
  Section added_{"added", {}};
  Section removed_{"removed", {}};
  size_t fused_count_ = 0;
  size_t kept_ = 0;
  size_t small_ = 0;
};

}  // namespace

std::string ComparisonText(const PassesView& view, bool all, int width) {
  const PassesView::Comparison& comparison = *view.comparison;
  const Sections sections(comparison, all);
  std::string out = fmt::format("{}  ->  {}\n\n", view.steps[comparison.from].Label(),
                                view.steps[comparison.to].Label());
  for (const std::string& line : report::Wrap(sections.Counts(), width - 2)) {
    out += "  " + line + "\n";
  }
  if (sections.small() > 0) {
    out +=
        fmt::format("  and {} constants, parameters, tuples and bitcasts that changed, not shown\n",
                    Thousands(static_cast<int64_t>(sections.small())));
  }
  if (!comparison.diff.complete)
    out += "  the comparison was cut short: these modules have too little in common\n";
  out += sections.Text(width);
  out += "\none instruction's life: --instruction NAME\n";
  return out;
}

}  // namespace xlatrace::tools
