// SPDX-License-Identifier: Apache-2.0
#include "dumps/pass_timeline.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::dumps {
namespace {

// Maximum length of a group that repeats without marks.
constexpr size_t kMaxPeriodSteps = 64;

// Appends the content of `from` to `into`. Children with the same name are merged, in order.
void Merge(PassNode& into, PassNode&& from) {
  into.steps.insert(into.steps.end(), from.steps.begin(), from.steps.end());
  const auto find_from = [&](size_t start, const std::string& name) {
    while (start < into.children.size() && into.children[start].name != name) ++start;
    return start;
  };
  // The order of passes in a round is fixed: continue at the previous match.
  size_t at = 0;
  for (size_t i = 0; i < from.children.size(); ++i) {
    PassNode& child = from.children[i];
    size_t found = find_from(at, child.name);
    if (found < into.children.size()) {
      into.children[found].rounds += child.is_group ? child.rounds : 0;
      Merge(into.children[found], std::move(child));
    } else {
      // It had no effect in the other rounds: insert it before the next common pass, else at the
      // end.
      for (size_t next = i + 1; next < from.children.size() && found == into.children.size();
           ++next) {
        found = find_from(at, from.children[next].name);
      }
      into.children.insert(into.children.begin() + static_cast<ptrdiff_t>(found), std::move(child));
    }
    at = found + 1;
  }
}

bool SameNames(const std::vector<PassNode>& nodes, size_t a, size_t b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (nodes[a + i].name != nodes[b + i].name || nodes[a + i].is_group != nodes[b + i].is_group) {
      return false;
    }
  }
  return true;
}

// Merges neighbours with the same name, and groups of passes that repeat.
std::vector<PassNode> Fold(std::vector<PassNode> nodes) {
  for (PassNode& node : nodes) {
    if (node.is_group) node.children = Fold(std::move(node.children));
  }
  std::vector<PassNode> out;
  for (PassNode& node : nodes) {
    if (node.is_group && !out.empty() && out.back().is_group && out.back().name == node.name) {
      out.back().rounds += node.rounds;
      Merge(out.back(), std::move(node));
    } else {
      out.push_back(std::move(node));
    }
  }
  nodes = std::move(out);
  out.clear();
  for (size_t i = 0; i < nodes.size();) {
    size_t period = 0;
    size_t repeats = 1;
    for (size_t p = 1; p <= kMaxPeriodSteps && i + 2 * p <= nodes.size(); ++p) {
      size_t count = 1;
      while (i + (count + 1) * p <= nodes.size() && SameNames(nodes, i, i + count * p, p)) ++count;
      if (count > 1 && count * p > repeats * period) {
        period = p;
        repeats = count;
      }
    }
    if (period == 0) {
      out.push_back(std::move(nodes[i++]));
      continue;
    }
    PassNode group{.name = period == 1 ? nodes[i].name : "", .is_group = true};
    for (size_t k = 0; k < period; ++k) group.children.push_back(std::move(nodes[i + k]));
    for (size_t r = 1; r < repeats; ++r) {
      PassNode round{.is_group = true};
      for (size_t k = 0; k < period; ++k)
        round.children.push_back(std::move(nodes[i + r * period + k]));
      Merge(group, std::move(round));
    }
    group.rounds = static_cast<int32_t>(repeats);
    if (period == 1) {
      out.push_back(std::move(group.children.front()));
    } else {
      out.push_back(std::move(group));
    }
    i += period * repeats;
  }
  return out;
}

}  // namespace

std::string PassStep::Label() const {
  if (is_start()) return "start of " + pipeline;
  if (number >= 0 && next_pass.empty() && !pipeline.empty()) return pipeline + ": " + pass;
  return pass;
}

std::vector<PassStep> StepsOf(const DumpModule& module) {
  std::vector<PassStep> steps;
  const std::string& before = module.before_text.empty() ? module.before_proto : module.before_text;
  const std::string& after = module.after_text.empty() ? module.after_proto : module.after_text;
  std::map<int32_t, const DumpFile*> dumps;
  for (const DumpFile& file : module.files) {
    if (file.name.stage != DumpStage::kAfterPass || file.name.pass_number < 0) continue;
    const bool text = file.name.kind == DumpKind::kHloText;
    if (!text && file.name.kind != DumpKind::kHloProto) continue;
    const DumpFile*& slot = dumps[file.name.pass_number];
    if (slot == nullptr || text) slot = &file;
  }
  if (!before.empty()) steps.push_back({.pass = "before_optimizations", .file = before});
  for (const auto& [number, file] : dumps) {
    steps.push_back({.number = number,
                     .pipeline = file->name.pipeline,
                     .pass = file->name.pass,
                     .next_pass = file->name.next_pass,
                     .file = file->path});
  }
  if (!after.empty()) steps.push_back({.pass = "after_optimizations", .file = after});
  return steps;
}

std::vector<PassNode> FoldPasses(const std::vector<PassStep>& steps) {
  // Open pipelines, the innermost last; the first one is the compilation.
  std::vector<PassNode> open(1);
  // Closes pipelines until only `keep` are open. Closed ones are part of the last remaining one
  // only if it continues (`nested`); otherwise they ran one after the other.
  const auto close = [&](size_t keep, bool nested) {
    std::vector<PassNode> ended(
        std::make_move_iterator(open.begin() + static_cast<ptrdiff_t>(keep)),
        std::make_move_iterator(open.end()));
    open.resize(keep);
    PassNode& parent = nested ? open.back() : open.front();
    for (PassNode& node : ended) parent.children.push_back(std::move(node));
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const PassStep& step = steps[i];
    if (step.pipeline.empty()) {
      close(1, false);
      open.front().children.push_back({.name = step.pass, .steps = {i}});
      continue;
    }
    if (step.is_start()) {
      open.push_back({.name = step.pipeline, .is_group = true, .steps = {i}});
      continue;
    }
    size_t at = open.size();
    while (at > 1 && open[at - 1].name != step.pipeline) --at;
    if (at > 1) {
      close(at, true);
    } else {  // Its start was not dumped.
      open.push_back({.name = step.pipeline, .is_group = true});
    }
    open.back().children.push_back({.name = step.pass, .steps = {i}});
  }
  close(1, false);
  return Fold(std::move(open.front().children));
}

size_t FindStep(const std::vector<PassStep>& steps, std::string_view wanted, bool last) {
  int32_t number = -1;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  const bool is_number = error == std::errc() && end == wanted.data() + wanted.size();
  size_t found = steps.size();
  for (size_t i = 0; i < steps.size(); ++i) {
    const PassStep& step = steps[i];
    const bool is_edge = step.number < 0;
    const bool matches = is_number ? step.number == number
                                   : step.pass == wanted || step.Label() == wanted ||
                                         (is_edge && step.pass.starts_with(wanted) &&
                                          (wanted == "before" || wanted == "after"));
    if (!matches) continue;
    found = i;
    if (!last) break;
  }
  return found;
}

}  // namespace xlatrace::dumps
