#include "importers/hlo_rebuild.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "importers/hlo_line.h"
#include "importers/stack_frames.h"

namespace xlatrace::importers {
namespace {

using std::string_view;

constexpr uint32_t kNone = UINT32_MAX;

struct Line {
  string_view text;  // Without indentation.
  HloLine parsed;
  bool is_root = false;
};

struct Computation {
  string_view name;
  std::vector<Line> lines;
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
    LearnFrames();
    SortEntry();
    Write();
    return std::move(result_);
  }

 private:
  // A registered instruction with its own line.
  struct Own {
    const RegisteredInstruction* from;
    Line line;
    uint32_t computation = kNone;  // Index of a called one; kNone: the entry.
  };

  void ReadCalled(string_view text) {
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
      } else if (whole) {  // What is cut inside a line is worth nothing.
        AddLine(line, &now);
      }
    }
    if (inside) {
      now.cut = true;
      Keep(std::move(now));
    }
  }

  static void AddLine(string_view text, Computation* to) {
    Line line;
    const size_t start = text.find_first_not_of(' ');
    if (start == string_view::npos) return;
    line.text = text.substr(start);
    line.is_root = line.text.starts_with("ROOT ");
    if (line.is_root) line.text.remove_prefix(5);
    if (ParseHloLine(line.text, &line.parsed)) {
      to->lines.push_back(std::move(line));
    } else if (!to->lines.empty() && line.text.find("[truncated]") == string_view::npos) {
      // A literal over several lines: back into the line it belongs to.
      const char* const begin = to->lines.back().text.data();
      to->lines.back().text =
          string_view(begin, static_cast<size_t>(line.text.data() + line.text.size() - begin));
    }
  }

  void Keep(Computation computation) {
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
      for (const Line& line : computations_[i].lines) member_of_.try_emplace(line.parsed.name, i);
    }
    for (const RegisteredInstruction& instruction : module_.instructions) {
      if (!own_by_name_.try_emplace(instruction.name, static_cast<uint32_t>(own_.size())).second) {
        continue;
      }
      Own own{.from = &instruction, .line = {.text = instruction.line}};
      if (!ParseHloLine(instruction.line, &own.line.parsed)) own.line.parsed.name = {};
      const auto member = member_of_.find(instruction.name);
      if (member != member_of_.end()) own.computation = member->second;
      own_.push_back(std::move(own));
    }
  }

  // Instructions behind the cut lie in no text; data flow tells whose they are.
  void CompleteCut() {
    std::vector<uint32_t> cut;
    for (uint32_t i = 0; i < computations_.size(); ++i) {
      if (computations_[i].cut) cut.push_back(i);
    }
    if (cut.empty()) return;
    result_.completed = static_cast<int64_t>(cut.size());
    // Union-find over own instructions, then computations.
    std::vector<uint32_t> group(own_.size() + computations_.size());
    std::iota(group.begin(), group.end(), 0);
    const auto find = [&](uint32_t x) {
      while (group[x] != x) x = group[x] = group[group[x]];
      return x;
    };
    const auto place = [&](const Own& own, uint32_t index) {
      return own.computation == kNone ? index
                                      : static_cast<uint32_t>(own_.size()) + own.computation;
    };
    for (uint32_t i = 0; i < own_.size(); ++i) {
      for (const string_view need : own_[i].line.parsed.needs) {
        const auto other = own_by_name_.find(need);
        if (other == own_by_name_.end()) continue;
        group[find(place(own_[i], i))] = find(place(own_[other->second], other->second));
      }
    }
    for (const uint32_t c : cut) {
      const uint32_t mine = find(static_cast<uint32_t>(own_.size()) + c);
      for (uint32_t i = 0; i < own_.size(); ++i) {
        if (own_[i].computation != kNone || own_[i].line.parsed.name.empty()) continue;
        if (find(i) != mine) continue;
        own_[i].computation = c;
        computations_[c].lines.push_back(own_[i].line);
      }
      MarkRoot(&computations_[c].lines);
    }
  }

  // Where no line is the root already: the last tuple that nobody uses, else the last unused line.
  static void MarkRoot(std::vector<Line>* lines) {
    std::unordered_map<string_view, bool> used;
    for (const Line& line : *lines) {
      if (line.is_root) return;
      for (const string_view need : line.parsed.needs) used[need] = true;
    }
    Line* root = nullptr;
    for (Line& line : *lines) {
      if (used.contains(line.parsed.name)) continue;
      const bool tuple = line.parsed.opcode == "tuple";
      if (root == nullptr || tuple || root->parsed.opcode != "tuple") root = &line;
    }
    if (root != nullptr) root->is_root = true;
  }

  void LearnFrames() {
    // Instructions that call nothing have one stack; those that do have a tree, which settles only
    // what no other tells.
    for (const bool calls : {false, true}) {
      for (const Own& own : own_) {
        const HloLine& parsed = own.line.parsed;
        if (parsed.stack_frame_id == 0 || parsed.callees.empty() == calls) continue;
        if (frames_.Knows(parsed.stack_frame_id)) continue;
        const bool known = frames_.Learn(parsed.stack_frame_id, own.from->stack, parsed.op_name);
        if (calls && !known) ++result_.unknown_frames;
      }
    }
  }

  void SortEntry() {
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < own_.size(); ++i) {
      if (own_[i].computation == kNone && !own_[i].line.parsed.name.empty()) members.push_back(i);
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
    // What an instruction needs comes before it.
    enum : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> state(own_.size(), kNew);
    std::vector<std::pair<uint32_t, size_t>> stack;
    for (const uint32_t member : members) {
      if (state[member] == kNew) stack.emplace_back(member, 0);
      while (!stack.empty()) {
        const uint32_t now = stack.back().first;
        state[now] = kOpen;
        const auto& needs = own_[now].line.parsed.needs;
        if (stack.back().second < needs.size()) {
          const auto need = own_by_name_.find(needs[stack.back().second++]);
          if (need != own_by_name_.end() && state[need->second] == kNew &&
              own_[need->second].computation == kNone) {
            stack.emplace_back(need->second, 0);
          }
          continue;
        }
        state[now] = kDone;
        entry_.push_back(own_[now].line);
        stack.pop_back();
      }
    }
    MarkRoot(&entry_);
    result_.instructions = static_cast<int64_t>(entry_.size());
  }

  // Callees before callers.
  void WriteCallees(const std::vector<Line>& lines) {
    struct Visit {
      const std::vector<Line>* lines;
      uint32_t computation;  // kNone: the caller that was given.
      size_t line = 0;
      size_t callee = 0;
    };
    std::vector<Visit> stack = {{&lines, kNone}};
    while (!stack.empty()) {
      Visit& now = stack.back();
      if (now.line == now.lines->size()) {
        if (now.computation != kNone) {
          const Computation& done = computations_[now.computation];
          WriteComputation("", done.name, done.lines);
        }
        stack.pop_back();
        continue;
      }
      const std::vector<string_view>& callees = (*now.lines)[now.line].parsed.callees;
      if (now.callee == callees.size()) {
        ++now.line;
        now.callee = 0;
        continue;
      }
      const string_view name = callees[now.callee++];
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

  void WriteComputation(string_view prefix, string_view name, const std::vector<Line>& lines) {
    result_.text += fmt::format("{}{} {{\n", prefix, name);
    for (const Line& line : lines) {
      result_.text += line.is_root ? "  ROOT " : "  ";
      AppendWithFrames(
          line.text, [&](int64_t id) { return frames_.Number(id); }, &result_.text);
      result_.text += '\n';
    }
    result_.text += "}\n\n";
  }

  void Write() {
    result_.text = fmt::format("HloModule {}{}\n\n", module_.name.empty() ? "module" : module_.name,
                               is_scheduled_ ? ", is_scheduled=true" : "");
    result_.text += frames_.Tables();
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
  std::vector<Line> entry_;
  std::unordered_map<string_view, bool> written_;
  bool is_scheduled_ = false;
  RebuiltModule result_;
};

}  // namespace

RebuiltModule RebuildHlo(const RegisteredModule& module, const InstructionOrder& order) {
  return Rebuild(module, order).Run();
}

}  // namespace xlatrace::importers
