// SPDX-License-Identifier: Apache-2.0
#include "analysis/range_paths.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace xlatrace::analysis {
namespace {

constexpr size_t kMaxShownNames = 4;
constexpr size_t kMaxShownNamesWithFrames = 5;  // The function's line is between its modules.
constexpr std::string_view kModule = "nn.Module: ";
// Limit of ranges that overlap without nesting and are open at once; further ones are left out.
constexpr size_t kMaxLooseRanges = 64;

bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// ", seq = 12": where the first of these begins.
size_t DecorationsAt(std::string_view text) {
  for (size_t at = text.find(", "); at != text.npos; at = text.find(", ", at + 2)) {
    size_t end = at + 2;
    while (end < text.size() && (IsLower(text[end]) || IsUpper(text[end]) || text[end] == '_')) {
      ++end;
    }
    if (end > at + 2 && text.substr(end).starts_with(" = ")) return at;
  }
  return text.size();
}

// `aten::addmm`, `c10d::allreduce_`: the framework's own op. FSDP::forward is a module's.
bool IsFrameworkOp(std::string_view name) {
  const size_t colons = name.find("::");
  return colons != name.npos && colons > 0 && IsLower(name[0]) &&
         std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colons),
                     [](char c) { return IsLower(c) || IsDigit(c) || c == '_'; });
}

}  // namespace

std::string RangeWords(std::string_view text) {
  constexpr std::string_view kBefore = " #_.-/=:[(";
  constexpr std::string_view kAfter = " #_.-/=:])>,";
  text = text.substr(0, DecorationsAt(text));
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    const bool address = text.substr(at).starts_with("0x");
    if (address) end += 2;
    while (end < text.size() && (address ? IsHex(text[end]) : IsDigit(text[end]))) ++end;
    const bool begins = at == 0 || kBefore.find(text[at - 1]) != kBefore.npos;
    const bool ends = end == text.size() || kAfter.find(text[end]) != kAfter.npos;
    const bool line = text.substr(0, at).ends_with(".py(");
    if (end > at && begins && ends && !line) {
      out += '*';
    } else {
      end = std::max(end, at + 1);
      out += text.substr(at, end - at);
    }
    at = end;
  }
  return out;
}

bool IsRuntimeRange(std::string_view text) {
  for (const std::string_view prefix : {"cuda", "hip", "hsa_", "cu"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    return prefix.back() == '_' || (!text.empty() && IsUpper(text[0]));
  }
  return false;
}

bool IsPythonFrame(std::string_view text) {
  if (text.starts_with(kModule)) return true;
  const size_t line = text.find(".py(");
  if (line == text.npos) return false;
  size_t end = line + 4;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end > line + 4 && text.substr(end).starts_with("): ");
}

std::string_view ShortFrame(std::string_view text) {
  if (!IsPythonFrame(text)) return text;
  if (text.starts_with(kModule)) return text.substr(kModule.size());
  const size_t slash = text.rfind('/', text.find(".py("));
  return slash == text.npos ? text : text.substr(slash + 1);
}

std::vector<std::string_view> ShownNames(const std::vector<std::string_view>& names) {
  std::vector<std::string_view> kept;
  for (const std::string_view name : names) {
    const bool step_mark = name.starts_with("ProfilerStep");
    if ((kept.empty() || kept.back() != name) && !step_mark) kept.push_back(name);
  }
  if (kept.empty() && !names.empty()) return {names.back()};
  const bool has_frames = std::any_of(kept.begin(), kept.end(), IsPythonFrame);
  for (std::string_view& name : kept) name = ShortFrame(name);
  size_t left = has_frames ? kMaxShownNamesWithFrames : kMaxShownNames;
  if (kept.size() <= left) return kept;
  std::vector<bool> chosen(kept.size(), false);
  const auto choose = [&](size_t i) {
    if (left == 0 || chosen[i]) return;
    chosen[i] = true;
    --left;
  };
  choose(kept.size() - 1);
  const auto op = std::find_if(kept.begin(), kept.end(), IsFrameworkOp);
  if (op != kept.end()) choose(static_cast<size_t>(op - kept.begin()));
  for (size_t i = kept.size(); i-- > 0;) {
    if (!IsFrameworkOp(kept[i])) choose(i);
  }
  for (size_t i = 0; i < kept.size(); ++i) choose(i);
  std::vector<std::string_view> shown;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (chosen[i]) shown.push_back(kept[i]);
  }
  return shown;
}

void RangePaths::Sweep::Restart() {
  last_start_ns = INT64_MIN;
  last_end_ns = INT64_MAX;
  next_question_ = 0;
  open_.clear();
  loose_ = 0;
}

void RangePaths::Sweep::Add(RangePaths& paths, const Range& range) {
  ResolveBefore(paths, range.start_ns);
  CloseUntil(range.start_ns);
  const bool loose = !open_.empty() && range.end_ns > open_.back().end_ns;
  if (loose && loose_ == kMaxLooseRanges) return;
  loose_ += loose ? 1 : 0;
  open_.push_back({range.end_ns, range.text, 0});
}

void RangePaths::Sweep::Finish(RangePaths& paths) {
  // Stable: of ranges with the same times the one that was recorded first is around the other.
  std::stable_sort(held.begin(), held.end(), [](const Range& a, const Range& b) {
    return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
  });
  for (const Range& range : held) Add(paths, range);
  held = {};
  ResolveBefore(paths, INT64_MAX);
}

void RangePaths::Sweep::ResolveBefore(RangePaths& paths, int64_t time_ns) {
  for (; next_question_ < questions.size(); ++next_question_) {
    Question& question = questions[next_question_];
    if (question.time_ns >= time_ns) return;
    CloseUntil(question.time_ns);
    question.path = Path(paths);
  }
}

void RangePaths::Sweep::CloseUntil(int64_t time_ns) {
  while (!open_.empty()) {
    size_t first = open_.size() - 1;
    // Where all nest the innermost ends first.
    for (size_t i = first; loose_ > 0 && i-- > 0;) {
      if (open_[i].end_ns < open_[first].end_ns) first = i;
    }
    if (open_[first].end_ns > time_ns) return;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(first));
    for (size_t i = first; i < open_.size(); ++i) open_[i].path = 0;
    if (loose_ > 0) CountLoose();
  }
}

void RangePaths::Sweep::CountLoose() {
  loose_ = 0;
  for (size_t i = 1; i < open_.size(); ++i) loose_ += open_[i].end_ns > open_[i - 1].end_ns;
}

uint32_t RangePaths::Sweep::Path(RangePaths& paths) {
  size_t known = open_.size();
  while (known > 0 && open_[known - 1].path == 0) --known;
  for (size_t i = known; i < open_.size(); ++i) {
    open_[i].path = paths.PathOf(i == 0 ? 0 : open_[i - 1].path, open_[i].text);
  }
  return open_.empty() ? 0 : open_.back().path;
}

uint32_t RangePaths::AddText(std::string_view text) {
  if (IsRuntimeRange(text)) return 0;
  std::string words = RangeWords(text);
  if (words.empty()) return 0;
  const auto [at, fresh] =
      text_numbers_.try_emplace(std::move(words), static_cast<uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(at->first);
  return at->second;
}

void RangePaths::AddQuestion(uint32_t thread, const Question& question) {
  if (thread >= threads_.size()) threads_.resize(size_t{thread} + 1);
  threads_[thread].questions.push_back(question);
}

bool RangePaths::AddRange(uint32_t thread, uint32_t text, int64_t start_ns, int64_t end_ns) {
  if (text == kNoTextId || end_ns <= start_ns) return true;
  if (thread >= threads_.size() || threads_[thread].questions.empty()) return true;
  Sweep& sweep = threads_[thread];
  if (any_order_) {
    sweep.held.push_back({start_ns, end_ns, text});
    return true;
  }
  disordered_ = std::tie(start_ns, sweep.last_end_ns) < std::tie(sweep.last_start_ns, end_ns);
  if (disordered_) return false;
  sweep.last_start_ns = start_ns;
  sweep.last_end_ns = end_ns;
  sweep.Add(*this, {start_ns, end_ns, text});
  return true;
}

Status RangePaths::Answer(const std::function<Status()>& add_ranges) {
  const auto before = [](const Question& a, const Question& b) { return a.time_ns < b.time_ns; };
  for (Sweep& sweep : threads_) {
    if (!std::is_sorted(sweep.questions.begin(), sweep.questions.end(), before)) {
      std::sort(sweep.questions.begin(), sweep.questions.end(), before);
    }
  }
  XLATRACE_TRY(add_ranges());
  if (disordered_) {
    any_order_ = true;
    for (Sweep& sweep : threads_) sweep.Restart();
    XLATRACE_TRY(add_ranges());
  }
  for (Sweep& sweep : threads_) sweep.Finish(*this);
  return {};
}

void RangePaths::ForEachAnswer(const std::function<void(const Question&)>& row) const {
  for (const Sweep& sweep : threads_) {
    for (const Question& question : sweep.questions) row(question);
  }
}

uint32_t RangePaths::PathOf(uint32_t parent, uint32_t text) {
  const uint64_t key = uint64_t{parent} << 32 | text;
  const auto [at, fresh] = path_numbers_.try_emplace(key, static_cast<uint32_t>(paths_.size()));
  if (fresh) paths_.emplace_back(parent, text);
  return at->second;
}

std::string RangePaths::Text(uint32_t path, bool whole) const {
  std::vector<std::string_view> names;
  for (; path != 0; path = paths_[path].first) names.emplace_back(texts_[paths_[path].second]);
  std::reverse(names.begin(), names.end());
  std::string text;
  for (const std::string_view name : whole ? names : ShownNames(names)) {
    if (!text.empty()) text += " > ";
    text += name;
  }
  return text;
}

}  // namespace xlatrace::analysis
