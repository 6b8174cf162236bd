// Two functions that libstdc++.a and libgcc_eh.a take from a glibc newer than the oldest we run on.
// Hidden, so that they serve the program or library they are linked into and nobody else.

#define _GNU_SOURCE  // dl_iterate_phdr
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

// glibc 2.36. std::random_device falls back to it where there is no RDRAND.
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value)) {
  }
  return value;
}

// glibc 2.35. The unwinder asks for the .eh_frame_hdr of the object that holds a program counter;
// before 2.35 it walked the list of objects, as here. Fields: glibc manual, "Dynamic Linker
// Introspection".
struct xlatrace_found_object {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* link_map;
  void* eh_frame;
};

struct search {
  uintptr_t address;
  struct xlatrace_found_object* result;
};

static int visit(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  const struct search* search = data;
  uintptr_t start = UINTPTR_MAX;
  uintptr_t end = 0;
  uintptr_t eh_frame = 0;
  int inside = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    const uintptr_t at = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME) eh_frame = at;
    if (header->p_type != PT_LOAD) continue;
    if (at < start) start = at;
    if (at + header->p_memsz > end) end = at + header->p_memsz;
    if (search->address - at < header->p_memsz) inside = 1;
  }
  if (!inside || eh_frame == 0) return inside;
  search->result->flags = 0;
  search->result->map_start = (void*)start;
  search->result->map_end = (void*)end;
  search->result->link_map = NULL;  // Not asked for by the unwinder.
  search->result->eh_frame = (void*)eh_frame;
  return 2;
}

__attribute__((visibility("hidden"))) int xlatrace_dl_find_object(
    void* address, struct xlatrace_found_object* result) __asm__("_dl_find_object");
int xlatrace_dl_find_object(void* address, struct xlatrace_found_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(visit, &search) == 2 ? 0 : -1;
}
