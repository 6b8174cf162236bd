// SPDX-License-Identifier: Apache-2.0
#include "dumps/dump_dir.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/archive.h"
#include "base/file.h"
#include "dumps/file_kind.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::dumps {
namespace {

// Limit on files without a known name.
constexpr size_t kMaxUnnamedFiles = 20'000;
constexpr size_t kFileHeadBytes = 1 << 14;

// PJRT's files beside the dumps, in a folder per module.
bool IsPjrtFile(std::string_view name) {
  return name == "module.mlir" || name == "compile_options.pb" || name == "topology.pb" ||
         name == "compile_options.textproto" || name == "topology.textproto";
}

// Parts of the name of HLO under another name than XLA's. XProf writes "jit_step(12).hlo_proto.pb".
DumpName LooseName(std::string_view file_name, FileKind kind) {
  DumpName name;
  name.suffix = file_name;
  name.kind = kind == FileKind::kHloProto ? DumpKind::kHloProto : DumpKind::kHloText;
  std::string_view stem = file_name;
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view end : {".gz", ".xz", ".zst", ".bz2", ".txt", ".pb", ".hlo",
                                       ".hlo_proto", ".pbtxt", ".textproto"}) {
      if (stem.size() > end.size() && stem.ends_with(end)) {
        stem.remove_suffix(end.size());
        cut = true;
      }
    }
  }
  if (const size_t open = stem.rfind('('); open != std::string_view::npos && stem.ends_with(')')) {
    int64_t id = -1;
    const char* const end = stem.data() + stem.size() - 1;
    if (const auto [at, error] = std::from_chars(stem.data() + open + 1, end, id);
        error == std::errc() && at == end && id >= 0) {
      name.program_id = id;
      stem = stem.substr(0, open);
    }
  }
  name.module_name = stem;
  const bool before = file_name.find("before_opt") != std::string_view::npos ||
                      file_name.find("unoptimized") != std::string_view::npos ||
                      file_name.find("unoptimised") != std::string_view::npos;
  name.stage = before ? DumpStage::kBefore : DumpStage::kAfter;
  return name;
}

bool IsArchiveName(std::string_view name) {
  for (const std::string_view end :
       {".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".txz"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

class Lister {
 public:
  explicit Lister(DumpDir& out) : out_(out) {}

  void Add(const FileList& list) {
    for (const ListedFile& file : list.files) AddFile(file);
    for (const auto& [reason, count] : list.skipped) out_.skipped[reason] += count;
    out_.warnings.insert(out_.warnings.end(), list.warnings.begin(), list.warnings.end());
  }

  void Finish() {
    AdoptUnsure();
    for (auto& [key, module] : modules_) {
      std::sort(module.files.begin(), module.files.end(),
                [](const DumpFile& a, const DumpFile& b) { return a.path < b.path; });
      ChooseBest(module);
      out_.modules.push_back(std::move(module));
    }
    std::sort(out_.others.begin(), out_.others.end());
  }

 private:
  using Key = std::tuple<std::string, int64_t, std::string>;

  void AddFile(const ListedFile& listed) {
    const std::string& subfolder = listed.folder;
    std::optional<DumpName> name = ParseDumpName(listed.name);
    if (!name && IsPjrtFile(listed.name)) {
      // DIR/module_0001.jit_f/module.mlir belongs to the module in the name of the folder.
      const size_t slash = subfolder.rfind('/');
      std::optional<DumpName> owner = ParseDumpName(
          std::string_view(subfolder).substr(slash == std::string::npos ? 0 : slash + 1));
      if (!owner) {
        out_.others.push_back(listed.path);
        return;
      }
      owner->kind = DumpKind::kOther;
      owner->stage = DumpStage::kNone;
      if (!owner->suffix.empty()) owner->suffix += '.';
      owner->suffix += listed.name;
      unsure_.emplace_back(slash == std::string::npos ? "" : subfolder.substr(0, slash),
                           DumpFile{listed.path, std::move(*owner), listed.size_bytes});
      return;
    }
    if (!name) {
      AddLoose(listed);
      return;
    }
    // Names of HLO files end in known forms. Other names may contain more than the module's name
    // (the kernel of an object file), and their form may be new.
    const bool is_hlo = name->kind == DumpKind::kHloText || name->kind == DumpKind::kHloProto;
    DumpFile file{listed.path, std::move(*name), listed.size_bytes};
    if (is_hlo) {
      const Key key(subfolder, file.name.program_id, file.name.module_name);
      Add(key, std::move(file));
    } else {
      unsure_.emplace_back(subfolder, std::move(file));
    }
  }

  // HLO under any name, or a file outside of dumps.
  void AddLoose(const ListedFile& listed) {
    FileKind kind = FileKind::kUnknown;
    if (listed.readable && listed.size_bytes > 0) {
      if (looked_into_++ < kMaxUnnamedFiles) {
        kind = KindOfContent(HeadOfDumpFile(listed.path, kFileHeadBytes));
      } else {
        ++out_.skipped["files beyond the first 20,000 that are not named as dumps"];
        return;
      }
    }
    if (kind == FileKind::kHloText || kind == FileKind::kHloProto ||
        kind == FileKind::kHloTextProto) {
      DumpName name = LooseName(listed.name, kind);
      const Key key(listed.folder, name.program_id, name.module_name);
      Add(key, DumpFile{listed.path, std::move(name), listed.size_bytes});
      modules_[key].loose_file = listed.name;
    } else if (IsArchiveName(listed.name)) {
      ++out_.skipped["archives inside"];
    } else if (listed.folder.empty()) {
      out_.others.push_back(listed.path);
    } else {
      ++out_.skipped["files without HLO"];
    }
  }

  void Add(const Key& key, DumpFile file) {
    DumpModule& module = modules_[key];
    std::tie(module.subfolder, module.program_id, module.name) = key;
    module.files.push_back(std::move(file));
  }

  // Assigns each other file to a module with the same number whose name is a prefix of the file's.
  // The module with HLO and the longest name wins. If there is none, they form a separate module.
  void AdoptUnsure() {
    std::vector<std::pair<Key, DumpFile>> adopted;
    for (auto& [subfolder, file] : unsure_) {
      const std::string rest = file.name.module_name + "." + file.name.suffix;
      std::string best = file.name.module_name;
      size_t longest = 0;
      for (auto it = modules_.lower_bound(Key(subfolder, file.name.program_id, ""));
           it != modules_.end() && std::get<0>(it->first) == subfolder &&
           std::get<1>(it->first) == file.name.program_id;
           ++it) {
        const std::string& name = std::get<2>(it->first);
        if (name.size() < longest || rest.compare(0, name.size(), name) != 0) continue;
        // From 2019 to 2021, the module's name was not part of the file name.
        const bool whole = name.empty() || name.size() == rest.size() || rest[name.size()] == '.';
        if (!whole) continue;
        longest = name.size();
        best = name;
      }
      file.name.suffix = rest.substr(best.size());
      if (file.name.suffix.starts_with('.')) file.name.suffix.erase(0, 1);
      file.name.module_name = best;
      const Key key(subfolder, file.name.program_id, best);
      adopted.emplace_back(key, std::move(file));
    }
    unsure_.clear();
    for (auto& [key, file] : adopted) Add(key, std::move(file));
  }

  // The newest of several by the timestamp in the name; else the first.
  static void ChooseBest(DumpModule& module) {
    std::map<const std::string*, int64_t> taken;
    const auto choose = [&](std::string& slot, const DumpFile& file) {
      const auto it = taken.find(&slot);
      if (it != taken.end() && it->second >= file.name.timestamp_us) return;
      taken[&slot] = file.name.timestamp_us;
      slot = file.path;
    };
    for (const DumpFile& file : module.files) {
      const bool after = file.name.stage == DumpStage::kAfter;
      const bool before = file.name.stage == DumpStage::kBefore;
      switch (file.name.kind) {
        case DumpKind::kHloProto:
          if (after) choose(module.after_proto, file);
          if (before) choose(module.before_proto, file);
          break;
        case DumpKind::kHloText:
          if (after) choose(module.after_text, file);
          if (before) choose(module.before_text, file);
          break;
        case DumpKind::kThunkSequence:
          choose(module.thunk_sequence, file);
          break;
        case DumpKind::kThunkSequenceFinal:
          choose(module.thunk_sequence_final, file);
          break;
        case DumpKind::kThunkMetadata:
          choose(module.thunk_metadata, file);
          break;
        default:
          break;
      }
    }
  }

  DumpDir& out_;
  std::map<Key, DumpModule> modules_;
  std::vector<std::pair<std::string, DumpFile>> unsure_;
  size_t looked_into_ = 0;
};

// Fills `loaded.thunks`. A file that cannot be read is a warning, because the module is useful
// without it.
void AttachThunks(const DumpModule& module, LoadedModule& loaded) {
  const auto read = [&](const std::string& path) {
    if (path.empty()) return std::string();
    Result<std::string> text = ReadDumpFile(path);
    if (!text) loaded.warnings.push_back(text.error().message);
    return text ? std::move(*text) : std::string();
  };
  const std::string metadata = read(module.thunk_metadata);
  for (const std::string* path : {&module.thunk_sequence_final, &module.thunk_sequence}) {
    if (path->empty()) continue;
    const std::string sequence = read(*path);
    auto thunks = hlo::ReadThunks(sequence, metadata);
    if (!thunks) {
      // The list alone is useful if only its metadata is damaged.
      loaded.warnings.push_back(fmt::format("reading '{}': {}", *path, thunks.error().message));
      thunks = hlo::ReadThunks(sequence, {});
    }
    if (!thunks || thunks->empty()) continue;
    loaded.thunks = std::move(*thunks);
    return;
  }
}

}  // namespace

namespace {

// "a", "b" for "x/a", "y/b"; longer if needed to distinguish them: "x/a", "y/a".
std::vector<std::string> ShortLabels(const std::vector<std::string>& paths) {
  std::vector<std::string> labels(paths.size());
  for (size_t parts = 1; parts <= 64; ++parts) {
    for (size_t i = 0; i < paths.size(); ++i) {
      const std::filesystem::path path = std::filesystem::path(paths[i]).lexically_normal();
      std::vector<std::string> components;
      for (const auto& part : path) {
        if (!part.empty() && part != "/") components.push_back(part.string());
      }
      labels[i].clear();
      const size_t from = components.size() > parts ? components.size() - parts : 0;
      for (size_t c = from; c < components.size(); ++c) {
        labels[i] += (labels[i].empty() ? "" : "/") + components[c];
      }
    }
    if (std::set<std::string>(labels.begin(), labels.end()).size() == labels.size()) break;
  }
  return labels;
}

}  // namespace

Result<DumpDir> ListDumpDir(const std::string& path, const ListLimits& limits) {
  XLATRACE_ASSIGN(const FileList list, ListFiles(path, limits));
  DumpDir dir;
  dir.path = path;
  Lister lister(dir);
  lister.Add(list);
  lister.Finish();
  return dir;
}

Result<DumpDir> ListDumpDirs(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return ListDumpDir(paths.front());
  DumpDir all;
  const std::vector<std::string> labels = ShortLabels(paths);
  std::optional<Error> first_error;
  size_t listed = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    all.path += (i == 0 ? "" : " ") + paths[i];
    auto dir = ListDumpDir(paths[i]);
    if (!dir) {
      all.warnings.push_back(dir.error().message);
      if (!first_error) first_error = std::move(dir).error();
      continue;
    }
    ++listed;
    for (DumpModule& module : dir->modules) {
      // A single file would otherwise have its name twice.
      const bool is_file = !IsDirectory(paths[i]) && module.files.size() == 1 &&
                           module.files.front().path == paths[i];
      if (!is_file) {
        module.subfolder = labels[i] + (module.subfolder.empty() ? "" : "/" + module.subfolder);
      }
      all.modules.push_back(std::move(module));
    }
    std::move(dir->others.begin(), dir->others.end(), std::back_inserter(all.others));
    std::move(dir->warnings.begin(), dir->warnings.end(), std::back_inserter(all.warnings));
    for (const auto& [reason, count] : dir->skipped) all.skipped[reason] += count;
  }
  if (listed == 0 && first_error) return tl::unexpected<Error>(std::move(*first_error));
  return all;
}

bool MayHoldDumps(const std::string& path) {
  if (IsDirectory(path) || LooksLikeArchive(path)) return true;
  if (!IsRegularFile(path)) return false;
  const FileKind kind = KindOfContent(HeadOfDumpFile(path, kFileHeadBytes));
  return kind == FileKind::kHloText || kind == FileKind::kHloProto ||
         kind == FileKind::kHloTextProto;
}

Result<model::HloModule> ReadHloFile(const std::string& path) {
  XLATRACE_ASSIGN(std::string bytes, ReadDumpFile(path));
  auto module = hlo::ReadAny(std::make_shared<const std::string>(std::move(bytes)));
  if (!module) return Wrap(fmt::format("reading '{}'", path), std::move(module).error());
  return module;
}

Result<LoadedModule> LoadDumpModule(const DumpModule& module) {
  LoadedModule loaded;
  Error last{fmt::format("module {} '{}' has no HLO file", module.program_id, module.name),
             "dump with --xla_dump_hlo_as_proto --xla_dump_hlo_as_text", ErrorCode::kFailed};
  for (const std::string* path :
       {&module.after_proto, &module.after_text, &module.before_proto, &module.before_text}) {
    if (path->empty()) continue;
    auto read = ReadHloFile(*path);
    if (!read) {
      last = std::move(read).error();
      loaded.warnings.push_back(last.message);
      continue;
    }
    loaded.module = std::move(*read);
    loaded.file = *path;
    break;
  }
  // A truncated text is better than none.
  for (const std::string* path : {&module.after_text, &module.before_text}) {
    if (!loaded.file.empty() || path->empty()) continue;
    auto bytes = ReadDumpFile(*path);
    if (!bytes) continue;
    auto part = hlo::ReadTextPartial(std::make_shared<const std::string>(std::move(*bytes)));
    if (!part) continue;
    loaded.module = std::move(part->module);
    loaded.file = *path;
    loaded.warnings.push_back(
        fmt::format("'{}' is used up to its damage: {} instructions of it could be read", *path,
                    loaded.module.instructions.size()));
  }
  if (loaded.file.empty()) return tl::unexpected<Error>(std::move(last));
  model::HloModule& hlo = loaded.module;
  if (hlo.program_id <= 0) hlo.program_id = module.program_id;
  for (const DumpFile& file : module.files) {
    if (file.path == loaded.file && hlo.platform.empty()) {
      hlo.platform = hlo.Own(file.name.platform);
    }
  }
  AttachThunks(module, loaded);
  return loaded;
}

}  // namespace xlatrace::dumps
