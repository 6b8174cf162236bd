#include "tools/module_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "dumps/dump_dir.h"
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
  return ReadFileInflated(path);
}

Status AddOne(const ModuleFile& file, model::Id process_id, model::EventSink& sink) {
  XLATRACE_ASSIGN(const std::string bytes, ReadFileInflated(file.path));
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

Status AddHloFile(const std::string& path, model::EventSink& sink, model::Id process_id) {
  XLATRACE_ASSIGN(std::string bytes, ReadFileInflated(path));
  XLATRACE_ASSIGN(const model::HloModule module,
                  hlo::ReadAny(std::make_shared<const std::string>(std::move(bytes))));
  ModuleFile file{.path = path, .name = std::string(module.name)};
  if (module.program_id >= 0) file.program_id = module.program_id;
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

// What XProf writes beside a profile: `jit_step(12).hlo_proto.pb`, one optimized module each.
std::vector<std::string> XprofProtos(const std::string& folder) {
  std::vector<std::string> protos;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().string();
    if (path.ends_with(".hlo_proto.pb")) protos.push_back(path);
  }
  std::sort(protos.begin(), protos.end());
  return protos;
}

}  // namespace

Status AddModuleFiles(const std::string& path, model::EventSink& sink, model::Id process_id) {
  if (!IsDirectory(path)) {
    if (importers::Detect(path)) return AddModulesOfProfile(path, sink, process_id);
    return AddHloFile(path, sink, process_id);
  }
  XLATRACE_ASSIGN(const dumps::DumpDir dir, dumps::ListDumpDir(path));
  size_t added = 0;
  for (const dumps::DumpModule& module : dir.modules) {
    ModuleFile file{.path = module.after_proto.empty() ? module.after_text : module.after_proto,
                    .name = module.name,
                    .metadata = module.thunk_metadata};
    if (file.path.empty()) continue;  // Only optimized HLO has the instructions that run.
    if (module.program_id >= 0) file.program_id = module.program_id;
    // The list after the thunk passes has the same thunks, and tells which are in one CUDA graph.
    file.sequence =
        module.thunk_sequence_final.empty() ? module.thunk_sequence : module.thunk_sequence_final;
    XLATRACE_TRY(AddOne(file, process_id, sink));
    ++added;
  }
  if (added == 0) {
    for (const std::string& proto : XprofProtos(path)) {
      XLATRACE_TRY(AddHloFile(proto, sink, process_id));
      ++added;
    }
  }
  if (added == 0 && importers::Detect(path)) return AddModulesOfProfile(path, sink, process_id);
  if (added == 0) {
    return MakeError(fmt::format("'{}' holds no optimized HLO", path),
                     "dump it with XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text "
                     "--xla_dump_hlo_as_proto'");
  }
  return {};
}

}  // namespace xlatrace::tools
