// SPDX-License-Identifier: Apache-2.0
#include "collector/definitions.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "collector/lock.h"

namespace xlatrace::collector {
namespace {

// XLA registers a few MB per executable at once; a process that never starts CUDA keeps no more.
constexpr size_t kMaxWaitingBytes = 64 << 20;
constexpr size_t kMaxWaitingRows = 4 << 20;

void ClearText(Definition& definition) {
  std::visit(
      [](auto& row) {
        if constexpr (requires { row.row; }) row.text.clear();
      },
      definition);
}

void SetText(recording::StringRow& row, const std::string& text) { row.text = text; }
void SetText(recording::SchemaRow& row, const std::string& text) { row.name = text; }
void SetText(recording::PayloadRow& row, const std::string& text) { row.bytes = text; }
void SetText(recording::ThreadRow& row, const std::string& text) { row.name = text; }
void SetText(recording::StreamNameRow& row, const std::string& text) { row.name = text; }

}  // namespace

void Definitions::Add(Definition definition, size_t text_bytes) {
  const Lock lock(&mutex_);
  if (waiting_.size() >= kMaxWaitingRows) {
    __atomic_fetch_add(&dropped_texts_, 1, __ATOMIC_RELAXED);
    return;
  }
  if (waiting_bytes_ + text_bytes > kMaxWaitingBytes) {
    __atomic_fetch_add(&dropped_texts_, 1, __ATOMIC_RELAXED);
    ClearText(definition);
    text_bytes = 0;
  }
  __atomic_store_n(&waiting_bytes_, waiting_bytes_ + text_bytes, __ATOMIC_RELAXED);
  waiting_.push_back(std::move(definition));
}

void Definitions::Take(std::vector<Definition>* to) {
  to->clear();
  const Lock lock(&mutex_);
  to->swap(waiting_);
  __atomic_store_n(&waiting_bytes_, size_t{0}, __ATOMIC_RELAXED);
}

void Write(const Definition& definition, recording::Writer& writer) {
  std::visit(
      [&](const auto& item) {
        if constexpr (requires { item.row; }) {
          auto row = item.row;
          const std::string_view text = item.text;
          const size_t split = std::min(text.find('\0'), text.size());
          const std::string_view second = text.substr(std::min(split + 1, text.size()));
          if constexpr (requires { row.key; }) {
            row.key = text.substr(0, split);
            row.value = second;
          } else if constexpr (requires { row.uuid; }) {
            row.name = text.substr(0, split);
            row.uuid = second;
          } else {
            SetText(row, item.text);
          }
          writer.Add(row);
        } else {
          writer.Add(item);
        }
      },
      definition);
}

}  // namespace xlatrace::collector
