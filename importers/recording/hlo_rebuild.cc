// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/hlo_rebuild.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hlo/text/hlo_line.h"
#include "importers/recording/stack_frames.h"

namespace xlatrace::importers {
namespace {

using hlo::HloLine;
using std::string_view;

constexpr uint32_t kNoComputationIndex = UINT32_MAX;

struct RebuiltLine {
  string_view text;  // Without indentation.
  HloLine parsed;
  bool is_root = false;
};

struct Computation {
  string_view name;
  std::vector<RebuiltLine> lines;
  bool cut = false;  // Its text ended before its end.
};

class Rebuild {
 public:
  Rebuild(const RegisteredModule& module, const InstructionOrder& order)
      : module_(module), order_(order), frames_(module.common_stack) {}

  RebuiltModule Run() {
    for (const RegisteredInstruction& instruction : module_.instructions) {
      ReadCalled(instruction.called);
    }
    ReadInstructions();
    CompleteCut();
    CollectFrames();
    SortEntry();
    Write();
    return std::move(result_);
  }

 private:
  // A registered instruction with its own line.
  struct Own {
    const RegisteredInstruction* from;
    RebuiltLine line;
    uint32_t computation =
        kNoComputationIndex;  // Index of a called one; kNoComputationIndex: the entry.
  };

  void ReadCalled(string_view text) {
    if (text.ends_with(hlo::kCutMark)) text.remove_suffix(hlo::kCutMark.size());
    Computation now;
    bool inside = false;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const bool whole = end != string_view::npos;
      const string_view line = text.substr(0, end);
      text.remove_prefix(whole ? end + 1 : text.size());
      if (!inside) {
        if (!line.ends_with('{') || line.starts_with(' ') || line.starts_with('}')) continue;
        string_view name = line.substr(0, line.find_first_of(" ("));
        if (name.starts_with('%')) name.remove_prefix(1);
        if (name.empty()) continue;
        now = {.name = name};
        inside = true;
      } else if (line.starts_with('}')) {
        Keep(std::move(now));
        inside = false;
      } else if (whole) {  // A line that is cut inside is useless.
        AddLine(line, &now);
      }
    }
    if (inside) {
      now.cut = true;
      Keep(std::move(now));
    }
  }

  static void AddLine(string_view text, Computation* to) {
    RebuiltLine line;
    const size_t start = text.find_first_not_of(' ');
    if (start == string_view::npos) return;
    line.text = text.substr(start);
    line.is_root = line.text.starts_with("ROOT ");
    if (line.is_root) line.text.remove_prefix(5);
    if (hlo::ParseHloLine(line.text, &line.parsed)) {
      to->lines.push_back(std::move(line));
    } else if (!to->lines.empty()) {
      // A literal over several lines: back into the line it belongs to.
      const char* const begin = to->lines.back().text.data();
      to->lines.back().text =
          string_view(begin, static_cast<size_t>(line.text.data() + line.text.size() - begin));
    }
  }

  void Keep(Computation computation) {
    if (computation.lines.empty()) return;  // Cut right after its name: treated as absent.
    const auto [it, fresh] =
        by_name_.try_emplace(computation.name, static_cast<uint32_t>(computations_.size()));
    if (fresh) {
      computations_.push_back(std::move(computation));
    } else if (computations_[it->second].cut && !computation.cut) {
      computations_[it->second] = std::move(computation);
    }
  }

  void ReadInstructions() {
    for (uint32_t i = 0; i < computations_.size(); ++i) {
      for (const RebuiltLine& line : computations_[i].lines)
        member_of_.try_emplace(line.parsed.name, i);
    }
    for (const RegisteredInstruction& instruction : module_.instructions) {
      if (!own_by_name_.try_emplace(instruction.name, static_cast<uint32_t>(own_.size())).second) {
        continue;
      }
      Own own{.from = &instruction, .line = {.text = instruction.line}};
      if (instruction.line.ends_with(hlo::kCutMark) ||
          !hlo::ParseHloLine(instruction.line, &own.line.parsed)) {
        own.line.text = repaired_.emplace_back(hlo::RepairedHloLine(instruction.line));
        if (!hlo::ParseHloLine(own.line.text, &own.line.parsed)) own.line.parsed.name = {};
      }
      const auto member = member_of_.find(instruction.name);
      if (member != member_of_.end()) own.computation = member->second;
      own_.push_back(std::move(own));
    }
  }

  // No text contains the instructions behind a cut. Data flow groups them, and their operands and
  // users decide which computation each group belongs to.
  void CompleteCut() {
    std::vector<uint32_t> cut;
    for (uint32_t i = 0; i < computations_.size(); ++i) {
      if (computations_[i].cut) cut.push_back(i);
    }
    const std::vector<Missing> missing = MissingCallees();
    if (cut.empty() && missing.empty()) return;
    JoinByDataFlow();
    for (const uint32_t c : cut) {
      const uint32_t mine = Find(static_cast<uint32_t>(own_.size()) + c);
      for (uint32_t i = 0; i < own_.size(); ++i) {
        if (IsLeft(i) && Find(i) == mine) Give(i, c);
      }
      SortByNeed(&computations_[c].lines);
      MarkRoot(&computations_[c].lines);
    }
    if (!missing.empty()) NameLeftGroups(missing);
    result_.completed = static_cast<int64_t>(cut.size());
  }

  bool IsLeft(uint32_t own) const {
    return own_[own].computation == kNoComputationIndex && !own_[own].line.parsed.name.empty();
  }
  void Give(uint32_t own, uint32_t computation) {
    own_[own].computation = computation;
    computations_[computation].lines.push_back(own_[own].line);
  }

  // A called computation without text, for example the one behind a cut body.
  struct Missing {
    string_view name;
    HloLine::Role role;
    string_view parameter_shape;  // Shape of its first parameter; empty: unknown.
    string_view root_shape;       // Shape of its root; empty: unknown.
  };
  std::vector<Missing> MissingCallees() const {
    std::vector<Missing> missing;
    std::unordered_map<string_view, bool> seen;
    for (const Own& own : own_) {
      const HloLine& caller = own.line.parsed;
      for (const HloLine::Callee& callee : caller.callees) {
        if (by_name_.contains(callee.name) || !seen.try_emplace(callee.name, true).second) continue;
        Missing now{callee.name, callee.role, {}, {}};
        switch (callee.role) {
          case HloLine::Role::kBody:
            now.parameter_shape = now.root_shape = caller.shape;
            break;
          case HloLine::Role::kCondition:
            now.parameter_shape = caller.shape;
            now.root_shape = "pred[]";
            break;
          case HloLine::Role::kBranch:
            now.parameter_shape = OperandShape(caller, callee.branch + 1);
            now.root_shape = caller.shape;
            break;
          case HloLine::Role::kOther:
            if (caller.opcode != "fusion" && caller.opcode != "call") break;
            now.parameter_shape = OperandShape(caller, 0);
            now.root_shape = caller.shape;
            break;
        }
        missing.push_back(now);
      }
    }
    // Conditions are identified with certainty, so they are matched first.
    std::stable_partition(missing.begin(), missing.end(),
                          [](const Missing& m) { return m.role == HloLine::Role::kCondition; });
    return missing;
  }
  string_view OperandShape(const HloLine& line, size_t operand) const {
    if (operand >= line.needs.size()) return {};
    const auto own = own_by_name_.find(line.needs[operand]);
    return own == own_by_name_.end() ? string_view() : own_[own->second].line.parsed.shape;
  }

  // Union-find over own instructions, then computations.
  uint32_t Find(uint32_t x) {
    while (group_[x] != x) x = group_[x] = group_[group_[x]];
    return x;
  }
  void JoinByDataFlow() {
    group_.resize(own_.size() + computations_.size());
    std::iota(group_.begin(), group_.end(), 0);
    const auto place = [&](uint32_t index) {
      return own_[index].computation == kNoComputationIndex
                 ? index
                 : static_cast<uint32_t>(own_.size()) + own_[index].computation;
    };
    for (uint32_t i = 0; i < own_.size(); ++i) {
      for (const string_view need : own_[i].line.parsed.needs) {
        const auto other = own_by_name_.find(need);
        if (other != own_by_name_.end()) group_[Find(place(i))] = Find(place(other->second));
      }
    }
  }

  // Instructions of no text that data flow joins.
  struct Group {
    std::vector<uint32_t> members;
    string_view parameter_shape;  // Shape of parameter 0.
    string_view last_shape;
    bool takes_parameters = false;
  };

  // Groups with parameters of their own, except the entry (the largest), are the missing
  // computations. Shapes of parameters and results match groups to names; else the order does.
  void NameLeftGroups(const std::vector<Missing>& missing) {
    std::map<uint32_t, size_t> index_of;
    std::vector<Group> groups;  // By first registration.
    for (uint32_t i = 0; i < own_.size(); ++i) {
      if (!IsLeft(i)) continue;
      const auto [it, fresh] = index_of.try_emplace(Find(i), groups.size());
      if (fresh) groups.emplace_back();
      Group& group = groups[it->second];
      const HloLine& parsed = own_[i].line.parsed;
      group.members.push_back(i);
      group.last_shape = parsed.shape;
      if (parsed.opcode != "parameter") continue;
      if (ParameterNumber(own_[i].line) == "0") group.parameter_shape = parsed.shape;
      group.takes_parameters = true;
    }
    if (groups.empty()) return;
    Group* const entry_group = &*std::max_element(
        groups.begin(), groups.end(),
        [](const Group& a, const Group& b) { return a.members.size() < b.members.size(); });
    const auto same = [](string_view a, string_view b) {
      return a.empty() || b.empty() || a.starts_with(b);  // A layout may follow `pred[]`.
    };
    for (const Missing& callee : missing) {
      Group* best = nullptr;
      for (Group& group : groups) {
        if (&group == entry_group || group.members.empty() || !group.takes_parameters) continue;
        // The entry's unused parameters are groups of one.
        if (group.members.size() < 2) continue;
        const bool fits = same(group.last_shape, callee.root_shape) &&
                          same(group.parameter_shape, callee.parameter_shape);
        if (fits && best == nullptr) best = &group;
      }
      if (best != nullptr) GiveGroup(callee.name, best);
    }
    LeaveOutStrays(*entry_group, &groups);
  }

  void GiveGroup(string_view name, Group* group) {
    const auto number = static_cast<uint32_t>(computations_.size());
    computations_.push_back({.name = name, .cut = true});
    by_name_.emplace(name, number);
    for (const uint32_t member : group->members) Give(member, number);
    group->members.clear();
    SortByNeed(&computations_[number].lines);
    MarkRoot(&computations_[number].lines);
  }

  // A group that repeats a parameter of the entry does not belong to the entry.
  void LeaveOutStrays(const Group& entry, std::vector<Group>* groups) {
    std::unordered_map<string_view, bool> taken;
    const auto numbers = [&](const Group& group, auto&& each) {
      for (const uint32_t member : group.members) {
        if (own_[member].line.parsed.opcode == "parameter") {
          each(ParameterNumber(own_[member].line));
        }
      }
    };
    numbers(entry, [&](string_view number) { taken[number] = true; });
    for (Group& group : *groups) {
      if (&group == &entry || group.members.empty()) continue;
      bool stray = false;
      numbers(group, [&](string_view number) { stray |= taken.contains(number); });
      if (stray) {
        GiveGroup(names_.emplace_back(fmt::format("not_told.{}", names_.size() + 1)), &group);
      } else {
        numbers(group, [&](string_view number) { taken[number] = true; });
      }
    }
  }

  static string_view ParameterNumber(const RebuiltLine& line) {
    constexpr string_view kOpcode = " parameter(";
    const size_t at = line.text.find(kOpcode);
    if (at == string_view::npos) return {};
    const string_view rest = line.text.substr(at + kOpcode.size());
    return rest.substr(0, rest.find(')'));
  }

  // Operands come before their users; else the order is unchanged.
  static void SortByNeed(std::vector<RebuiltLine>* lines) {
    std::unordered_map<string_view, uint32_t> index;
    for (uint32_t i = 0; i < lines->size(); ++i) index.try_emplace((*lines)[i].parsed.name, i);
    std::vector<bool> visited(lines->size(), false);
    std::vector<RebuiltLine> sorted;
    sorted.reserve(lines->size());
    std::vector<std::pair<uint32_t, size_t>> stack;  // Line, and which need is next.
    for (uint32_t first = 0; first < lines->size(); ++first) {
      if (!visited[first]) stack.emplace_back(first, 0);
      while (!stack.empty()) {
        const uint32_t now = stack.back().first;
        visited[now] = true;
        const auto& needs = (*lines)[now].parsed.needs;
        if (stack.back().second < needs.size()) {
          const auto need = index.find(needs[stack.back().second++]);
          if (need != index.end() && !visited[need->second]) stack.emplace_back(need->second, 0);
          continue;
        }
        stack.pop_back();
        sorted.push_back((*lines)[now]);
      }
    }
    *lines = std::move(sorted);
  }

  // If no line is the root: the last tuple without users, else the last unused line that computes
  // something.
  static void MarkRoot(std::vector<RebuiltLine>* lines) {
    std::unordered_map<string_view, bool> used;
    for (const RebuiltLine& line : *lines) {
      if (line.is_root) return;
      for (const string_view need : line.parsed.needs) used[need] = true;
    }
    const auto rank = [](const RebuiltLine& line) {
      const string_view opcode = line.parsed.opcode;
      return opcode == "tuple" ? 2 : opcode == "parameter" || opcode == "constant" ? 0 : 1;
    };
    RebuiltLine* root = nullptr;
    for (RebuiltLine& line : *lines) {
      if (used.contains(line.parsed.name)) continue;
      if (root == nullptr || rank(line) >= rank(*root)) root = &line;
    }
    if (root != nullptr) root->is_root = true;
  }

  void CollectFrames() {
    // Instructions that call nothing have one stack. Those that call have a tree, which is used
    // only if no stack is known.
    for (const bool calls : {false, true}) {
      for (const Own& own : own_) {
        const HloLine& parsed = own.line.parsed;
        if (parsed.stack_frame_id == 0 || parsed.callees.empty() == calls) continue;
        if (frames_.Contains(parsed.stack_frame_id)) continue;
        const bool known = frames_.Add(parsed.stack_frame_id, own.from->stack, parsed.op_name);
        if (calls && !known) ++result_.unknown_frames;
      }
    }
  }

  void SortEntry() {
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < own_.size(); ++i) {
      if (own_[i].computation == kNoComputationIndex && !own_[i].line.parsed.name.empty())
        members.push_back(i);
    }
    std::unordered_map<uint32_t, int64_t> when;
    bool seen = false;
    for (const uint32_t i : members) {
      int64_t first = order_(*own_[i].from);
      seen |= first != std::numeric_limits<int64_t>::max();
      if (own_[i].line.parsed.opcode == "parameter") first = -1;
      when[i] = first;
    }
    is_scheduled_ = seen;
    std::stable_sort(members.begin(), members.end(),
                     [&](uint32_t a, uint32_t b) { return when[a] < when[b]; });
    for (const uint32_t member : members) entry_.push_back(own_[member].line);
    SortByNeed(&entry_);
    MarkRoot(&entry_);
    result_.instructions = static_cast<int64_t>(entry_.size());
  }

  // Callees before callers.
  void WriteCallees(const std::vector<RebuiltLine>& lines) {
    struct Visit {
      const std::vector<RebuiltLine>* lines;
      uint32_t computation;  // kNoComputationIndex: the caller that was given.
      size_t line = 0;
      size_t callee = 0;
    };
    std::vector<Visit> stack = {{&lines, kNoComputationIndex}};
    while (!stack.empty()) {
      Visit& now = stack.back();
      if (now.line == now.lines->size()) {
        if (now.computation != kNoComputationIndex) {
          const Computation& done = computations_[now.computation];
          WriteComputation("", done.name, done.lines);
        }
        stack.pop_back();
        continue;
      }
      const std::vector<HloLine::Callee>& callees = (*now.lines)[now.line].parsed.callees;
      if (now.callee == callees.size()) {
        ++now.line;
        now.callee = 0;
        continue;
      }
      const string_view name = callees[now.callee++].name;
      if (!written_.try_emplace(name, true).second) continue;
      const auto known = by_name_.find(name);
      if (known != by_name_.end() && !computations_[known->second].lines.empty()) {
        stack.push_back({&computations_[known->second].lines, known->second});
        continue;
      }
      ++result_.missing;
      result_.text +=
          fmt::format("{} {{\n  ROOT {}.not_told = token[] after-all()\n}}\n\n", name, name);
    }
  }

  void WriteComputation(string_view prefix, string_view name,
                        const std::vector<RebuiltLine>& lines) {
    result_.text += fmt::format("{}{} {{\n", prefix, name);
    std::unordered_map<string_view, bool> defined;
    for (const RebuiltLine& line : lines) defined[line.parsed.name] = true;
    for (const RebuiltLine& line : lines) {
      for (const string_view need : line.parsed.needs) {
        if (!defined.try_emplace(need, true).second) continue;
        ++result_.undefined;
        result_.text += fmt::format("  {} = token[] after-all()\n", need);
      }
    }
    for (const RebuiltLine& line : lines) {
      result_.text += line.is_root ? "  ROOT " : "  ";
      hlo::AppendWithFrames(
          line.text, [&](int64_t id) { return frames_.Number(id); }, &result_.text);
      result_.text += '\n';
    }
    result_.text += "}\n\n";
  }

  void Write() {
    result_.text = fmt::format("HloModule {}{}\n\n", module_.name.empty() ? "module" : module_.name,
                               is_scheduled_ ? ", is_scheduled=true" : "");
    result_.text += frames_.Tables();
    // First the computations without a known caller (the caller's line was cut).
    std::unordered_map<string_view, bool> called;
    const auto note = [&](const std::vector<RebuiltLine>& lines) {
      for (const RebuiltLine& line : lines) {
        for (const HloLine::Callee& callee : line.parsed.callees) called[callee.name] = true;
      }
    };
    note(entry_);
    for (const Computation& computation : computations_) note(computation.lines);
    for (const Computation& computation : computations_) {
      if (called.contains(computation.name) || computation.lines.empty()) continue;
      WriteCallees(computation.lines);
      if (written_.try_emplace(computation.name, true).second) {
        WriteComputation("", computation.name, computation.lines);
      }
    }
    WriteCallees(entry_);
    string_view name = "main";
    if (by_name_.contains(name)) name = "main.entry";
    WriteComputation("ENTRY ", name, entry_);
  }

  const RegisteredModule& module_;
  const InstructionOrder& order_;
  StackFrames frames_;
  std::vector<Computation> computations_;
  std::unordered_map<string_view, uint32_t> by_name_;
  std::unordered_map<string_view, uint32_t> member_of_;  // Instruction -> computation.
  std::vector<Own> own_;
  std::unordered_map<string_view, uint32_t> own_by_name_;
  std::deque<std::string> repaired_;  // Do not move.
  std::deque<std::string> names_;     // The same; made here.
  std::vector<uint32_t> group_;
  std::vector<RebuiltLine> entry_;
  std::unordered_map<string_view, bool> written_;
  bool is_scheduled_ = false;
  RebuiltModule result_;
};

}  // namespace

RebuiltModule RebuildHlo(const RegisteredModule& module, const InstructionOrder& order) {
  return Rebuild(module, order).Run();
}

}  // namespace xlatrace::importers
