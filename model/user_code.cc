// SPDX-License-Identifier: Apache-2.0
#include "model/user_code.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace xlatrace::model {
namespace {

// Packages through which a program's own calls pass: frameworks, and launchers of scripts. Names
// are those of folders directly below a package folder.
constexpr std::array<std::string_view, 47> kMachinery = {
    "jax",      "jaxlib",    "flax",       "haiku",     "equinox",   "optax",     "chex",
    "jraph",    "distrax",   "rlax",       "penzai",    "orbax",     "clu",       "grain",
    "keras",    "tf_keras",  "tensorflow", "torch",     "torch_xla", "numpy",     "scipy",
    "absl",     "fire",      "click",      "typer",     "hydra",     "gin",       "jaxtyping",
    "beartype", "typeguard", "ml_dtypes",  "decorator", "IPython",   "ipykernel", "pytest",
    "_pytest",  "pluggy",    "joblib",     "lightning", "ray",       "dask",      "wandb",
    "tornado",  "traitlets", "nbclient",   "debugpy",   "xlatrace"};

// Files and folders that only this framework has, below its own folder (the first component).
// Folders end with a slash.
constexpr std::array<std::string_view, 42> kFrameworkParts = {"jax/_src/",
                                                              "jax/experimental/pallas/ops/",
                                                              "jax/experimental/shard_map.py",
                                                              "flax/linen/module.py",
                                                              "flax/linen/linear.py",
                                                              "flax/linen/attention.py",
                                                              "flax/linen/normalization.py",
                                                              "flax/linen/activation.py",
                                                              "flax/linen/stochastic.py",
                                                              "flax/linen/recurrent.py",
                                                              "flax/linen/transforms.py",
                                                              "flax/linen/combinators.py",
                                                              "flax/linen/pooling.py",
                                                              "flax/linen/spmd.py",
                                                              "flax/core/lift.py",
                                                              "flax/core/scope.py",
                                                              "flax/core/axes_scan.py",
                                                              "flax/nnx/nn/",
                                                              "flax/nnx/transforms/",
                                                              "flax/nnx/pytreelib.py",
                                                              "flax/nnx/training/",
                                                              "flax/training/train_state.py",
                                                              "haiku/_src/",
                                                              "optax/_src/",
                                                              "optax/schedules/_",
                                                              "optax/losses/_",
                                                              "equinox/nn/_",
                                                              "equinox/_module/",
                                                              "equinox/_module.py",
                                                              "equinox/_jit.py",
                                                              "equinox/internal/_",
                                                              "keras/src/layers/layer.py",
                                                              "keras/src/utils/traceback_utils.py",
                                                              "keras/src/backend/jax/",
                                                              "keras/src/backend/tensorflow/",
                                                              "tensorflow/python/framework/",
                                                              "torch/nn/modules/",
                                                              "torch_xla/core/",
                                                              "xlatrace/notebook.py",
                                                              "xlatrace/programs.py",
                                                              "xlatrace/program_limits.py",
                                                              "xlatrace_hook/watcher.py"};

bool IsSeparator(char c) { return c == '/' || c == '\\'; }

// The part of `file` behind the last folder of packages that it lies in; empty: in none. Folders:
// site-packages, dist-packages, "name.whl", "name.egg".
std::string_view InsidePackages(std::string_view file) {
  std::string_view inside;
  for (size_t begin = 0; begin < file.size();) {
    size_t end = begin;
    while (end < file.size() && !IsSeparator(file[end])) ++end;
    const std::string_view folder = file.substr(begin, end - begin);
    if (end < file.size() && (folder == "site-packages" || folder == "dist-packages" ||
                              folder.ends_with(".whl") || folder.ends_with(".egg"))) {
      inside = file.substr(end + 1);
    }
    begin = end + 1;
  }
  return inside;
}

// "/usr/lib/python3.11/runpy.py", "lib/python311.zip/runpy.py".
bool IsInterpreterLibrary(std::string_view file) {
  for (size_t at = file.find("lib"); at != file.npos; at = file.find("lib", at + 1)) {
    if (at > 0 && !IsSeparator(file[at - 1])) continue;
    std::string_view rest = file.substr(at + 3);
    if (rest.starts_with("64")) rest.remove_prefix(2);
    if (rest.empty() || !IsSeparator(rest[0]) || !rest.substr(1).starts_with("python")) continue;
    rest.remove_prefix(1 + std::string_view("python").size());
    const size_t digits = rest.find_first_not_of("0123456789.");
    if (digits == 0 || digits == rest.npos) continue;
    const std::string_view end = rest.substr(digits);
    // Builds without the global lock have a "t" behind the version.
    if (IsSeparator(end[0]) || end.starts_with("t/") || end.starts_with("zip/")) return true;
  }
  return false;
}

// "flax" of "flax/linen/module.py".
std::string_view TopFolder(std::string_view inside) {
  size_t end = 0;
  while (end < inside.size() && !IsSeparator(inside[end])) ++end;
  std::string_view top = inside.substr(0, end);
  if (end == inside.size() && top.ends_with(".py")) top.remove_suffix(3);
  return top;
}

bool IsMachinery(std::string_view package) {
  return std::find(kMachinery.begin(), kMachinery.end(), package) != kMachinery.end();
}

std::string WithSlashes(std::string_view file) {
  std::string path(file);
  std::replace(path.begin(), path.end(), '\\', '/');
  return path;
}

}  // namespace

std::string_view PackageOf(std::string_view file) {
  const std::string_view inside = InsidePackages(file);
  if (inside.empty() && IsInterpreterLibrary(file)) return "python";
  return TopFolder(inside);
}

UserCode::UserCode(std::string_view declared) {
  while (!declared.empty()) {
    const size_t end = std::min(declared.find(':'), declared.size());
    std::string path = WithSlashes(declared.substr(0, end));
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (!path.empty()) declared_.push_back(std::move(path));
    declared.remove_prefix(std::min(end + 1, declared.size()));
  }
}

void UserCode::AddFile(std::string_view file) {
  if (file.find("/") == file.npos || !InsidePackages(file).empty()) return;
  for (const std::string_view part : kFrameworkParts) {
    const size_t at = part.ends_with(".py")
                          ? (file.ends_with(part) ? file.size() - part.size() : file.npos)
                          : file.rfind(part);
    if (at == file.npos || (at > 0 && file[at - 1] != '/')) continue;
    std::string folder(file.substr(0, at + part.find('/') + 1));
    if (std::find(framework_folders_.begin(), framework_folders_.end(), folder) ==
        framework_folders_.end()) {
      framework_folders_.push_back(std::move(folder));
    }
    return;
  }
}

bool UserCode::IsDeclared(std::string_view file) const {
  if (declared_.empty()) return false;
  const std::string path = WithSlashes(file);
  const std::string_view package = TopFolder(InsidePackages(file));
  return std::any_of(declared_.begin(), declared_.end(), [&](const std::string& declared) {
    if (declared.find('/') == declared.npos && declared == package) return true;
    return path.starts_with(declared) &&
           (path.size() == declared.size() || path[declared.size()] == '/' || declared == "/");
  });
}

FileKind UserCode::KindOf(std::string_view file) const {
  if (IsDeclared(file)) return FileKind::kUser;
  if (file.empty() || file.starts_with("<frozen ") || file.starts_with("<built-in")) {
    return FileKind::kMachinery;
  }
  // Cells of notebooks and lines of a prompt are what the user typed.
  if (file.starts_with("<ipython-input") || file == "<stdin>") return FileKind::kUser;
  if (file[0] == '<') return FileKind::kWithoutFile;
  if (const std::string_view inside = InsidePackages(file); !inside.empty()) {
    return IsMachinery(TopFolder(inside)) ? FileKind::kMachinery : FileKind::kPackage;
  }
  if (IsInterpreterLibrary(file)) return FileKind::kMachinery;
  const bool in_framework =
      std::any_of(framework_folders_.begin(), framework_folders_.end(),
                  [&](const std::string& folder) { return file.starts_with(folder); });
  return in_framework ? FileKind::kMachinery : FileKind::kUser;
}

bool UserCode::IsUser(std::string_view file) const { return KindOf(file) == FileKind::kUser; }

UserFrame FindUserFrame(std::span<const FileKind> frames) {
  for (const FileKind kind : {FileKind::kUser, FileKind::kWithoutFile}) {
    const auto at = std::find(frames.begin(), frames.end(), kind);
    if (at != frames.end()) return {static_cast<size_t>(at - frames.begin()), false};
  }
  for (size_t k = frames.size(); k > 0; --k) {
    if (frames[k - 1] == FileKind::kPackage) return {k - 1, true};
  }
  return {0, true};
}

}  // namespace xlatrace::model
