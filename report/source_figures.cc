// SPDX-License-Identifier: Apache-2.0
#include "report/source_figures.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

namespace xlatrace::report {
namespace {

using Frame = SourceStacks::Frame;
using Place = std::pair<std::string, std::optional<int64_t>>;

// A line with a larger share of all time is divided by the frames below it.
constexpr int64_t kMaxTenthsPerLine = 9;

Place PlaceOf(const Frame& frame) { return {frame.file, frame.line}; }

// Position of the user's line; the stack is not empty.
size_t SourcePosition(const SourceStacks::Stack& stack) {
  const auto at =
      std::find_if(stack.begin(), stack.end(), [](const Frame& f) { return f.is_source; });
  return at == stack.end() ? 0 : static_cast<size_t>(at - stack.begin());
}

struct TreeNode {
  const Frame* frame = nullptr;
  int64_t ns = 0, self_ns = 0;
  std::map<Place, int64_t> via;  // Innermost lines of libraries, by own time.
  std::map<std::tuple<std::string, std::optional<int64_t>, std::string>, std::unique_ptr<TreeNode>>
      children;
};

// The library's line with the most of the time.
void SetVia(const std::map<Place, int64_t>& via, std::string* file, std::optional<int64_t>* line) {
  if (via.empty()) return;
  const auto most = std::max_element(
      via.begin(), via.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  *file = most->first.first;
  *line = most->first.second;
}

void AddNodes(const TreeNode& node, size_t depth, std::vector<StackFigure>* figures) {
  std::vector<const TreeNode*> order;
  for (const auto& [key, child] : node.children) order.push_back(child.get());
  std::stable_sort(order.begin(), order.end(),
                   [](const TreeNode* a, const TreeNode* b) { return a->ns > b->ns; });
  for (const TreeNode* child : order) {
    StackFigure& figure = figures->emplace_back();
    figure.depth = depth;
    figure.file = child->frame->file;
    figure.line = child->frame->line;
    figure.function = child->frame->function;
    figure.ns = child->ns;
    figure.self_ns = child->self_ns;
    SetVia(child->via, &figure.via_file, &figure.via_line);
    AddNodes(*child, depth + 1, figures);
  }
}

}  // namespace

Result<SourceStacks> SourceStacks::Load(store::RunDb& db) {
  SourceStacks stacks;
  XLATRACE_TRY(db.ForEach(
      "SELECT stack_id, file, function, line, is_user, is_source FROM source_stack"
      " ORDER BY stack_id, depth",
      [&](const store::Statement& row) {
        stacks.stacks_[row.Int64(0)].push_back({std::string(row.Text(1)), std::string(row.Text(2)),
                                                row.OptionalInt64(3), row.Int64(4) != 0,
                                                row.Int64(5) != 0});
        return true;
      }));
  return stacks;
}

const SourceStacks::Stack& SourceStacks::Of(int64_t stack_id) const {
  static const Stack kNone;
  const auto at = stacks_.find(stack_id);
  return at == stacks_.end() ? kNone : at->second;
}

bool SourceStacks::IsIn(const Frame& frame, std::string_view file, std::optional<int64_t> line) {
  if (line && frame.line != line) return false;
  return frame.file == file || (frame.file.size() > file.size() && frame.file.ends_with(file) &&
                                frame.file[frame.file.size() - file.size() - 1] == '/');
}

void SourceFigures::Add(int64_t stack_id, model::Phase phase, int64_t ns, bool estimated) {
  Sums& sums = by_stack_[stack_id];
  sums.ns += ns;
  if (estimated) sums.estimated_ns += ns;
  sums.phases[static_cast<size_t>(phase)] += ns;
}

std::vector<ScopeFigure> SourceFigures::Lines() const {
  int64_t all = 0;
  std::map<Place, int64_t> own, inclusive;
  for (const auto& [stack_id, sums] : by_stack_) {
    all += sums.ns;
    const SourceStacks::Stack& stack = stacks_.Of(stack_id);
    if (stack.empty()) continue;
    own[PlaceOf(stack[SourcePosition(stack)])] += sums.ns;
    std::set<Place> places;
    for (const Frame& frame : stack) {
      if (frame.is_user || frame.is_source) places.insert(PlaceOf(frame));
    }
    for (const Place& place : places) inclusive[place] += sums.ns;
  }
  std::map<Place, std::map<Place, int64_t>> via;  // By the user's line.
  for (const auto& [stack_id, sums] : by_stack_) {
    const SourceStacks::Stack& stack = stacks_.Of(stack_id);
    if (stack.empty() || stack.front().is_source) continue;
    via[PlaceOf(stack[SourcePosition(stack)])][PlaceOf(stack.front())] += sums.ns;
  }
  // How many frames below the user's line divide a line that has nearly all time.
  std::map<Place, size_t> deeper;
  for (const auto& [place, ns] : own) {
    if (10 * ns <= kMaxTenthsPerLine * all) continue;
    for (size_t frames = 1;; ++frames) {
      std::map<Place, int64_t> parts;
      bool any_deeper = false;
      for (const auto& [stack_id, sums] : by_stack_) {
        const SourceStacks::Stack& stack = stacks_.Of(stack_id);
        if (stack.empty()) continue;
        const size_t source = SourcePosition(stack);
        if (PlaceOf(stack[source]) != place) continue;
        any_deeper |= source >= frames;
        parts[PlaceOf(stack[source - std::min(source, frames)])] += sums.ns;
      }
      if (!any_deeper) break;
      const bool divides = std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
        return 10 * part.second <= kMaxTenthsPerLine * all;
      });
      if (divides) {
        deeper[place] = frames;
        break;
      }
    }
  }
  std::map<std::pair<Place, Place>, ScopeFigure>
      figures;  // By line, and for divided lines, by the line below.
  for (const auto& [stack_id, sums] : by_stack_) {
    const SourceStacks::Stack& stack = stacks_.Of(stack_id);
    Place place, below;
    const Frame* source = nullptr;
    if (!stack.empty()) {
      const size_t position = SourcePosition(stack);
      source = &stack[position];
      place = PlaceOf(*source);
      if (const auto divided = deeper.find(place); divided != deeper.end()) {
        below = PlaceOf(stack[position - std::min(position, divided->second)]);
      }
    }
    ScopeFigure& figure = figures[{place, below}];
    figure.name = place.first;
    figure.line = place.second;
    if (source != nullptr) figure.function = source->function;
    figure.ns += sums.ns;
    figure.estimated_ns += sums.estimated_ns;
    for (size_t p = 0; p < sums.phases.size(); ++p) figure.phases[p] += sums.phases[p];
    figure.inclusive_ns = below.first.empty() ? inclusive[place] : figure.ns;
    if (stack.empty()) figure.inclusive_ns = figure.ns;
    if (below.first.empty()) {
      SetVia(via[place], &figure.via_file, &figure.via_line);
    } else if (below != place) {
      figure.via_file = below.first;
      figure.via_line = below.second;
    }
  }
  std::vector<ScopeFigure> lines;
  for (auto& [key, figure] : figures) lines.push_back(std::move(figure));
  // Lines that only call others.
  for (const auto& [place, ns] : inclusive) {
    if (own.contains(place)) continue;
    lines.push_back({.name = place.first, .line = place.second, .inclusive_ns = ns});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const ScopeFigure& a, const ScopeFigure& b) {
    return std::tie(a.ns, a.inclusive_ns) > std::tie(b.ns, b.inclusive_ns);
  });
  return lines;
}

std::vector<StackFigure> SourceFigures::Tree() const {
  TreeNode root;
  int64_t without_ns = 0;
  for (const auto& [stack_id, sums] : by_stack_) {
    const SourceStacks::Stack& stack = stacks_.Of(stack_id);
    if (stack.empty()) {
      without_ns += sums.ns;
      continue;
    }
    TreeNode* at = &root;
    for (size_t k = stack.size(); k-- > 0;) {
      const Frame& frame = stack[k];
      if (!frame.is_user && !frame.is_source) continue;
      std::unique_ptr<TreeNode>& child = at->children[{frame.file, frame.line, frame.function}];
      if (!child) child = std::make_unique<TreeNode>();
      at = child.get();
      at->frame = &frame;
      at->ns += sums.ns;
    }
    at->self_ns += sums.ns;
    if (!stack.front().is_source) at->via[PlaceOf(stack.front())] += sums.ns;
  }
  std::vector<StackFigure> figures;
  AddNodes(root, 0, &figures);
  if (without_ns > 0) figures.push_back({.ns = without_ns, .self_ns = without_ns});
  return figures;
}

}  // namespace xlatrace::report
