// SPDX-License-Identifier: Apache-2.0
#include "tools/passes_output.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/shell_word.h"
#include "hlo/module_summary.h"
#include "report/text_table.h"
#include "tools/dump_text.h"
#include "tools/passes_comparison.h"

namespace xlatrace::tools {
namespace {

constexpr size_t kMaxDeltas = 4;
constexpr size_t kMaxNotes = 12;

using OpcodeCounts = std::map<std::string, int64_t, std::less<>>;

// ---- timeline

struct Totals {
  OpcodeCounts before;
  OpcodeCounts after;
  int64_t delta = 0;  // Change of the number of instructions.
  size_t changed = 0;
  bool attributes_only = true;
  std::string error;
};

void Add(const OpcodeCounts& from, OpcodeCounts& to) {
  for (const auto& [opcode, count] : from) to[opcode] += count;
}

class Timeline {
 public:
  Timeline(const PassesView& view, bool all, int width)
      : view_(view),
        all_(all),
        pass_width_(std::clamp(width - 60, 26, 48)),
        change_width_(std::max(width - 28 - pass_width_, 20)),
        table_({{.heading = "dump", .right = true},
                {.heading = "pass", .at_most = pass_width_},
                {.heading = "instrs", .right = true},
                {.heading = "ops", .right = true},
                {.heading = "", .right = true},
                {.heading = "operations outside of fusions", .flexible = true}}) {}

  std::vector<std::string> Lines(int width) {
    const std::vector<dumps::PassNode> nodes = dumps::FoldPasses(view_.steps);
    AddNodes(nodes, 0);
    return table_.Lines(width, false);
  }

 private:
  bool Changed(size_t step) const {
    if (step == 0) return false;
    return !view_.counts[step].error.empty() ||
           view_.counts[step].text_hash != view_.counts[step - 1].text_hash;
  }

  Totals TotalsOf(const std::vector<size_t>& steps) const {
    Totals totals;
    for (const size_t step : steps) {
      if (!Changed(step)) continue;
      ++totals.changed;
      const dumps::StepCounts& before = view_.counts[step - 1];
      const dumps::StepCounts& after = view_.counts[step];
      if (!after.error.empty()) totals.error = after.error;
      if (!after.error.empty() || !before.error.empty()) continue;
      if (after.content_hash != before.content_hash) totals.attributes_only = false;
      totals.delta += after.instructions - before.instructions;
      Add(before.opcodes, totals.before);
      Add(after.opcodes, totals.after);
    }
    return totals;
  }

  bool AnyChanged(const dumps::PassNode& node) const {
    if (std::any_of(node.steps.begin(), node.steps.end(), [&](size_t s) { return Changed(s); })) {
      return true;
    }
    return std::any_of(node.children.begin(), node.children.end(),
                       [&](const dumps::PassNode& child) { return AnyChanged(child); });
  }

  static void CollectSteps(const dumps::PassNode& node, std::vector<size_t>& steps) {
    steps.insert(steps.end(), node.steps.begin(), node.steps.end());
    for (const dumps::PassNode& child : node.children) CollectSteps(child, steps);
  }

  std::string Numbers(const std::vector<size_t>& steps) const {
    int32_t first = -1;
    int32_t last = -1;
    for (const size_t step : steps) {
      const int32_t number = view_.steps[step].number;
      if (number < 0) continue;
      if (first < 0 || number < first) first = number;
      last = std::max(last, number);
    }
    if (first < 0) return "";
    return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }

  void AddNodes(const std::vector<dumps::PassNode>& nodes, int depth) {
    std::vector<const dumps::PassNode*> quiet;
    for (const dumps::PassNode& node : nodes) {
      if (!all_ && node.name != "before_optimizations" && node.name != "after_optimizations" &&
          !AnyChanged(node)) {
        quiet.push_back(&node);
        continue;
      }
      Flush(quiet, depth);
      AddNode(node, depth);
    }
    Flush(quiet, depth);
  }

  // Passes and pipelines in a row that changed nothing.
  void Flush(std::vector<const dumps::PassNode*>& quiet, int depth) {
    if (quiet.empty()) return;
    std::vector<size_t> steps;
    std::string names;
    for (const dumps::PassNode* node : quiet) {
      CollectSteps(*node, steps);
      names += (names.empty() ? "" : ", ") + node->name;
    }
    // Names that do not fit are no loss: --all has each on a line.
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    const bool fits = static_cast<int>(indent.size() + names.size()) <= pass_width_;
    table_.Add({Numbers(steps), indent + (fits ? names : fmt::format("({} more)", quiet.size())),
                "", "", "", "unchanged"});
    quiet.clear();
  }

  void AddNode(const dumps::PassNode& node, int depth) {
    std::string name = std::string(static_cast<size_t>(depth) * 2, ' ');
    if (node.is_group) {
      std::vector<size_t> steps;
      CollectSteps(node, steps);
      name += node.name.empty() ? "(repeated)" : node.name;
      if (node.rounds > 1) name += fmt::format("  x{}", node.rounds);
      const Totals starts = TotalsOf(node.steps);
      table_.Add({Numbers(steps), name, "", "", "",
                  starts.changed > 0 ? "changed since the last dump" : ""});
      AddNodes(node.children, depth + 1);
      return;
    }
    name += node.name;
    if (node.steps.size() > 1) name += fmt::format("  x{}", node.steps.size());
    const Totals totals = TotalsOf(node.steps);
    const dumps::StepCounts& last = view_.counts[node.steps.back()];
    std::string change;
    if (!totals.error.empty() || !last.error.empty()) {
      change = "cannot be read: " + (last.error.empty() ? totals.error : last.error);
    } else if (view_.steps[node.steps.front()].number < 0 && node.steps.front() == 0) {
      change = hlo::OpcodeText(last.opcodes, 1);
    } else if (totals.changed == 0) {
      change = "unchanged";
    } else if (totals.attributes_only) {
      change = "attributes or order only";
    } else {
      change = dumps::DeltaText(totals.before, totals.after, SIZE_MAX);
      for (size_t most = kMaxDeltas; !all_ && most > 0 && DisplayWidth(change) > change_width_;
           --most) {
        change = dumps::DeltaText(totals.before, totals.after, most);
      }
      if (change.empty()) {
        change = totals.delta != 0 ? "inside fusions, calls" : "names, shapes or operands";
      }
    }
    table_.Add({Numbers(node.steps), name, last.error.empty() ? Thousands(last.instructions) : "?",
                last.error.empty() ? Thousands(last.operations) : "?",
                totals.changed > 0 && totals.delta != 0 ? fmt::format("{:+}", totals.delta) : "",
                change});
  }

  const PassesView& view_;
  const bool all_;
  const int pass_width_;
  const int change_width_;
  report::TextTable table_;
};

std::string Heading(const PassesView& view) {
  return Printable(view.path) + "  " + Printable(view.module_name) +
         (view.program_id >= 0 ? fmt::format(" ({})", view.program_id) : "");
}

std::string TimelineText(const PassesView& view, bool all, int width) {
  size_t changed = 0;
  size_t passes = 0;
  size_t starts = 0;
  for (size_t i = 0; i < view.steps.size(); ++i) {
    if (view.steps[i].number < 0) continue;
    if (view.steps[i].is_start()) {
      ++starts;
      continue;
    }
    ++passes;
    if (i > 0 && view.counts[i].text_hash != view.counts[i - 1].text_hash) ++changed;
  }
  std::string out = Heading(view) + "\n";
  out +=
      fmt::format("{} after passes, {} of them changed the module; {} at the start of a pipeline\n",
                  Count(static_cast<int64_t>(passes), "dump"), changed, starts);
  if (starts > 0 && changed == passes) {
    out += "Passes that changed nothing have no dump.\n";
  }
  out += "\n";
  Timeline timeline(view, all, width);
  for (const std::string& line : timeline.Lines(width)) out += line + "\n";
  out += fmt::format("\nwhat a pass did: xlatrace passes {} {} --from N --to PASS\n",
                     Printable(ShellWord(view.path)),
                     view.program_id >= 0 ? std::to_string(view.program_id)
                                          : ShellText(Printable(view.module_name)));
  return out;
}

// ---- history

std::string StepText(const PassesView& view, size_t step) {
  const dumps::PassStep& at = view.steps[step];
  if (at.number < 0) return at.pass;
  if (at.is_start()) return fmt::format("before {} (dump {})", at.pipeline, at.number);
  return fmt::format("{} (dump {})", at.Label(), at.number);
}

std::string Place(const dumps::InstructionNote& note) {
  std::string text = note.op_name;
  if (!note.source_file.empty()) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : "  ", BaseName(note.source_file),
                        note.source_line);
  }
  return text;
}

std::string Names(const std::vector<dumps::InstructionNote>& notes, bool all) {
  std::string text;
  const size_t most = all ? notes.size() : std::min(notes.size(), kMaxNotes);
  for (size_t i = 0; i < most; ++i) {
    text += (i == 0 ? "" : ", ") + notes[i].name;
    if (!notes[i].inside.empty()) text += " of " + notes[i].inside;
  }
  if (most < notes.size()) text += fmt::format(" and {} more: --all", notes.size() - most);
  return text;
}

std::string EventText(const PassesView& view, const dumps::HistoryEvent& event, bool all) {
  using Kind = dumps::HistoryEvent::Kind;
  const std::string where = StepText(view, event.step);
  const std::string& name = event.instruction.name;
  const std::string others = Names(event.others, all);
  switch (event.kind) {
    case Kind::kFirst:
      return fmt::format("{}: {} is there", where, name);
    case Kind::kMade:
      return fmt::format("{}: {} was made from {} {}: {}", where, name,
                         event.others.size() == 1 ? "this" : "these",
                         event.others.size() == 1 ? "one" : std::to_string(event.others.size()),
                         others);
    case Kind::kAdded:
      return fmt::format("{}: {} was added", where, name);
    case Kind::kReplaces:
      return fmt::format("{}: {} replaced {}", where, name, others);
    case Kind::kCopied:
      return fmt::format("{}: {} was copied from {}", where, name, others);
    case Kind::kChanged:
      return fmt::format("{}: {} changed: {}", where, name, event.text);
    case Kind::kRenamed:
      return fmt::format("{}: {} was renamed to {}", where, others, name);
    case Kind::kFused:
      return fmt::format("{}: {} was fused into {}", where, name, others);
    case Kind::kReplaced:
      return fmt::format("{}: {} was replaced by {}", where, name, others);
    case Kind::kRemoved:
      return fmt::format("{}: {} was removed; nothing takes its place", where, name);
    case Kind::kLast:
      return fmt::format("{}: {} is there", where, name);
  }
  return where;
}

std::string HistoryText(const PassesView& view, bool all, int width) {
  std::string out = Heading(view) + "\n\n";
  const dumps::InstructionHistory& history = *view.history;
  const dumps::InstructionNote* shown = nullptr;
  for (const dumps::HistoryEvent& event : history.events) {
    if (event.instruction.name == view.instruction) shown = &event.instruction;
  }
  if (shown != nullptr) {
    out += Printable(fmt::format("{} = {} {}", shown->name, hlo::WithoutLayout(shown->shape),
                                 shown->opcode)) +
           "\n";
    for (const std::string& line : report::Wrap(Printable(Place(*shown)), width - 2))
      out += "  " + line + "\n";
    out += "\n";
  }
  size_t operands_only = 0;
  for (const dumps::HistoryEvent& event : history.events) {
    if (!all && event.text.starts_with("operand ")) {
      ++operands_only;
      continue;
    }
    std::string_view start = "  ";
    for (const std::string& line :
         report::Wrap(Printable(EventText(view, event, all)), width - 6)) {
      out += std::string(start) + line + "\n";
      start = "      ";
    }
  }
  if (operands_only > 0) {
    out += fmt::format("  {} only in what it reads: --all\n",
                       Count(static_cast<int64_t>(operands_only), "change"));
  }
  if (!history.origins.empty()) {
    out += fmt::format("\ncomes from {} of {}\n",
                       Count(static_cast<int64_t>(history.origins.size()), "operation"),
                       StepText(view, history.origins_step));
    report::TextTable table({{.heading = "instruction", .at_most = width / 3},
                             {.heading = "opcode"},
                             {.heading = "shape", .at_most = width / 4},
                             {.heading = "source", .at_most = 30},
                             {.heading = "op_name", .path = true, .flexible = true}});
    const size_t most = all ? history.origins.size() : std::min<size_t>(history.origins.size(), 20);
    for (size_t i = 0; i < most; ++i) {
      const dumps::InstructionNote& note = history.origins[i];
      table.Add({note.name, note.opcode, hlo::WithoutLayout(note.shape),
                 note.source_file.empty()
                     ? ""
                     : fmt::format("{}:{}", BaseName(note.source_file), note.source_line),
                 note.op_name});
    }
    for (const std::string& line : table.Lines(width - 2, false)) out += "  " + line + "\n";
    if (most < history.origins.size()) {
      out += fmt::format("  {} more: --all\n", history.origins.size() - most);
    }
  }
  for (const std::string& warning : history.warnings)
    out += "\nwarning: " + Printable(warning) + "\n";
  return out;
}

}  // namespace

std::string PassesText(const PassesView& view, bool all, const Terminal& terminal) {
  if (view.history) return HistoryText(view, all, terminal.width);
  if (view.comparison) return Heading(view) + "\n" + ComparisonText(view, all, terminal.width);
  return TimelineText(view, all, terminal.width);
}

}  // namespace xlatrace::tools
