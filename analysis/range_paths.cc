#include "analysis/range_paths.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace xlatrace::analysis {
namespace {

constexpr size_t kMostNames = 4;
// Ranges that overlap without nesting and are open at once; what comes on top is left out.
constexpr size_t kMostLoose = 64;

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

std::vector<std::string_view> ShownNames(const std::vector<std::string_view>& names) {
  std::vector<std::string_view> kept;
  for (const std::string_view name : names) {
    const bool step_mark = name.starts_with("ProfilerStep");
    if ((kept.empty() || kept.back() != name) && !step_mark) kept.push_back(name);
  }
  if (kept.empty() && !names.empty()) return {names.back()};
  if (kept.size() <= kMostNames) return kept;
  std::vector<bool> chosen(kept.size(), false);
  size_t left = kMostNames;
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

// The ranges of one thread by start, and the path between any two starts and ends.
class RangePaths::Sweep {
 public:
  Sweep(RangePaths& paths, Thread& thread) : paths_(paths), thread_(thread) {}

  void Run() {
    // Stable: of ranges with the same times the one that was recorded first is around the other.
    const auto before = [](const Range& a, const Range& b) {
      return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
    };
    // Most come in order, and sorting takes as much memory again as they do.
    if (!std::is_sorted(thread_.ranges.begin(), thread_.ranges.end(), before)) {
      std::stable_sort(thread_.ranges.begin(), thread_.ranges.end(), before);
    }
    for (const Range& range : thread_.ranges) {
      CloseUntil(range.start_ns);
      const bool loose = !open_.empty() && range.end_ns > open_.back().end_ns;
      if (loose && loose_ == kMostLoose) continue;
      loose_ += loose ? 1 : 0;
      open_.push_back({range.end_ns, range.text, paths_.PathOf(Top(), range.text)});
      Emit(range.start_ns);
    }
    CloseUntil(INT64_MAX);
    thread_.ranges = {};
    thread_.segments.shrink_to_fit();
  }

 private:
  struct Open {
    int64_t end_ns;
    uint32_t text, path;
  };

  uint32_t Top() const { return open_.empty() ? 0 : open_.back().path; }

  void CloseUntil(int64_t time_ns) {
    while (!open_.empty()) {
      size_t first = open_.size() - 1;
      // Where all nest the innermost ends first.
      for (size_t i = first; loose_ > 0 && i-- > 0;) {
        if (open_[i].end_ns < open_[first].end_ns) first = i;
      }
      const int64_t end_ns = open_[first].end_ns;
      if (end_ns > time_ns) return;
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(first));
      if (loose_ > 0) Rebuild(first);
      Emit(end_ns);
    }
  }

  // The paths above a range that has gone from below them.
  void Rebuild(size_t from) {
    for (size_t i = from; i < open_.size(); ++i) {
      open_[i].path = paths_.PathOf(i == 0 ? 0 : open_[i - 1].path, open_[i].text);
    }
    loose_ = 0;
    for (size_t i = 1; i < open_.size(); ++i) loose_ += open_[i].end_ns > open_[i - 1].end_ns;
  }

  void Emit(int64_t start_ns) {
    std::vector<Segment>& segments = thread_.segments;
    if (!segments.empty() && segments.back().start_ns == start_ns) segments.pop_back();
    const uint32_t before = segments.empty() ? 0 : segments.back().path;
    if (Top() != before) segments.push_back({start_ns, Top()});
  }

  RangePaths& paths_;
  Thread& thread_;
  std::vector<Open> open_;  // Outermost first.
  size_t loose_ = 0;        // Of them those that end after what is around them.
};

uint32_t RangePaths::AddText(std::string_view text) {
  if (IsRuntimeRange(text)) return 0;
  std::string words = RangeWords(text);
  if (words.empty()) return 0;
  const auto [at, fresh] =
      text_numbers_.try_emplace(std::move(words), static_cast<uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(at->first);
  return at->second;
}

void RangePaths::AddRange(uint32_t thread, uint32_t text, int64_t start_ns, int64_t end_ns) {
  if (text == 0 || end_ns <= start_ns) return;
  if (thread >= threads_.size()) threads_.resize(size_t{thread} + 1);
  threads_[thread].ranges.push_back({start_ns, end_ns, text});
}

void RangePaths::Finish() {
  for (Thread& thread : threads_) Sweep(*this, thread).Run();
}

uint32_t RangePaths::PathOf(uint32_t parent, uint32_t text) {
  const uint64_t key = uint64_t{parent} << 32 | text;
  const auto [at, fresh] = path_numbers_.try_emplace(key, static_cast<uint32_t>(paths_.size()));
  if (fresh) paths_.emplace_back(parent, text);
  return at->second;
}

uint32_t RangePaths::At(uint32_t thread, int64_t time_ns) const {
  if (thread >= threads_.size()) return 0;
  const std::vector<Segment>& segments = threads_[thread].segments;
  const auto after =
      std::upper_bound(segments.begin(), segments.end(), time_ns,
                       [](int64_t time, const Segment& s) { return time < s.start_ns; });
  return after == segments.begin() ? 0 : (after - 1)->path;
}

std::string RangePaths::Text(uint32_t path) const {
  std::vector<std::string_view> names;
  for (; path != 0; path = paths_[path].first) names.emplace_back(texts_[paths_[path].second]);
  std::reverse(names.begin(), names.end());
  std::string text;
  for (const std::string_view name : ShownNames(names)) {
    if (!text.empty()) text += " > ";
    text += name;
  }
  return text;
}

}  // namespace xlatrace::analysis
