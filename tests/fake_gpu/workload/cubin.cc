// SPDX-License-Identifier: Apache-2.0
#include "workload/cubin.h"

#include <elf.h>

#include <cstring>

namespace fakegpu {
namespace {

struct Section {
  Elf64_Shdr header{};
  std::string bytes;
};

uint32_t Intern(std::string* table, const std::string& text) {
  const auto at = static_cast<uint32_t>(table->size());
  table->append(text);
  table->push_back('\0');
  return at;
}

template <typename T>
void Append(std::string* bytes, const T& value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string MakeCubin(const std::vector<CubinKernel>& kernels) {
  std::string names(1, '\0'), strings(1, '\0'), symbols(sizeof(Elf64_Sym), '\0'), info;
  std::vector<Section> sections(1);
  auto add = [&](const std::string& name, uint32_t type, std::string bytes) -> Section& {
    Section section;
    section.header.sh_name = Intern(&names, name);
    section.header.sh_type = type;
    section.header.sh_addralign = 1;
    section.header.sh_size = bytes.size();
    section.bytes = std::move(bytes);
    return sections.emplace_back(std::move(section));
  };
  for (size_t i = 0; i < kernels.size(); ++i) {
    const CubinKernel& kernel = kernels[i];
    Elf64_Sym symbol{};
    symbol.st_name = Intern(&strings, kernel.name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = 0x10;  // STO_CUDA_ENTRY
    symbol.st_shndx = static_cast<uint16_t>(sections.size());
    symbol.st_size = 16;
    Append(&symbols, symbol);
    // EIATTR_REGCOUNT: four bytes of header, then symbol and count.
    Append(&info, uint32_t{0x00082f04});
    Append(&info, static_cast<uint32_t>(i + 1));
    Append(&info, kernel.registers);
    add(".text." + kernel.name, SHT_PROGBITS, std::string(16, '\0'));
    if (kernel.static_smem != 0) {
      Section& shared = add(".nv.shared." + kernel.name, SHT_NOBITS, "");
      shared.header.sh_size = kernel.static_smem;
    }
  }
  add(".nv.info", 0x70000000, info);
  add(".strtab", SHT_STRTAB, strings);
  const auto strtab = static_cast<uint32_t>(sections.size() - 1);
  Section& symtab = add(".symtab", SHT_SYMTAB, symbols);
  symtab.header.sh_link = strtab;
  symtab.header.sh_entsize = sizeof(Elf64_Sym);
  Section& shstrtab = add(".shstrtab", SHT_STRTAB, "");
  shstrtab.bytes = names;
  shstrtab.header.sh_size = names.size();

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = 190;  // EM_CUDA
  header.e_version = EV_CURRENT;
  header.e_flags = 0x005a055a;  // sm_90
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
  std::string out(sizeof header, '\0');
  for (Section& section : sections) {
    section.header.sh_offset = out.size();
    out += section.bytes;
  }
  out.resize((out.size() + 7) / 8 * 8);
  header.e_shoff = out.size();
  for (const Section& section : sections) Append(&out, section.header);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace fakegpu
