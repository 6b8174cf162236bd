// SPDX-License-Identifier: Apache-2.0
#include "tools/module_files.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/archive.h"
#include "base/file.h"
#include "dumps/dump_dir.h"
#include "dumps/dump_files.h"
#include "hlo/text/text_reader.h"
#include "importers/common/modules_only_sink.h"
#include "importers/importer.h"

namespace xlatrace::tools {
namespace {

struct ModuleFile {
  std::string path;
  std::string name;
  std::optional<int64_t> program_id;
  std::string sequence;  // Paths, empty where there is none.
  std::string metadata;
};

Result<std::string> ReadOptional(const std::string& path) {
  if (path.empty()) return std::string();
  return dumps::ReadDumpFile(path);
}

Status AddOne(const ModuleFile& file, model::Id process_id, model::EventSink& sink) {
  XLATRACE_ASSIGN(const std::string bytes, dumps::ReadDumpFile(file.path));
  XLATRACE_ASSIGN(const std::string sequence, ReadOptional(file.sequence));
  XLATRACE_ASSIGN(const std::string metadata, ReadOptional(file.metadata));
  sink.AddModule({.process_id = process_id,
                  .name = file.name,
                  .program_id = file.program_id,
                  .source = model::ModuleSource::kDump,
                  .file = file.path,
                  .format = hlo::LooksLikeHloText(bytes) ? model::ModuleBlob::Format::kHloText
                                                         : model::ModuleBlob::Format::kHloProto,
                  .bytes = bytes,
                  .thunk_sequence = sequence,
                  .thunk_metadata = metadata});
  return {};
}

// `program_id`: from the file's name; -1: not in the name.
Status AddHloFile(const std::string& path, model::EventSink& sink, model::Id process_id,
                  int64_t program_id = -1) {
  XLATRACE_ASSIGN(std::string bytes, dumps::ReadDumpFile(path));
  const auto read = hlo::ReadAny(std::make_shared<const std::string>(std::move(bytes)));
  if (!read) {
    return MakeError(fmt::format("reading '{}': {}", path, read.error().message),
                     "--modules takes dump folders, archives of them, optimized HLO as text or "
                     "proto, and profiles that carry HLO");
  }
  const model::HloModule& module = *read;
  ModuleFile file{.path = path, .name = std::string(module.name)};
  if (module.program_id >= 0) program_id = module.program_id;
  if (program_id >= 0) file.program_id = program_id;
  return AddOne(file, process_id, sink);
}

Status AddModulesOfProfile(const std::string& path, model::EventSink& sink, model::Id process_id) {
  importers::ModulesOnlySink modules(sink, process_id);
  XLATRACE_TRY(importers::Import(path, modules));
  if (modules.modules() == 0) {
    return MakeError(fmt::format("the profile '{}' carries no HLO modules", path),
                     "give the folder of an XLA dump, or a profile taken with the program's HLO");
  }
  return {};
}

}  // namespace

Status AddModuleFiles(const std::string& path, model::EventSink& sink, model::Id process_id) {
  if (!IsDirectory(path)) {
    if (importers::Detect(path)) return AddModulesOfProfile(path, sink, process_id);
    if (!LooksLikeArchive(path)) return AddHloFile(path, sink, process_id);
  }
  XLATRACE_ASSIGN(const dumps::DumpDir dir, dumps::ListDumpDir(path));
  size_t added = 0;
  Status last;  // Why one of them cannot be read; the others are used.
  const auto skip = [&](const std::string& file, Status why) {
    sink.AddRunStat({.name = "input_skipped",
                     .severity = model::Severity::kDataLoss,
                     .source = file,
                     .value = 1,
                     .advice = why.error().message});
    last = std::move(why);
  };
  for (const dumps::DumpModule& module : dir.modules) {
    ModuleFile file{.path = module.after_proto.empty() ? module.after_text : module.after_proto,
                    .name = module.name,
                    .metadata = module.thunk_metadata};
    if (file.path.empty()) continue;  // Only optimized HLO has the instructions that run.
    if (!module.loose_file.empty()) {
      Status loose = AddHloFile(file.path, sink, process_id, module.program_id);
      if (loose) {
        ++added;
      } else {
        skip(file.path, std::move(loose));
      }
      continue;
    }
    if (module.program_id >= 0) file.program_id = module.program_id;
    // The list after the thunk passes has the same thunks and shows which of them are in one CUDA
    // graph.
    file.sequence =
        module.thunk_sequence_final.empty() ? module.thunk_sequence : module.thunk_sequence_final;
    if (Status one = AddOne(file, process_id, sink); !one) {
      skip(file.path, std::move(one));
      continue;
    }
    ++added;
  }
  if (added == 0 && importers::Detect(path)) return AddModulesOfProfile(path, sink, process_id);
  if (added == 0 && !last) return last;
  if (added == 0) {
    return MakeError(fmt::format("'{}' holds no optimized HLO", path),
                     "dump it with XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text "
                     "--xla_dump_hlo_as_proto'");
  }
  return {};
}

}  // namespace xlatrace::tools
