// SPDX-License-Identifier: Apache-2.0
#include "dumps/instruction_history.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "hlo/module_summary.h"

namespace xlatrace::dumps {
namespace {

using model::HloModule;
using model::kNoIndex;

// Dumps are kept in memory up to this sum of their sizes.
constexpr uint64_t kKeepBytes = uint64_t{256} << 20;
constexpr size_t kMaxOrigins = 100'000;

// The dumps of a compilation, read when needed.
class Dumps {
 public:
  Dumps(const std::vector<PassStep>& steps, std::vector<std::string>& warnings)
      : steps_(steps), warnings_(warnings), modules_(steps.size()), failed_(steps.size(), false) {
    uint64_t bytes = 0;
    for (const PassStep& step : steps) {
      std::error_code error;
      const uintmax_t size = std::filesystem::file_size(step.file, error);
      if (!error) bytes += size;
      sizes_known_ = sizes_known_ && !error;
    }
    keep_all_ = bytes <= kKeepBytes;
  }

  size_t size() const { return steps_.size(); }

  // nullptr if it cannot be read.
  std::shared_ptr<const HloModule> Get(size_t step) {
    if (modules_[step] != nullptr) return modules_[step];
    if (failed_[step]) return nullptr;
    auto module = ReadHloFile(steps_[step].file);
    if (!module) {
      failed_[step] = true;
      warnings_.push_back(module.error().message);
      return nullptr;
    }
    auto shared = std::make_shared<const HloModule>(std::move(*module));
    if (!sizes_known_) {
      // Members of an archive count with the approximate size of their text.
      constexpr uint64_t kBytesOfInstruction = 200;
      read_bytes_ += kBytesOfInstruction * shared->instructions.size();
      keep_all_ = keep_all_ && read_bytes_ <= kKeepBytes;
    }
    if (!keep_all_) {
      for (size_t i = 0; i < modules_.size(); ++i) {
        if (i + 1 != step && i != step + 1) modules_[i] = nullptr;
      }
    }
    return modules_[step] = shared;
  }

  // The next readable dump after / before `step`; size() if there is none.
  size_t Next(size_t step) {
    for (++step; step < size() && Get(step) == nullptr;) ++step;
    return step;
  }
  size_t Previous(size_t step) {
    while (step > 0) {
      if (Get(--step) != nullptr) return step;
    }
    return size();
  }

 private:
  const std::vector<PassStep>& steps_;
  std::vector<std::string>& warnings_;
  std::vector<std::shared_ptr<const HloModule>> modules_;
  std::vector<bool> failed_;
  bool keep_all_ = true;
  bool sizes_known_ = true;
  uint64_t read_bytes_ = 0;
};

uint32_t FindByName(const HloModule& module, std::string_view name) {
  const std::vector<uint32_t> containers = Containers(module);
  uint32_t found = kNoIndex;
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    if (module.instructions[i].name != name) continue;
    if (containers[i] == i) return i;
    if (found == kNoIndex) found = i;
  }
  return found;
}

std::vector<InstructionNote> NotesOf(const HloModule& module,
                                     const std::vector<uint32_t>& containers,
                                     const std::vector<uint32_t>& which) {
  std::vector<InstructionNote> notes;
  notes.reserve(which.size());
  for (const uint32_t i : which) notes.push_back(NoteOf(module, containers, i));
  return notes;
}

std::optional<HistoryEvent::Kind> EventOf(Birth birth) {
  switch (birth) {
    case Birth::kMade:
      return HistoryEvent::Kind::kMade;
    case Birth::kAdded:
      return HistoryEvent::Kind::kAdded;
    case Birth::kReplaces:
      return HistoryEvent::Kind::kReplaces;
    case Birth::kCopied:
      return HistoryEvent::Kind::kCopied;
    case Birth::kRenamed:
      return HistoryEvent::Kind::kRenamed;
    case Birth::kChanged:
      return HistoryEvent::Kind::kChanged;
    case Birth::kKept:
      return std::nullopt;
  }
  return std::nullopt;
}

// Instructions of a module by name; among several with one name, the one outside of fusions. The
// module must outlive it.
class NameIndex {
 public:
  explicit NameIndex(const HloModule& module) {
    const std::vector<uint32_t> containers = Containers(module);
    by_name_.reserve(module.instructions.size());
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      const auto [at, is_new] = by_name_.emplace(module.instructions[i].name, i);
      if (!is_new && containers[at->second] != at->second && containers[i] == i) at->second = i;
    }
  }
  uint32_t Find(std::string_view name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? kNoIndex : at->second;
  }

 private:
  std::unordered_map<std::string_view, uint32_t> by_name_;
};

// Follows one instruction back to its creation, then its origins to the first dump. Events are
// added newest first.
class Ancestry {
 public:
  explicit Ancestry(std::string name) : tracked_({name}), single_(name), name_(std::move(name)) {}

  // Earlier dumps contain nothing of it.
  bool done() const { return tracked_.empty(); }

  // One step back: `module` is the dump `step`, and `diff` compares `before` with it.
  void Back(size_t step, const HloModule& module, const NameIndex& index, const HloModule& before,
            const ModuleDiff& diff, InstructionHistory& history) {
    std::set<std::string, std::less<>> sources;
    for (const std::string& name : tracked_) {
      const uint32_t a = index.Find(name);
      if (a == kNoIndex) continue;
      const auto& birth = diff.births[a];
      if (!born_ && name == single_) {
        const auto kind = EventOf(birth.kind);
        if (kind) AddBirth(*kind, step, module, a, before, birth.others, diff, history);
        if (birth.kind == Birth::kRenamed && birth.others.size() == 1) {
          single_ = before.instructions[birth.others[0]].name;
        } else if (birth.kind != Birth::kKept && birth.kind != Birth::kChanged) {
          born_ = true;
        }
      }
      for (const uint32_t b : birth.others) {
        if (sources.size() < kMaxOrigins) sources.emplace(before.instructions[b].name);
      }
    }
    tracked_ = std::move(sources);
  }

  // The earliest dump to which it was followed; `start` is the dump in which it was found.
  void Finish(size_t start, size_t step, const HloModule& module, const NameIndex& index,
              InstructionHistory& history) const {
    history.origins_step = step;
    const std::vector<uint32_t> containers = Containers(module);
    const std::string& first = step == start ? name_ : single_;
    if (!born_ && (step == start || !tracked_.empty())) {
      if (const uint32_t i = index.Find(first); i != kNoIndex) {
        history.events.push_back(
            {HistoryEvent::Kind::kFirst, step, NoteOf(module, containers, i), {}, {}});
      }
    }
    for (uint32_t i = 0; i < module.instructions.size(); ++i) {
      if (tracked_.contains(module.instructions[i].name) &&
          hlo::IsOperation(module.instructions[i].opcode)) {
        history.origins.push_back(NoteOf(module, containers, i));
      }
    }
  }

 private:
  static void AddBirth(HistoryEvent::Kind kind, size_t step, const HloModule& module, uint32_t a,
                       const HloModule& before, const std::vector<uint32_t>& others,
                       const ModuleDiff& diff, InstructionHistory& history) {
    HistoryEvent event{kind, step, NoteOf(module, diff.container_after, a), {}, {}};
    if (kind == HistoryEvent::Kind::kChanged) {
      event.text =
          ChangeText(before, before.instructions[others[0]], module, module.instructions[a]);
    } else {
      event.others = NotesOf(before, diff.container_before, others);
    }
    history.events.push_back(std::move(event));
  }

  std::set<std::string, std::less<>> tracked_;
  std::string single_;  // Followed by name until it was made of several.
  std::string name_;
  bool born_ = false;
};

class Historian {
 public:
  Historian(const std::vector<PassStep>& steps, InstructionHistory& history)
      : dumps_(steps, history.warnings), history_(history) {}

  // False if no dump contains it; `similar` then has names with a common prefix.
  bool Find(std::string_view name, std::vector<std::string>& similar) {
    // The last dump comes first, because most names come from a profile.
    for (size_t step = dumps_.size(); step-- > 0;) {
      const auto module = dumps_.Get(step);
      if (module == nullptr) continue;
      if (const uint32_t i = FindByName(*module, name); i != kNoIndex) {
        step_ = step;
        name_ = name;
        return true;
      }
      if (!similar.empty()) continue;
      const std::string_view root = name.substr(0, name.find_first_of(".0123456789"));
      for (const model::Instruction& instruction : module->instructions) {
        if (root.empty() || instruction.name.find(root) == std::string_view::npos) continue;
        if (instruction.opcode == "parameter") continue;
        similar.emplace_back(instruction.name);
        if (similar.size() == 5) break;
      }
    }
    return false;
  }

  void Collect() {
    Backward();
    std::reverse(history_.events.begin(), history_.events.end());
    Forward();
  }

 private:
  void Backward() {
    size_t step = step_;
    auto module = dumps_.Get(step);
    NameIndex index(*module);
    Ancestry ancestry(name_);
    while (!ancestry.done()) {
      const size_t previous = dumps_.Previous(step);
      if (previous == dumps_.size()) break;
      const auto before = dumps_.Get(previous);
      if (before->content_hash != module->content_hash) {
        ancestry.Back(step, *module, index, *before, Diff(*before, *module), history_);
      }
      step = previous;
      module = before;
      index = NameIndex(*module);
    }
    ancestry.Finish(step_, step, *module, index, history_);
  }

  void Forward() {
    size_t step = step_;
    auto module = dumps_.Get(step);
    std::string name = name_;
    while (true) {
      const size_t next = dumps_.Next(step);
      const uint32_t b = FindByName(*module, name);
      if (b == kNoIndex) return;
      if (next >= dumps_.size()) {
        history_.events.push_back(
            {HistoryEvent::Kind::kLast, step, NoteOf(*module, Containers(*module), b), {}, {}});
        return;
      }
      const auto after = dumps_.Get(next);
      if (after->content_hash != module->content_hash) {
        const ModuleDiff diff = Diff(*module, *after);
        const auto& fate = diff.fates[b];
        HistoryEvent event{HistoryEvent::Kind::kChanged,
                           next,
                           NoteOf(*module, diff.container_before, b),
                           NotesOf(*after, diff.container_after, fate.others),
                           {}};
        switch (fate.kind) {
          case Fate::kKept:
            break;
          case Fate::kChanged:
            event.text = ChangeText(*module, module->instructions[b], *after,
                                    after->instructions[fate.others[0]]);
            event.others.clear();
            history_.events.push_back(std::move(event));
            break;
          case Fate::kRenamed:
            event.kind = HistoryEvent::Kind::kRenamed;
            name = event.others.front().name;
            event.instruction = event.others.front();
            event.others = {NoteOf(*module, diff.container_before, b)};
            history_.events.push_back(std::move(event));
            break;
          case Fate::kFused:
            event.kind = HistoryEvent::Kind::kFused;
            name = event.others.front().name;
            history_.events.push_back(std::move(event));
            break;
          case Fate::kReplaced:
            event.kind = HistoryEvent::Kind::kReplaced;
            name = event.others.front().name;
            history_.events.push_back(std::move(event));
            break;
          case Fate::kRemoved:
            event.kind = HistoryEvent::Kind::kRemoved;
            history_.events.push_back(std::move(event));
            return;
        }
      }
      step = next;
      module = after;
    }
  }

  Dumps dumps_;
  InstructionHistory& history_;
  size_t step_ = 0;
  std::string name_;
};

}  // namespace

InstructionNote NoteOf(const HloModule& module, const std::vector<uint32_t>& containers,
                       uint32_t i) {
  const model::Instruction& instruction = module.instructions[i];
  InstructionNote note{.name = std::string(instruction.name),
                       .opcode = std::string(instruction.opcode),
                       .shape = std::string(instruction.shape),
                       .op_name = std::string(instruction.metadata.op_name),
                       .source_file = std::string(instruction.metadata.source_file),
                       .source_line = instruction.metadata.source_line};
  if (containers[i] != i) note.inside = module.instructions[containers[i]].name;
  return note;
}

Result<InstructionHistory> HistoryOf(const std::vector<PassStep>& steps, std::string_view name) {
  if (name.starts_with('%')) name.remove_prefix(1);
  InstructionHistory history;
  Historian historian(steps, history);
  std::vector<std::string> similar;
  if (!historian.Find(name, similar)) {
    std::string hint = "xlatrace find " + std::string(name) + " DIR";
    if (!similar.empty()) {
      hint = "there are ";
      for (size_t i = 0; i < similar.size(); ++i) hint += (i == 0 ? "" : ", ") + similar[i];
    }
    return MakeError(fmt::format("no dump of the module holds an instruction '{}'", name),
                     std::move(hint));
  }
  historian.Collect();
  return history;
}

Result<InstructionHistories> OriginsOf(const std::vector<PassStep>& steps,
                                       const std::vector<std::string>& names,
                                       const std::function<bool()>& go_on) {
  InstructionHistories histories;
  histories.of.resize(names.size());
  if (steps.empty()) return histories;
  size_t step = steps.size() - 1;
  histories.from_step = step;
  XLATRACE_ASSIGN(HloModule last, ReadHloFile(steps[step].file));
  auto module = std::make_shared<const HloModule>(std::move(last));
  auto index = std::make_unique<NameIndex>(*module);
  struct Followed {
    size_t name;
    Ancestry ancestry;
  };
  std::vector<Followed> open;
  for (size_t n = 0; n < names.size(); ++n) {
    if (index->Find(names[n]) == kNoIndex) continue;
    histories.of[n].emplace();
    open.push_back({n, Ancestry(names[n])});
  }
  const size_t start = step;
  const auto finish = [&](const Followed& one) {
    one.ancestry.Finish(start, step, *module, *index, *histories.of[one.name]);
  };
  for (size_t previous = step; previous-- > 0 && !open.empty();) {
    if (!go_on()) {
      histories.stopped = true;
      break;
    }
    auto read = ReadHloFile(steps[previous].file);
    if (!read) {
      histories.warnings.push_back(read.error().message);
      continue;
    }
    auto before = std::make_shared<const HloModule>(std::move(*read));
    if (before->content_hash != module->content_hash) {
      const ModuleDiff diff = Diff(*before, *module);
      for (Followed& one : open) {
        one.ancestry.Back(step, *module, *index, *before, diff, *histories.of[one.name]);
      }
    }
    step = previous;
    module = std::move(before);
    index = std::make_unique<NameIndex>(*module);
    std::erase_if(open, [&](const Followed& one) {
      if (one.ancestry.done()) finish(one);
      return one.ancestry.done();
    });
    histories.from_step = step;
  }
  for (const Followed& one : open) finish(one);
  for (auto& history : histories.of) {
    if (history) std::reverse(history->events.begin(), history->events.end());
  }
  return histories;
}

}  // namespace xlatrace::dumps
