// SPDX-License-Identifier: Apache-2.0
#include "importers/chrome/trace_splitter.h"

#include <cstring>
#include <utility>

namespace xlatrace::importers {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr uint64_t kLowBitsMask = 0x0101010101010101u;
constexpr uint64_t kHighBitsMask = 0x8080808080808080u;

// High bit set (at least) in the first byte of `word` that equals `byte`.
constexpr uint64_t Matches(uint64_t word, uint8_t byte) {
  const uint64_t x = word ^ (kLowBitsMask * byte);
  return (x - kLowBitsMask) & ~x & kHighBitsMask;
}

uint64_t LoadWord(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

// First '"' or '\\' at or after `at`, `end` when there is none.
const char* FindQuote(const char* at, const char* end) {
  while (end - at >= 8) {
    const uint64_t word = LoadWord(at);
    const uint64_t hit = Matches(word, '"') | Matches(word, '\\');
    if (hit != 0) return at + __builtin_ctzll(hit) / 8;
    at += 8;
  }
  while (at < end && *at != '"' && *at != '\\') ++at;
  return at;
}

// Returns the first of "{}[] at or after `at`. Brackets and braces differ from each other only in
// bits 1, 2 and 5: {7B }7D [5B ]5D. So (c
// 0x26) == 0x7F holds for all four, and else only for Y, y, _ and DEL among printable characters.
// The caller rejects those.
const char* FindStructure(const char* at, const char* end) {
  while (end - at >= 8) {
    const uint64_t word = LoadWord(at);
    const uint64_t hit = Matches(word, '"') | Matches(word | (kLowBitsMask * 0x26), 0x7F);
    if (hit != 0) return at + __builtin_ctzll(hit) / 8;
    at += 8;
  }
  while (at < end && *at != '"' && (*at | 0x26) != 0x7F) ++at;
  return at;
}

}  // namespace

size_t TraceSplitter::SkipNested(std::string_view block, size_t start) {
  const char* at = block.data() + start;
  const char* const end = block.data() + block.size();
  while (at < end) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
        ++at;
        continue;
      }
      at = FindQuote(at, end);
      if (at == end) break;
      if (*at == '\\') {
        escaped_ = true;
      } else {
        in_string_ = false;
        if (depth_ == 0) return static_cast<size_t>(at + 1 - block.data());
      }
      ++at;
      continue;
    }
    if (depth_ > 0) {
      at = FindStructure(at, end);
      if (at == end) break;
    }
    switch (*at) {
      case '"':
        in_string_ = true;
        break;
      case '{':
      case '[':
        ++depth_;
        break;
      case '}':
      case ']':
        // The end of the value around a bare number.
        if (depth_ == 0) return static_cast<size_t>(at - block.data());
        if (--depth_ == 0) return static_cast<size_t>(at + 1 - block.data());
        break;
      case ',':
        if (depth_ == 0) return static_cast<size_t>(at - block.data());
        break;
      default:
        break;
    }
    ++at;
  }
  return std::string_view::npos;
}

void TraceSplitter::Append(std::string_view bytes) {
  if (skip_value_) return;
  std::string& target = mode_ == Mode::kEvent ? slice_ : value_;
  const size_t size = mode_ == Mode::kEvent ? slice_.size() - slice_committed_ : value_.size();
  if (size + bytes.size() > kMaxValueBytes) {
    skip_value_ = true;
    if (mode_ == Mode::kEvent) {
      slice_.resize(slice_committed_);
    } else {
      value_.clear();
    }
    return;
  }
  target.append(bytes);
}

void TraceSplitter::StartSlice() {
  if (output_.spare) slice_ = output_.spare();
  slice_.reserve(kSliceBytes + (kSliceBytes >> 2) + padding_);
  slice_ = '[';
  slice_committed_ = 1;
}

void TraceSplitter::EndEvent() {
  if (skip_value_) {
    ++oversized_;
    slice_.resize(slice_committed_);
  } else {
    slice_ += ',';
    slice_committed_ = slice_.size();
    if (slice_.size() >= kSliceBytes) FlushEvents();
  }
}

void TraceSplitter::FlushEvents() {
  if (slice_committed_ > 1) {
    slice_.resize(slice_committed_);
    slice_.back() = ']';
    slice_.reserve(slice_.size() + padding_);
    output_.events(std::move(slice_));
    slice_ = std::string();
  }
  StartSlice();
}

bool TraceSplitter::Feed(std::string_view block) {
  size_t at = 0;
  while (at < block.size()) {
    const char c = block[at];
    switch (mode_) {
      case Mode::kStart:
        if (IsSpace(c) || c == '\xEF' || c == '\xBB' || c == '\xBF') break;
        if (c != '{' && c != '[') return false;
        is_list_ = c == '[';
        mode_ = is_list_ ? Mode::kEvents : Mode::kKeys;
        if (is_list_) {
          found_events_ = true;
          StartSlice();
        }
        break;
      case Mode::kKeys:
        if (c == '"') {
          key_.clear();
          mode_ = Mode::kKeyText;
        } else if (c == '}') {
          mode_ = Mode::kEnd;
        } else if (!IsSpace(c) && c != ',') {
          return false;
        }
        break;
      case Mode::kKeyText:
        if (c == '"') {
          mode_ = Mode::kColon;
        } else if (key_.size() < 4096) {
          key_ += c;
        } else {
          return false;
        }
        break;
      case Mode::kColon:
        if (c == ':') mode_ = Mode::kValueStart;
        if (c != ':' && !IsSpace(c)) return false;
        break;
      case Mode::kValueStart:
        if (IsSpace(c)) break;
        if (c == '[' && key_ == "traceEvents") {
          found_events_ = true;
          mode_ = Mode::kEvents;
          if (slice_.empty()) StartSlice();
          break;
        }
        mode_ = Mode::kValue;
        depth_ = 0;
        in_string_ = escaped_ = skip_value_ = false;
        value_.clear();
        continue;  // The same byte again, as part of the value.
      case Mode::kValue:
      case Mode::kEvent: {
        const size_t end = SkipNested(block, at);
        Append(block.substr(at, end == std::string_view::npos ? end : end - at));
        if (end == std::string_view::npos) return true;
        if (mode_ == Mode::kEvent) {
          EndEvent();
          mode_ = Mode::kEvents;
        } else {
          if (skip_value_) {
            ++oversized_;
          } else {
            output_.member(key_, value_);
          }
          mode_ = Mode::kKeys;
        }
        at = end;
        continue;
      }
      case Mode::kEvents:
        if (c == ']') {
          mode_ = is_list_ ? Mode::kEnd : Mode::kKeys;
        } else if (c == '}') {
          return false;
        } else if (!IsSpace(c) && c != ',') {
          mode_ = Mode::kEvent;
          depth_ = 0;
          in_string_ = escaped_ = skip_value_ = false;
          continue;
        }
        break;
      case Mode::kEnd:
        // Text after the document is ignored: blanks, and the NUL of some writers.
        if (IsSpace(c) || c == '\0') break;
        has_more_ = true;
        return true;
    }
    ++at;
  }
  return true;
}

void TraceSplitter::Finish() {
  // Writers of the list form may leave out the ']' (Trace Event Format, "JSON Array Format").
  truncated_ = mode_ != Mode::kEnd && !(is_list_ && mode_ == Mode::kEvents);
  if (found_events_) FlushEvents();
}

}  // namespace xlatrace::importers
