// SPDX-License-Identifier: Apache-2.0

// Cache of parsed pieces of text. Shapes and opcodes repeat on nearly every line, so the result of
// the first parse is stored under the exact characters.

#ifndef XLATRACE_HLO_TEXT_TEXT_CACHE_H_
#define XLATRACE_HLO_TEXT_TEXT_CACHE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/name_table.h"

namespace xlatrace::hlo {

class TextCache {
 public:
  // The result stored for `text`; data() == nullptr if it is new.
  std::string_view Find(std::string_view text) const {
    const uint32_t at = table_.Find(text, [&](uint32_t index) { return entries_[index].text; });
    return at == model::kNoIndex ? std::string_view() : entries_[at].kept;
  }
  // Both must outlive the cache.
  void Add(std::string_view text, std::string_view kept) {
    const auto at = static_cast<uint32_t>(entries_.size());
    entries_.push_back({text, kept});
    table_.Insert(text, at, [&](uint32_t index) { return entries_[index].text; });
  }

 private:
  struct Entry {
    std::string_view text;
    std::string_view kept;
  };
  NameTable table_;
  std::vector<Entry> entries_;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_TEXT_CACHE_H_
