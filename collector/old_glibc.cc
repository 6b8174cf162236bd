// SPDX-License-Identifier: Apache-2.0

// The static parts of GCC's runtime, built on a new glibc, ask for functions that older ones lack.
// They are here, inside the collector and the program only, so that these load with glibc 2.34 and
// later.
//
// Not linked into sanitizer builds, which bring a runtime of their own.

#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

// As struct dl_find_object of glibc 2.35 (dlfcn.h), which the unwinder of GCC 12 and later reads.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct Search {
  uintptr_t address;
  FoundObject* found;
};

int Look(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool inside = false;
  uintptr_t first = UINTPTR_MAX;
  uintptr_t last = 0;
  uintptr_t eh_frame = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) eh_frame = start;
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t end = start + header.p_memsz;
    inside = inside || (search->address >= start && search->address < end);
    first = start < first ? start : first;
    last = end > last ? end : last;
  }
  if (!inside || eh_frame == 0) return 0;
  search->found->flags = 0;
  search->found->map_start = reinterpret_cast<void*>(first);
  search->found->map_end = reinterpret_cast<void*>(last);
  search->found->map = nullptr;
  search->found->eh_frame = reinterpret_cast<void*>(eh_frame);
  return 1;
}

}  // namespace

extern "C" {

// glibc 2.35. Only the unwinder calls it, when memory is out: the slow way is good enough.
// (By an asm label: a new glibc's header declares it with its own type.)
int FindObject(void* address, FoundObject* found) __asm__("_dl_find_object");
int FindObject(void* address, FoundObject* found) {
  Search search = {reinterpret_cast<uintptr_t>(address), found};
  return dl_iterate_phdr(&Look, &search) == 1 ? 0 : -1;
}

// glibc 2.36. std::random_device, which nothing here uses, would call it.
uint32_t RandomNumber() __asm__("arc4random");
uint32_t RandomNumber() {
  uint32_t value = 0;
  if (getentropy(&value, sizeof(value)) != 0) std::abort();
  return value;
}
}
