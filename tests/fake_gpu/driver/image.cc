// SPDX-License-Identifier: Apache-2.0
#include "driver/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

namespace fakegpu {
namespace {

// Layouts: the ELF of cubins is that of `readelf` and `cuobjdump`. Attribute numbers (EIATTR_*) of
// .nv.info have the names of `nvdisasm`.
constexpr uint8_t kSized = 4;  // the attribute's two bytes are a length, the value follows
constexpr uint8_t kMaxThreads = 0x05, kRequiredThreads = 0x10, kFrameSize = 0x11, kParameter = 0x17,
                  kRegisterCount = 0x2f;

template <typename T>
T Read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

size_t ElfSize(const char* data) {
  const auto header = Read<Elf64_Ehdr>(data);
  size_t size = std::max(header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr),
                         header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section = Read<Elf64_Shdr>(data + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) {
      size = std::max<size_t>(size, section.sh_offset + section.sh_size);
    }
  }
  return size;
}

struct Attribute {
  uint8_t number;
  const char* value;
  size_t size;
};

std::vector<Attribute> Attributes(const char* at, size_t size) {
  std::vector<Attribute> found;
  const char* const end = at + size;
  while (end - at >= 4) {
    const auto format = static_cast<uint8_t>(at[0]);
    Attribute attribute{static_cast<uint8_t>(at[1]), at + 2, 2};
    const auto length = Read<uint16_t>(at + 2);
    at += 4;
    if (format == kSized) {
      if (end - at < length) break;
      attribute.value = at;
      attribute.size = length;
      at += length;
    }
    found.push_back(attribute);
  }
  return found;
}

bool ReadCubin(Image* image) {
  const char* const data = image->bytes.data();
  const size_t size = image->bytes.size();
  const auto header = Read<Elf64_Ehdr>(data);
  if (header.e_machine != 190 || header.e_shstrndx >= header.e_shnum) return false;  // EM_CUDA
  std::vector<Elf64_Shdr> sections;
  for (int i = 0; i < header.e_shnum; ++i) {
    sections.push_back(Read<Elf64_Shdr>(data + header.e_shoff + i * sizeof(Elf64_Shdr)));
  }
  auto text_at = [&](const Elf64_Shdr& strings, uint64_t offset) -> std::string {
    const uint64_t at = strings.sh_offset + offset;
    if (at >= size) return "";
    return std::string(data + at, strnlen(data + at, size - at));
  };
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  std::map<std::string, const Elf64_Shdr*> by_name;
  const Elf64_Shdr* symbols = nullptr;
  for (const Elf64_Shdr& section : sections) {
    by_name[text_at(names, section.sh_name)] = &section;
    if (section.sh_type == SHT_SYMTAB) symbols = &section;
  }
  if (symbols == nullptr || symbols->sh_link >= sections.size()) return false;
  const Elf64_Shdr& strings = sections[symbols->sh_link];

  std::map<uint32_t, size_t> kernel_of_symbol;
  for (uint64_t i = 0; i < symbols->sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = Read<Elf64_Sym>(data + symbols->sh_offset + i * sizeof(Elf64_Sym));
    const int type = ELF64_ST_TYPE(symbol.st_info);
    const std::string name = text_at(strings, symbol.st_name);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size()) continue;
    if (type == STT_FUNC && (symbol.st_other & 0x10) != 0) {  // STO_CUDA_ENTRY
      KernelImage kernel;
      kernel.name = name;
      // Older tool chains keep the register count here, newer ones in .nv.info.
      kernel.registers = static_cast<uint32_t>(sections[symbol.st_shndx].sh_info >> 24);
      kernel_of_symbol[static_cast<uint32_t>(i)] = image->kernels.size();
      image->kernels.push_back(std::move(kernel));
    } else if (type == STT_OBJECT) {
      const Elf64_Shdr& section = sections[symbol.st_shndx];
      GlobalImage global;
      global.name = name;
      global.size = symbol.st_size;
      const uint64_t at = section.sh_offset + symbol.st_value;
      if (section.sh_type != SHT_NOBITS && at + symbol.st_size <= size) {
        global.content.assign(data + at, symbol.st_size);
      }
      image->globals.push_back(std::move(global));
    }
  }

  if (const auto info = by_name.find(".nv.info"); info != by_name.end()) {
    for (const Attribute& a : Attributes(data + info->second->sh_offset, info->second->sh_size)) {
      if (a.size != 8) continue;
      const auto kernel = kernel_of_symbol.find(Read<uint32_t>(a.value));
      if (kernel == kernel_of_symbol.end()) continue;
      KernelImage& target = image->kernels[kernel->second];
      if (a.number == kRegisterCount) target.registers = Read<uint32_t>(a.value + 4) & 0xffff;
      if (a.number == kFrameSize) target.local_per_thread = Read<uint32_t>(a.value + 4);
    }
  }
  // From sm_80 on, 1 KB of every block's shared memory is the system's, and counted in the section.
  const bool reserved = by_name.count(".nv.shared.reserved.0") != 0;
  for (KernelImage& kernel : image->kernels) {
    if (const auto shared = by_name.find(".nv.shared." + kernel.name); shared != by_name.end()) {
      const auto bytes = static_cast<uint32_t>(shared->second->sh_size);
      kernel.static_smem = reserved && bytes >= 1024 ? bytes - 1024 : bytes;
    }
    const auto info = by_name.find(".nv.info." + kernel.name);
    if (info == by_name.end()) continue;
    for (const Attribute& a : Attributes(data + info->second->sh_offset, info->second->sh_size)) {
      if ((a.number == kMaxThreads || a.number == kRequiredThreads) && a.size == 12) {
        kernel.max_threads =
            Read<uint32_t>(a.value) * Read<uint32_t>(a.value + 4) * Read<uint32_t>(a.value + 8);
      } else if (a.number == kParameter && a.size == 12) {
        const auto ordinal = Read<uint16_t>(a.value + 4);
        if (ordinal >= 4096) continue;
        if (kernel.parameters.size() <= ordinal) kernel.parameters.resize(ordinal + 1u);
        kernel.parameters[ordinal] = {Read<uint16_t>(a.value + 6),
                                      Read<uint32_t>(a.value + 8) >> 18};
      }
    }
  }
  return true;
}

// Bytes of a PTX parameter like ".param .align 8 .b8 name[16]" or ".param .u64 name".
uint32_t PtxParameterSize(std::string_view text) {
  uint32_t element = 0, count = 1;
  for (size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    // A fundamental type: letter and bits.
    if (at + 2 >= text.size() || std::strchr("usfb", text[at + 1]) == nullptr) continue;
    const int bits = std::atoi(std::string(text.substr(at + 2, 3)).c_str());
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128)
      element = static_cast<uint32_t>(bits / 8);
  }
  if (const size_t bracket = text.find('['); bracket != std::string_view::npos) {
    count = static_cast<uint32_t>(std::atoi(std::string(text.substr(bracket + 1)).c_str()));
  }
  return element * count;
}

// ".visible .entry name(.param .u64 name_param_0, ...)" of PTX text.
void ReadPtx(Image* image) {
  const std::string& text = image->bytes;
  for (size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at + 6)) {
    const size_t begin = text.find_first_not_of(" \t\n", at + 6);
    if (begin == std::string::npos) return;
    const size_t end = text.find_first_of(" \t\n({;", begin);
    KernelImage kernel;
    kernel.name = text.substr(begin, end - begin);
    const size_t open = text.find_first_not_of(" \t\n", end);
    if (open != std::string::npos && text[open] == '(') {
      const size_t close = std::min(text.find(')', open), text.size());
      uint32_t offset = 0;
      for (size_t parameter = text.find(".param", open); parameter < close;) {
        const size_t next = text.find(".param", parameter + 1);
        const size_t stop = std::min(next, close);
        const uint32_t size =
            PtxParameterSize(std::string_view(text).substr(parameter, stop - parameter));
        const uint32_t alignment = std::clamp(size, 1u, 8u);
        offset = (offset + alignment - 1) / alignment * alignment;
        kernel.parameters.push_back({offset, size});
        offset += size;
        parameter = next;
      }
    }
    image->kernels.push_back(std::move(kernel));
  }
}

constexpr uint32_t kWrapperMagic = 0x466243b1, kFatbinMagic = 0xba55ed50;

// The LZ4 block format (lz4_Block_format.md of the LZ4 project), as `nvcc -compress` uses it.
std::string Lz4(const char* in, size_t in_size, size_t out_size) {
  std::string out;
  const char* const end = in + in_size;
  auto length = [&](size_t base) {
    if (base == 15) {
      uint8_t more = 255;
      while (more == 255 && in < end) base += more = static_cast<uint8_t>(*in++);
    }
    return base;
  };
  while (in < end && out.size() < out_size) {
    const auto token = static_cast<uint8_t>(*in++);
    const size_t literals = std::min<size_t>(length(token >> 4), static_cast<size_t>(end - in));
    out.append(in, literals);
    in += literals;
    if (end - in < 2) break;
    const auto distance = Read<uint16_t>(in);
    in += 2;
    const size_t match = length(token & 15) + 4;
    if (distance == 0 || distance > out.size()) return "";
    for (size_t i = 0; i < match; ++i) out.push_back(out[out.size() - distance]);
  }
  return out.size() == out_size ? out : "";
}

// The best entry for sm_90: a cubin of this architecture, else any cubin, else PTX.
std::string FromFatbin(const char* data) {
  const auto header_size = Read<uint16_t>(data + 6);
  const auto size = Read<uint64_t>(data + 8);
  std::string best;
  int best_rank = 0;
  for (const char *at = data + header_size, *end = at + size; end - at >= 64;) {
    const auto kind = Read<uint16_t>(at);
    const auto entry_header = Read<uint32_t>(at + 4);
    const auto payload = Read<uint64_t>(at + 8);
    const auto compressed = Read<uint32_t>(at + 16);
    const auto arch = Read<uint32_t>(at + 28);
    const auto flags = Read<uint64_t>(at + 40);
    const auto full = Read<uint64_t>(at + 56);
    const char* const body = at + entry_header;
    at = body + payload;
    const int rank = kind == 2 ? (arch == 90 ? 3 : 2) : 1;
    if (rank <= best_rank) continue;
    std::string bytes;
    if ((flags & 0x2000) != 0) {
      bytes = Lz4(body, compressed, full);
    } else if ((flags & 0x8000) == 0) {  // 0x8000: another compression
      bytes.assign(body, payload);
    }
    if (bytes.empty()) continue;
    best = std::move(bytes);
    best_rank = rank;
  }
  return best;
}

}  // namespace

std::shared_ptr<Image> ReadImage(const void* data) {
  auto image = std::make_shared<Image>();
  const char* at = static_cast<const char*>(data);
  if (Read<uint32_t>(at) == kWrapperMagic) at = Read<const char*>(at + 8);
  if (Read<uint32_t>(at) == kFatbinMagic) {
    image->bytes = FromFatbin(at);
  } else if (std::memcmp(at, ELFMAG, SELFMAG) == 0) {
    image->bytes.assign(at, ElfSize(at));
  } else {
    image->bytes.assign(at);  // PTX: text that ends with a zero byte
  }
  if (image->bytes.size() > sizeof(Elf64_Ehdr) &&
      std::memcmp(image->bytes.data(), ELFMAG, SELFMAG) == 0) {
    image->opaque = !ReadCubin(image.get());
  } else if (image->bytes.find(".version") != std::string::npos) {
    ReadPtx(image.get());
  } else {
    image->opaque = true;
  }
  return image;
}

}  // namespace fakegpu
