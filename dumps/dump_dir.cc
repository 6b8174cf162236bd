#include "dumps/dump_dir.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::dumps {
namespace {

namespace fs = std::filesystem;

// DIR/<module>/<host>_<pid>/FILE is the deepest layout there is.
constexpr int kMaxDepth = 2;
// Somebody names a home folder by mistake: stop, do not crawl.
constexpr size_t kMaxEntries = 2'000'000;

// What PJRT writes beside the dumps, into a folder per module.
bool IsPjrtFile(std::string_view name) {
  return name == "module.mlir" || name == "compile_options.pb" || name == "topology.pb" ||
         name == "compile_options.textproto" || name == "topology.textproto";
}

class Lister {
 public:
  explicit Lister(DumpDir& out) : out_(out) {}

  void List(const fs::path& folder, const std::string& subfolder, int depth) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    if (error) {
      out_.warnings.push_back(
          fmt::format("cannot read '{}': {}", folder.string(), error.message()));
      return;
    }
    std::vector<std::string> subfolders;
    for (; entries != fs::directory_iterator() && !error; entries.increment(error)) {
      if (++entries_ > kMaxEntries) return;
      std::error_code ignored;
      const std::string name = entries->path().filename().string();
      // A link to a folder may lead anywhere, and around in circles.
      if (entries->is_directory(ignored) && !entries->is_symlink(ignored)) {
        subfolders.push_back(name);
      } else if (entries->is_regular_file(ignored)) {
        AddFile(entries->path().string(), name, subfolder, entries->file_size(ignored));
      }
    }
    if (depth == kMaxDepth) return;
    std::sort(subfolders.begin(), subfolders.end());
    for (const std::string& name : subfolders) {
      List(folder / name, subfolder.empty() ? name : subfolder + "/" + name, depth + 1);
    }
  }

  void Finish() {
    if (entries_ > kMaxEntries) {
      out_.warnings.push_back(fmt::format("stopped after {} files", kMaxEntries));
    }
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

  void AddFile(const std::string& path, const std::string& file_name, const std::string& subfolder,
               uint64_t size) {
    std::optional<DumpName> name = ParseDumpName(file_name);
    if (!name) {
      if (IsPjrtFile(file_name)) {
        // DIR/module_0001.jit_f/module.mlir belongs to the module that the folder is named after.
        const size_t slash = subfolder.rfind('/');
        std::optional<DumpName> owner = ParseDumpName(
            std::string_view(subfolder).substr(slash == std::string::npos ? 0 : slash + 1));
        if (owner) {
          owner->kind = DumpKind::kOther;
          owner->stage = DumpStage::kNone;
          if (!owner->suffix.empty()) owner->suffix += '.';
          owner->suffix += file_name;
          unsure_.emplace_back(slash == std::string::npos ? "" : subfolder.substr(0, slash),
                               DumpFile{path, std::move(*owner), size});
          return;
        }
        out_.others.push_back(path);
      } else if (subfolder.empty()) {
        out_.others.push_back(path);
      }
      return;
    }
    // Names of HLO files end in a form that is known to the letter. In front of others there may be
    // more than the module's name (the kernel of an object file), and the form may be a new one.
    const bool is_hlo = name->kind == DumpKind::kHloText || name->kind == DumpKind::kHloProto;
    DumpFile file{path, std::move(*name), size};
    if (is_hlo) {
      const Key key(subfolder, file.name.program_id, file.name.module_name);
      Add(key, std::move(file));
    } else {
      unsure_.emplace_back(subfolder, std::move(file));
    }
  }

  void Add(const Key& key, DumpFile file) {
    DumpModule& module = modules_[key];
    std::tie(module.subfolder, module.program_id, module.name) = key;
    module.files.push_back(std::move(file));
  }

  // Gives the other files to the module of their number whose name they begin with: the one with
  // HLO and the longest name. Where there is none, they are a module by themselves.
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
        // 2019 to 2021 the module's name was not part of the file's.
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

  // The newest where there are several, by the timestamp in the name; else the first.
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
  size_t entries_ = 0;
};

// Fills `loaded.thunks`; what cannot be read is a warning, the module is of use without.
void AttachThunks(const DumpModule& module, LoadedModule& loaded) {
  const auto read = [&](const std::string& path) {
    if (path.empty()) return std::string();
    Result<std::string> text = ReadFileInflated(path);
    if (!text) loaded.warnings.push_back(text.error().message);
    return text ? std::move(*text) : std::string();
  };
  const std::string metadata = read(module.thunk_metadata);
  for (const std::string* path : {&module.thunk_sequence_final, &module.thunk_sequence}) {
    if (path->empty()) continue;
    const std::string sequence = read(*path);
    auto thunks = hlo::ReadThunks(sequence, metadata);
    if (!thunks) {
      // The list alone is still worth having when its metadata is what is damaged.
      loaded.warnings.push_back(fmt::format("reading '{}': {}", *path, thunks.error().message));
      thunks = hlo::ReadThunks(sequence, {});
    }
    if (!thunks || thunks->empty()) continue;
    loaded.thunks = std::move(*thunks);
    return;
  }
}

}  // namespace

Result<DumpDir> ListDumpDir(const std::string& path) {
  if (!IsDirectory(path)) {
    return MakeError(fmt::format("'{}' is not a folder", path),
                     "give the folder that --xla_dump_to names");
  }
  DumpDir dir;
  dir.path = path;
  Lister lister(dir);
  lister.List(path, "", 0);
  lister.Finish();
  return dir;
}

Result<model::HloModule> ReadHloFile(const std::string& path) {
  XLATRACE_ASSIGN(std::string bytes, ReadFileInflated(path));
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
  // A text that broke off is better than none.
  for (const std::string* path : {&module.after_text, &module.before_text}) {
    if (!loaded.file.empty() || path->empty()) continue;
    auto bytes = ReadFileInflated(*path);
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
