// SPDX-License-Identifier: Apache-2.0
#include "analysis/compilations.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/time_tree/compile_parts.h"
#include "base/text.h"

namespace xlatrace::analysis {
namespace {

using model::CompileStage;
using model::TreeKind;
using time_tree::CompilePart;

CompileStage StageOf(TreeKind kind) {
  switch (kind) {
    case TreeKind::kTrace:
      return CompileStage::kTrace;
    case TreeKind::kLower:
      return CompileStage::kLower;
    case TreeKind::kPasses:
      return CompileStage::kPasses;
    case TreeKind::kCodegen:
      return CompileStage::kCodegen;
    case TreeKind::kAutotune:
      return CompileStage::kAutotune;
    case TreeKind::kCache:
      return CompileStage::kCache;
    case TreeKind::kLoad:
      return CompileStage::kLoad;
    default:
      return CompileStage::kCompile;
  }
}

struct Words {
  std::string_view kind, words;
};

// Kinds of differences (docs/schema.md, compile_detail.kind).
constexpr std::array kDifferenceWords = {
    Words{"structure", "argument"},
    Words{"shape", "shape of"},
    Words{"dtype", "dtype of"},
    Words{"python_scalar", "type of"},
    Words{"weak_type", "weak type of"},
    Words{"static", "static argument"},
    Words{"static_object", "static argument, equal by identity only,"},
    Words{"donation", "donation of"},
    Words{"sharding", "sharding of"},
    Words{"mesh", "mesh"},
    Words{"layout", "layout of"},
    Words{"closure", "captured variable"},
    Words{"configuration", "option"},
    Words{"options", "options of jit"},
    Words{"new_function", "a new function object with the same code"},
    Words{"cache_cleared", "nothing; JAX had dropped the program from its cache"},
};

}  // namespace

Compilations CompilationsOf(const model::RunTables& run,
                            const std::vector<model::NamedCompile>& compiles) {
  Compilations result;
  using Key = std::tuple<model::Id, bool, int64_t>;  // Process, has a number, number or start.
  std::map<Key, Compilation> found;
  std::map<std::pair<Key, std::string>, int64_t> parts_ns;
  std::map<std::string, NamedTime> imports;
  const auto of_process = time_tree::CompilePartsOf(run, compiles);
  for (size_t p = 0; p < of_process.size(); ++p) {
    const auto process_id = static_cast<model::Id>(p + 1);
    for (const CompilePart& part : of_process[p]) {
      const int64_t ns = part.end_ns - part.start_ns;
      if (part.kind == TreeKind::kImport) {
        NamedTime& import = imports[part.name];
        import.name = part.name;
        import.ns += ns;
        if (import.source_file.empty()) {
          import.source_file = part.source_file;
          import.source_line = part.source_line;
        }
        result.import_ns += ns;
        continue;
      }
      if (part.kind == TreeKind::kBackendStart) {
        result.backend_start_ns += ns;
        continue;
      }
      const Key key{process_id, part.compilation != 0,
                    part.compilation != 0 ? part.compilation : part.outer_start_ns};
      const auto [known, is_new] = found.try_emplace(key);
      Compilation& compilation = known->second;
      if (is_new) {
        compilation.process_id = process_id;
        compilation.name = part.name;
        compilation.start_ns = part.start_ns;
      }
      compilation.end_ns = part.end_ns;
      compilation.is_again = compilation.is_again || part.again;
      compilation.stage_ns[static_cast<size_t>(StageOf(part.kind))] += ns;
      compilation.ns += ns;
      if (!part.part.empty()) parts_ns[{key, part.part}] += ns;
    }
  }
  for (const model::NamedCompile& span : compiles) {
    if (span.stage != CompileStage::kCompile) continue;
    const int64_t number = span.facts ? span.facts->compilation : 0;
    const auto known =
        found.find({span.process_id, number != 0, number != 0 ? number : span.start_ns});
    if (known == found.end()) continue;
    Compilation& compilation = known->second;
    compilation.is_compiled = true;
    compilation.module_id = span.module_id;
    compilation.facts = span.facts;
    if (span.facts) compilation.is_again = span.facts->is_again;
  }
  for (const auto& [key, ns] : parts_ns) {
    Compilation& compilation = found.at(key.first);
    if (ns <= compilation.top_part_ns) continue;
    compilation.top_part_ns = ns;
    compilation.top_part = key.second;
  }
  for (auto& [key, compilation] : found) result.compilations.push_back(std::move(compilation));
  std::stable_sort(result.compilations.begin(), result.compilations.end(),
                   [](const Compilation& a, const Compilation& b) {
                     return std::tie(a.process_id, a.start_ns) < std::tie(b.process_id, b.start_ns);
                   });
  for (auto& [name, import] : imports) result.imports.push_back(std::move(import));
  std::stable_sort(result.imports.begin(), result.imports.end(),
                   [](const NamedTime& a, const NamedTime& b) { return a.ns > b.ns; });
  return result;
}

std::string DifferenceText(const model::CompileDetail& difference) {
  const auto words =
      std::find_if(kDifferenceWords.begin(), kDifferenceWords.end(),
                   [&](const Words& known) { return known.kind == difference.kind; });
  std::string text = words == kDifferenceWords.end() ? difference.kind : std::string(words->words);
  if (!difference.name.empty()) text += " " + difference.name;
  if (difference.kind == "structure") {
    return difference.after.empty() ? fmt::format("{} is missing", text)
                                    : fmt::format("{} is new", text);
  }
  if (difference.before.empty() && difference.after.empty()) return text;
  return fmt::format("{}: {} -> {}", text, difference.before.empty() ? "none" : difference.before,
                     difference.after.empty() ? "none" : difference.after);
}

std::vector<const model::CompileDetail*> DifferencesOf(const Compilation& compilation) {
  std::vector<const model::CompileDetail*> differences;
  if (!compilation.facts) return differences;
  for (const model::CompileDetail& detail : compilation.facts->details) {
    if (detail.is_difference) differences.push_back(&detail);
  }
  return differences;
}

bool HasDominantPart(const Compilation& compilation) {
  return static_cast<double>(compilation.top_part_ns) >=
         kDominantPassShare * static_cast<double>(compilation.ns);
}

bool IsLargeConstant(const Compilation& compilation, const model::CompileDetail& detail) {
  // The cost of smaller constants is too short to measure, unless they are folded.
  constexpr int64_t kMinConstantBytes = 1 << 20;
  if (detail.kind != "constant") return false;
  return detail.value.value_or(0) >= kMinConstantBytes ||
         (HasDominantPart(compilation) && Has(compilation.top_part, "onstant"));
}

const model::CompileDetail* DetailOf(const Compilation& compilation, std::string_view kind) {
  if (!compilation.facts) return nullptr;
  for (const model::CompileDetail& detail : compilation.facts->details) {
    if (detail.kind == kind) return &detail;
  }
  return nullptr;
}

}  // namespace xlatrace::analysis
