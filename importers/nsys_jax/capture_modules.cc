// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/capture_modules.h"

#include <map>
#include <string>
#include <utility>

namespace xlatrace::importers {

void AddDumpedModules(const CaptureFiles& files, model::Id process, model::EventSink& sink) {
  struct Parts {
    const CaptureFiles::DumpFile *hlo = nullptr, *thunks = nullptr, *metadata = nullptr;
  };
  std::map<std::pair<int64_t, std::string>, Parts> modules;
  for (const CaptureFiles::DumpFile& file : files.dump) {
    Parts& parts = modules[{file.parsed.program_id, file.parsed.module_name}];
    switch (file.parsed.kind) {
      case dumps::DumpKind::kHloProto:
        parts.hlo = &file;
        break;
      case dumps::DumpKind::kHloText:
        if (parts.hlo == nullptr) parts.hlo = &file;
        break;
      case dumps::DumpKind::kThunkSequenceFinal:  // Final list; the other precedes passes.
        parts.thunks = &file;
        break;
      case dumps::DumpKind::kThunkSequence:
        if (parts.thunks == nullptr || parts.thunks->parsed.kind == file.parsed.kind) {
          parts.thunks = &file;
        }
        break;
      case dumps::DumpKind::kThunkMetadata:
        parts.metadata = &file;
        break;
      default:
        break;
    }
  }
  for (const auto& [key, parts] : modules) {
    if (parts.hlo == nullptr) continue;
    model::ModuleBlob blob;
    blob.process_id = process;
    blob.name = key.second;
    if (key.first >= 0) blob.program_id = key.first;
    blob.source = model::ModuleSource::kDump;
    blob.file = parts.hlo->name;
    blob.format = parts.hlo->parsed.kind == dumps::DumpKind::kHloText
                      ? model::ModuleBlob::Format::kHloText
                      : model::ModuleBlob::Format::kHloProto;
    blob.bytes = parts.hlo->bytes;
    if (parts.thunks != nullptr) blob.thunk_sequence = parts.thunks->bytes;
    if (parts.metadata != nullptr) blob.thunk_metadata = parts.metadata->bytes;
    sink.AddModule(blob);
  }
}

}  // namespace xlatrace::importers
