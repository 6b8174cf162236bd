// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/program/thunk_program.h"

#include <algorithm>

#include "correlator/kernel_symbols.h"

namespace xlatrace::correlator {

using model::kNoIndex;

void ThunkProgram::CountRequired() {
  required_.assign(tokens_.size() + 1, 0);
  required_alone_.assign(tokens_.size() + 1, 0);
  std::vector<bool> in_region(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const ThunkToken& token = tokens_[i];
    const bool kernel = token.kind == ThunkKind::kKernel && !token.may_copy;
    in_region[i] = (kernel && token.graph == 0) || token.kind == ThunkKind::kGraph;
    required_[i + 1] = required_[i] + (in_region[i] && !token.optional ? 1 : 0);
    required_alone_[i + 1] = required_alone_[i] + (kernel && !token.optional ? 1 : 0);
  }
  required_kernels_ = required_.back();
  regions_.Count(in_region);
  for (Loop& loop : loops_) regions_.CountLoop(&loop.regions);
}

void ThunkProgram::TakeEachOnce() {
  loops_.clear();
  regions_.Clear();
  for (ThunkToken& token : tokens_) {
    if (token.kind == ThunkKind::kKernel) token.optional = false;
  }
  CountRequired();
}

void ThunkProgram::IndexInstructions() {
  by_instruction_.clear();
  for (uint32_t t = 0; t < tokens_.size(); ++t) {
    by_instruction_.emplace_back(tokens_[t].instruction, t);
  }
  std::sort(by_instruction_.begin(), by_instruction_.end());
}

bool ThunkProgram::Renumber(const std::function<uint32_t(uint32_t)>& number) {
  std::vector<uint32_t> numbers;
  for (const ThunkToken& token : tokens_) {
    numbers.push_back(number(token.instruction));
    if (numbers.back() == kNoIndex) return false;
  }
  for (size_t t = 0; t < tokens_.size(); ++t) tokens_[t].instruction = numbers[t];
  IndexInstructions();
  return true;
}

void ThunkProgram::SettleKernels(const std::vector<bool>& tokens) {
  for (size_t i = 0; i < tokens_.size() && i < tokens.size(); ++i) {
    if (tokens[i]) tokens_[i].may_copy = false;
  }
  CountRequired();
}

ThunkProgram::Unobserved ThunkProgram::NotObserved(
    const std::function<bool(std::string_view)>& observed) const {
  Unobserved classes(classes_.size());
  for (size_t c = 0; c < classes_.size(); ++c) {
    for (const uint32_t token : classes_[c]) {
      if (!observed(own_symbol_[token])) classes[c].push_back(token);
    }
  }
  return classes;
}

std::vector<uint32_t> ThunkProgram::Matches(const model::LaunchConfig& config,
                                            const Unobserved& unobserved) const {
  const std::string_view symbol = PlainSymbol(config.symbol);
  auto it = by_symbol_.find(symbol);
  bool tail = false;
  if (it == by_symbol_.end() && !from_thunk_list_) {
    it = by_symbol_.find(WithoutUniqueTail(symbol));
    tail = true;
  }
  if (it == by_symbol_.end()) return {};
  std::vector<uint32_t> found;
  for (const uint32_t owner : it->second) {
    const ThunkToken& token = tokens_[owner];
    bool fits = true;
    for (int d = 0; d < 3; ++d) {
      fits &= token.grid[d] == 0 || config.grid[d].value_or(token.grid[d]) == token.grid[d];
      fits &= token.block[d] == 0 || config.block[d].value_or(token.block[d]) == token.block[d];
    }
    if (!fits) continue;
    found.push_back(owner);
    if (from_thunk_list_ || tail || class_of_[owner] == kNoIndex) continue;
    const std::vector<uint32_t>& members = unobserved[class_of_[owner]];
    for (auto m = std::upper_bound(members.begin(), members.end(), owner); m != members.end();
         ++m) {
      if (own_symbol_[*m] != symbol) found.push_back(*m);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<uint32_t> ThunkProgram::Graphs() const {
  std::vector<uint32_t> graphs;
  for (uint32_t t = 0; t < tokens_.size(); ++t) {
    if (tokens_[t].kind == ThunkKind::kGraph) graphs.push_back(t);
  }
  return graphs;
}

double ThunkProgram::CostNs(uint32_t first, uint32_t last) const {
  const std::vector<double> repeats = Repeats(first, last);
  double cost = 0;
  for (const uint32_t t : Covered(first, last)) cost += tokens_[t].cost_ns * repeats[t];
  return cost;
}

std::vector<uint32_t> ThunkProgram::TokensOf(uint32_t instruction) const {
  std::vector<uint32_t> found;
  auto it = std::lower_bound(by_instruction_.begin(), by_instruction_.end(),
                             std::pair<uint32_t, uint32_t>(instruction, 0));
  for (; it != by_instruction_.end() && it->first == instruction; ++it) found.push_back(it->second);
  return found;
}

const ThunkProgram::Loop* ThunkProgram::CommonLoop(uint32_t a, uint32_t b) const {
  for (const Loop& loop : loops_) {  // Inner loops precede outer ones.
    if (a >= loop.begin && a < loop.end && b >= loop.begin && b < loop.end) return &loop;
  }
  return nullptr;
}

std::vector<uint32_t> ThunkProgram::Unrolled(size_t most) const {
  std::vector<bool> opens_loop(tokens_.size());
  for (const Loop& loop : loops_) opens_loop[loop.begin] = true;
  std::vector<uint32_t> unrolled;
  UnrollInto(0, static_cast<uint32_t>(tokens_.size()), loops_.size(), most, opens_loop, &unrolled);
  return unrolled;
}

// `loops`: only loops before this index may begin here; they are inside of it or beside it.
void ThunkProgram::UnrollInto(uint32_t begin, uint32_t end, size_t loops, size_t most,
                              const std::vector<bool>& opens_loop,
                              std::vector<uint32_t>* out) const {
  for (uint32_t t = begin; t < end;) {
    size_t inner = opens_loop[t] ? loops : 0;
    while (inner > 0 && !(loops_[inner - 1].begin == t && loops_[inner - 1].end <= end)) --inner;
    if (inner == 0) {
      out->push_back(t++);
      continue;
    }
    const Loop& loop = loops_[inner - 1];
    for (int64_t trip = 0; trip < loop.trips && (trip == 0 || out->size() < most); ++trip) {
      UnrollInto(loop.begin, loop.end, inner - 1, most, opens_loop, out);
    }
    t = loop.end;
  }
}

bool ThunkProgram::KernelsBetween(uint32_t from, uint32_t to, size_t most,
                                  std::vector<uint32_t>* kernels,
                                  std::vector<uint32_t>* optional) const {
  const uint32_t begin = from == kStartIndex ? 0 : from + 1;
  if (from != kStartIndex && from >= to) return false;
  std::vector<bool> opens_loop(tokens_.size());
  for (const Loop& loop : loops_) {
    const bool holds_from = from != kStartIndex && from >= loop.begin && from < loop.end;
    const bool holds_to = to >= loop.begin && to < loop.end;
    if (holds_from != holds_to) return false;
    if (holds_from || loop.end <= begin || loop.begin >= to) continue;
    if (!loop.counted) return false;
    opens_loop[loop.begin] = true;
  }
  std::vector<uint32_t> unrolled;
  UnrollInto(begin, to, loops_.size(), most, opens_loop, &unrolled);
  if (unrolled.size() >= most) return false;
  for (const uint32_t t : unrolled) {
    const bool graph = tokens_[t].kind == ThunkKind::kGraph;
    if (!graph && (tokens_[t].kind != ThunkKind::kKernel || tokens_[t].may_copy)) continue;
    if (tokens_[t].graph != 0 && !graph) continue;  // The graph represents it.
    (tokens_[t].optional ? optional : kernels)->push_back(t);
  }
  std::sort(optional->begin(), optional->end());
  optional->erase(std::unique(optional->begin(), optional->end()), optional->end());
  return true;
}

bool ThunkProgram::InLoopWithout(uint32_t token, uint32_t other) const {
  return std::any_of(loops_.begin(), loops_.end(), [&](const Loop& loop) {
    const auto holds = [&](uint32_t t) { return t >= loop.begin && t < loop.end; };
    return holds(token) && !holds(other);
  });
}

bool ThunkProgram::MarkersBetween(uint32_t from, uint32_t to, size_t most,
                                  std::vector<uint32_t>* markers) const {
  if (from != kStartIndex && (from >= to || InLoopWithout(from, to))) return false;
  if (InLoopWithout(to, from)) return false;
  const uint32_t begin = from == kStartIndex ? 0 : from + 1;
  std::vector<bool> opens_loop(tokens_.size());
  std::vector<bool> skipped(tokens_.size());
  for (const Loop& loop : loops_) {
    if (loop.begin < begin || loop.end > to) continue;
    opens_loop[loop.begin] = true;
    if (!loop.counted) std::fill_n(skipped.begin() + loop.begin, loop.end - loop.begin, true);
  }
  std::vector<uint32_t> unrolled;
  UnrollInto(begin, to, loops_.size(), most, opens_loop, &unrolled);
  if (unrolled.size() >= most) return false;
  for (const uint32_t t : unrolled) {
    if (IsRequired(t) && !skipped[t]) markers->push_back(t);
  }
  return true;
}

std::vector<uint32_t> ThunkProgram::Covered(uint32_t first, uint32_t last) const {
  std::vector<uint32_t> covered;
  const auto add = [&](uint32_t begin, uint32_t end) {
    for (uint32_t t = begin; t < end && t < tokens_.size(); ++t) covered.push_back(t);
  };
  const Loop* loop = last < first ? CommonLoop(first, last) : nullptr;
  if (loop != nullptr) {
    add(first, loop->end);
    add(loop->begin, last + 1);
  } else {
    add(std::min(first, last), std::max(first, last) + 1);
  }
  return covered;
}

std::vector<double> ThunkProgram::Repeats(uint32_t first, uint32_t last) const {
  std::vector<double> times(tokens_.size(), 1);
  for (const Loop& loop : loops_) {
    if (loop.begin < first || loop.end > last + 1) continue;
    for (uint32_t t = loop.begin; t < loop.end; ++t) times[t] *= static_cast<double>(loop.trips);
  }
  return times;
}

int64_t ThunkProgram::Skipped(uint32_t from, uint32_t to) const {
  if (from == kStartIndex) return regions_.SkippedFromStart(to);
  if (from < to) {
    const int64_t skipped = regions_.Skipped(from, to);
    if (skipped >= 0) return skipped;
  }
  const Loop* loop = CommonLoop(from, to);
  return loop == nullptr ? -1 : regions_.SkippedAround(loop->regions, from, to);
}

int64_t ThunkProgram::SkippedToEnd(uint32_t from) const {
  return from == kStartIndex ? regions_.total() : regions_.SkippedToEnd(from);
}

std::vector<uint32_t> ThunkProgram::Between(uint32_t from, uint32_t to) const {
  std::vector<uint32_t> between;
  const bool ends = to < tokens_.size();
  // If one branch of a conditional runs, the others do not.
  const auto add = [&](uint32_t begin, uint32_t end, bool behind_from, bool before_to) {
    for (uint32_t t = begin; t < end; ++t) {
      if (behind_from && from != kStartIndex && regions_.Exclusive(from, t)) continue;
      if (before_to && ends && regions_.Exclusive(t, to)) continue;
      between.push_back(t);
    }
  };
  // From `from` on, out of its loops that do not contain `within` and `to`.
  const auto add_leaving = [&](uint32_t end, const Loop* within, bool before_to) {
    std::vector<const Loop*> left;  // Innermost first.
    for (const Loop& loop : loops_) {
      if (loop.counted || from == kStartIndex || from < loop.body || from >= loop.end) continue;
      if (&loop != within && end >= loop.end) left.push_back(&loop);
    }
    std::sort(left.begin(), left.end(),
              [](const Loop* a, const Loop* b) { return a->end - a->begin < b->end - b->begin; });
    uint32_t begin = from == kStartIndex ? 0 : from + 1;
    for (const Loop* loop : left) {
      add(begin, loop->end, true, before_to);
      for (uint32_t t = loop->begin; t < loop->body; ++t) between.push_back(t);
      begin = loop->end;
    }
    add(begin, end, true, before_to);
  };
  const bool forward =
      from == kStartIndex || (from < to && (!ends || !regions_.Exclusive(from, to)));
  if (forward) {
    add_leaving(to, nullptr, true);
  } else if (const Loop* loop = CommonLoop(from, to)) {
    add_leaving(loop->end, loop, false);
    add(loop->begin, to, false, true);
  }
  return between;
}

std::vector<std::string_view> ThunkProgram::Symbols() const {
  std::vector<std::string_view> symbols;
  symbols.reserve(by_symbol_.size());
  for (const auto& [symbol, tokens] : by_symbol_) symbols.push_back(symbol);
  return symbols;
}

}  // namespace xlatrace::correlator
