// SPDX-License-Identifier: Apache-2.0

// Large arrays on huge pages, where the system lends them on request.
//
// Columns of millions of rows are written once from front to back. With pages of 4 KB, an import of
// eight million rows has 60,000 page faults, which take a sixth of its time. All containers
// allocate through operator new, so it is replaced. If huge pages are disabled, nothing changes
// (Linux: Documentation/admin-guide/mm/transhuge.rst). A sanitizer's own operator new stays.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

#if defined(__has_feature)  // Clang detects sanitizers this way.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define XLATRACE_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XLATRACE_SANITIZED 1
#endif

#ifndef XLATRACE_SANITIZED

namespace {

// Two huge pages of x86-64. Too small a part of a smaller block lies on whole huge pages.
constexpr std::size_t kMinHugeBlockBytes = std::size_t{4} << 20;

void RequestHugePages(void* block, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(block) + bytes) / page * page;
  // A refusal costs speed only.
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  if (bytes >= kMinHugeBlockBytes) RequestHugePages(block, bytes);
  return block;
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t /*bytes*/) noexcept { std::free(block); }

#endif
