// SPDX-License-Identifier: Apache-2.0

// Rules on time before and between steps. The recorded process explains it: functions that are
// compiled again, slow compilations, constants, the persistent cache, slow imports.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/compilations.h"
#include "analysis/findings/rules.h"
#include "base/number_format.h"
#include "base/text.h"

namespace xlatrace::analysis::findings {
namespace {

using model::CompileDetail;
using model::CompileStage;

// Share of the recorded time from which on a saving before or between steps is material.
constexpr double kMaterialShare = kMinSavingShare;
// A loop that JAX traces this often is worth a rolled loop.
constexpr int64_t kMinUnrolledRepeats = 32;
// Single operations that are compiled one by one.
constexpr int64_t kMinOperations = 10;

// Kinds of difference with their own advice.
std::string VariantOf(const std::string& kind) {
  const FindingTexts texts = TextsOf("recompile", kind);
  return texts.key == "recompile/" + kind ? kind : "other_difference";
}

std::string Place(const std::string& file, std::optional<int64_t> line) {
  if (file.empty() || !line) return {};
  return fmt::format("{}:{}", file, *line);
}

class CompileRules {
 public:
  CompileRules(const Context& context, Report& report)
      : context_(context),
        report_(report),
        all_(CompilationsOf(context.run, context.options.named_compiles)),
        root_ns_(RootNs()) {}

  bool Explained() const {
    return std::any_of(all_.compilations.begin(), all_.compilations.end(),
                       [](const Compilation& c) { return c.facts != nullptr; });
  }

  // Any source with the ranges of XLA's compiler has it.
  void Autotuning() {
    int64_t ns = 0, of_ns = 0;
    const Compilation* longest = nullptr;
    const auto autotune_ns = [](const Compilation& compilation) {
      return compilation.stage_ns[static_cast<size_t>(CompileStage::kAutotune)];
    };
    for (const Compilation& compilation : all_.compilations) {
      if (autotune_ns(compilation) == 0) continue;
      ns += autotune_ns(compilation);
      of_ns += compilation.ns;
      if (longest == nullptr || autotune_ns(compilation) > autotune_ns(*longest)) {
        longest = &compilation;
      }
    }
    if (longest == nullptr || !IsMaterial(ns)) return;
    Finding finding = Make("autotuning", ns, 0);
    finding.values["function"] = longest->name;
    if (longest->facts) SetCall(finding, *longest);
    finding.claims["autotuning"] = ns;
    finding.evidence.Add("time of autotuning", ns, "ns")
        .Add("compilation of the tuned programs", of_ns, "ns")
        .Add(fmt::format("part of it for {}", longest->name), autotune_ns(*longest), "ns");
    report_.Add(std::move(finding));
  }

  void Check() {
    Recompilations();
    UnrolledLoops();
    Constants();
    DominantPasses();
    Operations();
    PersistentCache();
    WithoutCache();
    Imports();
  }

 private:
  int64_t RootNs() const {
    int64_t longest = 0;
    for (size_t p = 0; p < context_.run.processes.size(); ++p) {
      int64_t start = INT64_MAX, end = INT64_MIN;
      for (const model::Window& window : context_.run.windows) {
        if (window.process_id != static_cast<model::Id>(p + 1)) continue;
        start = std::min(start, window.start_ns);
        end = std::max(end, window.end_ns);
      }
      if (start > end) continue;
      start = std::min(start, context_.run.processes[p].recorded_from_ns.value_or(start));
      longest = std::max(longest, end - start);
    }
    return longest;
  }

  bool IsMaterial(int64_t ns) const {
    return root_ns_ > 0 &&
           static_cast<double>(ns) >= kMaterialShare * static_cast<double>(root_ns_);
  }

  std::string Share(int64_t ns) const {
    return Percent(static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(root_ns_, 1)));
  }

  Finding Make(std::string id, int64_t high_ns, int64_t low_ns) const {
    Finding finding;
    finding.id = std::move(id);
    finding.of_run = true;
    finding.run_ns = root_ns_;
    finding.beyond_steps = true;
    finding.sure = Sure::kHigh;
    finding.saves_high_ns = high_ns;
    finding.saves_low_ns = low_ns;
    return finding;
  }

  static void SetCall(Finding& finding, const Compilation& compilation) {
    finding.where_source = Place(compilation.facts->source_file, compilation.facts->source_line);
  }

  // One finding per function and kind of difference.
  void Recompilations() {
    using Key = std::tuple<std::string, std::string, int64_t, std::string>;
    std::map<Key, std::vector<const Compilation*>> groups;
    for (const Compilation& compilation : all_.compilations) {
      if (!compilation.facts || !compilation.is_again || compilation.facts->is_operation) continue;
      const auto differences = DifferencesOf(compilation);
      if (differences.empty()) continue;
      groups[{compilation.name, compilation.facts->function_file,
              compilation.facts->function_line.value_or(0), differences[0]->kind}]
          .push_back(&compilation);
    }
    for (const auto& [key, of] : groups) Recompilation(std::get<3>(key), of);
    if (!report_.Holds("recompile")) {
      report_.Fine("recompile", {"compilation after warm-up", "none that takes long"});
    }
  }

  void Recompilation(const std::string& kind, const std::vector<const Compilation*>& of) {
    int64_t ns = 0;
    std::map<std::string, int64_t> arguments;
    const Compilation* longest = of[0];
    for (const Compilation* compilation : of) {
      ns += compilation->ns;
      ++arguments[DifferencesOf(*compilation)[0]->name];
      if (compilation->ns > longest->ns) longest = compilation;
    }
    if (!IsMaterial(ns)) return;
    const CompileDetail& difference = *DifferencesOf(*longest)[0];
    Finding finding = Make("recompile", ns, ns / 2);
    finding.values["function"] = of[0]->name;
    finding.values["argument"] =
        difference.name.empty() ? "the argument" : "`" + difference.name + "`";
    finding.variant = VariantOf(kind);
    if (arguments.size() > 1) {
      finding.evidence.Add("arguments with such a difference", std::ssize(arguments), "count");
    }
    SetCall(finding, *longest);
    finding.claims["compile " + of[0]->name + " " + kind] = ns;
    finding.evidence.Add("recompilations", static_cast<int64_t>(of.size()), "count")
        .Add("time in them", ns, "ns")
        .Add(fmt::format("difference: {}", DifferenceText(difference)),
             static_cast<int64_t>(of.size()), "count");
    report_.Add(std::move(finding));
  }

  void UnrolledLoops() {
    for (const Compilation& compilation : Longest()) {
      const CompileDetail* line = DetailOf(compilation, "repeated_line");
      const CompileDetail* equations = DetailOf(compilation, "equations");
      if (line == nullptr || equations == nullptr || !line->value || !equations->value) continue;
      if (*line->value < kMinUnrolledRepeats) continue;
      // One iteration remains.
      const int64_t ns = compilation.ns - compilation.ns / *line->value;
      if (!IsMaterial(ns)) continue;
      Finding finding = Make("slow_compile", ns, ns / 2);
      finding.sure = Sure::kMedium;
      finding.variant = "unrolled";
      finding.values["function"] = compilation.name;
      finding.where_source = Place(line->source_file, line->source_line);
      finding.claims["compile " + compilation.name] = ns;
      finding.evidence.Add("compilation", compilation.ns, "ns")
          .Add("equations of the program", *equations->value, "count")
          .Add("equations of this line", *line->value, "count");
      report_.Add(std::move(finding));
    }
  }

  void Constants() {
    std::map<std::tuple<std::string, std::string, std::string>, bool> known;
    for (const Compilation& compilation : Longest()) {
      const CompileDetail* constant = DetailOf(compilation, "constant");
      if (constant == nullptr || !IsLargeConstant(compilation, *constant)) continue;
      if (!known.emplace(std::tuple(compilation.name, constant->name, constant->source_file), true)
               .second) {
        continue;
      }
      // Lowering writes the constant out, and passes fold it.
      int64_t ns = compilation.stage_ns[static_cast<size_t>(CompileStage::kLower)];
      if (Has(compilation.top_part, "onstant")) ns += compilation.top_part_ns;
      if (!IsMaterial(ns)) ns = compilation.ns;
      if (!IsMaterial(ns)) continue;
      Finding finding = Make("baked_constant", ns, 0);
      finding.sure = Sure::kMedium;
      const std::string name = constant->name.empty() ? constant->after : constant->name;
      finding.values["constant"] = name;
      finding.values["function"] = compilation.name;
      finding.where_source =
          constant->source_line
              ? Place(constant->source_file, constant->source_line)
              : Place(compilation.facts->source_file, compilation.facts->source_line);
      finding.claims["constant " + compilation.name] = ns;
      finding.evidence.Add("bytes of the constant", constant->value.value_or(0), "bytes")
          .Add("compilation", compilation.ns, "ns");
      report_.Add(std::move(finding));
    }
  }

  // The array that XLA folds is known: `baked_constant` reports it.
  static bool FoldsConstant(const Compilation& compilation) {
    const CompileDetail* constant = DetailOf(compilation, "constant");
    return constant != nullptr && IsLargeConstant(compilation, *constant) &&
           Has(compilation.top_part, "onstant");
  }

  void DominantPasses() {
    for (const Compilation& compilation : Longest()) {
      if (!HasDominantPart(compilation) || FoldsConstant(compilation) ||
          HasAny(compilation.top_part, {"utotun", "lgorithm-picker"}) ||  // `autotuning`.
          !IsMaterial(compilation.top_part_ns) || DetailOf(compilation, "repeated_line") ||
          compilation.stage_ns[static_cast<size_t>(CompileStage::kCodegen)] >= compilation.ns / 2) {
        continue;
      }
      Finding finding = Make("slow_compile", compilation.top_part_ns, 0);
      finding.sure = Sure::kMedium;
      finding.values["function"] = compilation.name;
      finding.values["pass"] = compilation.top_part;
      if (Has(compilation.top_part, "onstant")) finding.variant = "folding";
      if (compilation.facts) SetCall(finding, compilation);
      finding.claims["compile " + compilation.name] = compilation.top_part_ns;
      finding.evidence
          .Add(fmt::format("time of {}", compilation.top_part), compilation.top_part_ns, "ns")
          .Add("compilation", compilation.ns, "ns");
      report_.Add(std::move(finding));
    }
  }

  // Many operations outside of jit, each of them a separate program.
  void Operations() {
    int64_t ns = 0, count = 0;
    std::map<std::string, int64_t> by_place;
    for (const Compilation& compilation : all_.compilations) {
      if (!compilation.facts || !compilation.facts->is_operation) continue;
      ns += compilation.ns;
      ++count;
      by_place[Place(compilation.facts->source_file, compilation.facts->source_line)] +=
          compilation.ns;
    }
    if (count < kMinOperations || !IsMaterial(ns)) return;
    const auto most =
        std::max_element(by_place.begin(), by_place.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    Finding finding = Make("slow_compile", ns, ns / 2);
    finding.sure = Sure::kMedium;
    finding.variant = "operations";
    finding.values["count"] = Thousands(count);
    finding.where_source = most->first;
    finding.claims["compile operations"] = ns;
    finding.evidence.Add("operations that were compiled", count, "count")
        .Add("time in them", ns, "ns")
        .Add("part of it for this line", most->second, "ns");
    report_.Add(std::move(finding));
  }

  void PersistentCache() {
    std::map<std::string, std::vector<const Compilation*>> missed;
    for (const Compilation& compilation : all_.compilations) {
      const CompileDetail* miss = DetailOf(compilation, "cache_miss");
      if (miss != nullptr) missed[miss->before].push_back(&compilation);
    }
    for (const auto& [why, of] : missed) {
      int64_t ns = 0;
      const Compilation* longest = of[0];
      for (const Compilation* compilation : of) {
        ns += compilation->ns;
        if (compilation->ns > longest->ns) longest = compilation;
      }
      if (!IsMaterial(ns) || why == "not in the cache") continue;
      Finding finding = Make("cache_miss", ns, 0);
      finding.sure = Sure::kMedium;
      if (why == "other key") {
        finding.values["function"] = longest->name;
      } else {
        const auto least = DetailOf(*longest, "cache_miss")->value.value_or(0);
        finding.variant = "short";
        finding.evidence.Add("the cache keeps compilations of at least", least, "ns");
      }
      SetCall(finding, *longest);
      finding.claims["cache " + why] = ns;
      finding.evidence
          .Add("compilations that the cache missed", static_cast<int64_t>(of.size()), "count")
          .Add("time in them", ns, "ns");
      report_.Add(std::move(finding));
    }
  }

  // Compilation that no rule above explains, in a run without persistent cache. The cache holds
  // compiled programs; functions are traced and lowered each time.
  void WithoutCache() {
    for (const std::string_view id :
         {"recompile", "slow_compile", "baked_constant", "cache_miss"}) {
      if (report_.Holds(id)) return;
    }
    int64_t ns = 0, count = 0;
    const Compilation* longest = nullptr;
    for (const Compilation& compilation : all_.compilations) {
      for (const std::string_view kind : {"cache_hit", "cache_miss"}) {
        if (DetailOf(compilation, kind) != nullptr) return;
      }
      if (!compilation.facts || !compilation.is_compiled) continue;
      ns += compilation.ns - compilation.stage_ns[static_cast<size_t>(CompileStage::kTrace)] -
            compilation.stage_ns[static_cast<size_t>(CompileStage::kLower)];
      ++count;
      if (longest == nullptr || compilation.ns > longest->ns) longest = &compilation;
    }
    if (longest == nullptr || !IsMaterial(ns)) return;
    Finding finding = Make("cache_miss", ns, 0);
    finding.sure = Sure::kMedium;
    finding.variant = "none";
    SetCall(finding, *longest);
    finding.claims["cache none"] = ns;
    finding.evidence.Add("compilations", count, "count").Add("time in them", ns, "ns");
    report_.Add(std::move(finding));
  }

  // Packages that the framework needs are no choice of the user.
  void Imports() {
    for (const NamedTime& import : all_.imports) {
      const bool framework = HasAny(import.name, {"jax", "tensorflow", "numpy", "python"});
      if (framework || import.source_file.empty() || !IsMaterial(import.ns)) continue;
      const bool by_library = HasAny(import.source_file, {"/site-packages/", "/dist-packages/"});
      if (by_library) continue;
      Finding finding = Make("slow_import", import.ns, 0);
      finding.sure = Sure::kMedium;
      finding.values["module"] = import.name;
      finding.where_source = Place(import.source_file, import.source_line);
      finding.claims["import " + import.name] = import.ns;
      finding.evidence.Add("time of the import without the packages inside", import.ns, "ns");
      report_.Add(std::move(finding));
    }
  }

  // The longest compilation of each function whose compilations have facts.
  std::vector<Compilation> Longest() const {
    std::map<std::pair<std::string, std::string>, const Compilation*> longest;
    for (const Compilation& compilation : all_.compilations) {
      if (!compilation.facts || compilation.facts->is_operation) continue;
      const Compilation*& known =
          longest[{compilation.name,
                   Place(compilation.facts->function_file, compilation.facts->function_line)}];
      if (known == nullptr || compilation.ns > known->ns) known = &compilation;
    }
    std::vector<Compilation> result;
    for (const auto& [name, compilation] : longest) result.push_back(*compilation);
    return result;
  }

  const Context& context_;
  Report& report_;
  const Compilations all_;
  const int64_t root_ns_;
};

}  // namespace

bool CheckRecordedCompilations(const Context& context, Report& report) {
  CompileRules rules(context, report);
  rules.Autotuning();
  if (!rules.Explained()) return false;
  rules.Check();
  return true;
}

}  // namespace xlatrace::analysis::findings
