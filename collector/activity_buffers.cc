// SPDX-License-Identifier: Apache-2.0
#include "collector/activity_buffers.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <sys/mman.h>

#include "collector/lock.h"

namespace xlatrace::collector {
namespace {

constexpr size_t kLargest = size_t{4} << 20;
constexpr size_t kClasses = 8;  // 4 MB, halved seven times: 32 KB.
constexpr size_t kLimit = size_t{144} << 20;

size_t ClassBytes(size_t index) { return kLargest >> index; }

// The more is mapped, the smaller the next buffer. A few threads get 4 MB each; a thousand threads
// with a buffer each fit as well.
size_t WantedClass(size_t mapped) {
  constexpr size_t kUpTo[] = {size_t{32} << 20, size_t{48} << 20, size_t{64} << 20,
                              size_t{80} << 20, size_t{96} << 20, size_t{104} << 20};
  size_t index = 0;
  while (index < std::size(kUpTo) && mapped >= kUpTo[index]) ++index;
  return index == std::size(kUpTo) ? kClasses - 1 : index;
}

}  // namespace

ActivityBuffers::Buffer ActivityBuffers::Request() {
  Node* node = nullptr;
  const size_t wanted = WantedClass(mapped_.load(std::memory_order_relaxed));
  {
    const Lock lock(&mutex_);
    // Of the wanted size if there is one, else any that lies about.
    for (size_t i = 0; i < kClasses && node == nullptr; ++i) {
      Node** list = &free_[(wanted + i) % kClasses];
      if (*list == nullptr) continue;
      node = *list;
      *list = node->next;
    }
  }
  if (node == nullptr) {
    const size_t bytes = ClassBytes(wanted);
    if (mapped_.load(std::memory_order_relaxed) + bytes > kLimit && may_refuse_) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    void* mapped =
        mmap(nullptr, bytes + kHeader, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    mapped_.fetch_add(bytes, std::memory_order_relaxed);
    node = static_cast<Node*>(mapped);
    node->bytes = bytes;
  }
  node->next = nullptr;
  node->valid_bytes = 0;
  return {reinterpret_cast<uint8_t*>(node) + kHeader, node->bytes, 0};
}

void ActivityBuffers::Completed(uint8_t* data, size_t, size_t valid_bytes) {
  if (data == nullptr) return;
  Node* node = reinterpret_cast<Node*>(data - kHeader);
  node->valid_bytes = std::min(valid_bytes, node->bytes);
  node->next = nullptr;
  completed_.fetch_add(1, std::memory_order_relaxed);
  const Lock lock(&mutex_);
  (last_ == nullptr ? first_ : last_->next) = node;
  last_ = node;
}

bool ActivityBuffers::Take(Buffer* buffer) {
  const Lock lock(&mutex_);
  if (first_ == nullptr) return false;
  Node* node = first_;
  first_ = node->next;
  if (first_ == nullptr) last_ = nullptr;
  *buffer = {reinterpret_cast<uint8_t*>(node) + kHeader, node->bytes, node->valid_bytes};
  return true;
}

void ActivityBuffers::Recycle(const Buffer& buffer) {
  // CUPTI is told that buffers come zeroed (it would clear them on the program's own threads).
  std::memset(buffer.data, 0, buffer.valid_bytes);
  Node* node = reinterpret_cast<Node*>(buffer.data - kHeader);
  size_t index = 0;
  while (index + 1 < kClasses && ClassBytes(index) > node->bytes) ++index;
  const Lock lock(&mutex_);
  node->next = free_[index];
  free_[index] = node;
}

}  // namespace xlatrace::collector
