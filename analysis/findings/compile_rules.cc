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

struct Advice {
  std::string_view kind, action;
};

// The advice on a kind of difference; "{}" is the argument, variable or option.
constexpr std::array kAdvice = {
    Advice{"shape",
           "give {} one shape, or a few: pad it, bucket lengths, drop or pad the last batch"},
    Advice{"dtype", "give {} one dtype: convert it where it is made"},
    Advice{"python_scalar",
           "pass {} as an array of one dtype in every call (`jnp.asarray(x, dtype)`): a "
           "Python number has a weak type, and int and float differ"},
    Advice{"weak_type",
           "make {} with an explicit dtype (`jnp.asarray(x, dtype)`): results of Python "
           "numbers alone are weakly typed"},
    Advice{"structure", "pass the same tree in every call: {} is not always there"},
    Advice{"static",
           "each value of {} is another program. Pass it as an array instead of a static "
           "argument, or use few values"},
    Advice{"static_object",
           "{} is compared by identity. Give its class `__eq__` and `__hash__` (a frozen "
           "dataclass), or pass the same object"},
    Advice{"donation",
           "jit the function once, with one `donate_argnums`: {} is donated in some calls only"},
    Advice{"sharding",
           "place {} with the same sharding before the first call (`jax.device_put(x, "
           "sharding)`), or set `out_shardings` so that results come back as arguments went in"},
    Advice{"mesh", "create one mesh, and call the function under it each time"},
    Advice{"layout", "keep one layout of {}"},
    Advice{"closure",
           "define the function and call `jax.jit` once, and pass {} as an argument: as a captured "
           "variable its value is a constant of the program"},
    Advice{"configuration", "set {} once, before the first call"},
    Advice{"options", "jit the function once, with one set of options"},
    Advice{"new_function",
           "define the function and call `jax.jit` once, before the loop: JAX caches by "
           "function object, so that a new lambda, partial or inner function is compiled again"},
    Advice{"cache_cleared",
           "do not clear JAX's caches (`jax.clear_caches`, `clear_cache`) between calls"},
};

std::string ActionOf(const std::string& kind, const std::string& name) {
  const auto known = std::find_if(kAdvice.begin(), kAdvice.end(),
                                  [&](const Advice& advice) { return advice.kind == kind; });
  if (known == kAdvice.end()) return "call the function with the same arguments each time";
  std::string action(known->action);
  const size_t at = action.find("{}");
  if (at == action.npos) return action;
  return action.replace(at, 2, name.empty() ? "it" : "`" + name + "`");
}

std::string Place(const std::string& file, std::optional<int64_t> line) {
  if (file.empty() || !line) return {};
  return fmt::format("{}:{}", file, *line);
}

std::string ShortPlace(const std::string& file, std::optional<int64_t> line) {
  return Place(file.substr(file.rfind('/') + 1), line);
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
    finding.title = {
        "Keep the results of autotuning",
        fmt::format("it takes {} of {} of compilation, {} of the run; most of it is for {}",
                    Time(ns), Time(of_ns), Share(ns), longest->name)};
    finding.action =
        "set `jax_compilation_cache_dir`, where JAX keeps programs and results of autotuning, or "
        "`--xla_gpu_per_fusion_autotune_cache_dir=DIR` in XLA_FLAGS; the next run reads them";
    finding.how_to_check = "the stage autotune of the view compile in the next run";
    if (longest->facts) SetCall(finding, *longest);
    finding.claims["autotuning"] = ns;
    finding.evidence.Add("time of autotuning", ns, "ns")
        .Add("compilation of the tuned programs", of_ns, "ns");
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
    finding.title = {fmt::format("Stop recompiling {}", of[0]->name),
                     fmt::format("{} of the run in {} recompilation{}; {}", Share(ns), of.size(),
                                 of.size() == 1 ? "" : "s", DifferenceText(difference))};
    finding.action = ActionOf(kind, difference.name);
    if (arguments.size() > 1) {
      finding.action +=
          fmt::format(". The same holds for {} other arguments", arguments.size() - 1);
    }
    finding.how_to_check = "xlatrace summary --by compile lists no recompilation of the function";
    SetCall(finding, *longest);
    finding.claims["compile " + of[0]->name + " " + kind] = ns;
    finding.evidence.Add("recompilations", static_cast<int64_t>(of.size()), "count")
        .Add("time in them", ns, "ns")
        .Add(fmt::format("kind of difference: {}", kind), static_cast<int64_t>(of.size()), "count");
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
      finding.title = {fmt::format("Roll the loop in {}", compilation.name),
                       fmt::format("{} repeats {} times in the program; compilation takes {}",
                                   ShortPlace(line->source_file, line->source_line),
                                   Thousands(*line->value), Time(compilation.ns))};
      finding.action =
          "use `jax.lax.scan` or `jax.lax.fori_loop` instead of a Python loop: JAX traces a Python "
          "loop once per iteration, and XLA compiles each of them";
      finding.how_to_check = "the number of equations in compile_detail drops";
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
      finding.title = {fmt::format("Pass {} to {} as an argument", name, compilation.name),
                       fmt::format("it is a constant of {} in the program",
                                   Bytes(static_cast<double>(constant->value.value_or(0))))};
      finding.action =
          "make the array an argument of the jitted function. As a constant it is copied into the "
          "program, folded by XLA's passes, and held in memory twice";
      finding.how_to_check = "compile_detail lists no constant of this size";
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
      finding.title = {fmt::format("Compile {} faster", compilation.name),
                       fmt::format("{} takes {} of {}", compilation.top_part,
                                   Time(compilation.top_part_ns), Time(compilation.ns))};
      finding.action =
          Has(compilation.top_part, "onstant")
              ? "XLA computes constant expressions while it compiles: pass large "
                "constants as arguments of the jitted function"
              : "simplify the code that this pass works on, or keep the program in the "
                "persistent cache (`jax_compilation_cache_dir`)";
      finding.how_to_check = "the time of this pass in the view compile";
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
    finding.title = {
        "Put operations outside of jit into one jitted function",
        fmt::format("{} of the run compiles {} of them one by one", Share(ns), Thousands(count))};
    finding.action =
        "call a jitted function that holds these operations, or compute initial values with NumPy: "
        "each operation of JAX outside of jit is compiled for each shape and dtype";
    finding.how_to_check = "rows with is_operation in the view compile";
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
        finding.title = {fmt::format("Keep the key of {} in the persistent cache", longest->name),
                         fmt::format("the cache holds it under another key; {} of the run compiles "
                                     "what is there",
                                     Share(ns))};
        finding.action =
            "the key depends on the program, its constants, XLA_FLAGS, compile options, versions "
            "and "
            "devices: keep them the same between runs, and pass values that change as arguments";
      } else {
        const auto least = DetailOf(*longest, "cache_miss")->value.value_or(0);
        finding.title = {"Keep short compilations in the persistent cache",
                         fmt::format("{} compilations take less than {} each, {} of the run",
                                     of.size(), Time(least), Share(ns))};
        finding.action =
            "set `jax_persistent_cache_min_compile_time_secs` to 0, and "
            "`jax_persistent_cache_min_entry_size_bytes` to -1";
      }
      finding.how_to_check = "compile_detail lists cache_hit for these functions in the next run";
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
    finding.title = {"Keep compiled programs in the persistent cache",
                     fmt::format("{} of the run compiles {} program{}; a second run can load them",
                                 Share(ns), count, count == 1 ? "" : "s")};
    finding.action =
        "set `jax_compilation_cache_dir` (or `JAX_COMPILATION_CACHE_DIR`) to a folder, and "
        "`jax_persistent_cache_min_compile_time_secs` to 0 for short compilations";
    finding.how_to_check = "compile_detail lists cache_hit for these functions in the next run";
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
      finding.title = {
          fmt::format("Import {} later, or not at all", import.name),
          fmt::format("it takes {}, {} of the run", Time(import.ns), Share(import.ns))};
      finding.action =
          "import it in the function that needs it, and keep work out of the top level of the "
          "module";
      finding.how_to_check = fmt::format("python -X importtime -c 'import {}'", import.name);
      finding.where_source = Place(import.source_file, import.source_line);
      finding.claims["import " + import.name] = import.ns;
      finding.evidence.Add("time of the import without the packages inside", import.ns, "ns");
      report_.Add(std::move(finding));
    }
  }

  // The longest compilation of each function with facts.
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
