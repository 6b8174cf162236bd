// SPDX-License-Identifier: Apache-2.0
#include "importers/common/dropped_count.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "importers/common/text_fields.h"

namespace xlatrace::importers {
namespace {

constexpr int64_t kMaxDroppedCount = int64_t{1} << 40;

// Words in lower case; a number keeps its digits only ("1,204" is "1204").
std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool in_number = !words.back().empty() && std::isdigit(words.back().back() & 0x7F) != 0;
    if (c == ',' && in_number && i + 1 < text.size() &&
        std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) {
      continue;
    }
    if (std::isalnum(c) != 0) {
      words.back() += static_cast<char>(std::tolower(c));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

bool IsVerb(std::string_view word) {
  for (const std::string_view verb : {"drop", "dropped", "dropping", "lost", "discarded"}) {
    if (word == verb) return true;
  }
  return false;
}

}  // namespace

bool IsAboutOtherSource(std::string_view text) {
  // Sources of `nsys profile` besides CUDA (its options --trace, --sample, --cpuctxsw,
  // --gpu-metrics-devices), as single words.
  static constexpr std::string_view kSources[] = {
      "nvtx",   "osrt",     "os",     "cpu",     "sampling", "samples",  "backtrace", "backtraces",
      "opengl", "vulkan",   "openmp", "openacc", "mpi",      "ucx",      "perf",      "ftrace",
      "python", "graphics", "dx11",   "dx12",    "switch",   "switches", "metrics",   "syscall"};
  for (const std::string& word : WordsOf(text)) {
    if (word == "cuda" || word == "cupti") return false;
    if (std::find(std::begin(kSources), std::end(kSources), word) != std::end(kSources)) {
      return true;
    }
  }
  return false;
}

int64_t DroppedIn(std::string_view text) {
  const std::vector<std::string> words = WordsOf(text);
  bool says = false;
  int64_t sum = 0;
  const auto number = [&](size_t at) -> int64_t {
    if (at >= words.size()) return 0;
    const auto value = ParseInt(words[at]);
    return value && *value > 0 ? std::min(*value, kMaxDroppedCount) : 0;
  };
  size_t taken = 0;  // Words before this one are of an earlier statement.
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsVerb(words[i])) continue;
    says = true;
    // "512 [CUPTI] events [were] dropped", else "dropped 512 events".
    int64_t count = 0;
    for (size_t back = 1; back <= 4 && i >= taken + back && count == 0; ++back) {
      count = number(i - back);
    }
    size_t last = i;
    for (size_t on = 1; on <= 2 && count == 0; ++on) {
      count = number(i + on);
      if (count != 0) last = i + on;
    }
    sum = std::min(kMaxDroppedCount, sum + count);
    taken = last + 1;
  }
  if (!says) return 0;
  return std::max<int64_t>(sum, 1);
}

}  // namespace xlatrace::importers
