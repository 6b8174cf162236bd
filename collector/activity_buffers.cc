// SPDX-License-Identifier: Apache-2.0
#include "collector/activity_buffers.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <sys/mman.h>

#include "collector/lock.h"

namespace xlatrace::collector {

void ActivityBuffers::SetDevices(int devices) {
  if (limit_is_set_) return;
  limit_ = kLimitBase + kLimitPerDevice * static_cast<size_t>(std::max(devices, 1));
}

// With the lock held. Lowers the sum by what it is too old for.
void ActivityBuffers::Age(Rate& rate, uint64_t now_ns) const {
  const uint64_t passed = now_ns - std::min(now_ns, rate.last_ns);
  rate.last_ns = now_ns;
  const uint64_t halvings = passed / fill_ns_;
  rate.recent_bytes = halvings < 63 ? rate.recent_bytes >> halvings : 0;
  // Between two halvings the sum falls in proportion to the time.
  rate.recent_bytes -= rate.recent_bytes / 2 * (passed % fill_ns_) / fill_ns_;
}

// With the lock held. A thread that fills r bytes per fill_ns_ has a sum of about 1.4 r. It fills
// half of that in 0.7 fill_ns_.
size_t ActivityBuffers::WantedBytes(Rate& rate, uint64_t now_ns) const {
  const bool known = rate.last_ns != 0;
  Age(rate, now_ns);
  if (!known) return kFirstBytes;
  return std::clamp(std::bit_floor(std::max<size_t>(rate.recent_bytes / 2, 1)), kMinBytes,
                    kMaxBytes);
}

// With the lock held. The largest free buffer of `smallest` to `largest` bytes.
ActivityBuffers::Node* ActivityBuffers::TakeFree(size_t smallest, size_t largest) {
  for (size_t i = 0; i < kSizeCount; ++i) {
    if (kMaxBytes >> i > largest || kMaxBytes >> i < smallest || free_[i] == nullptr) continue;
    Node* node = free_[i];
    free_[i] = node->next;
    free_bytes_ -= node->bytes;
    return node;
  }
  return nullptr;
}

ActivityBuffers::Buffer ActivityBuffers::Request(uintptr_t thread, uint64_t now_ns) {
  // Fibonacci hashing: addresses of threads differ in their middle bits.
  const size_t entry = (thread * 0x9E3779B97F4A7C15u) >> (64 - kRateBits);
  const size_t limit = limit_.load(std::memory_order_relaxed);
  const size_t mapped = mapped_.load(std::memory_order_relaxed);
  // No buffer takes more than a part of what is left, so that each of a thousand threads gets one.
  constexpr size_t kRestPerBufferRatio = 64;
  const size_t most = std::max(
      std::bit_floor((limit - std::min(limit, mapped)) / kRestPerBufferRatio | 1), kMinBytes);
  size_t wanted = 0;
  Node* node = nullptr;
  {
    const Lock lock(&mutex_);
    wanted = std::min(WantedBytes(rates_[entry], now_ns), most);
    node = TakeFree(wanted, wanted);
    rates_[entry].recent_bytes += wanted;
  }
  if (node == nullptr) node = Map(wanted, limit);
  if (node == nullptr) {
    const Lock lock(&mutex_);
    node = TakeFree(kMinBytes, kMaxBytes);
  }
  if (node == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  node->next = nullptr;
  node->valid_bytes = 0;
  node->entry = entry;
  node->counts = thread != flushing_thread_.load(std::memory_order_relaxed);
  in_use_.fetch_add(node->counts ? 1 : 0, std::memory_order_relaxed);
  return {reinterpret_cast<uint8_t*>(node) + kHeaderBytes, node->bytes, 0};
}

ActivityBuffers::Node* ActivityBuffers::Map(size_t bytes, size_t limit) {
  const size_t before = mapped_.load(std::memory_order_relaxed);
  if (before + bytes > limit && may_refuse_) return nullptr;
  void* mapped = mmap(nullptr, bytes + kHeaderBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const size_t now = mapped_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  size_t most = most_mapped_.load(std::memory_order_relaxed);
  while (most < now && !most_mapped_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  Node* node = static_cast<Node*>(mapped);
  node->bytes = bytes;
  return node;
}

void ActivityBuffers::Completed(uint8_t* data, size_t, size_t valid_bytes) {
  if (data == nullptr) return;
  Node* node = reinterpret_cast<Node*>(data - kHeaderBytes);
  node->valid_bytes = std::min(valid_bytes, node->bytes);
  node->next = nullptr;
  completed_.fetch_add(1, std::memory_order_relaxed);
  in_use_.fetch_sub(node->counts ? 1 : 0, std::memory_order_relaxed);
  const Lock lock(&mutex_);
  // A flush returns buffers that are not full.
  uint64_t& recent = rates_[node->entry].recent_bytes;
  recent -= std::min<uint64_t>(recent, node->bytes - node->valid_bytes);
  (last_ == nullptr ? first_ : last_->next) = node;
  last_ = node;
}

bool ActivityBuffers::Take(Buffer* buffer) {
  const Lock lock(&mutex_);
  if (first_ == nullptr) return false;
  Node* node = first_;
  first_ = node->next;
  if (first_ == nullptr) last_ = nullptr;
  *buffer = {reinterpret_cast<uint8_t*>(node) + kHeaderBytes, node->bytes, node->valid_bytes};
  return true;
}

void ActivityBuffers::Recycle(const Buffer& buffer) {
  Node* node = reinterpret_cast<Node*>(buffer.data - kHeaderBytes);
  const size_t bytes = node->bytes;
  bool keep = false;
  {
    const Lock lock(&mutex_);
    keep = free_bytes_ + bytes <= kMaxFreeBytes;
    if (keep) free_bytes_ += bytes;
  }
  if (!keep) {
    munmap(node, bytes + kHeaderBytes);
    mapped_.fetch_sub(bytes, std::memory_order_relaxed);
    return;
  }
  // An attribute promises zeroed buffers. Without it CUPTI clears them on the program's threads.
  std::memset(buffer.data, 0, buffer.valid_bytes);
  size_t index = 0;
  while (index + 1 < kSizeCount && kMaxBytes >> index > bytes) ++index;
  const Lock lock(&mutex_);
  node->next = free_[index];
  free_[index] = node;
}

}  // namespace xlatrace::collector
