// SPDX-License-Identifier: Apache-2.0
#include "collector/string_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collector/lock.h"
#include "recording/format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace xlatrace::collector {
namespace {

constexpr uint8_t kKindMask = 0x07;
constexpr uint8_t kPayloadSeenFlag = 0x08;
// Past this many different texts, texts are written again rather than remembered.
constexpr size_t kMaxCachedStrings = 1 << 20;

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// A name of TensorFlow's graphs, a colon and the type of the op.
bool IsOp(std::string_view text) {
  text = text.substr(0, text.find('#'));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  const auto letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const std::string_view name = text.substr(0, colon);
  const std::string_view type = text.substr(colon + 1);
  return std::all_of(type.begin(), type.end(), letter_or_digit) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return letter_or_digit(c) || c == '/' || c == '.' || c == '-' || c == '>' || c == '^';
         });
}

// 64 bits of a 128-bit hash: a million texts collide with probability 3e-8.
uint64_t HashOf(std::string_view text) { return XXH3_128bits(text.data(), text.size()).low64; }

}  // namespace

RangeKind RangeKindOf(std::string_view text) {
  // Before mid-2023 XLA's TSL wrote the domain into the text.
  if (StartsWith(text, "TSL:")) text.remove_prefix(4);
  if (StartsWith(text, "Thunk:#")) return RangeKind::kThunk;
  if (StartsWith(text, "XlaModule:#")) return RangeKind::kModule;
  if (StartsWith(text, "Xla") && text.find(":#") != std::string_view::npos) {
    return RangeKind::kCompiler;
  }
  if (IsOp(text)) return RangeKind::kOp;
  return RangeKind::kOther;
}

std::atomic<uint8_t>* StringTable::Flags(uint32_t id) const {
  std::atomic<uint8_t>* chunk = chunks_[id >> kChunkBits].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : chunk + (id & ((1u << kChunkBits) - 1));
}

uint32_t StringTable::NewId(RangeKind kind) {
  const uint32_t id = next_id_.load(std::memory_order_relaxed);
  if (id >= kMaxId) return 0;
  auto& chunk = chunks_[id >> kChunkBits];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    chunk.store(new std::atomic<uint8_t>[1u << kChunkBits](), std::memory_order_release);
  }
  Flags(id)->store(static_cast<uint8_t>(kind), std::memory_order_relaxed);
  next_id_.store(id + 1, std::memory_order_release);
  return id;
}

uint32_t StringTable::Register(std::string_view text, uint32_t domain, uint32_t thread) {
  const uint64_t hash = HashOf(text);
  recording::StringRow row;
  row.role = recording::StringRole::kRegistered;
  row.domain = domain;
  row.thread = thread;
  row.full_bytes = text.size();
  registered_.fetch_add(1, std::memory_order_relaxed);
  if (text.size() > recording::kMaxTextBytes) cut_.fetch_add(1, std::memory_order_relaxed);
  // The lock is kept until the row is queued: the order of the rows is the order of the ids.
  const Lock lock(&mutex_);
  row.id = NewId(RangeKindOf(text));
  if (row.id == 0) return 0;
  if (const auto found = first_with_.find(hash); found != first_with_.end()) {
    row.same_as = found->second;
    definitions_->Add(Owned<recording::StringRow>{row, std::string()}, 0);
    return row.id;
  }
  if (first_with_.size() < kMaxCachedStrings) first_with_.emplace(hash, row.id);
  std::string stored(text.substr(0, recording::kMaxTextBytes));
  const size_t bytes = stored.size();
  definitions_->Add(Owned<recording::StringRow>{row, std::move(stored)}, bytes);
  return row.id;
}

uint32_t StringTable::Intern(std::string_view text) {
  if (text.empty()) return 0;
  const uint64_t hash = HashOf(text);
  const Lock lock(&mutex_);
  if (const auto found = interned_.find(hash); found != interned_.end()) return found->second;
  recording::StringRow row;
  row.id = NewId(RangeKindOf(text));
  if (row.id == 0) return 0;
  row.full_bytes = text.size();
  if (interned_.size() < kMaxCachedStrings) interned_.emplace(hash, row.id);
  std::string stored(text.substr(0, recording::kMaxTextBytes));
  const size_t bytes = stored.size();
  definitions_->Add(Owned<recording::StringRow>{row, std::move(stored)}, bytes);
  return row.id;
}

RangeKind StringTable::KindOf(uint32_t id) const {
  if (!Contains(id)) return RangeKind::kOther;
  return static_cast<RangeKind>(Flags(id)->load(std::memory_order_relaxed) & kKindMask);
}

bool StringTable::MarkPayload(uint32_t id) {
  if (!Contains(id)) return false;
  std::atomic<uint8_t>* flags = Flags(id);
  if ((flags->load(std::memory_order_relaxed) & kPayloadSeenFlag) != 0) return false;
  return (flags->fetch_or(kPayloadSeenFlag, std::memory_order_relaxed) & kPayloadSeenFlag) == 0;
}

}  // namespace xlatrace::collector
