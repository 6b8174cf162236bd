// SPDX-License-Identifier: Apache-2.0
#include "tools/module_text.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/shell_word.h"
#include "dumps/dump_files.h"
#include "hlo/text/text_printer.h"
#include "hlo/text/text_reader.h"
#include "store/run_db.h"

namespace xlatrace::tools {
namespace {

Result<std::string> StoredBytes(const ModuleList& list, const ListedModule& module) {
  if (module.module_id) {
    XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(list.path));
    XLATRACE_ASSIGN(store::RunDb::ModuleBytes stored, db.ReadModule(*module.module_id));
    return std::move(stored.bytes);
  }
  if (module.file.empty()) {
    return MakeError(
        fmt::format("the folder holds no HLO of {}", module.Label()),
        fmt::format("see what it holds: xlatrace modules {} --all", ShellWord(list.path)));
  }
  return dumps::ReadDumpFile(module.file);
}

}  // namespace

Result<std::string> ModuleText(const ModuleList& list, size_t index) {
  XLATRACE_ASSIGN(std::string bytes, StoredBytes(list, list.modules.at(index)));
  if (!hlo::LooksLikeHloText(bytes)) {
    XLATRACE_ASSIGN(const model::HloModule module,
                    hlo::ReadAny(std::make_shared<const std::string>(std::move(bytes))));
    bytes = hlo::PrintText(module);
  }
  if (bytes.empty() || bytes.back() != '\n') bytes.push_back('\n');
  return bytes;
}

}  // namespace xlatrace::tools
